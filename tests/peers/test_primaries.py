"""Our reader of transfers, with the real BIND, Knot and NSD as primaries, and
ourselves: AXFR, IXFR, SOA, with and without TSIG."""
import os
import re
import signal
import subprocess
import time

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest

import random_zone
import servers
import signers
import test_tsig
from test_transfer import in_file

pytestmark = pytest.mark.lasts(20)

SECRET = test_tsig.SECRET.hex()
ALGORITHMS = [a.replace("hmac-md5", "hmac-md5.sig-alg.reg.int")
              for a in test_tsig.ALGORITHMS]


def key(algorithm="hmac-sha256"):
    name = algorithm.replace(".sig-alg.reg.int", "")
    return [f"key-{name}.", algorithm + ".", SECRET]


class Bind(test_tsig.Bind):
    def command(self):
        command = super().command()
        path = self.dir / "named.conf"
        path.write_text(path.read_text().replace(
            "}; controls", "ixfr-from-differences yes; allow-transfer { any; };"
            " }; controls"))
        return command


class Knot(test_tsig.Knot):
    def command(self):
        command = super().command()
        path = self.dir / "knot.conf"
        path.write_text(path.read_text().replace(
            "journal-content: none",
            "journal-content: changes\n    zonefile-load: difference"))
        return command


def nsd(kind):
    class Nsd(kind):
        def __init__(self, zones):
            super().__init__(zones)
            self.more = test_tsig.nsd_keys()
            self.zone_more = [f"\tprovide-xfr: 127.0.0.1 key-{a}"
                              for a in test_tsig.ALGORITHMS]
            self.zone_more += ["\tprovide-xfr: 127.0.0.1 NOKEY",
                               "\tstore-ixfr: yes", "\tcreate-ixfr: yes"]
    return Nsd


KINDS = {"bind": Bind, "knot": Knot, "nsd": nsd(servers.Nsd),
         "ours": nsd(servers.Ours)}


def ask(server, zone, how, serial="-", signed=()):
    """The first line of what is said, and the records."""
    program = servers.build_dir() / "tests/lib/ask_primary"
    out = subprocess.run([program, str(server.port), zone, how, str(serial),
                          *signed], capture_output=True, check=True,
                         timeout=60, text=True).stdout.split("\n")
    return out[0], out[1:-1]


def record(line):
    sign, owner, ttl, rdtype, rdata = line.split(" ", 4)
    rdata = dns.rdata.from_text("IN", rdtype, rdata, relativize=False)
    return sign, (dns.name.from_text(owner).canonicalize().to_text(),
                  int(ttl), dns.rdatatype.from_text(rdtype),
                  rdata.to_digestable(dns.name.root))


def apply(rows, lines):
    """Applies differences to a set of records; they must fit exactly."""
    rows = set(rows)
    for line in lines:
        sign, row = record(line)
        assert (row in rows) == (sign == "-"), line
        (rows.remove if sign == "-" else rows.add)(row)
    return rows


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    directory = tmp_path_factory.mktemp("zones")
    found = {}
    for seed in range(3):
        name = f"seed{seed}.test"
        found[name] = directory / f"{name}.zone"
        found[name].write_text(random_zone.make(name, seed, 100))
    for signing in signers.SIGNINGS[:2]:
        name = f"{signing.tool}{signing.iterations}.test"
        path = directory / f"{name}.zone"
        path.write_text(random_zone.make(name, 7, 100))
        found[name] = signers.sign(signing, name, path, directory)
    found["large.test"] = directory / "large.test.zone"
    found["large.test"].write_text(
        "@ 3600 IN SOA ns.large.test. h.large.test. 1 2 3 4 5\n"
        "@ 3600 IN NS ns\nns 3600 IN A 192.0.2.1\n" + "".join(
            f"n{i} 3600 IN A 192.0.2.1\nn{i} 3600 IN MX 1 mail{i % 7}\n"
            for i in range(5000)))
    return found


@pytest.fixture(scope="module", params=KINDS)
def primary(request, zones):
    server = KINDS[request.param](zones)
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.mark.parametrize("signed", [False, True])
def test_whole_zones(primary, zones, signed):
    for zone, path in zones.items():
        if primary.name == "knot" and not signed:
            said, _ = ask(primary, zone, "axfr")
            assert said == "it answers with an error 9"
            continue
        said, lines = ask(primary, zone, "axfr",
                          signed=key() if signed else ())
        assert re.fullmatch(r"whole \d+", said), said
        assert apply(set(), lines) == in_file(zone, path)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_algorithms(primary, algorithm):
    said, lines = ask(primary, "large.test", "axfr", signed=key(algorithm))
    assert said == "whole 1" and len(lines) == 10003


def test_wrong_secrets_are_refused(primary):
    said, _ = ask(primary, "large.test", "axfr",
                  signed=[*key()[:2], "00" * 32])
    assert said == "it refuses our signature 16"
    said, _ = ask(primary, "large.test", "axfr", signed=["no.", *key()[1:]])
    assert said == "it refuses our signature 17"


def test_soa(primary):
    said, _ = ask(primary, "large.test", "soa", signed=key())
    # RFC 7314: NSD and ours have no EXPIRE.
    assert said in ("soa 1 2 3 4", "soa 1 2 3 4 expire 4")
    if primary.name == "bind":
        assert said.endswith("expire 4")
    said, _ = ask(primary, "unknown.test", "soa", signed=key())
    assert said == "it answers with an error 5"


def test_nothing_newer(primary):
    for serial in (1, 2):
        for how in "ixfr", "ixfr-udp", "axfr":
            said, _ = ask(primary, "large.test", how, serial, key())
            assert said == "unchanged 1"


# ---- differences

def version(serial):
    """A zone of which a part changes, the apex too."""
    lines = [f"@ {3600 + serial} IN SOA ns h {serial} 2000 3000 4000000 300",
             "@ 3600 IN NS ns", f"ns 3600 IN A 192.0.2.{serial}",
             f"www 3600 IN MX {serial} ns", f"n{serial} 3600 IN TXT new",
             f"@ 3600 IN TXT version{serial}", "same 3600 IN A 192.0.2.1"]
    lines += [f"h{i} {3600 + serial % 2 * (i < 3)} IN A 192.0.2.{i}"
              for i in range(200)]
    return "$ORIGIN changing.test.\n" + "\n".join(lines) + "\n"


def write(path, serial):
    path.write_text(version(serial))
    now = time.time() + serial * 10
    os.utime(path, (now, now))


@pytest.mark.parametrize("kind", KINDS)
def test_differences(tmp_path, kind):
    path = tmp_path / "changing.zone"
    write(path, 1)
    server = KINDS[kind]({"changing.test": path})
    sets = {1: in_file("changing.test.", path)}
    try:
        server.start()
        for serial in 2, 3, 4:
            write(path, serial)
            sets[serial] = in_file("changing.test.", path)
            server.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 120
            while not ask(server, "changing.test", "soa", "-",
                          key())[0].startswith(f"soa {serial} "):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        for serial in 1, 2, 3:
            said, lines = ask(server, "changing.test", "ixfr", serial, key())
            assert said == f"diffs {serial} 4"
            assert apply(sets[serial], lines) == sets[4]
        said, _ = ask(server, "changing.test", "ixfr-udp", 1, key())
        assert said in ("diffs 1 4", "use tcp")
    finally:
        server.stop()
