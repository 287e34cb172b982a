"""nsd-control and secondary zones: the answer comes when they are served."""
import json
import re
import signal
import socket

import pytest

import control
from harness import DEADLINE, wait_for, zone_text
from ports import free_port

ZONE = """\
zone:
	name: {name}
	zonefile: {name}.zone
{options}
"""


def zone(name, *options):
    return ZONE.format(name=name, options="\n".join(
        f"\t{option}" for option in options))


@pytest.fixture
def primary(make_server):
    made = make_server("primary", zones={})
    for name in ("sec.test", "more.test"):
        made.zone_file(name).write_text(zone_text())
        made.extra += zone(name, "provide-xfr: 127.0.0.1 NOKEY")
    made.extra += "server:\n\treplace-hung: no\n"
    return control.config(made).start()


def secondary_of(make_server, port, *options):
    made = make_server("secondary", zones={"own.test": zone_text()})
    for name in ("sec.test", "more.test"):
        made.extra += zone(name, f"request-xfr: 127.0.0.1@{port} NOKEY",
                           *options)
    return control.config(made).start()


@pytest.fixture
def secondary(make_server, primary):
    made = secondary_of(make_server, primary.port)
    for name in ("sec.test", "more.test"):
        made.wait_serial(name, 1)
    return made


def change(primary, name, serial):
    primary.zone_file(name).write_text(zone_text(serial))
    assert control.ask(primary, "reload", name) == (0, "ok\n")


def test_transfer(primary, secondary):
    change(primary, "sec.test", 2)
    assert control.ask(secondary, "transfer", "sec.test") == (0, "ok\n")
    assert secondary.serial("sec.test") == 2
    # A primary without a newer version is fine, too.
    assert control.ask(secondary, "transfer", "sec.test") == (0, "ok\n")


def test_transfer_of_all_zones(primary, secondary):
    change(primary, "sec.test", 2)
    change(primary, "more.test", 3)
    assert control.ask(secondary, "transfer") == (0, "ok, 2 zones\n")
    assert secondary.serial("sec.test") == 2
    assert secondary.serial("more.test") == 3


def test_force_transfer(primary, secondary):
    """A forced transfer takes any serial."""
    change(primary, "sec.test", 4294967295)
    code, text = control.ask(secondary, "transfer", "sec.test")
    assert code == 1 and "older" in text, text
    assert control.ask(secondary, "force_transfer", "sec.test") == (0, "ok\n")
    assert secondary.serial("sec.test") == 4294967295
    assert control.ask(secondary, "force_transfer") == (0, "ok, 2 zones\n")


def test_transfer_without_a_primary(make_server):
    made = secondary_of(make_server, free_port())
    wait_for("it to have looked at zone files", lambda: control.ask(
        made, "--no-wait", "transfer", "sec.test")[0] == 0)
    code, text = control.ask(made, "transfer", "sec.test")
    assert code == 1
    assert re.match(r"error zone sec\.test: .* from 127\.0\.0\.1", text), text
    code, text = control.ask(made, "transfer")
    assert code == 1
    assert text.startswith("error 2 of 2 zones failed:\nzone "), text
    assert control.ask(made, "--no-wait", "transfer", "sec.test") == (
        0, "ok\n")


def test_transfer_while_the_primary_does_not_answer(primary, secondary):
    """Other commands are served."""
    change(primary, "sec.test", 2)
    pid = primary.kill("server 1", signal.SIGSTOP)
    asked = control.begin(secondary, "transfer", "sec.test")
    code, text = control.ask(secondary, "zonestatus", "sec.test")
    assert code == 0
    wait_for("a request", lambda: re.search(
        r'\ttransfer: "(sent UDP|TCP connected) to 127\.0\.0\.1@',
        control.ask(secondary, "zonestatus", "sec.test")[1]))
    assert asked.poll() is None
    primary.kill("server 1", signal.SIGCONT)
    assert asked.communicate(timeout=60)[0] == "ok\n"
    assert pid and secondary.serial("sec.test") == 2


def test_zonestatus(primary, secondary):
    # The NOTIFY of the primary has a check under way, for a moment.
    text = wait_for("a rest", lambda: next(iter(
        text for text in [control.ask(secondary, "zonestatus", "sec.test")[1]]
        if "\twait: " in text and "\tnotified-serial: " not in text), None))
    when = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
    assert re.match(
        "zone:\tsec.test\n"
        "\tstate: ok\n"
        f'\tserved-serial: "1 since {when}"\n'
        f'\tcommit-serial: "1 since {when}"\n'
        '\twait: "\\d+ sec between attempts"\n'
        '\t\tfrom: "127.0.0.1@\\d+"\n'
        '\t\tnext-refresh: "in \\d+ sec"\n'
        '\t\texpires: "in \\d+ sec"\n', text), text


def test_zonestatus_of_a_zone_without_data(make_server):
    made = secondary_of(make_server, free_port())
    control.ask(made, "transfer", "sec.test")
    _, text = control.ask(made, "zonestatus", "sec.test")
    assert text.startswith("zone:\tsec.test\n\tstate: refreshing\n"
                           "\tserved-serial: none\n\tcommit-serial: none\n")
    assert re.search(r'\t\tlast-error: ".* from 127\.0\.0\.1@\d+, \d+ sec ago"',
                     text)


def test_notify(make_server):
    """NOTIFYs are sent; zonestatus names targets that do not acknowledge."""
    port, dead = free_port(), free_port()
    made = make_server("primary", zones={})
    for name, target in (("good.test", port), ("dead.test", dead)):
        made.zone_file(name).write_text(zone_text())
        made.extra += zone(name, f"notify: 127.0.0.1@{target} NOKEY",
                           "notify-retry: 1",
                           "provide-xfr: 127.0.0.1 NOKEY")
    control.config(made)
    other = make_server("secondary", zones={})
    other.port = port
    other.options["port"] = port
    other.extra += zone("good.test", f"request-xfr: 127.0.0.1@{made.port}"
                        " NOKEY", "allow-notify: 127.0.0.1 NOKEY")
    other.write_config()
    made.start()
    other.start()
    other.wait_serial("good.test", 1)
    for words in (["good.test"], ["dead.test"], []):
        known = len(other.read_log())
        assert control.ask(made, "notify", *words) == (0, "ok\n")
        if words != ["dead.test"]:
            other.wait_log(r"notify for good\.test\. from", known)
    wait_for("the failure", lambda: "notify to 127.0.0.1@" in control.ask(
        made, "zonestatus", "dead.test")[1])
    assert control.ask(made, "--no-wait", "notify") == (0, "ok\n")


def test_notify_waits_for_no_answer(make_server):
    """The command does not wait for a silent target, which is notified for
    minutes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.settimeout(DEADLINE)
        made = make_server("primary", zones={})
        made.zone_file("new.test").write_text(zone_text())
        made.extra += zone(
            "new.test", "notify-retry: 200",
            f"notify: 127.0.0.1@{silent.getsockname()[1]} NOKEY")
        control.config(made).start()
        # xfrd may not know yet that the zone is read.
        wait_for("a zone to tell of", lambda: control.ask(
            made, "notify", "new.test") == (0, "ok\n"))
        assert control.ask(made, "notify") == (0, "ok\n")
        assert b"\3new\4test" in silent.recv(512)


def test_stop_while_a_command_waits(make_server, primary, secondary):
    change(primary, "sec.test", 2)
    primary.kill("server 1", signal.SIGSTOP)
    asked = control.begin(secondary, "transfer", "sec.test")
    wait_for("a request", lambda: "\ttransfer: " in control.ask(
        secondary, "zonestatus", "sec.test")[1])
    assert control.ask(secondary, "stop") == (0, "ok\n")
    assert asked.communicate(timeout=60)[0] == \
        "error xfrd, which takes commands, is being ended\n"
    assert asked.returncode == 1
    assert secondary.process.wait(60) == 0
    primary.kill("server 1", signal.SIGCONT)


def test_json(make_server, primary, secondary):
    _, text = control.ask(secondary, "-j", "zonestatus", "sec.test")
    status, = json.loads(text)
    assert status["state"] == "ok" and status["serial"] == 1
    assert status["primary"] == f"127.0.0.1@{primary.port}"
    assert 0 < status["next_refresh_sec"] <= 7200
    assert status["expires_sec"] <= 1209600
    assert "last_error" not in status
    primary.kill("server 1", signal.SIGSTOP)
    asked = control.begin(secondary, "transfer", "sec.test")
    wait_for("a request", lambda: json.loads(control.ask(
        secondary, "-j", "zonestatus", "sec.test")[1])[0]["transfer"]
        == "under way")
    primary.kill("server 1", signal.SIGCONT)
    assert asked.communicate(timeout=60)[0] == "ok\n"


def test_an_end_without_an_octet_is_no_answer(make_server, tmp_path):
    """A connection that ends without an answer is an error; only listzones may
    have nothing to print."""
    server = control.config(make_server(zones={"example": zone_text(1)}))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(server.control)
        listener.listen()
        for word, lives, code in (
                ("stats_noreset", False, 1), ("stats_noreset", True, 1),
                ("verbosity", True, 1), ("listzones", False, 1),
                ("zonestatus", False, 1), ("listzones", True, 0)):
            asked = control.begin(server, word)
            client, _ = listener.accept()
            with client:
                client.recv(65536)
                if lives:
                    client.shutdown(socket.SHUT_WR)
                    assert client.recv(1) == b""
            assert asked.wait(60) == code, (word, lives)
            asked.communicate()


def test_a_command_is_answered_amid_reconfigs(make_server):
    """Commands are answered amid reconfigs, also of a client that connected
    before."""
    server = control.config(make_server(zones={
        f"z{n}.test": zone_text(1) for n in range(50)}))
    server.start()
    assert control.ask(server, "reload") == (0, "ok\n")
    for n in range(8):
        server.options["rrl-ratelimit"] = 300 + n
        server.write_config()
        with control.connect(server) as idle:
            assert control.ask(server, "status")[0] == 0
            asked = [control.begin(server, *words) for words in (
                ["reload"], ["reconfig"], ["reload"])]
            for one in asked:
                one.wait(timeout=60)
            idle.sendall(b"NSDCT1 status\n")
            assert control.read_all(idle).startswith("version: ")
        for one in asked:
            text = one.communicate(timeout=60)[0]
            assert text and "died" not in text, text
            assert one.returncode == int(text.startswith("error"))
    assert "have died" not in server.read_log()


def test_zone_that_gets_another_pattern_is_not_waited_for(make_server):
    """The zone goes, as with delzone, and comes at once: `ok` would be about a
    transfer that was not asked for."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        server = control.config(make_server(
            zones={"example": zone_text()}, extra="".join(
                f'pattern:\n\tname: {name}\n\tzonefile: "%s.secondary"\n'
                f"\trequest-xfr: {how} 127.0.0.1@"
                f"{silent.getsockname()[1]} NOKEY\n"
                for name, how in (("one", ""), ("two", "AXFR"))))).start()
        assert control.ask(server, "addzone", "a.test", "one") == (0, "ok\n")
        with control.begin(server, "transfer", "a.test") as waits:
            wait_for("the command", lambda: control.ask(server, "progress")
                     == (0, "transfer a.test: 0 of 1 zones\n"))
            assert control.ask(server, "changezone", "a.test", "two") == (
                0, "ok\n")
            try:
                text = waits.communicate(timeout=DEADLINE)[0]
            finally:
                waits.kill()
        assert text == "error zone a.test: it was removed meanwhile\n"
