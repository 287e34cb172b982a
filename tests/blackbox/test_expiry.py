"""Fault 62: a zone expires in the middle of what brings it back, or after the
clock was set."""
import re
import threading

import dns.message
import dns.opcode
import dns.query
import dns.rcode
import pytest

import control
from harness import DEADLINE, ede_codes, wait_for, zone_text
from scripted_primary import ScriptedPrimary, error, reply, soa, whole

EXPIRE = 12  # seconds: more than a busy machine takes to look at a zone
INVALID_DATA = 24  # RFC 8914 section 4.25


class Primary(ScriptedPrimary):
    """A primary with a serial; can answer with errors, or send half of a
    transfer and the rest later."""

    def __init__(self):
        self.serial = 7
        self.timers = f"1 1 {EXPIRE} 300"
        self.is_broken = False
        self.errors = 0  # answers that are errors
        self.free = threading.Event()
        self.free.set()
        self.halves = 0
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        if self.is_broken or self.errors > 0:
            self.errors -= 1
            yield from error(query, dns.rcode.SERVFAIL)
        elif rdtype == "SOA":
            yield reply(query, soa(apex, self.serial, self.timers))
        else:
            rest = whole(query, apex, self.serial, "www A 192.0.2.9",
                         timers=self.timers)
            yield reply(query, *rest.answer[:2])
            self.halves += not self.free.is_set()
            if self.free.wait(DEADLINE):
                rest.answer = rest.answer[2:]
                yield rest


@pytest.fixture
def primary():
    with Primary() as made:
        yield made
        made.free.set()


def start_with(make_server, primary, more=""):
    server = make_server(zones={"example": zone_text()}, extra=(
        "zone:\n\tname: short.test\n\tzonefile: short.test.zone\n"
        f"\trequest-xfr: AXFR 127.0.0.1@{primary.port} NOKEY\n"
        "\tallow-notify: 127.0.0.1 NOKEY\n" + more))
    control.config(server).start()
    server.wait_serial("short.test", 7)
    return server


@pytest.fixture
def server(make_server, primary):
    return start_with(make_server, primary,
                      "\tmin-retry-time: 1\n\tmax-retry-time: 2\n")


def is_expired(server):
    answer = server.query("short.test", "SOA", edns=0)
    if answer.rcode() != dns.rcode.SERVFAIL:
        return False
    assert ede_codes(answer) == [INVALID_DATA]
    return True


def wait_expired(server):
    wait_for("the end", lambda: is_expired(server))
    server.wait_log("zone short.test has expired")


def notify(server, serial):
    query = dns.message.make_query("short.test", "SOA")
    query.set_opcode(dns.opcode.NOTIFY)
    query.answer = [soa("short.test.", serial)]
    dns.query.udp(query, server.address, port=server.port, timeout=DEADLINE)


@pytest.mark.lasts(15)
def test_zone_expires_while_it_is_transferred(server, primary):
    """The half that is there is not served; with the rest all is, at once."""
    primary.free.clear()
    primary.serial = 8
    wait_for("a half", lambda: primary.halves)
    wait_expired(server)
    assert is_expired(server)
    primary.free.set()
    server.wait_serial("short.test", 8)
    assert server.answer("www.short.test", "A") == ["192.0.2.9"]
    # Workers serve it before xfrd hears of it.
    assert wait_state(server, 8, "ok")


@pytest.mark.lasts(15)
def test_zone_whose_newer_version_was_told_expires(server, primary):
    """A NOTIFY does not keep it; the version that it told of does."""
    primary.is_broken = True
    notify(server, 9)
    wait_for("the serial", lambda: '\tnotified-serial: "9"\n' in control.ask(
        server, "zonestatus", "short.test")[1]
        or "last-error" in control.ask(server, "zonestatus",
                                       "short.test")[1])
    wait_expired(server)
    # Another one does not revive it, either.
    notify(server, 10)
    assert is_expired(server)
    assert "\tstate: expired\n" in control.ask(server, "zonestatus",
                                               "short.test")[1]
    primary.serial = 10
    primary.is_broken = False
    notify(server, 10)
    server.wait_serial("short.test", 10)


@pytest.mark.lasts(15)
def test_expired_zone_is_revived_by_the_same_serial(server, primary):
    """RFC 1034 section 4.3.5: the data are known to be right again."""
    primary.is_broken = True
    wait_expired(server)
    primary.is_broken = False
    server.wait_serial("short.test", 7)
    assert server.answer("www.short.test", "A") == ["192.0.2.9"]


@pytest.mark.lasts(15)
def test_expired_zone_is_revived_after_a_restart(server, primary):
    """The zone is revived by a transfer after the restart; test_primaries.py
    shows that it stays expired until then."""
    primary.is_broken = True
    wait_expired(server)
    server.stop()
    primary.serial = 11
    primary.is_broken = False
    server.start()
    server.wait_serial("short.test", 11)
    assert wait_state(server, 11, "ok")


# ---- the refresh is after the end ----------------------------------------------

@pytest.fixture
def unhurried(make_server, primary):
    """A server that would not refresh the zone for an hour, were it not to
    expire."""
    primary.timers = f"3600 600 {EXPIRE} 300"
    return start_with(make_server, primary, "\tmin-refresh-time: 3600\n")


@pytest.mark.lasts(10)
def test_zone_is_checked_before_it_expires(unhurried, primary):
    asked = len(primary.asked)
    wait_for("two checks", lambda: len(primary.asked) >= asked + 2)
    assert unhurried.serial("short.test") == 7
    assert "short.test has expired" not in unhurried.read_log()


@pytest.mark.lasts(10)
def test_zone_is_checked_when_it_expires(unhurried, primary):
    """Though a check has just failed, whose retry is far."""
    primary.errors = 2  # the SOA, and the transfer
    unhurried.wait_log("zone short.test has expired")
    assert primary.errors == 0
    wait_state(unhurried, state="ok")
    unhurried.wait_serial("short.test", 7)


# ---- the clock is set while the server is down (fault 52) ----------------------

DAY = 86400
YEARS = 10 * 365 * DAY


def set_clock(server, sec):
    """Stops the server and makes all dates in xfrd.state later, as for a clock
    that was set."""
    assert server.stop() == 0
    path = server.directory / "xfrd.state"
    text, count = re.subn(
        r"(filetime|_acquired): ([1-9]\d*)",
        lambda found: f"{found[1]}: {int(found[2]) + sec}", path.read_text())
    assert count == 3
    path.write_text(text)


def wait_state(server, serial=7, state=".*"):
    """The first one that it knows of, or this one."""
    status = wait_for("the state", lambda: re.search(
        rf"\tstate: ({state})\n\tserved-serial: \"{serial} ",
        control.ask(server, "zonestatus", "short.test")[1]))
    return status[1]


@pytest.mark.lasts(15)
@pytest.mark.parametrize("sec", [DAY, YEARS], ids=["day", "years"])
def test_dates_of_the_future_say_nothing(server, primary, sec):
    """The zone is fresh as of now, for its time and no longer; and the primary
    is asked at once."""
    primary.is_broken = True
    set_clock(server, sec)
    server.start()
    assert wait_state(server) != "expired"
    wait_expired(server)
    # A version that would not be refreshed for an hour.
    primary.timers = "3600 3600 7200 300"
    primary.serial = 8
    primary.is_broken = False
    assert wait_state(server, 8) == "ok"
    set_clock(server, sec)
    primary.serial = 9
    server.start()
    server.wait_serial("short.test", 9)


def start_expired(server, primary):
    """The zone is so after a start, until its primary is back."""
    server.start()
    assert wait_state(server) == "expired"
    assert is_expired(server)
    primary.is_broken = False
    server.wait_serial("short.test", 7)


@pytest.mark.lasts(15)
@pytest.mark.parametrize("sec", [DAY, -DAY], ids=["back", "forth"])
def test_no_clock_revives_what_expired(server, primary, sec):
    primary.is_broken = True
    wait_expired(server)
    set_clock(server, sec)
    start_expired(server, primary)


@pytest.mark.parametrize("sec", [-DAY, -YEARS], ids=["day", "years"])
def test_zone_of_long_ago_has_expired(server, primary, sec):
    primary.is_broken = True
    set_clock(server, sec)
    start_expired(server, primary)


def last_error(server):
    found = re.search(r'last-error: "(.*), \d+ sec ago"',
                      control.ask(server, "zonestatus", "short.test")[1])
    return found and found[1]


def test_expired_zone_keeps_its_last_error(make_server, primary):
    """The last error stays over checks; the next xfrd has one of its own soon,
    whatever the retry is."""
    primary.timers = "1 1 3 300"
    server = start_with(make_server, primary,
                        "\tmin-retry-time: 1\n\tmax-retry-time: 2\n")
    primary.is_broken = True
    wait_expired(server)
    expected = f"it answers SERVFAIL from 127.0.0.1@{primary.port}"
    asked = len(primary.asked)
    wait_for("more checks", lambda: last_error(server) == expected
             and len(primary.asked) > asked + 6)
    assert last_error(server) == expected
    server.extra = server.extra.replace("-retry-time: ", "-retry-time: 3600")
    assert control.reconfig(server)[0] == 0
    wait_for("the error", lambda: last_error(server) == expected)
    server.stop()
    server.start()
    wait_for("the error", lambda: last_error(server) == expected)
    assert "state: expired" in control.ask(server, "zonestatus",
                                           "short.test")[1]


# ---- two that have the zone from each other

@pytest.mark.parametrize("expire", (6, 0))
def test_zone_of_two_that_name_each_other_expires(make_server, primary,
                                                  expire):
    """RFC 7314 section 4: a server gets from the other the time left there.
    With 0 the zone lives for refresh and retry together."""
    primary.timers = f"3 3 {expire} 300"
    servers = [make_server(name=name) for name in ("one", "two")]
    for server, other in zip(servers, reversed(servers)):
        server.extra = (
            "zone:\n\tname: short.test\n\tzonefile: short.test.zone\n"
            "\tprovide-xfr: 127.0.0.1 NOKEY\n"
            "\tmin-retry-time: 1\n\tmax-retry-time: 1\n"
            "\tmax-refresh-time: 1\n" + "".join(
                f"\trequest-xfr: 127.0.0.1@{p.port} NOKEY\n"
                for p in (primary, other)))
        server.write_config()
    for server in servers:
        server.start()
    for server in servers:
        server.wait_serial("short.test", 7)
    primary.is_broken = True
    for server in servers:
        wait_for("the end", lambda s=server: is_expired(s))
    # The zones stay expired.
    assert all(is_expired(server) for server in servers)
