"""TCP clients of one network that want all places, in a process of their own.

usage: tcp_crowd.py MODE PORT COUNT SECONDS

pipelines: ask without an end and read nothing; transfers: ask for the zone
"example" and read some octets now and then. Who is sent away comes back. Says
"ready" when all have asked to be connected.
"""

import contextlib
import select
import socket
import struct
import sys
import time

PACE = 0.1       # seconds between two looks
READS = 1024     # octets of each client at such a look
BACK = 0.2       # seconds until one that was sent away comes back
SOURCE = "127.0.0.1"


def request(name, rdtype):
    labels = b"".join(bytes([len(label)]) + label.encode()
                      for label in name.split(".")) + b"\0"
    wire = struct.pack(">6H", 1, 0, 1, 0, 0, 0) + labels \
        + struct.pack(">2H", rdtype, 1)
    return struct.pack(">H", len(wire)) + wire


OCTETS = {"pipelines": request("www.example", 1) * 2000,
          "transfers": request("example", 252)}


class Crowd:
    def __init__(self, mode, port):
        self.octets, self.reads = OCTETS[mode], mode == "transfers"
        self.port, self.epoll, self.clients = port, select.epoll(), {}
        self.away = []  # when who was sent away comes back

    def add(self):
        client = socket.socket()
        if self.reads:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        client.bind((SOURCE, 0))
        with contextlib.suppress(BlockingIOError):
            client.connect(("127.0.0.1", self.port))
        self.clients[client.fileno()] = [client, 0]
        self.epoll.register(client, select.EPOLLOUT | select.EPOLLRDHUP)

    def remove(self, fd):
        self.epoll.unregister(fd)
        self.clients.pop(fd)[0].close()
        self.away.append(time.monotonic() + BACK)

    def write(self, fd):
        client, at = self.clients[fd]
        with contextlib.suppress(BlockingIOError):
            at += client.send(self.octets[at:])
        if at == len(self.octets) and self.reads:
            self.epoll.modify(fd, select.EPOLLRDHUP)
        self.clients[fd][1] = at % len(self.octets)

    def look(self, wait):
        for fd, events in self.epoll.poll(wait):
            try:
                if events & ~select.EPOLLOUT:
                    self.remove(fd)
                else:
                    self.write(fd)
            except OSError:
                self.remove(fd)

    def read(self):
        for fd, (client, _) in list(self.clients.items()):
            try:
                client.recv(READS)
            except BlockingIOError:
                pass
            except OSError:
                self.remove(fd)

    def come_back(self, now):
        while self.away and self.away[0] <= now:
            self.away.pop(0)
            self.add()


def main(mode, port, count, seconds):
    crowd, end = Crowd(mode, port), time.monotonic() + seconds
    for _ in range(count):
        crowd.add()
        crowd.look(0)
    print("ready", flush=True)
    read_at = 0
    while (now := time.monotonic()) < end:
        crowd.come_back(now)
        crowd.look(PACE)
        if crowd.reads and now >= read_at:
            read_at = now + PACE
            crowd.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
