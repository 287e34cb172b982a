"""Zones that ours takes from the real BIND, Knot and NSD, and from itself."""
import base64
import os
import random
import re
import time

import dns.exception
import dns.message
import dns.query
import pytest

import primaries
import servers
import some_zones
from servers import started
from test_transfer import canonical, in_file, take

pytestmark = pytest.mark.lasts(60)

PATIENCE = 120
STEPS = 6
KEY = ("hmac-sha256", "shared", base64.b64encode(bytes(range(32))).decode())


class Secondary(servers.Ours):
    """Has the zones of a primary, all from there. No file of its own exists at
    the start."""

    key = None  # upstream's is used

    def __init__(self, upstream, options=""):
        super().__init__({})
        self.upstream = upstream
        self.names = upstream.zones
        self.options = options
        upstream.notified = self.port

    def command(self):
        key, name = [], "NOKEY"
        if self.upstream.key:
            algorithm, name, secret = self.upstream.key
            key = ["key:", f"\tname: {name}", f"\talgorithm: {algorithm}",
                   f'\tsecret: "{secret}"']
        self.more = list(key)
        for zone in self.names:
            self.more += [
                "zone:", f"\tname: {zone}",
                f'\tzonefile: "{self.dir}/{zone}zone"',
                f"\trequest-xfr: {self.options}"
                f"127.0.0.1@{self.upstream.port} {name}",
                f"\tallow-notify: 127.0.0.1 {name}",
                "\tprovide-xfr: 127.0.0.1 NOKEY"]
        return super().command()

    def serial(self, zone):
        query = dns.message.make_query(zone, "SOA")
        try:
            reply = dns.query.udp(query, "127.0.0.1", timeout=1,
                                  port=self.port)
        except (OSError, dns.exception.DNSException):
            return None
        return reply.answer[0][0].serial if reply.answer else None

    def wait_serial(self, zone, serial):
        end = time.monotonic() + PATIENCE
        while self.serial(zone) != serial:
            assert time.monotonic() < end, (self.dir / "log").read_text()
            time.sleep(0.02)


def change(text, zone, seed, serial):
    """Another version of a random zone: some lines go, some come."""
    chance = random.Random(seed)
    head = [line for line in text.splitlines()
            if "SOA" in line or line.startswith("$")]
    rest = [line for line in text.splitlines()
            if line and line not in head]
    kept = [line for line in rest
            if not line.startswith("new") or chance.random() < 0.5]
    more = [f"new{chance.randrange(500)}.{zone} 300 IN TXT \"{seed}\""
            for _ in range(chance.randrange(1, 40))]
    head = [re.sub(r"(SOA \S+ \S+ )\d+", rf"\g<1>{serial}", line)
            for line in head]
    return "\n".join(head + kept + more) + "\n"


def plain(zone, serial):
    return (f"$ORIGIN {zone}\n$TTL 3600\n"
            f"{zone} IN SOA ns.{zone} h.{zone} {serial} 3600 900 86400 300\n"
            f"{zone} IN NS ns.{zone}\nns.{zone} IN A 192.0.2.1\n"
            + "".join(f"n{i}.{zone} IN A 192.0.2.{i % 250}\n"
                      for i in range(1500)))


def equal(secondary, zone, path):
    assert canonical(take(secondary.port, zone), zone) == in_file(zone, path)


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    return some_zones.make(tmp_path_factory.mktemp("zones"))


@pytest.mark.parametrize("key", (None, KEY), ids=("plain", "signed"))
@pytest.mark.parametrize("kind", primaries.ALL)
def test_zones_come_whole(zones, kind, key):
    primary = kind(zones)
    primary.key = key
    secondary = Secondary(primary)
    secondary.zones = {}
    with started(primary), started(secondary):
        for zone, path in zones.items():
            end = time.monotonic() + PATIENCE
            while secondary.serial(zone) is None:
                assert time.monotonic() < end, \
                    (secondary.dir / "log").read_text()
                time.sleep(0.02)
            equal(secondary, zone, path)


@pytest.mark.parametrize("options", ("", "AXFR ", "UDP "))
@pytest.mark.parametrize("kind", primaries.ALL)
def test_changes_come_by_notify(tmp_path, kind, options):
    zone, path = "changes.test.", tmp_path / "changes.zone"
    serial = 2**32 - 3  # the serial wraps
    path.write_text(plain(zone, serial))
    primary = kind({zone: path})
    secondary = Secondary(primary, options)
    with started(primary), started(secondary):
        secondary.wait_serial(zone, serial)
        for step in range(STEPS):
            serial = (serial + 1) % 2**32
            path.write_text(change(path.read_text(), zone, step, serial))
            time.sleep(1.1)  # some see the change by the second
            primary.reread()
            secondary.wait_serial(zone, serial)
            equal(secondary, zone, path)


@pytest.mark.parametrize("kind", primaries.ALL)
def test_what_was_served_is_served_again(tmp_path, kind):
    """After all processes were killed, with no primary there."""
    zone, path = "again.test.", tmp_path / "again.zone"
    path.write_text(plain(zone, 1))
    primary = kind({zone: path})
    secondary = Secondary(primary)
    with started(primary), started(secondary):
        secondary.wait_serial(zone, 1)
        for serial in (2, 3):
            path.write_text(change(path.read_text(), zone, serial, serial))
            time.sleep(1.1)
            primary.reread()
            secondary.wait_serial(zone, serial)
        secondary.kill()
        primary.process.terminate()  # no process of it goes on
        primary.process.wait()
        secondary.zones = {}
        secondary.start()
        secondary.wait_serial(zone, 3)
        equal(secondary, zone, path)


def test_timers_outlive_a_restart(tmp_path):
    """A zone that was fresh is not asked for before its time."""
    zone, path = "timers.test.", tmp_path / "timers.zone"
    path.write_text(plain(zone, 5))
    primary = primaries.Ours({zone: path})
    secondary = Secondary(primary)
    with started(primary), started(secondary):
        secondary.wait_serial(zone, 5)
        for _ in range(2):
            secondary.process.terminate()
            assert secondary.process.wait(PATIENCE) == 0
            state = (secondary.dir / "xfrd.state").read_text()
            assert "\tstate: 0 # OK" in state
            timeout = int(re.search(r"next_timeout: (\d+)", state)[1])
            assert 0 < timeout <= 3600
            assert re.search(r"soa_disk: 6 1 3600 7 ns\.timers\.test\. "
                             r"h\.timers\.test\. 5 3600 900 86400 300", state)
            primary.process.terminate()
            primary.process.wait()
            secondary.start()
            secondary.wait_serial(zone, 5)
        log = (secondary.dir / "log").read_text()
        assert "SOA query" not in log and "failed" not in log.replace(
            "0 failed", "")
