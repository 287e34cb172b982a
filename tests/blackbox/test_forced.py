"""Transfers that are forced bring what is not newer; it outlasts the zone file,
which may have another version with the same serial."""
import functools
import os
import signal
import time

import pytest

from control import ask, begin, config
from harness import DEADLINE, is_alive, wait_for, zone_text
from written import (Primary, read, secondary, start_controlled,
                     wait_file)


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


@pytest.fixture
def controlled(make_server, primary):
    return functools.partial(start_controlled, make_server, primary)


def kill_all(server):
    pids = list(server.roles().values())
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    server.process.wait()
    wait_for("the end of all", lambda: not any(map(is_alive, pids)))


def served(server):
    return server.serial("s.test"), server.answer("www.s.test", "A")


def force(server, primary, serial):
    """The zone file has serial 50 of before then."""
    primary.serial = 50
    server.wait_serial("s.test", 50)
    assert ask(server, "write", "s.test") == (0, "ok\n")
    assert "192.0.2.9" in wait_file(server.directory / "s.test.zone", 50)
    primary.serial = serial
    primary.records = ["www A 192.0.2.7"]
    assert ask(server, "force_transfer", "s.test")[0] == 0
    wait_for("the forced version",
             lambda: served(server) == (serial, ["192.0.2.7"]))


@pytest.fixture(params=[20, 50])
def forced(request, make_server, primary):
    server = make_server(
        zones={"example": zone_text()}, extra=secondary(primary),
        options={"verbosity": 2, "zonefiles-write": 0})
    config(server).start()
    force(server, primary, request.param)
    server.forced = request.param, ["192.0.2.7"]
    return server


def test_reload_keeps_what_was_forced(forced):
    """The file has not changed since, whatever its serial is."""
    assert ask(forced, "reload", "s.test") == (0, "ok\n")
    forced.reload()
    assert served(forced) == forced.forced
    forced.write_zone("s.test", zone_text(51))
    forced.zones.pop("s.test")
    forced.reload()
    forced.wait_serial("s.test", 51)


@pytest.mark.parametrize("end", [kill_all, lambda server: server.stop()])
def test_start_keeps_what_was_forced(forced, primary, end):
    primary.__exit__()
    end(forced)
    forced.start()
    forced.wait_serial("s.test", forced.forced[0])
    assert served(forced) == forced.forced
    forced.reload()
    assert served(forced) == forced.forced
    end(forced)
    # A newer file of the operator is served.
    forced.write_zone("s.test", zone_text(51))
    forced.zones.pop("s.test")
    forced.start()
    forced.wait_serial("s.test", 51)


def check_forced(server, primary):
    """A forced version that was served is served after a crash."""
    version = primary.serial, ["192.0.2.7"]
    wait_for("the forced version", lambda: served(server) == version)
    primary.__exit__()
    kill_all(server)
    server.start()
    server.wait_serial("s.test", primary.serial)
    assert served(server) == version


def test_what_is_written_before_a_forced_version_is_not_that(controlled,
                                                             primary):
    """Two versions have the same serial, and the loader is slow."""
    server = controlled()
    server.wait_serial("s.test", 1)
    primary.records = ["www A 192.0.2.7"]
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    with begin(server, "force_transfer", "s.test") as waits:
        wait_for("it in the journal", lambda: any(
            bytes([192, 0, 2, 7]) in path.read_bytes() for path in
            (server.directory / "xfrd.state.journal").glob("*.seg")))
        for _ in range(10):
            assert ask(server, "write") == (0, "ok\n")
            time.sleep(0.02)
        os.kill(loader, signal.SIGCONT)
        assert waits.wait(DEADLINE) == 0
    check_forced(server, primary)


def test_loader_that_dies_before_it_has_published_a_forced_version(
        controlled, primary):
    """A newer version is served then: the next loader does not take the
    transfer for one that was published before."""
    primary.serial = 50
    server = controlled()
    server.wait_serial("s.test", 50)
    primary.serial = 20
    primary.records = ["www A 192.0.2.7"]
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    with begin(server, "force_transfer", "s.test") as waits:
        wait_for("it in the journal", lambda: any(
            bytes([192, 0, 2, 7]) in path.read_bytes() for path in
            (server.directory / "xfrd.state.journal").glob("*.seg")))
        for _ in range(10):
            assert ask(server, "zonestatus", "s.test")[0] == 0
            time.sleep(0.02)
        os.kill(loader, signal.SIGKILL)
        assert waits.wait(DEADLINE) == 0
    check_forced(server, primary)


def is_forced_amid_a_write(server, primary):
    """Forces a version while the file of the one before is being written.
    False: that was written too soon."""
    for name in "s.test", "t.test":
        server.wait_serial(name, primary.serial)
    # A first write, so that a writer runs.
    assert ask(server, "write", "t.test") == (0, "ok\n")
    writer = server.role("writer")
    new = server.directory / "s.test.zone~"
    with begin(server, "write", "s.test") as waits:
        while not new.exists() and waits.poll() is None:
            pass
        os.kill(writer, signal.SIGSTOP)
        in_time = new.exists()
        if in_time:
            primary.records = ["www A 192.0.2.7"]
            assert ask(server, "force_transfer", "s.test")[0] == 0
        os.kill(writer, signal.SIGCONT)
        assert waits.wait(DEADLINE) == 0
    return in_time


@pytest.mark.lasts(20)
def test_version_that_is_forced_amid_a_write_is_not_forgotten(controlled,
                                                              primary):
    """The file has the one before, of the same serial."""
    primary.records = [f"h{i} TXT {'x' * 200}" for i in range(8000)]
    server = controlled(zones=secondary(primary)
                        + secondary(primary, "t.test", "t.test.zone"))
    end = time.monotonic() + DEADLINE
    while not is_forced_amid_a_write(server, primary):
        # On a busy machine the write was over before it was seen.
        assert time.monotonic() < end
        primary.serial += 1
    assert "192.0.2.7" not in read(server.directory / "s.test.zone")
    check_forced(server, primary)


@pytest.mark.parametrize("later", [False, True])
def test_what_follows_a_forced_version_outlasts_the_file(primary, make_server,
                                                         later):
    """Whole zones come after it, or one that is forced, too."""
    server = make_server(
        zones={"example": zone_text()}, extra=secondary(primary),
        options={"verbosity": 2, "zonefiles-write": 0})
    config(server).start()
    force(server, primary, 20)
    primary.serial = 30
    server.wait_serial("s.test", 30)
    if later:
        primary.serial = 25
        assert ask(server, "force_transfer", "s.test")[0] == 0
    serial = primary.serial
    server.wait_serial("s.test", serial)
    primary.__exit__()
    kill_all(server)
    server.start()
    server.wait_serial("s.test", serial)
    kill_all(server)
    # A newer file of the operator is served.
    server.write_zone("s.test", zone_text(51))
    server.zones.pop("s.test")
    server.start()
    server.wait_serial("s.test", 51)
