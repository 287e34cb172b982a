"""Transfers that were made, and requests that were refused, as lines of the
log."""
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
from ports import free_port
from test_proxy import header as proxied

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
    return re.findall(r"info: ((?:axfr|ixfr|notify|query|proxy-\w+:) .*)$",
                      server.read_log(), re.M)


def over_tcp(server, message, source):
    wire = message.to_wire()
    with socket.create_connection(("127.0.0.1", server.port), DEADLINE,
                                  (source, 0)) as client:
        client.sendall(struct.pack("!H", len(wire)) + wire)
        assert client.recv(2)


def over_udp(server, message, source, times=1, port=0, patience=DEADLINE):
    wire = message if isinstance(message, bytes) else message.to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((source, port))
        client.settimeout(patience)
        for _ in range(times):
            client.sendto(wire, ("127.0.0.1", server.port))
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
    """The lines are those of NSD 4.6."""
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
        "query www.example. from 127.0.0.7 refused, BLOCKED 127.0.0.7",
        "notify for example. from 127.0.0.8 refused, no acl matches.",
        "notify for example. from 127.0.0.9 refused, 127.0.0.9 BLOCKED",
    ]
    server.wait_log(re.escape(expected[-1]))
    assert lines(server) == expected


@pytest.mark.parametrize("element", [
    "127.0.0.0/24", "127.0.0.7@{port}", "127.0.0.1-127.0.0.9",
    "127.0.0.7&255.0.0.255", "127.0.0.0/24@{port}"])
def test_element_is_that_of_nsd_conf(make_server, element):
    port = free_port()
    element = element.format(port=port)
    server = make_server(zones={"example": zone_text()}, extra=(
        "\tallow-query: 0.0.0.0/0 NOKEY\n\tallow-query: 127.0.0.9 BLOCKED\n"
        f"\tallow-query: {element} BLOCKED\n"),
        options={"verbosity": 2}).start()
    over_udp(server, dns.message.make_query("example", "A"), "127.0.0.7",
             port=port)
    server.wait_log(re.escape("query example. from 127.0.0.7 refused,"
                              f" BLOCKED {element}\n"))


def test_proxy_that_is_blocked(make_server):
    port = free_port()
    server = make_server(zones={"example": zone_text()}, extra=(
        "\tallow-query: 0.0.0.0/0 NOKEY\n\tallow-query: 127.0.0.7 BLOCKED\n"),
        options={"verbosity": 2, "ip-address": ["127.0.0.1",
                                                f"127.0.0.1@{port}"],
                 "proxy-protocol-port": port,
                 "allow-proxy": "127.0.0.0/29"}).start()
    wire = dns.message.make_query("example", "A").to_wire()
    server.port = port
    for client, proxy in (("192.0.2.1", "127.0.0.7"),
                          ("127.0.0.7", "127.0.0.1")):
        over_udp(server, proxied(client) + wire, proxy)
    with pytest.raises(TimeoutError):
        over_udp(server, proxied("192.0.2.1") + wire, "127.0.0.8",
                 patience=0.3)
    expected = [
        "query example. from 192.0.2.1 via proxy 127.0.0.7 refused because of"
        " proxy, BLOCKED 127.0.0.7",
        "query example. from 127.0.0.7 refused, BLOCKED 127.0.0.7",
        "proxy-protocol: 127.0.0.8 is not in allow-proxy list"]
    server.wait_log(re.escape(expected[-1]))
    assert lines(server) == expected


LARGE = "x TYPE65280 \\# 65510 " + "00" * 65510 + "\n"


@pytest.mark.parametrize("rdtype", ["AXFR", "IXFR"])
def test_record_without_room_in_any_message(make_server, rdtype):
    server = make_server(zones={"example": zone_text()}, extra=(
        "\tprovide-xfr: 127.0.0.1 NOKEY\n\tstore-ixfr: yes\n"
        "\tcreate-ixfr: yes\n"), options={"verbosity": 2})
    control.config(server).start()
    server.write_zone("example", zone_text(2) + LARGE)
    assert control.ask(server, "reload")[0] == 0
    query = ixfr() if rdtype == "IXFR" else dns.message.make_query(
        "example", "AXFR")
    over_tcp(server, query, "127.0.0.1")
    words = ("axfr: ", "") if rdtype == "AXFR" else ("ixfr_out: ", "IXFR ")
    server.wait_log("%sRR at x.example. in zone example. too large for any"
                    r" DNS message \(wire encoding exceeds 65535 bytes\),"
                    " aborting %stransfer\n" % words)


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
