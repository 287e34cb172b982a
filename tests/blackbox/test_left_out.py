"""Records of another zone that a primary sends are left out, and told of."""
import re

import dns.query
import dns.rdatatype
import dns.rrset
import pytest

from harness import wait_for, zone_text
from scripted_primary import ScriptedPrimary, records, reply, soa, whole


def foreign(owner="ns.other.net.", rdtype="A", rdata="192.0.2.9"):
    return dns.rrset.from_text(owner, 300, "IN", rdtype, rdata)


def start(make_server, primary, more=""):
    server = make_server(zones={"example": zone_text()}, extra=(
        "zone:\n\tname: sec.test\n\tzonefile: sec.test.zone\n"
        "\tmin-retry-time: 1\n\tmax-retry-time: 1\n\tmax-refresh-time: 1\n"
        "\tprovide-xfr: 127.0.0.1 NOKEY\n\tstore-ixfr: yes\n"
        f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n" + more))
    server.options["verbosity"] = 0  # as it is where nobody has set it
    return server.start()


def warned(server):
    """The log's warnings of records left out: (address, how many, first)."""
    return re.findall(r"warning: xfrd: zone sec\.test transfer from (\S+)@\d+:"
                      r" left out (\d+ records?) of another zone,"
                      r" the first is (.*)", server.read_log())


def transferred(server, rdtype="AXFR", serial=0):
    """The zone as a client transfers it."""
    return [f"{rrset.name} {dns.rdatatype.to_text(rrset.rdtype)}"
            for message in dns.query.xfr(
                "127.0.0.1", "sec.test", rdtype, port=server.port,
                serial=serial, relativize=False, lifetime=10)
            for rrset in message.answer]


def with_foreign(query, apex, serial):
    message = whole(query, apex, serial, "www A 192.0.2.2")
    message.answer[1:1] = [foreign("Ns.Other.Net."), foreign("test.", "NS",
                                                             "ns.test.")]
    message.answer.insert(-1, foreign("a.xsec.test.", "TXT", "x"))
    return message


def test_whole_zone_is_served_without_them(make_server):
    def answer(apex, rdtype, query):
        return [reply(query, soa(apex, 7)) if rdtype == "SOA"
                else with_foreign(query, apex, 7)]

    with ScriptedPrimary(answer) as primary:
        server = start(make_server, primary)
        server.wait_serial("sec.test", 7)
        assert server.answer("www.sec.test", "A") == ["192.0.2.2"]
        assert transferred(server) == [
            "sec.test. SOA", "sec.test. NS", "ns.sec.test. A",
            "www.sec.test. A", "sec.test. SOA"]
        assert warned(server) == [("127.0.0.1", "3 records",
                                   "ns.other.net. A")]


def test_differences_are_served_without_them(make_server):
    """Added, removed, and once more from the journal at a start."""
    serial = [1]

    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial[0]))]
        if rdtype == "AXFR":
            return [whole(query, apex, 1)] if serial[0] == 1 else [None]
        www, = records(apex, "www A 192.0.2.2")
        old, new = soa(apex, serial[0] - 1), soa(apex, serial[0])
        removed, added = ([], [foreign(), www]) if serial[0] == 2 else (
            [www, foreign()], [foreign("b.other.net.")])
        return [reply(query, new, old, *removed, new, *added, new)]

    with ScriptedPrimary(answer) as primary:
        server = start(make_server, primary)
        server.wait_serial("sec.test", 1)
        assert warned(server) == []
        serial[0] = 2
        server.wait_serial("sec.test", 2)
        assert server.answer("www.sec.test", "A") == ["192.0.2.2"]
        serial[0] = 3
        server.wait_serial("sec.test", 3)
        assert server.rcode("www.sec.test", "A") == "NXDOMAIN"
        told = [("127.0.0.1", "1 record", "ns.other.net. A"),
                ("127.0.0.1", "2 records", "ns.other.net. A")]
        assert warned(server) == told
        assert ("sec.test.", "AXFR") not in primary.asked[3:]
        before = transferred(server)
        assert before == ["sec.test. SOA", "sec.test. NS", "ns.sec.test. A",
                          "sec.test. SOA"]
        differences = transferred(server, "IXFR", 2)
        assert "www.sec.test. A" in differences
        assert not [line for line in differences if "other" in line]
        server.stop()
    server.start()
    assert server.serial("sec.test") == 3
    assert transferred(server) == before
    assert warned(server) == told


@pytest.mark.parametrize("where", (0, -1))
def test_soa_of_another_zone_is_refused(make_server, where):
    def answer(apex, rdtype, query):
        message = whole(query, apex, 7)
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7))]
        message.answer[where] = soa("other.net.", 7)
        return [message]

    with ScriptedPrimary(answer) as primary:
        server = start(make_server, primary)
        wait_for("two tries", lambda: primary.asked.count(
            ("sec.test.", "AXFR")) > 1)
        assert server.rcode("sec.test", "SOA") == "SERVFAIL"
        assert warned(server) == []


def test_they_count_against_the_limit(make_server):
    """Records left out count against the limit: in short messages they would
    take more when kept."""
    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7))]
        message = whole(query, apex, 7)
        owner = ".".join(["x" * 60] * 4) + "."
        message.answer.insert(1, dns.rrset.from_text(owner, 300, "IN", "A", *(
            f"192.0.2.{i}" for i in range(100))))
        return [message]

    with ScriptedPrimary(answer) as primary:
        server = start(make_server, primary,
                       "\tsize-limit-xfr: 10000\n")
        wait_for("two tries", lambda: primary.asked.count(
            ("sec.test.", "AXFR")) > 1)
        assert server.rcode("sec.test", "SOA") == "SERVFAIL"
        assert warned(server) == []
