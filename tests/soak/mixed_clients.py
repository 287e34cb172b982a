"""Clients that mean no harm, in a process of their own: each of several kinds
asks at a steady rate in one way, and tries again as resolvers do.

usage: mixed_clients.py JSON

JSON: {"server": address, "port", "tls", "proxy": ports, "cert": what to trust,
"seconds", "rate": questions a second of each kind, "seed"}. Prints JSON: for each
kind what it asked and what became of it.
"""
import json
import random
import socket
import ssl
import struct
import sys
import threading
import time

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.rcode

NAMES = 1000    # h0 to h999 are there
TRIES = 3
TRY_SEC = 2.0
COOKIE = 10
TOLD = 5        # faults that are told in full


def address_of(number):
    """The addresses of hNUMBER; mixed.py makes the zone of them."""
    return f"192.0.2.{number % 250 + 1}", f"10.9.{number // 250}.{number % 250}"


class Failed(Exception):
    """A try that came to nothing, as tries may."""


FAILURES = (OSError, EOFError, Failed)


class Way:
    """How a question is asked. ask() returns the reply, or raises one of
    FAILURES."""

    def __init__(self, setup, source):
        self.setup, self.source = setup, source

    def close(self):
        pass


class Udp(Way):
    def prepare(self, query):
        pass

    def on_reply(self, reply):
        pass

    def port(self):
        return self.setup["port"]

    def head(self):
        return b""

    def ask(self, query):
        self.prepare(query)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind((self.source, 0))
            sock.connect((self.setup["server"], self.port()))
            sock.send(self.head() + query.to_wire())
            end = time.monotonic() + TRY_SEC
            while True:
                sock.settimeout(max(end - time.monotonic(), 0.001))
                reply = dns.message.from_wire(sock.recv(4096))
                if reply.id == query.id:
                    break
        self.on_reply(reply)
        if reply.flags & dns.flags.TC:
            tcp = Tcp(self.setup, self.source)
            try:
                return tcp.ask(query)
            finally:
                tcp.close()
        return reply


class UdpCookie(Udp):
    """RFC 7873: gives back what it was given."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.cookie = b"client_1"

    def prepare(self, query):
        query.use_edns(options=[dns.edns.GenericOption(COOKIE, self.cookie)])

    def on_reply(self, reply):
        for option in reply.options:
            if option.otype == COOKIE:
                self.cookie = option.to_wire()


class UdpProxied(Udp):
    """A client behind a proxy, which this client plays."""

    def port(self):
        return self.setup["proxy"]

    def head(self):
        return (b"\r\n\r\n\0\r\nQUIT\n\x21\x12\0\x0c"
                + socket.inet_aton("198.51.100.77")
                + socket.inet_aton(self.setup["server"])
                + struct.pack("!HH", 4321, 53))


class Tcp(Way):
    """A connection for each question, or one that is kept."""

    keeps = False
    sock = None

    def connect(self):
        return socket.create_connection(
            (self.setup["server"], self.setup["port"]), TRY_SEC,
            (self.source, 0))

    def read_exactly(self, size):
        octets = b""
        while len(octets) < size:
            more = self.sock.recv(size - len(octets))
            if not more:
                raise EOFError
            octets += more
        return octets

    def ask(self, query):
        try:
            if self.sock is None:
                self.sock = self.connect()
            wire = query.to_wire()
            self.sock.sendall(struct.pack("!H", len(wire)) + wire)
            size = struct.unpack("!H", self.read_exactly(2))[0]
            reply = dns.message.from_wire(self.read_exactly(size))
        except FAILURES:
            self.close()
            raise
        if not self.keeps:
            self.close()
        return reply

    def close(self):
        if self.sock is not None:
            self.sock.close()
            self.sock = None


class TcpKept(Tcp):
    keeps = True


class Tls(Tcp):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.context = ssl.create_default_context(cafile=self.setup["cert"])

    def connect(self):
        plain = socket.create_connection(
            (self.setup["server"], self.setup["tls"]), TRY_SEC,
            (self.source, 0))
        try:
            return self.context.wrap_socket(plain,
                                            server_hostname="ns.example")
        except BaseException:
            plain.close()
            raise


class TlsKept(Tls):
    keeps = True


# Kinds of clients, from a network each, except those whose network is forged.
KINDS = {
    "udp": (Udp, "10.1.1.1"),
    "udp, network forged": (Udp, "10.1.2.1"),
    "udp, network forged, cookie": (UdpCookie, "10.1.2.2"),
    "udp, proxied": (UdpProxied, "10.1.3.1"),
    "tcp": (Tcp, "10.1.4.1"),
    "tcp, kept": (TcpKept, "10.1.5.1"),
    "tls": (Tls, "10.1.6.1"),
    "tls, kept": (TlsKept, "10.1.7.1"),
}


class Client(threading.Thread):
    """Asks in one way until the time is over."""

    def __init__(self, kind, setup):
        super().__init__(daemon=True)
        way, source = KINDS[kind]
        self.way = way(setup, source)
        self.random = random.Random(f"{setup['seed']} {kind}")
        self.interval = 1 / setup["rate"]
        self.end = time.monotonic() + setup["seconds"]
        self.asked = self.again = self.lost = self.wrong = 0
        self.faults = []
        self.waits = []

    def run(self):
        following = time.monotonic()
        while following < self.end:
            time.sleep(max(following - time.monotonic(), 0))
            self.ask()
            # Late queries are not caught up with.
            following = max(following + self.interval, time.monotonic())
        self.way.close()

    def ask(self):
        number = self.random.randrange(NAMES)
        exists = self.random.random() < 0.7
        name = f"{'h' if exists else 'no'}{number}.example"
        self.asked += 1
        begin = time.monotonic()
        for attempt in range(TRIES):
            query = dns.message.make_query(name, "A")
            try:
                reply = self.way.ask(query)
            except dns.exception.DNSException as error:
                self.fault(f"{name}: {error!r}")
                return
            except FAILURES:
                continue
            self.waits.append(time.monotonic() - begin)
            self.again += attempt > 0
            self.check(name, number, exists, reply)
            return
        self.lost += 1

    def check(self, name, number, exists, reply):
        found = sorted(r.address for rrset in reply.answer for r in rrset
                       if rrset.rdtype == 1)
        expected = sorted(address_of(number)) if exists else []
        rcode = dns.rcode.NOERROR if exists else dns.rcode.NXDOMAIN
        if reply.rcode() != rcode or found != expected \
                or not reply.flags & dns.flags.AA:
            self.fault(f"{name}: {reply}")

    def fault(self, text):
        self.wrong += 1
        if len(self.faults) < TOLD:
            self.faults.append(text)

    def figures(self):
        waits = sorted(self.waits) or [0]
        return {"asked": self.asked, "again": self.again, "lost": self.lost,
                "wrong": self.wrong, "faults": self.faults,
                **{name: 1000 * waits[min(int(len(waits) * part),
                                          len(waits) - 1)]
                   for name, part in (("p50", 0.5), ("p99", 0.99),
                                      ("max", 1))}}


def main():
    setup = json.loads(sys.argv[1])
    clients = {kind: Client(kind, setup) for kind in KINDS}
    for client in clients.values():
        client.start()
    for client in clients.values():
        client.join()
    print(json.dumps({kind: client.figures()
                      for kind, client in clients.items()}))


if __name__ == "__main__":
    main()
