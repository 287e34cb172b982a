"""DNS over TLS, as a client speaks it."""
import socket
import ssl
import struct
import threading

import dns.message

from harness import DEADLINE


def context_for(authority=None, alpn=("dot",), version=None, client=None):
    """The TLS context of a client. client: its own key and certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = authority is not None
    made.verify_mode = ssl.CERT_REQUIRED if authority else ssl.CERT_NONE
    if authority is not None:
        made.load_verify_locations(str(authority.cert))
    if alpn:
        made.set_alpn_protocols(list(alpn))
    if version is not None:
        made.minimum_version = version
        made.maximum_version = version
    if client is not None:
        key, cert = client
        made.load_cert_chain(str(cert), str(key))
    return made


class Client:
    """A connection."""

    def __init__(self, port, context, name="ns.example", session=None,
                 address="127.0.0.1"):
        plain = socket.create_connection((address, port), timeout=DEADLINE)
        try:
            self.sock = context.wrap_socket(plain, server_hostname=name,
                                            session=session)
        except BaseException:
            plain.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, *messages):
        octets = b""
        for message in messages:
            wire = message.to_wire()
            octets += struct.pack("!H", len(wire)) + wire
        self.sock.sendall(octets)

    def read_exactly(self, size):
        octets = b""
        while len(octets) < size:
            more = self.sock.recv(size - len(octets))
            if not more:
                raise EOFError
            octets += more
        return octets

    def receive(self):
        size = struct.unpack("!H", self.read_exactly(2))[0]
        return dns.message.from_wire(self.read_exactly(size),
                                     one_rr_per_rrset=False)

    def ask(self, name, rdtype="A"):
        self.send(dns.message.make_query(name, rdtype))
        return self.receive()

    def address(self, name="www.example"):
        return [str(r) for rrset in self.ask(name).answer for r in rrset]

    def serial(self):
        """The number of the certificate that was shown."""
        return int(self.sock.getpeercert()["serialNumber"], 16)


class Clients:
    """Clients that connect again and again, and one that stays; each asks for
    the addresses of www.example. Errors are in failures, the serials of the
    certificates seen in serials, and asked counts the queries of the one that
    stays."""

    def __init__(self, port, context, expected):
        self.port, self.context, self.expected = port, context, expected
        self.serials, self.failures, self.asked = set(), [], 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(what,))
                        for what in (self.come, self.stay)]

    def run(self, what):
        try:
            what()
        except (OSError, EOFError, AssertionError) as failure:
            self.failures.append(failure)

    def come(self):
        while not self.over.is_set():
            with Client(self.port, self.context) as client:
                assert client.address() == self.expected
                self.serials.add(client.serial())

    def stay(self):
        with Client(self.port, self.context) as client:
            while not self.over.is_set():
                assert client.address() == self.expected
                self.asked += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
