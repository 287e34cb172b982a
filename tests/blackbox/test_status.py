"""status says at a glance what is wrong; if nothing is, no more than NSD."""

import itertools
import json
import os
import re

import pytest

import control
from harness import wait_for, zone_text


@pytest.fixture
def server(make_server):
    server = make_server(zones={"example": zone_text(1)},
                         options={"server-count": 2})
    control.config(server)
    return server


def without_times(troubles):
    return [re.sub(r"\d+ seconds", "N seconds", one) for one in troubles]


def troubles(server):
    """The troubles that status shows; JSON must show the same."""
    def ask(*words):
        # An xfrd that a new store replaces says so, and answers nothing else.
        code, text = control.ask(server, *words, "status")
        return text if code == 0 else None

    def steady():
        # A transfer may have failed between two questions.
        text, told, again = ask(), ask("-j"), ask()
        if None in (text, told, again):
            return None
        return (text, json.loads(told)["trouble"]) if without_times(
            [again]) == without_times([text]) else None
    text, told = wait_for("no change between two questions", steady)
    lines = [line for line in text.splitlines()
             if line.startswith("trouble: ")]
    # NSD's lines come first.
    head = text.splitlines()[:len(text.splitlines()) - len(lines)]
    assert [line.split(":")[0] for line in head][:2] == [
        "version", "verbosity"]
    assert not any(line in head for line in lines)
    plain = without_times(one.split(": ", 1)[1] for one in lines)
    assert without_times(told) == plain
    return plain


def test_nothing_is_wrong(server):
    server.start()
    assert troubles(server) == []


def test_zones(server):
    for n in range(12):
        server.write_zone(f"n{n:02}.test", None)
    server.extra += ("zone:\n\tname: away.test\n\tzonefile: away.zone\n"
                     f"\trequest-xfr: 127.0.0.1@{server.port} NOKEY\n")
    server.write_config()
    server.start()
    assert "zone n00.test is not loaded" in troubles(server)
    wait_for("the transfer that fails", lambda: any(
        re.match("zone away.test has no data: .", one)
        for one in troubles(server)) or "and" in troubles(server)[-1])
    for n in range(9):
        server.write_zone(f"n{n:02}.test", zone_text(1))
    assert control.ask(server, "reload")[0] == 0
    wait_for("four", lambda: len(troubles(server)) == 4)
    assert "zone n09.test is not loaded" in troubles(server)
    for n in range(9, 12):
        server.write_zone(f"n{n:02}.test", zone_text(1))
    assert control.ask(server, "reload")[0] == 0
    wait_for("one", lambda: [one.split(":")[0] for one in troubles(server)]
             == ["zone away.test has no data"])


def test_many_are_not_all_named(server):
    for n in range(12):
        server.write_zone(f"n{n:02}.test", None)
    server.write_config()
    server.start()
    said = troubles(server)
    assert len(said) == 11
    assert said[-1] == "and 2 more zones, see zonestatus"


def last_read(server, zone="example"):
    """The state of the zone's file in zonestatus; JSON must show the same."""
    found = re.findall("^\t\tlast-read: (.*)$", control.ask(
        server, "zonestatus", zone)[1], re.M)
    told, = json.loads(control.ask(server, "-j", "zonestatus", zone)[1])
    assert [told[key] for key in ("last_read",) if key in told] == [
        "failed" for _ in found]
    return found


def is_told(server, zone="example"):
    """True if status tells that the zone is served as it was, and only that;
    otherwise it must tell nothing."""
    said = (troubles(server), last_read(server, zone))
    if said == ([], []):
        return False
    assert said == (
        [f"zone {zone} is served as it was: its file cannot be used, see the"
         " log"], ['"failed: see the log"'])
    return True


def test_file_that_cannot_be_used(server):
    """The zone is served as it was: status says so until the file is mended,
    whichever process is asked, and after a start with a database."""
    server.options["database"] = f'"{server.directory}/zones.db"'
    server.write_config()
    server.start()
    assert last_read(server) == []
    server.zone_file("example").write_text("nonsense\n")
    assert control.ask(server, "reload")[0] == 1
    assert is_told(server)
    assert server.serial("example") == 1
    # Later processes know the trouble, too.
    server.options["identity"] = '"two"'
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    wait_for("control", lambda: control.ask(server, "status")[0] == 0)
    assert is_told(server)
    assert server.stop() == 0
    server.start()
    wait_for("the zone", lambda: is_told(server))
    assert server.serial("example") == 1
    server.write_zone("example", zone_text(2))
    assert control.ask(server, "reload")[0] == 0
    assert not is_told(server)
    # Nor can one that is not there; what is served is right again then.
    server.zone_file("example").unlink()
    assert control.ask(server, "reload")[0] == 1
    assert is_told(server)
    server.write_zone("example", zone_text(2))
    assert control.ask(server, "reload")[0] == 0
    assert not is_told(server)


@pytest.mark.parametrize("reload", [
    lambda server: control.ask(server, "reload")[0],
    lambda server: server.reload()], ids=["control", "signal"])
def test_file_that_cannot_be_read(server, reload):
    """An unreadable file, the zone's own or an included one, is told, as the
    served zone may differ from it. The server tries it again: it may be back
    as it was, or be readable."""
    file = server.zone_file("example")
    kept = file.rename(server.directory / "kept")
    file.symlink_to(kept)
    server.start()
    file.unlink()
    file.symlink_to(file)
    for _ in range(2):
        reload(server)
        wait_for("it is told", lambda: is_told(server))
    # The same file once more.
    file.unlink()
    file.symlink_to(kept)
    reload(server)
    wait_for("no trouble", lambda: not is_told(server))
    file.unlink()
    file.mkdir()
    reload(server)
    wait_for("it is told", lambda: is_told(server))
    file.rmdir()
    server.write_zone("example", zone_text(2) + "$INCLUDE more.inc\n")
    more = server.directory / "more.inc"
    more.symlink_to(more)
    reload(server)
    wait_for("it is told", lambda: is_told(server))
    assert server.serial("example") == 1
    more.unlink()
    more.write_text("more A 192.0.2.9\n")
    reload(server)
    wait_for("no trouble", lambda: not is_told(server))
    assert server.serial("example") == 2


def test_file_that_keeps_changing(server):
    server.start()
    file = server.zone_file("example")
    more = "".join(f"h{n} A 192.0.2.1\n" for n in range(50000))
    serials = itertools.count(2)

    def gives_up():
        serial = next(serials)
        server.write_zone("example", zone_text(serial) + more)
        client = control.begin(server, "reload")
        while client.poll() is None:
            serial += 1
            os.utime(file, ns=(serial, serial))
        # A busy machine may have had it read between two changes.
        return client.returncode == 1
    wait_for("a file that changes whenever it is read", gives_up)
    server.wait_log("its file keeps changing, giving up")
    assert is_told(server)
    assert control.ask(server, "reload")[0] == 0
    assert not is_told(server)


PATTERNS = """
pattern:
	name: file
	zonefile: "%s.zone"
pattern:
	name: none
pattern:
	name: other
	zonefile: "%s.other"
pattern:
	name: secondary
	zonefile: "%s.zone"
	request-xfr: 127.0.0.1@9 NOKEY
pattern:
	name: away
	zonefile: "%s.away"
	request-xfr: 127.0.0.1@9 NOKEY
"""


def test_zone_that_gets_another_file(server):
    """The status is of the file that the zone has now."""
    server.extra += PATTERNS
    server.write_config()
    server.zone_file("z.test").write_text(zone_text(3))
    server.start()

    def change(pattern, code=0):
        assert control.ask(server, "changezone", "z.test",
                           pattern)[0] == code

    def is_told_now():
        return is_told(server, "z.test")
    change("file")
    server.zone_file("z.test").write_text("nonsense\n")
    assert control.ask(server, "reload", "z.test")[0] == 1
    assert is_told_now()
    # The pattern has no zone file.
    change("none")
    assert not is_told_now()
    assert server.serial("z.test") == 3
    # The same as before, which nobody has mended.
    change("file", 1)
    assert is_told_now()
    # A file that is missing; then it is there.
    change("other", 1)
    assert is_told_now()
    (server.directory / "z.test.other").write_text(zone_text(4))
    assert control.ask(server, "reload", "z.test")[0] == 0
    assert not is_told_now()
    change("file", 1)
    assert is_told_now()
    change("other")
    assert not is_told_now()
    # A secondary zone needs none.
    change("file", 1)
    change("away")
    assert last_read(server, "z.test") == []
    change("none")
    assert not is_told_now()
    change("file", 1)
    change("secondary", 1)
    assert last_read(server, "z.test") == []
    change("file", 1)
    assert is_told_now()
    server.zone_file("z.test").write_text(zone_text(5))
    assert control.ask(server, "reload", "z.test")[0] == 0
    assert not is_told_now()


def test_zone_that_gets_another_file_by_reconfig(server):
    server.start()
    server.zone_file("example").write_text("nonsense\n")
    assert control.ask(server, "reload")[0] == 1
    assert is_told(server)
    with_file = server.config.read_text()
    line, = re.findall("^.*zonefile:.*\n", with_file, re.M)
    server.config.write_text(with_file.replace(line, ""))
    assert control.ask(server, "reconfig")[0] == 0
    wait_for("no trouble", lambda: not is_told(server))
    server.config.write_text(with_file)
    control.ask(server, "reconfig")
    wait_for("it is told", lambda: is_told(server))


@pytest.mark.parametrize("role", ["loader", "xfrd", "server 2"])
def test_process_that_died(server, role):
    """A process has the name that ps and the log have."""
    server.start()
    server.wait_replaced(role, server.kill(role))
    wait_for("control", lambda: control.ask(server, "status")[0] == 0)
    assert troubles(server) == [
        f"{role} has died, N seconds ago; deaths so far: 1"]
    server.wait_log(rf"error: {role} \(pid \d+\) was killed")


def test_processes_that_were_replaced_did_not_die(server):
    server.start()
    server.options["identity"] = '"two"'
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    wait_for("control", lambda: control.ask(server, "status")[0] == 0)
    assert troubles(server) == []


def test_what_waits_for_a_restart(server):
    server.start()
    server.options["server-count"] = 3
    server.write_config()
    waits = [f"{server.place('server-count')}server: server-count has changed:"
             " that waits for a restart"]
    assert control.ask(server, "reconfig")[0] == 0
    assert troubles(server) == waits
    # With something else that does not: another xfrd says it.
    server.options["identity"] = '"two"'
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    wait_for("control", lambda: control.ask(server, "status")[0] == 0)
    assert troubles(server) == waits
    server.options["server-count"] = 2
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    assert troubles(server) == []
