"""Denials below many empty non-terminals, whose NSEC records are far from what
is asked for (RFC 4592 section 2.2.2, RFC 4035 section 3.1.3)."""
import random

import dns.name
import dns.rdatatype as T
import pytest

import compare
import differences
import servers
import signers

pytestmark = pytest.mark.lasts(30)

HEAD = """\
$TTL 3600
@ SOA ns.other. host.other. 1 7200 3600 1209600 300
@ NS ns.other.
"""
SIGNING = signers.Signing("ldns", "ECDSAP256SHA256")
DEEP = "d.test."
REVERSE = "8.b.d.0.1.0.0.2.ip6.arpa."
ADDRESSES = 30
ASKED_MAX = 800


def reverse_names(seed=1):
    """Reverse names of hosts in a few networks."""
    chance = random.Random(seed)
    networks = ["".join(chance.choices("0123456789abcdef", k=8))
                for _ in range(4)]
    return [".".join(chance.choices("0123456789abcdef", k=16))
            + "." + ".".join(chance.choice(networks))
            for _ in range(ADDRESSES)]


def owners():
    """{zone: owners in it}: in the first one, of as many labels as fit."""
    return {DEEP: [".".join(["m"] * 123)], REVERSE: reverse_names()}


def beside(zone, owner):
    """Names below, before and behind each name on the way to an owner."""
    apex, name = dns.name.from_text(zone), dns.name.from_text(
        f"{owner}.{zone}")
    for i in range(len(name.labels) - len(apex.labels) + 1):
        yield dns.name.Name(name.labels[i:])
        for label in (b"0", b"m0", b"zz"):
            try:
                yield dns.name.Name((label,) + name.labels[i:])
            except dns.name.NameTooLong:
                pass


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    directory = tmp_path_factory.mktemp("deep")
    zones, started = {}, {}
    for zone, names in owners().items():
        path = directory / f"{zone}zone"
        path.write_text(HEAD + "".join(f"{name} PTR host{i}.other.\n"
                                       for i, name in enumerate(names)))
        zones[zone] = signers.sign(SIGNING, zone, path, directory)
    try:
        for kind in (servers.Ours, *servers.RIVALS):
            started[kind.name] = kind(zones).start()
        yield zones, started
    finally:
        for server in started.values():
            server.stop()


@pytest.mark.parametrize("how", [
    compare.How(size=1232, dnssec=True), compare.How(size=4096),
    compare.How(size=4096, tcp=True, dnssec=True)], ids=str)
def test_denials_below_empty_non_terminals(running, how):
    zones, started = running
    asked = sorted({(name, rdtype) for zone, names in owners().items()
                    for owner in names for name in beside(zone, owner)
                    for rdtype in (T.PTR, T.DS)})
    step = len(asked) // ASKED_MAX + 1
    report = differences.report(zones, started, asked[::step], how)
    if report:
        pytest.fail(report, pytrace=False)
