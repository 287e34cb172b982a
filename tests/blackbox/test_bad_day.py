"""An operator's bad day: what may stand where a file was expected, and what
the one who starts the server has left."""

import os
import signal
import socket
import subprocess

import pytest

import harness
from harness import wait_for, zone_text

CHECKCONF = harness.BUILD / "nsd-checkconf"
CHECKZONE = harness.BUILD / "nsd-checkzone"
NO_FILE = "not a regular file"


def make_thing(path, kind):
    """Makes a file that is not regular at path."""
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(str(path))
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()


def why_not(kind):
    return "Is a directory" if kind == "directory" else NO_FILE


KINDS = pytest.mark.parametrize("kind", ["fifo", "socket", "device",
                                         "directory"])


# ---- zone files ------------------------------------------------------------------

@KINDS
def test_no_file_as_zone_file_holds_up_no_other_zone(make_server, kind):
    """Fault 44: nor does one that is included."""
    server = make_server(zones={"a": None, "example": zone_text(),
                                "i": zone_text() + "$INCLUDE thing\n"})
    make_thing(server.directory / "thing", kind)
    make_thing(server.zone_file("a"), kind)
    server.start()
    server.wait_log("3 zones: 1 read, 2 failed")
    server.wait_log(rf"cannot open '.*a\.zone': {why_not(kind)}")
    server.wait_log(r"i\.zone:\d+: Cannot open include file 'thing': "
                    + why_not(kind))
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)
    assert server.rcode("www.a", "A") == "SERVFAIL"


def test_zone_file_that_becomes_a_fifo_keeps_its_version(nsd):
    """Fault 44, and it is read again once it is a file."""
    server = nsd(zones={"example": zone_text()})
    server.zone_file("example").unlink()
    os.mkfifo(server.zone_file("example"))
    server.reload()
    server.wait_log(rf"cannot open '.*example\.zone': {NO_FILE}")
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)


@pytest.mark.parametrize("text, why", [
    ("", "has no SOA record"),
    ("; nothing but this\n\n", "has no SOA record"),
    ("@ NS ns\nns A 192.0.2.1\n", "has no SOA record"),
    ("@ SOA ns h 2 3 4 5 6\n" + zone_text(2), "SOA"),
    (zone_text(2) + "sub SOA ns h 2 3 4 5 6\n", "SOA"),
    ("other. SOA ns h 2 3 4 5 6\n" + zone_text(2), "out of zone data"),
    (zone_text(2) + "$INCLUDE absent\n", "absent': No such file"),
    (zone_text(2) + "$INCLUDE bad.test.zone\n", "loop"),
    (zone_text(2) + "x A (192.0.2.1\n", "parenthesis is not closed"),
    (zone_text(2) + "x TXT \"a\n", "quoted string is not closed"),
    (zone_text(2) + "x A 192.0.2.1\0\n", "NUL octet"),
], ids=["empty", "comments", "no SOA", "two SOAs", "SOA below the apex",
        "SOA of another zone", "absent include", "include loop",
        "parenthesis", "quote", "NUL"])
def test_bad_file_says_where_and_keeps_its_version(nsd, text, why):
    """Fault 43, fault 44, fault 45: in a server that runs."""
    server = nsd(zones={"bad.test": zone_text()})
    known = len(server.read_log())
    server.write_zone("bad.test", text)
    server.reload()
    server.wait_log(r"error: .*bad\.test\.zone:\d+: .*" + why, known)
    assert server.serial("bad.test") == 1
    server.write_zone("bad.test", zone_text(3))
    server.reload()
    server.wait_serial("bad.test", 3)


def test_file_that_is_older_than_the_one_before_is_read(nsd):
    """Fault 49: it came of a backup."""
    server = nsd(zones={"example": zone_text(7)})
    server.write_zone("example", zone_text(8))
    os.utime(server.zone_file("example"), (1, 1))
    server.reload()
    server.wait_serial("example", 8)


def test_serials_wrap_and_what_is_read_is_served(nsd):
    """Fault 52: over 2^32, to 0, by 2^31, and the same with other data."""
    server = nsd(zones={"example": zone_text(2**32 - 1)})
    for serial, said in ((0, "serial 4294967295 is updated to 0"),
                         (2**31, "serial is updated to 2147483648"),
                         (2**31 + 9,
                          "serial 2147483648 is updated to 2147483657")):
        server.write_zone("example", zone_text(serial))
        server.reload()
        server.wait_log("zone example " + said)
        assert server.serial("example") == serial
    server.write_zone("example", zone_text(2**31 + 9, "192.0.2.9"))
    server.reload()
    harness.wait_for("the other data", lambda: server.answer(
        "www.example", "A") == ["192.0.2.9"])


def run(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, timeout=harness.DEADLINE, check=False,
                          **more)


@KINDS
def test_tools_refuse_what_is_no_file(directory, kind):
    """Fault 44, fault 74"""
    thing = directory / "thing"
    make_thing(thing, kind)
    result = run(CHECKZONE, "example", thing)
    assert result.returncode == 1
    assert f"cannot open '{thing}': {why_not(kind)}" in result.stderr
    result = run(CHECKCONF, thing)
    assert result.returncode == 2
    assert f"Could not open {thing}: {why_not(kind)}" in result.stderr
    conf = directory / "nsd.conf"
    conf.write_text(f"server:\ninclude: {thing}\n")
    result = run(CHECKCONF, conf)
    assert result.returncode == 2
    assert (f"{conf}:2: error: cannot open include file '{thing}': "
            f"{why_not(kind)}") in result.stderr


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0", "-"])
def test_checkzone_reads_a_pipe_that_it_was_given(name):
    text = zone_text()
    result = run(CHECKZONE, "example", name, input=text)
    assert (result.returncode, result.stdout) == (0, "zone example is ok\n")


def test_checkconf_reads_a_pipe_that_it_was_given():
    result = run(CHECKCONF, "-o", "port", "/dev/stdin",
                 input="server:\nport: 77\n")
    assert (result.returncode, result.stdout) == (0, "77\n")


# ---- the configuration -----------------------------------------------------------

@KINDS
def test_no_file_as_configuration_is_no_start(make_server, kind):
    """Fault 74"""
    server = make_server(zones={"example": zone_text()})
    server.config.unlink()
    make_thing(server.config, kind)
    result = server.run("-d")
    assert result.returncode == 1
    assert f"Could not open {server.config}: {why_not(kind)}" in result.stderr


# ---- other files of main's ---------------------------------------------------------

@pytest.mark.parametrize("kind", ["fifo", "socket", "directory"])
def test_no_file_as_database_is_memory_only(make_server, kind):
    """Fault 50"""
    server = make_server(zones={"example": zone_text()})
    database = server.directory / "nsd.db"
    make_thing(database, kind)
    server.options["database"] = f'"{database}"'
    server.write_config()
    server.start()
    server.wait_log(r"database .*nsd\.db is not used: .*; zones are kept in"
                    " memory only")
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.stop() == 0
    assert database.exists()


@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_no_file_as_pid_file_is_replaced(make_server, kind):
    """Fault 50"""
    server = make_server(zones={"example": zone_text()})
    make_thing(server.pidfile, kind)
    server.start()
    assert server.read_pid() == server.main_pid


@pytest.mark.parametrize("kind", ["fifo", "socket", "directory", None])
def test_log_file_that_cannot_be_written_is_no_end(make_server, kind):
    """Fault 50: it is said on the standard error output, where the log goes."""
    server = make_server(zones={"example": zone_text()})
    log = server.directory / ("none/log" if kind is None else "log")
    server.options["logfile"] = f'"{log}"'
    server.write_config()
    if kind is not None:
        make_thing(log, kind)
    server.start(ready=False)
    server.wait_answer()
    wait_for("the log", lambda: "1 zones: 1 read" in server.output)
    assert f"Cannot open {log} for appending (" in server.output
    if kind == "socket":
        log.unlink()
        server.signal(signal.SIGHUP)  # tries again
        wait_for("the log", lambda: log.exists())
        server.kill("server 1")
        wait_for("a line", lambda: "server 1 (pid" in log.read_text())
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.stop() == 0


def test_log_pipe_that_is_full_holds_nobody_up(make_server):
    """Fault 50: lines that it has no room for are lost."""
    server = make_server(zones={"example": zone_text()})
    pipe, server.log = server.log, server.directory / "none"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    filler = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(filler, b"x" * 4096)
    server.start(ready=False)
    server.wait_answer()
    server.wait_serial("example", 1)
    assert server.stop() == 0
    os.close(reader)
    os.close(filler)


# ---- what the one who starts it leaves open ----------------------------------------

def test_descriptors_left_open_are_not_kept(make_server, directory):
    """Fault 42: neither a file nor a socket of the starter's."""
    server = make_server(zones={"example": zone_text()},
                         options={"server-count": 2}, foreground=False)
    with (directory / "left").open("w") as left, \
            socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        started = subprocess.run(
            server.command(), stdin=subprocess.DEVNULL, check=False,
            pass_fds=[left.fileno(), listener.fileno()],
            timeout=harness.DEADLINE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        assert started.returncode == 0
        strange = {os.readlink(f"/proc/self/fd/{f.fileno()}")
                   for f in (left, listener)}
        server.sessions.append(server.read_pid())
        server.wait_serving()
        for name, pid in server.roles().items():
            open_there = set(harness.open_files(pid).values())
            assert not open_there & strange, name
    assert server.answer("www.example", "A") == ["192.0.2.1"]


def test_configuration_may_come_by_a_descriptor(make_server):
    """The descriptor is closed only when it has been read."""
    server = make_server(zones={"example": zone_text()})
    reader, writer = os.pipe()
    os.write(writer, server.config.read_bytes())
    os.close(writer)
    server.config = f"/dev/fd/{reader}"
    with server.output_file.open("w") as output:
        server.process = subprocess.Popen(
            server.command("-d"), stdin=subprocess.DEVNULL, stdout=output,
            stderr=output, pass_fds=[reader], start_new_session=True)
    pipe = os.readlink(f"/proc/self/fd/{reader}")
    os.close(reader)
    server.sessions.append(server.process.pid)
    server.wait_serving()
    for pid in server.roles().values():
        assert pipe not in harness.open_files(pid).values()
