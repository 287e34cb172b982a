"""nsd-control freeze and thaw: a zone that takes UPDATEs takes none for a
while, and its file can be edited."""
import contextlib
import os
import re
import signal

import pytest

import control
from harness import DEADLINE, is_alive, wait_for

ZONE = """$TTL 300
@ SOA ns host {serial} 3600 900 604800 300
@ NS ns
ns A 192.0.2.1
www A 192.0.2.{last}
"""
UPDATES = """zone:
	name: open.test
	zonefile: open.test.zone
	allow-update: 127.0.0.1 NOKEY
zone:
	name: other.test
	zonefile: other.test.zone
	allow-update: 127.0.0.1 NOKEY
"""


def zone_text(serial=1, last=1):
    return ZONE.format(serial=serial, last=last)


def write_file(server, name, text):
    (server.directory / f"{name}.zone").write_text(text)


@pytest.fixture(name="server")
def make(make_server):
    made = make_server(zones={"closed.test": zone_text()}, extra=UPDATES,
                       options={"zonefiles-write": 0})
    for name in "open.test", "other.test":
        write_file(made, name, zone_text())
    return control.config(made).start()


def is_frozen(server, name):
    code, text = control.ask(server, "zonestatus", name)
    assert code == 0, text
    return "\t\tfrozen: yes\n" in text


def end(server, how):
    if how == "stop":
        assert control.ask(server, "stop") == (0, "ok\n")
        server.process.wait(DEADLINE)
        return
    pids = list(server.roles().values())
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.process.wait()
    wait_for("the end of all", lambda: not any(map(is_alive, pids)))


def test_frozen_until_thawed(server):
    assert not is_frozen(server, "open.test")
    assert control.ask(server, "freeze", "open.test") == (0, "ok\n")
    assert is_frozen(server, "open.test")
    assert not is_frozen(server, "other.test")
    # Again is fine.
    assert control.ask(server, "freeze", "open.test") == (0, "ok\n")
    assert control.ask(server, "thaw", "open.test") == (0, "ok\n")
    assert not is_frozen(server, "open.test")
    assert control.ask(server, "thaw", "open.test") == (
        1, "error the zone is not frozen\n")
    log = server.read_log()
    assert "xfrd: zone open.test is frozen: updates are refused until it is" \
        " thawed" in log
    assert "xfrd: zone open.test is thawed: it takes updates" in log


def test_thaw_reads_the_file(server):
    assert control.ask(server, "freeze", "open.test") == (0, "ok\n")
    write_file(server, "open.test", zone_text(serial=2, last=2))
    assert control.ask(server, "thaw", "open.test") == (0, "ok\n")
    assert server.serial("open.test") == 2
    answer = server.query("www.open.test", "A").answer
    assert str(answer[0][0]) == "192.0.2.2"


def test_bad_file_leaves_the_zone_frozen(server):
    assert control.ask(server, "freeze", "open.test") == (0, "ok\n")
    write_file(server, "open.test", zone_text(serial=2) + "www A 1.2.3\n")
    code, text = control.ask(server, "thaw", "open.test")
    assert code == 1 and text.startswith("error 1 zone stays frozen:\n"), text
    assert "open.test.zone:6" in text
    assert is_frozen(server, "open.test")
    write_file(server, "open.test", zone_text(serial=2))
    assert control.ask(server, "thaw", "open.test") == (0, "ok\n")
    assert server.serial("open.test") == 2


def test_all_zones(server):
    assert control.ask(server, "freeze") == (0, "ok\n")
    assert is_frozen(server, "open.test")
    assert is_frozen(server, "other.test")
    assert not is_frozen(server, "closed.test")
    log = server.read_log()
    for name in "open.test", "other.test":
        assert f"xfrd: zone {name} is frozen: updates are refused until it" \
            " is thawed" in log
    assert "xfrd: 2 zones are frozen" in log
    assert control.ask(server, "freeze") == (0, "ok\n")
    assert server.read_log().count("xfrd: zone open.test is frozen") == 1
    write_file(server, "other.test", "@ A\n")
    code, text = control.ask(server, "thaw")
    assert code == 1 and text.startswith("error 1 zone stays frozen:\n"), text
    assert not is_frozen(server, "open.test")
    assert is_frozen(server, "other.test")
    log = server.read_log()
    assert "xfrd: zone open.test is thawed: it takes updates" in log
    assert re.search(r"xfrd: zone other.test stays frozen: .*other.test.zone:1:",
                     log)
    assert "xfrd: 1 zone is thawed, others stay frozen" in log
    write_file(server, "other.test", zone_text(serial=2))
    assert control.ask(server, "thaw") == (0, "ok\n")
    assert not is_frozen(server, "other.test")
    log = server.read_log()
    assert "xfrd: zone other.test is thawed: it takes updates" in log
    assert log.count("xfrd: 1 zone is thawed") == 2


def test_zone_without_updates(server):
    assert control.ask(server, "freeze", "closed.test") == (
        1, "error the zone takes no updates\n")
    assert control.ask(server, "freeze", "absent.test") == (
        1, "error zone absent.test not configured\n")


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_frozen_over_a_restart(server, how):
    assert control.ask(server, "freeze", "open.test") == (0, "ok\n")
    end(server, how)
    server.start()
    wait_for("xfrd", lambda: is_frozen(server, "open.test"))
    assert not is_frozen(server, "other.test")
    assert control.ask(server, "thaw", "open.test") == (0, "ok\n")
    end(server, "stop")
    server.start()
    assert not is_frozen(server, "open.test")
