"""The query log where it is harder to write: over TLS and behind a proxy, in a
chroot, by another user, at syslog, on a full disk, and while it is rotated."""

import os
import pathlib
import re
import socket
import struct
import threading

import pytest

import dns.message

import control
import harness
from harness import DEADLINE, wait_for, zone_text
from ports import free_port
from test_proxy import header
from test_query_log import LIMIT, Log
from test_reconfig_log import DEV, Syslog
from tls_client import Client, context_for

pytestmark = pytest.mark.plain

needs_root = pytest.mark.skipif(os.geteuid() != 0,
                                reason="another user needs root")
NOBODY = 65534


def exchange(sock, octets):
    """Sends a message over a stream, and returns the next one."""
    sock.sendall(struct.pack("!H", len(octets)) + octets)
    with sock.makefile("rb") as stream:
        return stream.read(int.from_bytes(stream.read(2), "big"))


def test_over_tls(start_tls, authority, directory):
    path = directory / "queries.log"
    server = start_tls(more="server:\n"
                       f'\tquery-log: "{path}"\n'
                       '\tquery-log-format: "protocol client port local'
                       ' localport qname rcode size"\n')
    message = dns.message.make_query("www.example", "A")
    with Client(server.tls_port, context_for(authority)) as client:
        source = client.sock.getsockname()[1]
        client.send(message)
        size = struct.unpack("!H", client.read_exactly(2))[0]
        assert client.read_exactly(size)[:2] == message.to_wire()[:2]
    line = (f"tls 127.0.0.1 {source} 127.0.0.1 {server.tls_port}"
            f" www.example. NOERROR {size}\n")
    wait_for("its line", lambda: path.exists() and line in path.read_text())


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("client", ["192.0.2.7", "2001:db8::7"])
def test_client_and_server_of_a_proxy(make_server, client, tcp):
    port = free_port()
    log = Log(make_server, **{"ip-address": ["127.0.0.1", f"127.0.0.1@{port}"],
                              "proxy-protocol-port": port})
    octets = dns.message.make_query("www.example", "A").to_wire()
    head = header(client, 4321)
    if tcp:
        with socket.create_connection(("127.0.0.1", port), DEADLINE) as sock:
            sock.sendall(head)
            exchange(sock, octets)
    else:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(DEADLINE)
            sock.sendto(head + octets, ("127.0.0.1", port))
            sock.recv(65535)
    row = log.find("www.example")
    assert (row["client"], row["port"], row["protocol"]) == (
        client, 4321, "tcp" if tcp else "udp")
    assert (row["local"], row["localport"]) == (client, 53)


# ---- users


def as_nobody(make_server, directory, path, **options):
    """A server of another user, with the query log at a path."""
    server = make_server(zones={"example": zone_text()}, options={
        "username": "nobody", "query-log": f'"{path}"',
        "query-log-format": '"qname"', **options})
    os.chown(directory, NOBODY, NOBODY)
    if harness.is_sanitized():
        # The leak check needs what this user may not do.
        server.look_for_no_leaks()
    control.config(server)
    return server.start()


def wait_line(server, path, name):
    """Asks for a name, and waits for its line."""
    server.query(name, "A")
    wait_for(f"the line of {name}", lambda: path.exists()
             and f"{name}.\n" in path.read_text())


@needs_root
@pytest.mark.parametrize("in_chroot", [False, True], ids=["user", "chroot"])
def test_another_user(make_server, directory, in_chroot):
    """The file is made by the user, by its name outside of the chroot."""
    path = directory / "queries.log"
    chroot = {"chroot": f'"{directory}"'} if in_chroot else {}
    server = as_nobody(make_server, directory, path, **chroot)
    wait_line(server, path, "www.example")
    assert path.stat().st_uid == NOBODY
    old = path.with_suffix(".old")
    path.rename(old)
    assert control.ask(server, "log_reopen") == (0, "ok\n")
    wait_line(server, path, "ns.example")
    assert path.stat().st_uid == NOBODY
    assert "ns.example" not in old.read_text()
    server.wait_replaced("collector", server.kill("collector"))
    wait_line(server, path, "mail.example")


@needs_root
def test_folder_of_somebody_else(make_server, directory):
    """A log that its user may not write holds nobody up, and lines come as
    soon as that is mended."""
    folder = directory / "own"
    folder.mkdir()
    folder.chmod(0o755)
    path = folder / "queries.log"
    server = as_nobody(make_server, directory, path)
    server.wait_log(f"query log: cannot open {path}: Permission denied")
    for _ in range(3):
        assert server.answer("www.example", "A") == ["192.0.2.1"]
    server.wait_log(r"query log: \d+ lines were lost: it is not open")
    assert control.ask(server, "log_reopen") == (
        1, "error cannot open the log file: Permission denied\n")
    folder.chmod(0o777)
    assert control.ask(server, "log_reopen") == (0, "ok\n")
    wait_line(server, path, "www.example")


# ---- syslog


@needs_root
def test_syslog(make_server):
    """Lines are messages of the facility and the level of the log's; a daemon
    that comes back gets those from then on."""
    server = make_server(zones={"example": zone_text()}, options={
        "query-log": "syslog:", "query-log-format": '"protocol qname rcode"'})
    dev = server.directory / "dev"
    dev.mkdir()
    daemon = Syslog(server.directory / "syslog")
    server.launcher = ["unshare", "-m", "sh", "-ec", DEV, "sh", str(dev),
                       str(daemon.path)]
    control.config(server).start()

    def comes(name, rcode):
        """Lines of the time without a daemon are lost: asks until one
        comes."""
        server.query(name, "A")
        return re.search(
            r"^<30>[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d"
            rf" nsd\[\d+\]: udp {name}\. {rcode}$", daemon.read(), re.M)
    try:
        wait_for("a line", lambda: comes("www.example", "NOERROR"))
        daemon.end()

        def is_told():
            server.query("www.example", "A")
            return re.search(r"query log: \d+ lines were lost:"
                             " the syslog daemon has gone",
                             server.read_log())
        wait_for("lost lines", is_told)
        daemon.begin()
        wait_for("another line", lambda: comes("nope.example", "NXDOMAIN"))
    finally:
        daemon.end()


# ---- the disk


def test_disk_that_is_full_and_has_room_again(make_server, directory):
    """Lines are whole, also those behind the one that the full disk has
    cut."""
    full = directory / "full"
    full.mkdir()
    server = make_server(zones={"example": zone_text()}, options={
        "query-log": f'"{full}/queries.log"',
        "query-log-format": '"qname qtype rcode"'})
    server.launcher = [
        "unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
        f"mount -t tmpfs -o size=64k,mode=777 full {full} && "
        f"dd if=/dev/zero of={full}/ballast bs=4k count=15 2>/dev/null; "
        'exec "$@"', "sh"]
    control.config(server).start()
    inside = pathlib.Path(f"/proc/{server.main_pid}/root{full}")

    def is_full():
        for _ in range(50):
            server.query("www.example", "A")
        return re.search(r"query log: \d+ lines were lost: No space left on"
                         " device", server.read_log())
    wait_for("a full disk", is_full)
    (inside / "ballast").unlink()

    def has_last():
        server.query("last.example", "A")
        return "\nlast.example. A NXDOMAIN\n" in (
            inside / "queries.log").read_text()
    wait_for("lines behind that", has_last)
    whole = {"www.example. A NOERROR", "last.example. A NXDOMAIN"}
    lines = [line for line in (inside / "queries.log").read_text().splitlines()
             if "id.server" not in line]
    # One line was cut at most, and has its end.
    assert len([line for line in lines if line not in whole]) <= 1, lines


# ---- rotation


class Load:
    """Asks for one name after the other, over some sockets, until it ends."""

    def __init__(self, server, threads=2):
        self.server = server
        self.ended = False
        self.names = [[] for _ in range(threads)]
        self.threads = [threading.Thread(target=self.ask, args=(i,),
                                         daemon=True) for i in range(threads)]
        for thread in self.threads:
            thread.start()

    def ask(self, number):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(LIMIT)
            sock.connect(("127.0.0.1", self.server.port))
            while not self.ended:
                name = f"n{len(self.names[number])}.t{number}.example."
                sock.send(dns.message.make_query(name, "A").to_wire())
                sock.recv(65535)
                self.names[number].append(name)

    def count(self):
        return sum(map(len, self.names))

    def end(self):
        """All names that have been answered."""
        self.ended = True
        for thread in self.threads:
            thread.join(LIMIT)
        return [name for names in self.names for name in names]


def test_rotation_under_load_loses_no_line(make_server):
    """Each query has one line, in one of the files, and a file gets none any
    more once log_reopen has said ok."""
    log = Log(make_server, "qname", **{"server-count": 2})
    load = Load(log.server)
    rotated = {}
    for number in range(8):
        before = load.count()
        wait_for("some queries", lambda: load.count() > before + 50)
        old = log.path.with_suffix(f".{number}")
        log.path.rename(old)
        assert control.ask(log.server, "log_reopen") == (0, "ok\n")
        rotated[old] = old.read_text()
    names = sorted(load.end())

    def lines():
        found = [line for path in [*rotated, log.path]
                 for line in path.read_text().splitlines()
                 if "id.server" not in line]
        return sorted(found) if len(found) >= len(names) else None
    assert wait_for("all lines", lines) == names
    for old, text in rotated.items():
        assert old.read_text() == text and text.endswith("\n")


def test_log_reopen_between_two_collectors(make_server):
    """While the collector is in its pause before a restart, the file is made,
    or the command fails; the next collector writes to that file."""
    log = Log(make_server, "qname")
    server = log.server
    log.ask("one.example")
    log.lines(1)

    def kill_until_it_rests():
        """Pauses are 0, 1, 2 and 4 seconds."""
        for _ in range(3):
            server.wait_replaced("collector", server.kill("collector"))
        server.kill("collector")

    kill_until_it_rests()
    old = log.path.with_suffix(".old")
    log.path.rename(old)
    log.path.mkdir()
    assert control.ask(server, "log_reopen") == (
        1, "error cannot open the log file: Is a directory\n")
    log.path.rmdir()
    log.ask("two.example")
    assert control.ask(server, "log_reopen") == (0, "ok\n")
    assert log.path.exists()
    assert log.lines(1) == ["two.example."]
    assert log.lines(1, old) == ["one.example."]
