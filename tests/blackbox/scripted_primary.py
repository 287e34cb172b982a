"""A primary that answers as a test says: over TCP, and SOA over UDP too.

    with ScriptedPrimary(answer) as primary:
        ...  primary.port, primary.asked

answer(apex, qtype, query) returns what is sent: a list of messages
(dns.message.Message or octets), numbers for seconds to wait, or None at the end
to close the connection. Each connection has a thread; it goes on taking queries
while it waits for nothing. With a keyring (dns.tsigkeyring), replies to queries
that are signed are signed.
"""
import contextlib
import functools
import socket
import socketserver
import struct
import threading

import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.rrset

from ports import free_port


def soa(apex, serial, timers="1 1 3600 300"):
    return dns.rrset.from_text(apex, 300, "IN", "SOA",
                               f"ns.{apex} h.{apex} {serial} {timers}")


# A large zone is sent again and again.
@functools.lru_cache(100000)
def record(apex, text):
    owner, rdtype, rdata = text.split(maxsplit=2)
    return dns.rrset.from_text(f"{owner}.{apex}", 300, "IN", rdtype, rdata)


def records(apex, *texts):
    """Of texts such as "www A 192.0.2.1"; who alters one takes a copy."""
    return [record(apex, text) for text in texts]


def reply(query, *rrsets):
    message = dns.message.make_response(query)
    message.flags |= dns.flags.AA
    message.answer = list(rrsets)
    return message


def error(query, code):
    """The answer to a query that fails."""
    message = reply(query)
    message.set_rcode(code)
    return [message]


def whole(query, apex, serial, *texts, timers="1 1 3600 300"):
    first = soa(apex, serial, timers)
    ns = dns.rrset.from_text(apex, 300, "IN", "NS", f"ns.{apex}")
    return reply(query, first, ns,
                 *records(apex, "ns A 192.0.2.1", *texts), first.copy())


class ScriptedPrimary:
    def __init__(self, answer, address="127.0.0.1", port=0, keyring=None):
        primary = self
        self.keyring = keyring
        self.address = address
        self.asked = []  # (apex, type)
        self.seen = []  # (type or NOTIFY, "udp" or "tcp", address, port)
        self.over = threading.Event()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError, struct.error):
                    while True:
                        size = struct.unpack("!H", self.take(2))[0]
                        octets = self.take(size)
                        primary.see(octets, "tcp", self.client_address)
                        primary.send(self.request, answer, octets)

            def take(self, size):
                octets = b""
                while len(octets) < size:
                    more = self.request.recv(size - len(octets))
                    if not more:
                        raise OSError("closed")
                    octets += more
                return octets

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            address_family = socket.AF_INET6 if ":" in address \
                else socket.AF_INET

        # A port that is free for UDP, too.
        self.tcp = Server((address, port or free_port()), Handler)
        self.port = self.tcp.server_address[1]
        self.udp = socket.socket(Server.address_family, socket.SOCK_DGRAM)
        self.udp.bind((address, self.port))
        self.udp.settimeout(0.2)
        self.answer = answer

    def note(self, octets):
        query = dns.message.from_wire(octets, keyring=self.keyring)
        question = query.question[0]
        self.asked.append((question.name.to_text(),
                           dns.rdatatype.to_text(question.rdtype)))
        return query, *self.asked[-1]

    def see(self, octets, over, peer):
        query = dns.message.from_wire(octets, keyring=self.keyring)
        notify = query.opcode() == dns.opcode.NOTIFY
        rdtype = dns.rdatatype.to_text(query.question[0].rdtype)
        self.seen.append(("NOTIFY" if notify else rdtype, over, *peer[:2]))

    def send(self, connection, answer, octets):
        query, apex, rdtype = self.note(octets)
        for item in answer(apex, rdtype, query):
            if item is None or self.over.is_set():
                raise OSError("closed by us")
            if isinstance(item, (int, float)):
                if self.over.wait(item):
                    return
                continue
            wire = item if isinstance(item, bytes) else item.to_wire(
                max_size=65535)
            connection.sendall(struct.pack("!H", len(wire)) + wire)

    def serve_udp(self):
        while not self.over.is_set():
            with contextlib.suppress(OSError):
                octets, peer = self.udp.recvfrom(4096)
                self.see(octets, "udp", peer)
                query, apex, rdtype = self.note(octets)
                if rdtype == "SOA":
                    for item in self.answer(apex, rdtype, query):
                        if item is not None:
                            self.udp.sendto(item.to_wire(), peer)

    def __enter__(self):
        for target in (self.tcp.serve_forever, self.serve_udp):
            threading.Thread(target=target, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.tcp.shutdown()
        self.tcp.server_close()
        self.udp.close()
