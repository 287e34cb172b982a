"""A reconfig while the server is at work: who reads the store or writes it goes
on (doc/decisions/0159)."""
import os
import signal

import pytest

import control
from harness import Held, wait_for, zone_text

KEPT = ("loader", "server 1", "server 2")
KEY = "key:\n\tname: k\n\talgorithm: sha256\n\tsecret: K2tf3TRjvQkVCmJF3/Z9vA==\n"


@pytest.fixture
def server(make_server):
    made = make_server(
        zones={"example": zone_text(1), "gone.test": zone_text(1)},
        options={"server-count": 2, "identity": '"one"',
                 "max-records-per-type": 0})
    return control.config(made).start()


def pids(server):
    return {name: server.role(name) for name in KEPT}


def reconfig(server):
    server.write_config()
    return control.ask(server, "reconfig")[1].splitlines()[-1]


def test_loader_and_workers_stay(server):
    before = pids(server)
    server.extra += KEY + (
        "pattern:\n\tname: p\n\tzonefile: \"%s.zone\"\n"
        "\tallow-query: 0.0.0.0/0 NOKEY\n"
        "zone:\n\tname: of.pattern\n\tinclude-pattern: p\n"
        "zone:\n\tname: keyed.test\n\tzonefile: of.pattern.zone\n"
        "\tprovide-xfr: 127.0.0.1 k\n")
    server.zone_file("of.pattern").write_text(zone_text(7))
    server.zones["new.test"] = zone_text(5)
    server.write_zone("new.test", zone_text(5))
    del server.zones["gone.test"]
    server.options["identity"] = '"two"'
    assert reconfig(server) == "ok"
    assert pids(server) == before
    assert server.identity() == "two"
    assert server.serial("new.test") == 5
    assert server.serial("of.pattern") == server.serial("keyed.test") == 7
    assert server.rcode("www.gone.test", "A") == "REFUSED"
    # What stays is changed, and what has gone comes back with another file.
    server.extra = server.extra.replace("0.0.0.0/0 NOKEY", "192.0.2.1 k")
    server.zones["gone.test"] = zone_text(9)
    server.write_zone("gone.test", zone_text(9))
    assert reconfig(server) == "ok"
    assert server.rcode("www.of.pattern", "A") == "REFUSED"
    assert server.rcode("www.keyed.test", "A") == "NOERROR"
    assert server.serial("gone.test") == 9
    assert pids(server) == before


def test_zones_that_were_added_stay(server):
    before = pids(server)
    server.extra += 'pattern:\n\tname: p\n\tzonefile: "%s.zone"\n'
    assert reconfig(server) == "ok"
    for i in range(3):
        server.zone_file(f"z{i}").write_text(zone_text(i + 1))
        assert control.ask(server, "addzone", f"z{i}", "p") == (0, "ok\n")
    # One is one of nsd.conf from now on, with another file.
    server.zone_file("other").write_text(zone_text(8))
    server.extra += "zone:\n\tname: z1\n\tzonefile: other.zone\n"
    assert reconfig(server) == "ok"
    assert [server.serial(f"z{i}") for i in range(3)] == [1, 8, 3]
    assert control.ask(server, "delzone", "z0") == (0, "ok\n")
    assert server.rcode("www.z0", "A") == "REFUSED"
    assert control.ask(server, "delzone", "z1")[0] == 1
    assert pids(server) == before


def slow_text(serial, more):
    return zone_text(serial) + f"$INCLUDE {more.path}\n"


@pytest.fixture
def reading(server):
    """What the file of a zone includes."""
    more = Held(server.directory / "more.inc")
    more.let_go()
    server.zones["slow.test"] = slow_text(1, more)
    server.write_zone("slow.test", server.zones["slow.test"])
    assert reconfig(server) == "ok"
    return more


def begin_reading(server, reading):
    """A thread has opened the zone file, and waits for what that includes.
    Returns the client."""
    reading.hold()
    server.write_zone("slow.test", slow_text(2, reading))
    client = control.begin(server, "reload", "slow.test")
    wait_for("a thread that reads", reading.is_waited_for)
    return client


def test_file_in_reading_is_read_once(server, reading):
    before = pids(server)
    first = begin_reading(server, reading)
    server.options["identity"] = '"two"'
    server.write_config()
    second = control.begin(server, "reconfig")
    # It counts though a file is being read.
    wait_for("another identity", lambda: server.identity() == "two")
    with reading.opened():
        reading.write("www TXT \"finished\"\n")
    assert second.communicate(timeout=120)[0].splitlines()[-1] == "ok"
    first.communicate(timeout=120)
    assert server.answer("www.slow.test", "TXT")
    assert pids(server) == before
    assert server.read_log().count("zone slow.test read with success") == 2


def test_zone_that_goes_while_it_is_read(server, reading):
    before = pids(server)
    first = begin_reading(server, reading)
    text = server.zones.pop("slow.test")
    server.write_config()
    second = control.begin(server, "reconfig")
    wait_for("another configuration", lambda: server.read_log().count(
        "1 gone, 0 others") == 1)
    with reading.opened():
        reading.write("www TXT \"finished\"\n")
    for client in (first, second):
        client.communicate(timeout=120)
    wait_for("a zone that has gone", lambda: server.rcode(
        "www.slow.test", "A") == "REFUSED")
    # It may come again.
    server.zones["slow.test"] = text
    assert reconfig(server) == "ok"
    assert server.answer("www.slow.test", "TXT")
    assert pids(server) == before


def test_zone_that_changes_while_it_is_read(server, reading):
    """Its answers are refused at once, and its other file is read then."""
    before = pids(server)
    first = begin_reading(server, reading)
    server.write_zone("example", zone_text(4))
    server.extra += ("zone:\n\tname: slow.test\n\tzonefile: example.zone\n"
                     "\tallow-query: 192.0.2.1 NOKEY\n")
    del server.zones["slow.test"]
    server.write_config()
    second = control.begin(server, "reconfig")
    wait_for("another configuration", lambda: server.read_log().count(
        "0 gone, 1 others") == 1)
    with reading.opened():
        reading.write("www TXT \"finished\"\n")
    for client in (first, second):
        client.communicate(timeout=120)
    assert server.rcode("slow.test", "SOA") == "REFUSED"
    server.extra = server.extra.replace("192.0.2.1 NOKEY", "127.0.0.1 NOKEY")
    assert reconfig(server) == "ok"
    wait_for("another file", lambda: server.serial("slow.test") == 4)
    assert pids(server) == before


def test_loader_dies_before_it_has_taken_it(server):
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    server.options["identity"] = '"two"'
    server.write_config()
    client = control.begin(server, "reconfig")
    server.wait_log("reconfig: 1 options")
    os.kill(loader, signal.SIGKILL)
    assert client.communicate(timeout=120)[0].splitlines()[-1] == "ok"
    assert server.identity() == "two"
    server.wait_log(r"loader \(pid \d+\) was killed by signal 9")
