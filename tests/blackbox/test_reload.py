"""Reload of zone files that are large enough to be compared with the version
that is served: only what is different is published."""

import os
import random
import re
import resource
import signal
import time

import pytest

import harness
from harness import Load, wait_for, zone_text
from steady import Steady

pytestmark = pytest.mark.plain

COUNT = 2000
SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))


def names(serial, more="", less=(), address=0):
    return zone_text(serial) + "".join(
        f"h{i} A 10.{address}.{i // 250}.{i % 250}\n" for i in range(COUNT)
        if i not in less) + more


@pytest.fixture
def server(nsd):
    return nsd(zones={"example": names(1)}, options={"verbosity": 2})


def reload(server, text, pattern):
    known = len(server.read_log())
    server.write_zone("example", text)
    server.reload()
    server.wait_log(pattern, known)
    return server.read_log()[known:]


def test_only_the_difference_is_published(server):
    log = reload(server, names(2, "new TXT x\n", less=(7, 8)),
                 "serial 1 is updated to 2")
    assert "zone example: 2 records added, 3 removed" in log
    assert server.serial("example") == 2
    assert server.answer("new.example", "TXT") == ['"x"']
    assert server.rcode("h7.example", "A") == "NXDOMAIN"
    assert server.answer("h9.example", "A") == ["10.0.0.9"]


def test_equal_file_publishes_nothing(server):
    log = reload(server, names(1), "zone example read with success")
    assert "records added" not in log
    # In whatever order its records stand.
    lines = names(1).splitlines(keepends=True)
    log = reload(server, "".join(lines[:6] + lines[:5:-1]),
                 "zone example read with success")
    assert "records added" not in log
    # An unchanged file is not compared again.
    known = len(server.read_log())
    server.reload()
    server.reload()
    server.signal(signal.SIGUSR1)
    server.wait_log("STORE", known)
    assert "read with success" not in server.read_log()[known:]


def test_included_file_is_looked_for_below_zonesdir_first(make_server):
    """An include is looked for in zonesdir, then beside the file that names
    it; a new file in zonesdir is noticed."""
    server = make_server(zones={"example": None})
    folder = server.directory / "folder"
    folder.mkdir()
    (folder / "example.zone").write_text(zone_text(1) + "$INCLUDE more\n")
    (folder / "more").write_text("x TXT beside\n")
    server.config.write_text(server.config.read_text().replace(
        "zonefile: example.zone", "zonefile: folder/example.zone"))
    server.start()
    assert server.answer("x.example", "TXT") == ['"beside"']
    here = server.directory / "more"
    here.write_text("x TXT below\n")
    server.reload()
    wait_for("the file below zonesdir", lambda: server.answer(
        "x.example", "TXT") == ['"below"'])
    here.unlink()
    server.reload()
    wait_for("the file beside", lambda: server.answer(
        "x.example", "TXT") == ['"beside"'])


def test_file_that_pretends_not_to_have_changed_is_read(nsd):
    """Written in place, as long as before, and its time set back."""
    server = nsd(zones={"example": zone_text(1)})
    path = server.zone_file("example")
    before = path.stat()
    with path.open("r+") as f:
        f.write(zone_text(2))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (before.st_ino, before.st_size, before.st_mtime_ns) == (
        after.st_ino, after.st_size, after.st_mtime_ns)
    server.reload()
    server.wait_serial("example", 2)


def test_file_is_not_read_before_it_is_asked_for(nsd):
    """A file may be half written, also soon after a reload."""
    server = nsd(zones={"example": zone_text(1)})
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)
    server.write_zone("example", zone_text(3))
    time.sleep(5)
    assert server.serial("example") == 2
    server.reload()
    server.wait_serial("example", 3)


def test_other_ttl_is_a_difference(server):
    assert server.query("h5.example", "A").answer[0].ttl == 3600
    log = reload(server, names(1, "h5 77 A 10.0.0.5\n", less=(5,)),
                 "zone example read with success")
    assert "zone example: 1 records added, 1 removed" in log
    assert server.query("h5.example", "A").answer[0].ttl == 77


def test_wholly_different_file_is_built_anew(server):
    log = reload(server, zone_text(2) + "".join(
        f"other{i} TXT {i}\n" for i in range(10 * COUNT)),
        "serial 1 is updated to 2")
    assert "records added" not in log
    assert server.answer("other5.example", "TXT") == ['"5"']
    assert server.rcode("h5.example", "A") == "NXDOMAIN"


@pytest.mark.parametrize("line, message", [
    ("boo A 300.0.0.1", ""),
    ("h5 CNAME other", "CNAME and other data at the same name"),
    ("a.other. A 192.0.2.1", "out of zone"),
    ("@ SOA ns host 9 9 9 9 9", "already encountered"),
])
def test_broken_file_says_where(server, line, message):
    """As if there were nothing to compare with."""
    end = names(2).count("\n") + 1
    log = reload(server, names(2, line + "\n"),
                 "zone example file example.zone read with 1 errors")
    assert f"error: example.zone:{end}: " in log
    assert message in log
    assert server.serial("example") == 1
    assert server.answer("h5.example", "A") == ["10.0.0.5"]
    reload(server, names(3), "serial 1 is updated to 3")


@pytest.mark.parametrize("line", ["h5 A 10.0.0.5\n", None],
                         ids=["address", "SOA"])
def test_duplicates_are_no_difference(server, line):
    if line is None:
        line, = [soa for soa in names(1).splitlines(True) if " SOA " in soa]
    log = reload(server, names(1, line), "zone example read with success")
    assert "records added" not in log
    log = reload(server, names(2, line.replace(" 1 ", " 2 ", 1)),
                 "serial 1 is updated to 2")
    assert re.search(r"zone example: \d records added, \d removed", log)


def test_file_changed_between_the_readings(server):
    """A changed file is read twice; both readings must be the same, though
    each by itself is whole."""
    more = harness.Held(server.directory / "more.inc", "more A 192.0.2.7\n")
    rest = harness.Held(server.directory / "rest.inc")
    known = len(server.read_log())
    server.write_zone("example", names(2) + "$INCLUDE more.inc\n"
                      "$INCLUDE rest.inc\n")
    server.reload()
    with more.opened():
        pass
    with rest.opened():  # the first reading has no more to do with the other
        more.write("last TXT x\n")
    server.wait_log("serial 1 is updated to 2", known)
    assert server.answer("more.example", "A") == ["192.0.2.7"]
    assert server.answer("last.example", "TXT") == ['"x"']


def test_many_reloads_under_load(nsd):
    server = nsd(zones={"example": names(1)}, options={"server-count": 2})
    load = Load(server, name="h9.example")
    with Steady(server, "h9.example") as client:
        for serial in range(2, 30):
            server.write_zone("example",
                              names(serial, f"at{serial} TXT x\n"))
            server.signal(signal.SIGHUP)
            load.step(0.05)
        wait_for("the last", lambda: load.step(0.02)
                 or server.serial("example") == 29)
        load.finish()
    assert load.lost == 0
    assert client.late == []
    assert server.rcode("at28.example", "TXT") == "NXDOMAIN"
    assert server.answer("at29.example", "TXT") == ['"x"']


def test_workers_wait_for_no_loader(nsd):
    """Wherever it is in a reload, all questions are answered while it is
    stopped there."""
    print("SEED", SEED)
    rng = random.Random(SEED)
    server = nsd(zones={"example": names(1)},
                 options={"server-count": 2, "replace-hung": "no"})
    loader = server.role("loader")
    load = Load(server, name="h9.example")
    started = time.monotonic()
    reload(server, names(2), "serial 1 is updated to 2")
    length = time.monotonic() - started
    for serial in range(3, 23):
        # Every version changes all names, so that there is time to be stopped
        # in.
        server.write_zone("example", names(serial, address=serial))
        server.signal(signal.SIGHUP)
        load.step(rng.random() * length)
        os.kill(loader, signal.SIGSTOP)
        wait_for("its stop", lambda: harness.process_state(loader) == "T")
        load.step_answers(200)
        assert load.lost == 0
        os.kill(loader, signal.SIGCONT)
        wait_for("the version", lambda s=serial: load.step(0.005)
                 or server.serial("example") == s)
    load.finish()
    assert load.lost == 0
    assert server.role("loader") == loader


@pytest.mark.plain_only  # sanitizers end a process that has no memory left
def test_lack_of_memory_is_no_fault_of_the_file(nsd):
    """After a lack of memory the next reload reads the unchanged file."""
    server = nsd(zones={"example": zone_text(1)})
    loader = server.role("loader")
    before = resource.prlimit(loader, resource.RLIMIT_DATA)
    used = int(re.search(r"VmData:\s+(\d+) kB", harness.read_proc(
        loader, "status"))[1]) << 10
    resource.prlimit(loader, resource.RLIMIT_DATA,
                     (used + (12 << 20), before[1]))
    server.write_zone("example", zone_text(2) + "".join(
        f"h{i} TXT some-more-text-for-memory-{i}\n" for i in range(500000)))
    server.reload()
    server.wait_log("zone example file example.zone read with")
    assert re.search(r"zone example: no room: the loader itself may have \d+"
                     r" MiB \(RLIMIT_DATA", server.read_log())
    assert server.role("loader") == loader
    assert server.serial("example") == 1
    resource.prlimit(loader, resource.RLIMIT_DATA, before)
    server.reload()
    server.wait_serial("example", 2)
    # A file that is at fault is not read each time.
    server.write_zone("example", zone_text(3) + "x A 300.0.0.1\n")
    server.reload()
    server.wait_log("error: example.zone:8:")
    known = len(server.read_log())
    server.reload()
    server.reload()
    server.signal(signal.SIGUSR1)
    server.wait_log("STORE", known)
    assert "example.zone:8:" not in server.read_log()[known:]
