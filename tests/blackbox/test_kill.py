"""faults 69 and 70: any process may die at any time."""

import os
import re
import signal
import socket
import time

import pytest

import dns.message

import control
import harness
from away import while_away
from forked import forked
from harness import Load, is_alive, wait_for, zone_text

pytestmark = pytest.mark.plain


def memory_files(pids):
    """The memory files that these processes map or hold open."""
    found = set()
    for pid in pids:
        for line in harness.read_proc(pid, "maps").splitlines():
            if "memfd:" in line:
                fields = line.split()
                found.add((fields[4], fields[5]))
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for fd in names:
            try:
                path = f"/proc/{pid}/fd/{fd}"
                if "memfd:" in os.readlink(path):
                    found.add((str(os.stat(path).st_ino),
                               os.readlink(path).split()[0]))
            except OSError:
                continue
    return found


def count_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def state(server):
    roles = server.roles()
    return (len(roles), count_files(roles["main"]),
            len(memory_files(roles.values())))


def first_state(server, names=5):
    """The state of a server that has begun: main is past its work behind a
    fork once it has handled a signal."""
    wait_for("all roles", lambda: len(server.roles()) == names)
    server.reload()
    return settled_state(server, names)


def settled_state(server, names=5):
    wait_for("all roles", lambda: len(server.roles()) == names)
    return state(server)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM,
                                    signal.SIGSEGV])
@pytest.mark.parametrize("role", ["server 1", "loader", "xfrd"])
def test_role_is_replaced_at_once(nsd, role, number):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    before = first_state(server)
    pid = server.kill(role, number)
    new = server.wait_replaced(role, pid)
    assert new != pid
    server.wait_log(rf"{role} \(pid {pid}\)")
    server.write_zone("example", zone_text(2))
    server.signal(signal.SIGHUP)
    server.wait_serial("example", 2)
    for _ in range(40):
        assert server.answer("www.example", "A") == ["192.0.2.1"]
    wait_for("nothing leaked", lambda: settled_state(server) == before)


@pytest.mark.parametrize("role", ["loader", "xfrd"])
def test_death_beside_the_workers_loses_no_query(nsd, role):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    load = Load(server)
    load.step_answers(200)
    before = first_state(server)
    server.wait_replaced(role, server.kill(role))
    # Not only in the end: what waits for the next one is answered then too.
    while_away(server, role, lambda _: load.step_answers(500))
    wait_for("nothing leaked", lambda: load.step(0.05)
             or settled_state(server) == before)
    load.finish()
    assert load.lost == 0


def test_death_of_a_worker_loses_at_most_what_it_had_in_hand(nsd):
    server = nsd(zones={"example": zone_text()},
                 options={"server-count": 2, "replace-hung": "no"})
    load = Load(server, clients=16)
    load.step_answers(200)
    before = first_state(server)
    # A stopped worker has none of the later queries in hand.
    pid = server.role("server 1")
    os.kill(pid, signal.SIGSTOP)
    wait_for("its stop", lambda: harness.process_state(pid) == "T")
    waiting = Load(server, clients=32, patience=harness.DEADLINE)
    waiting.step_answers(500)
    assert waiting.pending
    server.kill("server 1")
    # Queries in the sockets' buffers are answered by the next worker.
    waiting.finish()
    assert waiting.lost == 0
    assert server.role("server 1") != pid
    # A client has one query out; if that was in hand, it asks again.
    load.step_answers(500)
    load.finish()
    wait_for("nothing leaked", lambda: settled_state(server) == before)


def test_every_role_again_and_again(nsd):
    server = nsd(zones={f"z{i}.example": zone_text() for i in range(50)}
                 | {"example": zone_text()}, options={"server-count": 2})
    before = first_state(server)
    load = Load(server, clients=4)
    for role in ("server 2", "loader", "xfrd", "loader", "server 1", "xfrd"):
        server.kill(role)
        # Clients repeat the queries that a worker had in hand.
        load.step_answers(100)
    wait_for("all roles", lambda: load.step(0.05)
             or len(server.roles()) == 5)
    load.finish()
    check_load(server)
    server.write_zone("example", zone_text(2))
    wait_for("a loader that listens", lambda: server.signal(signal.SIGHUP)
             or time.sleep(0.1) or server.serial("example") == 2)
    wait_for("nothing leaked", lambda: settled_state(server) == before)
    assert server.stop() == 0


def seconds_to_replace(server, name):
    """The time to replace a process, from before its death."""
    pid = server.role(name)
    start = time.monotonic()
    server.kill(name)
    server.wait_replaced(name, pid)
    return time.monotonic() - start


def check_load(server, clients=32, answers=500):
    load = Load(server, clients=clients)
    load.step_answers(answers)
    load.finish()
    assert load.lost == 0


def test_worker_that_dies_is_replaced_without_a_pause(make_server):
    """On a busy machine a start may take long, but not each time."""
    for turn in range(5):
        server = make_server(f"turn{turn}", zones={"example": zone_text()})
        server.start()
        seconds = seconds_to_replace(server, "server 1")
        server.stop()
        if seconds < 0.9:
            return
    raise AssertionError("none was replaced at once")


def wait_lent(server, known):
    """The number of the worker that has the sockets of server 1; none if that is
    back before they are lent."""
    def look():
        found = re.search(r"server (\d) answers for server 1 meanwhile",
                          server.read_log()[known:])
        return found[1] if found else "server 1" in server.roles() and "back"
    number = wait_for("sockets that are lent", look)
    return number if number != "back" else None


def test_worker_that_keeps_dying_is_replaced_ever_later(nsd):
    """faults 70: and another answers for it meanwhile."""
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})

    def check(known):
        # All clients are answered by the other.
        if wait_lent(server, known) is None:
            return
        check_load(server)
        for _ in range(20):
            try:
                assert server.answer("www.example", "A", tcp=True) == [
                    "192.0.2.1"]
            except (EOFError, ConnectionError):
                # The worker is back, and has its sockets again.
                assert "server 1" in server.roles()
                return

    while_away(server, "server 1", check)
    new = server.role("server 1")
    wait_for("two servers", lambda: count_files(server.role("server 2"))
             == count_files(new))
    check_load(server)


def test_adopted_sockets_pass_on_when_the_adopter_dies(nsd):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 3})

    def check(known):
        adopter = wait_lent(server, known)
        if adopter is None:
            return
        known = len(server.read_log())
        server.kill(f"server {adopter}")
        # Unless it is back already.
        wait_for("the next one", lambda: "server 1" in server.roles()
                 or "answers for server 1 meanwhile"
                 in server.read_log()[known:])
        check_load(server)

    while_away(server, "server 1", check)


# ---- main -------------------------------------------------------------------------

def test_service_goes_on_when_main_is_killed(nsd, make_server):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    roles = server.roles()
    load = Load(server)
    load.step_answers(200)
    server.kill("main")
    load.step_answers(500)
    for name in ("loader", "xfrd"):
        wait_for(f"the end of {name}",
                 lambda n=name: not is_alive(roles[n]))
    load.step_answers(500)
    load.finish()
    assert load.lost == 0
    assert is_alive(roles["server 1"]) and is_alive(roles["server 2"])
    server.wait_log("main process is gone; server . goes on answering",
                    count=2)

    # A new start takes the port, and the old workers are gone.
    server.write_zone("example", zone_text(2))
    server.process.wait()
    server.start()
    server.wait_log("took over from servers whose main process was gone")
    assert not is_alive(roles["server 1"]) and not is_alive(roles["server 2"])
    assert server.serial("example") == 2
    assert server.stop() == 0
    assert server.leftovers() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="files of others need root")
@pytest.mark.parametrize("workers", [1, 2])
def test_port_that_is_not_free_at_once_is_waited_for(nsd, workers):
    """The kernel may close the sockets of a worker behind all else it has.
    Several workers have sockets that another could be opened beside."""
    server = nsd(zones={"example": zone_text()},
                 options={"server-count": workers})
    with harness.socket_of(server.role("server 1"), lambda sock:
                           sock.family == socket.AF_INET
                           and sock.type == socket.SOCK_DGRAM):
        server.kill("main")
        server.process.wait()
        known = len(server.read_log())
        server.start(ready=False)
        server.wait_log("took over from servers whose main process was gone",
                        known)
        # There is nothing to wait for: it must not happen.
        time.sleep(0.3)
        assert "listen on" not in server.read_log()[known:]
        # Nor may a log whose reader leaves meanwhile be its end.
        ignored = int(re.search(r"^SigIgn:\s*(\w+)", harness.read_proc(
            server.process.pid, "status"), re.M)[1], 16)
        assert ignored >> (signal.SIGPIPE - 1) & 1
    server.wait_log("nsd started", known)
    server.wait_serving()
    assert "can't bind" not in server.read_log()
    assert server.answer("www.example", "A") == ["192.0.2.1"]


@pytest.mark.skipif(os.geteuid() != 0, reason="files of others need root")
@pytest.mark.parametrize("listener, is_left", [
    ("path", True), ("address", True), ("metrics", True), ("path", False)])
def test_listeners_of_operators_are_waited_for(make_server, listener, is_left):
    """xfrd has them, and may still be ending. What somebody else has is
    refused in the end."""
    server = make_server(zones={"example": zone_text()})
    port = harness.free_port()
    address = f"127.0.0.1@{port}"
    control.config(server, *([f"control-interface: {address}"]
                             if listener == "address" else []))
    if listener == "metrics":
        server.options.update({"metrics-enable": "yes", "metrics-port": port,
                               "metrics-interface": "127.0.0.1"})
        server.write_config()
    server.start()
    name = server.control if listener == "path" else ("127.0.0.1", port)
    with harness.socket_of(server.role("xfrd"), lambda sock:
                           sock.type == socket.SOCK_STREAM
                           and sock.getsockname() == name
                           and sock.getsockopt(socket.SOL_SOCKET,
                                               socket.SO_ACCEPTCONN)):
        server.kill("main")
        server.process.wait()
        known = len(server.read_log())
        server.start(ready=False)
        server.wait_log("listen on", known)
        # There is nothing to wait for: it must not happen.
        time.sleep(0.3)
        assert "can't bind" not in server.read_log()[known:]
        if not is_left:
            assert server.process.wait(harness.DEADLINE) == 1
            # musl has a word less.
            server.wait_log(f"can't bind socket {name}: Address (already )?in"
                            " use", known)
            return
    server.wait_log("nsd started", known)
    server.wait_serving()
    assert "can't bind" not in server.read_log()
    wait_for("control", lambda: control.ask(server, "status")[0] == 0)


def test_orphaned_worker_ends_on_term(nsd):
    server = nsd(zones={"example": zone_text()})
    pid = server.role("server 1")
    server.kill("main")
    server.wait_log("main process is gone")
    os.kill(pid, signal.SIGTERM)
    wait_for("the end of the worker", lambda: not is_alive(pid))


def test_stranger_cannot_end_workers(nsd):
    """Another user's connection to the lifeline does nothing."""
    if os.geteuid() != 0:
        pytest.skip("being another user needs root")
    server = nsd(zones={"example": zone_text()})
    address = harness.lifeline_address(server.pidfile)
    pid = server.role("server 1")
    server.kill("main")
    server.wait_log("main process is gone")

    def be_nobody():
        os.setresuid(65534, 65534, 65534)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.settimeout(harness.DEADLINE)
        s.connect(address)
        # Closed by the worker, which goes on.
        return 0 if s.recv(1) == b"" else 1
    child = forked(be_nobody)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert is_alive(pid)
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    os.kill(pid, signal.SIGTERM)
    wait_for("the end of the worker", lambda: not is_alive(pid))


def test_second_start_leaves_a_live_server_alone(nsd):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    roles = server.roles()
    assert server.run().returncode == 1
    assert server.roles() == roles
    assert server.answer("www.example", "A") == ["192.0.2.1"]


def test_killed_during_start(make_server):
    """Main is killed at any moment of a start: only serving workers are
    left."""
    server = make_server(zones={f"z{i}.example": zone_text()
                                for i in range(100)})
    for step in range(10):
        server.start(ready=False)
        time.sleep(0.003 * step)
        server.process.kill()
        server.process.wait()
        for pid in server.leftovers():
            name = harness.read_proc(pid, "comm").strip()
            if name.startswith("nsd: server"):
                os.kill(pid, signal.SIGTERM)
        wait_for("the end of all", lambda: server.leftovers() == []
                 or [os.kill(p, signal.SIGTERM) for p in server.leftovers()
                     if harness.read_proc(p, "comm").startswith("nsd: s")]
                 and False)


@pytest.mark.parametrize("_", range(4))
def test_xfrd_dies_that_has_said_stop(make_server, _):
    """Main hears of both at once: it ends in order."""
    server = control.config(make_server(zones={"example": zone_text()}, options={
        "replace-hung": "no", "verbosity": 2}))
    server.start()
    main, xfrd = server.main_pid, server.role("xfrd")
    os.kill(main, signal.SIGSTOP)
    wait_for("its stop", lambda: harness.process_state(main) == "T")
    with control.connect(server) as client:
        client.sendall(b"NSDCT1  stop\n")
        server.wait_log("control cmd:  stop")
        # The stop is sent in the same turn of the loop; or there was no time
        # to.
        wait_for("its rest", lambda: harness.process_state(xfrd) == "S")
        os.kill(xfrd, signal.SIGKILL)
        wait_for("its end", lambda: not is_alive(xfrd))
        os.kill(main, signal.SIGCONT)
        wait_for("one of both", lambda: server.has_ended()
                 or server.roles().get("xfrd", xfrd) != xfrd)
    if server.has_ended():
        assert server.process.returncode == 0
    else:
        assert server.stop() == 0
    assert server.leftovers() == []
