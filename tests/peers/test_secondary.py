"""Zones that ours takes from the real BIND, Knot and NSD, and from itself."""
import base64
import time

import dns.exception
import dns.message
import dns.query
import pytest

import primaries
import random_zone
import servers
import signers
from test_transfer import canonical, in_file, take

PATIENCE = 120
KEY = ("hmac-sha256", "shared", base64.b64encode(bytes(range(32))).decode())


class Secondary(servers.Ours):
    """Has the zones of a primary, all from there. No file of its own exists at
    the start."""

    def __init__(self, upstream, options=""):
        super().__init__({})
        self.upstream = upstream
        self.options = options
        upstream.notified = self.port

    def command(self):
        names = self.upstream.zones
        key, name = [], "NOKEY"
        if self.upstream.key:
            algorithm, name, secret = self.upstream.key
            key = ["key:", f"\tname: {name}", f"\talgorithm: {algorithm}",
                   f'\tsecret: "{secret}"']
        self.more = list(key)
        for zone in names:
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
            reply = dns.query.udp(query, "127.0.0.1", timeout=5,
                                  port=self.port)
        except (OSError, dns.exception.DNSException):
            return None
        return reply.answer[0][0].serial if reply.answer else None

    def wait_serial(self, zone, serial):
        end = time.monotonic() + PATIENCE
        while self.serial(zone) != serial:
            assert time.monotonic() < end, (self.dir / "log").read_text()
            time.sleep(0.02)


def equal(secondary, zone, path):
    assert canonical(take(secondary.port, zone), zone) == in_file(zone, path)


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    """Names and files: made at random, and signed in all ways."""
    directory = tmp_path_factory.mktemp("zones")
    found = {}
    for seed in range(4):
        name = f"random-{seed}.test."
        found[name] = directory / f"random-{seed}.zone"
        found[name].write_text(random_zone.make(name, seed))
    for i, signing in enumerate(signers.SIGNINGS):
        name = f"signed-{i}.test."
        path = directory / f"signed-{i}.zone"
        path.write_text(random_zone.make(name, i + 100, count=40))
        place = directory / str(i)
        place.mkdir()
        found[name] = signers.sign(signing, name, path, place)
    return found


@pytest.mark.parametrize("key", (None, KEY), ids=("plain", "signed"))
@pytest.mark.parametrize("kind", primaries.ALL)
def test_zones_come_whole(zones, kind, key):
    primary = kind(zones)
    primary.key = key
    secondary = Secondary(primary)
    try:
        primary.start()
        secondary.zones = {}
        secondary.start()
        for zone, path in zones.items():
            end = time.monotonic() + PATIENCE
            while secondary.serial(zone) is None:
                assert time.monotonic() < end, \
                    (secondary.dir / "log").read_text()
                time.sleep(0.02)
            equal(secondary, zone, path)
    finally:
        secondary.stop()
        primary.stop()
