"""Many versions in one IXFR, of which each would change much: the transfer costs
what its octets are, and the zone is made anew once. What other secondaries get
are the versions, as they came."""

import os

import dns.message
import dns.name
import dns.query
import dns.rdata
import dns.rdatatype
import dns.rrset
import pytest

import transferred
from harness import DEADLINE, is_sanitized, read_proc, zone_text
from scripted_primary import ScriptedPrimary, reply, soa

pytestmark = pytest.mark.plain

APEX = "example."
SOA = dns.rdatatype.SOA
NAMES = 8000
VERSIONS = 400
BUNDLE = 20  # versions of an entry of the journal
# The loader's time for all versions. One by one it would take more than 1 s,
# and memory as for the zone.
CPU_SEC = 0.6
MEMORY_KIB = 48 << 10
HASH = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"

# Records that come and go, and records that are there before.
KINDS = {
    "ns": ("sub 300 NS ns", ""),
    "dname": ("sub 300 DNAME ns", ""),
    "second": ("@ 300 NSEC3PARAM 1 0 2 ab", "@ 300 NSEC3PARAM 1 0 1 aabb"),
    "without": (f"{HASH} 300 NSEC3 1 0 9 aabb {HASH} A",
                "@ 300 NSEC3PARAM 1 0 9 aabb"),
    "parameters": ("@ 300 NSEC3PARAM 1 0 9 aabb", ""),
}


def text_of(soa_line, more):
    return "\n".join((soa_line, "@ 300 NS ns", "ns 300 A 192.0.2.1",
                      more, *(f"n{i}.sub 300 A 192.0.2.{i % 250}"
                              for i in range(NAMES)))) + "\n"


def rrset(line):
    owner, ttl, rdtype, rdata = line.split(maxsplit=3)
    apex = dns.name.from_text(APEX)
    return dns.rrset.from_rdata(
        dns.name.from_text(owner, apex) if owner != "@" else apex, int(ttl),
        dns.rdata.from_text("IN", rdtype, rdata, origin=apex,
                            relativize=False))


def versions_of(line, last):
    """From 1 to the last: (from, to, removed, added)."""
    return [(v, v + 1, [] if v % 2 else [line], [line] if v % 2 else [])
            for v in range(1, last)]


def answers(line, last):
    """A primary of version 1 and those that follow it up to the last one."""
    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(APEX, last))]
        if rdtype != "IXFR":
            return [None]
        rrsets = [soa(APEX, last)]
        for old, new, removed, added in versions_of(line, last):
            rrsets += [soa(APEX, old), *map(rrset, removed),
                       soa(APEX, new), *map(rrset, added)]
        return [reply(query, *rrsets, soa(APEX, last))]
    return answer


def clause(port, *more):
    return "".join(line + "\n" for line in (
        "zone:", "\tname: example", "\tzonefile: example.zone",
        f"\trequest-xfr: 127.0.0.1@{port} NOKEY",
        *(f"\t{one}" for one in more)))


def prepare(make_server, directory, port, before, soa_line, *more):
    (directory / "example.zone").write_text(text_of(soa_line, before))
    return make_server(zones={"b.test": zone_text(1)}, extra=clause(port, *more),
                       options={"server-count": 1, "verbosity": 2})


def cpu_sec(server):
    fields = read_proc(server.role("loader"), "stat").rpartition(")")[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory_kib(server):
    """The most that the loader has had, its store among it."""
    status = read_proc(server.role("loader"), "status")
    return int(status.partition("VmHWM:")[2].split()[0])


def check_served(server, line, last):
    """Checks that a record is there if it is in the last version, and gone if
    not."""
    assert server.serial("example") == last
    if "DNAME" in line:
        assert (server.answer("sub.example", "DNAME") != []
                ) == (last % 2 == 0)
    elif line.startswith("sub "):
        assert (server.answer("n5.sub.example", "A") == []
                ) == (last % 2 == 0)
    elif line.startswith("@ "):
        found = server.answer("example", "NSEC3PARAM")
        assert (line.split(maxsplit=3)[3].upper() in map(str.upper, found)
                ) == (last % 2 == 0)


@pytest.mark.one_of_each("kind")
@pytest.mark.parametrize("last", (VERSIONS, VERSIONS + 1))
@pytest.mark.parametrize("kind", KINDS)
def test_transfer_costs_what_its_octets_are(make_server, directory, kind,
                                            last):
    line, before = KINDS[kind]
    with ScriptedPrimary(answers(line, last)) as primary:
        server = prepare(make_server, directory, primary.port, before,
                         "@ 300 SOA ns h 1 1 1 3600 300")
        server.start()
        server.wait_serial("example", last)
        check_served(server, line, last)
        assert cpu_sec(server) < CPU_SEC or is_sanitized()
        assert memory_kib(server) < MEMORY_KIB or is_sanitized()
        assert ("example.", "AXFR") not in primary.asked


@pytest.mark.parametrize("kind", KINDS)
def test_replay_costs_what_its_octets_are(make_server, directory, kind):
    """Of many entries of the journal."""
    line, before = KINDS[kind]
    server = prepare(make_server, directory, 1, before, transferred.soa(1))
    versions = versions_of(line, VERSIONS)
    for i in range(0, len(versions), BUNDLE):
        some = versions[i:i + BUNDLE]
        transferred.keep(server, "example", some[0][0], some[-1][1],
                         transferred.diffs(APEX, *some))
    server.start()
    server.wait_log(f"zone example: from serial 1 to {VERSIONS} by the")
    check_served(server, line, VERSIONS)
    assert cpu_sec(server) < CPU_SEC or is_sanitized()
    assert memory_kib(server) < MEMORY_KIB or is_sanitized()


def ask_ixfr(server, serial):
    """(serials of the SOAs, the other records) of the answer over TCP."""
    query = dns.message.make_query("example", "IXFR")
    query.authority.append(dns.rrset.from_text(
        APEX, 0, "IN", "SOA", f". . {serial} 0 0 0 0"))
    reply_ = dns.query.tcp(query, server.address, port=server.port,
                           one_rr_per_rrset=True, timeout=DEADLINE)
    serials = [r[0].serial for r in reply_.answer if r.rdtype == SOA]
    others = [r.name.to_text() for r in reply_.answer if r.rdtype != SOA]
    return serials, others


def test_others_get_the_versions_as_they_came(make_server, directory):
    last, kept = 10, 4

    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(APEX, last))]
        rrsets = [soa(APEX, last)]
        for v in range(1, last):
            gone = [rrset(f"v{v} 60 TXT x")] if v > 1 else []
            rrsets += [soa(APEX, v), *gone, soa(APEX, v + 1),
                       rrset(f"v{v + 1} 60 TXT x")]
        return [reply(query, *rrsets, soa(APEX, last))]

    with ScriptedPrimary(answer) as primary:
        server = prepare(make_server, directory, primary.port, "",
                         "@ 300 SOA ns h 1 1 1 3600 300",
                         "store-ixfr: yes", f"ixfr-number: {kept}",
                         "provide-xfr: 127.0.0.1 NOKEY")
        server.start()
        server.wait_serial("example", last)
    for old in range(last - kept, last):
        assert ask_ixfr(server, old) == (
            [last, old, last, last], [f"v{old}.{APEX}", f"v{last}.{APEX}"])
    serials, others = ask_ixfr(server, last - kept - 1)
    assert len(others) > NAMES / 2 or serials == [last]  # the whole zone
