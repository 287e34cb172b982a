"""A process that lives and does nothing is found, killed and replaced; one that
has no processor, or that a debugger has, is not (doc/decisions/0062)."""

import ctypes
import os
import re
import signal
import time

import pytest

import control
import harness
from away import while_away
from harness import Load, is_alive, wait_for, zone_text

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_for("its stop",
             lambda: harness.process_state(pid) == "T" or not is_alive(pid))


@pytest.mark.parametrize("role", ["server 1", "loader", "xfrd"])
def test_stopped_process_is_replaced(nsd, role):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    roles = server.roles()
    pid = server.role(role)
    stop(pid)
    server.wait_log(rf"error: {role} \(pid {pid}\) hangs: it is stopped,"
                    r" without a sign of life for \d+ ms; killing it")
    server.wait_log(rf"{role} \(pid {pid}\) was killed by signal 9,"
                    " replacing it")
    server.wait_replaced(role, pid)
    server.wait_serving()
    assert {r: p for r, p in server.roles().items() if r != role} == {
        r: p for r, p in roles.items() if r != role}
    load = Load(server, clients=32)
    load.step_answers(500)
    load.finish()
    assert load.lost == 0


@pytest.mark.parametrize("replace", [True, False])
def test_worker_that_beats_and_takes_no_message(make_server, replace):
    """A worker that ignores messages is replaced, and then the command is
    done; otherwise the answer says what is not done."""
    server = make_server(zones={"example": zone_text()}, options={
        "replace-hung": "yes" if replace else "no"})
    server.program = harness.BUILD / "tests/lib/nsd_deadly"
    control.config(server).start()
    pid = server.role("server 1")
    server.query("deaf.example", "A")
    code, text = control.reconfig(server, tcp_count=50)
    server.wait_log(rf"server 1 \(pid {pid}\) hangs: it beats and does not do"
                    r" what it is told for \d+ ms")
    last = text.splitlines()[-1]
    if replace:
        assert (code, last) == (0, "ok"), text
        server.wait_replaced("server 1", pid)
        assert control.ask(server, "log_reopen") == (0, "ok\n")
    else:
        assert (code, last) == (
            1, "error changes applied, but not in all processes yet: server 1"
            " does not answer")
        assert server.role("server 1") == pid
        assert "goes on" not in server.read_log()
    server.wait_answer()


def silence_of(server, pid):
    """How long it was silent, in milliseconds, before it was found to hang."""
    return int(server.wait_log(rf"server \d \(pid {pid}\) hangs: it is stopped,"
                               r" without a sign of life for (\d+) ms")[1])


def test_worker_is_found_sooner_if_no_other_serves(nsd):
    """Repeats the test where this machine had no processor for main, at another
    time between two looks of main: each begins as the one before has ended."""
    server = nsd(zones={"example": zone_text()})
    for n in range(8):
        time.sleep(0.035 * n)
        pid = server.role("server 1")
        stop(pid)
        if silence_of(server, pid) < 900:
            return
        server.wait_replaced("server 1", pid)
        server.wait_serving()
    raise AssertionError("it takes as long as for one of several")


def test_worker_in_its_pause_comes_when_the_only_other_one_is_stopped(nsd):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    while_away(server, "server 1", lambda known: None)
    stop(server.role("server 2"))
    server.wait_answer()
    server.wait_serving()


def test_reload_that_a_stopped_loader_has_swallowed_is_done(nsd):
    server = nsd(zones={"example": zone_text()})
    pid = server.role("loader")
    stop(pid)
    server.write_zone("example", zone_text(2))
    server.signal(signal.SIGHUP)
    server.wait_serial("example", 2)
    assert server.role("loader") != pid


@pytest.mark.parametrize("database", [False, True])
@pytest.mark.parametrize("role", ["server 1", "loader"])
def test_stop_does_not_wait_for_a_stopped_process(nsd, directory, role,
                                                  database):
    """The database is closed all the same, by another loader."""
    server = nsd(zones={"example": zone_text()}, options={
        "database": f'"{directory}/zones.db"'} if database else {})
    stop(server.role(role))
    assert server.stop() == 0
    # The process had 15 s to end by itself, a loader with a database 90.
    assert "does not end, killing it" not in server.read_log()
    if database:
        known = len(server.read_log())
        server.start()
        server.wait_log("as it was left by a clean stop", known)


def test_worker_that_is_stopped_while_main_dies_makes_room(nsd):
    """A stopped worker would keep its share of the queries for ever."""
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    pid = server.role("server 1")
    stop(pid)
    server.kill("main")
    wait_for("it to go on", lambda: harness.process_state(pid) != "T")
    assert is_alive(pid)
    server.process.wait()
    server.write_zone("example", zone_text(2))
    server.start()
    assert not is_alive(pid)
    for _ in range(40):
        assert server.serial("example") == 2


def test_all_that_stood_still_go_on(nsd):
    """As when the machine does: nobody is to blame."""
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    roles = server.roles()
    main = roles.pop("main")
    for pid in (main, *roles.values()):
        stop(pid)
    time.sleep(4)  # not to wait for anything: to last
    # Main first, and it has some time to be rash.
    for pid in (main, *roles.values()):
        os.kill(pid, signal.SIGCONT)
    time.sleep(1)
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.roles() == {"main": main, **roles}
    assert "hangs" not in server.read_log()


@pytest.mark.skipif(os.geteuid() != 0, reason="others' processes need root")
def test_traced_process_is_left_alone(nsd):
    server = nsd(zones={"example": zone_text()})
    libc = ctypes.CDLL(None, use_errno=True)
    pid = server.role("server 1")
    assert libc.ptrace(PTRACE_SEIZE, pid, None, None) == 0
    assert libc.ptrace(PTRACE_INTERRUPT, pid, None, None) == 0
    server.wait_log(rf"warning: server 1 \(pid {pid}\) is being traced")
    time.sleep(3)  # for what must not happen
    assert is_alive(pid)
    assert libc.ptrace(PTRACE_DETACH, pid, None, None) == 0
    server.wait_log(rf"server 1 \(pid {pid}\) goes on after \d+ ms")
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.role("server 1") == pid


def test_hung_process_is_only_told_of_if_asked(nsd):
    server = nsd(zones={"example": zone_text()},
                 options={"replace-hung": "no"})
    pid = server.role("server 1")
    stop(pid)
    server.wait_log(rf"server 1 \(pid {pid}\) hangs: it is stopped, without a"
                    r" sign of life for \d+ ms\n")
    time.sleep(1)  # for what must not happen
    os.kill(pid, signal.SIGCONT)
    server.wait_log(rf"server 1 \(pid {pid}\) goes on after \d+ ms")
    assert server.role("server 1") == pid
    assert len(re.findall(" hangs: ", server.read_log())) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_stopped_process_is_replaced_in_a_chroot(make_server, directory):
    os.chown(directory, 65534, 65534)
    server = make_server(zones={"example": zone_text()}, options={
        "username": "nobody", "chroot": f'"{directory}"'})
    if harness.is_sanitized():
        server.look_for_no_leaks()
    server.start()
    for role in ("server 1", "xfrd"):
        pid = server.role(role)
        stop(pid)
        server.wait_replaced(role, pid)
    # Only main can open /proc.
    for role, pid in server.roles().items():
        assert role == "main" or "/proc" not in harness.open_files(
            pid).values(), role


@pytest.mark.plain
def test_busy_loader_is_no_hung_one(nsd):
    """Much longer than a worker may be silent."""
    count = 100 if harness.is_sanitized() else 1000
    server = nsd(zones={f"z{i}.test": zone_text() for i in range(count)})
    loader = server.role("loader")
    text = "".join(f"h{i} A 192.0.2.1\nh{i} TXT x{i}\n" for i in range(
        20000 if harness.is_sanitized() else 300000))
    for serial in (2, 3):
        server.write_zone("z1.test", zone_text(serial) + text * (serial - 2)
                          + text.replace("192.0.2.1", f"192.0.2.{serial}"))
        server.reload()
        server.wait_serial("z1.test", serial)
    assert server.role("loader") == loader
    assert "hangs" not in server.read_log()
