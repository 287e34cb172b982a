"""The file of zones that were added at run time: reading it at a start."""

import pytest

import control
from harness import DEADLINE, wait_for, zone_text

pytestmark = pytest.mark.plain

HEAD = "# NSD zone list\n# name pattern\n"
PATTERN = 'pattern:\n\tname: p\n\tzonefile: "%s.zone"\n'


def list_of(server):
    return server.directory / "zone.list"


@pytest.fixture
def server(make_server):
    server = make_server(zones={"example": zone_text(1)}, extra=PATTERN)
    for name in "a.test", "b.test":
        server.zone_file(name).write_text(zone_text(3))
    return server


def test_zones_of_the_list_are_served(server):
    list_of(server).write_text(
        HEAD + "add a.test p\ndel b.test p\nadd c.test p\n")
    server.start()
    assert server.serial("a.test") == 3
    assert server.rcode("www.b.test", "A") == "REFUSED"
    assert server.rcode("www.c.test", "A") == "SERVFAIL"
    assert server.serial("example") == 1
    # Later changes are served by the same processes.
    server.wait_replaced("loader", server.kill("loader"))
    server.wait_replaced("xfrd", server.kill("xfrd"))
    assert server.serial("a.test") == 3


def test_lines_that_make_no_sense_are_said_and_left_out(server):
    list_of(server).write_text(
        HEAD + "add a.test p\nadd b.test nowhere\nadd a..b p\nfoo\n"
        "add example p\nadd a.test p\n")
    server.start()
    assert server.serial("a.test") == 3
    assert server.serial("example") == 1
    log = server.read_log()
    assert "pattern does not exist for zone b.test pattern nowhere" in log
    for name in "a..b", "example", "a.test":
        assert f"bad domain name or duplicate zone '{name}' pattern p" in log


def test_lines_that_are_lost_are_said_to_be(server):
    """Unusable lines stay until the list is written anew."""
    control.config(server)
    list_of(server).write_text(
        HEAD + "add a.test p\nadd b.test nowhere\nadd a..b p\n")
    server.start()
    assert control.ask(server, "addzone", "c.test", "p") == (0, "ok\n")
    assert "add b.test nowhere\n" in list_of(server).read_text()
    for name in "a.test", "c.test":
        assert control.ask(server, "delzone", name) == (0, "ok\n")
    server.wait_log("zone.list is written anew without 2 lines of zones that"
                    " could not be added from it")
    wait_for("the list", lambda: list_of(server).read_text() == HEAD)


@pytest.mark.parametrize("is_deleted", (True, False))
def test_line_that_was_left_out_brings_no_zone_back(server, is_deleted):
    """The zone comes anew with another pattern, and perhaps goes again."""
    control.config(server)
    other = PATTERN.replace("name: p", "name: other")
    list_of(server).write_text(HEAD + "add b.test other\nadd c.test other\n"
                               "add b.test other\nadd a.test p\n"
                               "add d.test p\nadd e.test p\n")
    server.start()
    assert control.ask(server, "addzone", "b.test", "p") == (0, "ok\n")
    if is_deleted:
        assert control.ask(server, "delzone", "b.test") == (0, "ok\n")
    lines = list_of(server).read_text()
    assert "add b.test other" not in lines
    assert "add c.test other\n" in lines
    assert server.stop() == 0
    server.extra += other
    server.write_config()
    server.zone_file("c.test").write_text(zone_text(4))
    server.start()
    assert server.serial("c.test") == 4
    assert server.rcode("www.b.test", "A") == (
        "REFUSED" if is_deleted else "NOERROR")
    assert "written anew" not in server.read_log()


def test_second_lines_are_not_said_to_be_lost(server):
    """As of zones that moved to other lines while xfrd died."""
    control.config(server)
    list_of(server).write_text(HEAD + "add a.test p\nadd b.test p\n"
                               "add a.test p\nadd b.test p\n")
    server.start()
    wait_for("the list", lambda: list_of(server).read_text()
             == HEAD + "add a.test p\nadd b.test p\n")
    assert server.serial("a.test") == server.serial("b.test") == 3
    assert "could not be added" not in server.read_log()


def test_file_that_is_no_list_ends_the_start(server):
    list_of(server).write_text("add a.test p\n")
    server.start(ready=False)
    assert server.process.wait(DEADLINE) == 1
    log = server.read_log()
    assert f"zone list {list_of(server)} contains bad header" in log
    assert f"could not read zonelist file {list_of(server)}" in log
