"""TCP clients that mean harm, in a process of their own.

usage: tcp_attack.py MODE PORT SECONDS
"""

import contextlib
import selectors
import socket
import struct
import sys
import time

import dns.message

CLIENTS = 60
BUFFER = 4096  # of a client that does not read


def request(name, rdtype):
    wire = dns.message.make_query(name, rdtype).to_wire()
    return struct.pack("!H", len(wire)) + wire


BIG = request("big.example", "TXT")
TINY = request("www.example", "A")
ZONE = request("example", "AXFR")

# What each sends, again and again; how much it reads at a time; whether it
# closes its side after the first go.
MODES = {
    "never-reads": (BIG * 400, 0, False),
    "reads-slowly": (BIG * 400, 200, False),
    "tiny-requests": (TINY * 2000, 1 << 20, False),
    "tiny-then-big": ((TINY * 64 + BIG * 64) * 8, 1 << 20, False),
    "half-closes": (BIG * 300, 200, True),
    "never-asks": (b"\0", 0, False),
    "transfers": (ZONE * 2, 1 << 20, False),
}


class Client:
    def __init__(self, port, mode):
        self.octets, self.reads, self.half_closes = MODES[mode]
        self.at = 0
        self.socket = socket.socket()
        if self.reads == 0:
            # So that what the kernel holds is on the server's side.
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                self.socket.setsockopt(socket.SOL_SOCKET, option, BUFFER)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)

    def write(self):
        self.at += self.socket.send(self.octets[self.at:self.at + 65536])
        if self.at < len(self.octets):
            return True
        self.at = 0
        if self.half_closes:
            self.socket.shutdown(socket.SHUT_WR)
        return not self.half_closes

    def read(self):
        return self.reads == 0 or self.socket.recv(self.reads) != b""


def attack(mode, port, seconds):
    selector = selectors.DefaultSelector()
    end = time.monotonic() + seconds

    def add():
        client = Client(port, mode)
        events = selectors.EVENT_WRITE
        if client.reads > 0:
            events |= selectors.EVENT_READ
        selector.register(client.socket, events, client)

    def go(client):
        selector.unregister(client.socket)
        client.socket.close()
        add()

    for _ in range(CLIENTS):
        add()
    print("ready", flush=True)
    while time.monotonic() < end:
        for key, events in selector.select(0.05):
            client = key.data
            try:
                if events & selectors.EVENT_READ and not client.read():
                    go(client)
                elif events & selectors.EVENT_WRITE and not client.write():
                    selector.modify(client.socket, selectors.EVENT_READ,
                                    client)
            except BlockingIOError:
                pass
            except OSError:
                with contextlib.suppress(OSError):
                    go(client)
        if mode == "never-asks":
            time.sleep(0.01)


def connect_only(port, seconds):
    """Connections that ask once and leave before the answer."""
    end = time.monotonic() + seconds
    print("ready", flush=True)
    while time.monotonic() < end:
        sockets = []
        for _ in range(CLIENTS):
            s = socket.socket()
            with contextlib.suppress(OSError):
                s.connect(("127.0.0.1", port))
                s.send(TINY)
            sockets.append(s)
        for s in sockets:
            s.close()


if __name__ == "__main__":
    if sys.argv[1] == "comes-and-goes":
        connect_only(int(sys.argv[2]), float(sys.argv[3]))
    else:
        attack(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
