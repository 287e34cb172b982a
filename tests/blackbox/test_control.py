"""nsd-control: each verb, its success and its errors (doc/surface.md 2.2)."""
import base64
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess

import pytest

import control
from harness import DEADLINE, open_files, wait_for, zone_text
from ports import free_port

pytestmark = pytest.mark.plain

BROKEN = zone_text() + "bad\tIN A 192.0.2.999\n"


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text(),
                              "other.test": zone_text()},
                       options={"replace-hung": "no"})
    made.extra = ("key:\n\tname: k1\n\talgorithm: sha256\n"
                  "\tsecret: K2tf3TRjvQkVCmJF3/Z9vA==\n")
    return control.config(made).start()


def test_status(server):
    code, text = control.ask(server, "status")
    assert code == 0
    assert re.match(r"version: \S+\nverbosity: 1\n", text)


def test_status_of_a_server_that_is_stopped(make_server):
    made = control.config(make_server(zones={}))
    assert control.ask(made, "status") == (3, "nsd is stopped\n")
    assert control.ask(made, "reload")[0] == 1


def test_stop(server):
    assert control.ask(server, "stop") == (0, "ok\n")
    assert server.process.wait(60) == 0
    assert control.ask(server, "status")[0] == 3


def test_serverpid(server):
    assert control.ask(server, "serverpid") == (0, f"{server.main_pid}\n")


def test_verbosity(server):
    assert control.ask(server, "verbosity") == (0, "verbosity 1\n")
    assert control.ask(server, "verbosity", 5) == (0, "ok\n")
    assert control.ask(server, "verbosity") == (0, "verbosity 5\n")
    server.wait_log("control cmd:  verbosity 5")
    # In other processes, too: at 5 the loader says more.
    server.write_zone("example", zone_text(2))
    assert control.ask(server, "reload") == (0, "ok\n")
    server.wait_log(r"zone example zonec_read\(")
    for word in ("x", "-1", "99999999999"):
        code, text = control.ask(server, "verbosity", "--", word)
        assert code == 1 and text.startswith("error"), text


def test_verbosity_outlives_a_process(server):
    assert control.ask(server, "verbosity", 2) == (0, "ok\n")
    server.wait_replaced("xfrd", server.kill("xfrd"))
    wait_for("the next xfrd", lambda: control.ask(server, "verbosity")
             == (0, "verbosity 2\n"))


def test_log_reopen(server):
    """All processes write to the new file before it is answered."""
    old = server.log.with_suffix(".old")
    server.log.rename(old)
    assert control.ask(server, "log_reopen") == (0, "ok\n")
    for name, pid in server.roles().items():
        assert str(old) not in open_files(pid).values(), name


def test_log_reopen_of_a_file_that_cannot_be_opened(server):
    server.log.rename(server.log.with_suffix(".old"))
    server.log.mkdir()
    code, text = control.ask(server, "log_reopen")
    assert (code, text) == (1, "error cannot open the log file:"
                               " Is a directory\n")
    server.log.rmdir()


def test_log_reopen_waits_for_a_process_that_is_stopped(server):
    pid = server.kill("server 1", signal.SIGSTOP)
    asked = control.begin(server, "log_reopen")
    # Other commands are answered meanwhile.
    assert control.ask(server, "status")[0] == 0
    assert asked.poll() is None
    os.kill(pid, signal.SIGCONT)
    assert asked.communicate(timeout=60)[0] == "ok\n"


def test_log_reopen_that_nobody_waits_for(server):
    pid = server.role("server 1")
    old = server.log.with_suffix(".old")
    server.log.rename(old)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert control.ask(server, "--no-wait", "log_reopen") == (0, "ok\n")
        assert str(old) in open_files(pid).values()
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for("all to write to the new one", lambda: not any(
        str(old) in open_files(pid).values()
        for pid in server.roles().values()))
    # A failure is in the log.
    server.log.rename(old)
    server.log.mkdir()
    assert control.ask(server, "--no-wait", "log_reopen") == (0, "ok\n")
    wait_for("the log", lambda: "log_reopen: error cannot open the log file:"
             " Is a directory" in old.read_text())
    server.log.rmdir()
    # More than main can be told while one process stands still. That one is
    # replaced if it does so for long.
    os.kill(pid, signal.SIGSTOP)
    try:
        answers = [control.say(server, b"NSDCT1 --no-wait verbosity 1\n")
                   for _ in range(300)]
    finally:
        os.kill(pid, signal.SIGCONT)
    assert answers[0] == "ok\n"
    assert answers[-1] == "error main has too much to do\n"


def test_reload(server):
    server.write_zone("example", zone_text(7, "192.0.2.7"))
    assert control.ask(server, "reload") == (0, "ok\n")
    assert server.serial("example") == 7
    server.write_zone("example", zone_text(8))
    server.write_zone("other.test", zone_text(8))
    assert control.ask(server, "reload", "example") == (0, "ok\n")
    assert server.serial("example") == 8
    assert server.serial("other.test") == 1
    assert control.ask(server, "reload", "example.") == (0, "ok\n")
    assert control.ask(server, "--no-wait", "reload") == (0, "ok\n")


def test_reload_tells_what_is_wrong(server):
    server.write_zone("example", BROKEN)
    # The error is repeated, also to a client that names the zone.
    for words in (["reload"], ["reload", "example"], ["reload", "example"]):
        code, text = control.ask(server, *words)
        assert code == 1
        first, reason, *_ = text.splitlines()
        assert first == "error 1 zone cannot be read:"
        assert re.match(r"example\.zone:8: .*192\.0\.2\.999", reason)
    assert server.serial("example") == 1
    assert control.ask(server, "reload", "other.test") == (0, "ok\n")
    server.zone_file("example").unlink()
    code, text = control.ask(server, "reload", "example")
    assert code == 1 and "does not exist" in text, text


def test_zone_that_was_broken_before_does_not_fail_a_reload(server):
    before = (r"warning 1 zone cannot be read, as before:\n"
              r"example\.zone:8: .*192\.0\.2\.999(.*\n)+ok\n")
    server.write_zone("example", BROKEN)
    assert control.ask(server, "reload")[0] == 1
    for serial in range(2, 4):
        server.write_zone("other.test", zone_text(serial))
        code, text = control.ask(server, "reload")
        assert code == 0 and re.fullmatch(before, text), text
        assert server.serial("other.test") == serial
    # Of what is bad now the end is an error, and the rest is told behind it.
    server.write_zone("other.test", zone_text() + "bad\tTXT\n")
    code, text = control.ask(server, "reload")
    assert code == 1 and re.fullmatch(
        r"error 1 zone cannot be read:\nother\.test\.zone:8: (.*\n)+"
        r"and 1 zone cannot be read, as before:\nexample\.zone:8: (.*\n)+",
        text), text
    # The zone is as bad with another file, or with none.
    server.write_zone("other.test", zone_text(4))
    server.write_zone("example", BROKEN + "; another\n")
    assert control.ask(server, "reload")[0] == 1
    server.zone_file("example").unlink()
    code, text = control.ask(server, "reload")
    assert (code, text) == (1, "error 1 zone cannot be read:\nzone example:"
                               " zonefile example.zone does not exist\n")
    code, text = control.ask(server, "reload")
    assert (code, text) == (0, "warning 1 zone cannot be read, as before:\n"
                               "zone example: zonefile example.zone does not"
                               " exist\nok\n")
    server.write_zone("example", zone_text(5))
    assert control.ask(server, "reload") == (0, "ok\n")
    assert server.serial("example") == 5


def test_zone_that_was_broken_at_the_start_does_not_fail_a_reload(make_server):
    made = control.config(make_server(zones={"example": zone_text(),
                                             "bad.test": BROKEN}))
    made.zones["none.test"] = None
    made.write_config()
    made.start()
    code, text = control.ask(made, "reload")
    assert code == 0 and text.startswith("warning 2 zones cannot be read, as"
                                         " before:\n"), text
    assert text.endswith("\nok\n")


def test_reader_of_the_answer_who_has_enough(server):
    """As of any other program, no word: it ends by SIGPIPE."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(control.command(server, "zonestatus"),
                              stdout=closed, stderr=subprocess.PIPE,
                              timeout=DEADLINE, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_answer_that_cannot_be_written(server):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(control.command(server, "zonestatus"),
                              stdout=full, stderr=subprocess.PIPE,
                              timeout=DEADLINE, check=False)
    assert (done.returncode, done.stderr) == (
        1, b"error: cannot write (standard output): No space left on"
           b" device\n")


@pytest.mark.parametrize("verb", ["reload", "notify", "transfer",
                                  "force_transfer", "zonestatus"])
def test_zones_that_are_none(server, verb):
    assert control.ask(server, verb, "absent.test") == (
        1, "error zone absent.test not configured\n")
    code, text = control.ask(server, verb, "a..b")
    assert (code, text) == (1, "error cannot parse zone name 'a..b'\n")


def test_transfer_of_a_primary_zone(server):
    assert control.ask(server, "transfer", "example") == (
        1, "error zone not secondary\n")
    assert control.ask(server, "transfer") == (0, "ok, 0 zones\n")
    assert control.ask(server, "notify", "example") == (
        1, "error zone does not have notify\n")


def test_zonestatus(server):
    code, text = control.ask(server, "zonestatus")
    assert code == 0
    assert re.findall(r"^zone:\t(\S+)$", text, re.M) == ["example",
                                                         "other.test"]
    code, text = control.ask(server, "zonestatus", "example")
    assert text.startswith("zone:\texample\n\tstate: primary\n")
    assert "\t\tserial: 1\n" in text


def test_listzones(server):
    assert control.ask(server, "listzones") == (0, "example\nother.test\n")


def test_print_tsig(server):
    line = ('key: name: "k1" secret: "K2tf3TRjvQkVCmJF3/Z9vA=="'
            " algorithm: hmac-sha256\n")
    assert control.ask(server, "print_tsig") == (0, line)
    assert control.ask(server, "print_tsig", "k1") == (0, line)
    assert control.ask(server, "print_tsig", "k2")[0] == 1


def test_print_tsig_of_many_and_long_keys(make_server):
    """The answer is larger than what is kept for a client that does not read
    yet."""
    secret = base64.b64encode(bytes(range(250)) * 5).decode()
    key = 'key: name: "{}" secret: "{}" algorithm: hmac-sha256\n'
    names = [f"k{i}" for i in range(800)]
    made = make_server(zones={"example": zone_text()}, extra="".join(
        f"key:\n\tname: {name}\n\talgorithm: sha256\n"
        f"\tsecret: {secret}\n" for name in names))
    server = control.config(made).start()
    assert control.ask(server, "print_tsig", "k7") == (
        0, key.format("k7", secret))
    code, text = control.ask(server, "print_tsig")
    assert code == 0 and sorted(text.splitlines(True)) == sorted(
        key.format(name, secret) for name in names)


def test_what_is_no_command(server):
    assert control.ask(server, "paint") == (
        1, "error unknown command 'paint'\n")
    code, text = control.ask(server, "status", "now")
    assert code == 1 and text.startswith("error"), text


def test_socket_of_a_former_server(server):
    server.process.send_signal(signal.SIGKILL)
    server.process.wait(60)
    wait_for("the end of all", lambda: "xfrd" not in server.roles())
    server.start()
    assert control.ask(server, "status")[0] == 0


def test_what_is_in_the_way_stays(make_server):
    made = control.config(make_server(zones={}))
    path = made.directory / "control.sock"
    path.write_text("mine")
    result = made.run("-d")
    assert result.returncode == 1
    assert path.read_text() == "mine"


def test_help_and_manual_have_all_verbs(server):
    code, text = control.ask(server, "-h")
    assert code == 1
    verbs = re.findall(r"^  (\w+)", text, re.M)
    assert {"start", "stop", "reload", "zonestatus"} <= set(verbs)
    manual = (pathlib.Path(__file__).parents[2]
              / "doc/nsd-control.8").read_text()
    for verb in verbs:
        assert re.search(rf"\b{verb}\b", manual), verb


def test_start(make_server, tmp_path):
    made = control.config(make_server(zones={}))
    program = tmp_path / "nsd"
    program.write_text('#!/bin/sh\necho "started $*"\nexit 7\n')
    program.chmod(0o755)
    result = subprocess.run(control.command(made, "start"), text=True,
                            capture_output=True, timeout=DEADLINE,
                            check=False,
                            env={**os.environ, "NSD_PATH": str(program)})
    assert result.stdout == f"started -c {made.config}\n"
    assert result.returncode == 7


def test_tool_with_a_bad_configuration(make_server):
    made = make_server(zones={})
    made.config.write_text("server:\n\tfoo: bar\n")
    assert control.ask(made, "status") == (1, "")
    assert control.ask(made, "-c", "/nonexistent", "status") == (1, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_socket_is_of_the_user(make_server):
    made = make_server(zones={}, options={"username": "nobody"})
    shutil.chown(made.directory, "nobody")
    control.config(made).start()
    status = os.stat(made.control)
    assert status.st_uid == pwd.getpwnam("nobody").pw_uid
    assert status.st_mode & 0o777 == 0o660
    assert control.ask(made, "status")[0] == 0
    made.stop()
    assert os.path.exists(made.control)


def test_interface_by_name(make_server):
    """Plain, as the first one is a path; and said so."""
    made = make_server(zones={})
    port = free_port()
    control.config(made, "control-interface: lo", f"control-port: {port}")
    made.start()
    assert "whoever can connect controls this server" in made.read_log()
    assert control.ask(made, "-s", f"127.0.0.1@{port}", "status")[0] == 0
    assert control.ask(made, "-s", f"lo@{port}", "status")[0] == 0


@pytest.mark.parametrize("interface", ["192.0.2.1", "nosuch0", "{}/nosuch/x",
                                       "/" + "x" * 200])
def test_interfaces_that_cannot_be_had(make_server, interface):
    made = make_server(zones={})
    control.config(made, interface=interface.format(made.directory))
    result = made.run("-d")
    assert result.returncode == 1
    assert "could not set up the control channel" in made.read_log()


def test_two_servers_do_not_share_a_socket(server, make_server):
    other = control.config(make_server("other", zones={}),
                           interface=server.control)
    assert other.run("-d").returncode == 1
    assert control.ask(server, "serverpid") == (0, f"{server.main_pid}\n")


def test_json(server):
    def ask(*words):
        code, text = control.ask(server, "-j", *words)
        assert code == 0 and text.endswith("\n") and text.count("\n") == 1
        return json.loads(text)

    status = ask("status")
    assert status["pid"] == server.main_pid
    assert status["zones"] == 2 and status["verbosity"] == 1
    assert ask("listzones") == [{"zone": "example", "pattern": None},
                                {"zone": "other.test", "pattern": None}]
    one = {"zone": "example", "pattern": None, "state": "primary",
           "serial": 1, "records": 6, "notifying": 0}
    assert ask("zonestatus", "example") == [one]
    assert ask("zonestatus") == [one, {**one, "zone": "other.test"}]
    # Errors are as without.
    assert control.ask(server, "-j", "zonestatus", "absent.test") == (
        1, "error zone absent.test not configured\n")


# ---- the exit code ----------------------------------------------------------

def judge(server, answer, *words):
    """The exit code and messages of nsd-control for an answer that a script
    gives."""
    path = server.directory / "script.sock"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        program = subprocess.Popen(
            [*control.command(server), "-s", str(path),
             *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True)
        client, _ = listener.accept()
        with client:
            client.settimeout(DEADLINE)
            while b"\n" not in client.recv(65536):
                pass
            client.sendall(answer)
        error = program.communicate(timeout=DEADLINE)[1]
    return program.returncode, error


@pytest.mark.parametrize("words, answer, code", [
    (["reconfig"], b"reconfig start, read x\nok\n", 0),
    (["reconfig"], b"reconfig start, read x\n", 1),
    (["repattern"], b"reconfig start\nx:1: error: y\nerror no\n", 1),
    (["delzone", "a"], b"warning zone a not present\n", 0),
    (["delzone", "a"], b"ok\n", 0),
    (["delzone", "a"], b"", 1),
    (["reload"], b"warning\n", 1),
    (["-j", "stop"], b"", 1),
    (["-j", "stop"], b"ok\n", 0),
    (["stats"], b"num.queries=1\n", 0),
    (["stats"], b"num.queries=1\nerror out of memory\n", 1),
    (["-j", "stats"], b'{"num.queries":1\nerror out of memory\n', 1),
    (["addzones"], b"added: a p\nadded 1 zones\n", 0),
    (["addzones"], b"added: a p\n", 1),
    (["delzones"], b"deleted 0 zones\n", 0),
    (["delzones"], b"removed: a\nerror no\n", 1),
    (["dumpzone", "a"], b"; zone a\nerror\tIN\n; end of zone a\n", 0),
    (["dumpzone", "a"], b"; zone a\nerror\tIN\n", 1),
    (["dumpzone", "a"], b"; zone a\n", 1),
    (["dumpzone", "a"], b"; zone a\n; end of zone a\nerror no\n", 1),
    (["listzones"], b"a\nerror.test\n", 0)])
def test_exit_code(server, words, answer, code):
    assert judge(server, answer, *words)[0] == code


def test_options_may_stand_behind_the_command(server):
    words = str(control.PROGRAM), "reload", "example", "-c", str(server.config)
    for more in [], ["--no-wait"]:
        result = subprocess.run([*words, *more], capture_output=True,
                                text=True, timeout=DEADLINE, check=False)
        assert (result.returncode, result.stdout) == (0, "ok\n"), result


def test_input_that_cannot_be_read(server):
    folder = os.open(server.directory, os.O_RDONLY)
    try:
        result = subprocess.run(control.command(server, "addzones"),
                                stdin=folder, capture_output=True, text=True,
                                timeout=DEADLINE, check=False)
    finally:
        os.close(folder)
    assert result.returncode == 1 and "cannot read" in result.stderr


# NSD 4 ends these otherwise than we do: command, answer, how much of its end
# may not be missing.
OF_NSD = [
    ("changezone z.test p", "zone z.test did not exist, creatingok\n", 3, 0),
    *((f"{verb} m.test{more}", "Error: Zone is a catalog consumer member zone"
       f" with id m.zones.c.\n{last}\n", 1, 1) for verb, more, last in (
           ("delzone", "", "Remove the member id from the catalog to delete"
            " this zone."),
           ("changezone", " p", "Repattern in the catalog with a group"
            " property."))),
    ("del_tsig k", "key k does not exist, nothing to be deleted\n", 1, 0),
    ("add_cookie_secret 12", "invalid cookie secret: invalid argument length\n"
     "please provide a 128bit hex encoded secret\n", 1, 0),
    *((f"{verb}_cookie_secret", "unable to open cookie secret file /x: No such"
       ' file or directoryerror: writing to cookie secret file: "/x"\n', 1, 1)
      for verb in ("add", "activate", "drop"))]


@pytest.mark.parametrize("command, answer, needed, code", OF_NSD, ids=[
    one[0].split()[0] for one in OF_NSD])
@pytest.mark.parametrize("step", [1, 1000])
def test_whole_answers_of_nsd(directory, command, answer, needed, code, step):
    config = directory / "nsd.conf"
    path = directory / "control.sock"
    config.write_text("remote-control:\n\tcontrol-enable: yes\n"
                      f"\tcontrol-interface: {path}\n")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        for missing in range(needed + 1):
            said = answer[:len(answer) - missing]
            with subprocess.Popen(
                    [str(control.PROGRAM), "-c", str(config),
                     *command.split()], text=True, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1000)
                    for at in range(0, len(said), step):
                        connection.sendall(said[at:at + step].encode())
                out, err = client.communicate(timeout=DEADLINE)
            assert out == said
            assert (client.returncode, err == "") == (
                (1, False) if missing else (code, True)), missing
