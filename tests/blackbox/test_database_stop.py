"""`database:` at a stop: the file is closed by a loader, whatever else happens
at that moment."""

import os
import re
import signal
import time

import harness

import pytest
from harness import wait_for, zone_text
from test_database import (  # the first two are fixtures
    check, damage, database, overwrite_spans, restart, server, wait_left)

pytestmark = pytest.mark.plain


def stop_with_a_held_loader(server):
    """Tells all to end; the loader, which is returned, has not yet."""
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    server.signal(signal.SIGTERM)
    wait_for("the end of the others", lambda: set(server.roles())
             == {"main", "loader"})
    return loader


def pending_signals(pid):
    return int(re.search(r"^ShdPnd:\s*(\w+)", harness.read_proc(
        pid, "status"), re.M)[1], 16)


def test_stop_of_a_loader_that_does_not_read_is_clean(server):
    """The loader's channel is full, and the loader goes on later."""
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    for _ in range(600):  # twice what a channel holds
        server.signal(signal.SIGUSR1)
        while pending_signals(server.main_pid):
            pass
    server.signal(signal.SIGTERM)
    wait_for("the end of the others", lambda: set(server.roles())
             == {"main", "loader"})
    assert harness.process_state(loader) == "T"
    os.kill(loader, signal.SIGCONT)
    assert server.process.wait(harness.DEADLINE) == 0
    log = restart(server, stop=False)
    assert "as it was left by a clean stop" in log
    check(server)


def test_loader_alone_does_not_close_what_others_read(server):
    """SIGTERM to it, and not to the server: another one takes over."""
    known = len(server.read_log())
    loader = server.role("loader")
    os.kill(loader, signal.SIGTERM)
    server.wait_replaced("loader", loader)
    server.wait_log("2 zones: 0 read, 0 failed", known)
    log = server.read_log()[known:]
    assert "the database stays open" in log
    assert "database closed" not in log
    check(server)
    log = restart(server)
    assert "as it was left by a clean stop" in log


def test_loader_closes_what_nobody_reads(server):
    """The loader may not close the database before the last worker has
    ended."""
    worker = server.role("server 1")
    os.kill(worker, signal.SIGSTOP)
    server.signal(signal.SIGTERM)
    wait_for("the end of xfrd", lambda: "xfrd" not in server.roles())
    time.sleep(0.2)  # for what must not happen
    assert "database closed" not in server.read_log()
    os.kill(worker, signal.SIGCONT)
    assert server.process.wait(harness.DEADLINE) == 0
    assert "as it was left by a clean stop" in restart(server, stop=False)


def test_stop_while_a_loader_dies_is_clean(server):
    """Main learns of its death only after it has told all to end."""
    os.kill(stop_with_a_held_loader(server), signal.SIGKILL)
    assert server.process.wait(harness.DEADLINE) == 0
    log = restart(server, stop=False)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log
    check(server)


def test_stop_while_a_loader_dies_keeps_what_is_in_memory(server, database):
    damage(server, database)
    wait_left(server, database)
    os.kill(stop_with_a_held_loader(server), signal.SIGKILL)
    assert server.process.wait(harness.DEADLINE) == 0
    log = restart(server, stop=False)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log


def test_second_signal_to_stop_leaves_what_is_written_alone(server):
    loader = stop_with_a_held_loader(server)
    for _ in range(3):
        server.signal(signal.SIGTERM)
    server.wait_log("signal received again, ending connections")
    os.kill(loader, signal.SIGCONT)
    assert server.process.wait(harness.DEADLINE) == 0
    log = restart(server, stop=False)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log
    check(server)


def test_second_signal_to_stop_ends_workers_at_once(server):
    worker = server.role("server 1")
    os.kill(worker, signal.SIGSTOP)
    server.signal(signal.SIGTERM)
    wait_for("main's word", lambda: is_told(worker))
    server.signal(signal.SIGTERM)
    assert server.process.wait(harness.DEADLINE) == 0
    assert "does not end" not in server.read_log()
    assert "as it was left by a clean stop" in restart(server, stop=False)


def test_stop_with_a_store_that_no_loader_can_close_ends(server, database):
    """Some try, not any number."""
    loader = stop_with_a_held_loader(server)
    overwrite_spans(database)
    os.kill(loader, signal.SIGKILL)
    assert server.process.wait(harness.DEADLINE) == 0
    assert server.read_log().count("the loader cannot start") == 3
    assert "2 zones: 2 read, 0 failed" in restart(server, stop=False)
    check(server)


def test_stop_during_a_reload_is_clean(server):
    more = harness.Held(server.directory / "more.inc")
    server.write_zone("a.test", zone_text(4) + "$INCLUDE more.inc\n")
    server.reload()
    with more.opened() as f:  # the loader is in the middle now
        server.process.send_signal(signal.SIGTERM)
        server.wait_log("shutting down")
        f.write("more A 192.0.2.7\n")
    assert server.process.wait(harness.DEADLINE) == 0
    server.write_zone("a.test", zone_text(5))
    log = restart(server, stop=False)
    assert "as it was left by a clean stop" in log
    assert server.serial("a.test") == 5
    assert server.serial("b.test") == 2


def is_told(pid):
    """Main has told it to end, and it has not looked yet."""
    return any(
        re.search(r"^eventfd-count:\s*1$", harness.read_proc(
            pid, f"fdinfo/{fd}"), re.M)
        for fd in os.listdir(f"/proc/{pid}/fdinfo"))


def hold_last_reader(server, database):
    """Damages the file, and returns the worker that is told to leave it and
    stands still."""
    worker = server.role("server 1")
    os.kill(worker, signal.SIGSTOP)
    damage(server, database)
    wait_for("main's word", lambda: is_told(worker))
    return worker


def expect_kept(server):
    """Waits for its end; the next start has the zones of the memory."""
    assert server.process.wait(harness.DEADLINE) == 0
    log = restart(server, stop=False)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log


def test_stop_while_the_last_reader_of_a_damaged_file_ends(server, database):
    """Main learns of its end only after it was told to stop."""
    worker = hold_last_reader(server, database)
    os.kill(server.main_pid, signal.SIGSTOP)
    os.kill(worker, signal.SIGCONT)
    wait_for("its end", lambda: harness.process_state(worker) == "Z")
    server.signal(signal.SIGTERM)
    os.kill(server.main_pid, signal.SIGCONT)
    expect_kept(server)


@pytest.mark.parametrize("signals", [1, 2])
def test_stop_waits_for_readers_of_a_damaged_file(server, database, signals):
    """The loader has the file only after they have ended."""
    worker = hold_last_reader(server, database)
    server.signal(signal.SIGTERM)
    wait_for("the end of xfrd", lambda: "xfrd" not in server.roles())
    time.sleep(0.2)  # for what must not happen
    assert "loader" in server.roles()
    if signals == 1:
        os.kill(worker, signal.SIGCONT)
    else:
        server.signal(signal.SIGTERM)
    expect_kept(server)


def test_stop_while_a_damaged_file_is_read_and_the_loader_dies(
        server, database):
    worker = hold_last_reader(server, database)
    server.signal(signal.SIGTERM)
    wait_for("the end of xfrd", lambda: "xfrd" not in server.roles())
    os.kill(server.role("loader"), signal.SIGKILL)
    os.kill(worker, signal.SIGCONT)
    expect_kept(server)
