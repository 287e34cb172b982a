"""A standard error output that nobody reads holds nobody up: lines are lost,
and counted (doc/decisions/0147)."""

import contextlib
import os
import pty
import re
import signal
import socket
import sys
import termios
import tty

import dns.flags
import dns.message
import dns.opcode
import pytest

import harness
from harness import wait_for, zone_text

pytestmark = pytest.mark.plain

# Runs a program whose standard error output is what it is told, and full.
LAUNCH = """\
import os, socket, sys
kind, path, *command = sys.argv[1:]
if kind == "socket":
    stderr = socket.socket(socket.AF_UNIX)
    stderr.connect(path)
    os.dup2(stderr.fileno(), 2)
else:
    os.dup2(os.open(path, os.O_WRONLY | os.O_NOCTTY), 2)
os.set_blocking(2, False)
try:
    while True:
        os.write(2, b"from before\\n")
except BlockingIOError:
    os.set_blocking(2, True)
os.execv(command[0], command)
"""


class Reader:
    """A reader of the log that does not read until it is asked to."""

    def __init__(self, kind, directory):
        self.path = str(directory / "stderr")
        self.listener = self.fd = self.terminal = None
        self.text = ""
        if kind == "pipe":
            os.mkfifo(self.path)
            os.chmod(self.path, 0o666)
            self.fd = os.open(self.path, os.O_RDWR)
        elif kind == "terminal":
            self.fd, self.terminal = pty.openpty()
            tty.setraw(self.terminal)
            self.path = os.ttyname(self.terminal)
            termios.tcflow(self.terminal, termios.TCOOFF)  # as ^S
        else:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.path)
            self.listener.listen()

    def read(self):
        if self.fd is None:
            self.fd = self.listener.accept()[0].detach()
        if self.terminal is not None:
            termios.tcflow(self.terminal, termios.TCOON)
        os.set_blocking(self.fd, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.text += os.read(self.fd, 65536).decode()
        return self.text


def notify_all(server, count):
    """Sends NOTIFYs that are not allowed: a log line each. They are refused
    nevertheless."""
    notify = dns.message.make_query("example", "SOA", flags=dns.flags.AA)
    notify.set_opcode(dns.opcode.NOTIFY)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(harness.DEADLINE)
        sock.connect((server.address, server.port))
        for _ in range(count):
            sock.send(notify.to_wire())
            sock.recv(512)


@pytest.mark.parametrize("kind", ["pipe", "terminal", "socket"])
def test_server_whose_standard_error_nobody_reads_goes_on(
        make_server, directory, kind):
    reader = Reader(kind, directory)
    server = make_server(zones={"example": zone_text()}, options={
        "logfile": None, "verbosity": 2})
    server.launcher = [sys.executable, "-c", LAUNCH, kind, reader.path]
    server.start(ready=False)
    server.wait_serving()
    notify_all(server, 10)
    # And so it is with the others: they make lines, too.
    server.write_zone("example", zone_text(2))
    server.signal(signal.SIGHUP)
    server.wait_serial("example", 2)
    for role in ("xfrd", "server 1"):
        server.wait_replaced(role, server.kill(role))
    server.wait_answer()
    notify_all(server, 10)

    # Until everybody has said what is lost.
    def lost():
        found = re.findall(r"nsd\[(\d+)\]: warning: \d+ lines of the log are"
                           r" lost here: nobody reads it\r?\n", reader.read())
        return {server.role("server 1"), server.main_pid} <= {
            int(pid) for pid in found}

    wait_for("what is lost", lost)
    known = len(reader.read())
    notify_all(server, 1)
    wait_for("the line of it", lambda: "refused" in reader.read()[known:])
