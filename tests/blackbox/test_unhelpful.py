"""Primaries that tell no SOA, break off their differences, or do no EDNS, and
what a zone takes that has expired (doc/decisions/0140)."""
import collections

import dns.flags
import dns.rcode
import dns.tsigkeyring
import pytest

import control
from harness import wait_for, zone_text
from scripted_primary import (ScriptedPrimary, error, records, reply, soa,
                              whole)

SECRET = "c2VjcmV0IG9mIGEga2V5IGZvciB0ZXN0cw=="
KEYRING = dns.tsigkeyring.from_text({"shared.": SECRET})
LONG = "1 1 3600 300"


def start(make_server, *primaries, key="NOKEY", more=""):
    server = make_server(zones={"example": zone_text()}, extra=(
        (f'key:\n\tname: {key}\n\talgorithm: hmac-sha256\n\tsecret: "{SECRET}"'
         "\n" if key != "NOKEY" else "")
        + "zone:\n\tname: s.test\n\tzonefile: s.test.zone\n"
        "\tmax-refresh-time: 1\n\tmax-retry-time: 1\n"
        "\tallow-notify: 127.0.0.1 NOKEY\n" + more + "".join(
            f"\trequest-xfr: 127.0.0.1@{p.port} {key}\n" for p in primaries)))
    return control.config(server).start()


def differences(query, apex, old, new):
    return [reply(query, soa(apex, new), soa(apex, old), soa(apex, new),
                  *records(apex, f"n{new} A 192.0.2.1"), soa(apex, new))]


class Primary(ScriptedPrimary):
    """A primary with a serial, and differences to it."""

    def __init__(self, serial=1, timers=LONG, keyring=None):
        self.serial, self.timers = serial, timers
        super().__init__(self.say, keyring=keyring)

    def say(self, apex, rdtype, query):
        if rdtype == "SOA":
            return self.tell(apex, query)
        if rdtype == "AXFR":
            return [whole(query, apex, self.serial, timers=self.timers)]
        old = query.authority[0][0].serial
        if old >= self.serial:
            return [reply(query, soa(apex, self.serial, self.timers))]
        return self.differ(apex, query, old)

    def tell(self, apex, query):
        return [reply(query, soa(apex, self.serial, self.timers))]

    def differ(self, apex, query, old):
        return differences(query, apex, old, self.serial)

    def count(self, rdtype):
        return collections.Counter(r for _, r in list(self.asked))[rdtype]


# ---- no SOA

def without_aa(apex, query):
    message = reply(query, soa(apex, 1))
    message.flags &= ~dns.flags.AA
    return [message]


NO_SOA = {
    "refused": lambda apex, query: error(query, dns.rcode.REFUSED),
    "notimp": lambda apex, query: error(query, dns.rcode.NOTIMP),
    "servfail": lambda apex, query: error(query, dns.rcode.SERVFAIL),
    "no aa": without_aa,
    "no record": lambda apex, query: [reply(query)],
    "closed": lambda apex, query: [None],
}


@pytest.mark.one_of_each("name")
@pytest.mark.lasts(15)
@pytest.mark.parametrize("options", ("", "\tmulti-primary-check: yes\n"),
                         ids=("one", "all"))
@pytest.mark.parametrize("name", NO_SOA)
def test_primary_without_soa_is_followed(make_server, name, options):
    with Primary() as primary:
        server = start(make_server, primary, more=options)
        server.wait_serial("s.test", 1)
        primary.tell = NO_SOA[name]
        wholes = primary.count("AXFR")
        for serial in 2, 3:
            primary.serial = serial
            server.wait_serial("s.test", serial)
        # By differences; and nothing newer keeps it.
        assert primary.count("AXFR") == wholes
        asked = primary.count("IXFR")
        wait_for("more checks", lambda: primary.count("IXFR") > asked + 1)
        status = control.ask(server, "zonestatus", "s.test")[1]
        assert "state: ok" in status
        # In a survey what came over UDP is noted: TCP is to follow.
        assert options or "last-error" not in status
        # Without a failure nothing is logged, except of silence over UDP.
        if name != "closed":
            assert "error:" not in server.read_log()
            assert "well again" not in server.read_log()


@pytest.mark.lasts(20)
def test_primary_that_answers_no_soa_at_all_is_followed(make_server):
    with Primary() as primary:
        server = start(make_server, primary)
        server.wait_serial("s.test", 1)
        primary.tell = lambda apex, query: []
        primary.serial = 2
        # UDP three seconds, TCP ten.
        server.wait_serial("s.test", 2)


def without_qr(message):
    wire = bytearray(message.to_wire())
    wire[2] &= 0x7f
    return bytes(wire)


def truncated(message):
    message.flags |= dns.flags.TC
    return message


def without_a_question(message):
    message.question = []
    return message


@pytest.mark.parametrize("alter", (without_qr, truncated, without_a_question),
                         ids=lambda alter: alter.__name__)
def test_odd_messages_of_transfers_are_taken(make_server, alter):
    class Altered(Primary):
        def say(self, apex, rdtype, query):
            found = super().say(apex, rdtype, query)
            return found if rdtype == "SOA" else map(alter, found)

    with Altered() as primary:
        server = start(make_server, primary)
        server.wait_serial("s.test", 1)
        primary.serial = 2
        server.wait_serial("s.test", 2)
        assert primary.count("AXFR") == 1


# ---- differences that break off

def steps(primary, apex, query, old):
    """The messages of an IXFR, one record each."""
    message = differences(query, apex, old, primary.serial)[0]
    for rrset in message.answer:
        yield reply(query, rrset)


def cut_behind(count):
    def differ(primary, apex, query, old):
        for i, message in enumerate(steps(primary, apex, query, old)):
            if i == count:
                break
            yield message
        yield None
    return differ


def garbage(primary, apex, query, old):
    yield next(steps(primary, apex, query, old))
    yield query.id.to_bytes(2, "big") + b"\x84\x00\x00\x01" + b"\xff" * 40


def closed_at_once(primary, apex, query, old):
    return [None]


BREAKS = {
    "behind the first SOA": cut_behind(1),
    "in removals": cut_behind(2),
    "in additions": cut_behind(4),
    "garbage": garbage,
    "closed at once": closed_at_once,
}


@pytest.mark.parametrize("name", BREAKS)
def test_differences_that_break_off_are_followed_by_axfr(make_server, name):
    class Breaks(Primary):
        def differ(self, apex, query, old):
            return BREAKS[name](self, apex, query, old)

    with Breaks() as primary:
        server = start(make_server, primary)
        server.wait_serial("s.test", 1)
        primary.serial = 2
        server.wait_serial("s.test", 2)
        assert primary.count("AXFR") == 2
        # A request on a connection that was used before is sent again.
        assert primary.count("IXFR") <= 4
        # For an hour it is asked for nothing else.
        asked = primary.count("IXFR")
        primary.serial = 3
        server.wait_serial("s.test", 3)
        assert primary.count("IXFR") == asked


# ---- no EDNS

class NoEdns(Primary):
    """A primary that does not know EDNS, and says so like servers of before
    RFC 2671."""

    code = dns.rcode.FORMERR
    has_opt = False
    with_edns = 0

    def say(self, apex, rdtype, query):
        if query.edns >= 0:
            self.with_edns += 1
            message, = error(query, self.code)
            message.use_edns(0 if self.has_opt else False)
            return [message]
        return super().say(apex, rdtype, query)


@pytest.mark.one_of_each("code")
@pytest.mark.parametrize("key", ("NOKEY", "shared"))
@pytest.mark.parametrize("code", (dns.rcode.FORMERR, dns.rcode.NOTIMP,
                                  dns.rcode.SERVFAIL, dns.rcode.REFUSED))
def test_primary_without_edns_is_followed(make_server, code, key):
    with NoEdns(keyring=KEYRING if key != "NOKEY" else None) as primary:
        primary.code = code
        server = start(make_server, primary, key=key)
        server.wait_serial("s.test", 1)
        for serial in 2, 3:
            primary.serial = serial
            server.wait_serial("s.test", serial)
        assert primary.count("AXFR") <= 2
        assert primary.with_edns == 1  # the lack of EDNS is remembered


def test_primary_whose_formerr_has_an_opt_is_followed(make_server):
    """A FORMERR with an OPT is of a primary that knows EDNS, and not an option
    in it."""
    with NoEdns() as primary:
        primary.has_opt = True
        server = start(make_server, primary)
        for serial in 1, 2:
            primary.serial = serial
            server.wait_serial("s.test", serial)
        assert primary.with_edns == 1


ALL, TRANSFERS = ("SOA", "IXFR", "AXFR"), ("IXFR", "AXFR")


class Drops(Primary):
    """Says nothing to what has EDNS, as a firewall before it may have it."""

    def __init__(self, what, sent):
        self.what, self.sent, self.with_edns = what, sent, 0
        super().__init__()

    def say(self, apex, rdtype, query):
        self.with_edns += query.edns >= 0
        if query.edns >= 0 and rdtype in self.what:
            return self.sent
        return super().say(apex, rdtype, query)


@pytest.mark.parametrize("what", (ALL, TRANSFERS), ids=("all", "transfers"))
def test_primary_that_closes_at_edns_is_followed(make_server, what):
    with Drops(what, [None]) as primary:
        server = start(make_server, primary)
        for serial in 1, 2:
            primary.serial = serial
            server.wait_serial("s.test", serial)
        # The second time it is believed, and remembered.
        asked = primary.with_edns
        primary.serial = 3
        server.wait_serial("s.test", 3)
        assert primary.with_edns == asked
        assert "error:" not in server.read_log()


@pytest.mark.lasts(25)
def test_primary_that_drops_edns_is_followed(make_server):
    with Drops((), []) as primary:
        server = start(make_server, primary)
        server.wait_serial("s.test", 1)
        primary.what = ALL
        primary.serial = 2
        # UDP three seconds, TCP ten, a transfer three.
        server.wait_serial("s.test", 2)


# ---- a zone that has expired

SHORT = "1 1 2 300"
OTHERS = (5, 10 + 2 ** 31, 11 + 2 ** 31, 12)


def expire(server, primary):
    primary.is_down = True
    wait_for("the end",
             lambda: server.rcode("s.test", "SOA") == "SERVFAIL")


class GoesDown(Primary):
    is_down = False

    def say(self, apex, rdtype, query):
        if self.is_down:
            return error(query, dns.rcode.SERVFAIL)
        return super().say(apex, rdtype, query)


@pytest.mark.one_of_each("serial")
@pytest.mark.parametrize("hidden", (False, True), ids=("soa", "hidden"))
@pytest.mark.parametrize("serial", OTHERS)
def test_expired_zone_takes_any_serial(make_server, serial, hidden):
    with GoesDown(serial=10, timers=SHORT) as primary:
        server = start(make_server, primary)
        server.wait_serial("s.test", 10)
        if hidden:
            primary.tell = NO_SOA["refused"]
        expire(server, primary)
        primary.serial, primary.timers = serial, LONG
        primary.is_down = False
        server.wait_serial("s.test", serial)
        wait_for("its state", lambda: "state: ok" in control.ask(
            server, "zonestatus", "s.test")[1])
        # A zone that has not expired does not go back.
        primary.serial = serial - 1
        asked = primary.count("SOA")
        wait_for("more checks", lambda: primary.count("SOA") > asked + 1)
        assert server.serial("s.test") == serial


def test_zone_that_expired_before_a_start_takes_any_serial(make_server):
    with GoesDown(serial=10, timers=SHORT) as primary:
        server = start(make_server, primary)
        server.wait_serial("s.test", 10)
        expire(server, primary)
        server.stop()
        primary.serial, primary.timers = 5, LONG
        primary.is_down = False
        server.start()
        server.wait_serial("s.test", 5)
        # The next start has the same version.
        primary.is_down = True
        server.stop()
        server.start()
        assert server.serial("s.test") == 5


def test_expired_zone_takes_the_newest_of_those_there(make_server):
    with GoesDown(10, SHORT) as first, GoesDown(10, SHORT) as second:
        server = start(make_server, first, second,
                       more="\tmulti-primary-check: yes\n")
        server.wait_serial("s.test", 10)
        for primary in first, second:
            primary.is_down = True
        expire(server, first)
        first.serial, second.serial = 4, 5
        for primary in first, second:
            primary.timers, primary.is_down = LONG, False
        server.wait_serial("s.test", 5)
