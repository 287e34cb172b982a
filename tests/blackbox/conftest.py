"""Fixtures: servers that are gone after the test, whatever happened in it."""

import contextlib
import faulthandler
import pathlib
import shutil
import signal
import tempfile
import threading

import pytest

import harness

LIMIT = 5 * harness.DEADLINE


@contextlib.contextmanager
def alarm():
    """What it raises is no Exception, for a test may expect AssertionErrors;
    and it comes again, should that be caught."""
    def on_alarm(number, frame):
        pytest.fail(f"the test has not ended in {LIMIT} s")
    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, LIMIT, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def end():
    """Ends the process with a trace of all threads."""
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def limit():
    """What waits without a deadline of its own, for a FIFO's other end say,
    does not wait for ever. Several tests at a time may each run in a thread
    that is not the first of its process: there are no signals for these."""
    is_first = threading.current_thread() is threading.main_thread()
    with alarm() if is_first else end():
        yield


@pytest.fixture
def directory():
    """A directory that any user may enter (pytest's own are private)."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="nsd-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def make_server(directory):
    """Makes servers without starting them."""
    servers = []

    def make(name="nsd", **arguments):
        path = directory / name if servers or name != "nsd" else directory
        server = harness.Server(path, **arguments)
        servers.append(server)
        return server

    yield make
    left = {}
    with contextlib.ExitStack() as all_of_them:  # whatever one raises
        for server in servers:
            all_of_them.callback(lambda s=server: left.update(s.clean_up()))
    assert not left, f"processes left behind: {left}"


@pytest.fixture
def nsd(make_server):
    """Makes and starts a server, ready to answer."""
    def start(**arguments):
        return make_server(**arguments).start()
    return start
