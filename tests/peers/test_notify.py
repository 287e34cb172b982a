"""Replies to NOTIFY, of our server and of the real NSD, for every kind of access
list; and where our server is stricter."""
import itertools
import random
import struct

import dns.message
import dns.name
import dns.tsig
import dns.tsigkeyring
import pytest

import servers
from ports import free_port
from test_access import LAST, ask as ask_from, random_element
from test_requests import ask

ZONE = """\
@ 3600 IN SOA ns h 7 2000 3000 4000000 300
@ 3600 IN NS ns
ns 3600 IN A 192.0.2.1
"""
SECRET = "AAAAAAAAAAAAAAAAAAAAAA=="
LISTS = {
    "anyone": ["allow-notify: 127.0.0.1 NOKEY"],
    "key": ["allow-notify: 127.0.0.1 k"],
    "both": ["allow-notify: 127.0.0.1 NOKEY", "allow-notify: 127.0.0.1 k"],
    "blocked": ["allow-notify: 127.0.0.0/8 NOKEY",
                "allow-notify: 127.0.0.1 BLOCKED"],
    "other": ["allow-notify: 127.0.0.2 NOKEY"],
    "nobody": [],
}


def random_lists(count, seed=1):
    """Lists that are long enough to be compiled into trees of bounds."""
    chance = random.Random(seed)
    return {f"random{n}": [f"allow-notify: {random_element(chance)}"
                           for _ in range(chance.randrange(9, 20))]
            for n in range(count)}


RANDOM = random_lists(40)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    zone = tmp_path_factory.mktemp("notify") / "zone"
    zone.write_text(ZONE)
    more = []
    for name in "k", "k2":
        more += ["key:", f"\tname: {name}", "\talgorithm: sha256",
                 f"\tsecret: {SECRET}"]
    for name, lines in (LISTS | RANDOM).items():
        more += ["zone:", f"\tname: {name}.test", f'\tzonefile: "{zone}"',
                 f"\trequest-xfr: 127.0.0.1@{free_port()} NOKEY"]
        more += [f"\t{line}" for line in lines]
    started = {}
    try:
        for kind in servers.Ours, servers.Nsd:
            server = kind({"primary.test": zone})
            server.more = more
            started[kind.name] = server
            server.start()
        yield started
    finally:
        for server in started.values():
            server.stop()


SOA = b"\xc0\x0c\0\6\0\1\0\0\0\x3c\0\x16\0\0" + struct.pack("!5I", 9, 1, 2, 3,
                                                             4)
OPT = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"


def notify(name, rdtype=6, rdclass=1, flags=0x2400, counts=(1, 0, 0, 0),
           rest=b""):
    return (struct.pack("!6H", 0x4711, flags, *counts)
            + dns.name.from_text(name).to_wire()
            + struct.pack("!HH", rdtype, rdclass) + rest)


def signed(wire, key, secret=SECRET):
    """Gives a function that signs it when it is sent: a signature is good for 300 s."""
    def sign():
        message = dns.message.from_wire(wire)
        message.use_tsig(dns.tsigkeyring.from_text(
            {key: ("hmac-sha256", secret)}), dns.name.from_text(key))
        return message.to_wire()
    return sign


def shape(reply):
    """The word of flags and RCODE, and the four counts, of a reply."""
    words = struct.unpack("!6H", reply[:12])
    return f"{words[1]:04x} {words[2]} {words[3]} {words[4]} {words[5]}"


def shapes(running, wire, tcp):
    if callable(wire):
        wire = wire()
    return {name: shape(ask(server, wire, tcp))
            for name, server in running.items()}


GOOD, REFUSED, UNKNOWN = "a400 1 0 0 0", "a405 0 0 0 0", "a403 0 0 0 0"
SIGNED = "a400 1 0 0 1"
SAME = {
    "anyone": (notify("anyone.test."), GOOD),
    "serial": (notify("anyone.test.", counts=(1, 1, 0, 0), rest=SOA), GOOD),
    "case": (notify("ANYONE.Test."), GOOD),
    "without AA": (notify("anyone.test.", flags=0x2000), GOOD),
    "RD": (notify("anyone.test.", flags=0x2500), "a500 1 0 0 0"),
    "trash": (notify("anyone.test.", rest=b"trash"), GOOD),
    "both": (notify("both.test."), GOOD),
    "both signed": (signed(notify("both.test."), "k"), SIGNED),
    "key": (signed(notify("key.test."), "k"), SIGNED),
    "key unsigned": (notify("key.test."), REFUSED),
    "another key": (signed(notify("key.test."), "k2"), "a405 0 0 0 1"),
    "signed for NOKEY": (signed(notify("anyone.test."), "k"), "a405 0 0 0 1"),
    "blocked": (notify("blocked.test."), REFUSED),
    "other": (notify("other.test."), REFUSED),
    "nobody": (notify("nobody.test."), REFUSED),
    "primary": (notify("primary.test."), REFUSED),
    "below": (notify("ns.anyone.test."), UNKNOWN),
    "above": (notify("test."), UNKNOWN),
    "unknown": (notify("unknown.test."), UNKNOWN),
    "rcode": (notify("anyone.test.", flags=0x2403), "a001 0 0 0 0"),
}


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("kind", SAME)
def test_replies_are_those_of_nsd(running, kind, tcp):
    wire, expected = SAME[kind]
    assert shapes(running, wire, tcp) == {"ours": expected, "nsd": expected}


# BIND and Knot, too, refuse a NOTIFY of another type; the other requests are
# malformed, or have EDNS. (request, our reply, NSD's)
DIFFERENT = {
    "type A": (notify("anyone.test.", rdtype=1), "a001 0 0 0 0", GOOD),
    "class CH": (notify("anyone.test.", rdclass=3), REFUSED, GOOD),
    "no question": (notify("anyone.test.", counts=(0, 0, 0, 0)),
                    "a001 0 0 0 0", "a400 0 0 0 0"),
    "cut": (notify("anyone.test.", counts=(1, 1, 0, 0), rest=SOA[:-1]),
            "a001 0 0 0 0", GOOD),
    "flags": (notify("anyone.test.", flags=0x27f0), "a500 1 0 0 0",
              "a7f0 1 0 0 0"),
    "EDNS": (notify("anyone.test.", counts=(1, 0, 0, 1), rest=OPT),
             "a400 1 0 0 1", GOOD),
    "wrong signature": (signed(notify("key.test."), "k", SECRET.replace(
        "A", "B", 1)), "a009 0 0 0 1", "a409 0 0 0 1"),
}


@pytest.mark.parametrize("kind", DIFFERENT)
def test_where_ours_is_stricter(running, kind):
    wire, ours, nsd = DIFFERENT[kind]
    assert shapes(running, wire, False) == {"ours": ours, "nsd": nsd}


def test_long_lists_allow_whom_nsd_allows(running):
    seen = []
    for name, last in itertools.product(RANDOM, LAST):
        got = {kind: shape(ask_from(server, notify(f"{name}.test."),
                                    f"127.0.0.{last}", False))
               for kind, server in running.items()}
        assert got["ours"] == got["nsd"], (RANDOM[name], last)
        seen.append(got["ours"] == GOOD)
    assert len(seen) / 10 < sum(seen) < len(seen) * 9 / 10
