"""Messages between xfrd, the loader and workers, by channels of their own; one
that floods or dies costs the others nothing."""

import os
import pathlib
import random
import signal

import pytest

from harness import Load, at_once, wait_for, zone_text
from test_updates import serial_change, unread

CREDITS = 64  # of NOTIFY


@pytest.fixture
def server(nsd):
    return nsd(zones={"example": zone_text(1), "b.test": zone_text(1)},
               options={"server-count": 2, "replace-hung": "no"},
               updates=True)


class Lines:
    """The lines of nsd_update."""

    def __init__(self, server):
        self.server = server
        self.data = b""
        self.seen = []
        os.set_blocking(server.process.stdout.fileno(), False)

    def read(self):
        try:
            self.data += os.read(self.server.process.stdout.fileno(), 65536)
        except BlockingIOError:
            pass
        *whole, self.data = self.data.split(b"\n")
        self.seen += [line.decode() for line in whole]
        return self.seen

    def wait(self, line):
        wait_for(line, lambda: line in self.read())

    def update(self, text):
        """Sends a change and returns its answer; no other one may be under
        way."""
        known = len(self.read())
        self.server.send_update(text)
        return wait_for("an answer", lambda: [
            line for line in self.read()[known:] if "usec" in line])[0]


def worker_of(server, index):
    """The pid of a worker, once it catches the test's signals: a process that
    was there before may have answered."""
    def is_ready():
        pid = server.role(f"server {index}")
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        caught = int(status.split("SigCgt:")[1].split()[0], 16)
        return caught >> (signal.SIGRTMIN - 1) & 1 and pid
    return wait_for(f"server {index} and its signals", is_ready)


def test_what_workers_send_comes_to_xfrd(server):
    """With credits for so many at once."""
    lines = Lines(server)
    for index in (1, 2):
        worker = worker_of(server, index)
        os.kill(worker, signal.SIGUSR2)
        lines.wait(f"notify {index} {CREDITS}")
        assert f"notify {index} {CREDITS + 1}" not in lines.read()
        wait_for("more", lambda i=index, w=worker: os.kill(w, signal.SIGUSR2)
                 or f"notify {i} {5 * CREDITS}" in lines.read())
    assert "notify no credit" in lines.seen
    for index in (1, 2):
        numbers = [int(line.split()[2]) for line in lines.seen
                   if line.startswith(f"notify {index} ")]
        assert numbers == list(range(1, len(numbers) + 1))


def test_worker_that_floods_costs_nobody_else(server):
    lines = Lines(server)
    flooder, other = worker_of(server, 1), worker_of(server, 2)
    os.kill(flooder, signal.SIGRTMIN)
    lines.wait("notify 1 1")
    for serial in range(2, 30):
        assert " ok " in lines.update(serial_change(serial))
    os.kill(other, signal.SIGUSR2)
    lines.wait(f"notify 2 {CREDITS}")
    wait_for("the end of it", lambda: lines.read() and
             "error: server 1 has sent what it may not: it is not listened to"
             " any more" in server.read_log())
    lines.wait("notify no more")
    assert " ok " in lines.update(serial_change(30))
    assert server.role("server 1") == flooder
    # The next worker's NOTIFYs arrive.
    known = len(lines.read())
    server.wait_replaced("server 1", server.kill("server 1"))
    wait_for("a NOTIFY of the next one", lambda: os.kill(
        server.role("server 1"), signal.SIGUSR2) or any(
            line.startswith("notify 1 ") for line in lines.read()[known:]))


def test_worker_that_takes_nothing_costs_nobody_else(server):
    """Credits wait for it in its channel, not in xfrd's memory."""
    lines = Lines(server)
    worker = server.role("server 1")
    os.kill(worker, signal.SIGUSR2)
    lines.wait(f"notify 1 {CREDITS}")
    os.kill(worker, signal.SIGSTOP)
    for serial in range(2, 30):
        assert " ok " in lines.update(serial_change(serial))
    os.kill(worker, signal.SIGCONT)
    wait_for("more", lambda: os.kill(worker, signal.SIGUSR2)
             or f"notify 1 {2 * CREDITS}" in lines.read())


def test_xfrd_dies_between_changes(make_server):
    """The changes of a dead xfrd are done as a whole or not at all, and before
    those of the next one."""
    at_once(kill_xfrd, [make_server(
        f"nsd{i}", zones={"example": zone_text(1), "b.test": zone_text(1)},
        updates=True, options={"server-count": 2}).start()
        for i in range(2)])


def kill_xfrd(server, number):
    rng = random.Random(5 + number)
    load, lines = Load(server), Lines(server)
    loader = server.role("loader")
    serial = 1
    for turn in range(4):
        xfrd = server.role("xfrd")
        count = rng.randrange(1, 30)
        server.process.stdin.write("".join(
            serial_change(serial + n) + "send\n"
            for n in range(1, count + 1)).encode())
        wait_for("xfrd to have read all", lambda: unread(server) == 0)
        load.step(rng.random() * 0.004)
        os.kill(xfrd, signal.SIGKILL)
        wait_for("another xfrd", lambda o=xfrd: load.step(0.02)
                 or server.roles().get("xfrd", o) != o)
        done = len([line for line in lines.read() if " ok " in line])
        lines.seen.clear()
        assert " ok " in lines.update(
            f"zone b.test.\nadd n{turn} 60 TXT x")
        lines.seen.clear()
        after = server.serial("example")
        assert serial + done <= after <= serial + count
        assert server.rcode(f"n{after + 1}.example", "TXT") == "NXDOMAIN"
        serial = after
    load.finish()
    assert load.lost == 0
    assert server.role("loader") == loader
    assert "has sent what it may not" not in server.read_log()


def test_all_are_connected_anew_whoever_dies(server):
    """In each order, also two at once."""
    lines = Lines(server)
    serial = 1
    for names in (["loader"], ["xfrd"], ["server 1"], ["xfrd", "loader"],
                  ["server 2", "xfrd"]):
        for name in names:
            server.kill(name)
        serial += 1
        assert " ok " in lines.update(serial_change(serial))
        for index in (1, 2):
            known = len(lines.read())
            wait_for("a NOTIFY", lambda i=index, k=known: (
                f"server {i}" in server.roles() and os.kill(
                    server.role(f"server {i}"), signal.SIGUSR2))
                or any(line.startswith(f"notify {i} ")
                       for line in lines.read()[k:]))
    assert server.serial("example") == serial
