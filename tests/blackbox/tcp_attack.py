"""TCP clients that mean harm, in a process of their own.

usage: tcp_attack.py MODE PORT SECONDS
"""

import contextlib
import selectors
import socket
import struct
import sys
import time
import typing

import dns.message

CLIENTS = 60
BUFFER = 4096  # of a client with small buffers
PAUSE = 0.01  # between two turns of patient clients


def request(name, rdtype):
    wire = dns.message.make_query(name, rdtype).to_wire()
    return struct.pack("!H", len(wire)) + wire


BIG = request("big.example", "TXT")
TINY = request("www.example", "A")
ZONE = request("example", "AXFR")


class Mode(typing.NamedTuple):
    octets: bytes  # are sent again and again
    reads: int = 1 << 20  # octets at a time
    half_closes: bool = False  # after the first go
    small: bool = False  # has small buffers, so a tiny window
    patient: bool = False


MODES = {
    "never-reads": Mode(BIG * 400, reads=0, small=True),
    "reads-slowly": Mode(BIG * 400, reads=200),
    "tiny-window": Mode(BIG * 400, reads=200, small=True, patient=True),
    "tiny-requests": Mode(TINY * 2000),
    "tiny-then-big": Mode((TINY * 64 + BIG * 64) * 8),
    "half-closes": Mode(BIG * 300, reads=200, half_closes=True),
    "half-closes-tiny": Mode(TINY * 2000, half_closes=True),
    "never-asks": Mode(b"\0", reads=0, small=True, patient=True),
    "transfers": Mode(ZONE * 2),
}


class Client:
    def __init__(self, port, mode):
        self.octets, self.reads, self.half_closes = mode[:3]
        self.at = 0
        self.socket = socket.socket()
        if mode.small:
            # The client's buffers are small, so that the kernel holds octets
            # on the server's side.
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
    mode = MODES[mode]
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
        if mode.patient:
            time.sleep(PAUSE)


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
