"""Roles that are away for a while."""

import contextlib
import os
import signal
import time

from harness import DEADLINE


def bring_down(server, role):
    """Kills a role, and who stands by for a worker, as soon as they are there,
    until nobody is for a moment: they have not read what could explain it."""
    names = (role.replace("server", "standby"), role)
    since = time.monotonic()
    end = since + DEADLINE
    while time.monotonic() < since + 0.3:
        assert time.monotonic() < end, f"{role} is always there"
        pids = [pid for name, pid in server.processes().items()
                if name in names]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if pids:
            since = time.monotonic()


def while_away(server, role, check):
    """Kills a role until it is away for a while, and checks something then;
    check(where the log ended before). Where that took too long, again: it is
    away ever longer."""
    for _ in range(16):
        known = len(server.read_log())
        bring_down(server, role)
        check(known)
        if role not in server.roles():
            return
    raise AssertionError(f"{role} is never away")
