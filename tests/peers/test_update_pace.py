"""An ACME client's pace: records come and go several times a second, a serial
each, and the real BIND, Knot and NSD have each version from ours by IXFR."""
import contextlib
import random
import re
import time

import dns.query
import dns.update
import pytest

import secondaries
import servers
import test_ixfr
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
def running(kinds):
    """(our primary, secondaries of it)"""
    with contextlib.ExitStack() as stack:
        primary = Ours({ZONE: update_rules.ZONE})
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
