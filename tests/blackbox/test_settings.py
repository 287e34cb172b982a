"""Settings lie in the store: they outlive all processes that use them, a worker
that comes later finds the same, and a database never brings any."""

import os
import random
import signal
import socket

import dns.flags
import dns.message
import dns.query

import harness
from harness import ede_codes, wait_for, zone_text
from test_database import restart
from test_zones import change, put_file

SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))

CLOSED = """pattern:
	name: closed
	zonefile: "%s.zone"
	allow-query: 127.0.0.0&255.255.255.2 NOKEY
	allow-query: 127.0.0.5-127.0.0.8 BLOCKED
	allow-query: 127.0.0.9 k
key:
	name: k
	secret: AAAAAAAA
zone:
	name: closed.test
	include-pattern: closed
"""


def ask(server, name, source, rdtype="SOA"):
    """The rcode for a client at that address, and of an extended error."""
    query = dns.message.make_query(name, rdtype, use_edns=0)
    reply = dns.query.udp(query, server.address, port=server.port,
                          source=source, timeout=harness.DEADLINE)
    return dns.rcode.to_text(reply.rcode()), ede_codes(reply)


def check_closed(server, name="closed.test"):
    for last in range(1, 13):
        refused = last & 2 or 5 <= last <= 8
        assert ask(server, name, f"127.0.0.{last}") == (
            ("REFUSED", [18]) if refused else ("NOERROR", [])), last


def check_all(server, identity="me", nsid=b"me"):
    """Several times: the sockets of all servers are asked."""
    for _ in range(8):
        query = dns.message.make_query("id.server", "TXT", "CH", use_edns=0,
                                       options=[dns.edns.GenericOption(3, b"")])
        reply = dns.query.udp(query, server.address, port=server.port,
                              timeout=harness.DEADLINE)
        assert reply.answer[0][0].strings == (identity.encode(),)
        assert [o.data if hasattr(o, "data") else o.nsid
                for o in reply.options if o.otype == 3] == [nsid]
    check_closed(server)


OPTIONS = {"server-count": 2, "identity": "me", "nsid": "ascii_me"}


def test_settings_outlive_every_process(nsd):
    server = nsd(zones={"open.test": zone_text()}, options=OPTIONS,
                 extra=CLOSED.replace("%s", "open.test"))
    check_all(server)
    chance = random.Random(SEED)
    for _ in range(8):
        role = chance.choice(["loader", "server 1", "server 2", "xfrd"])
        old = server.kill(role)
        check_all(server)
        server.wait_replaced(role, old)
        check_all(server)
    assert ask(server, "open.test", "127.0.0.2") == ("NOERROR", []), SEED


def test_zone_that_comes_has_the_options_of_its_pattern(nsd):
    server = nsd(zones={"open.test": zone_text()}, updates=True,
                 options=OPTIONS, extra=CLOSED.replace("%s", "open.test", 1)
                 .replace("open.test.zone", "%s.zone"))
    put_file(server, "closed.test", zone_text())
    put_file(server, "late.test", zone_text(3))
    for _ in range(3):
        assert change(server, "addzone late.test closed") == ("ok", True)
        check_closed(server, "late.test")
        server.wait_replaced("loader", server.kill("loader"))
        check_closed(server, "late.test")
        wait_for("the next loader", lambda: change(
            server, "delzone late.test")[0] == "ok")
        assert ask(server, "late.test", "127.0.0.1") == ("REFUSED", [20])


def test_lists_hold_for_every_question(nsd):
    """Access lists hold for any question for the zone, over UDP and TCP."""
    server = nsd(zones={"open.test": zone_text()}, options=OPTIONS,
                 extra=CLOSED.replace("%s", "open.test"))
    for name in "closed.test", "www.closed.test", "no.closed.test":
        for rdtype in "A", "SOA", "DS", "ANY", "TYPE65280":
            assert ask(server, name, "127.0.0.2", rdtype) == (
                "REFUSED", [18])
            query = dns.message.make_query(name, rdtype)
            reply = dns.query.tcp(query, server.address, port=server.port,
                                  source="127.0.0.2",
                                  timeout=harness.DEADLINE)
            assert dns.rcode.to_text(reply.rcode()) == "REFUSED"
            assert not reply.flags & dns.flags.AA


def test_database_brings_no_settings(nsd, directory):
    """A changed nsd.conf is in effect at once, and no zone is read for it."""
    server = nsd(zones={"a.test": zone_text(1)}, options={
        **OPTIONS, "database": f'"{directory}/zones.db"'},
        extra=CLOSED.replace("%s", "a.test"))
    check_all(server)
    assert server.stop() == 0
    server.options.update({"identity": "she", "nsid": "ascii_she",
                           "minimal-responses": "yes"})
    server.extra = server.extra.replace("127.0.0.9 k", "127.0.0.1 BLOCKED")
    server.write_config()
    log = restart(server, stop=False)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log
    assert ask(server, "closed.test", "127.0.0.1") == ("REFUSED", [18])
    assert ask(server, "closed.test", "127.0.0.4") == ("NOERROR", [])
    assert server.answer("id.server", "TXT", rdclass="CH") == ['"she"']
    assert not server.query("www.a.test", "A").authority
    # Nor does one without any list.
    assert server.stop() == 0
    server.extra = ""
    server.options["minimal-responses"] = "no"
    server.write_config()
    log = restart(server, stop=False)
    assert "1 zones: 0 read, 0 failed" in log
    assert server.query("www.a.test", "A").authority


def test_edns_size_is_that_of_the_family(make_server):
    for size in 512, 4096:
        server = make_server(zones={"a.test": zone_text() + "".join(
            f"big TXT {'x' * 200}{i}\n" for i in range(8))},
            options={"ipv4-edns-size": size}).start()
        query = dns.message.make_query("big.a.test", "TXT", use_edns=0,
                                       payload=4096)
        reply = dns.query.udp(query, server.address, port=server.port,
                              timeout=harness.DEADLINE)
        assert reply.payload == size
        assert bool(reply.flags & dns.flags.TC) == (size == 512)
        assert server.stop() == 0
