"""More tests of ours as a secondary of the real BIND, Knot and NSD, and of
itself: keys that change, primaries that go and come back, many zones, a large
one."""
import base64
import os
import signal
import subprocess
import time

import pytest

import primaries
from servers import started
from test_secondary import KEY, PATIENCE, Secondary, change, equal, plain

pytestmark = pytest.mark.lasts(40)

MANY = 1000
LARGE = 100_000  # names
CHANGED = 3000   # more than is applied in the loader's loop
OTHER_KEY = ("hmac-sha256", "shared",
             base64.b64encode(bytes(range(100, 132))).decode())


def again(server):
    """Ends it, and starts it with what it is to be configured by now."""
    server.end()
    server.start()


class Reloading(Secondary):
    """SIGHUP has it read nsd.conf anew."""

    def command(self):
        command = super().command()
        conf = self.dir / "nsd.conf"
        conf.write_text(conf.read_text().replace(
            "server:\n", "server:\n\treload-config: yes\n", 1))
        return command


def refreshing(zone, serial):
    """A zone that secondaries refresh every second."""
    return plain(zone, serial).replace(" 3600 900 86400 300",
                                       " 1 1 86400 300")


@pytest.mark.parametrize("kind", primaries.ALL)
def test_key_changes(tmp_path, kind):
    """At the primary first, then here, by SIGHUP."""
    zone, path = "keys.test.", tmp_path / "keys.zone"
    path.write_text(refreshing(zone, 1))
    primary = kind({zone: path})
    primary.key = KEY
    secondary = Reloading(primary)
    with started(primary), started(secondary):
        secondary.wait_serial(zone, 1)
        primary.key = OTHER_KEY
        path.write_text(change(path.read_text(), zone, 1, 2))
        again(primary)
        log = secondary.dir / "log"
        end = time.monotonic() + PATIENCE
        while "error: xfrd: " not in log.read_text():
            assert time.monotonic() < end
            time.sleep(0.05)
        assert secondary.serial(zone) == 1
        secondary.command()  # writes nsd.conf, with the new key
        os.kill(secondary.process.pid, signal.SIGHUP)
        secondary.wait_serial(zone, 2)
        equal(secondary, zone, path)


@pytest.mark.parametrize("kind", primaries.ALL)
def test_primary_goes_and_comes_back(tmp_path, kind):
    zone, path = "away.test.", tmp_path / "away.zone"
    path.write_text(refreshing(zone, 1))
    primary = kind({zone: path})
    secondary = Secondary(primary)
    with started(primary), started(secondary):
        secondary.wait_serial(zone, 1)
        primary.process.terminate()
        primary.process.wait(PATIENCE)
        path.write_text(change(path.read_text(), zone, 1, 2))
        time.sleep(3)  # some checks fail
        assert secondary.serial(zone) == 1
        primary.start()
        secondary.wait_serial(zone, 2)
        equal(secondary, zone, path)


@pytest.mark.parametrize("kind", primaries.ALL)
def test_many_zones(tmp_path, kind):
    zones = {}
    for i in range(MANY):
        zone = f"z{i}.test."
        zones[zone] = tmp_path / f"z{i}.zone"
        zones[zone].write_text(
            f"$ORIGIN {zone}\n$TTL 300\n@ IN SOA ns h {i + 1} 3600 900 86400"
            f" 300\n@ IN NS ns\nns IN A 192.0.2.{i % 250}\n")
    primary = kind(zones)
    secondary = Secondary(primary)
    with started(primary), started(secondary):
        for i, zone in enumerate(zones):
            secondary.wait_serial(zone, i + 1)
            equal(secondary, zone, zones[zone])


def sorted_records(port, zone):
    """Of an AXFR by dig, which is faster than Python with so many."""
    run = subprocess.run(
        ["dig", "+nocmd", "+nostats", "+nocomments", "+onesoa", "+ttlid",
         "+noidnout", "@127.0.0.1", "-p", str(port), zone, "AXFR"],
        capture_output=True, text=True, check=True)
    return sorted(" ".join(line.split()) for line in run.stdout.splitlines()
                  if line and not line.startswith(";"))


@pytest.mark.parametrize("kind", primaries.ALL)
def test_large_zone(tmp_path, kind):
    zone, path = "large.test.", tmp_path / "large.zone"
    head = ("large.test. 3600 IN SOA ns.large.test. h.large.test. {} 3600 900"
            " 86400 300\nlarge.test. 3600 IN NS ns.large.test.\n"
            "ns.large.test. 3600 IN A 192.0.2.1\n")
    body = [f"d{i}.large.test. 3600 IN NS ns{i % 100}.example.\n"
            for i in range(LARGE)]
    path.write_text(head.format(1) + "".join(body))
    primary = kind({zone: path})
    secondary = Secondary(primary)
    with started(primary), started(secondary):
        secondary.wait_serial(zone, 1)
        assert sorted_records(secondary.port, zone) \
            == sorted_records(primary.port, zone)
        body[:CHANGED] = [f"e{i}.large.test. 3600 IN NS ns.large.test.\n"
                          for i in range(CHANGED)]
        path.write_text(head.format(2) + "".join(body))
        time.sleep(1.1)
        primary.reread()
        secondary.wait_serial(zone, 2)
        found = sorted_records(secondary.port, zone)
        assert found == sorted_records(primary.port, zone)
        assert len(found) == LARGE + 3
