"""worker-username: the processes that answer are another user than the rest."""

import os
import pathlib
import re
import signal

import pytest

from harness import read_proc, wait_for, zone_text

pytestmark = [pytest.mark.plain, pytest.mark.skipif(
    os.geteuid() != 0, reason="being another user needs root")]

NOBODY, DAEMON = 65534, 1
SETGID_AND_SETUID = 1 << 6 | 1 << 7


def status(pid, field):
    return re.search(rf"^{field}:\t(.*)$", read_proc(pid, "status"), re.M)[1]


def users(server):
    return {name: int(status(pid, "Uid").split()[0])
            for name, pid in server.roles().items()}


def capabilities(server):
    return {name: int(status(pid, "CapPrm"), 16) | int(
        status(pid, "CapInh"), 16) for name, pid in server.roles().items()}


@pytest.fixture
def server(make_server, directory):
    directory.chmod(0o777)
    return make_server(zones={"example": zone_text()}, options={
        "username": "nobody", "worker-username": "daemon",
        "server-count": 2, "database": f'"{directory}/zones.db"'})


EXPECTED = {"main": NOBODY, "loader": NOBODY, "xfrd": NOBODY,
            "server 1": DAEMON, "server 2": DAEMON}


def test_workers_are_another_user(server):
    server.start()
    assert users(server) == EXPECTED
    pids = server.roles().values()
    for pid in pids:
        assert status(pid, "NoNewPrivs") == "1"
        assert len(set(status(pid, "Uid").split())) == 1
        assert len(set(status(pid, "Gid").split())) == 1
    found = capabilities(server)
    assert found.pop("main") == SETGID_AND_SETUID
    assert set(found.values()) == {0}
    # Processes of the user may not look into them: a change of user did not
    # undo that.
    assert {os.stat(f"/proc/{pid}/mem").st_uid for pid in pids} == {0}


def test_without_it_nothing_is_kept(make_server, directory):
    directory.chmod(0o777)
    server = make_server(zones={"example": zone_text()},
                         options={"username": "nobody"}).start()
    assert set(users(server).values()) == {NOBODY}
    assert set(capabilities(server).values()) == {0}


def test_worker_of_another_user_is_replaced(server):
    server.start()
    old = server.kill("server 1")
    server.wait_replaced("server 1", old)
    server.wait_serving()
    assert users(server) == EXPECTED
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)
    assert server.stop() == 0
    assert "database closed" in server.read_log()


def test_worker_that_hangs_is_killed_by_main(server):
    """Main is neither root nor the worker's user."""
    server.start()
    pid = server.kill("server 1", signal.SIGSTOP)
    server.signal(signal.SIGTERM)
    server.wait_log("shutting down")
    server.signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    assert not pathlib.Path(f"/proc/{pid}").exists()


def test_root_that_stays_has_workers_of_another_user(make_server):
    server = make_server(zones={"example": zone_text()},
                         options={"worker-username": "daemon"}).start()
    found = users(server)
    assert found.pop("server 1") == DAEMON
    assert set(found.values()) == {0}
    assert capabilities(server)["server 1"] == 0


def test_next_main_takes_over_from_workers_of_another_user(server):
    server.start()
    main = server.kill("main")
    wait_for("the end of the others",
             lambda: set(server.roles()) <= {"server 1", "server 2"})
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    server.start()
    assert server.main_pid != main
    assert "took over from servers" in server.read_log()
    assert users(server) == EXPECTED


@pytest.mark.parametrize("name,message", [
    ("no-such-user", "user 'no-such-user' does not exist"),
])
def test_user_that_is_none_is_refused(make_server, name, message):
    server = make_server(zones={}, options={"worker-username": name})
    assert server.run("-d").returncode == 1
    assert message in server.read_log()


def test_it_takes_root(make_server, directory):
    directory.chmod(0o777)
    server = make_server(zones={}, options={"worker-username": "daemon"})
    server.launcher = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                       "--clear-groups"]
    assert server.run("-d").returncode == 1
    assert "worker-username: only root can" in server.read_log()


def test_workers_of_the_same_user_need_no_root(make_server, directory):
    directory.chmod(0o777)
    server = make_server(zones={"example": zone_text()},
                         options={"worker-username": "nobody"})
    server.launcher = ["setpriv", "--reuid=nobody", "--regid=nogroup",
                       "--clear-groups"]
    server.start()
    assert set(users(server).values()) == {NOBODY}
