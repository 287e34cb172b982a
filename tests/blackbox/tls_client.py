"""DNS over TLS, as a client speaks it."""
import socket
import ssl
import struct

import dns.message

from harness import DEADLINE


def context_for(authority=None, alpn=("dot",), version=None, client=None):
    """What a client trusts and offers. client: its own key and certificate."""
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
