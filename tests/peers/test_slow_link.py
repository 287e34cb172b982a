"""Large zones of the real BIND, Knot and NSD over a link of 8 Mbit/s: small ones
are served long before (doc/decisions/0145). The link is the loopback of a
network namespace of the test's own, which ends with its processes."""
import ctypes
import re
import subprocess
import threading
import time

import pytest

import primaries
from servers import started
from test_secondary import PATIENCE, Secondary

pytestmark = pytest.mark.lasts(20)

CLONE_NEWNET = 0x40000000
RECORDS = 400000  # some fifteen seconds of the link, for each
LARGE = [f"l{i}.test." for i in range(2)]
SMALL = [f"s{i}.test." for i in range(20)]


def make_link():
    """None, or why there is none. For the calling thread, and those processes
    that it begins."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        return "no network namespace is to be had"
    for command in (
            "ip link set lo mtu 1500 up",
            "tc qdisc add dev lo root tbf rate 8mbit burst 64k latency 400ms"):
        try:
            subprocess.run(command.split(), check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"{command}: {error}"
    return None


def on_the_link(run):
    """Runs it there, in a thread of its own."""
    found = []

    def begin():
        try:
            missing = make_link()
            if missing is None:
                run()
            found.append(missing)
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    if found[0] is not None:
        pytest.skip(found[0])


def zone_text(zone, records):
    return (f"$ORIGIN {zone}\n$TTL 3600\n@ SOA ns h 1 3600 900 86400 300\n"
            "@ NS ns\nns A 192.0.2.1\n" + "".join(
                f"name{i} A 192.0.{i >> 8 & 255}.{i & 255}\n"
                for i in range(records)))


class Knot(primaries.Knot):
    """Knot with its default number of workers: each sends one transfer."""

    def command(self):
        command = super().command()
        conf = self.dir / "knot.conf"
        conf.write_text(conf.read_text().replace("tcp-workers: 1",
                                                 "tcp-workers: 10"))
        return command


def came(log):
    """The zones that have come, in that order."""
    return re.findall(r"zone (\S+) serial 0 is updated to 1", log)


def log_with(secondary, count):
    """The log, once it has the transfers of so many zones."""
    end = time.monotonic() + PATIENCE
    path = secondary.dir / "log"
    while True:
        log = path.read_text() if path.exists() else ""
        if len(came(log)) >= count:
            return log
        assert time.monotonic() < end, log
        time.sleep(0.1)


@pytest.mark.parametrize("kind", (primaries.Bind, Knot, primaries.Nsd,
                                  primaries.Ours))
def test_small_zones_do_not_wait_for_large_ones(tmp_path, kind):
    zones = {}
    for zone in LARGE + SMALL:  # in which they are asked for, too
        zones[zone] = tmp_path / zone
        zones[zone].write_text(zone_text(
            zone, RECORDS if zone in LARGE else 0))

    def run():
        primary = kind(zones)
        secondary = Secondary(primary)
        secondary.zones = {}
        with started(primary), started(secondary):
            # No query: the link drops many.
            log = log_with(secondary, len(SMALL))
            assert sorted(came(log)[:len(SMALL)]) == sorted(SMALL)
            assert "too slow" not in log

    on_the_link(run)
