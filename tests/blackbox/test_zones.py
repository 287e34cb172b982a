"""Zones that come and go while the server runs, by their names and patterns."""

import os
import pathlib
import random
import re
import signal

import pytest

from harness import Load, at_once, wait_for, zone_text
from test_loader_dies import settled_line

PATTERN = 'pattern:\n\tname: p\n\tzonefile: "%s.zone"\n'
COUNT = 2000


def change(server, line):
    """The result of addzone or delzone: (outcome, whether the file is
    served)."""
    server.process.stdin.write(line.encode() + b"\n")
    return read_change(server)


def read_change(server):
    text, _, _ = server.read_update()
    found = re.match(r"(.*) loaded (\d) usec \d+$", text)
    return (found[1], found[2] == "1") if found else (text, False)


@pytest.fixture
def server(nsd):
    return nsd(zones={"example": zone_text(1), "b.test": zone_text(1)},
               options={"server-count": 2}, extra=PATTERN, updates=True)


def put_file(server, name, text):
    server.zone_file(name).write_text(text)


def test_zone_is_served_at_once_and_gone_at_once(server):
    put_file(server, "c.test", zone_text(5, "192.0.2.5"))
    load = Load(server)
    for _ in range(20):
        assert server.rcode("www.c.test", "A") == "REFUSED"
        assert change(server, "addzone c.test p") == ("ok", True)
        for _ in range(8):
            assert server.answer("www.c.test", "A") == ["192.0.2.5"]
        load.step(0.005)
        assert change(server, "delzone C.test.") == ("ok", False)
        for _ in range(8):
            assert server.rcode("www.c.test", "A") == "REFUSED"
    load.finish()
    assert load.lost == 0
    assert server.serial("example") == 1


def test_what_cannot_be_done_is_said(server):
    put_file(server, "broken", "@ IN SOA too short\n")
    assert change(server, "addzone example p")[0] == "zone rules broken"
    assert change(server, "addzone c.test q")[0] == "not found"
    assert change(server, "addzone c..test p")[0] == "syntax error"
    assert change(server, "delzone c.test")[0] == "not found"
    assert change(server, "addzone " + "a" * 2100 + " p")[0] == "too long"
    # Configured, and not loaded.
    assert change(server, "addzone nofile p") == ("ok", False)
    assert change(server, "addzone broken p") == ("ok", False)
    for name in "nofile", "broken":
        assert server.rcode(f"www.{name}", "A") == "SERVFAIL"
    # The files of these zones are read like all others.
    put_file(server, "nofile", zone_text(7))
    put_file(server, "broken", zone_text(8))
    server.reload()
    server.wait_serial("nofile", 7)
    server.wait_serial("broken", 8)
    assert server.serial("example") == 1


def test_zones_of_nsd_conf_stay(server):
    assert change(server, "delzone b.test")[0] == "not allowed"
    server.write_zone("b.test", zone_text(2))
    server.reload()
    server.wait_serial("b.test", 2)


def test_change_of_a_zone_follows_it(server):
    put_file(server, "c.test", zone_text(5))
    assert change(server, "addzone c.test p") == ("ok", True)
    assert server.update("zone c.test.\nadd w 60 TXT x") == ("ok", 1, 0)
    assert change(server, "delzone c.test")[0] == "ok"
    assert server.update("zone c.test.\nadd w 60 TXT x")[0] == "not found"


def test_next_loader_has_the_same_zones(server):
    put_file(server, "c.test", zone_text(5))
    put_file(server, "d.test", zone_text(5))
    for line in "addzone c.test p", "addzone d.test p", "delzone d.test":
        assert change(server, line)[0] == "ok"
    for _ in range(2):
        known = len(server.read_log())
        server.wait_replaced("loader", server.kill("loader"))
        server.wait_log("3 zones: 0 read, 0 failed", known)
        assert server.serial("c.test") == 5
        assert server.serial("example") == server.serial("b.test") == 1
        assert server.rcode("www.d.test", "A") == "REFUSED"
    assert change(server, "addzone d.test p") == ("ok", True)
    assert change(server, "delzone c.test")[0] == "ok"
    assert server.serial("d.test") == 5
    assert server.rcode("www.c.test", "A") == "REFUSED"


def test_loader_dies_between_zones(make_server):
    """Zones that were answered as added are there; others may be."""
    at_once(kill_between_zones, [make_server(
        f"nsd{i}", zones={"example": zone_text(1)}, extra=PATTERN,
        updates=True, options={"server-count": 2}).start()
        for i in range(2)])


def kill_between_zones(server, number):
    rng = random.Random(3 + number)
    load = Load(server)
    put_file(server, "c.test", zone_text(5))
    there = False
    for _ in range(4):
        loader = server.role("loader")
        for _ in range(rng.randrange(1, 30)):
            outcome, _ = change(server, "delzone c.test" if there
                                else "addzone c.test p")
            assert outcome == "ok"
            there = not there
        server.process.stdin.write(b"delzone c.test\n" if there
                                   else b"addzone c.test p\n")
        load.step(rng.random() * 0.0005)
        os.kill(loader, signal.SIGKILL)
        # Done by either loader, once.
        assert read_change(server)[0] == "ok"
        wait_for("another loader", lambda o=loader: load.step(0.02)
                 or server.roles().get("loader", o) != o)
        there = not there
        # Until it has listed the zones the predecessor's are served.
        wait_for("what was answered", lambda: (server.rcode(
            "www.c.test", "A") == "NOERROR") == there)
    load.finish()
    assert load.lost == 0
    assert "damaged" not in server.read_log()


def write_many(server, count):
    text = zone_text(1)
    for i in range(count):
        put_file(server, f"n{i}.many", text)
    (server.directory / "zone.list").write_text(
        "# NSD zone list\n# name pattern\n"
        + "".join(f"add n{i}.many p\n" for i in range(count)))


def test_many_zones_while_all_are_read(make_server):
    """Zones are added and removed amid the first pass and reloads, under
    queries; in the end the set is as asked for."""
    server = make_server(zones={"example": zone_text(1)}, updates=True,
                         options={"server-count": 2, "verbosity": 0})
    server.extra = PATTERN
    write_many(server, COUNT)
    for i in range(40):
        put_file(server, f"new{i}.test", zone_text(i + 1))
    server.write_config()
    server.start(ready=False)
    wait_for("main", lambda: server.roles().get("loader"))
    rng = random.Random(11)
    load = None
    gone, new = set(), set()
    for n in range(300):
        if n == 40:
            server.wait_serving()
            load = Load(server)
        if n % 60 == 59:
            for i in rng.sample(range(COUNT), 50):
                path = server.zone_file(f"n{i}.many")
                path.write_text(zone_text(1, f"192.0.2.{n % 250}"))
            server.signal(signal.SIGHUP)
        if n % 3 == 0:
            i = rng.randrange(COUNT)
            line = f"delzone n{i}.many"
            if i in gone:
                gone.remove(i)
                line = f"addzone n{i}.many p"
            else:
                gone.add(i)
        else:
            i = rng.randrange(40)
            if i in new:
                new.remove(i)
                line = f"delzone new{i}.test"
            else:
                new.add(i)
                line = f"addzone new{i}.test p"
        assert change(server, line)[0] == "ok", line
        if load is not None:
            load.step(0.0005)
    load.finish()
    assert load.lost == 0
    for i in range(40):
        want = "NOERROR" if i in new else "REFUSED"
        assert server.rcode(f"www.new{i}.test", "A") == want
    for i in sorted(gone) + rng.sample(range(COUNT), 100):
        want = "REFUSED" if i in gone else "NOERROR"
        wait_for(f"n{i}", lambda i=i, want=want:
                 server.rcode(f"www.n{i}.many", "A") == want)
    assert "damaged" not in server.read_log()


def test_zones_leave_no_memory(make_server):
    server = make_server(zones={"example": zone_text(1)}, updates=True)
    server.extra = PATTERN
    for i in range(100):
        put_file(server, f"n{i}.test", zone_text(i + 1))
    server.write_config()
    server.start()
    before = None
    for _ in range(6):
        for i in range(100):
            assert change(server, f"addzone n{i}.test p") == ("ok", True)
        for i in range(100):
            assert change(server, f"delzone n{i}.test")[0] == "ok"
        if before is None:
            before = settled_line(server)
    assert settled_line(server)["live"] == before["live"]
    wait_for("memory to go back", lambda: settled_line(server)["mapped"]
             <= before["mapped"] + (1 << 20))


def test_large_file_is_read_aside(server):
    """The answer does not wait for it; it is served once it is read."""
    lines = [zone_text(1)] + [f"n{i} IN TXT \"{'x' * 200}\"\n"
                              for i in range(40000)]
    put_file(server, "large.test", "".join(lines))
    assert pathlib.Path(server.zone_file("large.test")).stat().st_size \
        > 8 << 20
    assert change(server, "addzone large.test p") == ("ok", False)
    assert change(server, "delzone large.test")[0] == "ok"
    assert server.rcode("large.test", "SOA") == "REFUSED"
    assert change(server, "addzone large.test p") == ("ok", False)
    server.wait_serial("large.test", 1)
    assert server.answer("n39999.large.test", "TXT") == [f'"{"x" * 200}"']
    # A reload asked for meanwhile, or behind it, is done.
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)
