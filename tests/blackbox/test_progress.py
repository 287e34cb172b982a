"""How far commands are: nsd-control progress, and nsd-control -v."""
import os
import pty
import re
import socket
import subprocess
import threading

import pytest

import control
from harness import DEADLINE, wait_for, zone_text

PATTERN = ('pattern:\n\tname: s\n\tzonefile: "%s.zone"\n'
           "\trequest-xfr: 127.0.0.1@{} NOKEY\n")
LARGE = "".join(f"name-{i:07} IN TXT \"some octets of text\"\n"
                for i in range(200_000))


@pytest.fixture
def waits(make_server):
    """A server with a zone whose primary takes connections and says nothing:
    whoever has it transferred waits."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        made = control.config(make_server(
            zones={"example": zone_text()},
            extra=PATTERN.format(silent.getsockname()[1]))).start()
        assert control.ask(made, "addzone", "a.test", "s") == (0, "ok\n")
        yield made


def progress(server):
    code, text = control.ask(server, "progress")
    assert code == 0
    return text


def test_nothing_is_under_way(waits):
    assert progress(waits) == ""


def test_commands_that_wait(waits):
    one = control.begin(waits, "transfer", "a.test")
    wait_for("it", lambda: progress(waits)
             == "transfer a.test: 0 of 1 zones\n")
    all_of_them = control.begin(waits, "transfer")
    wait_for("it", lambda: sorted(progress(waits).splitlines())
             == ["transfer a.test: 0 of 1 zones", "transfer: 0 of 1 zones"])
    assert control.ask(waits, "delzone", "a.test") == (0, "ok\n")
    assert one.communicate(timeout=DEADLINE)[0].startswith("error zone a.test")
    all_of_them.communicate(timeout=DEADLINE)
    assert progress(waits) == ""


def test_lines_that_come(waits):
    with control.connect(waits) as client:
        answers = client.makefile("r", encoding="ascii")
        client.sendall(b"NSDCT1 addzones\n")
        wait_for("it", lambda: progress(waits) == "addzones: begun\n")
        client.sendall(b"b.test s\nc.test s\n")
        assert [answers.readline() for _ in range(2)] == [
            "added: b.test\n", "added: c.test\n"]
        assert progress(waits) == "addzones: 2 zones\n"
        client.sendall(b"\4\n")
        assert answers.read() == "added 2 zones\n"


def test_reading_of_files(make_server):
    """A zone of three takes long: on a quick machine, more than once."""
    server = control.config(make_server(
        zones={f"z{i}.test": zone_text() for i in range(3)})).start()
    seen = set()
    for serial in range(2, 30):
        server.write_zone("z1.test", zone_text(serial) + LARGE)
        with control.begin(server, "reload") as client:
            while client.poll() is None:
                seen.add(control.say(server, b"NSDCT1 progress\n"))
            assert client.communicate(timeout=DEADLINE)[0] == "ok\n"
        found = [re.fullmatch(r"reload: (\d) of 3 zones\n", text)
                 for text in seen]
        if any(m and int(m[1]) < 3 for m in found):
            break
    else:
        raise AssertionError(seen)
    assert seen <= {"", "reload: begun\n",
                    *(f"reload: {i} of 3 zones\n" for i in range(4))}


# ---- nsd-control -v ---------------------------------------------------------

def test_line_where_there_is_no_terminal(waits):
    with control.begin(waits, "-v", "transfer", "a.test") as client:
        line = client.stderr.readline()
        assert control.ask(waits, "delzone", "a.test") == (0, "ok\n")
        text, rest = client.communicate(timeout=DEADLINE)
    assert re.fullmatch(r"transfer: 0 of 1 zones, \d+ s\n", line)
    assert "\033" not in rest
    # The answer is what it is without -v.
    assert text == "error zone a.test: it was removed meanwhile\n"


def test_bar_on_a_terminal(waits):
    main, side = pty.openpty()
    with subprocess.Popen(
            control.command(waits, "-v", "transfer", "a.test"), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=side) as client:
        os.close(side)
        seen = ""
        while "1 zones" not in seen:
            seen += os.read(main, 4096).decode()
        assert control.ask(waits, "delzone", "a.test") == (0, "ok\n")
        text = client.communicate(timeout=DEADLINE)[0]
    try:
        while octets := os.read(main, 4096).decode():
            seen += octets
    except OSError:
        pass  # as the end of a terminal is told
    os.close(main)
    assert re.search(r"\r\033\[Ktransfer \[-{30}\] 0 of 1 zones, \d+ s", seen)
    assert seen.endswith("\r\033[K")  # the bar is erased
    assert text == "error zone a.test: it was removed meanwhile\n"


def test_server_that_does_not_know_it(make_server):
    """A server such as NSD 4 does not know the command: it is asked once, and
    its answer is final."""
    made = control.config(make_server(zones={}))
    asked, held = [], []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(made.control)
        listener.listen()
        listener.settimeout(DEADLINE)

        def serve():
            for _ in range(2):
                client = listener.accept()[0]
                asked.append(client.recv(4096))
                if asked[-1] == b"NSDCT1  progress\n":
                    client.sendall(b"error unknown command 'progress'\n")
                    client.close()
                else:
                    held.append(client)

        thread = threading.Thread(target=serve)
        thread.start()
        main, side = pty.openpty()
        with subprocess.Popen(
                control.command(made, "-v", "reload"), text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=side) as client:
            os.close(side)
            seen = ""
            while "] 2 s" not in seen:
                seen += os.read(main, 4096).decode()
            thread.join()
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()
            held[0].sendall(b"ok\n")
            held[0].close()
            assert client.communicate(timeout=DEADLINE)[0] == "ok\n"
        os.close(main)
    assert asked == [b"NSDCT1  reload\n", b"NSDCT1  progress\n"]
    assert re.search(r"reload \[-{30}\] 0 s", seen)
