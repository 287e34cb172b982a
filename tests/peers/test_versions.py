"""One IXFR of hundreds of versions of the real BIND and Knot, of which each would
change much (doc/decisions/0146): what is served is the primary's zone, made
once. tests/blackbox/test_versions.py has what it costs."""
import os
import re
import subprocess
import time

import pytest

import primaries
from servers import started
from test_ixfr import notify, wait_for
from test_secondary import PATIENCE, Secondary
from test_transfer import canonical, take

pytestmark = pytest.mark.lasts(90)

NAMES = 500
VERSIONS = 379
HASH = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"

# Records that come and go, and records that are there all the time.
KINDS = {
    "plain": ("n1.sub MX 1 ns", ""),
    "ns": ("sub NS ns", ""),
    "dname": ("sub DNAME ns", ""),
    "second": ("@ NSEC3PARAM 1 0 2 abcd", "@ NSEC3PARAM 1 0 1 aabb"),
    "parameters": ("@ NSEC3PARAM 1 0 100 aabb", ""),
    "standing": ("n1.sub MX 1 ns", "@ NSEC3PARAM 1 0 100 aabb"),
    "hash": (f"{HASH} NSEC3 1 0 100 aabb {HASH} A",
             "@ NSEC3PARAM 1 0 100 aabb"),
}


def zone_of(kind):
    return f"{kind}.test."


def text(kind, serial):
    line, more = KINDS[kind]
    return "\n".join((
        f"$ORIGIN {zone_of(kind)}\n$TTL 300",
        f"@ SOA ns h {serial} 3600 3600 86400 300\n@ NS ns\nns A 192.0.2.1",
        more, line if serial % 2 == 0 else "",
        *(f"n{i}.sub A 192.0.2.{i % 250}" for i in range(NAMES)))) + "\n"


class Bind(primaries.Bind):
    kinds = tuple(KINDS)

    def command(self):
        command = super().command()
        conf = self.dir / "named.conf"
        conf.write_text(conf.read_text().replace(
            "{ type primary; ",
            "{ type primary; max-ixfr-ratio unlimited; "
            "max-journal-size 100m; "))
        return command


class Knot(primaries.Knot):
    """Knot, which accepts no names below a DNAME, and one NSEC3PARAM."""

    kinds = tuple(kind for kind in KINDS if kind not in ("dname", "second"))

    def command(self):
        command = super().command()
        conf = self.dir / "knot.conf"
        conf.write_text(conf.read_text().replace(
            "template:\n  - id: default\n", "template:\n  - id: default\n"
            "    journal-max-depth: 10000\n"))
        return command

    def reread(self):
        subprocess.run(["/usr/sbin/knotc", "-s", self.dir / "knot.sock", "-b",
                        "zone-reload"], check=True, timeout=PATIENCE,
                       stdout=subprocess.DEVNULL)


def write(primary, serial):
    for kind in primary.kinds:
        path = primary.zones[zone_of(kind)]
        path.write_text(text(kind, serial))
        os.utime(path, (serial * 10, serial * 10))


@pytest.fixture(scope="module", params=(Bind, Knot), ids=("bind", "knot"))
def running(request, tmp_path_factory):
    """(primary, secondary). The one has all versions, the other was told of the
    first."""
    directory = tmp_path_factory.mktemp("zones")
    primary = request.param({zone_of(kind): directory / kind
                             for kind in request.param.kinds})
    write(primary, 1)
    secondary = Secondary(primary)
    primary.notified = None
    with started(primary), started(secondary):
        for zone in primary.zones:
            secondary.wait_serial(zone, 1)
        for serial in range(2, VERSIONS + 1):
            write(primary, serial)
            primary.reread()
            for zone in primary.zones:
                wait_for(primary, serial, zone)
        yield primary, secondary


def transfers(primary, zone):
    """The transfers that the primary's log says it has begun."""
    name = zone.rstrip(".")
    said = (primary.dir / "output").read_text(errors="replace")
    return [re.search(r"[AI]XFR", line)[0] for line in said.splitlines()
            if re.search(rf"\b{name}\b.*[AI]XFR.* started", line)]


@pytest.mark.parametrize("kind", KINDS)
def test_zone_is_the_primary_s(running, kind):
    primary, secondary = running
    zone = zone_of(kind)
    if kind not in primary.kinds:
        pytest.skip(f"{primary.name} does not serve it")
    seen = set()
    notify(secondary, zone=zone)
    end = time.monotonic() + PATIENCE
    while VERSIONS not in seen:
        assert time.monotonic() < end, (secondary.dir / "log").read_text()
        seen.add(secondary.serial(zone))
    assert seen <= {1, VERSIONS}
    assert transfers(primary, zone) == ["AXFR", "IXFR"]
    assert canonical(take(secondary.port, zone), zone) \
        == canonical(take(primary.port, zone), zone)
