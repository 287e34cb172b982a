"""Zones whose NSEC3 chain is not as it should be: they load, what is wrong is
told with its line, and every question gets its answer."""

import re
import subprocess

import pytest

import dns.dnssec
import dns.rdatatype
import dns.zone

import harness

HEAD = """\
$TTL 3600
@ IN SOA ns host 1 3600 600 86400 300
@ IN NS ns
ns IN A 192.0.2.53
www IN A 192.0.2.1
*.w IN TXT x
a.empty IN TXT x
sub IN NS ns.sub
ns.sub IN A 192.0.2.54
d IN DNAME example.org.
@ IN DNSKEY 257 3 13 """ + "A" * 86 + """==
@ IN RRSIG SOA 13 1 3600 20300101000000 20200101000000 1 @ """ \
    + "A" * 86 + "==\n"
HEAD_LINES = HEAD.count("\n")
NAMES = ["", "ns.", "www.", "w.", "*.w.", "empty.", "a.empty.", "sub.", "d."]
RRSIG = ("RRSIG {} 13 2 3600 20300101000000 20200101000000 1 {} "
         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")


def nsec3_hash(name, salt="", iterations=0):
    return dns.dnssec.nsec3_hash(name, salt, iterations, 1).lower()


def chain(apex, salt="", iterations=0, algorithm=1, names=None):
    """The NSEC3 records with their RRSIGs of the names, in hash order."""
    hashes = sorted(nsec3_hash(n + apex, salt, iterations)
                    for n in (NAMES if names is None else names))
    lines = []
    for i, name in enumerate(hashes):
        following = hashes[(i + 1) % len(hashes)]
        lines.append(f"{name} NSEC3 {algorithm} 0 {iterations} {salt or '-'} "
                     f"{following} A RRSIG")
        lines.append(f"{name} " + RRSIG.format("NSEC3", apex))
    return lines


def param(salt="-", iterations=0, algorithm=1, flags=0):
    return [f"@ NSEC3PARAM {algorithm} {flags} {iterations} {salt}"]


HASH = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"

# Lines behind HEAD, given the apex, and what the log says of them.
BROKEN = {
    "sound.test": (lambda z: param() + chain(z), None),
    "no-param.test": (
        chain, "NSEC3 records are not used: there is no NSEC3PARAM for them"),
    "flags.test": (lambda z: param(flags=1) + chain(z),
                   "NSEC3PARAM with flags 1 is not used"),
    "algorithm.test": (
        lambda z: param(algorithm=2) + chain(z, algorithm=2),
        "NSEC3PARAM with hash algorithm 2 is not used"),
    "other-param.test": (
        lambda z: param(iterations=1) + chain(z),
        "no NSEC3 record has the parameters of this NSEC3PARAM"),
    "salt-change.test": (
        lambda z: param() + param("ab", 2) + chain(z, "ab", 2)
        + chain(z)[:6],
        "of 2 NSEC3PARAM records this one is used, with 9 NSEC3 records"),
    "hole.test": (lambda z: param() + chain(z)[:6] + chain(z)[8:],
                  "the chain is broken"),
    "one-record.test": (lambda z: param() + chain(z, names=[""]), None),
    "hole-alone.test": (lambda z: param() + chain(z)[:2],
                        "the chain is broken"),
    "no-hash.test": (
        lambda z: param() + [f"nohash NSEC3 1 0 0 - {HASH} A",
                             f"{HASH}.sub NSEC3 1 0 0 - {HASH} A"]
        + chain(z), "the owner is no hash right below the apex"),
    "short-next.test": (
        lambda z: param() + [f"{HASH} NSEC3 1 0 0 - 00000000 A"] + chain(z),
        "the next hash is not of 20 octets"),
    "two-at-one.test": (
        lambda z: param() + [chain(z)[0] + " TXT"] + chain(z),
        "several NSEC3 records at one name"),
    "case.test": (
        lambda z: param() + chain(z) + [chain(z)[0].split()[0].upper() + " "
                                        + chain(z)[0].split(" ", 1)[1]],
        "duplicate NSEC3 record is left out"),
    "with-data.test": (
        lambda z: param() + chain(z) + [chain(z)[0].split()[0] + " TXT x"],
        None),
    "costly.test": (
        lambda z: param("ab", 65535) + chain(z, "ab", 65535, names=[""]),
        "65535 NSEC3 iterations are more than 2500"),
    # 223 octets: no room for a hash
    ".".join(["x" * 63] * 3 + ["y" * 24, "test"]): (
        lambda z: param(), "is too long a name for NSEC3 records"),
}

QUESTIONS = [("", "A"), ("", "TXT"), ("www.", "AAAA"), ("nx.", "A"),
             ("a.b.nx.", "A"), ("nx.www.", "A"), ("q.w.", "TXT"),
             ("q.w.", "A"), ("empty.", "A"), ("nx.empty.", "A"),
             ("sub.", "DS"), ("x.sub.", "A"), ("x.d.", "A"), ("", "ANY"),
             ("", "NSEC3PARAM"), ("", "DS"), (HASH + ".", "NSEC3"),
             ("nohash.", "A")]


def zone_texts():
    return {zone: HEAD + "\n".join(lines(zone + ".")) + "\n"
            for zone, (lines, _) in BROKEN.items()}


def test_broken_chains_load_and_are_told_of(nsd):
    """Broken chains are loaded with warnings, and all questions are answered
    by the same worker."""
    texts = zone_texts()
    server = nsd(zones=texts)
    worker = server.role("server 1")
    for zone, (_, warning) in BROKEN.items():
        name = server.zone_file(zone).name
        found = re.findall(rf"warning: {re.escape(name)}:(\d+): (.*)",
                           server.read_log())
        if warning is None:
            assert not found, zone
        else:
            assert any(warning in text and int(line) > HEAD_LINES
                       for line, text in found), (zone, found)
        for owner, rdtype in QUESTIONS:
            if len(owner) + len(zone) > 250:
                continue
            response = server.query(f"{owner}{zone}.", rdtype,
                                    want_dnssec=True, tcp=True)
            assert dns.rcode.to_text(response.rcode()) in (
                "NOERROR", "NXDOMAIN"), (zone, owner, rdtype)
    assert server.role("server 1") == worker


def denial(server, name):
    response = server.query(name, "A", want_dnssec=True)
    return [rrset for rrset in response.authority
            if rrset.rdtype == dns.rdatatype.NSEC3]


def test_iterations_have_a_limit_that_can_be_set(nsd):
    zone = HEAD + "\n".join(param("ab", 3) + chain("example.", "ab", 3)) + "\n"
    server = nsd(zones={"example": zone},
                 options={"nsec3-max-iterations": 3})
    assert len(denial(server, "nx.example.")) > 1
    server.stop()
    server.options["nsec3-max-iterations"] = 2
    server.write_config()
    server.start()
    server.wait_log(r"warning: example.zone:\d+: 3 NSEC3 iterations are more "
                    r"than 2")
    # The answer has the apex's record only, which is hashed at load.
    assert len(denial(server, "nx.example.")) == 1
    assert server.rcode("nx.example.", "A") == "NXDOMAIN"


@pytest.mark.parametrize("fill", [0, 1200])
def test_limit_of_iterations_holds_for_a_database(nsd, tmp_path, fill):
    """A database from before the limit was changed, of a file that was not:
    of a zone that is read as a whole, and of one that would be compared."""
    fill = "".join(f"fill{i}.sub A 192.0.2.1\n" for i in range(fill))
    zone = HEAD + fill + "\n".join(
        param("ab", 3) + chain("example.", "ab", 3)) + "\n"
    server = nsd(zones={"example": zone}, options={
        "nsec3-max-iterations": 3, "database": f'"{tmp_path}/db"'})
    for limit, records in (3, 3), (2, 1), (2, 1), (3, 3):
        assert server.stop() == 0
        server.options["nsec3-max-iterations"] = limit
        server.write_config()
        known = len(server.read_log())
        server.start()
        server.wait_log(r"\d+ zones: \d+ read, \d+ failed", known)
        assert len(denial(server, "nx.example.")) == records


def test_limit_of_iterations_holds_for_changes(nsd):
    """The limit holds for changes of a transfer, and of a file that is
    compared with the served zone."""
    fill = "".join(f"fill{i}.sub A 192.0.2.1\n" for i in range(1200))
    zone = HEAD + fill + "\n".join(param() + chain("example.")) + "\n"
    costly = param("ab", 3) + chain("example.", "ab", 3)
    server = nsd(zones={"example": zone}, updates=True,
                 options={"nsec3-max-iterations": 2, "verbosity": 2})
    assert len(denial(server, "nx.example.")) > 1
    assert server.update("zone example.\nremove-rrset @ NSEC3PARAM\n"
                         + "".join(f"add {line.replace(' ', ' 3600 ', 1)}\n"
                                   for line in costly))[0] == "ok"
    assert len(denial(server, "nx.example.")) == 1
    known = len(server.read_log())
    server.write_zone("example", zone)
    server.reload()
    server.wait_log("zone example: [0-9]+ records added", known)
    assert len(denial(server, "nx.example.")) > 1
    known = len(server.read_log())
    server.write_zone("example", HEAD + fill + "\n".join(costly) + "\n")
    server.reload()
    server.wait_log("zone example: [0-9]+ records added", known)
    assert len(denial(server, "nx.example.")) == 1


@pytest.mark.parametrize("zone", BROKEN)
def test_checkzone_prints_what_it_read(tmp_path, zone):
    path = tmp_path / "zone"
    path.write_text(zone_texts()[zone])
    result = subprocess.run(
        [harness.NSD.parent / "nsd-checkzone", "-p", zone, path],
        capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    read = dns.zone.from_text(path.read_text(), zone, relativize=False)
    printed = dns.zone.from_text(
        "\n".join(line for line in result.stdout.splitlines()
                  if not line.startswith(";")), zone, relativize=False)
    assert printed == read
