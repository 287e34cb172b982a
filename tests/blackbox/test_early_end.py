"""Requests with a fault that is found before their TSIG is checked (RFC 8945
section 5.2): their replies have no TSIG, and no process dies of them."""

import socket
import struct
import time

import pytest

import harness
from harness import zone_text

FORMERR = 1
KEY = "key:\n\tname: k.test\n\talgorithm: hmac-sha256\n\tsecret: c2VjcmV0\n"
QUESTION = b"\7example\0" + struct.pack(">HH", 6, 1)


def tsig():
    """A TSIG record of the key k.test, whose MAC is wrong."""
    rdata = (b"\13hmac-sha256\0" + struct.pack(">Q", int(time.time()))[2:]
             + struct.pack(">HH", 300, 32) + bytes(32)
             + struct.pack(">HHH", 77, 0, 0))
    return (b"\1k\4test\0" + struct.pack(">HHIH", 250, 255, 0, len(rdata))
            + rdata)


def requests():
    """Requests with each fault, as QUERY and as NOTIFY, with and without OPT."""
    for opcode in 0, 4:
        for edns in False, True:
            opt = b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0) if edns else b""
            for rcode, questions in (9, 1), (0, 0), (9, 0), (0, 2):
                yield (struct.pack(">HHHHHH", 77, opcode << 11 | rcode,
                                   questions, 0, 0, 1 + edns)
                       + QUESTION * questions + opt + tsig())


def exchange(server, request, tcp):
    kind = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as sock:
        sock.settimeout(harness.DEADLINE)
        sock.connect((server.address, server.port))
        if not tcp:
            sock.send(request)
            return sock.recv(65535)
        sock.send(struct.pack(">H", len(request)) + request)
        with sock.makefile("rb") as stream:
            return stream.read(struct.unpack(">H", stream.read(2))[0])


@pytest.mark.parametrize("key", [False, True])
def test_no_worker_ends_of_a_tsig_that_is_not_checked(make_server, key):
    server = make_server(zones={"example": zone_text()})
    server.extra = KEY if key else ""
    server.write_config()
    server.start()
    roles = server.roles()
    for tcp in False, True:
        for request in requests():
            reply = exchange(server, request, tcp)
            _, flags, *_, additional = struct.unpack(">HHHHHH", reply[:12])
            assert flags & 15 == FORMERR
            # The reply has an OPT at most.
            assert len(reply) - 12 == 11 * additional
    assert server.roles() == roles
