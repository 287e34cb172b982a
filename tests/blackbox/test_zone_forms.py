"""Zones of tests/bench/gen_zone in the forms of the studies: unsigned, and with a
chain of NSEC that has all delegations and ends where it began."""
import pathlib
import subprocess
import sys

import dns.rdatatype
import dns.zone
import pytest

import harness

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import zone_forms  # noqa: E402

SIGNED = {"RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "DNSKEY", "DS"}


@pytest.fixture(name="source")
def made_zone(tmp_path):
    subprocess.run([harness.BUILD / "tests/bench/gen_zone", "tld", "200", "1",
                    tmp_path], check=True)
    return tmp_path / "tld.zone"


def read(path):
    return dns.zone.from_file(str(path), "bench.", relativize=False,
                              check_origin=False)


def types_of(zone):
    return {dns.rdatatype.to_text(rdataset.rdtype)
            for _, rdataset in zone.iterate_rdatasets()}


def test_an_unsigned_zone_has_its_other_records_alone(source, tmp_path):
    zone_forms.unsigned(source, tmp_path / "unsigned")
    before, after = read(source), read(tmp_path / "unsigned")
    assert types_of(before) >= {"RRSIG", "NSEC3", "DS"}
    assert not types_of(after) & SIGNED
    for kind in ("SOA", "NS", "A", "AAAA"):
        assert [(name, rdataset) for name, rdataset
                in before.iterate_rdatasets(kind)] == \
            [(name, rdataset) for name, rdataset
             in after.iterate_rdatasets(kind)]


def test_a_chain_of_nsec_has_all_delegations(source, tmp_path):
    zone_forms.signed_with_nsec(source, tmp_path / "nsec")
    zone = read(tmp_path / "nsec")
    assert not types_of(zone) & {"NSEC3", "NSEC3PARAM"}
    owners = sorted(name for name, _ in zone.iterate_rdatasets("NS"))
    links = {name: rdataset[0].next for name, rdataset
             in zone.iterate_rdatasets("NSEC")}
    assert links == dict(zip(owners, owners[1:] + owners[:1]))
    for name, rdataset in zone.iterate_rdatasets("NSEC"):
        has = {dns.rdatatype.to_text(found.rdtype)
               for found in zone.get_node(name)}
        assert has == set(rdataset[0].to_text().split()[1:])
        assert zone.get_rdataset(name, "RRSIG", "NSEC") is not None
