"""zonemd-verify: a transferred version is served once its digest fits
(RFC 8976)."""
import re
import subprocess

import dns.rdatatype
import dns.zone
import pytest

from harness import BUILD, wait_for, zone_text
from scripted_primary import ScriptedPrimary, records, reply, soa
from signing import digest_by_ldns
from test_transferred import SOA, diffs, secondary, whole

REFUSED = "the zone is not what its ZONEMD digest is of"


def digest_of(apex, rrsets):
    """The RDATA of a ZONEMD record."""
    zone = dns.zone.Zone(dns.name.from_text(apex), relativize=False)
    for rrset in rrsets:
        zone.find_rdataset(rrset.name, rrset.rdtype, create=True).update(rrset)
    return zone.compute_digest(1).to_text()


def records_of(name, serial, lines):
    """name, lines: as test_transferred.whole takes them."""
    zone = dns.zone.from_text(
        "\n".join(line.removeprefix("add ") for line in
                  ("add " + SOA.format(serial), *lines)),
        origin=name, relativize=False)
    return [dns.rrset.from_rdata_list(owner, data.ttl, data)
            for owner, node in zone.items() for data in node]


BODY = ["add @ 3600 NS ns", "add ns 60 A 192.0.2.53"]


def zonemd(name, serial, *lines):
    return "add @ 3600 ZONEMD " + digest_of(
        name, records_of(name, serial, [*BODY, *lines]))


def signed(name, serial, *lines):
    """A whole zone with its digest."""
    return whole(name, serial,
                 "\n".join([*lines, zonemd(name, serial, *lines)]))


def spoilt(text):
    """The zone text with a wrong digest."""
    return re.sub(r"(ZONEMD \d+ 1 1 )(.)",
                  lambda m: m[1] + ("1" if m[2] == "0" else "0"), text)


@pytest.fixture
def server(nsd):
    return nsd(zones={"b.test": zone_text(1)},
               extra=secondary("example") + "\tzonemd-verify: yes\n"
               + secondary("other"),
               options={"server-count": 2, "verbosity": 5,
                        "replace-hung": "no"}, updates=True)


def many(count):
    return [f"add n{i} 60 TXT t{i}" for i in range(count)]


@pytest.mark.parametrize("count", (0, 1000, 3000))
def test_whole_zone_is_served_if_its_digest_fits(server, count):
    lines = many(count)
    assert server.update(spoilt(signed("example", 5, *lines)))[0] == REFUSED
    assert server.rcode("ns.example", "A") == "SERVFAIL"
    server.wait_log("zone example: serial 5 is not served: its ZONEMD digest"
                    " is of another content")
    assert server.update(signed("example", 5, *lines))[0] == "ok"
    assert server.serial("example") == 5
    # The same once more, beside what is served.
    assert server.update(spoilt(signed("example", 6, *lines)))[0] == REFUSED
    assert server.update(signed("example", 6, *lines,
                                "add x 60 A 192.0.2.1"))[0] == "ok"
    assert server.update(spoilt(signed("example", 7)))[0] == REFUSED
    assert server.serial("example") == 6
    assert server.answer("x.example", "A") == ["192.0.2.1"]


def test_zone_without_a_digest_is_served_and_it_is_said(server):
    assert server.update(whole("example", 5))[0] == "ok"
    server.wait_log("zone example: serial 5: it has no ZONEMD record")


@pytest.mark.parametrize("alter, why", [
    (lambda line: line.replace("ZONEMD 5", "ZONEMD 4"),
     "is for another serial"),
    (lambda line: line.replace(" 1 1 ", " 1 240 "), "is not known"),
    (lambda line: line.replace(" 1 1 ", " 241 1 "), "is not known"),
    (lambda line: line + "\n" + spoilt(line), "several ZONEMD records")])
def test_digest_that_cannot_be_used_is_refused(server, alter, why):
    line = alter(zonemd("example", 5))
    assert server.update(whole("example", 5, line))[0] == REFUSED
    server.wait_log(why)


def test_zones_without_the_option_are_not_looked_at(server):
    assert server.update(spoilt(signed("other", 5)))[0] == "ok"
    assert server.serial("other") == 5
    assert "ZONEMD" not in server.read_log()


def version(name, lines, old, new, added):
    """A difference that brings the digest along."""
    return (old, new, [zonemd(name, old, *lines).replace("add", "remove", 1)],
            [*added, zonemd(name, new, *lines, *added)])


@pytest.mark.parametrize("count", (0, 1500))
def test_differences_are_served_if_their_digest_fits(server, count):
    lines = many(count)
    one = ["add x 60 A 192.0.2.1"]
    two = ["add y 60 A 192.0.2.2"]
    assert server.update(signed("example", 1, *lines))[0] == "ok"
    first = version("example", lines, 1, 2, one)
    second = version("example", lines + one, 2, 3, two)
    assert server.update(spoilt(diffs("example", first)))[0] in (
        REFUSED, "the differences do not fit")
    assert server.serial("example") == 1
    bad = (*second[:3], [*two[:-1], spoilt(second[3][-1])])
    assert server.update(diffs("example", first, bad))[0] == REFUSED
    assert server.serial("example") == 1
    assert server.update(diffs("example", first, second))[0] == "ok"
    assert server.serial("example") == 3
    assert server.answer("y.example", "A") == ["192.0.2.2"]


# ---- primaries

def primary_zone(name, *primaries):
    return (f"zone:\n\tname: {name}\n\tzonefile: {name}.zone\n"
            "\tmin-retry-time: 1\n\tmax-retry-time: 2\n"
            "\tallow-notify: 127.0.0.1 NOKEY\n\tzonemd-verify: yes\n"
            + "".join(f"\trequest-xfr: 127.0.0.1@{p.port} NOKEY\n"
                      for p in primaries))


def content(apex, serial, *texts, wrong=False):
    rrsets = [soa(apex, serial),
              dns.rrset.from_text(apex, 300, "IN", "NS", f"ns.{apex}"),
              *records(apex, "ns A 192.0.2.1", *texts)]
    digest = digest_of(apex, rrsets)
    if wrong:
        digest = spoilt("ZONEMD " + digest).removeprefix("ZONEMD ")
    return [*rrsets, dns.rrset.from_text(apex, 300, "IN", "ZONEMD", digest)]


def serves(serial, **how):
    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial))]
        rrsets = content(apex, serial, "www A 192.0.2.9", **how)
        return [reply(query, *rrsets, rrsets[0].copy())]
    return answer


def test_wrong_zone_is_asked_of_the_next_primary(make_server):
    with ScriptedPrimary(serves(7, wrong=True)) as bad, \
            ScriptedPrimary(serves(6)) as good:
        server = make_server(zones={"example": zone_text()},
                             extra=primary_zone("two.test", bad, good),
                             options={"verbosity": 2})
        server.start()
        server.wait_serial("two.test", 6)
        server.wait_log("bad transfer .*: the zone is not what its ZONEMD digest is of")


def test_wrong_differences_are_followed_by_the_whole_zone(make_server):
    """The primary sends a difference that has lost a record."""
    serial = [1]

    def answer(apex, rdtype, query):
        now = serial[0]
        rrsets = content(apex, now, *(f"n{i} A 192.0.2.{i}"
                                      for i in range(now)))
        if rdtype == "SOA":
            return [reply(query, rrsets[0])]
        if rdtype != "IXFR" or now == 1:
            return [reply(query, *rrsets, rrsets[0].copy())]
        old = content(apex, 1, "n0 A 192.0.2.0")
        return [reply(query, rrsets[0], old[0], old[-1], rrsets[0].copy(),
                      rrsets[-1], rrsets[0].copy())]

    with ScriptedPrimary(answer) as primary:
        server = make_server(zones={"example": zone_text()},
                             extra=primary_zone("lossy.test", primary),
                             options={"verbosity": 2})
        server.start()
        server.wait_serial("lossy.test", 1)
        serial[0] = 2
        wait_for("the whole zone", lambda: server.serial("lossy.test") == 2)
        assert server.answer("n1.lossy.test", "A") == ["192.0.2.1"]
        assert [t for _, t in primary.asked if t != "SOA"][-2:] \
            == ["IXFR", "AXFR"]
        assert "serial 2 is not served" in server.read_log()


# ---- nsd-checkzone

@pytest.mark.lasts(25)
@pytest.mark.parametrize("count", (1, 42000), ids=("whole", "stream"))
def test_checkzone_looks_at_digests(tmp_path, count):
    """A file of more than 8 MiB in order is checked while it is read."""
    head, ns, address = (rrset.to_text() for rrset in
                         records_of("example", 5, BODY))
    lines = [head, ns, *(f"n{i:06}.example. 60 IN TXT {'x' * 200}"
                         for i in range(count)), address, ""]
    lines.insert(2, "example. 3600 IN ZONEMD "
                 + digest_by_ldns("\n".join(lines), "example"))
    text = "\n".join(lines)
    path = tmp_path / "example.zone"

    def check(*options):
        run = subprocess.run([BUILD / "nsd-checkzone", *options, "example",
                              path], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    path.write_text(text)
    assert check() == (0, "zone example is ok\n")
    path.write_text(spoilt(text))
    code, said = check()
    assert code == 0
    assert said.count("warning") == 1
    assert "zone example: its ZONEMD digest is of another content" in said
    code, said = check("-D")
    assert code == 1
    assert "error" in said and "ZONEMD" in said
