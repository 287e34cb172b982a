"""The store outlives the loaders that write it: whenever one is killed, the
workers, their connections and what they serve stay, and the next one goes on."""

import os
import random
import re
import signal
import socket
import struct
import time

import pytest

import dns.message
import dns.query

import harness
from away import while_away
from forked import forked
from harness import (Load, at_once, is_alive, open_files, wait_for,
                     zone_text)

SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))


def memory_file(server, name):
    """Main's descriptor of a file in memory, as a path."""
    main = server.main_pid
    fd = min(fd for fd, file in open_files(main).items()
             if f"memfd:{name}" in file)
    return f"/proc/{main}/fd/{fd}"


def wait_for_one_store(server):
    """Waits until main has closed the other stores: it has each store open
    twice."""
    wait_for("one store", lambda: sum(
        "nsd-store" in file
        for file in open_files(server.main_pid).values()) == 2)


def store_octets(server):
    """The memory that the store has."""
    return os.stat(memory_file(server, "nsd-store")).st_blocks * 512


def store_line(server, patience=harness.DEADLINE):
    """The statistics of the store; None if no loader says them."""
    known = len(server.read_log())
    server.signal(signal.SIGUSR1)
    try:
        line = wait_for("statistics", lambda: re.search(
            r"info: STORE (.*)", server.read_log()[known:]), patience)
    except AssertionError:
        return None
    return {f.split("=")[0]: int(f.split("=")[1]) for f in line[1].split()
            if f.split("=")[1].isdigit()}


def settled_line(server):
    """The same, once nothing waits for readers and none is at work: each is
    for a moment, and longer on a busy machine."""
    def look():
        line = store_line(server, 0.5)
        return line if line and line["retired"] == line["oldest"] == 0 else None
    return wait_for("everything reclaimed", look)


class Connection:
    """TCP, held open."""

    def __init__(self, server):
        self.socket = socket.create_connection(
            (server.address, server.port), harness.DEADLINE)

    def ask(self, name="www.example"):
        query = dns.message.make_query(name, "A")
        dns.query.send_tcp(self.socket, query,
                           time.time() + harness.DEADLINE)
        response, _ = dns.query.receive_tcp(
            self.socket, time.time() + harness.DEADLINE)
        return response.answer[0][0].to_text()


def many_names(serial, count=2000):
    return zone_text(serial) + "".join(
        f"h{i} A 10.0.{i // 250}.{i % 250}\n" for i in range(count)
    ) + f"at{serial} A 192.0.2.7\n"


def test_workers_and_connections_stay(nsd):
    server = nsd(zones={"example": zone_text(), "b.test": zone_text(),
                        "none.test": None}, options={"server-count": 2})
    connection = Connection(server)
    assert connection.ask() == "192.0.2.1"
    roles = server.roles()
    old = server.kill("loader")
    server.wait_replaced("loader", old)
    server.wait_log("the loader takes over: [1-9][0-9]* octets")
    server.wait_log("3 zones: 0 read, 1 failed")
    assert connection.ask() == "192.0.2.1"
    now = server.roles()
    assert {r: p for r, p in now.items() if r != "loader"} == {
        r: p for r, p in roles.items() if r != "loader"}
    assert server.read_log().count("read with success") == 2
    server.write_zone("example", zone_text(2, "192.0.2.2"))
    server.reload()
    server.wait_log("zone example serial 1 is updated to 2")
    assert connection.ask() == "192.0.2.2"
    # Only what has changed is read, as if it were the loader of the start.
    assert server.read_log().count("zone b.test read with success") == 1


def test_change_that_nobody_asked_to_read_waits(nsd):
    server = nsd(zones={"example": zone_text()},
                 options={"zonefiles-check": "no"})
    server.write_zone("example", zone_text(2))
    old = server.kill("loader")
    server.wait_replaced("loader", old)
    server.wait_log("1 zones: 0 read, 0 failed")
    assert server.serial("example") == 1


def test_reload_is_not_lost_with_its_loader(nsd):
    """The loader is killed while it reads."""
    server = nsd(zones={"example": zone_text()})
    more = harness.Held(server.directory / "more.inc")
    server.write_zone("example", zone_text(2) + "$INCLUDE more.inc\n")
    server.reload()
    with more.opened():  # the loader is in the middle now
        server.write_zone("example", zone_text(3))
        server.kill("loader")
    server.wait_serial("example", 3)


def test_reload_without_a_loader_is_done_by_the_next(nsd):
    server = nsd(zones={"example": zone_text()})
    server.wait_replaced("loader", server.kill("loader"))
    server.wait_log("1 zones: 0 read, 0 failed")
    serials = iter(range(2, 10))

    def reload(_):  # the loader is away for a second
        server.write_zone("example", zone_text(next(serials)))
        server.reload()

    while_away(server, "loader", reload)
    server.wait_serial("example", next(serials) - 1)


def test_reload_is_not_lost_with_a_loader_that_has_just_died(nsd):
    """Main hears of the signal first, then of the death."""
    server = nsd(zones={"example": zone_text()})
    os.kill(server.main_pid, signal.SIGSTOP)
    server.kill("loader")
    server.write_zone("example", zone_text(2))
    server.signal(signal.SIGHUP)
    os.kill(server.main_pid, signal.SIGCONT)
    server.wait_serial("example", 2)


def kill_reader(server, held):
    """Kills the loader that waits for that file, which the next one finds
    held anew; whether there was one that was not dying yet."""
    # Until it is held again there must be no next one.
    os.kill(server.main_pid, signal.SIGSTOP)
    wait_for("its stop",
             lambda: harness.process_state(server.main_pid) == "T")
    loader = server.roles().get("loader")
    found = loader is not None and is_alive(loader)
    if found:
        os.kill(loader, signal.SIGKILL)
        wait_for("its end", lambda: not is_alive(loader))
    held.hold()
    os.kill(server.main_pid, signal.SIGCONT)
    return found


def test_killed_in_its_first_pass(make_server):
    """Under load: what is read by then is not read again."""
    count = 400
    server = make_server(zones={f"z{i}.example": zone_text(i + 1)
                                for i in range(count)},
                         options={"verbosity": 1})
    slow = harness.Held(server.directory / "slow.inc")
    server.write_zone("slow.example", zone_text(7) + "$INCLUDE slow.inc\n")
    server.write_config()
    server.start(ready=False)
    server.wait_log("nsd started")
    server.wait_serving()
    wait_for("the first zones", lambda: server.read_log().count(
        "read with success") > count / 2)
    load = Load(server, name="www.z0.example")
    workers = server.role("server 1")
    for _ in range(2):  # by three it would be set aside
        wait_for("a loader that reads it", slow.is_waited_for)
        load.step_answers(100)
        assert kill_reader(server, slow)
        load.step_answers(100)
    with slow.opened():
        load.step_answers(100)
    server.wait_log(f"{count + 1} zones: [0-9]+ read, 0 failed")
    load.finish()
    assert load.lost == 0
    assert server.role("server 1") == workers
    for i in range(0, count, 41):
        assert server.serial(f"z{i}.example") == i + 1
    assert server.serial("slow.example") == 7
    assert server.read_log().count("zone z0.example read with success") == 1


def die_of(server, deadly, known):
    """Each loader that comes to read it is killed; how many there were."""
    deaths = 0
    end = time.monotonic() + harness.DEADLINE
    while "is set aside until" not in server.read_log()[known:]:
        assert time.monotonic() < end
        if not deadly.is_waited_for():
            time.sleep(0.005)
            continue
        deaths += kill_reader(server, deadly)
        assert deaths < 10
    return deaths


def test_zone_that_loaders_die_of_is_set_aside(make_server):
    """Other zones are read at the start, and the zone is once its file
    changes."""
    server = make_server(zones={f"{z}.test": zone_text(3) for z in "abcd"})
    deadly = harness.Held(server.directory / "deadly.inc")
    server.write_zone("b.test", zone_text(5) + "$INCLUDE deadly.inc\n")
    server.write_config()
    server.start(ready=False)
    assert die_of(server, deadly, 0) == 3
    server.wait_log("error: zone b.test: 3 loaders have died while they read"
                    " b.test.zone; it is set aside until that file changes")
    server.wait_log("4 zones: [0-9]+ read, 1 failed")
    server.wait_serving()
    for zone in "acd":
        assert server.serial(f"{zone}.test") == 3
    assert server.rcode("b.test", "SOA") == "SERVFAIL"
    # Other zones are read on, and this one stays as it is.
    known = len(server.read_log())
    server.write_zone("a.test", zone_text(4))
    server.reload()
    server.wait_serial("a.test", 4)
    server.wait_log("zone b.test: 3 loaders have died", known)
    known = len(server.read_log())
    server.write_zone("b.test", zone_text(6))
    server.reload()
    server.wait_serial("b.test", 6)
    assert "set aside" not in server.read_log()[known:]


def test_zone_that_loaders_die_of_keeps_its_version(nsd):
    """In a reload, which the next loader is told of again."""
    server = nsd(zones={f"{z}.test": zone_text(3) for z in "abc"})
    deadly = harness.Held(server.directory / "deadly.inc")
    known = len(server.read_log())
    server.write_zone("a.test", zone_text(5) + "$INCLUDE deadly.inc\n")
    server.write_zone("b.test", zone_text(7))
    server.reload()
    assert die_of(server, deadly, known) == 3
    server.wait_serial("b.test", 7)
    assert server.serial("a.test") == 3
    (server.directory / "deadly.inc").unlink()
    server.write_zone("a.test", zone_text(9))
    server.reload()
    server.wait_serial("a.test", 9)


def test_killed_again_and_again(make_server):
    """While idle and at random moments of reloads, under load: no query is
    lost, no connection ends, and the store does not grow."""
    print("SEED", SEED)
    at_once(kill_again_and_again, [make_server(
        f"nsd{i}", zones={"example": many_names(1), "b.test": zone_text()},
        options={"server-count": 2}).start() for i in range(3)])


def kill_again_and_again(server, number):
    rng = random.Random(SEED + number)
    connection = Connection(server)
    roles = server.roles()
    for serial in (2, 3):  # a second version beside the first has its room
        server.write_zone("example", many_names(serial))
        server.reload()
        server.wait_serial("example", serial)
    before = settled_line(server)
    octets = store_octets(server)
    load = Load(server)
    serial = 3
    for turn in range(10):
        serial += 1
        old = server.role("loader")
        if turn % 5 != 0:
            server.write_zone("example", many_names(serial))
            server.signal(signal.SIGHUP)
            load.step(rng.random() * 0.03)
        os.kill(old, signal.SIGKILL)
        if turn % 5 == 0:
            server.write_zone("example", many_names(serial))
            server.signal(signal.SIGHUP)
        wait_for("another loader", lambda o=old: load.step(0.02)
                 or server.roles().get("loader", o) != o)
        wait_for(f"serial {serial}", lambda s=serial: load.step(0.02)
                 or server.serial("example") == s)
        assert connection.ask() == "192.0.2.1"
        assert server.answer(f"at{serial}.example", "A") == ["192.0.2.7"]
        assert server.rcode(f"at{serial - 1}.example", "A") == "NXDOMAIN"
    load.finish()
    assert load.lost == 0
    assert {r: p for r, p in server.roles().items() if r != "loader"} == {
        r: p for r, p in roles.items() if r != "loader"}
    # Where names differ in length, so do nodes; what the writer made for
    # itself to find equal RRsets by may be gone.
    assert settled_line(server)["live"] <= before["live"] + 64
    wait_for("memory to go back",
             lambda: store_octets(server) <= octets * 1.25)
    assert "damaged" not in server.read_log()


@pytest.mark.lasts(15)
def test_damaged_store_is_left_behind(nsd):
    """A damaged store is left, and so is a worker that hangs and does not
    leave it."""
    server = nsd(zones={"example": zone_text()},
                 options={"server-count": 2, "replace-hung": "no"})
    workers = {r: p for r, p in server.roles().items() if "server" in r}
    hung = workers["server 1"]
    os.kill(hung, signal.SIGSTOP)
    with open(memory_file(server, "nsd-store"), "r+b") as f:
        f.seek(4096)
        f.write(bytes(1024))  # the first span says that it is free
    server.kill("loader")
    server.wait_log("error: the zone store is damaged")
    server.wait_log("a new one is to be filled from zone files")
    server.wait_log(rf"server 1 \(pid {hung}\) does not end, killing it")
    wait_for("new workers", lambda: all(
        server.roles().get(r, p) != p for r, p in workers.items()))
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    wait_for_one_store(server)
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_stores_are_made_in_a_chroot_for_ever(make_server, directory):
    """Stores are made in a chroot without /proc, by a user that is not
    root."""
    os.chown(directory, 65534, 65534)
    server = make_server(zones={"example": zone_text()}, options={
        "username": "nobody", "chroot": f'"{directory}"'})
    if harness.is_sanitized():
        server.look_for_no_leaks()
    server.start()
    files = None
    for turn in range(6):
        worker = server.role("server 1")
        with open(memory_file(server, "nsd-store"), "r+b") as f:
            f.seek(4096)
            f.write(bytes(1024))
        server.kill("loader")
        server.wait_log("1 zones: 1 read, 0 failed", count=turn + 2)
        wait_for("the old worker's end", lambda p=worker: not is_alive(p))
        server.wait_serving()
        assert server.answer("www.example", "A") == ["192.0.2.1"]
        wait_for_one_store(server)
        files = files or len(open_files(server.main_pid))
        wait_for("no more open files",
                 lambda: len(open_files(server.main_pid)) <= files)
    # Only main has /proc open.
    for role, pid in server.roles().items():
        assert (role == "main") == any(
            re.fullmatch(r"/proc/\d+/fd", file)
            for file in open_files(pid).values()), role


ROOT = 128  # of the table, in the first page
SETTINGS = 132


def alter_store(path, references, offset, value):
    """Follows references, each at an offset from the object before, and
    changes what stands at one there."""
    at = 0
    with open(path, "r+b") as f:
        for reference in references:
            f.seek(at + reference)
            at = struct.unpack("=I", f.read(4))[0] * 8
        f.seek(at + offset)
        f.write(struct.pack("=I", value))


@pytest.mark.one_of_each("references", "offset")
@pytest.mark.parametrize("references, offset", [
    ([], ROOT), ([ROOT], 8), ([ROOT, 8], 8), ([ROOT, 8], 24),
    ([ROOT, 8, 8], 20), ([ROOT, 8, 8, 20], 8), ([], SETTINGS),
    ([ROOT, 8], 12), ([ROOT, 8], 16), ([ROOT, 8], 20)],
    ids=["table", "entry", "zone", "sources", "names", "node", "settings",
         "options", "pattern", "own"])
@pytest.mark.parametrize("wild", [0x7fffff00, 1])
def test_reference_out_of_the_store_is_damage(nsd, references, offset, wild):
    """A loader tells it from others before it follows it."""
    server = nsd(zones={"example": zone_text()})
    worker, xfrd = server.role("server 1"), server.role("xfrd")
    # xfrd trusts the store: a second xfrd that dies of it brings another
    # store.
    os.kill(xfrd, signal.SIGSTOP)
    alter_store(memory_file(server, "nsd-store"), references, offset, wild)
    server.kill("loader")
    server.wait_log("error: the zone store is damaged")
    os.kill(xfrd, signal.SIGCONT)
    server.wait_log("zone example read with success", count=2)
    # A worker that still has the old store is not to be asked.
    wait_for("the end of the old worker", lambda: not harness.is_alive(worker))
    server.wait_serving()
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    for number in (7, 11):
        assert not re.search(rf"loader \(pid \d+\) was killed by signal {number}",
                             server.read_log())


def test_store_that_kills_its_loaders_is_left_behind(nsd):
    """Damage that is not noticed but walked into: more zones than there is
    memory for."""
    server = nsd(zones={"example": zone_text()})
    alter_store(memory_file(server, "nsd-store"), [ROOT], 12, 0xffffffff)
    server.kill("loader")
    server.wait_log("3 loaders could not take over the zone store")
    server.wait_log("zone example read with success", count=2)
    server.wait_answer()
    wait_for("an answer", lambda: server.rcode("www.example", "A")
             == "NOERROR")


def worker_is_online(server):
    """True while the worker is online: the first page of the readers' file is
    its slot, with the epoch that it sees."""
    with open(memory_file(server, "nsd-readers"), "rb") as f:
        return struct.unpack("=Q", f.read(8))[0] != 0


def flood(server):
    """Asks all workers all the time, until it is ended."""
    clients = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
               for _ in range(16)]
    for s in clients:
        s.connect((server.address, server.port))
    wire = dns.message.make_query("www.example", "A").to_wire()
    while True:
        for s in clients:
            s.send(wire)


def test_dead_worker_holds_nothing_back(nsd):
    """A worker dies within a batch, and main clears its place among the
    readers: the standby has another place."""
    server = nsd(zones={"example": zone_text()},
                 options={"server-count": 2, "replace-hung": "no"})
    for _ in range(2):
        pid = stop_within_batch(server)
        server.kill("server 1")
        server.wait_replaced("server 1", pid)
        server.wait_serving()
    wait_for("one that stands by", lambda: "standby 1" in server.processes())
    pid = stop_within_batch(server)
    check_holder(server, pid, 2)
    known = len(server.read_log())
    server.kill("server 1")
    server.wait_log("server 1 .* was killed by signal 9", known)
    settled_line(server)


def stop_within_batch(server):
    """The worker, which does not run on; its pid."""
    pid = server.role("server 1")
    sender = forked(lambda: flood(server))

    def catch_online():
        time.sleep(random.random() * 0.002)
        os.kill(pid, signal.SIGSTOP)
        wait_for("a stop", lambda: harness.read_proc(
            pid, "stat").rpartition(")")[2].split()[0] == "T")
        if worker_is_online(server):
            return True
        os.kill(pid, signal.SIGCONT)
        return False
    try:
        wait_for("a worker within a batch", catch_online)
    finally:
        os.kill(sender, signal.SIGKILL)
        os.waitpid(sender, 0)
    return pid


def check_holder(server, pid, serial):
    """Retired memory waits for that worker, and the log says so."""
    known = len(server.read_log())
    server.write_zone("example", zone_text(serial))
    server.reload()
    server.wait_log(f"zone example serial {serial - 1} is updated to {serial}",
                    known)
    line = store_line(server)
    assert line["retired"] > 0 and line["oldest"] > 0
    server.wait_log(rf'HOLDER name="server 1" pid={pid} epoch=\d+ pinned=0'
                    r" octets=[1-9]\d* msec=", known)
    server.wait_log(rf"warning: server 1 \(pid {pid}\) has not come to the"
                    r" newest version for \d+ s; \d+ octets wait", known)
    # Kinds are not counted anew within ten seconds.
    server.wait_log(r"KINDS names=[1-9]\d* tries=\d+ rrsets=[1-9]")
