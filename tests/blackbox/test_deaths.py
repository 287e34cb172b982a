"""Workers that die of what a client sends cost other clients nearly nothing
(doc/decisions/0136). tests/lib/nsd_deadly.c dies of names that say so."""

import math
import os
import re
import resource
import signal
import socket
import time

import pytest

import dns.message

import harness
from harness import BUILD, LATE, wait_for, zone_text
from test_loader_dies import wait_for_one_store

KILLS = 40
CLIENTS = 16
FILLED = "another zone store is filled"


@pytest.fixture
def start_deadly(make_server):
    def start(workers, **options):
        server = make_server(zones={"example": zone_text()}, options={
            "server-count": workers, "rrl-ratelimit": 0, **options})
        server.program = BUILD / "tests/lib/nsd_deadly"
        return server.start()
    return start


def wire_of(name):
    return dns.message.make_query(name, "A").to_wire()


def kill(server, how, tcp):
    wire = wire_of(f"{how}.example")
    if not tcp:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.sendto(wire, (server.address, server.port))
        return
    with socket.create_connection((server.address, server.port),
                                  timeout=harness.DEADLINE) as client:
        client.sendall(len(wire).to_bytes(2, "big") + wire)
        try:
            assert client.recv(1) == b""
        except ConnectionError:
            pass


def wait_other_store(server):
    """The second death has had one filled, and its workers took over."""
    server.wait_log("zone example read with success", count=2)
    wait_for_one_store(server)
    server.wait_serving()


def deaths(server):
    """The number of deaths in the log: lines of single ones, and counts of
    others."""
    log = server.read_log()
    return (log.count("was killed by signal")
            + sum(map(int, re.findall(r"error: (\d+) more processes have died",
                                      log))))


class Clients:
    """Clients with a port each, which do not wait for answers."""

    def __init__(self, server):
        self.sockets = []
        self.open = set()
        self.sent = self.answered = 0
        for _ in range(CLIENTS):
            client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            client.connect((server.address, server.port))
            client.setblocking(False)
            self.sockets.append(client)

    def ask(self):
        client = self.sockets[self.sent % CLIENTS]
        self.sent += 1
        message = dns.message.make_query("www.example", "A",
                                         id=self.sent & 0xffff)
        self.open.add(message.id)
        client.send(message.to_wire())

    def take(self):
        for client in self.sockets:
            try:
                while True:
                    number = int.from_bytes(client.recv(4096)[:2], "big")
                    self.answered += number in self.open
                    self.open.discard(number)
            except BlockingIOError:
                pass

    def finish(self):
        end = time.monotonic() + LATE
        while self.open and time.monotonic() < end:
            self.take()
            time.sleep(0.005)
        for client in self.sockets:
            client.close()
        return self.answered / self.sent


@pytest.mark.one_of_each("how", "tcp")
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("how, tcp, number", [
    ("die-segv", False, 11), ("die-abrt", False, 6), ("die-sys", False, 31),
    ("die-segv", True, 11)])
def test_messages_that_kill_take_few_others_along(start_deadly, workers, how,
                                                  tcp, number):
    """One such message for each five queries, as fast as they are taken."""
    server = start_deadly(workers)
    clients = Clients(server)
    for _ in range(KILLS):
        for _ in range(5):
            clients.ask()
            clients.take()
            time.sleep(0.001)
        kill(server, how, tcp)
    share = clients.finish()
    # On a busy machine fewer; a twentieth where nobody stands by.
    assert share > 0.5, f"{share} of all are answered"
    server.wait_log(rf"server \d \(pid \d+\) was killed by signal {number},"
                    " replacing it")
    # Not each has a line of its own, and few are in a batch with another.
    wait_for("deaths", lambda: deaths(server) >= 15)
    assert server.read_log().count("was killed by signal") <= 40
    server.wait_serving()


def test_connections_of_other_workers_stay(start_deadly):
    server = start_deadly(4)
    wire = wire_of("www.example")
    clients = [socket.create_connection((server.address, server.port),
                                        timeout=harness.DEADLINE)
               for _ in range(32)]

    def ask(client):
        try:
            client.sendall(len(wire).to_bytes(2, "big") + wire)
            return len(client.recv(4096)) > 2
        except OSError:
            return False

    assert all(map(ask, clients))
    pids = {name: pid for name, pid in server.roles().items()
            if name.startswith("server")}
    kill(server, "die-segv", True)
    server.wait_log("was killed by signal 11")
    server.wait_serving()
    dead = {name for name, pid in pids.items()
            if server.roles()[name] != pid}
    assert len(dead) == 1
    # A quarter of them, as chance has it, and none of others.
    assert sum(map(ask, clients)) >= 8
    for client in clients:
        client.close()


def test_updates_go_on_meanwhile(start_deadly):
    """And the loader is left alone while queries are answered: it fills another
    store once."""
    server = start_deadly(2)
    clients = Clients(server)
    for i in range(32):
        for _ in range(12):
            clients.ask()
            time.sleep(0.001)
            clients.take()
        kill(server, "die-segv", False)
        if i in (10, 20, 30):
            server.write_zone("example", zone_text(i))
            server.reload()
            server.wait_serial("example", i)
    assert clients.finish() > 0.5
    # Once, and then after pauses that grow.
    assert 1 <= server.read_log().count(FILLED) <= 8


def test_reconfig_while_another_store_is_filled(start_deadly):
    """The loader that fills it goes on, with what is new; that store is served
    once it has zones that are new, too."""
    made = start_deadly(2, **{"reload-config": "yes"})
    more = harness.Held(made.directory / "more.inc")
    made.zone_file("example").write_text(zone_text(2) + "$INCLUDE more.inc\n")
    for _ in range(2):
        known = deaths(made)
        kill(made, "die-segv", False)
        wait_for("its end", lambda known=known: deaths(made) > known)
        made.wait_serving()
    made.wait_log(FILLED)
    with more.opened():
        loader = made.role("loader")
        made.zone_file("new").write_text(zone_text(5))
        made.zones["new"] = None
        made.write_config()
        made.signal(signal.SIGHUP)
        made.wait_log("1 zones are new")
        # The new configuration is not in effect yet; the store from before is
        # served.
        assert made.serial("example") == 1
    wait_for_one_store(made)
    made.wait_serial("new", 5)
    made.wait_serial("example", 2)
    made.wait_log("reconfig: done")
    assert made.role("loader") == loader
    # Two workers, and the loader of the store from before.
    assert deaths(made) == 3


@pytest.mark.lasts(15)
@pytest.mark.parametrize("workers", [1, 4])
def test_messages_that_kill_do_not_have_stores_filled_all_the_time(
        start_deadly, workers):
    """200 a second and nobody else's, so that the pauses are the shortest: 0.25
    s, and each twice as long as the one before."""
    server = start_deadly(workers)
    begin = time.monotonic()
    sent = 0
    while time.monotonic() - begin < 8:
        kill(server, "die-segv", False)
        sent += 1
        time.sleep(max(0, begin + sent / 200 - time.monotonic()))
    took = time.monotonic() - begin
    fillings = server.read_log().count(FILLED)
    assert deaths(server) > 10 * fillings
    assert 1 <= fillings <= 2 + math.log2(1 + took / 0.25)
    server.wait_serving()
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)


def test_one_stands_by_only_while_workers_die(start_deadly):
    server = start_deadly(1)
    assert "standby 1" not in server.processes()
    kill(server, "die-segv", False)
    server.wait_log("was killed by signal 11")
    server.wait_serving()
    assert "standby 1" not in server.processes()
    kill(server, "die-segv", False)
    wait_other_store(server)
    standby = wait_for("one that stands by",
                       lambda: server.processes().get("standby 1"))
    pid = server.role("server 1")
    kill(server, "die-segv", False)
    assert server.wait_replaced("server 1", pid) == standby
    # The standby is a worker like any other: settings, log and the end.
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)
    assert server.answer("www.example", "A", tcp=True) == ["192.0.2.1"]
    assert server.stop() == 0
    assert server.leftovers() == []


def start_with_standby(start_deadly):
    """A worker, and one that stands by for it."""
    server = start_deadly(1)
    for death in range(3):
        pid = server.role("server 1")
        kill(server, "die-segv", False)
        server.wait_replaced("server 1", pid)
        # While another worker takes over, either may be the one that dies.
        if death == 1:
            wait_other_store(server)
    return server, wait_for("one that stands by",
                            lambda: server.processes().get("standby 1"))


def test_one_that_stands_by_may_die(start_deadly):
    server, pid = start_with_standby(start_deadly)
    worker = server.role("server 1")
    known = len(server.read_log())
    os.kill(pid, signal.SIGKILL)
    server.wait_log(rf"standby 1 \(pid {pid}\) was killed by signal 9", known)
    wait_for("another one", lambda: server.processes().get("standby 1", pid)
             != pid)
    assert server.role("server 1") == worker


def test_one_that_stands_by_serves_once_main_is_gone(start_deadly):
    """Without main no process can tell the standby to serve, and queries to
    the sockets that it holds would wait for ever."""
    server, standby = start_with_standby(start_deadly)
    worker = server.role("server 1")
    server.kill("main")
    server.wait_log("main process is gone; server 1 goes on answering",
                    count=2)
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    os.kill(worker, signal.SIGKILL)
    assert server.wait_replaced("server 1", worker) == standby
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.answer("www.example", "A", tcp=True) == ["192.0.2.1"]

    # A new start takes over.
    server.process.wait()
    server.start()
    assert not harness.is_alive(standby)
    assert server.stop() == 0
    assert server.leftovers() == []


def test_none_stands_by_for_want_of_descriptors(start_deadly):
    """The last descriptors are for the workers that serve."""
    server = start_deadly(4)
    xfrd = server.role("xfrd")
    room = max(harness.open_files(server.main_pid)) + 8
    resource.prlimit(server.main_pid, resource.RLIMIT_NOFILE, (room, room))
    lacks = "Too many open files"
    for _ in range(16):
        pids = server.roles().items()
        kill(server, "die-segv", False)
        wait_for("another worker", lambda before=pids: lacks
                 in server.read_log() or before - server.roles().items())
        assert lacks not in server.read_log()
        server.wait_serving()
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)
    assert lacks not in server.read_log()
    assert server.role("xfrd") == xfrd
