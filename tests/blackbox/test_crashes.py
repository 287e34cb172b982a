"""Processes that crash because of what is in the store do so for ever, until
there is another one (doc/decisions/0150)."""

import contextlib
import os
import pathlib
import signal

import dns.exception
import pytest

import harness
from harness import wait_for, zone_text
from test_loader_dies import (ROOT, alter_store, memory_file,
                              wait_for_one_store)

FILLED = ("another zone store is filled from zone files, as readers of this one"
          " have crashed")
APEX_OF_NAMES = ([ROOT, 8, 8], 20)  # where the trie of a zone begins
SERIAL = ([ROOT, 8, 8], 4)


@pytest.fixture(params=["memory", "database"])
def server(nsd, directory, request):
    options = {"server-count": 2}
    if request.param == "database":
        options["database"] = f'"{directory}/zones.db"'
    return nsd(zones={"example": zone_text()}, options=options)


def store_of(server):
    if "database" in server.options:
        return pathlib.Path(server.options["database"].strip('"'))
    return memory_file(server, "nsd-store")


def crash(server, role):
    """Crashes a process, and waits until the next one serves."""
    known = len(server.read_log())
    pid = server.kill(role, signal.SIGSEGV)
    server.wait_log(rf"{role} \(pid {pid}\) was killed by signal 11", known)
    server.wait_replaced(role, pid)


def ask_in_vain(server):
    """Sends a query that may kill the worker that gets it."""
    with contextlib.suppress(dns.exception.DNSException, OSError):
        server.query("www.example", "A", timeout=0.2)


def wait_another_store(server):
    server.wait_log("zone example read with success", count=2)
    if "database" not in server.options:
        wait_for_one_store(server)
    server.wait_serving()
    for _ in range(40):
        assert server.answer("www.example", "A") == ["192.0.2.1"]


def test_store_that_readers_crash_of_is_left_behind(nsd):
    """A store whose damage only readers notice, by crashing, is left."""
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    alter_store(store_of(server), *APEX_OF_NAMES, 0x7fffff00)
    wait_for("another store", lambda: ask_in_vain(server)
             or FILLED in server.read_log())
    wait_another_store(server)
    known = len(server.read_log())
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)
    assert "crashed" not in server.read_log()[known:]


def test_second_crash_has_another_store_filled(server):
    """Two crashes are enough, whether or not the store is damaged."""
    alter_store(store_of(server), *SERIAL, 99)
    crash(server, "server 1")
    assert FILLED not in server.read_log()
    crash(server, "server 2")
    server.wait_log(FILLED)
    wait_another_store(server)
    assert "damaged" not in server.read_log()
    assert server.serial("example") == 1
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)


def test_stores_are_not_filled_again_and_again(server):
    """Later crashes do not have yet another store filled."""
    loader = server.role("loader")
    crash(server, "xfrd")
    crash(server, "server 1")
    server.wait_log(FILLED)
    server.wait_replaced("loader", loader)
    wait_another_store(server)
    loader = server.role("loader")
    for _ in range(4):
        crash(server, "server 2")
    server.wait_serving()
    assert server.role("loader") == loader
    assert server.read_log().count(FILLED) == 1
    assert server.read_log().count("zone example read with success") == 2


def test_store_stays_where_another_one_lacks_zones(server):
    """The served zone's file is broken by now."""
    server.write_zone("example", zone_text(2) + "x A 300.0.0.1\n")
    crash(server, "server 1")
    crash(server, "server 2")
    server.wait_log("not all zones could be read into the other zone store: the"
                    " one that is served stays")
    server.wait_log("the loader takes over")
    server.wait_serving()
    assert server.serial("example") == 1
    server.write_zone("example", zone_text(3))
    server.reload()
    server.wait_serial("example", 3)


def test_killed_readers_are_not_the_fault_of_the_store(nsd):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    loader = server.role("loader")
    for role in ("server 1", "server 2", "xfrd", "server 1"):
        server.wait_replaced(role, server.kill(role))
    server.wait_serving()
    assert server.role("loader") == loader
    assert "crashed" not in server.read_log()


def times_of(log, *texts):
    """The times of lines in the log, one after the other, in seconds."""
    found, at = [], 0
    for text in texts:
        at = log.index(text, at)
        line = log[log.rindex("\n", 0, at) + 1:at]
        hour, minute, second = line[line.index(" ") + 1:line.index("]")].split(
            ":")
        found.append(int(hour) * 3600 + int(minute) * 60 + float(second))
        at += len(text)
    return found


def test_damage_right_after_a_filling_is_left_soon(make_server):
    """Two crashes that it has nothing to do with came before it. Again where
    this machine had no processor for us."""
    for i in range(5):
        server = make_server(f"server{i}", zones={"example": zone_text()},
                             options={"server-count": 2}).start()
        crash(server, "xfrd")
        crash(server, "server 1")
        wait_another_store(server)
        alter_store(store_of(server), *APEX_OF_NAMES, 0x7fffff00)
        wait_for("another store", lambda server=server:
                 ask_in_vain(server)
                 or server.read_log().count(FILLED) == 2)
        server.wait_log("zone example read with success", count=3)
        first, second = times_of(server.read_log(), FILLED, FILLED)
        if (second - first) % 86400 < 10:
            return
        server.stop()
    raise AssertionError("no other store comes soon")
