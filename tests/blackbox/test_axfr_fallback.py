"""allow-axfr-fallback: no: who has a zone is never asked for it whole."""
import collections

import dns.rcode
import dns.rrset
import pytest

from harness import wait_for, zone_text
from scripted_primary import (ScriptedPrimary, error, records, reply, soa,
                              whole)


def start(make_server, *primaries, fallback="no"):
    server = make_server(zones={"example": zone_text()}, extra=(
        "zone:\n\tname: s.test\n\tzonefile: s.test.zone\n"
        f"\tallow-axfr-fallback: {fallback}\n"
        "\tmax-refresh-time: 1\n\tmax-retry-time: 1\n") + "".join(
        f"\trequest-xfr: 127.0.0.1@{p.port} NOKEY\n" for p in primaries))
    return server.start()


def failing(code):
    return lambda query, apex: error(query, code)


def nonsense(query, apex):
    return [reply(query, *records(apex, "a A 192.0.2.1"))]


def not_fitting(query, apex):
    return [reply(query, soa(apex, 2), soa(apex, 1),
                  *records(apex, "gone A 192.0.2.1"), soa(apex, 2),
                  *records(apex, "new A 192.0.2.1"), soa(apex, 2))]


def of_another_serial(query, apex):
    return [reply(query, soa(apex, 2), soa(apex, 77), soa(apex, 2),
                  soa(apex, 2))]


def closed(query, apex):
    return [None]


FAULTS = {
    "notimp": failing(dns.rcode.NOTIMP),
    "refused": failing(dns.rcode.REFUSED),
    "formerr": failing(dns.rcode.FORMERR),
    "servfail": failing(dns.rcode.SERVFAIL),
    "notauth": failing(dns.rcode.NOTAUTH),
    "nonsense": nonsense,
    "not fitting": not_fitting,
    "of another serial": of_another_serial,
    "closed": closed,
}


class Primary(ScriptedPrimary):
    """Has a serial, and answers IXFR as `differences` says."""

    def __init__(self, differences=None, serial=1):
        self.serial = serial
        self.differences = differences
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, self.serial))]
        if rdtype == "AXFR":
            return [whole(query, apex, self.serial)]
        return self.differences(query, apex)

    def count(self, rdtype):
        return collections.Counter(r for _, r in list(self.asked))[rdtype]


@pytest.mark.parametrize("name", FAULTS)
def test_failed_ixfr_is_not_followed_by_axfr(make_server, name):
    with Primary(FAULTS[name]) as primary:
        server = start(make_server, primary)
        # A secondary without data asks for AXFR.
        server.wait_serial("s.test", 1)
        assert primary.count("AXFR") == 1
        primary.serial = 2
        wait_for("some rounds", lambda: primary.count("IXFR") >= 3)
        assert primary.count("AXFR") == 1
        assert server.serial("s.test") == 1
        # The secondary goes on when the primary is mended.
        primary.differences = lambda query, apex: [reply(
            query, soa(apex, 2), soa(apex, 1), soa(apex, 2), soa(apex, 2))]
        server.wait_serial("s.test", 2)
        assert primary.count("AXFR") == 1


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - {"closed"}))
def test_with_fallback_it_is(make_server, name):
    with Primary(FAULTS[name]) as primary:
        server = start(make_server, primary, fallback="yes")
        server.wait_serial("s.test", 1)
        primary.serial = 2
        server.wait_serial("s.test", 2)
        assert primary.count("AXFR") == 2


def test_whole_zone_in_answer_to_ixfr_is_taken(make_server):
    """RFC 1995 section 4: the primary may send it."""
    with Primary(lambda query, apex: [whole(
            query, apex, 2, "www A 192.0.2.9")]) as primary:
        server = start(make_server, primary)
        server.wait_serial("s.test", 1)
        primary.serial = 2
        server.wait_serial("s.test", 2)
        assert server.answer("www.s.test", "A") == ["192.0.2.9"]
        assert primary.count("AXFR") == 1


def test_next_primary_is_asked_for_differences(make_server):
    def good(query, apex):
        return [reply(query, soa(apex, 2), soa(apex, 1), soa(apex, 2),
                      *records(apex, "new A 192.0.2.7"), soa(apex, 2))]

    with Primary(FAULTS["notimp"]) as first, Primary(good) as second:
        server = start(make_server, first, second)
        server.wait_serial("s.test", 1)
        first.serial = second.serial = 2
        server.wait_serial("s.test", 2)
        assert server.answer("new.s.test", "A") == ["192.0.2.7"]
        assert first.count("AXFR") + second.count("AXFR") == 1
        assert first.count("IXFR") > 0
