"""The clients of other tests: they notice a server that stands still, and blame
none for a machine that does."""

import os
import pty
import signal
import time

import pytest

from forked import forked
from harness import Load, wait_for, zone_text
from steady import Steady

LIMIT = 0.5
STOPPED = 3.5  # seconds, longer than the client's patience
PATIENCE = 2


@pytest.fixture
def server(nsd):
    return nsd(zones={"example": zone_text()},
               options={"server-count": 2, "replace-hung": "no"})


def test_worker_that_stands_still_is_noticed(server):
    load = Load(server, clients=32, patience=LIMIT)
    with Steady(server, clients=32, limit=LIMIT) as client:
        load.step_answers(500)
        worker = server.role("server 1")
        os.kill(worker, signal.SIGSTOP)
        wait_for("somebody to notice", lambda: load.step(0.05)
                 or load.lost > 0 and client.late)
        os.kill(worker, signal.SIGCONT)
        load.finish()
    assert len(client.late) + client.answered == client.sent


def be_a_client(server):
    """0 if all was answered in time."""
    load = Load(server, patience=PATIENCE)
    with Steady(server, limit=PATIENCE) as client:
        load.step(STOPPED + 1)
        load.finish()
    return 0 if load.lost == 0 and client.late == [] else 1


def test_client_that_stands_still_blames_nobody(server):
    child = forked(lambda: be_a_client(server))
    try:
        # Not to wait for anything: to be in its midst, and to last.
        time.sleep(0.5)
        os.kill(child, signal.SIGSTOP)
        time.sleep(STOPPED)
        os.kill(child, signal.SIGCONT)
    finally:
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("fork", [os.fork, pty.fork])
def test_child_that_cannot_be_what_it_should_ends(fork):
    """The program that is not there: nothing of this run goes on in it."""
    made = forked(lambda: os.execvp("/no/such/program", ["program"]), fork)
    pid = made if fork is os.fork else made[0]
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    if fork is pty.fork:
        os.close(made[1])
