"""Ours as the primary of the real BIND, Knot and NSD, and of itself: serials
that wrap, keys that change, a primary that goes and comes back, many zones."""
import base64
import os
import subprocess
import time

import pytest

import primaries
import secondaries
import servers
import test_primaries
from servers import started
from test_ixfr import (PATIENCE, ZONE, Ours, apply, ask, count_transfers, has,
                       notify, wait_for)
from test_secondary import KEY
from test_secondary_more import OTHER_KEY, again
from test_transfer import canonical, in_file, take

pytestmark = pytest.mark.lasts(60)

ALL = secondaries.ALL + (Ours,)
WRAPPING = (2**32 - 3, 2**32 - 2, 2**32 - 1, 0, 1, 2)
OTHER_NAME = ("hmac-sha512", "other",
              base64.b64encode(bytes(range(64))).decode())
MANY = 1000


def write(path, step, serial):
    """A version, with another serial than its number."""
    text = test_primaries.version(step)
    path.write_text(text.replace(f" SOA ns h {step} ", f" SOA ns h {serial} "))
    now = time.time() + step * 10
    os.utime(path, (now, now))


def change(primary, path, step, serial):
    """The next version is served."""
    write(path, step, serial)
    primary.reread()
    wait_for(primary, serial)


def is_equal(secondary, zone, path):
    try:
        return canonical(take(secondary.port, zone), zone) \
            == in_file(zone, path)
    except (ConnectionError, EOFError):
        return False


def wait_equal(secondary, zone, path, serial):
    """Processes of NSD that end may still answer over TCP, with the version
    before, or close what they have accepted."""
    wait_for(secondary, serial, zone)
    end = time.monotonic() + PATIENCE
    while not is_equal(secondary, zone, path):
        assert time.monotonic() < end, f"{secondary.name} has another {zone}"
        time.sleep(0.05)


# ---- serials that wrap (RFC 1982)

@pytest.mark.parametrize("kept", (True, False), ids=("ixfr", "axfr"))
@pytest.mark.parametrize("kind", ALL)
def test_serials_wrap(tmp_path, kind, kept):
    path = tmp_path / "zone"
    write(path, 1, WRAPPING[0])
    primary = primaries.Ours({ZONE: path})
    if not kept:
        primary.extra = []
    secondary = kind(primary)
    secondary.how = ""
    primary.notified = secondary.port
    with started(primary), started(secondary):
        wait_for(secondary, WRAPPING[0])
        whole, _ = count_transfers(primary)
        for step, serial in enumerate(WRAPPING[1:], 2):
            change(primary, path, step, serial)
            wait_equal(secondary, ZONE, path, serial)
            before = WRAPPING[step - 2]
            assert ask(primary, ZONE, "ixfr", before)[0] == (
                f"diffs {before} {serial}" if kept else f"whole {serial}")
        if kept:
            assert count_transfers(primary)[0] == whole


@pytest.mark.parametrize("key", (None, KEY), ids=("plain", "signed"))
@pytest.mark.parametrize("kind", ALL)
def test_condensed_differences_wrap(tmp_path, kind, key):
    """Secondaries that hear of some versions only get condensed
    differences."""
    path = tmp_path / "zone"
    write(path, 1, WRAPPING[0])
    first = in_file(ZONE, path)
    primary = primaries.Ours({ZONE: path})
    primary.key = key
    secondary = kind(primary)
    secondary.key, secondary.how = key, ""
    primary.notified = None
    signed = ask_args(key) if key else ()
    with started(primary), started(secondary):
        wait_for(secondary, WRAPPING[0])
        whole, _ = count_transfers(primary)
        for step, serial in enumerate(WRAPPING[1:], 2):
            change(primary, path, step, serial)
        said, lines = ask(primary, ZONE, "ixfr", WRAPPING[0], signed)
        assert said == f"diffs {WRAPPING[0]} {WRAPPING[-1]}"
        assert sum(" SOA " in line for line in lines) == 2
        assert apply(first, lines) == in_file(ZONE, path)
        assert has(secondary, WRAPPING[0])
        notify(secondary, key)
        wait_equal(secondary, ZONE, path, WRAPPING[-1])
        assert count_transfers(primary)[0] == whole


# ---- keys

class Controlled(primaries.Ours):
    def __init__(self, zones):
        super().__init__(zones)
        self.control = ["\tcontrol-enable: yes",
                        f"\tcontrol-interface: {self.dir}/control"]

    def reconfig(self):
        """Writes the current configuration, and runs reconfig."""
        self.command()
        done = subprocess.run(
            [servers.build_dir() / "nsd-control", "-c",
             self.dir / "nsd.conf", "reconfig"],
            capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done


def ask_args(key):
    """The key as ask takes it."""
    algorithm, name, secret = key
    return [f"{name}.", f"{algorithm}.", base64.b64decode(secret).hex()]


@pytest.mark.parametrize("other", (OTHER_KEY, OTHER_NAME),
                         ids=("secret", "name"))
@pytest.mark.parametrize("kind", ALL)
def test_key_changes(tmp_path, kind, other):
    """Here first, by nsd-control, then there."""
    path = tmp_path / "zone"
    write(path, 1, 1)
    primary = Controlled({ZONE: path})
    primary.key = KEY
    secondary = kind(primary)
    secondary.key, secondary.how = KEY, ""
    primary.notified = secondary.port
    with started(primary), started(secondary):
        wait_for(secondary, 1)
        change(primary, path, 2, 2)
        wait_for(secondary, 2)
        primary.key = secondary.key = other
        primary.reconfig()
        assert ask(primary, ZONE, "axfr", signed=ask_args(KEY))[0] \
            .startswith("it refuses our signature")
        assert ask(primary, ZONE, "axfr", signed=ask_args(other))[0] \
            == "whole 2"
        change(primary, path, 3, 3)
        again(secondary)
        change(primary, path, 4, 4)
        wait_equal(secondary, ZONE, path, 4)


# ---- a primary that goes and comes back

@pytest.mark.parametrize("kind", ALL)
def test_it_goes_and_comes_back(tmp_path, kind):
    """The zone changes while nobody serves it."""
    path = tmp_path / "zone"
    write(path, 1, 1)
    primary = primaries.Ours({ZONE: path})
    secondary = kind(primary)
    secondary.how = ""
    primary.notified = secondary.port
    with started(primary), started(secondary):
        wait_for(secondary, 1)
        for step, go in (2, primary.end), (4, primary.kill):
            go()
            write(path, step, step)
            primary.start()
            wait_equal(secondary, ZONE, path, step)
            change(primary, path, step + 1, step + 1)
            wait_equal(secondary, ZONE, path, step + 1)


# ---- many zones

def write_many(zones, serial):
    for i, (zone, path) in enumerate(zones.items()):
        path.write_text(
            f"$ORIGIN {zone}\n$TTL 300\n@ IN SOA ns h {serial + i} 3600 900 "
            f"86400 300\n@ IN NS ns\nns IN A 192.0.2.{i % 250}\n"
            f"n{serial} IN TXT {serial}\n")
        now = time.time() + serial * 10
        os.utime(path, (now, now))


@pytest.mark.parametrize("kind", ALL)
def test_many_zones(tmp_path, kind):
    zones = {f"z{i}.test.": tmp_path / f"z{i}.zone" for i in range(MANY)}
    write_many(zones, 1)
    primary = primaries.Ours(zones)
    secondary = kind(primary)
    secondary.how = ""
    primary.notified = secondary.port
    with started(primary), started(secondary):
        for serial in 1, 2:
            if serial > 1:
                write_many(zones, serial)
                primary.reread()
            for i, (zone, path) in enumerate(zones.items()):
                wait_equal(secondary, zone, path, serial + i)
