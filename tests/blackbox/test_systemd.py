"""The service manager is told when we are ready, reload and stop, and the
server runs under Debian's unit of NSD."""

import os
import pathlib
import re
import signal
import socket
import sys
import time

import pytest

import debian_unit
import harness
from harness import read_proc, wait_for, zone_text


class Manager:
    """Hears what is told to a socket."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address.replace("@", "\0", 1))
        self.socket.setblocking(False)
        self.told = []

    def hear(self):
        while True:
            try:
                self.told.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return self.told

    def wait(self, line, known=0):
        """Waits until a message behind the known ones has the line, which is
        a pattern; returns it."""
        def found():
            return next((text for text in self.hear()[known:] if re.search(
                rf"^{line}$", text, re.M)), None)
        return wait_for(line, found)


@pytest.fixture
def manager(directory):
    made = Manager(str(directory / "notify"))
    yield made
    made.socket.close()


def start(make_server, address, **arguments):
    server = make_server(zones={"example": zone_text(1)}, **arguments)
    server.environment["NOTIFY_SOCKET"] = str(address)
    return server


def test_manager_is_told_of_start_reload_and_stop(make_server, directory,
                                                  manager):
    server = start(make_server, directory / "notify").start()
    ready = manager.wait("READY=1")
    assert f"MAINPID={server.main_pid}" in ready.splitlines()
    assert "STATUS=1 zones, 0 of them could not be read from their files" \
        in ready
    assert manager.told[0].startswith("STATUS=reading zones")
    assert "EXTEND_TIMEOUT_USEC=60000000" in manager.told[0]
    known = len(manager.told)
    before = time.monotonic()
    server.write_zone("example", "@ SOA broken\n")
    server.reload()
    reloading = manager.wait("RELOADING=1", known)
    usec = int(re.search(r"^MONOTONIC_USEC=(\d+)$", reloading, re.M)[1])
    assert before <= usec / 1e6 <= time.monotonic()
    ready = manager.wait("READY=1", known)
    assert manager.told.index(reloading) < manager.told.index(ready)
    assert "STATUS=1 zones, 1 of them could not be read" in ready
    assert server.stop() == 0
    assert any(text.startswith("STOPPING=1") for text in manager.hear())


def test_each_reload_is_told(make_server, directory, manager):
    """Each reload is reported, also one that reads no files, and one during
    another."""
    server = start(make_server, directory / "notify", options={
        "zonefiles-check": "no"}).start()
    manager.wait("READY=1")
    for _ in range(2):
        known = len(manager.told)
        server.signal(signal.SIGHUP)
        manager.wait("RELOADING=1", known)
        manager.wait("READY=1", known)


def test_ready_means_that_all_files_were_read(make_server, directory,
                                              manager):
    server = start(make_server, directory / "notify")
    more = harness.Held(server.directory / "more.inc")
    server.write_zone("example", zone_text(1) + "$INCLUDE more.inc\n")
    server.start(ready=False)
    with more.opened() as f:
        server.wait_log("nsd started")  # the other zones are served by now
        server.wait_answer()
        assert not any("READY=1" in text for text in manager.hear())
        f.write("more A 192.0.2.7\n")
    manager.wait("READY=1")
    assert server.answer("more.example", "A") == ["192.0.2.7"]


def test_socket_may_have_no_file(make_server):
    name = f"@nsd-test-{os.getpid()}"
    manager = Manager(name)
    try:
        start(make_server, name).start()
        manager.wait("READY=1")
    finally:
        manager.socket.close()


def test_daemon_tells_its_number(make_server, directory, manager):
    server = start(make_server, directory / "notify", foreground=False)
    os.environ["NOTIFY_SOCKET"] = str(directory / "notify")
    try:
        server.start()
    finally:
        del os.environ["NOTIFY_SOCKET"]
    assert f"MAINPID={server.read_pid()}" in manager.wait("READY=1")


@pytest.mark.parametrize("pid", [None, "1"])
def test_watchdog_is_fed_when_it_is_ours(make_server, directory, manager,
                                         pid):
    server = start(make_server, directory / "notify")
    server.environment["WATCHDOG_USEC"] = "100000"
    if pid is not None:
        server.environment["WATCHDOG_PID"] = pid
    server.start()
    manager.wait("READY=1")
    if pid is None:
        known = len(manager.told)
        manager.wait("WATCHDOG=1", known)
    else:
        time.sleep(0.3)  # for what must not happen
        assert "WATCHDOG=1" not in manager.hear()


def test_manager_that_does_not_hear_is_not_waited_for(make_server, directory,
                                                      manager):
    server = start(make_server, directory / "notify")
    server.environment["WATCHDOG_USEC"] = "20000"
    server.start()
    time.sleep(1)  # more is told than the socket has room for
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_log("serial 1 is updated to 2")
    assert server.stop() == 0


@pytest.mark.parametrize("address", ["/nonexistent/notify", "relative", "@",
                                     "/" + "x" * 200])
def test_socket_that_is_none_is_no_error(make_server, address):
    server = start(make_server, address).start()
    server.wait_log("cannot tell the service manager")
    assert server.stop() == 0


def test_only_main_can_tell(make_server, directory, manager):
    server = start(make_server, directory / "notify").start()
    manager.wait("READY=1")
    inode = datagram_socket(server, "main")
    assert inode
    for role in ("loader", "xfrd", "server 1"):
        assert inode not in sockets_of(server, role)


def sockets_of(server, role):
    return set(harness.open_files(server.role(role)).values())


def datagram_socket(server, role):
    """The inode of a role's datagram socket that is connected and has no
    name."""
    mine = sockets_of(server, role)
    # A name may hold what ends a line.
    rows = [line.split() for line in read_proc("net", "unix").splitlines()]
    datagram = {f"socket:[{row[6]}]" for row in rows
                if len(row) == 7 and row[4] == "0002"}
    return next(iter(mine & datagram), None)


def is_read_only(pid, folder):
    """True if the folder is read-only in the process's mounts."""
    for line in read_proc(pid, "mountinfo").splitlines():
        if line.split()[4] == str(folder):
            return "ro" in line.split()[5].split(",")
    return None


@pytest.mark.plain
@pytest.mark.skipif(os.geteuid() != 0, reason="the unit starts as root")
@pytest.mark.parametrize("worker", [None, "nobody"])
def test_runs_under_the_unit_of_debian(make_server, directory, manager,
                                       worker):
    server = start(make_server, directory / "notify", options={
        "username": "nsd", "server-count": 2, "cpu-affinity": "0",
        "server-1-cpu-affinity": "0", "xfrd-cpu-affinity": "0",
        "database": f'"{directory}/zones.db"', "worker-username": worker})
    directory.chmod(0o777)
    server.launcher = [sys.executable, debian_unit.__file__, str(directory),
                       "--"]
    # A sanitizer's look for leaks is by ptrace, which the filter kills.
    server.look_for_no_leaks()
    server.start()
    manager.wait("READY=1")
    first = server.role("server 1")
    # Main may be ready before a worker is under its filter.
    wait_for("its filter", lambda: "Seccomp:\t2" in read_proc(
        first, "status"))
    assert is_read_only(first, "/") and not is_read_only(first, directory)
    if not harness.is_sanitized():
        assert "sandbox:" not in server.read_log()
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    known = len(manager.told)
    server.write_zone("example", zone_text(2))
    server.signal(signal.SIGHUP)
    manager.wait("RELOADING=1", known)
    manager.wait("READY=1", known)
    assert server.serial("example") == 2
    server.kill("server 1")
    server.wait_replaced("server 1", first)
    assert server.stop() == 0
    assert "database closed" in server.read_log()
    assert "was killed by signal 31" not in server.read_log()


@pytest.mark.skipif(os.geteuid() != 0, reason="the unit starts as root")
def test_folders_that_the_unit_protects_end_nothing(make_server, directory,
                                                    manager):
    """A log, a pid file and a database where nothing may be written."""
    closed = directory / "closed"
    closed.mkdir()
    server = start(make_server, directory / "notify", options={
        "username": "nsd", "logfile": f'"{closed}/nsd.log"',
        "pidfile": f'"{closed}/nsd.pid"', "database": f'"{closed}/zones.db"'})
    directory.chmod(0o777)
    closed.chmod(0o777)
    held = directory / "held"
    held.mkdir()
    # The notify socket is reached through a file system that is read-only.
    server.launcher = [sys.executable, debian_unit.__file__, str(held), "--"]
    server.look_for_no_leaks()
    server.log = server.output_file
    server.start()
    manager.wait("READY=1")
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    for line in (r"Cannot open .*/nsd\.log for appending \(Read-only",
                 "going on without a pid file",
                 r"database .* is not used: .*Read-only"):
        server.wait_log(line)
    assert not list(closed.iterdir())
    assert server.stop() == 0
