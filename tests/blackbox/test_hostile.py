"""Attacks by local users on a server that root starts: links, sockets,
files."""

import os
import re
import resource
import signal
import socket
import subprocess

import pytest

import harness
from harness import wait_for, zone_text

needs_root = pytest.mark.skipif(os.geteuid() != 0,
                                reason="being two users needs root")


# ---- what the one who starts it leaves open or closed ------------------------

@pytest.mark.parametrize("closed", [(0,), (2,), (0, 1, 2)])
def test_closed_standard_streams_become_nothing_else(make_server, closed):
    """Neither a socket nor the log may get the number of a stream."""
    server = make_server(zones={"example": zone_text()}, foreground=False)
    streams = " ".join(f"{fd}>&-" for fd in closed)
    started = subprocess.run(["sh", "-c", f'"$@" {streams}', "sh",
                              *server.command()], check=False,
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL,
                             timeout=harness.DEADLINE)
    assert started.returncode == 0
    server.sessions.append(server.read_pid())
    server.wait_serving()
    for name, pid in server.roles().items():
        for fd in range(3):
            assert os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/null", name
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.answer("www.example", "A", tcp=True) == ["192.0.2.1"]


# ---- the lifeline ---------------------------------------------------------------

def test_lifeline_that_nobody_serves_does_not_hold_a_start_up(make_server):
    """Any user may take the lifeline's name, and leave no room in its
    queue."""
    server = make_server(zones={"example": zone_text()})
    clients = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as squatter:
        squatter.bind(harness.lifeline_address(server.pidfile))
        squatter.listen(1)
        for _ in range(16):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            client.setblocking(False)
            clients.append(client)
            if client.connect_ex(squatter.getsockname()) != 0:
                break
        else:
            raise AssertionError("the queue is not full")
        server.start()
        assert server.answer("www.example", "A") == ["192.0.2.1"]
    for client in clients:
        client.close()
    assert "cannot make the lifeline" in server.read_log()


# ---- links in place of files ----------------------------------------------------

@needs_root
@pytest.mark.parametrize("there", [True, False])
def test_link_of_the_user_is_no_log_file(make_server, directory, there):
    """Root neither writes nor gives away what the link of another names."""
    own = directory / "log"
    own.mkdir()
    os.chown(own, 65534, 65534)
    precious = directory / "precious"
    if there:
        precious.write_text("root's\n")
    log = own / "nsd.log"
    log.symlink_to(precious)
    os.chown(log, 65534, 65534, follow_symlinks=False)
    server = make_server(zones={"example": zone_text()},
                         options={"username": "nobody",
                                  "logfile": f'"{log}"'},
                         foreground=False)
    result = server.run()
    assert result.returncode == 0
    server.sessions.append(server.read_pid())
    assert re.search(f"Cannot open {log} for appending ", result.stderr)
    assert precious.exists() == there
    if there:
        assert precious.read_text() == "root's\n"
        assert precious.stat().st_uid == 0


@needs_root
def test_link_of_root_leads_to_the_log_file(make_server, directory):
    """The log file behind the link can be opened anew when root is gone."""
    real = directory / "real.log"
    log = directory / "nsd.log"
    log.symlink_to(real)
    server = make_server(zones={"example": zone_text()},
                         options={"username": "nobody"})
    server.start()
    assert "nsd started" in real.read_text()
    assert real.stat().st_uid == 65534


@needs_root
def test_log_file_with_another_name_is_not_given_away(make_server, directory):
    precious = directory / "precious"
    precious.write_text("root's\n")
    os.link(precious, directory / "nsd.log")
    server = make_server(zones={"example": zone_text()},
                         options={"username": "nobody"})
    server.start()
    assert precious.stat().st_uid == 0


# ---- what stands in place of a zone file ----------------------------------------

def test_zone_file_cut_while_it_is_read_kills_no_loader(nsd):
    """Fault 49: no octet of it is looked at where a cut would be a SIGBUS."""
    server = nsd(zones={"example": zone_text()})
    loader = server.role("loader")
    path = server.zone_file("example")
    records = "".join(f"n{i} A 192.0.2.1\n" for i in range(200000))
    for serial in range(2, 6):
        server.write_zone("example", zone_text(serial) + records)
        server.reload()
        os.truncate(path, 4096)
        server.write_zone("example", zone_text(serial + 100))
        server.reload()
        server.wait_serial("example", serial + 100)
        server.write_zone("example", zone_text(serial))
        server.reload()
        server.wait_serial("example", serial)
    assert server.role("loader") == loader


# ---- files that may not grow ---------------------------------------------------------

def test_log_that_may_not_grow_ends_no_process(make_server, directory):
    """Fault 50: a limit of the size of files comes as a signal, too."""
    size = 1 << 30  # the store is a file with holes, and must fit
    log = directory / "full.log"
    log.touch()
    os.truncate(log, size)
    server = make_server(zones={"example": zone_text()},
                         options={"logfile": f'"{log}"'})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        server.start(ready=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    server.wait_serving()
    wait_for("the zone", lambda: server.rcode("www.example", "A") == "NOERROR")
    roles = server.roles()
    server.write_zone("example", zone_text(2))
    server.signal(signal.SIGHUP)
    server.wait_serial("example", 2)
    assert server.roles() == roles
    assert log.stat().st_size == size


# ---- a worker that is not ours any more ----------------------------------------------

@needs_root
@pytest.mark.parametrize("message", [
    b"\0", b"\0\0\0\0", b"\2\0\0\0", b"\6\0\0\0", b"\xff\xff\xff\xff",
    b"\0" * 200])
def test_worker_that_sends_what_it_may_not_is_replaced(nsd, message):
    """Cut, STOP, RELOAD, DAMAGED, no type at all, too long."""
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    roles = server.roles()
    # To main, and to xfrd.
    for sock in harness.sockets_of(roles["server 1"]):
        if sock.type == socket.SOCK_SEQPACKET:
            sock.send(message)
    server.wait_log("refused a message from server 1")
    server.wait_replaced("server 1", roles["server 1"])
    server.wait_serving()
    for name in ("main", "loader", "server 2", "xfrd"):
        assert server.roles()[name] == roles[name], name
    assert server.log.read_text().count(
        "refused a message from server 1") == 1
