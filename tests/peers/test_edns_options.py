"""EDNS options that other servers answer, too: EXPIRE (RFC 7314) and
edns-tcp-keepalive (RFC 7828), beside the real BIND and Knot."""
import struct

import dns.edns
import dns.message
import pytest

import servers
from test_requests import ask

EXPIRE, KEEPALIVE = 9, 11
ZONE = """\
$ORIGIN example.
$TTL 3600
@	IN SOA ns h 1 7200 3600 1209600 300
	IN NS ns
ns	IN A 192.0.2.1
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    zone = tmp_path_factory.mktemp("options") / "example.zone"
    zone.write_text(ZONE)
    started = {}
    try:
        for kind in servers.Ours, *servers.RIVALS:
            started[kind.name] = kind({"example.": zone}).start()
        yield started
    finally:
        for server in started.values():
            server.stop()


def option(server, code, rdtype="SOA", name="example.", tcp=False):
    """The octets that answer an empty option, or None."""
    wire = dns.message.make_query(
        name, rdtype, options=[dns.edns.GenericOption(code, b"")]).to_wire()
    reply = dns.message.from_wire(ask(server, wire, tcp))
    return next((o.to_wire() for o in reply.options if o.otype == code), None)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_expire_of_a_primary_is_that_of_its_soa(running, tcp):
    said = {name: option(server, EXPIRE, tcp=tcp)
            for name, server in running.items()}
    assert said["ours"] == struct.pack("!I", 1209600)
    # BIND tells it; those who do not know the option say nothing.
    assert said["bind"] == said["ours"]
    assert set(said.values()) <= {said["ours"], None}
    for rdtype, name in ("NS", "example."), ("A", "ns.example."):
        assert option(running["ours"], EXPIRE, rdtype, name, tcp) is None


def test_keepalive_is_told_over_tcp_alone(running):
    said = {name: option(server, KEEPALIVE, tcp=True)
            for name, server in running.items()}
    assert said["ours"] == struct.pack("!H", 1200)  # tcp-timeout, 120 s
    assert len(said["bind"]) == 2
    for server in running.values():
        assert option(server, KEEPALIVE) is None
