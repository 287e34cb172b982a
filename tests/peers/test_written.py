"""The zone files that secondaries write: ours and NSD's, octet by octet, but for
the order of the records of a name, which is that of transfers with NSD, and of
NSEC3 records, which stand behind all others in ours."""
import re
import time

import pytest

import primaries
import servers
import some_zones

pytestmark = pytest.mark.lasts(20)

PATIENCE = 60
TSIG = ("hmac-sha256", "key.test", "c2VjcmV0IG9mIHRoZSB0ZXN0")


class _Writes:
    """A secondary that writes the zones of a primary each second."""

    def __init__(self, upstream):
        super().__init__({})
        self.upstream = upstream

    def command(self):
        key, name = [], "NOKEY"
        if self.upstream.key:
            algorithm, name, secret = self.upstream.key
            key = ["key:", f"\tname: {name}", f"\talgorithm: {algorithm}",
                   f'\tsecret: "{secret}"']
        self.more = [*key, "server:", "\tzonefiles-write: 1"]
        for zone in self.upstream.zones:
            self.more += [
                "zone:", f"\tname: {zone}",
                f'\tzonefile: "{self.dir}/{zone}zone"',
                f"\trequest-xfr: AXFR 127.0.0.1@{self.upstream.port} {name}"]
        return super().command()

    def read(self, zone):
        """The zone's file, without the time and the program that wrote it."""
        path = self.dir / f"{zone}zone"
        end = time.monotonic() + PATIENCE
        while not path.exists():
            assert time.monotonic() < end, (self.dir / "log").read_text()
            time.sleep(0.05)
        octets = path.read_bytes()
        octets = re.sub(rb"(written by NSD )\S+( on ).*\n", rb"\1V\2T\n",
                        octets, count=1)
        return re.sub(rb"(serial \d+ at )\S+", rb"\1T", octets, count=1)


def names_of(octets):
    """The comments, and the names as they stand below their $ORIGIN, each with
    its records: one line a record. All sorted."""
    comments, found, origin = [], [], b""
    for line in octets.replace(b"(\n\t\t", b"( ").splitlines():
        line = line.rstrip(b" ")  # NSD's, behind an NSEC3 without types
        owner, tab, rest = line.partition(b"\t")
        if line.startswith(b"$ORIGIN"):
            origin = line
        elif not tab:
            comments.append(line)
        elif owner:
            found.append((origin, owner, [rest]))
        else:
            found[-1][2].append(rest)
    return comments, sorted((origin, owner, sorted(rest))
                            for origin, owner, rest in found)


class Ours(_Writes, servers.Ours):
    pass


class Nsd(_Writes, servers.Nsd):
    pass


@pytest.mark.parametrize("key", (None, TSIG), ids=("plain", "tsig"))
def test_written_file_is_as_nsd_writes_it(tmp_path, key):
    primary = primaries.Nsd(some_zones.make(tmp_path))
    primary.key = key
    both = []
    try:
        primary.start()
        for kind in (Ours, Nsd):
            secondary = kind(primary)
            both.append(secondary)
            secondary.start()
        for zone in primary.zones:
            ours, nsds = (server.read(zone) for server in both)
            ours, nsds = names_of(ours), names_of(nsds)
            assert ours[0] == nsds[0]
            different = [name for name in (*ours[1], *nsds[1])
                         if (name in ours[1]) != (name in nsds[1])]
            assert different == [], zone
    finally:
        for server in (*both, primary):
            server.stop()
