"""Zone transfers: what ours sends to those that ask, and what the real BIND,
Knot and NSD have after they took a zone from it."""
import dns.message
import dns.name
import dns.query
import dns.rdatatype
import dns.zone
import pytest

import secondaries
import servers
import signers
import some_zones

pytestmark = pytest.mark.lasts(20)

TIMEOUT = 30
HUGE = "huge.test."


def canonical(messages, apex):
    """The records of a transfer; each comes once, but for the SOA."""
    found = []
    for message in messages:
        for rrset in message.answer:
            for rdata in rrset:
                wire = rdata.to_digestable(dns.name.root)
                found.append((rrset.name.canonicalize().to_text(), rrset.ttl,
                              rrset.rdtype, wire))
    assert found[0] == found[-1] and found[0][2] == dns.rdatatype.SOA
    assert len(set(found)) == len(found) - 1
    return set(found)


def take(port, zone, rdtype="AXFR", serial=0):
    """The messages of a transfer, each checked to be an answer."""
    messages = list(dns.query.xfr(
        "127.0.0.1", zone, rdtype, port=port, timeout=TIMEOUT,
        lifetime=TIMEOUT, relativize=False, serial=serial))
    for message in messages:
        assert message.rcode() == 0
        for question in message.question:
            assert question.name == dns.name.from_text(zone)
    return messages


def in_file(zone, path):
    apex = dns.name.from_text(zone)
    loaded = dns.zone.from_file(str(path), apex, relativize=False,
                                check_origin=False)
    return {(name.canonicalize().to_text(), rdataset.ttl, rdataset.rdtype,
             rdata.to_digestable(dns.name.root))
            for name, rdataset in loaded.iterate_rdatasets()
            for rdata in rdataset}


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    directory = tmp_path_factory.mktemp("zones")
    found = some_zones.make(directory, [
        (i, signing) for i, signing in enumerate(signers.SIGNINGS)
        if signing.tool == "bind" or signing.iterations is not None])
    # An RRset that fits into one message; and one that fits into none, which
    # neither BIND nor Knot can have.
    for name, count in (("large.test.", 230), (HUGE, 500)):
        found[name] = directory / name
        found[name].write_text(
            f"$ORIGIN {name}\n$TTL 3600\n@ SOA ns h 1 2 3 4 300\n@ NS ns\n"
            "ns A 192.0.2.1\n"
            + "".join(f'big TXT "{i:0240}"\n' for i in range(count))
            + "".join(f"n{i} NS ns{i % 7}.n{i}\n"
                      f"ns{i % 7}.n{i} A 192.0.2.1\n" for i in range(5000)))
    return found


@pytest.fixture(scope="module")
def ours(zones):
    server = servers.Ours(zones)
    server.zone_more = ["\tprovide-xfr: 127.0.0.1 NOKEY"]
    server.start()
    yield server
    server.stop()


def test_all_records_are_sent(ours, zones):
    for zone, path in zones.items():
        assert canonical(take(ours.port, zone), zone) == in_file(zone, path)


@pytest.mark.parametrize("kind", secondaries.ALL)
def test_secondaries_take_the_zones(ours, zones, kind):
    secondary = kind(ours)
    taken = {zone: path for zone, path in zones.items() if zone != HUGE}
    secondary.zones = taken
    try:
        secondary.start()
        for zone, path in taken.items():
            assert canonical(take(secondary.port, zone), zone) \
                == in_file(zone, path), zone
    finally:
        secondary.stop()


def test_ixfr_is_answered_with_the_zone_or_its_soa(ours, zones):
    zone = "large.test."
    assert canonical(take(ours.port, zone, "IXFR", serial=0), zone) \
        == in_file(zone, zones[zone])
    messages = take(ours.port, zone, "IXFR", serial=1)
    assert [len(m.answer) for m in messages] == [1]
    assert messages[0].answer[0].rdtype == dns.rdatatype.SOA
