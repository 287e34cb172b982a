"""Another log by a reconfig: all processes write to it, also those that stay and
can open nothing."""

import contextlib
import os
import re
import signal
import socket
import threading

import pytest

import dns.message
import dns.query

import control
from harness import wait_for, zone_text

needs_root = pytest.mark.skipif(os.geteuid() != 0,
                                reason="another /dev needs root")


@pytest.fixture
def server(make_server):
    server = make_server(zones={"example": zone_text(1)},
                         options={"server-count": 2})
    return control.config(server).start()


def workers(server):
    return [server.role("server 1"), server.role("server 2")]


def has_lines_of(text, pids):
    return all(re.search(rf"\[{pid}\]: .*NSTATS ", text) for pid in pids)


def wait_lines(server, read):
    """Has each worker write a line, and waits until it can be read there."""
    pids = workers(server)
    before = len(read())
    server.signal(signal.SIGUSR1)
    wait_for("lines of all workers",
             lambda: has_lines_of(read()[before:], pids))
    wait_for("the loader's", lambda: "STORE " in read()[before:])
    return read()[before:]


def test_all_processes_write_to_another_file(server):
    other = server.directory / "other.log"
    pids = workers(server)
    query = dns.message.make_query("example", "SOA")
    with socket.create_connection((server.address, server.port)) as client:
        client.settimeout(30)
        dns.query.send_tcp(client, query)
        assert dns.query.receive_tcp(client)[0].answer
        control.apply(server, logfile=f'"{other}"')
        old = server.read_log()
        assert f"the log goes to {other} from now on" in old
        text = wait_lines(server, other.read_text)
        assert "reconfig: done" in other.read_text()
        # The client has noticed nothing.
        dns.query.send_tcp(client, query)
        assert dns.query.receive_tcp(client)[0].answer
    assert workers(server) == pids
    assert re.search(r"\[%d\]: " % server.role("loader"), text)
    # Processes that start later write there, too.
    server.kill("server 1")
    wait_for("its end", lambda: "killed by signal 9" in other.read_text())
    wait_for("both", lambda: set(server.roles()) >= {"server 1", "server 2"})
    server.wait_answer()
    wait_lines(server, other.read_text)
    # The new file is the one that is opened anew after a rotation.
    other.rename(server.directory / "rotated.log")
    assert control.ask(server, "log_reopen") == (0, "ok\n")
    wait_lines(server, other.read_text)
    assert server.read_log() == old
    control.apply(server, logfile=f'"{server.log}"')
    wait_lines(server, server.read_log)


def test_file_that_cannot_be_opened_changes_nothing(server):
    before = server.identity()
    pids = server.roles()
    server.options.update({"logfile": '"/nonexistent/nsd.log"',
                           "identity": '"two"', "log-time-iso": "yes"})
    server.write_config()
    code, text = control.ask(server, "reconfig")
    assert code == 1
    assert ("error: logfile: cannot open /nonexistent/nsd.log for appending:"
            " No such file or directory\n") in text
    assert text.endswith("error reconfig refused: nothing has changed\n")
    assert server.identity() == before
    assert server.roles() == pids
    line = wait_lines(server, server.read_log).splitlines()[-1]
    assert line.startswith("[")
    server.options["logfile"] = f'"{server.log}"'
    control.apply(server)
    assert server.identity() == "two"


@pytest.mark.parametrize("option, value, form", [
    ("log_time_iso", "yes", r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d nsd\["),
    ("log_time_ascii", "no", r"\[\d+\] nsd\["),
])
def test_times_have_another_form_in_all_processes(server, option, value,
                                                  form):
    pids = workers(server)
    for now in (value, "no" if value == "yes" else "yes"):
        control.apply(server, **{option: now})
        lines = wait_lines(server, server.read_log).splitlines()
        assert {bool(re.match(form, line)) for line in lines} == {
            now == value}
    assert workers(server) == pids


def test_verbosity_follows_and_what_was_said_since_stays(server):
    def verbosity():
        return control.ask(server, "verbosity")[1]

    assert verbosity() == "verbosity 1\n"
    control.apply(server, verbosity=3)
    wait_for("the next xfrd", lambda: verbosity() == "verbosity 3\n")
    # The loader is the next one, too: it says this at 2.
    server.write_zone("example", zone_text(2))
    known = len(server.read_log())
    assert control.ask(server, "reload")[0] == 0
    server.wait_log("zone example read with success", known)
    assert control.ask(server, "verbosity", "0") == (0, "ok\n")
    control.apply(server, identity='"x"')
    wait_for("the next xfrd", lambda: verbosity() == "verbosity 0\n")
    control.apply(server, verbosity=2)
    wait_for("the next xfrd", lambda: verbosity() == "verbosity 2\n")


# ---- syslog

class Syslog:
    """A daemon. It takes what comes, so that nobody waits for it."""

    def __init__(self, path):
        self.path = path
        self.text = ""
        self.socket = None
        self.begin()

    def begin(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.path.chmod(0o666)
        threading.Thread(target=self.take, args=(self.socket,),
                         daemon=True).start()

    def take(self, from_socket):
        with contextlib.suppress(OSError):
            while line := from_socket.recv(65536):
                self.text += line.decode() + "\n"

    def end(self):
        self.path.unlink()
        # The thread waits in recv on the socket, too.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def read(self):
        return self.text


# The program with a /dev of its own, in which there is a syslog.
DEV = """mount -t tmpfs none "$1"
for name in null zero random urandom
do
	touch "$1/$name"
	mount --bind "/dev/$name" "$1/$name"
done
ln -s "$2" "$1/log"
mount --rbind "$1" /dev
shift 2
exec "$@"
"""


@pytest.fixture
def syslog(make_server):
    """A server, not started, and its syslog."""
    server = make_server(zones={"example": zone_text(1)},
                         options={"server-count": 2})
    dev = server.directory / "dev"
    dev.mkdir()
    daemon = Syslog(server.directory / "syslog")
    server.launcher = ["unshare", "-m", "sh", "-ec", DEV, "sh", str(dev),
                       str(daemon.path)]
    yield control.config(server), daemon
    daemon.end()


@needs_root
def test_lines_of_all_processes_are_in_syslog_from_the_start(syslog):
    """Lines of all processes are there, also of those that close foreign
    descriptors."""
    server, daemon = syslog
    server.options["log-only-syslog"] = "yes"
    server.write_config()
    server.start(ready=False)
    server.wait_answer()
    wait_for("two workers", lambda: set(server.roles()) >= {
        "server 1", "server 2", "loader"})
    assert "]: nsd started (" in daemon.read()
    # A reader of both, such as systemd's journal, gets the lines once.
    printed = server.output
    assert "nsd start" not in printed, printed
    pids = workers(server)
    wait_lines(server, daemon.read)
    assert re.search(r"^<\d+>[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d "
                     rf"nsd\[{pids[0]}\]: NSTATS ", daemon.read(), re.M)
    assert not server.log.exists()


@needs_root
def test_lines_go_to_syslog_and_come_back(syslog):
    server, daemon = syslog
    server.start()
    assert daemon.read() == ""
    pids = workers(server)
    control.apply(server, log_only_syslog="yes")
    old = server.read_log()
    wait_lines(server, daemon.read)
    # Another daemon: main connects to it, and hands that out.
    daemon.end()
    daemon.begin()
    assert control.ask(server, "log_reopen") == (0, "ok\n")
    wait_lines(server, daemon.read)
    assert server.read_log() == old
    control.apply(server, log_only_syslog="no")
    wait_for("the last line", lambda: f"goes to {server.log} from now on"
             in daemon.read())
    known = len(daemon.read())
    wait_lines(server, server.read_log)
    assert daemon.read()[known:] == ""
    assert workers(server) == pids
