"""Clients of the control channel that mean harm, or are broken (fault 73)."""
import contextlib
import os
import signal
import socket
import time

import pytest

import control
from harness import DEADLINE, Clock, wait_for, zone_text


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text()},
                       options={"replace-hung": "no"})
    return control.config(made).start()


@pytest.fixture
def reload_that_waits(make_server):
    """A server whose loader stands still, that loader, and a client of which
    xfrd has the command reload."""
    made = make_server(zones={"example": zone_text()},
                       options={"replace-hung": "no"})
    server = control.config(made).start()
    pid = server.kill("loader", signal.SIGSTOP)
    asked = control.begin(server, "reload")
    wait_for("the command", lambda: "reload: " in control.ask(
        server, "progress")[1])
    return server, pid, asked


def is_well(server):
    code, text = control.ask(server, "status")
    assert code == 0 and text.startswith("version: ")


@pytest.mark.parametrize("octets, answer", [
    (b"NSDCT0  status\n", "error version mismatch\n"),
    (b"NSDCT2  status\n", "error version mismatch\n"),
    (b"NSDCT1\n", "error unknown command ''\n"),
    (b"NSDCT1 \n", "error unknown command ''\n"),
    (b"\n", "error version mismatch\n"),
    (b"GET / HTTP/1.1\r\n\r\n", "error version mismatch\n"),
    (b"NSDCT1  sta\0tus\n", "error NUL in the command\n"),
    (b"NSDCT1  \x1b[2J\n", "error unknown command '?[2J'\n"),
    (b"NSDCT1  stat\nus\n", "error unknown command 'stat'\n"),
])
def test_what_is_no_command(server, octets, answer):
    assert control.say(server, octets) == answer
    is_well(server)


def test_command_in_pieces(server):
    with control.connect(server) as client:
        for octet in b"NSDCT1  status\r\n":
            client.send(bytes([octet]))
        assert control.read_all(client).startswith("version: ")


def test_blanks(server):
    assert control.say(server, b"NSDCT1\t \tzonestatus  example  \n") \
        .startswith("zone:\texample\n")


def test_line_of_8191_and_8192_octets(server):
    line = b"NSDCT1  " + b"x" * (8191 - 8)
    assert control.say(server, line + b"\n").startswith(
        "error unknown command 'xxx")
    assert control.say(server, line + b"x\n") == "error the line is too long\n"


def test_line_of_10_megabytes(server):
    answer = control.say(server, b"NSDCT1  " + b"x" * 10_000_000)
    assert answer in ("error the line is too long\n", "")
    is_well(server)


def test_many_words(server):
    assert control.say(server, b"NSDCT1 " + b" a" * 4000 + b"\n") == \
        "error unknown command 'a'\n"
    assert control.say(server, b"NSDCT1  reload" + b" a" * 4000 + b"\n") == \
        "error too many arguments\n"


def test_half_a_line_and_gone(server):
    for octets in (b"", b"NSDCT1", b"NSDCT1  stop"):
        with control.connect(server) as client:
            client.sendall(octets)
    is_well(server)


def test_client_that_has_said_all(server):
    with control.connect(server) as client:
        client.sendall(b"NSDCT1  reload\n")
        client.shutdown(socket.SHUT_WR)
        assert control.read_all(client) == "ok\n"


def test_1000_idle_connections(server):
    """Idle connections make room, the oldest first, without a delay for
    others."""
    with contextlib.ExitStack() as idle:
        for _ in range(1000):
            client = idle.enter_context(socket.socket(socket.AF_UNIX))
            client.setblocking(False)
            wait_for("room", lambda c=client:
                     c.connect_ex(server.control) == 0)
        clock = Clock()
        is_well(server)
        assert clock.tick() < 5
        server.write_zone("example", zone_text(2))
        assert control.ask(server, "reload") == (0, "ok\n")
        files = os.listdir(f"/proc/{server.role('xfrd')}/fd")
        assert len(files) < 150
    assert server.serial("example") == 2


def test_answer_that_nobody_reads(make_server):
    """An unread answer holds little memory, and delays no other command."""
    zones = {f"z{i}.test": None for i in range(20000)}
    made = make_server(zones=zones, options={"verbosity": 0})
    control.config(made).start()
    with contextlib.ExitStack() as deaf:
        for _ in range(20):
            client = deaf.enter_context(control.connect(made))
            client.sendall(b"NSDCT1  zonestatus\n")
        is_well(made)
        code, text = control.ask(made, "zonestatus")
        assert code == 0 and text.count("zone:\t") == 20000
        is_well(made)


def test_client_that_is_killed(reload_that_waits):
    """The client is killed while its answer is being made."""
    server, pid, asked = reload_that_waits
    asked.kill()
    asked.wait(DEADLINE)
    os.kill(pid, signal.SIGCONT)
    asked.stdout.close()
    asked.stderr.close()
    is_well(server)
    assert control.ask(server, "reload") == (0, "ok\n")


# ---- processes that die -------------------------------------------------------

def test_xfrd_dies_within_a_command(reload_that_waits):
    """A lost answer is an error."""
    server, pid, asked = reload_that_waits
    old = server.kill("xfrd")
    out, err = asked.communicate(timeout=DEADLINE)
    assert asked.returncode == 1
    assert "error" in out + err
    os.kill(pid, signal.SIGCONT)
    server.wait_replaced("xfrd", old)
    server.wait_serving()
    assert control.ask(server, "reload") == (0, "ok\n")


@pytest.mark.parametrize("verb", ["progress", "zonestatus", "listzones",
                                  "print_tsig"])
def test_nothing_from_a_server_that_has_died_is_no_answer(make_server, verb):
    """Though it may be one of a server that lives."""
    server = control.config(make_server(zones={"example": zone_text()}))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(server.control)
        listener.listen()
        for lives in False, True:
            with control.begin(server, verb) as client:
                with listener.accept()[0] as connection:
                    assert connection.recv(100).split()[1:] == [
                        verb.encode()]
                    if lives:
                        connection.shutdown(socket.SHUT_WR)
                        assert connection.recv(1) == b""
                assert client.wait(DEADLINE) == (0 if lives else 1)
                assert client.stdout.read() == ""


def test_loader_dies_within_a_reload(reload_that_waits):
    server, pid, asked = reload_that_waits
    os.kill(pid, signal.SIGKILL)
    out, _ = asked.communicate(timeout=DEADLINE)
    assert asked.returncode == (0 if out == "ok\n" else 1)
    assert out == "ok\n" or out.startswith("error the loader died"), out
    server.wait_replaced("loader", pid)
    assert control.ask(server, "reload") == (0, "ok\n")


def test_worker_dies_within_log_reopen(server):
    """The next worker has the new file."""
    pid = server.kill("server 1", signal.SIGSTOP)
    asked = control.begin(server, "log_reopen")
    time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    assert asked.communicate(timeout=DEADLINE)[0] == "ok\n"
    server.wait_replaced("server 1", pid)


def test_worker_that_does_not_answer(make_server):
    """The worker is named in the answer, which is not ok."""
    made = make_server(zones={"example": zone_text()},
                       options={"replace-hung": "no"})
    server = control.config(made).start()
    pid = server.kill("server 1", signal.SIGSTOP)
    code, text = control.ask(server, "log_reopen")
    assert (code, text) == (
        1, "error done, but not by all processes yet: server 1 does not "
        "answer\n")
    os.kill(pid, signal.SIGCONT)
    assert control.ask(server, "log_reopen") == (0, "ok\n")
