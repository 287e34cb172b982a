"""Answers and transfers of a zone with signatures of 7,856 octets and more: what
does not fit is truncated, and what is sent is whole."""
import pathlib
import socket
import struct
import subprocess
import sys

import dns.dnssec
import dns.flags
import dns.name
import dns.query
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.zone
import pytest

import harness

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import pq_sign  # noqa: E402
import pq_transfer  # noqa: E402

GEN_ZONE = harness.BUILD / "tests/bench/gen_zone"
COUNT = 200
LIMITS = (512, 1232, 4096)
# Of a zone whose names come from gen_zone: this one does not exist.
ABSENT = "www.none-000000.bench."


def make_zone(directory, *options):
    directory.mkdir()
    subprocess.run([GEN_ZONE, *map(str, options), "tld", str(COUNT), "1",
                    directory], check=True)
    return (directory / "tld.zone").read_text()


def records_of(text):
    """(owner, type, RDATA) of all records of a file, or of a list of RRsets."""
    sets = text if isinstance(text, list) else [
        dns.rrset.from_rdata_list(name, rdataset.ttl, rdataset)
        for name, node in dns.zone.from_text(
            text, "bench.", relativize=False).nodes.items()
        for rdataset in node]
    return sorted((one.name.to_text(), dns.rdatatype.to_text(rr.rdtype),
                   rr.to_text()) for one in sets for rr in one)


@pytest.fixture(name="large", params=[("SLH", 7856, 32), ("larger", 15000, 300)],
                ids=lambda row: row[0])
def make_large(request, nsd, tmp_path):
    _, signature, key = request.param
    text = make_zone(tmp_path / "made", "-a", 20, "-s", signature, "-k", key)
    server = nsd(zones={"bench": text}, options={
        "ipv4-edns-size": 4096, "tcp-count": 100})
    server.text = text
    return server


def questions(text):
    """A delegation of each sort, a name that is none, DS, and the apex."""
    lines = [line.split("\t") for line in text.splitlines()]
    signed = [line[0] for line in lines if line[3] == "DS"]
    unsigned = sorted({line[0] for line in lines if line[3] == "NS"}
                      - set(signed) - {"bench."})
    return [(f"www.{signed[0]}", "A"), (signed[1], "DS"),
            (f"www.{unsigned[0]}", "A"), (unsigned[1], "DS"), (ABSENT, "A"),
            ("bench.", "DNSKEY"), ("bench.", "SOA"), ("bench.", "NS"),
            ("bench.", "NSEC3PARAM"), ("bench.", "ANY")]


def all_records(response):
    return records_of(response.answer + response.authority
                      + response.additional)


def test_what_is_too_long_is_truncated_and_whole_over_tcp(large):
    there = set(records_of(large.text))
    for name, rdtype in questions(large.text):
        whole = large.query(name, rdtype, tcp=True, want_dnssec=True)
        size = len(whole.to_wire(max_size=65535))
        assert not whole.flags & dns.flags.TC
        assert all_records(whole) and set(all_records(whole)) <= there
        signatures = [row for row in all_records(whole) if row[1] == "RRSIG"]
        assert signatures, (name, rdtype)
        for limit in LIMITS:
            got = large.query(name, rdtype, payload=limit, edns=0,
                              want_dnssec=True)
            assert bool(got.flags & dns.flags.TC) == (size > limit), \
                (name, rdtype, limit, size)
            assert len(got.to_wire(max_size=65535)) <= limit
    # A proof of four signed sets is longer than any datagram.
    denial = large.query(ABSENT, "A", tcp=True, want_dnssec=True)
    assert denial.rcode() == dns.rcode.NXDOMAIN
    assert len([row for row in all_records(denial) if row[1] == "RRSIG"]) >= 3


def test_many_on_one_connection_that_is_read_late(large):
    """Queries are sent until the server takes no more; what it then sends, of
    some 30 KB each, is whole and has each id once."""
    query = dns.message.make_query(ABSENT, "A", want_dnssec=True)
    wanted = large.query(ABSENT, "A", tcp=True, want_dnssec=True)
    count, got = 300, {}
    with socket.create_connection(("127.0.0.1", large.port),
                                  harness.DEADLINE) as sock:
        stream = b""
        for ident in range(count):
            query.id = ident
            wire = query.to_wire()
            stream += struct.pack(">H", len(wire)) + wire
        sock.settimeout(0)
        while stream:
            try:
                stream = stream[sock.send(stream):]
            except BlockingIOError:
                break
        sock.settimeout(harness.DEADLINE)
        reader = sock.makefile("rb")
        while len(got) < count:
            if stream:
                stream = stream[sock.send(stream):]
            size, = struct.unpack(">H", reader.read(2))
            message = dns.message.from_wire(reader.read(size))
            assert message.id not in got
            got[message.id] = size
            assert all_records(message) == all_records(wanted)
    assert len(set(got.values())) == 1 and min(got.values()) > 25000


def test_an_answer_longer_than_any_message(nsd, tmp_path):
    text = make_zone(tmp_path / "made", "-a", 20, "-s", 40000)
    server = nsd(zones={"bench": text}, options={"tcp-count": 100})
    for tcp in (False, True):
        got = server.query(ABSENT, "A", tcp=tcp, want_dnssec=True)
        assert got.rcode() == (dns.rcode.SERVFAIL if tcp
                               else dns.rcode.NXDOMAIN)
        assert bool(got.flags & dns.flags.TC) != tcp
    got = server.query("bench.", "SOA", tcp=True, want_dnssec=True)
    assert got.rcode() == dns.rcode.NOERROR
    assert {row[1] for row in records_of(got.answer)} == {"SOA", "RRSIG"}


@pytest.mark.parametrize("signature", [666, 7856, 16000, 16384, 40000, 60000])
def test_transfers_have_each_record(nsd, tmp_path, signature):
    text = make_zone(tmp_path / "made", "-a", 20, "-s", signature)
    server = nsd(extra='zone:\n\tname: "bench"\n\tzonefile: "'
                 f'{tmp_path}/made/tld.zone"\n'
                 '\tprovide-xfr: 127.0.0.1 NOKEY\n')
    messages = list(dns.query.xfr(
        "127.0.0.1", "bench.", port=server.port, relativize=False,
        timeout=harness.DEADLINE, lifetime=harness.DEADLINE))
    got = records_of([rrset for one in messages for rrset in one.answer])
    wanted = records_of(text)
    # The SOA comes at both ends.
    assert got == sorted(wanted + [row for row in wanted if row[1] == "SOA"])
    taken = pq_transfer.take(server.port, "bench.")
    assert "failed" not in taken, taken
    assert taken["records"] == len(got)
    assert taken["messages"] == len(messages)


# ---- the bench's own zones

@pytest.mark.parametrize("algorithm", ["ECDSA P-256", "RSA-2048"])
def test_real_signatures_are_valid(tmp_path, algorithm):
    number, signature, key, _ = pq_sign.ALGORITHMS[algorithm]
    make_zone(tmp_path / "made", "-a", number, "-s", signature, "-k", key)
    path = tmp_path / "made/tld.zone"
    before = path.read_text()
    done, count = pq_sign.sign_zone(path, algorithm, harness.DEADLINE)
    assert done == count == before.count("\tRRSIG\t")
    zone = dns.zone.from_file(str(path), "bench.", relativize=False)
    origin = dns.name.from_text("bench.")
    keys = {origin: zone.find_rdataset(origin, "DNSKEY")}
    checked = 0
    for name, node in zone.nodes.items():
        for rdataset in node:
            if rdataset.rdtype != dns.rdatatype.RRSIG:
                continue
            covered = node.find_rdataset(dns.rdataclass.IN, rdataset.covers)
            dns.dnssec.validate((name, covered), (name, rdataset), keys)
            checked += 1
    assert checked == count
    # The rest is the same.
    kept = [[line for line in text.splitlines()
             if line.split("\t")[3] not in ("RRSIG", "DNSKEY")]
            for text in (before, path.read_text())]
    assert kept[0] == kept[1]


def test_zones_differ_in_signatures_alone(tmp_path):
    texts = [make_zone(tmp_path / str(number), "-a", number, "-s", octets)
             for number, octets in ((13, 64), (19, 2420), (8, 256))]
    kept = [[line for line in text.splitlines()
             if line.split("\t")[3] not in ("RRSIG", "DNSKEY")]
            for text in texts]
    assert kept[0] == kept[1] == kept[2]
    for text, octets in zip(texts, (64, 2420, 256)):
        zone = dns.zone.from_text(text, "bench.", relativize=False)
        assert {len(rr.signature) for _, _, rr in zone.iterate_rdatas()
                if rr.rdtype == dns.rdatatype.RRSIG} == {octets}


def test_no_signature_when_the_time_is_over(tmp_path):
    before = make_zone(tmp_path / "made")
    path = tmp_path / "made/tld.zone"
    done, count = pq_sign.sign_zone(path, "ECDSA P-256", -1)
    assert done == 0 and count == before.count("\tRRSIG\t")
