"""Answers from signed zones: the records that deny, for each kind of answer,
in sound zones and in broken ones."""

import os
import random

import dns.flags
import dns.message
import dns.name
import dns.rdatatype
import pytest

import hard_zones
import harness
from signed import Nsec3, Zone

# The same zones each time; others with another seed.
SEED = int(os.environ.get("SEED", 1))
DIGEST = "00" * 32
ROWS = f"""
a TXT a
b.c.d TXT below two empty non-terminals
*.w TXT wild
x.w TXT beside the wildcard
*.e.w MX 1 a
y.*.wild-ent TXT the wildcard is an empty non-terminal
secure NS ns.secure
secure DS 1 13 2 {DIGEST}
ns.secure A 192.0.2.2
insecure NS ns.insecure
ns.insecure A 192.0.2.3
a.insecure TXT occluded
z.y.insecure TXT occluded
cut.only.ents NS ns
also.only.ents NS ns
dn DNAME a
hidden.dn TXT occluded
zz TXT the last one
"""
TYPES = ["A", "TXT", "MX", "DS", "NS", "NSEC", "NSEC3", "TYPE65280"]
CHAINS = {
    "nsec": None,
    "nsec3": Nsec3(),
    "salted": Nsec3(10, "aabbccdd"),
    "opt-out": Nsec3(1, "", True),
}
SOUND = "\n".join(row for row in ROWS.splitlines() if "hidden.dn" not in row)


def ask(server, name, rrtype, tcp=True, size=4096, dnssec=True):
    return server.query(name.to_text(), rrtype, tcp=tcp, edns=0,
                        payload=size, want_dnssec=dnssec)


def deniers(response):
    """Owners of the denial records, each of which must be signed."""
    found = {rrset.name for rrset in response.authority
             if rrset.rdtype in (dns.rdatatype.NSEC, dns.rdatatype.NSEC3)}
    signed = {rrset.name for rrset in response.authority
              if rrset.rdtype == dns.rdatatype.RRSIG
              and rrset.covers in (dns.rdatatype.NSEC, dns.rdatatype.NSEC3)}
    assert found == signed
    return found


def names_around(zone):
    names = set(zone.existing) | set(zone.types)
    for name in list(names):
        for text in ("0", "below", "a.b", "*", "~"):
            names.add(dns.name.from_text(text, name))
    return sorted(name for name in names
                  if not (zone.hider(name) and zone.hider(name)
                          not in zone.cuts))


@pytest.mark.parametrize("kind", CHAINS)
def test_every_answer_has_its_proof(nsd, kind):
    zone = Zone("example.", SOUND, CHAINS[kind])
    server = nsd(zones={"example": zone.text()})
    for name in names_around(zone):
        for rrtype in TYPES:
            if rrtype == "NSEC" and kind == "nsec":
                continue  # NSEC is there, or at the wildcard
            response = ask(server, name, rrtype)
            assert deniers(response) == zone.proof(name, rrtype), \
                f"{name} {rrtype}\n{response}"
            assert not response.flags & (dns.flags.AD | dns.flags.CD)


@pytest.mark.parametrize("kind", CHAINS)
def test_the_root_denies_as_others_do(nsd, kind):
    zone = Zone(".", "a TXT a\n*.w TXT w\ni NS ns.i\ns.e NS ns.i",
                CHAINS[kind])
    server = nsd(zones={".": zone.text()})
    for name in names_around(zone):
        response = ask(server, name, "MX")
        assert deniers(response) == zone.proof(name, "MX"), f"{name}"


@pytest.mark.parametrize("kind", CHAINS)
def test_zones_made_at_random(nsd, kind):
    print(f"SEED={SEED}")
    rng = random.Random(SEED)
    zones = {apex: Zone(apex, hard_zones.make_rows(rng, apex), CHAINS[kind])
             for apex in ("a.", "b.example.", f"{'y' * 60}.c.")}
    server = nsd(zones={apex.rstrip("."): zone.text()
                        for apex, zone in zones.items()})
    for zone in zones.values():
        for name in hard_zones.names_around(rng, zone, 50):
            for rrtype in ("TXT", rng.choice(["A", "MX", "DS", "NS"])):
                if zone.lacks_proof(name):
                    continue
                response = ask(server, name, rrtype)
                assert deniers(response) == zone.proof(name, rrtype), \
                    f"{name} {rrtype}\n{response}"


@pytest.mark.parametrize("kind", CHAINS)
def test_without_do_nothing_is_proven(nsd, kind):
    zone = Zone("example.", SOUND, CHAINS[kind])
    server = nsd(zones={"example": zone.text()})
    for name in names_around(zone):
        response = ask(server, name, "TYPE65280", dnssec=False)
        assert {rrset.rdtype for rrset in response.authority} <= {
            dns.rdatatype.SOA, dns.rdatatype.NS}


@pytest.mark.parametrize("kind", ["nsec", "nsec3"])
def test_every_link_of_a_chain_is_proven(nsd, kind):
    """RFC 4035 3.1.3.3: each wildcard that was expanded, once a record."""
    rows = "\n".join(f"*.l{i} CNAME x.l{i + 1}" for i in range(12))
    zone = Zone("example.", rows, CHAINS[kind])
    server = nsd(zones={"example": zone.text()})
    response = ask(server, zone.name("x.l0"), "A")
    want = set()
    for i in range(12):
        want |= zone.proof(zone.name(f"x.l{i}"), "CNAME")
    want |= zone.proof(zone.name("x.l12"), "A")
    assert response.rcode() == 3
    assert deniers(response) == want
    seen = [(rrset.name, rrset.rdtype, rrset.covers)
            for rrset in dns.message.from_wire(
                response.to_wire(), one_rr_per_rrset=True).authority]
    assert len(seen) == len(set(seen))


def test_denial_ttl_is_that_of_the_soa(nsd):
    """RFC 9077: NSEC of 300 s in a zone whose SOA says 60."""
    for nsec3 in (None, Nsec3()):
        text = Zone("example.", SOUND, nsec3).text()
        server = nsd(zones={"example": text.replace("1209600 300",
                                                    "1209600 60")},
                     name="nsec3" if nsec3 else "nsec")
        response = ask(server, dns.name.from_text("nx.example."), "A")
        assert {rrset.ttl for rrset in response.authority} == {60}


@pytest.mark.parametrize("sig_len", [512, 666, 2420, 4627, 7856])
@pytest.mark.parametrize("kind", ["nsec", "nsec3"])
def test_large_signatures_go_by_tcp(nsd, kind, sig_len):
    """A proof that does not fit is not sent in parts without TC."""
    zone = Zone("example.", SOUND, CHAINS[kind], sig_len)
    server = nsd(zones={"example": zone.text()})
    for text in ("nx.example.", "a.example.", "x.insecure.example.",
                 "n.w.example.", "secure.example."):
        name = dns.name.from_text(text)
        whole = ask(server, name, "A")
        assert not whole.flags & dns.flags.TC
        assert deniers(whole) == zone.proof(name, "A")
        for size in (512, 1232, 4096):
            part = ask(server, name, "A", tcp=False, size=size)
            assert len(part.to_wire()) <= size
            if not part.flags & dns.flags.TC:
                assert deniers(part) == zone.proof(name, "A")
                assert part.answer == whole.answer
        assert ask(server, name, "A", tcp=False,
                   size=512).flags & dns.flags.TC


# ---- broken zones


def ask_all(server, zone):
    """Asks a lot of it: all replies come, with the right code."""
    for name in names_around(zone):
        for rrtype in ("A", "TXT", "DS"):
            response = ask(server, name, rrtype)
            exists = (name in zone.existing or zone.hider(name)
                      or any(dns.name.Name((b"*",) + name.labels[i:])
                             in zone.existing
                             and dns.name.Name(name.labels[i:])
                             in zone.existing
                             and dns.name.Name(name.labels[i - 1:])
                             not in zone.existing
                             for i in range(1, len(name.labels))))
            assert response.rcode() == (0 if exists else 3), f"{name}"
            deniers(response)


def without(lines, dropped):
    return "\n".join(line for line in lines if not dropped(line)) + "\n"


def is_denial(line):
    """True for a line with a denial record or a signature of one."""
    kinds = ("NSEC", "NSEC3")
    fields = line.split()
    return len(fields) > 3 and (fields[2] in kinds or (
        fields[2] == "RRSIG" and fields[3] in kinds))


@pytest.mark.one_of_each("kind")
@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize("step", [1, 2, 3])
def test_holes_in_the_chain(nsd, kind, step):
    """Fault 30: each step-th record is missing, and its signature."""
    zone = Zone("example.", SOUND, CHAINS[kind])
    lines = zone.lines()
    owners = sorted({line.split()[0] for line in lines if is_denial(line)})
    gone = set(owners[::step])
    server = nsd(zones={"example": without(
        lines, lambda line: is_denial(line) and line.split()[0] in gone)})
    ask_all(server, zone)


@pytest.mark.parametrize("kind", CHAINS)
def test_denials_without_signatures(nsd, kind):
    zone = Zone("example.", SOUND, CHAINS[kind])
    text = without(zone.lines(), lambda line: is_denial(line)
                   and line.split()[2] == "RRSIG")
    server = nsd(zones={"example": text})
    response = ask(server, dns.name.from_text("nx.example."), "A")
    assert {rrset.name for rrset in response.authority
            if rrset.rdtype in (47, 50)} == zone.proof(
                dns.name.from_text("nx.example."), "A")


@pytest.mark.parametrize("nsec3", [None, Nsec3()])
def test_chain_of_one_record(nsd, nsec3):
    """Fault 30: it matches the apex and covers all else."""
    zone = Zone("example.", "", nsec3)
    zone.types.pop(zone.name("ns"))
    zone.rows = [row.replace("NS ns", "NS ns.else.").replace(
        "SOA ns", "SOA ns.else.") for row in zone.rows
        if not row.startswith("ns A")]
    zone.existing = {zone.apex}
    zone.make_chain()
    server = nsd(zones={"example": zone.text()})
    for name in ("nx.example.", "a.b.example.", "*.example."):
        response = ask(server, dns.name.from_text(name), "A")
        assert response.rcode() == 3
        assert deniers(response) == {zone.owner(zone.keys[0])}


def test_change_of_salt(nsd):
    """Fault 30, two chains: the one whose NSEC3PARAM is there is used, whether
    the other is whole or not (RFC 5155 section 10.3)."""
    old, new = Zone("example.", SOUND, Nsec3()), Zone("example.", SOUND,
                                                      Nsec3(1, "aa"))
    lines = new.lines() + [line for line in old.lines() if is_denial(line)]
    server = nsd(zones={"example": "\n".join(lines) + "\n"})
    for name in names_around(new):
        assert deniers(ask(server, name, "MX")) == new.proof(name, "MX")
    # The chains both have their NSEC3PARAM: either will do, if it is one of
    # them.
    lines += ["@ NSEC3PARAM " + Nsec3().text(0)]
    server = nsd(zones={"example": "\n".join(lines) + "\n"}, name="both")
    for name in names_around(new):
        assert deniers(ask(server, name, "MX")) in (
            new.proof(name, "MX"), old.proof(name, "MX"))


def test_salt_without_a_chain(nsd):
    """NSEC3PARAM alone: nothing to prove with."""
    zone = Zone("example.", SOUND, Nsec3())
    server = nsd(zones={"example": without(zone.lines(), is_denial)})
    ask_all(server, zone)


def test_owner_names_that_are_no_hash(nsd):
    """Fault 31: of no use for a proof."""
    zone = Zone("example.", SOUND, Nsec3())
    lines = zone.lines() + [
        "xyz.example. 300 NSEC3 1 0 0 - "
        "00000000000000000000000000000000 A",
        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz.example. 300 NSEC3 1 0 0 - "
        "00000000000000000000000000000000 A",
        "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.a.example. 300 NSEC3 1 0 0 - "
        "00000000000000000000000000000000 A",
        "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example. 300 NSEC3 2 0 0 - "
        "00000000000000000000000000000000 A"]
    server = nsd(zones={"example": "\n".join(lines) + "\n"})
    for name in names_around(zone):
        response = ask(server, name, "MX")
        assert zone.proof(name, "MX") <= {
            rrset.name for rrset in response.authority}


def test_apex_too_long_for_a_hash(nsd):
    """Fault 32: a label of 33 octets does not fit below it."""
    apex = ".".join(["a" * 61] * 3 + ["b" * 50]) + "."
    zone = Zone(apex, "a TXT a\n*.w TXT w\ni NS ns")
    lines = zone.lines() + ["@ NSEC3PARAM 1 0 0 -"]
    server = nsd(zones={apex: without(lines, is_denial)})
    ask_all(server, zone)


def test_iterations_beyond_all_limits(nsd):
    """Fault 33, RFC 9276 section 3.2: too dear to hash, but a validator must
    be able to see how many there are."""
    zone = Zone("example.", "a TXT a\n*.w TXT w\ni NS ns", Nsec3(65535))
    server = nsd(zones={"example": zone.text()})
    apex = {zone.match(zone.apex)}
    for name in names_around(zone):
        response = ask(server, name, "MX")
        assert deniers(response) <= apex
        if response.rcode() == 3:
            assert deniers(response) == apex


def test_hashes_that_begin_alike(nsd):
    """The zone keeps the start of each name's hash; where that of another
    record is the same, the records are told apart by all of it."""
    zone = Zone("example.", SOUND, Nsec3())
    lines = zone.lines()
    for text in ("a", "*.a"):
        key = zone.key(zone.name(text))
        owner = zone.name(key[:16] + "v" * 16)
        lines += [f"{owner} 300 NSEC3 1 0 0 - {zone.keys[0]} A",
                  zone.rrsig(owner, "NSEC3")]
    server = nsd(zones={"example": "\n".join(lines) + "\n"})
    for text in ("a", "x.a", "y.x.a"):
        name = zone.name(text)
        assert deniers(ask(server, name, "MX")) == zone.proof(name, "MX")


def cpu_seconds(server):
    ticks = 0
    for pid in harness.pids_of_session(server.process.pid):
        fields = harness.read_proc(pid, "stat").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def test_long_runs_of_empty_and_occluded_names(nsd):
    """The name before an absent one is found across long runs, at no cost of
    their length."""
    deep = ".".join("e" * 100)
    rows = [f"{deep} TXT deep", "m NS ns"]
    zone = Zone("example.", "\n".join(rows))
    lines = zone.lines() + [f"x{i}.m TXT occluded" for i in range(20000)]
    server = nsd(zones={"example": "\n".join(lines) + "\n"})
    half = deep[:99]
    for text in ("n", f"0.{deep}", "d", "f", f"d.{half}", f"f.{half}"):
        name = zone.name(text)
        assert deniers(ask(server, name, "A")) == zone.proof(name, "A")
    before = cpu_seconds(server)
    for _ in range(500):
        ask(server, zone.name("n"), "A", tcp=False)
    assert cpu_seconds(server) - before < 1
