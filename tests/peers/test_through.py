"""A zone of delegations that goes from one server through ours to another one:
in the end all three print the same.

NSD_PEERS_NAMES: how many delegations (50000); 1000000 takes some minutes."""
import hashlib
import os
import pathlib
import re
import subprocess
import time

import pytest

import primaries
import secondaries
from test_secondary import Secondary

NAMES = int(os.environ.get("NSD_PEERS_NAMES", 50_000))
ZONE = "through.test."


def write(path):
    with open(path, "w") as f:
        f.write(f"$ORIGIN {ZONE}\n$TTL 3600\n"
                "@ IN SOA ns h 1 3600 900 86400 300\n@ IN NS ns\n"
                "ns IN A 192.0.2.1\n")
        for i in range(NAMES):
            f.write(f"d{i} IN NS ns{i % 1000}.example.\n"
                    f"d{i} IN NS ns.d{i}\nns.d{i} IN A 192.0.2.{i % 250}\n")
            if i % 5 == 0:
                f.write(f"d{i} IN DS {i % 65536} 13 2 "
                        f"{hashlib.sha256(str(i).encode()).hexdigest()}\n")


class Last(Secondary):
    def __init__(self, upstream):
        super().__init__(upstream)
        self.names = upstream.names

    def command(self):
        zones, self.zones = self.zones, {}
        command = super().command()
        self.zones = zones
        return command


def mib(server):
    """The PSS of a server's processes."""
    main = server.process.pid
    children = pathlib.Path(f"/proc/{main}/task/{main}/children").read_text()
    kib = 0
    for pid in (main, *map(int, children.split())):
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        kib += int(re.search(r"^Pss: +(\d+)", text, re.M)[1])
    return kib / 1024


def printed(port, folder, name):
    """The file of an AXFR by dig, one record a line, sorted."""
    path = folder / name
    with open(path, "w") as out:
        dig = subprocess.Popen(
            ["dig", "+nocmd", "+nostats", "+nocomments", "+onesoa", "+ttlid",
             "@127.0.0.1", "-p", str(port), ZONE, "AXFR"],
            stdout=subprocess.PIPE)
        tr = subprocess.Popen(["tr", "-s", "\t ", "  "], stdin=dig.stdout,
                              stdout=subprocess.PIPE)
        subprocess.run(["sort"], stdin=tr.stdout, stdout=out, check=True,
                       env={**os.environ, "LC_ALL": "C"})
        assert dig.wait() == 0 and tr.wait() == 0
    return path


@pytest.mark.parametrize("first, last", (
    (primaries.Nsd, secondaries.Knot), (primaries.Knot, secondaries.Nsd),
    (primaries.Bind, Last), (primaries.Ours, secondaries.Bind),
    (primaries.Ours, Last)),
    ids=("nsd-to-knot", "knot-to-nsd", "bind-to-ours", "ours-to-bind",
         "ours-to-ours"))
def test_zone_goes_through(tmp_path, first, last):
    path = tmp_path / "through.zone"
    write(path)
    primary = first({ZONE: path})
    ours = Secondary(primary)
    end = last(ours)
    end.zones = dict(primary.zones)
    try:
        primary.start()
        begin = time.monotonic()
        ours.start()
        ours.wait_serial(ZONE, 1)
        came = time.monotonic()
        end.start()
        went = time.monotonic()
        print(f"{NAMES} delegations: in {came - begin:.2f} s, out "
              f"{went - came:.2f} s, memory {mib(ours):.0f} MiB")
        whole = printed(primary.port, tmp_path, "first")
        text = whole.read_bytes()
        assert text.count(b"\n") == \
            3 + 3 * NAMES + (NAMES + 4) // 5
        assert printed(ours.port, tmp_path, "ours").read_bytes() == text
        assert printed(end.port, tmp_path, "last").read_bytes() == text
    finally:
        end.stop()
        ours.stop()
        primary.stop()
