"""Faults of another server that were published in August 2026 (faults 77 to
80)."""
import socket
import struct

import pytest

import dns.edns
import dns.message
import dns.query
import dns.rcode

from harness import DEADLINE, zone_text
from test_proxy import (  # the first is a fixture
    header, proxied)

REFUSED, NOERROR = dns.rcode.REFUSED, dns.rcode.NOERROR

# In the order of the octets 127.0.0.200 is before 127.0.1.10; as a number of a
# machine that has the last octet first, it is behind it.
RANGE = "127.0.0.200-127.0.1.10"
IN_RANGE = ["127.0.0.200", "127.0.0.255", "127.0.1.0", "127.0.1.9",
            "127.0.1.10"]
BESIDE = ["127.0.0.9", "127.0.0.199", "127.0.1.11", "127.0.1.200",
          "127.0.2.5"]
# Elements enough for a list with an index.
MORE = "".join(f"\tallow-query: 203.0.113.{2 * i} NOKEY\n" for i in range(20))


def rcode(server, name, source=None, tcp=False):
    query = dns.message.make_query(name, "A")
    ask = dns.query.tcp if tcp else dns.query.udp
    return ask(query, server.address, DEADLINE, server.port,
               source=source).rcode()


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_range_of_addresses_is_in_the_order_of_octets(nsd, tcp):
    """Fault 77."""
    server = nsd(zones={"example": zone_text()}, extra="".join(
        f"zone:\n\tname: {name}\n\tzonefile: example.zone\n"
        f"\tallow-query: {RANGE} NOKEY\n{more}"
        for name, more in (("few.test", ""), ("many.test", MORE))))
    for name in "www.few.test", "www.many.test":
        for source in IN_RANGE:
            assert rcode(server, name, source, tcp) == NOERROR, source
        for source in BESIDE:
            assert rcode(server, name, source, tcp) == REFUSED, source


def test_window_that_closes_amid_a_large_answer(nsd):
    """Fault 78."""
    server = nsd(zones={"example": zone_text() + "".join(
        f'big TXT "{i:03} {"x" * 200}"\n' for i in range(280))})
    roles = server.roles()
    query = dns.message.make_query("big.example", "TXT", use_edns=False)
    wire = query.to_wire()
    frame = struct.pack("!H", len(wire)) + wire
    clients = []
    for count in (1, 1, 1, 20, 20):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        client.settimeout(DEADLINE)
        client.connect((server.address, server.port))
        client.sendall(frame * count)
        clients.append((client, count))
    # The first gives up with octets under way, others read at last.
    clients[0][0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
    clients[0][0].close()
    for tcp in False, True:
        assert rcode(server, "www.example", tcp=tcp) == NOERROR
    for client, count in clients[1:]:
        with client, client.makefile("rb") as stream:
            for _ in range(count):
                size = int.from_bytes(stream.read(2), "big")
                reply = dns.message.from_wire(stream.read(size))
                assert len(reply.answer[0]) == 280
    assert server.roles() == roles


COOKIE = dns.edns.GenericOption(10, bytes(range(8)))
NSID = dns.edns.GenericOption(3, b"")
UNKNOWN = dns.edns.GenericOption(65001, b"abc")


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("kinds", ids="cookie nsid unknown two all".split(),
                         argvalues=[
    [COOKIE], [NSID], [UNKNOWN], [COOKIE, NSID],
    [COOKIE, NSID, UNKNOWN, dns.edns.GenericOption(12, bytes(2)),
     dns.edns.GenericOption(9, b""), dns.edns.GenericOption(11, b""),
     dns.edns.GenericOption(19, b"")]])
def test_many_options_of_one_kind(nsd, kinds, tcp):
    """Fault 79: each is answered once."""
    server = nsd(zones={"example": zone_text()}, options={
        "answer-cookie": "yes", "nsid": '"ascii_here"'})
    roles = server.roles()
    ask = dns.query.tcp if tcp else dns.query.udp
    for count in 1, 15, 16, 17, 18, 33, 50:
        query = dns.message.make_query("www.example", "A", use_edns=0,
                                       payload=1232, request_payload=65535,
                                       options=kinds * count)
        reply = ask(query, server.address, DEADLINE, server.port)
        assert reply.rcode() == NOERROR
        assert len(reply.answer) == 1
        codes = [int(option.otype) for option in reply.options]
        assert len(codes) == len(set(codes))
        assert (10 in codes) == (COOKIE in kinds)
        assert (3 in codes) == (NSID in kinds)
    assert server.roles() == roles


def test_each_query_of_a_proxied_connection_is_blocked(proxied):
    """Fault 80: not the first alone."""
    server = proxied("zone:\n\tname: few.test\n\tzonefile: example.zone\n"
                     "\tallow-query: 192.0.2.0/24 NOKEY\n"
                     "\tallow-query: 192.0.2.66 BLOCKED\n"
                     "\tallow-query: 127.0.0.1 NOKEY\n")
    wire = dns.message.make_query("www.few.test", "A").to_wire()
    frame = struct.pack("!H", len(wire)) + wire
    for source, expected in (("192.0.2.66", REFUSED), ("192.0.2.1", NOERROR),
                             ("198.51.100.1", REFUSED)):
        with socket.create_connection(("127.0.0.1", server.proxy_port),
                                      DEADLINE) as client:
            client.sendall(header(source, protocol=1))
            with client.makefile("rb") as stream:
                # In turn, then in one go.
                for count in 1, 1, 1, 40:
                    client.sendall(frame * count)
                    for _ in range(count):
                        size = int.from_bytes(stream.read(2), "big")
                        reply = dns.message.from_wire(stream.read(size))
                        assert reply.rcode() == expected
