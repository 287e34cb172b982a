"""Signals: reload, log rotation, statistics; also many of them at once."""

import contextlib
import os
import re
import signal
import socket
import time

import pytest

import control
import harness
from harness import wait_for, zone_text


def test_hup_reads_changed_zone_files_only(nsd):
    server = nsd(zones={"a.test": zone_text(1), "b.test": zone_text(1)})
    server.wait_log("zone [ab].test read with success", count=2)
    known = len(server.read_log())
    server.write_zone("a.test", zone_text(2, "192.0.2.2"))
    server.reload()
    server.wait_log("zone a.test serial 1 is updated to 2", known)
    assert server.answer("www.a.test", "A") == ["192.0.2.2"]
    assert server.answer("www.b.test", "A") == ["192.0.2.1"]
    assert "zone b.test read" not in server.read_log()[known:]


def test_hup_with_lower_serial_says_so(nsd):
    server = nsd(zones={"a.test": zone_text(5)})
    server.write_zone("a.test", zone_text(4))
    server.reload()
    server.wait_log("zone a.test serial is updated to 4")
    assert server.serial("a.test") == 4


def test_hup_with_a_broken_file_keeps_the_old_version(nsd):
    server = nsd(zones={"a.test": zone_text(1)})
    server.write_zone("a.test", zone_text(2) + "\nboo IN A 300.0.0.1\n")
    server.reload()
    server.wait_log(r"error: a\.test\.zone:9: ")
    server.wait_log(r"error: zone a\.test file a\.test\.zone "
                    r"read with 1 errors")
    assert server.serial("a.test") == 1
    server.write_zone("a.test", zone_text(3))
    server.reload()
    server.wait_log("zone a.test serial 1 is updated to 3")
    assert server.serial("a.test") == 3


def test_hup_with_a_removed_file_keeps_the_old_version(nsd):
    server = nsd(zones={"a.test": zone_text(1)})
    server.zone_file("a.test").unlink()
    server.reload()
    server.wait_log(r"error: zonefile a\.test\.zone does not exist")
    assert server.serial("a.test") == 1


def test_hup_finds_a_file_that_was_missing(nsd):
    server = nsd(zones={"a.test": zone_text(1), "late.test": None})
    assert server.rcode("late.test", "SOA") == "SERVFAIL"
    server.write_zone("late.test", zone_text(7))
    server.reload()
    server.wait_log("zone late.test serial 0 is updated to 7")
    assert server.serial("late.test") == 7


def test_hup_sees_a_change_of_an_included_file(nsd):
    server = nsd(zones={"inc.test": zone_text(1)})
    include = server.directory / "more.inc"
    include.write_text("more IN A 192.0.2.8\n")
    server.write_zone("inc.test", zone_text(2) + "$INCLUDE more.inc\n")
    server.reload()
    server.wait_serial("inc.test", 2)
    assert server.answer("more.inc.test", "A") == ["192.0.2.8"]
    fresh = include.with_suffix(".new")
    fresh.write_text("more IN A 192.0.2.9\n")
    fresh.rename(include)
    server.reload()
    wait_for("the new include", lambda: server.answer(
        "more.inc.test", "A") == ["192.0.2.9"])


def test_hup_with_the_same_size_and_second(nsd):
    """faults 49: another file of the same length, moments later."""
    server = nsd(zones={"a.test": zone_text(1, "192.0.2.1")})
    for last in range(2, 6):
        server.write_zone("a.test", zone_text(last, f"192.0.2.{last}"))
        server.reload()
        server.wait_serial("a.test", last)


def test_file_replaced_while_it_is_read_is_read_again(make_server):
    """faults 49: half of one version and half of the other is not served."""
    server = make_server(zones={"torn.test": zone_text(1)
                                + "$INCLUDE more.inc\n"})
    more = harness.Held(server.directory / "more.inc")
    server.start(ready=False)
    with more.opened() as f:  # the loader is in the middle now
        server.write_zone("torn.test", zone_text(2))
        f.write("more IN A 192.0.2.7\n")
    server.wait_log("zone torn.test read with success")
    server.wait_serial("torn.test", 2)
    assert server.rcode("more.torn.test", "A") == "NXDOMAIN"
    assert server.read_log().count("zone torn.test read with success") == 1


def test_file_replaced_during_a_reload_is_read_again(nsd):
    server = nsd(zones={"torn.test": zone_text(1)})
    more = harness.Held(server.directory / "more.inc")
    server.write_zone("torn.test", zone_text(2) + "$INCLUDE more.inc\n")
    server.reload()
    with more.opened() as f:
        server.write_zone("torn.test", zone_text(3))
        f.write("more IN A 192.0.2.7\n")
    server.wait_log("zone torn.test serial 1 is updated to 3")
    assert server.rcode("more.torn.test", "A") == "NXDOMAIN"


def test_change_during_a_reload_joins_the_next(nsd):
    """faults 72"""
    server = nsd(zones={"a.test": zone_text(1), "slow.test": zone_text(1)})
    more = harness.Held(server.directory / "more.inc")
    server.write_zone("slow.test", zone_text(2) + "$INCLUDE more.inc\n")
    server.reload()
    with more.opened() as f:  # the reload cannot end before this does
        for _ in range(20):    # time to have looked at the other zone
            server.query("a.test", "SOA")
        server.write_zone("slow.test", zone_text(3))
        server.write_zone("a.test", zone_text(2))
        server.reload()
        f.write("more IN A 192.0.2.7\n")
    server.wait_serial("a.test", 2)
    server.wait_serial("slow.test", 3)


def test_hup_without_zonefiles_check_reads_no_zones(nsd):
    server = nsd(zones={"a.test": zone_text(1)},
                 options={"zonefiles-check": "no"})
    server.write_zone("a.test", zone_text(2))
    server.reload()
    # Signals that would wait for a pass over the zones do not wait: another
    # reload, and statistics behind it, and still no new zone.
    server.reload()
    server.signal(signal.SIGUSR1)
    server.wait_log("XSTATS")
    assert server.serial("a.test") == 1


def test_hup_opens_the_log_anew_in_every_role(nsd):
    server = nsd(zones={"a.test": zone_text(1)}, options={"server-count": 2})
    old = server.log.with_suffix(".1")
    server.log.rename(old)
    server.signal(signal.SIGHUP)
    wait_for("the new log", server.log.exists)
    server.write_zone("a.test", zone_text(2))
    server.signal(signal.SIGHUP)
    server.wait_log("zone a.test serial 1 is updated to 2")
    server.signal(signal.SIGUSR1)
    server.wait_log("XSTATS", count=2)
    text = old.read_text()
    assert text.rstrip().endswith("SIGHUP received, reloading...")

    def has_new_alone(pid):
        files = harness.open_files(pid).values()
        return str(server.log) in files and str(old) not in files

    for name, pid in server.roles().items():
        wait_for(f"the new log in {name}", lambda p=pid: has_new_alone(p))


def test_reload_under_load_loses_nothing(nsd):
    server = nsd(zones={"example": zone_text(1)}, options={"server-count": 2})
    load = harness.Load(server)
    for serial in range(2, 12):
        server.write_zone("example", zone_text(serial))
        server.signal(signal.SIGHUP)
        load.step(0.1)
    server.wait_serial("example", 11)
    load.step_answers(100)
    load.finish()
    assert load.lost == 0


def test_storm_of_signals(nsd):
    """faults 72"""
    server = nsd(zones={"example": zone_text(1)}, options={"server-count": 2})
    main = server.main_pid
    for i in range(300):
        os.kill(main, (signal.SIGHUP, signal.SIGUSR1, signal.SIGCHLD,
                       signal.SIGPIPE, signal.SIGALRM, signal.SIGILL)[i % 6])
    server.write_zone("example", zone_text(2))
    server.signal(signal.SIGHUP)
    server.wait_serial("example", 2)
    roles = set(server.roles())
    assert roles == {"main", "loader", "server 1", "server 2", "xfrd"}
    assert "replacing" not in server.read_log()
    assert server.stop() == 0


def test_signals_of_a_terminal_reach_main_only(nsd):
    """Ctrl-C and a hang-up go to all processes of the group."""
    server = nsd(zones={"example": zone_text(1)})
    roles = server.roles()
    for name, pid in roles.items():
        if name != "main":
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1,
                           signal.SIGPIPE):
                os.kill(pid, number)
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.roles() == roles


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGILL])
def test_statistics_on_a_signal(nsd, number):
    server = nsd(zones={"example": zone_text(1)})
    known = len(server.read_log())
    before = time.time()
    for _ in range(3):
        server.query("www.example", "A")
    server.query("www.example", "AAAA", tcp=True)
    server.query("nx.example", "TXT")
    server.query("www.example", "ANY")
    server.query("www.example", "CAA")
    server.signal(number)
    line = server.wait_log(r"info: NSTATS (\d+) (\d+)(.*)", known)
    assert before - 1 <= int(line[1]) <= time.time()
    assert int(line[2]) <= int(line[1])
    types = dict(f.split("=") for f in line[3].split())
    assert types["A"] == "3"
    assert types["AAAA"] == "1"
    # The names are those of NSD; types above 255 are not shown.
    assert types["TYPE255"] == "1"
    assert not {"ANY", "CAA", "URI"} & types.keys()
    line = server.wait_log(r"info: XSTATS (\d+) (\d+) (.*)", known)
    fields = [f.split("=") for f in line[3].split()]
    assert " ".join(n for n, _ in fields) == (
        "RR RNXD RFwdR RDupR RFail RFErr RErr RAXFR RIXFR RLame ROpts SSysQ "
        "SAns SFwdQ SDupQ SErr RQ RIQ RFwdQ RDupQ RTCP SFwdR SFail SFErr "
        "SNaAns SNXD RUQ RURQ RUXFR RUUpd RLost")
    values = {n: int(v) for n, v in fields}
    assert values["SNXD"] == 1
    assert values["RQ"] >= 5


def test_refused_connections_are_no_queries(make_server):
    """A connection that is turned away is an error of receiving: there are as
    many answers as queries."""
    server = control.config(make_server(
        zones={"example": zone_text(1)},
        options={"tcp-count": 1, "tcp-reject-overflow": "yes"})).start()
    with contextlib.ExitStack() as connections:
        def statistics():
            for _ in range(2):
                connections.enter_context(socket.create_connection(
                    (server.address, server.port), harness.DEADLINE))
            text = control.ask(server, "stats_noreset")[1]
            return "num.rxerr=0\n" not in text and text

        # One of two has the only place.
        text = wait_for("a connection that is refused", statistics)
        assert "num.dropped=0\n" in text
    known = len(server.read_log())
    server.signal(signal.SIGUSR1)
    line = server.wait_log(r"info: XSTATS .* RErr=(\d+) .* SAns=(\d+) "
                           r".* RQ=(\d+) ", known)
    assert int(line[1]) > 0
    assert line[2] == line[3] != "0"


def test_statistics_of_a_period(nsd):
    server = nsd(zones={"example": zone_text(1)}, options={"statistics": 1})
    server.wait_log(r"XSTATS", count=2)
    assert "statistics has no effect" not in server.read_log()


def test_counters_survive_their_worker(nsd):
    server = nsd(zones={"example": zone_text(1)})
    for _ in range(5):
        server.query("www.example", "A")
    pid = server.kill("server 1")
    server.wait_replaced("server 1", pid)
    server.wait_answer()
    server.signal(signal.SIGUSR1)
    line = server.wait_log(r"NSTATS .*")
    assert int(re.search(r" A=(\d+)", line[0])[1]) >= 5
