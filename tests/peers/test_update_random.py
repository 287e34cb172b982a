"""Random UPDATEs sent to our server and to BIND: RCODEs are the same, and so are
the zones after each few of them."""
import contextlib
import os
import random

import dns.name
import dns.query
import dns.zone
import pytest

import compare
import questions
import servers
import update_messages
import update_rules
import update_servers

pytestmark = pytest.mark.lasts(20)

ZONE = "random.test."
APEX = dns.name.from_text(ZONE)
SEEDS = range(4)
MESSAGES = 400
EACH = 10
NAMES = ["a", "b", "A.b", "c.b", "d.e", "*.w", "x.w", "u", "@"]
VALUES = {
    "A": ["192.0.2.1", "192.0.2.2", "192.0.2.3"],
    "TXT": ["one", "two", '"" ""'],
    "MX": ["10 a", "10 A", "20 b"],
    "CNAME": ["a", "b"],
    "SRV": ["1 2 3 a", "1 2 4 c.b"],
    "TYPE65280": ["\\# 0", "\\# 2 0102"],
}
RARE = ["SOA ns h 4294967295 3600 600 86400 300",
        "SOA ns h 2000000000 3600 600 86400 301",
        "SOA ns h 1 3600 600 86400 300"]
BAD = ["! a 60 CH TXT one", "! a 60 ANY A", "! a NONE ANY/NONE \\# 0",
       "! a 60 A/IN \\# 3 010203", "! a.example. 60 A 192.0.2.1"]
"""Records that make a message refused whole; BIND and ours agree on them only
if no prerequisite fails before."""


def prerequisite(rng):
    name, kind = rng.choice(NAMES), rng.choice(list(VALUES))
    return rng.choice((
        f"? {name} ANY ANY", f"? {name} NONE ANY", f"? {name} ANY {kind}",
        f"? {name} NONE {kind}",
        f"? {name} {kind} {rng.choice(VALUES[kind])}"))


def change(rng):
    name, kind = rng.choice(NAMES), rng.choice(list(VALUES))
    value = rng.choice(VALUES[kind])
    # BIND keeps an equal record whose names have other letters; ours does not.
    added = value.replace("A", "a") if kind == "MX" else value
    return rng.choices((
        f"! {name} {rng.choice((0, 60, 3600))} {kind} {added}",
        f"! {name} ANY {kind}", f"! {name} NONE {kind} {value}",
        f"! {name} ANY ANY", f"! @ 60 {rng.choice(RARE)}"),
        (60, 12, 20, 7, 1))[0]


def message(rng):
    parts = [change(rng) for _ in range(rng.choice((0, 1, 1, 2, 3, 8)))]
    if rng.random() < 0.05:
        parts.insert(rng.randrange(len(parts) + 1), rng.choice(BAD))
    elif rng.random() < 0.5:
        parts = [prerequisite(rng) for _ in range(rng.choice((1, 1, 2)))] \
            + parts
    return "; ".join(parts)


def contents(server):
    zone = dns.zone.from_xfr(dns.query.xfr(
        "127.0.0.1", APEX, port=server.port, lifetime=update_servers.LIMIT))
    return update_servers.contents(zone)


@pytest.mark.parametrize("seed", [int(os.environ.get("NSD_SEED", "0")), *SEEDS])
def test_as_bind(seed):
    """RFC 2136 sections 3.2 and 3.4."""
    rng = random.Random(seed)
    said, since = [], []
    with contextlib.ExitStack() as stack:
        both = [stack.enter_context(servers.started(
            kind({ZONE: update_rules.ZONE})))
            for kind in (update_servers.Ours, update_servers.Bind)]
        for number in range(MESSAGES):
            text = message(rng)
            since.append(text)
            wire, mac = update_messages.make(text, APEX, {}, number)
            said = [update_servers.answer(server.port, wire, mac, {})
                    for server in both]
            assert said[0] == said[1], text
            if number % EACH == EACH - 1:
                ours, bind = map(contents, both)
                assert ours == bind, since
                since = []


def answers(server, path):
    """Answers to questions about each name of a file, and names around it."""
    asked = questions.make({ZONE: path})
    return dict(zip(asked, compare.ask_all(server, asked, compare.How(
        tcp=True, size=1232, dnssec=True))))


@pytest.mark.parametrize("seed", [int(os.environ.get("NSD_SEED", "0"))])
def test_as_a_fresh_server(seed, tmp_path):
    """A thousand random changes leave a zone that answers as one that was read
    from a file, however often that is done."""
    rng = random.Random(seed)
    with servers.started(update_servers.Ours(
            {ZONE: update_rules.ZONE})) as server:
        for thousand in range(3):
            for number in range(1000):
                wire, mac = update_messages.make(message(rng), APEX, {},
                                                 number)
                update_servers.answer(server.port, wire, mac, {})
            zone = dns.zone.from_xfr(dns.query.xfr(
                "127.0.0.1", APEX, port=server.port, relativize=False,
                lifetime=update_servers.LIMIT), relativize=False)
            path = tmp_path / f"{thousand}.zone"
            zone.to_file(str(path), relativize=False)
            with servers.started(update_servers.Ours(
                    {ZONE: path.read_text()})) as fresh:
                assert answers(server, path) == answers(fresh, path)
