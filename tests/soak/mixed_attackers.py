"""Clients that mean harm, of one kind, in a process of their own.

usage: mixed_attackers.py KIND JSON

JSON: {"server": address, "port", "tls", "proxy": ports, "seconds", "seed",
"flood": forged datagrams a second}. Prints JSON: how often it did what. All
addresses of 10.2.0.0/16 are ours. Needs raw sockets for what is forged.
"""
import collections
import contextlib
import json
import os
import random
import socket
import ssl
import struct
import sys
import time

NICE = 5
CONNECT_SEC = 0.5
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
BIG_COUNT = 400
RCVBUF = 4096
FORGED = "10.1.2."      # a network of honest clients: see mixed_clients.py
IP_HEADER = struct.Struct("!BBHHHBBH4s4s")
RESET = struct.pack("ii", 1, 0)


def name_octets(name):
    return b"".join(bytes([len(label)]) + label.encode()
                    for label in name.split(".")) + b"\0"


def query(ident, name, rdtype, more=b"", additional=0):
    return (struct.pack("!HHHHHH", ident, 0, 1, 0, 0, additional)
            + name_octets(name) + struct.pack("!HH", rdtype, 1) + more)


def framed(wire):
    return struct.pack("!H", len(wire)) + wire


BIG = framed(query(1, "big.example", 16))
TINY = framed(query(1, "h1.example", 1))


class Pool:
    """The newest connections; the others are closed, or reset."""

    def __init__(self, most):
        self.most, self.held = most, collections.deque()

    def add(self, sock):
        self.held.append(sock)
        if len(self.held) > self.most:
            leave(self.held.popleft())


def leave(sock, reset=None):
    with contextlib.suppress(OSError):
        if reset or (reset is None and random.random() < 0.5):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    sock.close()


class Attack:
    """A kind: step() is called `rate` times a second."""

    rate = 100
    most = 30           # connections at a time
    networks = 250

    def __init__(self, setup):
        self.setup = setup
        self.random = random.Random(f"{setup['seed']} {type(self).__name__}")
        self.counts = collections.Counter()
        self.pool = Pool(self.most)
        self.hello = client_hello()

    def source(self):
        return (f"10.2.{self.random.randrange(self.networks)}."
                f"{self.random.randrange(1, 255)}")

    def connect(self, port, before=None):
        """None: we were not let in."""
        sock = socket.socket()
        try:
            if before:
                before(sock)
            sock.bind((self.source(), 0))
            sock.settimeout(CONNECT_SEC)
            sock.connect((self.setup["server"], self.setup[port]))
        except OSError:
            sock.close()
            self.counts["not let in"] += 1
            return None
        return sock

    def any_port(self):
        return self.random.choice(["port", "tls", "proxy"])


def client_hello():
    """A ClientHello of a real client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    sent = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent).do_handshake()
    return sent.read()


class Garbage(Attack):
    """ClientHellos that are none, or nearly one."""

    def octets(self):
        kind = self.random.randrange(4)
        if kind == 0:
            return self.random.randbytes(self.random.randrange(1, 3000))
        if kind == 1:
            return TINY
        octets = bytearray(self.hello)
        if kind == 2:
            for _ in range(self.random.randrange(1, 20)):
                octets[self.random.randrange(len(octets))] = \
                    self.random.randrange(256)
        else:
            del octets[self.random.randrange(len(octets)):]
        return bytes(octets)

    def step(self):
        sock = self.connect("tls")
        if sock is None:
            return
        with contextlib.suppress(OSError):
            sock.sendall(self.octets())
            sock.setblocking(False)
            self.counts["garbage"] += 1
        self.pool.add(sock)


class HalfHandshakes(Attack):
    """Have the server sign, and say no more."""
    rate, most = 40, 100

    def step(self):
        sock = self.connect("tls")
        if sock is None:
            return
        with contextlib.suppress(OSError):
            sock.sendall(self.hello)
            self.counts["half handshakes"] += 1
        self.pool.add(sock)


class Silent(Attack):
    """Connect, and never speak; half of them from one network."""
    rate, most = 100, 400

    def step(self):
        self.networks = self.random.choice([1, 250])
        sock = self.connect(self.any_port())
        if sock is not None:
            self.counts["silent connections"] += 1
            self.pool.add(sock)


class Drip(Attack):
    """An octet now and then."""
    rate, most = 200, 60

    def step(self):
        if len(self.pool.held) < self.most:
            port = self.any_port()
            sock = self.connect(port)
            if sock is None:
                return
            octets = self.hello if port == "tls" else b"\xff\xff" + TINY * 9
            self.pool.held.append((sock, iter(octets)))
            return
        sock, octets = self.pool.held.popleft()
        try:
            sock.send(bytes([next(octets)]))
            self.pool.held.append((sock, octets))
            self.counts["single octets"] += 1
        except (OSError, StopIteration):
            sock.close()


class NeverReads(Attack):
    """Asks without end, and takes no answer, in plain and over TLS."""
    rate, most = 10, 40

    def __init__(self, setup):
        super().__init__(setup)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE

    def step(self):
        port = self.random.choice(["port", "tls"])
        sock = self.connect(port, lambda s: s.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, RCVBUF))
        if sock is None:
            return
        try:
            if port == "tls":
                sock = self.context.wrap_socket(sock)
            sock.setblocking(False)
            for _ in range(20):
                self.counts["requests nobody reads"] += \
                    sock.send(BIG * BIG_COUNT) // len(BIG)
        except OSError:  # the buffer is full, or the socket closed
            pass
        self.pool.add(sock)


class ComesAndGoes(Attack):
    """Asks, and leaves before the answer."""

    def step(self):
        sock = self.connect("port")
        if sock is None:
            return
        with contextlib.suppress(OSError):
            sock.sendall(TINY * self.random.choice([1, 1, 1000]))
            self.counts["left early"] += 1
        leave(sock)


class BadProxy(Attack):
    """Headers of proxies that are malformed, cut, or forged; over UDP and
    TCP."""

    def header(self):
        body = bytearray(self.random.randbytes(12))
        octets = bytearray(SIGNATURE + b"\x21\x11" + struct.pack(
            "!H", len(body)) + body)
        kind = self.random.randrange(5)
        if kind == 0:
            return b"PROXY TCP4 192.0.2.1 192.0.2.2 1 53\r\n"
        if kind == 1:
            octets[self.random.randrange(16)] ^= 1 << self.random.randrange(8)
        elif kind == 2:
            del octets[self.random.randrange(1, len(octets)):]
        elif kind == 3:
            octets[14:16] = struct.pack("!H", self.random.randrange(65536))
            octets += self.random.randbytes(self.random.randrange(600))
        return bytes(octets)

    def step(self):
        self.counts["headers of proxies"] += 1
        octets = self.header()
        if self.random.random() < 0.5:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.bind((self.source(), 0))
                with contextlib.suppress(OSError):
                    sock.sendto(octets + TINY[2:], (
                        self.setup["server"], self.setup["proxy"]))
            return
        sock = self.connect("proxy")
        if sock is None:
            return
        with contextlib.suppress(OSError):
            sock.sendall(octets + TINY)
        self.pool.add(sock)


class Noise(Attack):
    """Datagrams from true addresses: odd octets, cookies of all lengths."""
    rate = 300

    def octets(self):
        ident = self.random.randrange(65536)
        if self.random.random() < 0.5:
            size = self.random.randrange(0, 60)
            option = struct.pack("!HH", 10, size) + self.random.randbytes(size)
            opt = struct.pack("!BHHIH", 0, 41, 1232, 0, len(option)) + option
            return query(ident, "h1.example", 1, opt, 1)
        octets = bytearray(query(ident, "no.example", 255))
        for _ in range(self.random.randrange(1, 6)):
            octets[self.random.randrange(len(octets))] = \
                self.random.randrange(256)
        return bytes(octets[:self.random.randrange(len(octets)) + 1])

    def step(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind((self.source(), 0))
            with contextlib.suppress(OSError):
                sock.sendto(self.octets(), (self.setup["server"],
                                            self.setup["port"]))
        self.counts["odd datagrams"] += 1


class Forged(Attack):
    """Sources that are not ours: some at random, some of a network whose
    clients are honest."""

    protocol = socket.IPPROTO_UDP

    def __init__(self, setup):
        super().__init__(setup)
        self.rate = setup["flood"]
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW,
                                 socket.IPPROTO_RAW)
        self.to = socket.inet_aton(setup["server"])

    def forge(self):
        """A forged address; not loopback or multicast, which the kernel
        drops."""
        if self.random.random() < 0.3:
            return socket.inet_aton(FORGED
                                    + str(self.random.randrange(1, 255)))
        return bytes([self.random.choice([11, 99, 150, 198]),
                      *self.random.randbytes(3)])

    def send(self, source, payload):
        # The kernel fills in the lengths and the sum.
        head = IP_HEADER.pack(0x45, 0, 0, 0, 0, 64, self.protocol, 0, source,
                              self.to)
        with contextlib.suppress(OSError):
            self.raw.sendto(head + payload, (self.setup["server"], 0))

    def question(self):
        ident = self.random.randrange(65536)
        kind = self.random.randrange(3)
        if kind == 0:
            return query(ident, "big.example", 16)
        if kind == 1:
            return query(ident, "h1.example", 255)
        return query(ident, f"x{ident}.example", 1)

    def step(self):
        wire = self.question()
        self.send(self.forge(), struct.pack(
            "!HHHH", self.random.randrange(1, 65536), self.setup["port"],
            8 + len(wire), 0) + wire)
        self.counts["forged datagrams"] += 1


def checksum(octets):
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class Syns(Forged):
    """SYNs from forged addresses: no host is there to reset."""

    protocol = socket.IPPROTO_TCP

    def __init__(self, setup):
        super().__init__(setup)
        self.rate = setup["flood"] / 8

    def step(self):
        source = self.forge()
        fields = [self.random.randrange(1024, 65536),
                  self.setup[self.any_port()], self.random.getrandbits(32), 0,
                  0x50, 2, 65535, 0, 0]
        head = struct.pack("!HHIIBBHHH", *fields)
        fields[7] = checksum(source + self.to + struct.pack(
            "!BBH", 0, self.protocol, len(head)) + head)
        self.send(source, struct.pack("!HHIIBBHHH", *fields))
        self.counts["forged SYNs"] += 1


KINDS = {made.__name__: made for made in (
    Garbage, HalfHandshakes, Silent, Drip, NeverReads, ComesAndGoes, BadProxy,
    Noise, Forged, Syns)}


def main():
    os.nice(NICE)
    setup = json.loads(sys.argv[2])
    attack = KINDS[sys.argv[1]](setup)
    end = time.monotonic() + setup["seconds"]
    following = time.monotonic()
    while time.monotonic() < end:
        pause = following - time.monotonic()
        if pause > 0.005:  # several at a time cost fewer naps
            time.sleep(pause)
        attack.step()
        # Late steps are not caught up with.
        following = max(following + 1 / attack.rate, time.monotonic() - 0.1)
    print(json.dumps(attack.counts))


if __name__ == "__main__":
    main()
