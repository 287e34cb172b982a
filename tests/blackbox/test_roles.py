"""Behaviour of a zone as primary or secondary, over every change of its
options: after a change it does all that a fresh start with them would do.

    way         by reconfig, by changezone, by a restart
    what        what the options were before, and are behind it
"""
import time

import dns.rcode
import pytest

import control
from harness import wait_for, zone_text
from scripted_primary import ScriptedPrimary, error, reply, soa, whole

WAYS = ("reconfig", "changezone", "restart")
EXPIRE = 4  # seconds
SOON = 30   # for immediate effects, on a busy machine


class Primary(ScriptedPrimary):
    """A primary with a serial; it may be down, which is SERVFAIL."""

    def __init__(self, serial=5, expire=EXPIRE, refresh=1):
        self.serial, self.timers = serial, f"{refresh} 1 {expire} 300"
        self.is_down = False
        self.answered = time.monotonic()
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        if self.is_down:
            return error(query, dns.rcode.SERVFAIL)
        self.answered = time.monotonic()
        if rdtype == "SOA":
            return [reply(query, soa(apex, self.serial, self.timers))]
        return [whole(query, apex, self.serial, timers=self.timers)]


def of(*primaries, more=""):
    """Options of a secondary."""
    return "".join(f"\trequest-xfr: AXFR 127.0.0.1@{p.port} NOKEY\n"
                   for p in primaries) + "\tmax-retry-time: 1\n" + more


class Zone:
    def __init__(self, make_server, way, before, after, **options):
        self.way = way
        fixed = "" if way == "changezone" else (
            "zone:\n\tname: z.test\n\tinclude-pattern: before\n")
        self.server = control.config(make_server(
            zones={"example": zone_text()}, options=options, extra="".join(
                f"pattern:\n\tname: {name}\n\tzonefile: %s.zone\n{options}"
                for name, options in (("before", before), ("after", after)))
            + fixed)).start()
        if way == "changezone":
            assert control.ask(self.server, "addzone", "z.test",
                               "before")[0] == 0

    def change(self, write=True):
        server = self.server
        # A primary's file is what counts.
        if write:
            assert control.ask(server, "write", "z.test")[0] == 0
        server.extra = server.extra.replace("include-pattern: before",
                                            "include-pattern: after")
        if self.way == "changezone":
            code, text = control.ask(server, "changezone", "z.test", "after")
            assert code == 0, text
        elif self.way == "reconfig":
            code, text = control.reconfig(server)
            assert code == 0, text
        else:
            server.stop()
            server.write_config()
            server.start()

    def write_file(self, text):
        path = self.server.zone_file("z.test")
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)
        assert control.ask(self.server, "reload", "z.test")[0] == 0

    def status(self):
        return control.ask(self.server, "zonestatus", "z.test")[1]

    def is_served(self):
        return self.server.rcode("z.test", "SOA") == "NOERROR"

    def wait_gone(self):
        wait_for("the end", lambda: self.server.rcode(
            "z.test", "SOA") == "SERVFAIL")

    def stays_until(self, end):
        """The zone is served until then, though it would have expired."""
        while time.monotonic() < end:
            assert self.is_served(), self.status()
            time.sleep(0.1)


@pytest.fixture(params=WAYS)
def make(request, make_server):
    return lambda before, after: Zone(make_server, request.param, before,
                                      after)


NOTIFY = ("", "\tnotify: 127.0.0.1@1 NOKEY\n\tnotify-retry: 1\n")


@pytest.mark.parametrize("more", NOTIFY, ids=("alone", "notify"))
def test_secondary_that_is_made_a_primary_does_not_expire(make, more):
    with Primary() as primary:
        zone = make(of(primary), more)
        zone.server.wait_serial("z.test", 5)
        primary.is_down = True
        zone.change()
        asked = len(primary.asked)
        # A second more than the clock may round.
        zone.stays_until(primary.answered + EXPIRE + 2)
        assert "state: primary" in zone.status()
        assert len(primary.asked) == asked
        # With a new version, and with an older one.
        zone.write_file(zone_text(8))
        zone.server.wait_serial("z.test", 8)
        zone.write_file(zone_text(3))
        zone.server.wait_serial("z.test", 3)


def test_secondary_that_had_expired_is_served_as_a_primary(make):
    with Primary() as primary:
        zone = make(of(primary), "")
        zone.server.wait_serial("z.test", 5)
        primary.is_down = True
        zone.wait_gone()
        zone.change()
        zone.server.wait_serial("z.test", 5)
        zone.stays_until(time.monotonic() + 2)


def test_primary_that_is_made_a_secondary_expires_after_its_time(make):
    with Primary(serial=9, expire=3600) as primary:
        primary.is_down = True
        zone = make("", of(primary))
        zone.write_file(zone_text(2).replace("1209600", str(EXPIRE)))
        zone.server.wait_serial("z.test", 2)
        begin = time.monotonic()
        zone.change()
        wait_for("a check", lambda: primary.asked)
        zone.wait_gone()
        assert time.monotonic() - begin >= EXPIRE - 1
        primary.is_down = False
        zone.server.wait_serial("z.test", 9)
        wait_for("its state", lambda: "state: ok" in zone.status())


def test_there_and_back_again(make_server):
    """A primary and a secondary in turn: each has its own rule."""
    with Primary() as primary:
        zone = Zone(make_server, "changezone", of(primary), "")
        zone.server.wait_serial("z.test", 5)
        for _ in range(2):
            zone.change()
            assert "state: primary" in zone.status()
            assert control.ask(zone.server, "changezone", "z.test",
                               "before")[0] == 0
            wait_for("its state", lambda: "state: ok" in zone.status())
        primary.is_down = True
        zone.wait_gone()


def test_other_primaries_are_asked(make):
    with Primary(expire=86400) as old, Primary(7, expire=86400) as new:
        zone = make(of(old), of(new))
        zone.server.wait_serial("z.test", 5)
        zone.change()
        # The xfrd that was there may ask once more before it ends.
        wait_for("the new one is asked", lambda: new.asked)
        asked = len(old.asked)
        zone.server.wait_serial("z.test", 7)
        assert len(old.asked) == asked


@pytest.mark.lasts(10)
def test_other_options_do_not_put_an_expiry_off(make):
    """Neither the change does, nor the start behind it."""
    with Primary(expire=10) as primary:
        zone = make(of(primary), of(primary, more="\tnotify-retry: 3\n"))
        zone.server.wait_serial("z.test", 5)
        primary.is_down = True
        time.sleep(3)
        zone.change()
        zone.server.stop()
        zone.server.start()
        zone.wait_gone()
        assert time.monotonic() - primary.answered < 10 + 2.5


def test_larger_least_expiry_counts_for_what_is_served(make):
    with Primary() as primary:
        zone = make(of(primary), of(primary, more=(
            "\tmin-expire-time: 3600\n")))
        zone.server.wait_serial("z.test", 5)
        primary.is_down = True
        zone.change()
        zone.stays_until(primary.answered + EXPIRE + 2)


def test_smaller_least_expiry_counts_for_what_is_served(make):
    with Primary() as primary:
        zone = make(of(primary, more="\tmin-expire-time: 3600\n"),
                    of(primary))
        zone.server.wait_serial("z.test", 5)
        primary.is_down = True
        zone.stays_until(primary.answered + EXPIRE + 1)
        zone.change()
        zone.wait_gone()


LIMITS = {
    "refresh": ("\tmin-refresh-time: 3600\n", "\tmax-refresh-time: 1\n",
                False),
    "retry": ("\tmin-retry-time: 3600\n", "\tmax-retry-time: 1\n", True),
}


@pytest.fixture(params=LIMITS)
def limited(request, make):
    """Begins with a primary whose refresh or retry counts, and a zone."""
    before, after, is_down = LIMITS[request.param]
    with Primary(refresh=3600 if request.param == "refresh" else 1,
                 expire=86400) as primary:
        def begin(larger):
            options = of(primary).replace("\tmax-retry-time: 1\n", "")
            zone = make(options + (after if larger else before),
                        options + (before if larger else after))
            zone.server.wait_serial("z.test", 5)
            primary.is_down = is_down
            return primary, zone
        yield begin


def test_smaller_limits_count_from_the_next_check_on(limited):
    primary, zone = limited(larger=False)
    zone.change()
    asked = len(primary.asked)
    wait_for("checks", lambda: len(primary.asked) > asked + 4, SOON)


def test_larger_limits_count_from_the_next_check_on(limited):
    primary, zone = limited(larger=True)
    asked = len(primary.asked)
    wait_for("checks", lambda: len(primary.asked) > asked + 1)
    zone.change()
    # A check that was under way, and one for the change: SOA and AXFR each.
    asked = len(primary.asked)
    time.sleep(3)
    assert len(primary.asked) <= asked + 4


def test_group_of_statistics_is_another(make):
    with Primary(expire=3600) as primary:
        zone = make(of(primary, more="\tzonestats: one\n"),
                    of(primary, more="\tzonestats: two\n"))
        zone.server.wait_serial("z.test", 5)

        def count(group):
            text = control.ask(zone.server, "stats_noreset")[1]
            return sum(int(line.split("=")[1]) for line in text.splitlines()
                       if line.startswith(f"{group}.num.queries="))

        assert count("one") > 0
        zone.change()
        zone.server.wait_serial("z.test", 5)
        one, two = count("one"), count("two")
        for _ in range(3):
            assert zone.is_served()
        wait_for("the new group", lambda: count("two") >= two + 3)
        assert count("one") == one
