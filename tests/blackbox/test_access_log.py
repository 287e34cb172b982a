"""Who was given a zone, and who was refused something, as lines of the log."""
import re
import socket
import struct
import time

import dns.message
import dns.opcode
import dns.rrset
import pytest

import control
from harness import DEADLINE, zone_text

ACCESS = """\
	allow-query: 127.0.0.0/8 NOKEY
	allow-query: 127.0.0.7 BLOCKED
	provide-xfr: 127.0.0.5 NOKEY
	provide-xfr: 127.0.0.6 BLOCKED
	allow-notify: 127.0.0.9 BLOCKED
	request-xfr: 127.0.0.99@1 NOKEY
"""


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text()}, extra=ACCESS,
                       options={"verbosity": 2})
    return control.config(made).start()


def lines(server):
    return re.findall(r"info: ((?:axfr|ixfr|notify|query) .*)$",
                      server.read_log(), re.M)


def over_tcp(server, message, source):
    wire = message.to_wire()
    with socket.create_connection(("127.0.0.1", server.port), DEADLINE,
                                  (source, 0)) as client:
        client.sendall(struct.pack("!H", len(wire)) + wire)
        assert client.recv(2)


def over_udp(server, message, source, times=1):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((source, 0))
        client.settimeout(DEADLINE)
        for _ in range(times):
            client.sendto(message.to_wire(), ("127.0.0.1", server.port))
            client.recv(4096)


def ixfr():
    query = dns.message.make_query("example", "IXFR")
    query.authority.append(dns.rrset.from_text(
        "example.", 0, "IN", "SOA", ". . 1 0 0 0 0"))
    return query


def notify():
    query = dns.message.make_query("example", "SOA")
    query.set_opcode(dns.opcode.NOTIFY)
    return query


def test_lines_are_nsds(server):
    """Those of NSD 4.6; of a notify or query that is blocked it says by what."""
    axfr = dns.message.make_query("example", "AXFR")
    for source in "127.0.0.1", "127.0.0.5", "127.0.0.6":
        over_tcp(server, axfr, source)
    over_tcp(server, ixfr(), "127.0.0.5")
    over_udp(server, ixfr(), "127.0.0.1")
    for source in "127.0.0.7", "127.0.0.8":
        over_udp(server, dns.message.make_query("WWW.example", "A"), source)
    for source in "127.0.0.8", "127.0.0.9":
        over_udp(server, notify(), source)
    expected = [
        "axfr for example. from 127.0.0.1 refused, no acl matches",
        "axfr for example. from 127.0.0.5",
        "axfr for example. from 127.0.0.6 refused, blocked",
        "ixfr for example. from 127.0.0.5",
        "ixfr for example. from 127.0.0.1 refused, no acl matches",
        "query www.example. from 127.0.0.7 refused, BLOCKED",
        "notify for example. from 127.0.0.8 refused, no acl matches.",
        "notify for example. from 127.0.0.9 refused, BLOCKED",
    ]
    server.wait_log(re.escape(expected[-1]))
    assert lines(server) == expected


def test_lines_are_of_a_verbosity(server):
    assert control.ask(server, "verbosity", 1)[0] == 0
    over_tcp(server, dns.message.make_query("example", "AXFR"), "127.0.0.1")
    over_tcp(server, dns.message.make_query("example", "AXFR"), "127.0.0.5")
    server.wait_log("axfr for example. from 127.0.0.5")
    assert control.ask(server, "verbosity", 0)[0] == 0
    over_tcp(server, ixfr(), "127.0.0.5")
    assert lines(server) == ["axfr for example. from 127.0.0.5"]


def test_lines_are_bounded(server):
    """A flood of what is refused fills no disk."""
    query = dns.message.make_query("www.example", "A")
    begun = time.monotonic()
    over_udp(server, query, "127.0.0.7", times=2000)
    server.wait_log("refused, BLOCKED")
    assert len(lines(server)) <= 20 * (time.monotonic() - begun + 2)
