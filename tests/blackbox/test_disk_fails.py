"""The disk of a secondary is full, or fails, while it runs: it says what it
could not write, serves what it has, tries again, and loses nothing that was
served (fault 50). tests/lib/nsd_failing.c has the calls fail; what is full is a
small file system."""
import contextlib
import errno
import mmap
import os
import pathlib
import re
import shutil
import signal
import struct

import pytest

import control
from harness import BUILD, is_alive, wait_for, zone_text
from scripted_primary import ScriptedPrimary, records, reply, soa, whole

MAKES, WRITES, FLUSHES, READS = 1, 2, 4, 8
HEAD = struct.Struct("=IIQ512s")
ERRORS = {errno.EIO: "Input/output error",
          errno.ENOSPC: "No space left on device"}


class Disk:
    """See struct failing."""

    def __init__(self, path):
        path.write_bytes(bytes(HEAD.size))
        with path.open("r+b") as f:
            self.octets = mmap.mmap(f.fileno(), 0)

    def fail(self, error, part, calls):
        self.octets[:HEAD.size] = HEAD.pack(0, calls, 0, part.encode())
        self.octets[:4] = struct.pack("=I", error)

    def mend(self):
        self.octets[:4] = bytes(4)

    @property
    def failed(self):
        return HEAD.unpack(self.octets[:HEAD.size])[2]

    def wait_again(self):
        """The log says it once."""
        before = self.failed
        assert before > 0
        wait_for("another try", lambda: self.failed > before)


class Primary(ScriptedPrimary):
    """A primary of any zone; the one called "large" has a file of its own in
    the journal."""

    def __init__(self):
        self.serial = 1
        self.timers = "1 1 3600 300"
        self.silent = False
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        if self.silent:
            return [None]
        if rdtype == "SOA":
            return [reply(query, soa(apex, self.serial, self.timers))]
        parts = [whole(query, apex, self.serial, f"v TXT v{self.serial}",
                       timers=self.timers)]
        end = parts[0].answer.pop()
        if apex == "large.test.":
            parts += [reply(query, *records(apex, *(
                f"n{i + k} TXT " + " ".join(["y" * 250] * 20)
                for k in range(10)))) for i in range(0, 240, 10)]
        return [*parts, reply(query, end)]


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


@pytest.fixture
def disk(directory):
    return Disk(directory / "failing")


def secondary(primary, name="s.test", file="s.test.zone"):
    return (f"zone:\n\tname: {name}\n\tzonefile: {file}\n"
            f"\trequest-xfr: AXFR 127.0.0.1@{primary.port} NOKEY\n"
            "\tallow-notify: 127.0.0.1 NOKEY\n"
            "\tmin-retry-time: 1\n\tmax-retry-time: 2\n")


@pytest.fixture
def make(make_server, primary, disk, directory):
    """A server on that disk, which has not been started."""
    def made(extra=None, **options):
        server = make_server(
            zones={"example": zone_text()},
            extra=extra or secondary(primary),
            options={"verbosity": 2, "zonefiles-write": 0, "sandbox": "no",
                     **{n.replace("_", "-"): v for n, v in options.items()}})
        server.program = BUILD / "tests/lib/nsd_failing"
        server.environment["NSD_FAILING"] = str(directory / "failing")
        return control.config(server)
    return made


def kill_all(server):
    pids = list(server.roles().values())
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.process.wait()
    wait_for("the end of all", lambda: not any(map(is_alive, pids)))


def check(server, name, serial):
    assert server.serial(name) == serial
    assert server.answer(f"v.{name}", "TXT") == [f'"v{serial}"']


def start_alone(server, primary, name, serial):
    """After all processes have died, without anybody to ask."""
    primary.__exit__()
    kill_all(server)
    server.start()
    server.wait_serial(name, serial)
    check(server, name, serial)


# ---- the journal ---------------------------------------------------------------

@pytest.mark.one_of_each("error", "calls")
@pytest.mark.lasts(15)
@pytest.mark.parametrize("name", ["s.test", "large.test"])
@pytest.mark.parametrize("error, calls", [
    (errno.EIO, WRITES), (errno.EIO, FLUSHES), (errno.ENOSPC, WRITES),
    (errno.ENOSPC, MAKES | WRITES)],
    ids=["write", "flush", "full", "no files"])
def test_journal_that_cannot_be_written(make, primary, disk, name, error,
                                        calls):
    """No transfer is served before it is durable; other zones go on."""
    server = make(secondary(primary, name)).start()
    server.wait_serial(name, 1)
    roles = server.roles()
    disk.fail(error, "xfrd.state.journal", calls)
    primary.serial = 2
    server.wait_log(f"zone {name} transfer from \\S+ failed: "
                    + ERRORS[error])
    disk.wait_again()
    check(server, name, 1)
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    disk.mend()
    server.wait_serial(name, 2)
    check(server, name, 2)
    assert server.roles() == roles
    start_alone(server, primary, name, 2)


# ---- zone files ----------------------------------------------------------------

@pytest.mark.parametrize("error, calls", [
    (errno.EIO, WRITES), (errno.EIO, FLUSHES), (errno.ENOSPC, MAKES)],
    ids=["write", "flush", "full"])
def test_zone_file_that_cannot_be_written(make, primary, disk, directory,
                                          error, calls):
    """The old one stays, and what it lacks is in the journal."""
    (directory / "zones").mkdir()
    path = directory / "zones/s"
    server = make(secondary(primary, file="zones/s")).start()
    server.wait_serial("s.test", 1)
    assert control.ask(server, "write", "s.test") == (0, "ok\n")
    old = path.read_text()
    primary.serial = 2
    server.wait_serial("s.test", 2)
    disk.fail(error, "zones/", calls)
    for _ in range(2):
        assert control.ask(server, "write", "s.test") == (
            1, f"error 1 zone cannot be written: {ERRORS[error]}, a copy is in"
            " xfrdir\n")
    assert disk.failed > 0
    assert "last-write: \"failed" in control.ask(server, "zonestatus",
                                                 "s.test")[1]
    assert path.read_text() == old
    check(server, "s.test", 2)
    kill_all(server)
    disk.mend()
    server.start()
    server.wait_serial("s.test", 2)
    check(server, "s.test", 2)
    assert control.ask(server, "write", "s.test") == (0, "ok\n")
    assert "; received update to serial 2 at " in path.read_text()
    assert sorted(p.name for p in path.parent.iterdir()) == ["s"]
    start_alone(server, primary, "s.test", 2)


# ---- xfrd.state ----------------------------------------------------------------

def wait_known(server):
    """Waits until xfrd knows its zones: before that it writes no state."""
    wait_for("the state of the zone", lambda: "state: ok" in
             control.ask(server, "zonestatus", "s.test")[1])


@pytest.mark.parametrize("error", ERRORS)
def test_state_that_cannot_be_written_is_said(make, primary, disk, directory,
                                              error):
    """The state is lost, and the zone is not."""
    server = make().start()
    server.wait_serial("s.test", 1)
    wait_known(server)
    disk.fail(error, "xfrd.state/", WRITES)
    assert server.stop() == 0
    server.wait_log(rf"xfrd: cannot write .*xfrd\.state: {ERRORS[error]}")
    assert (directory / "xfrd.state").read_text() == ""
    disk.mend()
    server.start()
    server.wait_serial("s.test", 1)
    wait_known(server)
    assert server.stop() == 0
    assert "numzones: 1\n" in (directory / "xfrd.state").read_text()


@pytest.mark.parametrize("size", [100, 600, -1])
def test_part_of_a_state_counts_as_none(make, primary, directory, size):
    """A state file that was cut by a full disk counts as none. All zones are
    served, and asked for soon."""
    state = directory / "xfrd.state"
    primary.timers = "3600 3600 7200 300"
    server = make().start()
    server.wait_serial("s.test", 1)
    wait_known(server)
    assert server.stop() == 0
    text = state.read_text()
    state.write_text(text[:size] if size > 0 else text.rstrip()[:size])
    known = len(server.read_log())
    primary.serial = 2
    server.start()
    server.wait_log(r"xfrd: .*xfrd\.state:\d+: expected .*, found", known)
    server.wait_serial("s.test", 2)
    wait_known(server)
    assert server.stop() == 0
    assert state.read_text().rstrip().endswith("NSDXFRD2")


@pytest.mark.lasts(15)
def test_state_that_could_not_be_written_is_written_later(make, primary, disk,
                                                          directory):
    """Soon when a zone expires, and every minute. Nothing else suffers."""
    def expire():
        primary.silent = True
        wait_for("the end", lambda: server.rcode("s.test", "SOA")
                 == "SERVFAIL")

    primary.timers = "1 1 6 300"
    server = make().start()
    server.wait_serial("s.test", 1)
    disk.fail(errno.EIO, "xfrd.state/", WRITES)
    expire()
    server.wait_log(r"xfrd: cannot write .*xfrd\.state: Input/output error")
    primary.serial = 2
    primary.silent = False
    server.wait_serial("s.test", 2)
    disk.mend()
    expire()
    state = directory / "xfrd.state"
    wait_for("the state", lambda: state.exists()
             and "state: 2" in state.read_text())


# ---- the zone list -------------------------------------------------------------

@pytest.mark.parametrize("calls", [WRITES, FLUSHES], ids=["write", "flush"])
def test_zone_list_that_cannot_be_written(make, primary, disk, calls):
    """A change that is answered with an error has not been made."""
    server = make("pattern:\n" + secondary(primary).partition("\n")[2].replace(
        "\tname: s.test", "\tname: p").replace("s.test.zone", '"%s.zone"'))
    server.start()
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    server.wait_serial("a.test", 1)
    disk.fail(errno.EIO, "zone.list", calls)
    code, text = control.ask(server, "addzone", "b.test", "p")
    assert code == 1
    assert "Input/output error" in text
    assert "Input/output error" in server.read_log()
    assert server.rcode("b.test", "SOA") == "REFUSED"
    check(server, "a.test", 1)
    disk.mend()
    assert control.ask(server, "addzone", "c.test", "p") == (0, "ok\n")
    server.wait_serial("c.test", 1)
    primary.__exit__()
    kill_all(server)
    server.start()
    for name in "a.test", "c.test":
        server.wait_serial(name, 1)
    assert server.rcode("b.test", "SOA") == "REFUSED"


# ---- a start -------------------------------------------------------------------

def test_start_without_room_for_a_journal(make, primary, disk):
    """The server says so, and serves; the next xfrd tries again."""
    server = make()
    disk.fail(errno.ENOSPC, "xfrd.state.journal", MAKES)
    server.start()
    server.wait_log(r"xfrd: the journal .*xfrd\.state\.journal cannot be used,"
                    " so no zone can be transferred: No space left on device")
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    said = control.ask(server, "status")[1]
    assert re.search(r"^trouble: nothing is transferred: the journal .*/xfrd"
                     r"\.state\.journal cannot be used: No space left on"
                     r" device$", said, re.M), said
    disk.mend()
    server.wait_replaced("xfrd", server.kill("xfrd"))
    server.wait_serial("s.test", 1)


def test_start_with_a_folder_for_a_lock(make, primary, directory):
    """The message names the lock: its folder is as it should be."""
    lock = directory / "xfrd.state.journal" / "lock"
    lock.mkdir(parents=True)
    server = make().start()
    server.wait_log(r"xfrd: the journal .*/xfrd\.state\.journal cannot be used,"
                    " so no zone can be transferred: lock: Is a directory")
    said = control.ask(server, "status")[1]
    assert re.search(r"^trouble: nothing is transferred: the journal .*/xfrd"
                     r"\.state\.journal cannot be used: lock: Is a directory$",
                     said, re.M), said
    lock.rmdir()
    server.wait_replaced("xfrd", server.kill("xfrd"))
    server.wait_serial("s.test", 1)


@pytest.mark.one_of_each("name")
@pytest.mark.parametrize("written", [True, False], ids=["file", "no file"])
@pytest.mark.parametrize("name, files", [("s.test", "*.seg"),
                                         ("large.test", "*.zone")])
def test_start_with_a_journal_that_cannot_be_read(make, primary, disk,
                                                  directory, name, files,
                                                  written):
    """The server says so, serves the zone file, and fetches the rest."""
    server = make(secondary(primary, name)).start()
    server.wait_serial(name, 1)
    if written:
        assert control.ask(server, "write", name) == (0, "ok\n")
    primary.serial = 2
    server.wait_serial(name, 2)
    primary.silent = True
    kill_all(server)
    file = max((directory / "xfrd.state.journal").glob(files)).name
    known = len(server.read_log())
    disk.fail(errno.EIO, f"/{file}", READS)
    server.start()
    server.wait_log("Input/output error", known)
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    if written:
        server.wait_serial(name, 1)
        check(server, name, 1)
    else:
        wait_for("an answer", lambda: server.rcode(name, "SOA") == "SERVFAIL")
    roles = server.roles()
    primary.silent = False
    server.wait_serial(name, 2)
    check(server, name, 2)
    assert server.roles() == roles
    start_alone(server, primary, name, 2)


def test_start_on_a_full_disk(make_server, primary, directory):
    """The server serves its zone files, and accepts transfers once there is
    room."""
    full = directory / "full"
    full.mkdir()
    server = make_server(
        zones={"example": zone_text()},
        extra=secondary(primary, "large.test", "full/large.test.zone"),
        options={"verbosity": 2, "zonefiles-write": 1,
                 "xfrdfile": f"{full}/xfrd.state",
                 "pidfile": f'"{full}/nsd.pid"',
                 "zonelistfile": f"{full}/zone.list",
                 "xfrdir": f"{full}"})
    mount = (f"mount -t tmpfs -o size=32m,mode=777 full {full} && "
             f"cp -a {directory}/kept/. {full} && ")
    server.launcher = [
        "unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
        mount + 'exec "$@"', "sh"]
    kept = directory / "kept"
    kept.mkdir()

    def inside(name):
        return pathlib.Path(f"/proc/{server.main_pid}/root{full}") / name

    server.start()
    server.wait_serial("large.test", 1)
    wait_for("the zone file", inside("large.test.zone").exists)
    primary.serial = 2
    server.wait_serial("large.test", 2)
    # Processes must not write during the copy.
    for pid in server.roles().values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    shutil.copytree(inside(""), kept, ignore=shutil.ignore_patterns("*.pid"),
                    dirs_exist_ok=True)
    kill_all(server)
    # The next disk has what this one had, and no room.
    server.launcher[-2] = mount + (
        f'dd if=/dev/zero of={full}/ballast bs=4k 2>/dev/null; exec "$@"')
    server.start()
    server.wait_log("No space left on device")
    server.wait_serial("large.test", 2)
    primary.serial = 3
    server.wait_log("zone large.test transfer from .* failed: No space"
                    " left on device")
    check(server, "large.test", 2)
    inside("ballast").unlink()
    server.wait_serial("large.test", 3)
    check(server, "large.test", 3)


def test_endless_transfer_leaves_half_of_the_disk(make_server, directory):
    """An endless transfer is bounded, also without size-limit-xfr."""
    class Endless(Primary):
        is_endless = True

        def say(self, apex, rdtype, query):
            if rdtype == "SOA" or not self.is_endless:
                yield from super().say(apex, rdtype, query)
                return
            yield reply(query, soa(apex, self.serial, self.timers))
            part = reply(query, *records(apex, *(
                f"n{i} TXT " + " ".join(["y" * 250] * 20)
                for i in range(12)))).to_wire(max_size=65535)
            while True:
                yield part

    full = directory / "full"
    full.mkdir()
    with Endless() as primary:
        server = control.config(make_server(
            zones={"example": zone_text()}, extra=secondary(primary),
            options={"verbosity": 0, "xfrdfile": f"{full}/xfrd.state",
                     "zonelistfile": f"{full}/zone.list"}))
        server.launcher = [
            "unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
            f"mount -t tmpfs -o size=96m,mode=777 full {full} && "
            'exec "$@"', "sh"]
        server.start()
        why = "it takes more than half of the room on the disk"
        server.wait_log("error: xfrd: zone s.test bad transfer 1 from"
                        f" 127.0.0.1@{primary.port}: {why}$")
        wait_for("its status", lambda: f'last-error: "{why} from' in
                 control.ask(server, "zonestatus", "s.test")[1])
        room = os.statvfs(f"/proc/{server.main_pid}/root{full}")
        assert room.f_bavail * room.f_bsize > 24 << 20
        primary.is_endless = False
        server.wait_serial("s.test", 1)
        assert "No space left" not in server.read_log()


@pytest.mark.parametrize("name", ["s.test", "large.test"])
def test_folder_of_the_journal_is_made_again(make_server, primary, name):
    """Earlier transfers are in the zone file, later ones in the new folder."""
    server = control.config(make_server(
        zones={"example": zone_text()},
        extra=secondary(primary, name, "s.zone"))).start()
    server.wait_serial(name, 1)
    folder = server.directory / "xfrd.state.journal"
    shutil.rmtree(folder)
    primary.serial = 2
    server.wait_serial(name, 2)
    server.wait_log("error: xfrd: the folder of the journal has been removed")
    assert (folder / "lock").exists()
    text = (server.directory / "s.zone").read_text()
    assert 'TXT' in text and '"v1"' in text
    start_alone(server, primary, name, 2)
