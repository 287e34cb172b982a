"""The zone list is written anew while changes of zones are under way."""
import os
import signal

import pytest

import control
from harness import Held, wait_for, zone_text

PATTERNS = ('pattern:\n\tname: p\n\tzonefile: "%s.zone"\n'
            'pattern:\n\tname: longer\n\tzonefile: "%s.zone"\n')
# Threads of the loader read such a file.
LARGE = zone_text(9) + "$INCLUDE more.inc\n" + (";" + 99 * "x" + "\n") * 100000


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text()}, extra=PATTERNS,
                       options={"replace-hung": "no"})
    for name in "abcde":
        made.zone_file(f"{name}.test").write_text(zone_text(3))
    return control.config(made).start()


def read(server):
    return (server.directory / "zone.list").read_text()


def listed(server):
    """The pattern of each zone; there is nothing else but free places."""
    words = [line.split(" ") for line in read(server).splitlines()[2:]]
    assert {line[0] for line in words} <= {"add", "del"}
    return {line[1]: line[2] for line in words if line[0] == "add"}


def change(server, *words):
    assert control.ask(server, *words) == (0, "ok\n")


def serials(server):
    return {name: serial for name in ("a.test", "b.test", "c.test", "big.test")
            if (serial := server.serial(name)) is not None}


@pytest.mark.parametrize("words,line,there", [
    (["addzone", "c.test", "p"], "add c.test p\n",
     {"a.test": "p", "b.test": "p", "c.test": "p"}),
    (["delzone", "a.test"], "del a.test p\n", {"b.test": "p"}),
    (["changezone", "a.test", "longer"], "add a.test longer\n",
     {"a.test": "longer", "b.test": "p"}),
], ids=["add", "delete", "change"])
def test_what_an_xfrd_has_left_is_in_the_new_list(server, words, line, there):
    """A change of a former xfrd is in the new list, at the place that xfrd
    knows."""
    for name in "ab":
        change(server, "addzone", f"{name}.test", "p")
    loader = server.kill("loader", signal.SIGSTOP)
    client = control.begin(server, *words)
    wait_for("its line", lambda: line in read(server))
    # The old line goes when the new one is durable.
    wait_for("one line", lambda: words[0] != "changezone"
             or "del a.test p\n" in read(server))
    # Half a line, which only a list that is written anew is rid of.
    with (server.directory / "zone.list").open("a") as f:
        f.write("#")
    server.wait_replaced("xfrd", server.kill("xfrd"))
    os.kill(loader, signal.SIGCONT)
    client.communicate()
    wait_for("control", lambda: control.ask(server, "status")[0] == 0)
    wait_for("the list", lambda: read(server).count("#") == 2
             and listed(server) == there)
    wait_for("the zones", lambda: serials(server) == dict.fromkeys(there, 3))
    # Each line is where it is thought to be.
    for name in list(there):
        change(server, "delzone", name)
        del there[name]
        change(server, "addzone", "d.test", "p")
        assert listed(server) == {**there, "d.test": "p"}
        change(server, "delzone", "d.test")
        assert listed(server) == there
    server.stop()
    server.start()
    assert serials(server) == {}


def test_what_is_busy_is_in_the_new_list(server):
    held = Held(server.directory / "more.inc")
    server.zone_file("big.test").write_text(LARGE)
    for name in "abcd":
        change(server, "addzone", f"{name}.test", "p")
    adds = control.begin(server, "addzone", "big.test", "p")
    with held.opened():
        for name in "bcd":
            change(server, "delzone", f"{name}.test")
        # With a.test gone there are more free lines than zones, one of which
        # is that of big.test.
        deletes = control.begin(server, "delzones", text="a.test\nbig.test\n")
        wait_for("a new list", lambda: "b.test" not in read(server))
        # Other commands do not wait for it.
        change(server, "addzone", "e.test", "longer")
        change(server, "delzone", "e.test")
        change(server, "addzone", "a.test", "longer")
    assert adds.communicate()[0] == "ok\n"
    assert deletes.communicate()[0].endswith("deleted 2 zones\n")
    assert listed(server) == {"a.test": "longer"}
    assert serials(server) == {"a.test": 3}
    server.stop()
    server.start()
    assert serials(server) == {"a.test": 3}


def test_nobody_waits_with_a_new_list_for_what_is_busy(server):
    held = Held(server.directory / "more.inc")
    server.zone_file("big.test").write_text(LARGE)
    for name in "abc":
        change(server, "addzone", f"{name}.test", "p")
    adds = control.begin(server, "addzone", "big.test", "p")
    with held.opened():
        change(server, "delzone", "a.test")
        deletes = control.begin(server, "delzone", "big.test")
        wait_for("its line", lambda: "del big.test p\n" in read(server))
        change(server, "delzone", "b.test")
        change(server, "delzone", "c.test")
    assert adds.communicate()[0] == "ok\n"
    assert deletes.communicate()[0] == "ok\n"
    assert listed(server) == {}
    assert serials(server) == {}
