"""A zone list that somebody has removed, or cut short, takes no zone with it."""
import os

import pytest

import control
from harness import wait_for, zone_text

HEAD = "# NSD zone list\n# name pattern\n"
LINES = {"add a.test p\n", "add b.test p\n"}


def read(path):
    return set(path.read_text()[len(HEAD):].splitlines(keepends=True))


def test_list_that_goes_while_it_is_written_to(make_server):
    server = make_server(zones={"example": zone_text()},
                         extra='pattern:\n\tname: p\n\tzonefile: "%s.zone"\n')
    for name in "abcd":
        server.zone_file(f"{name}.test").write_text(zone_text(3))
    control.config(server).start()
    path = server.directory / "zone.list"
    for name in "ab":
        assert control.ask(server, "addzone", f"{name}.test", "p")[0] == 0
    path.unlink()
    assert control.ask(server, "addzone", "c.test", "p") == (0, "ok\n")
    # The new list has the answered change and all lines from before.
    assert read(path) == LINES | {"add c.test p\n"}
    path.unlink()
    assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
    assert "add b.test p\n" in read(path)
    assert "add a.test p\n" not in read(path)
    # Another one in its place is none that we have written.
    (server.directory / "other").write_text(HEAD)
    (server.directory / "other").rename(path)
    assert control.ask(server, "addzone", "d.test", "p") == (0, "ok\n")
    server.wait_replaced("xfrd", server.kill("xfrd"))
    wait_for("control", lambda: control.ask(server, "status")[0] == 0)
    for name in "bcd":
        assert server.serial(f"{name}.test") == 3
        assert f"add {name}.test p\n" in read(path)


def test_list_that_is_gone_is_written_anew(make_server):
    server = make_server(zones={"example": zone_text()},
                         extra='pattern:\n\tname: p\n\tzonefile: "%s.zone"\n')
    names = ("a.test", "b.test")
    for name in names:
        server.zone_file(name).write_text(zone_text(3))
    control.config(server).start()
    for name in names:
        assert control.ask(server, "addzone", name, "p") == (0, "ok\n")
    path = server.directory / "zone.list"
    path.unlink()
    server.wait_replaced("xfrd", server.kill("xfrd"))
    wait_for("the list", path.exists)
    wait_for("its lines", lambda: set(path.read_text()[len(HEAD):].splitlines(
        keepends=True)) == LINES)
    assert [server.serial(name) for name in names] == [3, 3]
    assert "zone list" in server.read_log() and " is gone" in server.read_log()
    assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
    assert sorted(control.ask(server, "listzones")[1].splitlines()) == [
        "b.test\tp", "example"]


@pytest.mark.parametrize("length", [0, len(HEAD) + 5, len(HEAD) + 13, -1],
                         ids=["empty", "within", "between", "newline"])
def test_list_that_was_cut_short_is_written_anew(make_server, length):
    """By the disk, or by another program."""
    server = make_server(zones={"example": zone_text()},
                         extra='pattern:\n\tname: p\n\tzonefile: "%s.zone"\n')
    names = ("a.test", "b.test")
    for name in names:
        server.zone_file(name).write_text(zone_text(3))
    control.config(server).start()
    for name in names:
        assert control.ask(server, "addzone", name, "p") == (0, "ok\n")
    path = server.directory / "zone.list"
    os.truncate(path, length if length >= 0 else path.stat().st_size - 1)
    server.wait_replaced("xfrd", server.kill("xfrd"))
    server.wait_log("zone.list was cut short: it is written anew, with"
                    f" {1 if length > len(HEAD) + 5 or length < 0 else 2}"
                    " zones that it has lost")
    wait_for("its lines", lambda: read(path) == LINES)
    assert [server.serial(name) for name in names] == [3, 3]
    assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
    assert sorted(control.ask(server, "listzones")[1].splitlines()) == [
        "b.test\tp", "example"]


def test_start_with_a_list_that_was_cut_short_says_so(make_server):
    server = make_server(zones={"example": zone_text()},
                         extra='pattern:\n\tname: p\n\tzonefile: "%s.zone"\n')
    for name in "a.test", "b.test":
        server.zone_file(name).write_text(zone_text(3))
    path = server.directory / "zone.list"
    path.write_text(HEAD + "add a.test p\nadd b.te")
    control.config(server).start()
    assert server.serial("a.test") == 3
    assert (f"warning: {path}:4: the list ends within the line 'add b.te': it"
            " was cut short, and zones behind that are lost"
            in server.read_log())
    # A valid last line without a newline is accepted.
    server.stop()
    path.write_text(HEAD + "add a.test p\nadd b.test p")
    server.start()
    assert [server.serial(name) for name in ("a.test", "b.test")] == [3, 3]
    wait_for("its end", lambda: read(path) == LINES)
    server.stop()
    path.write_text("")
    server.start()
    assert f"zone list {path} is empty, and has no header" in server.read_log()


def test_journal_outlasts_a_list_that_was_cut_short(make_server):
    """Transferred versions are there when the list is whole again."""
    primary = make_server("primary", extra=(
        "zone:\n\tname: a.test\n\tzonefile: a.test.zone\n"
        "\tprovide-xfr: 127.0.0.1 NOKEY\n"))
    primary.zone_file("a.test").write_text(zone_text(5))
    primary.start()
    server = control.config(make_server(
        zones={"example": zone_text()},
        extra='pattern:\n\tname: s\n\tzonefile: "%s.zone"\n'
        f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n"
        "\tallow-notify: 127.0.0.1 NOKEY\n",
        options={"zonefiles-write": 0})).start()
    assert control.ask(server, "addzone", "a.test", "s") == (0, "ok\n")
    server.wait_serial("a.test", 5)
    server.stop()
    primary.stop()
    path = server.directory / "zone.list"
    whole = path.read_text()
    path.write_text(HEAD + "add a.te")
    server.start()
    assert server.rcode("www.a.test", "A") == "REFUSED"
    server.stop()
    path.write_text(whole)
    server.start()
    server.wait_serial("a.test", 5)
    assert "the journal forgets" not in server.read_log()
