"""Zones that come, go and change by nsd-control, and the zone list."""
import resource
import select
import socket
import threading
import time

import pytest

import control
from harness import (DEADLINE, Held, Load, store_stat, wait_for,
                     zone_text)

HEAD = "# NSD zone list\n# name pattern\n"
PATTERNS = ('pattern:\n\tname: p\n\tzonefile: "%s.zone"\n'
            'pattern:\n\tname: q\n\tzonefile: "%s.other"\n')
FIXED = ("error zone defined in nsd.conf, cannot delete it in this manner: "
         "remove it from nsd.conf yourself and repattern\n")

REFUSED = "error reconfig refused: nothing has changed"


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text()}, extra=PATTERNS,
                       options={"server-count": 2})
    for name in "a.test", "b.test", "c.test":
        made.zone_file(name).write_text(zone_text(3))
    (made.directory / "a.test.other").write_text(zone_text(7))
    return control.config(made).start()


def zone_list(server):
    path = server.directory / "zone.list"
    return path.read_text() if path.exists() else ""


def serves(server, name):
    return server.rcode(f"www.{name}", "A") == "NOERROR"


# ---- verbs ------------------------------------------------------------------

def test_addzone_and_delzone(server):
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    for _ in range(8):
        assert server.serial("a.test") == 3
    assert zone_list(server) == HEAD + "add a.test p\n"
    assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
    for _ in range(8):
        assert not serves(server, "a.test")
    # A list with more free lines than zones is written anew, sooner or later.
    assert zone_list(server) in (HEAD + "del a.test p\n", HEAD)


def test_errors_of_addzone(server):
    ask = control.ask
    assert ask(server, "addzone", "a.test", "nosuch") == (
        1, "error pattern nosuch does not exist\n")
    assert ask(server, "addzone", "a..b", "p") == (
        1, "error cannot parse zone name\n")
    assert ask(server, "addzone", "a.test") == (
        1, "error could not find next argument after a.test\n")
    assert ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    assert ask(server, "addzone", "A.test.", "p") == (
        0, "zone A.test. already exists\nok\n")
    assert ask(server, "addzone", "example", "p") == (
        0, "zone example already exists\nok\n")
    # Configured, and not loaded.
    assert ask(server, "addzone", "nofile.test", "p") == (0, "ok\n")
    assert server.rcode("www.nofile.test", "A") == "SERVFAIL"


def test_errors_of_delzone(server):
    assert control.ask(server, "delzone", "a.test") == (
        0, "warning zone a.test not present\n")
    assert control.ask(server, "delzone", "example") == (1, FIXED)
    assert control.ask(server, "delzone", "a..b") == (
        1, "error cannot parse zone name\n")
    assert control.ask(server, "delzones", text="\n") == (
        0, "warning zone  not present\nerror for input line ''\n"
        "deleted 0 zones\n")
    assert server.serial("example") == 1


def test_changezone(server):
    ask = control.ask
    assert ask(server, "changezone", "a.test", "p") == (
        0, "zone a.test did not exist, creating\nok\n")
    assert server.serial("a.test") == 3
    load = Load(server, name="www.a.test")
    assert ask(server, "changezone", "a.test", "p") == (0, "ok\n")
    assert ask(server, "changezone", "a.test", "q") == (0, "ok\n")
    assert server.serial("a.test") == 7
    load.step(0.1)
    load.finish()
    assert load.lost == 0
    assert "add a.test q\n" in zone_list(server)
    assert "add a.test p\n" not in zone_list(server)
    assert ask(server, "changezone", "a.test", "nosuch") == (
        1, "error pattern nosuch does not exist\n")
    assert ask(server, "changezone", "example", "p") == (1, FIXED)
    server.wait_replaced("loader", server.kill("loader"))
    assert server.serial("a.test") == 7


def test_addzones_and_delzones(server):
    code, text = control.ask(
        server, "addzones",
        text="a.test p\nb.test nosuch\na.test p\nc.test\n\nb.test  p\n")
    assert (code, text) == (0, (
        "added: a.test\n"
        "error pattern nosuch does not exist\n"
        "error for input line 'b.test'\n"
        "zone a.test already exists\nadded: a.test\n"
        "error could not find next argument after c.test\n"
        "error for input line 'c.test'\n"
        "error could not find next argument after \n"
        "error for input line ''\n"
        "added: b.test\nadded 3 zones\n"))
    assert serves(server, "a.test") and serves(server, "b.test")
    code, text = control.ask(server, "delzones",
                             text="a.test\nx.test\nexample\nb.test \n")
    assert (code, text) == (0, (
        "removed: a.test\nwarning zone x.test not present\n"
        "error for input line 'x.test'\n" + FIXED
        + "error for input line 'example'\nremoved: b.test\n"
        "deleted 2 zones\n"))
    assert not serves(server, "a.test") and not serves(server, "b.test")


# ---- files that cannot be read ----------------------------------------------

def bad_zone(server, name, line=3):
    """A file of the zone whose last line is no record."""
    path = server.directory / f"{name}.zone"
    path.write_text(zone_text(3) + "bad IN A 300.0.0.1\n")
    return path, path.read_text().count("\n")


def test_addzone_of_a_broken_file_is_an_error_and_the_zone_is_there(server):
    path, line = bad_zone(server, "bad.test")
    code, text = control.ask(server, "addzone", "bad.test", "p")
    lines = text.splitlines()
    assert code == 1
    assert lines[0] == ("error zone bad.test was added, but its file cannot"
                        " be read:")
    assert lines[1].startswith(f"{path.name}:{line}: ")
    assert lines[-1] == f"zone bad.test file {path.name} read with 1 errors"
    assert "ok" not in lines
    assert "add bad.test p\n" in zone_list(server)
    assert server.rcode("www.bad.test", "A") == "SERVFAIL"
    assert control.ask(server, "addzone", "bad.test", "p") == (
        0, "zone bad.test already exists\nok\n")
    path.write_text(zone_text(4))
    assert control.ask(server, "reload", "bad.test") == (0, "ok\n")
    assert server.serial("bad.test") == 4


def test_changezone_to_a_broken_file_is_an_error(server):
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    (server.directory / "a.test.other").write_text("nonsense\n")
    code, text = control.ask(server, "changezone", "a.test", "q")
    assert code == 1
    assert text.startswith("error zone a.test has another pattern, but its"
                           " file cannot be read:\na.test.other:1: ")
    assert "add a.test q\n" in zone_list(server)
    assert server.serial("a.test") == 3
    # The same again says the same, of a file that is as it was.
    assert control.ask(server, "changezone", "a.test", "p") == (0, "ok\n")
    bad_zone(server, "new.test")
    code, text = control.ask(server, "changezone", "new.test", "p")
    assert code == 1
    assert text.startswith("error zone new.test was added, but its file")


def test_client_that_sends_all_lines_before_it_reads(server):
    """NSD's nsd-control sends all first, and would wait for ever."""
    count = 20000
    lines = "".join(f"z{i}.test\n" for i in range(count))
    answer = control.say(server, f"NSDCT1 delzones\n{lines}\4\n".encode())
    assert answer.count("not present\n") == count
    assert answer.endswith("deleted 0 zones\n")


def test_addzones_tell_of_each_broken_file(server):
    bad_zone(server, "bad.test")
    code, text = control.ask(server, "addzones",
                             text="a.test p\nbad.test p\nb.test p\n")
    lines = text.splitlines()
    assert code == 0
    assert lines[:2] == ["added: a.test", "error zone bad.test was added, but"
                         " its file cannot be read:"]
    assert lines[-3:] == ["added: bad.test", "added: b.test", "added 3 zones"]


def large_zone(path, serial=5, bad=False):
    """A zone file that threads read, later."""
    with open(path, "w", encoding="ascii") as out:
        out.write(zone_text(serial))
        for i in range(110_000):
            out.write(f"a-name-that-is-not-short-{i:09} IN TXT "
                      "\"some forty octets of text for the size of it\"\n")
        if bad:
            out.write("bad IN A 300.0.0.1\n")
    assert path.stat().st_size > 8 << 20


def test_addzone_of_a_large_file_is_ok_when_it_is_served(server):
    large_zone(server.directory / "large.test.zone")
    assert control.ask(server, "addzone", "large.test", "p") == (0, "ok\n")
    assert server.serial("large.test") == 5
    large_zone(server.directory / "bad.test.zone", bad=True)
    code, text = control.ask(server, "addzone", "bad.test", "p")
    assert code == 1
    assert text.startswith("error zone bad.test was added, but its file cannot"
                           " be read:\nbad.test.zone:")
    assert "300.0.0.1" in text or " read with 1 errors" in text


def test_zone_comes_with_what_its_file_says(server):
    """A zone is never found without its data."""
    path = server.directory / "some.test.zone"
    path.write_text(zone_text(4) + "".join(
        f"n{n} A 192.0.2.1\n" for n in range(100000)))
    rcodes = {server.rcode("www.some.test", "A")}
    asker = threading.Thread(target=control.ask, args=(
        server, "addzone", "some.test", "p"))
    asker.start()
    while asker.is_alive():
        rcodes.add(server.rcode("www.some.test", "A"))
    asker.join()
    assert serves(server, "some.test")
    assert rcodes <= {"REFUSED", "NOERROR"}


# ---- what was told is so ----------------------------------------------------

@pytest.mark.parametrize("first, second, answer, rcode", [
    ("addzone x.test p", "addzone x.test q", "zone x.test already exists\nok\n",
     "NOERROR"),
    ("addzone x.test p", "changezone x.test p", "ok\n", "NOERROR"),
    ("delzone was.test", "delzone was.test",
     "warning zone was.test not present\n", "REFUSED")])
def test_what_is_so_by_a_change_under_way_is_told_behind_it(
        server, first, second, answer, rcode):
    for name in "x.test", "was.test":
        server.zone_file(name).write_text(zone_text())
    assert control.ask(server, "addzone", "was.test", "p") == (0, "ok\n")
    # The loader is at work with another zone meanwhile.
    held = Held(server.zone_file("held.test"), zone_text())
    clients = []
    for command in "addzone held.test p", first, second:
        clients.append(control.connect(server))
        clients[-1].sendall(f"NSDCT1 {command}\n".encode())
        if len(clients) == 1:
            wait_for("the loader", held.is_waited_for)
        # The loader has the request when another command is answered.
        assert control.ask(server, "serverpid")[0] == 0
    assert select.select(clients, [], [], 0)[0] == []
    held.check_held()
    held.let_go()
    assert control.read_all(clients[2]) == answer
    assert server.rcode(first.split()[1], "SOA") == rcode
    assert control.read_all(clients[1]) == "ok\n"


def test_next_start_has_the_same_zones(server):
    for line in (("addzone", "a.test", "p"), ("addzone", "b.test", "p"),
                 ("delzone", "a.test"), ("addzone", "c.test", "p"),
                 ("changezone", "b.test", "p")):
        assert control.ask(server, *line) == (0, "ok\n")
    # The served version is not of the new file.
    assert control.ask(server, "changezone", "c.test", "q") == (
        1, "error zone c.test has another pattern, but its file cannot be"
        " read:\nzone c.test: zonefile c.test.other does not exist\n")
    assert server.serial("c.test") == 3
    server.stop()
    server.start()
    assert serves(server, "b.test") and not serves(server, "a.test")
    assert server.rcode("www.c.test", "A") == "SERVFAIL"
    assert control.ask(server, "delzone", "b.test") == (0, "ok\n")
    assert not serves(server, "b.test")


@pytest.mark.parametrize("role", ["xfrd", "loader", "server 1"])
def test_process_dies_amid_changes(server, role):
    """An answered change is done; another one is done whole or not at all."""
    for i in range(4):
        name = "abc"[i % 3] + ".test"
        verb = ["addzone", name, "p"] if i % 2 == 0 else ["delzone", name]
        client = control.begin(server, *verb)
        pid = server.kill(role)
        text = client.communicate(timeout=120)[0]
        server.wait_replaced(role, pid)
        # The next verb works.
        wait_for("xfrd", lambda: control.ask(server, "status")[0] == 0)
        if text == "ok\n":
            assert serves(server, name) == (verb[0] == "addzone")
            assert (f"add {name} p\n" in zone_list(server)) == (
                verb[0] == "addzone")
    # All agree.
    for name in "a.test", "b.test", "c.test":
        wait_for("an agreement", lambda name=name: serves(server, name) == (
            f"add {name} p\n" in zone_list(server)))
        again = control.ask(server, "addzone", name, "p")
        assert again[1].endswith("ok\n")
        assert serves(server, name)


def test_list_that_cannot_be_made_is_an_error(make_server):
    made = make_server(zones={"example": zone_text()}, extra=PATTERNS)
    made.zone_file("a.test").write_text(zone_text(3))
    made.options["zonelistfile"] = f'"{made.directory}/absent/zone.list"'
    control.config(made).start()
    code, text = control.ask(made, "addzone", "a.test", "p")
    assert code == 1
    assert text.startswith("error could not add zonelist entry: ")
    assert not serves(made, "a.test")


def test_full_disk_is_an_error_and_nothing_has_changed(server):
    """A limit on files stands for a full disk (fault 50)."""
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    before = zone_list(server)
    xfrd = server.role("xfrd")
    limits = resource.prlimit(xfrd, resource.RLIMIT_FSIZE)
    resource.prlimit(xfrd, resource.RLIMIT_FSIZE,
                     (len(before) + 5, limits[1]))
    for verb in "addzone", "changezone":
        code, text = control.ask(server, verb, "b.test", "p")
        assert code == 1
        assert text.startswith("error could not add zonelist entry: ")
    # Half a line has become a comment.
    assert [line for line in zone_list(server).splitlines()
            if line.strip("#")] == before.splitlines()
    assert not serves(server, "b.test") and serves(server, "a.test")
    # A change that needs no room goes on.
    assert control.ask(server, "changezone", "a.test", "q") == (0, "ok\n")
    resource.prlimit(xfrd, resource.RLIMIT_FSIZE, limits)
    assert control.ask(server, "addzone", "b.test", "p") == (0, "ok\n")
    assert serves(server, "b.test")


def test_list_that_cannot_be_written_anew_is_tried_again_later(make_server):
    """Here the new file cannot be made."""
    made = make_server(zones={}, extra=PATTERNS)
    control.config(made).start()
    assert control.ask(made, "addzone", "a.test", "p") == (0, "ok\n")
    in_the_way = made.directory / "zone.list~" / "x"
    in_the_way.mkdir(parents=True)
    # With one zone, NSD writes it anew then.
    begun = time.monotonic()
    assert control.ask(made, "changezone", "a.test", "q") == (0, "ok\n")
    made.wait_log("zone.list anew: ")
    time.sleep(2)
    count = made.read_log().count("zone.list anew: ")
    assert count <= 2 + time.monotonic() - begun
    assert control.ask(made, "status")[0] == 0
    in_the_way.rmdir()
    in_the_way.parent.rmdir()
    wait_for("the list", lambda: zone_list(made) == HEAD + "add a.test q\n")


def test_list_that_is_a_folder_takes_no_line(make_server):
    made = make_server(zones={}, extra=PATTERNS)
    control.config(made).start()
    assert control.ask(made, "addzone", "a.test", "p") == (0, "ok\n")
    path = made.directory / "zone.list"
    path.unlink()
    path.mkdir()
    assert control.ask(made, "changezone", "a.test", "q") == (
        1, "error could not add zonelist entry: Is a directory\n")
    path.rmdir()
    wait_for("a list again", lambda: control.ask(
        made, "changezone", "a.test", "q") == (0, "ok\n"))
    assert zone_list(made) == HEAD + "add a.test q\n"


def test_list_that_is_torn_and_stays_so_takes_no_line(make_server):
    made = make_server(zones={"example": zone_text()}, extra=PATTERNS)
    made.zone_file("a.test").write_text(zone_text(3))
    (made.directory / "zone.list").write_text(HEAD + "add b.test p\nadd x")
    (made.directory / "zone.list~" / "x").mkdir(parents=True)
    control.config(made).start()
    code, text = control.ask(made, "addzone", "a.test", "p")
    assert (code, text) == (
        1, "error could not add zonelist entry: File exists\n")
    assert control.ask(made, "delzone", "b.test") == (0, "ok\n")
    assert zone_list(made) == HEAD + "del b.test p\nadd x"
    (made.directory / "zone.list~" / "x").rmdir()
    (made.directory / "zone.list~").rmdir()
    wait_for("the list", lambda: control.ask(
        made, "addzone", "a.test", "p") == (0, "ok\n"))
    assert zone_list(made) == HEAD + "add a.test p\n"


# ---- many -------------------------------------------------------------------

def test_many_zones_come_and_go_under_load(server):
    count = 3000
    names = [f"z{i}.test" for i in range(count)]

    def store_octets():
        return store_stat(server.role("loader")).st_blocks * 512
    before = store_octets()
    load = Load(server)
    code, text = control.ask(server, "addzones",
                             text="".join(f"{name} p\n" for name in names))
    assert code == 0 and text.endswith(f"\nadded {count} zones\n")
    load.step(0.05)
    assert server.rcode(names[-1], "SOA") == "SERVFAIL"
    assert zone_list(server).count("\nadd ") == count
    most = store_octets()
    assert most > 4 * before
    code, text = control.ask(server, "delzones",
                             text="".join(f"{name}\n" for name in names))
    assert code == 0 and text.endswith(f"\ndeleted {count} zones\n")
    load.finish()
    assert load.lost == 0
    assert server.rcode(names[-1], "SOA") == "REFUSED"
    wait_for("the list", lambda: zone_list(server) == HEAD)
    wait_for("memory",
             lambda: store_octets() < before + (most - before) / 4)


class Stream:
    """Lines to addzones or delzones, a batch at a time."""

    def __init__(self, server, verb):
        self.client = control.connect(server)
        self.answers = self.client.makefile("r", encoding="ascii")
        self.client.sendall(f"NSDCT1 {verb}\n".encode())

    def send(self, lines):
        """Sends lines, and waits for all answers."""
        self.client.sendall("".join(lines).encode())
        return [self.answers.readline() for _ in lines]

    def end(self):
        self.client.sendall(b"\4\n")
        text = self.answers.read()
        self.client.close()
        return text


def come_and_go(server, count, stay, rate):
    """Adds zones at that rate, if the machine can; each is deleted when so many
    have come behind it. Yields after each batch."""
    add, delete, batch = (Stream(server, "addzones"),
                          Stream(server, "delzones"), 50)
    begun = time.monotonic()
    for at in range(0, count + stay, batch):
        names = [f"z{i}.test" for i in range(at, at + batch)]
        gone = [f"z{i - stay}.test" for i in range(at, at + batch)]
        if at < count:
            assert add.send([f"{name} p\n" for name in names]) == [
                f"added: {name}\n" for name in names]
        if at >= stay:
            assert delete.send([f"{name}\n" for name in gone]) == [
                f"removed: {name}\n" for name in gone]
        time.sleep(max(0, begun + at / rate - time.monotonic()))
        yield at
    assert add.end() == f"added {count} zones\n"
    assert delete.end() == f"deleted {count} zones\n"


def test_zones_come_and_go_a_thousand_a_second_amid_queries(server):
    def store_octets():
        return store_stat(server.role("loader")).st_blocks * 512

    octets, failed, over = [store_octets()], [], threading.Event()

    def run():
        try:
            for at in come_and_go(server, 4000, 1000, 1000):
                if at % 500 == 0:
                    octets.append(store_octets())
        except BaseException as error:  # for the test's own thread
            failed.append(error)
        over.set()

    load = Load(server, clients=2)
    thread = threading.Thread(target=run)
    thread.start()
    while not over.is_set():
        load.step(0.1)
    thread.join()
    load.finish()
    assert not failed, failed
    assert load.lost == 0 and load.answered > 100
    wait_for("the list", lambda: zone_list(server) == HEAD)
    assert control.ask(server, "listzones")[1] == "example\n"
    # Memory of removed zones is used again: otherwise it would be five times
    # as much as for the first thousand.
    at_start, _, _, first_thousand = octets[:4]
    assert max(octets) - at_start < 2.5 * (first_thousand - at_start)
    # Of the last ones it is given back, too.
    wait_for("memory", lambda: store_octets() - at_start
             < (first_thousand - at_start) / 2)


# ---- reconfig ---------------------------------------------------------------

def test_reconfig(server):
    assert control.ask(server, "reconfig") == (
        0, f"reconfig start, read {server.config}\n"
           "reconfig completed: no changes detected\nok\n")
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    server.zones["b.test"] = ""
    server.write_config()
    old = server.role("xfrd")
    code, text = control.ask(server, "repattern")
    assert (code, text) == (
        0, f"reconfig start, read {server.config}\n"
           "zones: 1 new, 0 gone, 0 changed\n"
           "reconfig completed: changes applied\nok\n")
    assert serves(server, "b.test") and serves(server, "a.test")
    assert server.role("xfrd") == old
    assert control.ask(server, "delzone", "b.test") == (1, FIXED)
    assert control.ask(server, "delzone", "a.test") == (0, "ok\n")


def test_what_waits_for_a_restart_is_not_said_to_be_applied(server):
    server.options["server-count"] = 3
    server.write_config()
    assert control.ask(server, "reconfig") == (
        0, f"reconfig start, read {server.config}\n"
           f"{server.place('server-count')}server: server-count has changed:"
           " that waits for a restart\n"
           "reconfig completed: no changes applied, all of them wait for a"
           " restart\nok\n")


@pytest.mark.parametrize("size", [0, 70])
def test_reconfig_tells_of_files_that_cannot_be_read(server, size):
    """Tells of files of new zones, and of zones with another file."""
    names = ["bad.test"] + [f"bad{i}.test" for i in range(size)]
    for name in names:
        bad_zone(server, name)
        server.zones[name] = None
    server.zones["b.test"] = server.zones["nofile.test"] = None
    server.write_config()
    code, text = control.ask(server, "reconfig")
    lines = text.splitlines()
    assert code == 1
    assert lines[0] == f"reconfig start, read {server.config}"
    assert any(line.startswith("bad.test.zone:") for line in lines[1:]) \
        or size > 0
    assert lines[-2:] == ["reconfig completed: changes applied",
                          f"error {size + 1} zone{'s' * (size > 0)} cannot be"
                          " read"]
    assert serves(server, "b.test")
    for name in *names, "nofile.test":
        assert server.rcode(f"www.{name}", "A") == "SERVFAIL"
    # Earlier failures do not count at the next reconfig.
    server.options["identity"] = '"other"'
    server.write_config()
    code, text = control.ask(server, "reconfig")
    assert (code, text.splitlines()[1:]) == (
        0, [f"{server.place('identity')}server: identity has changed",
            "reconfig completed: changes applied", "ok"])


def test_broken_file_is_told_and_changes_nothing(server):
    pids = server.roles()
    server.config.write_text(server.config.read_text() + "\nnonsense: 1\n")
    # The program cannot read the file either.
    lines = control.say(server, b"NSDCT1 reconfig\n").splitlines()
    assert lines[0] == f"reconfig start, read {server.config}"
    assert lines[1].startswith(f"{server.config}:")
    assert "error" in lines[1]
    assert "ok" not in lines
    assert lines[-1] == REFUSED
    assert server.roles() == pids
    server.write_config()
    # A pattern of a zone that is there.
    assert control.ask(server, "addzone", "a.test", "q") == (0, "ok\n")
    server.extra = server.extra.replace("name: q", "name: r")
    server.write_config()
    code, text = control.ask(server, "reconfig")
    assert "pattern does not exist for zone a.test pattern q" in text
    assert code == 1 and text.endswith(f"\n{REFUSED}\n")
    assert server.serial("a.test") == 7


# ---- secondary zones --------------------------------------------------------

@pytest.fixture
def pair(make_server):
    """A primary, and a server whose pattern `s` takes zones from it."""
    names = "a.test", "b.test"
    primary = make_server("primary", extra="".join(
        f"zone:\n\tname: {name}\n\tzonefile: {name}.zone\n"
        "\tprovide-xfr: 127.0.0.1 NOKEY\n" for name in names))
    for name in names:
        primary.zone_file(name).write_text(zone_text(5))
    primary.start()
    made = make_server(zones={"example": zone_text()}, extra=PATTERNS + (
        'pattern:\n\tname: s\n\tzonefile: "%s.secondary"\n'
        f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n"
        "\tallow-notify: 127.0.0.1 NOKEY\n"))
    return primary, control.config(made).start()


def test_secondary_zone_is_fetched_at_once_and_ends(pair):
    primary, server = pair
    for _ in range(3):
        assert control.ask(server, "addzone", "a.test", "s") == (0, "ok\n")
        server.wait_serial("a.test", 5)
        assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
        assert not serves(server, "a.test")
    # No journal of it is left: what comes next is the primary's.
    primary.zone_file("a.test").write_text(zone_text(3))
    primary.reload()
    primary.wait_serial("a.test", 3)
    assert control.ask(server, "addzone", "a.test", "s") == (0, "ok\n")
    server.wait_serial("a.test", 3)
    server.wait_replaced("loader", server.kill("loader"))
    server.wait_replaced("xfrd", server.kill("xfrd"))
    server.wait_serial("a.test", 3)
    assert control.ask(server, "zonestatus", "a.test")[0] == 0


def wait_written(server, name, before):
    """The server has put another file there than there was before."""
    wait_for("the file", lambda: server.zone_file(name).read_text() != before)


def test_primary_zone_becomes_secondary_and_back(pair):
    _, server = pair
    server.zone_file("b.test").write_text(zone_text(1))
    assert control.ask(server, "addzone", "b.test", "p") == (0, "ok\n")
    assert server.serial("b.test") == 1
    assert control.ask(server, "changezone", "b.test", "s") == (0, "ok\n")
    server.wait_serial("b.test", 5)
    assert control.ask(server, "changezone", "b.test", "p") == (0, "ok\n")
    wait_written(server, "b.test", zone_text(1))
    server.zone_file("b.test").write_text(zone_text(9))
    assert control.ask(server, "reload", "b.test") == (0, "ok\n")
    assert server.serial("b.test") == 9


def test_zone_that_was_transferred_stays_once_it_is_primary(pair):
    """The files are older than what is served (doc/decisions/0141, 7)."""
    _, server = pair
    for file in "a.test.zone", "a.test.secondary":
        (server.directory / file).write_text(zone_text(3))
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    text = server.extra + "zone:\n\tname: {}\n\tinclude-pattern: {}\n"
    server.zone_file("b.test").write_text(zone_text(1))
    # The second time its file is the one that was written the first time.
    for pattern in "s", "p", "s", "p":
        server.extra = text.format("b.test", pattern)
        server.write_config()
        assert control.ask(server, "reconfig")[0] == 0
        server.wait_serial("b.test", 5)
    for pattern in "s", "p":
        assert control.ask(server, "changezone", "a.test", pattern)[0] == 0
        server.wait_serial("a.test", 5)
    # A newer file is read, once the served version is written.
    wait_written(server, "a.test", zone_text(3))
    server.zone_file("a.test").write_text(zone_text(9))
    assert control.ask(server, "reload", "a.test") == (0, "ok\n")
    assert server.serial("a.test") == 9


def test_zones_go_amid_their_transfers(pair):
    """Transfers under way end with their zone."""
    _, server = pair
    for i in range(60):
        name = "ab"[i % 2] + ".test"
        assert control.ask(server, "addzone", name, "s") == (0, "ok\n")
        assert control.ask(server, "delzone", name) == (0, "ok\n")
    for name in "a.test", "b.test":
        assert not serves(server, name)
        assert control.ask(server, "addzone", name, "s") == (0, "ok\n")
        server.wait_serial(name, 5)
    assert "replacing it" not in server.read_log()


def test_zone_goes_while_its_transfer_is_waited_for(make_server):
    """`ok` means transferred: not for it, nor for a zone that comes then."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        server = control.config(make_server(
            zones={"example": zone_text()}, options={"verbosity": 2},
            extra=PATTERNS + (
                'pattern:\n\tname: s\n\tzonefile: "%s.secondary"\n'
                "\trequest-xfr: 127.0.0.1@"
                f"{silent.getsockname()[1]} NOKEY\n"))).start()
        assert control.ask(server, "addzone", "a.test", "s") == (0, "ok\n")
        with control.begin(server, "transfer", "a.test") as waits:
            wait_for("the command", lambda: "transfer a.test"
                     in server.read_log())
            assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
            text = waits.communicate(timeout=DEADLINE)[0]
        assert waits.returncode == 1
        assert text == "error zone a.test: it was removed meanwhile\n"
