"""Differences that ours sends: those that it was sent by the real BIND, Knot and
NSD, and those that it has made of zone files. The real ones take them."""
import os
import re
import signal
import time

import dns.exception
import dns.message
import dns.query
import pytest

import primaries
import secondaries
import test_primaries
import test_secondary
from test_primaries import apply, ask
from test_secondary import KEY, equal
from test_transfer import in_file

ZONE = "changing.test."
LAST = 7
PATIENCE = 60


class Ours(test_secondary.Secondary):
    """Keeps what it is sent."""

    kept = 5

    def command(self):
        command = super().command()
        conf = self.dir / "nsd.conf"
        conf.write_text(conf.read_text().replace(
            "\tprovide-xfr:", f"\tstore-ixfr: yes\n\tixfr-number: {self.kept}"
            "\n\tprovide-xfr:"))
        return command


def advance(primary, path, serial, sets):
    test_primaries.write(path, serial)
    sets[serial] = in_file(ZONE, path)
    if primary.process:
        primary.reread()


def has(server, serial):
    query = dns.message.make_query(ZONE, "SOA")
    try:
        reply = dns.query.udp(query, "127.0.0.1", timeout=1, port=server.port)
    except (OSError, dns.exception.DNSException):
        return False
    return bool(reply.answer) and reply.answer[0][0].serial == serial


def wait_for(server, serial):
    end = time.monotonic() + PATIENCE
    while not has(server, serial):
        assert time.monotonic() < end, f"{server.name} has not {serial}"
        time.sleep(0.02)


def expect_differences(server, sets, first, to, signed=()):
    for serial in range(first, to):
        said, lines = ask(server, ZONE, "ixfr", serial, signed)
        assert said == f"diffs {serial} {to}"
        assert apply(sets[serial], lines) == sets[to]


@pytest.mark.parametrize("kind", primaries.ALL)
def test_what_was_received_is_sent_on(tmp_path, kind):
    path, sets = tmp_path / "zone", {}
    primary = kind({ZONE: path})
    middle = Ours(primary)
    try:
        advance(primary, path, 1, sets)
        primary.start()
        middle.start()
        wait_for(middle, 1)
        for serial in range(2, LAST + 1):
            advance(primary, path, serial, sets)
            wait_for(middle, serial)
            expect_differences(middle, sets, max(1, serial - Ours.kept),
                               serial)
        said, lines = ask(middle, ZONE, "ixfr", 1)
        assert said == f"whole {LAST}"
        assert apply(set(), lines) == sets[LAST]
        # One step is small enough for a datagram.
        said, lines = ask(middle, ZONE, "ixfr-udp", LAST - 1)
        assert said == f"diffs {LAST - 1} {LAST}"
        assert apply(sets[LAST - 1], lines) == sets[LAST]
    finally:
        middle.stop()
        primary.stop()


def count_transfers(server):
    """How often AXFR and IXFR were asked for, as statistics have it."""
    log = server.dir / "log"
    before = len(re.findall("XSTATS", log.read_text()))
    os.kill(server.process.pid, signal.SIGUSR1)
    end = time.monotonic() + PATIENCE
    while len(found := re.findall(r"XSTATS .* RAXFR=(\d+) RIXFR=(\d+)",
                                  log.read_text())) == before:
        assert time.monotonic() < end
        time.sleep(0.02)
    return tuple(map(int, found[-1]))


@pytest.mark.parametrize("key", (None, KEY), ids=("plain", "signed"))
@pytest.mark.parametrize("kind", secondaries.ALL + (Ours,))
def test_secondaries_take_differences(tmp_path, kind, key):
    path, sets = tmp_path / "zone", {}
    primary = primaries.Ours({ZONE: path})
    primary.key = key
    secondary = kind(primary)
    secondary.key, secondary.how = key, ""
    primary.notified = secondary.port
    try:
        advance(primary, path, 1, sets)
        primary.start()
        secondary.start()
        wait_for(secondary, 1)
        whole, _ = count_transfers(primary)
        for serial in range(2, LAST + 1):
            advance(primary, path, serial, sets)
            wait_for(secondary, serial)
            equal(secondary, ZONE, path)
        assert count_transfers(primary)[0] == whole
        assert count_transfers(primary)[1] >= LAST - 1
        if key is None:
            expect_differences(primary, sets, LAST - 5, LAST)
    finally:
        secondary.stop()
        primary.stop()
