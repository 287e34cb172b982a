"""The clause verify: a version is served once its verifier has accepted it."""
import os
import pathlib
import signal
import time

import pytest

import control
from harness import (pids_of_session, read_proc, session_of, wait_for,
                     zone_text)
from ports import free_port
from test_transferred import diffs, secondary, whole

NAME = "example"
REFUSED = "its verifier has refused it"
# A verifier that does what the file "verdict" says: "N", an exit status, or
# "wait", until there is another word.
SCRIPT = """#!/bin/sh
echo $VERIFY_ZONE >> {folder}/asked
while [ "$(cat {folder}/verdict)" = wait ]; do sleep 0.05; done
exit $(cat {folder}/verdict)
"""


class Verifier:
    """The program of a zone, and its word."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.path = self.folder / "verifier"
        self.path.write_text(SCRIPT.format(folder=self.folder))
        self.path.chmod(0o755)
        self.say("0")

    def say(self, verdict):
        new = self.folder / "new"
        new.write_text(verdict)
        new.rename(self.folder / "verdict")

    def asked(self):
        try:
            return (self.folder / "asked").read_text().split()
        except FileNotFoundError:
            return []

    def wait_asked(self, count):
        wait_for(f"asked {count} times",
                 lambda: len(self.asked()) >= count)


@pytest.fixture
def verifier(tmp_path):
    return Verifier(tmp_path / "verifier")


def make_server(nsd, verifier, more="", count=1, zones=None, **options):
    return nsd(zones=zones or {"b.test": zone_text(1)},
               extra=f"verify:\n\tenable: yes\n\tport: {free_port()}\n"
                     f"\tverifier: {verifier.path}\n\tverify-zones: no\n"
                     "\tverifier-feed-zone: no\n"
                     f"\tverifier-count: {count}\n"
                     + secondary(NAME) + "\tverify-zone: yes\n"
                     + secondary("other") + more,
               options={"server-count": 1, "verbosity": 5,
                        "replace-hung": "no", **options}, updates=True)


@pytest.fixture
def server(nsd, verifier):
    return make_server(nsd, verifier)


def step(old, new, *added):
    return diffs(NAME, (old, new, [], list(added)))


# ---- verdicts ----------------------------------------------------------------

def test_accepted_versions_are_served(server, verifier):
    """Whole ones, and differences."""
    assert server.update(whole(NAME, 1))[0] == "ok"
    assert server.serial(NAME) == 1
    assert server.update(step(1, 2, "add new 60 A 192.0.2.7"))[0] == "ok"
    assert server.serial(NAME) == 2
    assert server.rcode(f"new.{NAME}", "A") == "NOERROR"
    assert verifier.asked() == [NAME, NAME]


def test_refused_versions_are_not(server, verifier):
    verifier.say("1")
    assert server.update(whole(NAME, 1))[0] == REFUSED
    assert server.rcode(NAME, "SOA") == "SERVFAIL"
    verifier.say("0")
    assert server.update(whole(NAME, 1))[0] == "ok"
    verifier.say("3")
    assert server.update(step(1, 2, "add new 60 A 192.0.2.7"))[0] == REFUSED
    assert server.serial(NAME) == 1
    assert server.rcode(f"new.{NAME}", "A") == "NXDOMAIN"
    assert server.update(whole(NAME, 2))[0] == REFUSED
    assert server.serial(NAME) == 1
    verifier.say("0")
    assert server.update(step(1, 2, "add new 60 A 192.0.2.7"))[0] == "ok"
    assert server.serial(NAME) == 2


def glue_of(server):
    reply = server.query(f"x.sub.{NAME}", "A")
    return reply.additional[0][0].to_text()


def test_glue_of_a_refused_version_is_not_seen(server, verifier):
    """Addresses of targets change in place: the next version has those of the
    one that is served."""
    text = "add sub 60 NS ns.sub\nadd ns.sub 60 A 192.0.2.1\n"
    assert server.update(whole(NAME, 1, text))[0] == "ok"
    for i in range(3):
        verifier.say("1")
        assert server.update(diffs(NAME, (
            1 + i, 20, [f"remove ns.sub 60 A 192.0.2.{1 + i}"],
            ["add ns.sub 60 A 192.0.2.99"])))[0] == REFUSED
        assert glue_of(server) == f"192.0.2.{1 + i}"
        verifier.say("0")
        assert server.update(diffs(NAME, (
            1 + i, 2 + i, [f"remove ns.sub 60 A 192.0.2.{1 + i}"],
            [f"add ns.sub 60 A 192.0.2.{2 + i}"])))[0] == "ok"
        assert glue_of(server) == f"192.0.2.{2 + i}"


# ---- nobody waits for others -------------------------------------------------

def test_others_go_on_while_one_hangs(nsd, verifier):
    """Changes of other zones are served, also of other zones with a verifier,
    while there are fewer than verifier-count."""
    server = make_server(nsd, verifier, count=2, more=MORE_VERIFIED)
    verifier.say("wait")
    server.send_update(whole(NAME, 1))
    verifier.wait_asked(1)
    assert server.update(whole("other", 5))[0] == "ok"
    assert server.serial("other") == 5
    assert server.update(diffs("other", (5, 6, [], [])))[0] == "ok"
    server.write_zone("b.test", zone_text(7))
    server.reload()
    server.wait_serial("b.test", 7)
    server.send_update(whole("third", 1))
    verifier.wait_asked(2)
    assert server.rcode(NAME, "SOA") == "SERVFAIL"
    verifier.say("0")
    assert [server.read_update()[0] for _ in range(2)] == ["ok", "ok"]
    assert server.serial(NAME) == 1
    assert server.serial("third") == 1


MORE_VERIFIED = secondary("third") + "\tverify-zone: yes\n"


def test_zones_wait_for_their_turn(nsd, verifier):
    """Two zones with verifier-count 1: the second is asked about once the
    first has its verdict."""
    server = make_server(nsd, verifier, more=MORE_VERIFIED)
    verifier.say("wait")
    server.send_update(whole(NAME, 1))
    verifier.wait_asked(1)
    server.send_update(whole("third", 1))
    assert server.update(whole("other", 5))[0] == "ok"
    assert verifier.asked() == [NAME]
    verifier.say("1")
    assert [server.read_update()[0] for _ in range(2)] == [REFUSED] * 2
    assert verifier.asked() == [NAME, "third"]


def test_many_that_wait_hold_up_nobody(nsd, verifier):
    """More zones wait than xfrd may have requests under way."""
    count = 300
    more = "".join(secondary(f"z{i}") + "\tverify-zone: yes\n"
                   for i in range(count))
    server = make_server(nsd, verifier, more=more)
    verifier.say("wait")
    for i in range(count):
        server.send_update(whole(f"z{i}", 1))
        # Requests from before an answer do not count any more.
        if i % 100 == 99:
            assert server.update(whole("other", i))[0] == "ok"
    assert server.serial("other") == count - 1
    verifier.say("0")
    assert [server.read_update()[0] for _ in range(count)] == ["ok"] * count
    for i in range(0, count, 50):
        assert server.serial(f"z{i}") == 1


# ---- files -------------------------------------------------------------------

@pytest.fixture
def primary(nsd, verifier):
    """A primary zone with a verifier."""
    return make_server(
        nsd, verifier, more="zone:\n\tname: p.test\n"
        "\tzonefile: p.test.zone\n\tverify-zone: yes\n",
        zones={"b.test": zone_text(1)})


def write(server, serial, more=""):
    server.write_zone("p.test", zone_text(serial) + more)


def test_files_are_verified_at_a_reload(primary, verifier):
    write(primary, 1)
    primary.reload()
    primary.wait_serial("p.test", 1)
    assert verifier.asked() == ["p.test"]
    verifier.say("1")
    write(primary, 2)
    primary.reload()
    primary.wait_log("p.test.zone: .*ended with status 1")
    assert primary.serial("p.test") == 1
    verifier.say("0")
    write(primary, 3)
    primary.reload()
    primary.wait_serial("p.test", 3)


def test_a_file_that_waits_holds_up_no_reload(primary, verifier):
    write(primary, 1)
    primary.reload()
    primary.wait_serial("p.test", 1)
    verifier.say("wait")
    write(primary, 2)
    primary.reload()
    verifier.wait_asked(2)
    primary.write_zone("b.test", zone_text(9))
    # Another version, which is read once the first has its verdict.
    write(primary, 3)
    primary.reload()
    primary.wait_serial("b.test", 9)
    assert primary.serial("p.test") == 1
    verifier.say("0")
    primary.wait_serial("p.test", 3)
    assert verifier.asked() == ["p.test"] * 4 or \
        verifier.asked() == ["p.test"] * 3


def test_a_loader_dies_while_a_file_waits(primary, verifier):
    """The next one has it verified."""
    write(primary, 1)
    primary.reload()
    primary.wait_serial("p.test", 1)
    verifier.say("wait")
    write(primary, 2)
    primary.reload()
    verifier.wait_asked(2)
    kill_role(primary, "loader")
    verifier.wait_asked(3)
    assert primary.serial("p.test") == 1
    verifier.say("0")
    primary.wait_serial("p.test", 2)


def test_files_are_not_verified_at_a_start(nsd, verifier):
    verifier.say("1")
    server = nsd(zones={"b.test": zone_text(4)},
                 extra=f"verify:\n\tenable: yes\n\tport: {free_port()}\n"
                       f"\tverifier: {verifier.path}\n")
    assert server.serial("b.test") == 4
    assert verifier.asked() == []


# ---- ends amid it ------------------------------------------------------------

def kill_role(server, role):
    """Main's own child: those who keep programs have the verifier's name."""
    name = f"nsd: {role}"[:15]
    for pid in pids_of_session(session_of(server.main_pid)):
        stat = read_proc(pid, "stat").rpartition(")")[2].split()
        if (read_proc(pid, "comm").strip() == name
                and int(stat[1]) == server.main_pid):
            os.kill(pid, signal.SIGKILL)
            return
    raise AssertionError(f"there is no {name}")


@pytest.mark.parametrize("role", ("loader", "verifier", "verify server"))
def test_a_role_that_is_killed_amid_it(server, verifier, role):
    """The candidate is withdrawn by the next loader, who is asked again; the
    next verifier is asked again."""
    assert server.update(whole(NAME, 1))[0] == "ok"
    verifier.say("wait")
    server.send_update(step(1, 2, "add new 60 A 192.0.2.7"))
    verifier.wait_asked(2)
    kill_role(server, role)
    if role != "verify server":
        verifier.wait_asked(3)
    assert server.serial(NAME) == 1
    assert server.update(whole("other", 5))[0] == "ok"
    verifier.say("0")
    assert server.read_update()[0] == "ok"
    assert server.serial(NAME) == 2


def test_candidates_that_verifiers_die_of_are_refused(server, verifier):
    assert server.update(whole(NAME, 1))[0] == "ok"
    verifier.say("wait")
    server.send_update(whole(NAME, 2))
    for turn in range(3):
        verifier.wait_asked(2 + turn)
        kill_role(server, "verifier")
    assert server.read_update()[0] == REFUSED
    assert server.serial(NAME) == 1
    server.wait_log("verifier processes have died")


@pytest.mark.parametrize("database", (False, True))
def test_a_stop_amid_it(nsd, verifier, database, tmp_path):
    options = {"database": str(tmp_path / "db")} if database else {}
    server = make_server(nsd, verifier, **options)
    assert server.update(whole(NAME, 1))[0] == "ok"
    verifier.say("wait")
    server.send_update(whole(NAME, 2))
    verifier.wait_asked(2)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 20
    assert "stays open" not in server.read_log()


PATTERN = ('pattern:\n\tname: p\n\tzonefile: "%s.zone"\n'
           "\tverify-zone: yes\n")


def test_a_zone_that_waits_can_go(make_server_only, verifier):
    """addzone and delzone do not wait for a verifier that never ends."""
    server = make_server_only
    verifier.say("wait")
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    verifier.wait_asked(1)
    assert server.rcode("a.test", "SOA") == "SERVFAIL"
    assert control.ask(server, "addzone", "c.test", "p") == (0, "ok\n")
    assert control.ask(server, "reload", "a.test") == (0, "ok\n")
    # The first waits for its verdict, the second for its turn.
    assert control.ask(server, "delzone", "c.test") == (0, "ok\n")
    assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
    assert server.rcode("a.test", "SOA") == "REFUSED"
    verifier.say("0")
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    server.wait_serial("a.test", 3)


@pytest.fixture
def make_server_only(make_server, verifier):
    made = make_server(
        zones={"b.test": zone_text(1)}, options={"server-count": 1},
        extra=f"verify:\n\tenable: yes\n\tport: {free_port()}\n"
              f"\tverifier: {verifier.path}\n"
              "\tverify-zones: no\n" + PATTERN)
    for name in "a.test", "c.test":
        made.zone_file(name).write_text(zone_text(3))
    return control.config(made).start()


@pytest.mark.parametrize("with_zone", (False, True))
def test_a_reconfig_ends_the_wait(make_server_only, verifier, with_zone):
    """The zone is gone, or needs no verifier any more."""
    server = make_server_only
    verifier.say("wait")
    server.zone_file("c.test").write_text(zone_text(3))
    extra = server.extra
    server.extra = extra + "zone:\n\tname: c.test\n\tinclude-pattern: p\n"
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    verifier.wait_asked(1)
    assert server.rcode("c.test", "SOA") == "SERVFAIL"
    server.extra = extra
    if with_zone:
        server.extra += ('zone:\n\tname: c.test\n\tzonefile: "%s.zone"\n'
                         "\tverify-zone: no\n")
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    if with_zone:
        server.wait_serial("c.test", 3)
    else:
        wait_for("the zone to go", lambda:
                 server.rcode("c.test", "SOA") == "REFUSED")


def test_a_reconfig_amid_it(make_server_only, verifier):
    server = make_server_only
    verifier.say("wait")
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    verifier.wait_asked(1)
    control.apply(server, tcp_timeout=77)
    assert server.serial("b.test") == 1
    verifier.say("0")
    server.wait_serial("a.test", 3)
