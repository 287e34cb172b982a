"""Which tests run, and in which order; and fixtures: servers that are gone after
the test, whatever happened in it."""

import contextlib
import faulthandler
import os
import pathlib
import random
import shutil
import signal
import tempfile
import threading

import pytest

import control
import harness
from certificates import Authority
from ports import free_port

LIMIT = 5 * harness.DEADLINE


def pytest_addoption(parser):
    parser.addoption("--only-plain", action="store_true", help="only tests that"
                     " are marked as plain: a build with sanitizers runs all")
    parser.addoption("--short", action="store_true", help="of tests that are"
                     " marked as one_of_each, cases chosen by NSD_SEED")
    parser.addoption("--cases", metavar="FILE", help="where to write down which"
                     " cases there are, and which have run")


def is_left_out(item):
    if harness.is_sanitized():
        return item.get_closest_marker("plain_only") is not None
    return (item.config.getoption("only_plain")
            and not item.get_closest_marker("plain")
            and not item.get_closest_marker("plain_only"))


def chosen(items, seed):
    """Chooses a case for each value of the parameters that a test's marker
    names."""
    groups = {}
    for item in items:
        marker = item.get_closest_marker("one_of_each")
        key = (item.nodeid if not marker else
               f"{item.nodeid.partition('[')[0]} "
               f"{[item.callspec.params[name] for name in marker.args]}")
        groups.setdefault(key, []).append(item)
    kept = {random.Random(f"{seed} {key}").choice(group)
            for key, group in groups.items()}
    return [item for item in items if item in kept]


def seconds_of(item):
    marker = item.get_closest_marker("lasts")
    return marker.args[0] if marker else 0


def deal(items, hands):
    """The longest first, one to each process in turn. Of xdist, each process
    is given a part of the first quarter to begin with, whatever comes first."""
    size = max(len(items) // hands // 4, 2)
    longest = sorted((i for i in items if seconds_of(i)), key=seconds_of,
                     reverse=True)[:size * hands]
    first = set(longest)
    others = [i for i in items if i not in first]
    dealt = []
    for hand in range(hands):
        mine = longest[hand::hands]
        more = size - len(mine)
        dealt += mine + others[:more]
        others = others[more:]
    return dealt + others


def pytest_collection_modifyitems(config, items):
    if config.getoption("short"):
        items[:] = chosen(items, os.environ["NSD_SEED"])
    # Each process of xdist collects all of them; one writes them down.
    worker = getattr(config, "workerinput", {})
    if config.getoption("cases") and worker.get("workerid", "gw0") == "gw0":
        write_cases(config, "case", [item.nodeid for item in items])
    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = deal([item for item in items if not is_left_out(item)],
                    worker.get("workercount", 1))


def write_cases(config, what, names):
    with open(config.getoption("cases"), "a", encoding="utf-8") as file:
        file.writelines(f"{what}\t{name}\n" for name in names)


class Outcomes:
    """The outcomes of all tests, as the process that starts the others gets
    them."""

    def __init__(self, config):
        self.config = config

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome == "skipped":
            write_cases(self.config, "skipped" if report.skipped else "ran",
                        [report.nodeid])


def pytest_configure(config):
    if config.getoption("cases") and not hasattr(config, "workerinput"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(config.getoption("cases"))
        config.pluginmanager.register(Outcomes(config))


@contextlib.contextmanager
def alarm():
    """Ends a test after LIMIT. The alarm's exception is no Exception, as a
    test may expect AssertionErrors; and the alarm repeats, in case a test
    catches it."""
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
    """Bounds a test that waits without a deadline of its own, for a FIFO's
    other end say. Several tests at a time may each run in a thread that is not
    the first of its process: there are no signals for these."""
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


def tell_end(server):
    """Prints the ends of a server's log and output, which pytest shows if the
    test has failed. Returns what sanitizers have reported: a process that they
    ended was replaced, and no test need have noticed. A damaged store may ask
    for more memory than there is."""
    output = server.output if server.output_file.exists() else ""
    for text in (server.read_log(), output):
        print(*text.splitlines()[-40:], sep="\n")
    return [line for line in output.splitlines()
            if ("Sanitizer: " in line or ": runtime error: " in line)
            and "allocator is out of memory" not in line
            and "Sanitizer: out-of-memory" not in line]


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
    reports = [line for server in servers for line in tell_end(server)]
    left = {}
    with contextlib.ExitStack() as all_of_them:  # even if a stop raises
        for server in servers:
            all_of_them.callback(lambda s=server: left.update(s.clean_up()))
    assert not left, f"processes left behind: {left}"
    assert not reports, reports


@pytest.fixture
def nsd(make_server):
    """Makes and starts a server, ready to answer."""
    def start(**arguments):
        return make_server(**arguments).start()
    return start


@pytest.fixture
def authority(directory):
    return Authority(directory / "certificates")


@pytest.fixture
def start_tls(make_server, authority):
    """Starts a server that has TLS on a port of its own."""
    def run(zones=None, mutual=False, ocsp=False, ready=True, more="",
            remote=False, **options):
        key, cert = authority.sign("ns.example")
        port, auth_port = free_port(), free_port()
        all_options = {
            "tls-port": port,
            "tls-service-key": f'"{key}"',
            "tls-service-pem": f'"{cert}"',
        }
        addresses = ["127.0.0.1", f"127.0.0.1@{port}"]
        if mutual:
            addresses.append(f"127.0.0.1@{auth_port}")
            all_options["tls-auth-port"] = auth_port
            all_options["tls-cert-bundle"] = f'"{authority.cert}"'
        if ocsp:
            path = authority.answer_ocsp("ns.example")
            all_options["tls-service-ocsp"] = f'"{path}"'
        all_options["ip-address"] = addresses
        all_options.update(options)
        server = make_server(zones=zones or {"example": harness.zone_text()},
                             options=all_options)
        server.tls_port, server.auth_port = port, auth_port
        if remote:
            control.config(server)
        # Behind the last zone: more of its options.
        with server.config.open("a") as file:
            file.write(more)
        return server.start(ready)
    return run
