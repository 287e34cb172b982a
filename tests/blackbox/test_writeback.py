"""Zone files of secondary zones are written, and the journal forgets then."""
import contextlib
import functools
import os
import pathlib
import random
import re
import signal
import time

import pytest

import transferred
from control import apply, ask, begin, config
from harness import (DEADLINE, is_alive, process_state, wait_for,
                     zone_text)
from written import (Primary, read, secondary, start_controlled,
                     wait_file)

pytestmark = pytest.mark.plain


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


@pytest.fixture
def start(make_server, primary):
    def make(zones=None, **options):
        options = {name.replace("_", "-"): value
                   for name, value in options.items()}
        server = make_server(
            zones={"example": zone_text()},
            extra=zones or secondary(primary),
            options={"verbosity": 3, **options})
        server.start()
        return server
    return make


NOBODY = 65534


@pytest.fixture
def closed(directory):
    """A folder that the server's user may not write to, and the options by
    which it is no root."""
    folder = directory / "ro"
    folder.mkdir()
    directory.chmod(0o777)
    options = {}
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        options["username"] = "nobody"
    folder.chmod(0o555)
    return folder, options


def test_written_by_the_clock(start, primary):
    server = start(zonefiles_write=1)
    path = server.directory / "s.test.zone"
    text = wait_file(path, 1)
    lines = text.splitlines()
    assert re.fullmatch(r"; received update to serial 1 at "
                        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d from 127\.0\.0\.1"
                        r"(@\d+)?", lines[1])
    assert "192.0.2.9" in text
    server.wait_log(r"writing zone s\.test to file s\.test\.zone")
    server.wait_log(r"zone s\.test written to file s\.test\.zone")
    assert not path.with_name("s.test.zone~").exists()
    primary.serial = 2
    wait_file(path, 2)
    # An unchanged zone is not written.
    primary.serial = 2
    known = len(server.read_log())
    time.sleep(2.5)
    assert "writing zone" not in server.read_log()[known:]


@pytest.mark.lasts(15)
def test_writer_is_there_while_it_is_needed(start, primary):
    server = start(zonefiles_write=8)
    wait_file(server.directory / "s.test.zone", 1)
    wait_for("the end of the writer",
             lambda: "writer" not in server.roles())
    assert "writer" not in re.findall(r"(\w+) \(pid \d+\)", server.read_log())
    primary.serial = 2
    wait_file(server.directory / "s.test.zone", 2)


def test_written_at_a_stop_and_served_without_the_primary(start, primary):
    server = start()
    server.wait_serial("s.test", 1)
    assert not (server.directory / "s.test.zone").exists()
    assert server.stop() == 0
    wait_file(server.directory / "s.test.zone", 1)
    primary.__exit__()
    # The file has all that was served.
    for path in (server.directory / "xfrd.state.journal").iterdir():
        path.unlink()
    server.start()
    server.wait_serial("s.test", 1)
    assert server.answer("www.s.test", "A") == ["192.0.2.9"]


def test_signal_to_all_processes_is_a_stop_like_any(start):
    server = start()
    server.wait_serial("s.test", 1)
    os.killpg(server.main_pid, signal.SIGTERM)
    assert server.process.wait(DEADLINE) == 0
    wait_file(server.directory / "s.test.zone", 1)


def test_zonefiles_write_0_writes_none(start, primary):
    server = start(zonefiles_write=0)
    server.wait_serial("s.test", 1)
    assert server.stop() == 0
    assert not (server.directory / "s.test.zone").exists()
    primary.__exit__()
    server.start()
    server.wait_serial("s.test", 1)


def test_zone_without_a_file_stays_in_the_journal(start, primary):
    server = start(zones=secondary(primary, file=None), zonefiles_write=1)
    server.wait_serial("s.test", 1)
    time.sleep(1.5)
    assert server.stop() == 0
    primary.__exit__()
    assert "writing zone" not in server.read_log()
    server.start()
    server.wait_serial("s.test", 1)


def test_file_of_what_an_earlier_server_received(make_server, primary):
    """The journal knows whom it came from."""
    server = make_server(zones={"example": zone_text()},
                         extra=secondary(primary),
                         options={"zonefiles-write": 1, "verbosity": 2})
    transferred.keep(server, "s.test", 0, 5,
                     transferred.whole("s.test.", 5, "a 60 A 192.0.2.1"))
    server.start()
    server.wait_serial("s.test", 5)
    text = wait_file(server.directory / "s.test.zone", 5)
    assert " from " in text.splitlines()[1]


def test_folders_are_made(start, primary):
    server = start(zones=secondary(primary, file="a/%1/b/%s"),
                   zonefiles_write=1)
    wait_file(server.directory / "a/s/b/s.test", 1)


def test_read_only_folder_has_a_copy_elsewhere(start, primary, directory,
                                               closed):
    folder, options = closed
    other = directory / "spool"
    other.mkdir()
    other.chmod(0o777)
    server = start(zones=secondary(primary, file=f"{folder}/old.zone"),
                   zonefiles_write=1, xfrdir=f'"{other}"', **options)
    another = other / "s.test.zone"
    another.write_text("; the file of another zone\n")
    another.chmod(0o666)
    copy = other / "s.test.zone.copy"
    text = wait_file(copy, 1)
    server.wait_log("zone s.test cannot be written to .*: Permission denied;"
                    " a copy is in xfrdir; the journal keeps it")
    assert list(folder.iterdir()) == []
    # The write is tried again, and the copy is not made anew.
    stamp = copy.stat().st_mtime_ns
    time.sleep(2.5)
    assert copy.stat().st_mtime_ns == stamp
    folder.chmod(0o755)
    assert wait_file(folder / "old.zone", 1).split("\n", 1)[1] \
        == text.split("\n", 1)[1]
    wait_for("no copy", lambda: not copy.exists())
    assert another.read_text() == "; the file of another zone\n"


def test_copies_follow_xfrdir(make_server, primary, directory, closed):
    """The next copy lies where a reconfig says. What is no folder refuses
    nothing, as at a start."""
    folder, options = closed
    folders = [directory / name for name in ("one", "two")]
    for path in folders:
        path.mkdir()
        path.chmod(0o777)
    server = make_server(
        zones={"example": zone_text()},
        extra=secondary(primary, file=f"{folder}/old.zone"),
        options={"verbosity": 3, "zonefiles-write": 1,
                 "xfrdir": f'"{folders[0]}"', **options})
    config(server).start()
    wait_file(folders[0] / "s.test.zone.copy", 1)
    server.options["xfrdir"] = f'"{folders[1]}"'
    server.write_config()
    code, text = ask(server, "reconfig")
    assert code == 0 and text.endswith("changes applied\nok\n")
    primary.serial = 2
    wait_file(folders[1] / "s.test.zone.copy", 2)
    assert "serial 1 at" in read(folders[0] / "s.test.zone.copy")
    server.options["xfrdir"] = f'"{server.config}"'
    server.write_config()
    known = len(server.read_log())
    assert ask(server, "reconfig")[1].endswith("changes applied\nok\n")
    primary.serial = 3
    server.wait_log("zone s.test cannot be written to .*: Permission denied; "
                    "the journal keeps it", known)


def test_many_failures_are_a_few_lines(start, primary, closed):
    folder, options = closed
    server = start(zones="".join(
        secondary(primary, f"z{i}.test", f"{folder}/{i}") for i in range(30)),
        zonefiles_write=2, verbosity=1, **options)
    for i in range(30):
        server.wait_serial(f"z{i}.test", 1)
    server.wait_log("zone files could not be written")
    known = len(server.read_log())
    server.wait_log("30 zone files could not be written", known)
    lines = re.findall("cannot be written to", server.read_log()[known:])
    assert len(lines) <= 2


def test_what_is_not_written_is_there_after_a_crash(start, primary, closed):
    folder, options = closed
    server = start(zones=secondary(primary, file=f"{folder}/z"),
                   zonefiles_write=1, **options)
    server.wait_log("zone s.test cannot be written")
    primary.__exit__()
    for pid in server.roles().values():
        os.kill(pid, signal.SIGKILL)
    server.process.wait(DEADLINE)
    server.start()
    server.wait_serial("s.test", 1)


def test_journal_forgets_what_files_hold(start, primary):
    primary.records = [f"h{i} TXT {'x' * 200}" for i in range(200)]
    server = start(zonefiles_write=1)
    path = server.directory / "s.test.zone"
    for serial in range(1, 6):
        primary.serial = serial
        wait_file(path, serial)
    assert server.stop() == 0
    primary.__exit__()
    # The journal leads no further than the file.
    known = len(server.read_log())
    server.start()
    server.wait_serial("s.test", 5)
    assert "by the journal" not in server.read_log()[known:]


def test_killed_writer_is_followed_by_another(start, primary):
    server = start(zonefiles_write=1)
    path = server.directory / "s.test.zone"
    wait_file(path, 1)
    for serial in (2, 3, 4):
        primary.serial = serial
        pid = server.roles().get("writer")
        if pid:
            os.kill(pid, signal.SIGKILL)
            wait_for("its end", lambda pid=pid: not is_alive(pid))
        wait_file(path, serial)
    for role in ("xfrd", "loader"):
        old = server.kill(role)
        server.wait_replaced(role, old)
        primary.serial += 1
        wait_file(path, primary.serial)


@pytest.mark.parametrize("is_left", [False, True])
def test_writer_dies_while_the_server_stops(controlled, primary, is_left):
    """The next writer writes the rest."""
    server = controlled(**{"zonefiles-write": 3600})
    server.wait_serial("s.test", 1)
    assert ask(server, "write") == (0, "ok\n")
    if is_left:
        primary.serial = 2
        server.wait_serial("s.test", 2)
    writer = server.roles()["writer"]
    os.kill(writer, signal.SIGSTOP)
    os.kill(server.main_pid, signal.SIGTERM)
    wait_for("the end of workers", lambda: "server 1" not in server.roles())
    os.kill(writer, signal.SIGKILL)
    assert server.process.wait(DEADLINE) == 0
    assert "not all zone files" not in server.read_log()
    wait_file(server.directory / "s.test.zone", 2 if is_left else 1)


def test_zones_that_left_the_configuration_leave_the_journal(start, primary):
    server = start(zones=secondary(primary, file=None)
                   + secondary(primary, "t.test", None))
    server.wait_serial("s.test", 1)
    server.wait_serial("t.test", 1)
    server.stop()
    server.extra = secondary(primary, file=None)
    server.write_config()
    server.start()
    server.wait_log("the journal forgets 1 zones")
    server.wait_serial("s.test", 1)
    server.stop()
    server.extra += secondary(primary, "t.test", None)
    server.write_config()
    primary.__exit__()
    server.start()
    server.wait_serial("s.test", 1)
    assert server.rcode("t.test", "SOA") == "SERVFAIL"


def test_file_of_the_operator_is_not_overwritten_without_a_change(start,
                                                                  primary):
    server = start(zonefiles_write=1)
    path = server.directory / "s.test.zone"
    wait_file(path, 1)
    # Of another serial: newer, and read.
    text = zone_text(9)
    path.with_name("new").write_text(text)
    path.with_name("new").rename(path)
    server.reload()
    server.wait_serial("s.test", 9)
    time.sleep(2.5)
    assert path.read_text() == text


def test_older_file_takes_nothing_back(start, primary):
    primary.serial = 5
    server = start(zonefiles_write=1)
    path = server.directory / "s.test.zone"
    wait_file(path, 5)
    path.with_name("new").write_text(zone_text(3))
    path.with_name("new").rename(path)
    server.reload()
    server.wait_log("its file is older than serial 5")
    assert server.serial("s.test") == 5
    primary.serial = 6
    wait_file(path, 6)


@pytest.fixture
def controlled(make_server, primary):
    return functools.partial(start_controlled, make_server, primary)


def test_write_is_done_when_it_says_ok(controlled, primary):
    server = controlled(zones=secondary(primary)
                        + secondary(primary, "t.test", "t.test.zone"))
    server.wait_serial("s.test", 1)
    server.wait_serial("t.test", 1)
    assert ask(server, "write", "t.test") == (0, "ok\n")
    assert "; received update to serial 1 at " in read(
        server.directory / "t.test.zone")
    assert not (server.directory / "s.test.zone").exists()
    assert ask(server, "write") == (0, "ok\n")
    text = read(server.directory / "s.test.zone")
    assert "; received update to serial 1 at " in text
    assert re.search('last-write: "serial 1, \\d+ sec ago"',
                     ask(server, "zonestatus", "s.test")[1])
    # An unchanged zone; a zone without a file; a primary zone.
    known = len(server.read_log())
    assert ask(server, "write") == (0, "ok\n")
    assert ask(server, "write", "example") == (0, "ok\n")
    assert "writing zone" not in server.read_log()[known:]
    assert ask(server, "write", "no.test")[0] == 1
    # A zone file that is in the way of nobody stays what it was.
    assert read(server.directory / "s.test.zone") == text


def test_write_is_done_by_an_xfrd_that_has_only_just_come(controlled, primary):
    """The loader has not told it of zones yet: ok is true all the same."""
    server = controlled()
    server.wait_serial("s.test", 1)
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    server.wait_replaced("xfrd", server.kill("xfrd"))
    wait_for("it", lambda: ask(server, "status")[0] == 0)
    assert ask(server, "write", "s.test") == (0, "ok\n")
    wait_file(server.directory / "s.test.zone", 1)
    os.kill(loader, signal.SIGCONT)


def test_write_that_fails_says_why(controlled, primary, closed):
    folder, options = closed
    server = controlled(zones=secondary(primary, file=f"{folder}/z"),
                        **options)
    server.wait_serial("s.test", 1)
    assert ask(server, "write", "s.test") == (
        1, "error 1 zone cannot be written: Permission denied, a copy is in"
        " xfrdir\n")
    assert "last-write: \"failed" in ask(server, "zonestatus", "s.test")[1]
    assert read(server.directory / "s.test.zone.copy") != ""


def test_lost_answer_is_no_ok(controlled, primary):
    """The writer is stopped, so that xfrd can die meanwhile."""
    server = controlled()
    server.wait_serial("s.test", 1)
    assert ask(server, "write") == (0, "ok\n")
    primary.serial = 2
    server.wait_serial("s.test", 2)
    writer = server.roles().get("writer")
    if writer:
        with contextlib.suppress(ProcessLookupError):  # may end here
            os.kill(writer, signal.SIGSTOP)
    with begin(server, "write") as waits:
        # By this xfrd; the next one would wait for the writer.
        server.wait_log("control cmd:  write\n", count=2)
        server.kill("xfrd")
        code = waits.wait(DEADLINE)
        # Without a writer that is stopped, all may be done by then.
        assert (code, waits.stdout.read() == "ok\n") in ((1, False), (0, True))
        if writer and process_state(writer) == "T":
            assert code == 1
    if writer:
        with contextlib.suppress(ProcessLookupError):
            os.kill(writer, signal.SIGCONT)


def test_full_disk_leaves_the_old_file(make_server, primary, directory):
    """The zone file lies in a file system of its own, of 256 KiB."""
    full = directory / "full"
    full.mkdir()
    server = make_server(
        zones={"example": zone_text()},
        extra=secondary(primary, file=f"{full}/z"),
        options={"verbosity": 3, "zonefiles-write": 1})
    server.launcher = [
        "unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
        f'mount -t tmpfs -o size=256k,mode=777 full {full} && exec "$@"',
        "sh"]
    server.start()
    folder = pathlib.Path(f"/proc/{server.main_pid}/root{full}")
    wait_file(folder / "z", 1)
    primary.records = [f"h{i} TXT {'x' * 200}" for i in range(2000)]
    primary.serial = 2
    server.wait_serial("s.test", 2)
    wait_file(directory / "s.test.zone.copy", 2)
    server.wait_log("zone s.test cannot be written to .*: No space left on"
                    " device; a copy is in xfrdir")
    assert "; received update to serial 1 at " in read(folder / "z")
    assert [path.name for path in folder.iterdir()] == ["z"]
    # There is room again.
    primary.records = ["www A 192.0.2.10"]
    primary.serial = 3
    wait_file(folder / "z", 3)
    wait_for("no copy",
             lambda: not (directory / "s.test.zone.copy").exists())


def test_killed_at_any_moment_nothing_that_was_served_is_lost(start, primary):
    """The server is killed amid transfers and writes; then the primary is
    gone."""
    chance = random.Random(5)
    server = start(zones="".join(
        secondary(primary, f"z{i}.test", f"z{i}") for i in range(20)),
        zonefiles_write=1)
    rounds = 4
    for i in range(rounds):
        answer = primary.answer
        end = time.monotonic() + 1 + chance.random()
        while time.monotonic() < end:
            primary.serial += 1
            time.sleep(chance.random() / 5)
        if chance.random() < 0.5:
            for role in server.roles():
                if role != "main" and chance.random() < 0.5:
                    with contextlib.suppress(OSError):
                        os.kill(server.roles().get(role, -1), signal.SIGKILL)
            time.sleep(chance.random() / 2)
        served = {}
        for z in range(20):
            with contextlib.suppress(Exception):
                served[z] = server.serial(f"z{z}.test") or 0
        for pid in server.roles().values():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        server.process.wait(DEADLINE)
        # The primary is silent.
        primary.answer = lambda apex, rdtype, query: []
        server.start()
        for z, serial in served.items():
            wait_for("what was served", lambda z=z, s=serial: (
                server.serial(f"z{z}.test") or 0) >= s)
        primary.answer = answer
    assert sum(served.values()) > 20 * rounds
    assert server.stop() == 0


def test_another_file_name_counts_at_once(make_server, primary):
    """Another file name counts at once, also for a writer that runs
    already."""
    def pattern(folder):
        return ("pattern:\n\tname: p\n"
                f"\tzonefile: {folder}/%s\n"
                f"\trequest-xfr: AXFR 127.0.0.1@{primary.port} NOKEY\n"
                "\tmin-retry-time: 1\n\tmax-retry-time: 2\n")

    server = make_server(zones={"example": zone_text()},
                         extra=pattern("a") + pattern("b").replace(
                             "name: p", "name: q"),
                         options={"verbosity": 3, "zonefiles-write": 0})
    config(server).start()
    assert ask(server, "addzone", "s.test", "p") == (0, "ok\n")
    server.wait_serial("s.test", 1)
    assert ask(server, "write", "s.test") == (0, "ok\n")
    assert (server.directory / "a/s.test").exists()
    # A zone that the writer does not know.
    assert ask(server, "addzone", "t.test", "p") == (0, "ok\n")
    server.wait_serial("t.test", 1)
    assert ask(server, "write", "t.test") == (0, "ok\n")
    assert (server.directory / "a/t.test").exists()
    # A zone that the writer knows with another pattern.
    assert ask(server, "write", "s.test") == (0, "ok\n")
    assert ask(server, "changezone", "t.test", "q") == (0, "ok\n")
    primary.serial = 2
    server.wait_serial("t.test", 2)
    assert ask(server, "write", "t.test") == (0, "ok\n")
    assert "serial 2" in read(server.directory / "b/t.test")
    # And by another nsd.conf.
    server.extra = server.extra.replace("b/%s", "c/%s")
    server.write_config()
    assert ask(server, "reconfig")[0] == 0
    primary.serial = 3
    server.wait_serial("t.test", 3)
    assert ask(server, "write", "t.test") == (0, "ok\n")
    assert "serial 3" in read(server.directory / "c/t.test")


def test_replaced_xfrd_does_not_put_the_writing_off(start, primary):
    server = start(zonefiles_write=6)
    server.wait_serial("s.test", 1)
    path = server.directory / "s.test.zone"
    end = time.monotonic() + DEADLINE
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(4.5)
        old = server.kill("xfrd")
        server.wait_replaced("xfrd", old)


# ---- differences of primary zones

CREATED = ("zone:\n\tname: p.test\n\tzonefile: p.test.zone\n"
           "\tstore-ixfr: yes\n\tcreate-ixfr: yes\n")


def advance(server, serial):
    server.zone_file("p.test").write_text(zone_text(serial))
    server.reload()
    server.wait_serial("p.test", serial)


def test_differences_that_came_while_xfrd_was_away_are_written(make_server):
    """Differences that came while xfrd was away are written; those that a
    former xfrd had written are left alone."""
    server = make_server(extra=CREATED, options={"verbosity": 3,
                                                 "replace-hung": "no"})
    server.zone_file("p.test").write_text(zone_text(1))
    server.start()
    file = server.zone_file("p.test").with_suffix(".zone.ixfr")
    xfrd = server.role("xfrd")
    os.kill(xfrd, signal.SIGSTOP)
    advance(server, 2)
    os.kill(xfrd, signal.SIGKILL)
    wait_for("the file", file.exists)
    server.wait_log("zone p.test: 1 differences written")
    known = len(server.read_log())
    server.wait_replaced("xfrd", server.kill("xfrd"))
    time.sleep(0.5)  # for what must not happen
    advance(server, 3)
    server.wait_log("zone p.test: 2 differences written", known)
    assert ": 1 differences written" not in server.read_log()[known:]


def test_differences_that_cannot_be_written_are_told_with_their_file(
        make_server):
    server = make_server(extra=CREATED)
    file = server.zone_file("p.test").with_suffix(".zone.ixfr")
    (file / "full").mkdir(parents=True)
    server.zone_file("p.test").write_text(zone_text(1))
    server.start()
    advance(server, 2)
    server.wait_log(r"error: xfrd: differences of zone p\.test cannot be"
                    r" written to p\.test\.zone\.ixfr: ")
