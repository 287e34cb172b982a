"""An ACME client's pace: records come and go several times a second, a serial
each, and the real BIND, Knot and NSD have each version from ours by IXFR."""
import contextlib
import random
import re
import socket
import struct
import time

import dns.name
import dns.query
import dns.update
import dns.zone
import pytest

import secondaries
import servers
import test_ixfr
import test_update_random
import update_messages
import update_rules
import update_servers
from test_primaries import apply, ask
from test_transfer import canonical, take

pytestmark = pytest.mark.lasts(30)

ZONE = "pace.test."
FIRST = 100
CHANGES = 60
PAUSE_SEC = 0.15
FAILED = re.compile(
    r"(?i)(axfr|ixfr|xfr|refresh|transfer).*(fail|refused|malformed|mismatch)")
IMPATIENT = "update failed, restarting transfer"


class Ours(update_servers.Ours):
    """Tells its secondaries of each version."""

    def __init__(self, zones):
        super().__init__(zones)
        self.told = []

    def extra(self):
        return [f"\tixfr-number: {CHANGES + 1}",
                *(f"\tnotify: 127.0.0.1@{port} NOKEY" for port in self.told)]


def challenge(rng, held):
    """An update that adds a token, or takes one away; both leave others."""
    update = dns.update.UpdateMessage(
        ZONE, keyring=update_messages.KEYS["good"])
    if held and rng.random() < 0.5:
        name, token = held.pop(rng.randrange(len(held)))
        update.delete(name, "TXT", token)
    else:
        name = f"_acme-challenge.h{rng.randrange(5)}"
        token = f"{rng.getrandbits(256):064x}"
        held.append((name, token))
        update.add(name, 60, "TXT", token)
    return update


def change(primary, rng):
    """Changes, each sent once the last is answered. Returns the last serial."""
    held = []
    for _ in range(CHANGES):
        reply = dns.query.udp(challenge(rng, held), "127.0.0.1",
                              port=primary.port, timeout=60)
        assert reply.rcode() == 0, reply
        time.sleep(PAUSE_SEC)
    return FIRST + CHANGES


def failures(secondary):
    """Lines of a secondary's log of transfers that failed."""
    logs = [path for path in (secondary.dir / "output", secondary.dir / "log")
            if path.exists()]
    return [line for path in logs
            for line in path.read_text(errors="replace").splitlines()
            if FAILED.search(line) and IMPATIENT not in line]


@contextlib.contextmanager
def running(kinds, text=update_rules.ZONE):
    """(our primary, secondaries of it)"""
    with contextlib.ExitStack() as stack:
        primary = Ours({ZONE: text})
        others = [kind(primary) for kind in kinds]
        for other in others:
            other.how = ""
        primary.told = [other.port for other in others]
        for server in (primary, *others):
            stack.enter_context(servers.started(server))
        yield primary, others


def check_secondary(primary, secondary, last):
    test_ixfr.wait_for(secondary, last, ZONE)
    assert canonical(take(secondary.port, ZONE), ZONE) == \
        canonical(take(primary.port, ZONE), ZONE)
    assert not failures(secondary)


def test_each_version_reaches_all():
    """RFC 2136 section 3.6, RFC 1995: no version is left out, no secondary
    falls back to AXFR, and all have the same zone at the end."""
    with running((secondaries.Bind, secondaries.Knot)) as (primary, others):
        before = canonical(take(primary.port, ZONE), ZONE)
        whole, _ = test_ixfr.count_transfers(primary)
        last = change(primary, random.Random("pace"))
        for serial in range(FIRST, last):
            said, lines = ask(primary, ZONE, "ixfr", serial)
            assert said == f"diffs {serial} {last}"
            if serial == FIRST:
                assert apply(before, lines) == canonical(
                    take(primary.port, ZONE), ZONE)
        for other in others:
            check_secondary(primary, other, last)
        # Whole zones that this test took.
        assert test_ixfr.count_transfers(primary)[0] == whole + 1 + len(others)


def test_nsd_keeps_up():
    """NSD gathers changes before it serves them, and gives up IXFR if it hears
    of the next one meanwhile, from BIND, too. It ends with the same zone."""
    with running((secondaries.Nsd,)) as (primary, (other,)):
        last = change(primary, random.Random("pace of NSD"))
        check_secondary(primary, other, last)


def send_many(primary, messages):
    """Sends them at once on one connection. The count of those that were
    taken."""
    wires = [update_messages.make(text, dns.name.from_text(ZONE), {}, number)[0]
             for number, text in enumerate(messages)]
    taken = 0
    with socket.create_connection(("127.0.0.1", primary.port), 60) as sock, \
            sock.makefile("rb") as stream:
        sock.sendall(b"".join(struct.pack("!H", len(wire)) + wire
                              for wire in wires))
        for _ in wires:
            reply = stream.read(*struct.unpack("!H", stream.read(2)))
            taken += reply[3] & 15 == 0
    return taken


def test_random_changes_over_the_last_serial():
    """RFC 1982: serials go on behind 4294967295. Secondaries follow from batch
    to batch, whatever is changed."""
    rng = random.Random("over the last serial")
    before = 2**32 - 100
    with contextlib.ExitStack() as stack:
        kinds = secondaries.Bind, secondaries.Knot, secondaries.Nsd
        primary, others = stack.enter_context(running(
            kinds, update_rules.ZONE.replace("ns h 100 ", f"ns h {before} ")))
        sent = taken = 0
        while sent < 500:
            messages = [text for text in map(
                test_update_random.message, [rng] * rng.choice((1, 4, 16)))
                if "SOA" not in text]
            taken += send_many(primary, messages)
            sent += len(messages)
        last = update_servers.contents(dns.zone.from_xfr(dns.query.xfr(
            "127.0.0.1", ZONE, port=primary.port, lifetime=60)))[1]
        assert last < taken
        for other in others:
            check_secondary(primary, other, last)
