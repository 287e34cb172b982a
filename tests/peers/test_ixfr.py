"""Differences that ours sends: those that it was sent by the real BIND, Knot and
NSD, and those that it has made of zone files. The real ones take them."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.tsigkeyring
import pytest

import primaries
import secondaries
import servers
import test_primaries
import test_secondary
from servers import started
from test_primaries import apply, ask
from test_secondary import KEY, equal
from test_transfer import in_file

pytestmark = pytest.mark.lasts(20)

ZONE = "changing.test."
LAST = 7
PATIENCE = 60


class Ours(test_secondary.Secondary):
    """Keeps what it is sent."""

    kept = 5
    write_sec = 3600
    created = False

    def command(self):
        command = super().command()
        conf = self.dir / "nsd.conf"
        conf.write_text(conf.read_text().replace(
            "\tprovide-xfr:", f"\tstore-ixfr: yes\n\tixfr-number: {self.kept}"
            f"\n\tcreate-ixfr: {'yes' if self.created else 'no'}"
            "\n\tprovide-xfr:").replace(
                "server:", f"server:\n\tzonefiles-write: {self.write_sec}"))
        return command


def advance(primary, path, serial, sets):
    test_primaries.write(path, serial)
    sets[serial] = in_file(ZONE, path)
    if primary.process:
        primary.reread()


def has(server, serial, zone=ZONE):
    query = dns.message.make_query(zone, "SOA")
    try:
        reply = dns.query.udp(query, "127.0.0.1", timeout=1, port=server.port)
    except (OSError, dns.exception.DNSException):
        return False
    return bool(reply.answer) and reply.answer[0][0].serial == serial


def wait_for(server, serial, zone=ZONE):
    end = time.monotonic() + PATIENCE
    while not has(server, serial, zone):
        assert time.monotonic() < end, f"{server.name} has not {serial}"
        time.sleep(0.005)


@contextlib.contextmanager
def version_1(primary, other, path, sets):
    """The two run, and the other has the primary's first version."""
    advance(primary, path, 1, sets)
    with started(primary), started(other):
        wait_for(other, 1)
        yield


def expect_differences(server, sets, first, to, signed=()):
    for serial in range(first, to):
        said, lines = ask(server, ZONE, "ixfr", serial, signed)
        assert said == f"diffs {serial} {to}"
        assert apply(sets[serial], lines) == sets[to]


@pytest.mark.parametrize("kind", primaries.ALL)
def test_what_was_received_is_sent_on(tmp_path, kind):
    path, sets = tmp_path / "zone", {}
    primary = kind({ZONE: path})
    middle = Ours(primary)
    with version_1(primary, middle, path, sets):
        for serial in range(2, LAST + 1):
            advance(primary, path, serial, sets)
            wait_for(middle, serial)
            expect_differences(middle, sets, max(1, serial - Ours.kept),
                               serial)
        said, lines = ask(middle, ZONE, "ixfr", 1)
        assert said == f"whole {LAST}"
        assert apply(set(), lines) == sets[LAST]
        # One step is small enough for a datagram.
        said, lines = ask(middle, ZONE, "ixfr-udp", LAST - 1)
        assert said == f"diffs {LAST - 1} {LAST}"
        assert apply(sets[LAST - 1], lines) == sets[LAST]


def test_differences_of_whole_zones_are_found(tmp_path):
    """Differences of whole zones are found with create-ixfr; without it a
    whole zone ends the history."""
    path, sets = tmp_path / "zone", {}
    primary = primaries.Bind({ZONE: path})
    middle = Ours(primary, "AXFR ")
    middle.created = True
    with version_1(primary, middle, path, sets):
        for serial in 2, 3:
            advance(primary, path, serial, sets)
            wait_for(middle, serial)
        expect_differences(middle, sets, 1, 3)


def is_served(server, path):
    rows = apply(set(), ask(server, ZONE, "axfr")[1])
    return rows == in_file(ZONE, path)


def reread(server, path, serial, more=""):
    """Has the server read another file, perhaps of the same serial."""
    test_primaries.write(path, serial)
    with open(path, "a", encoding="ascii") as out:
        out.write(more)
    os.utime(path, (reread.time, reread.time))
    reread.time += 10
    server.reread()
    end = time.monotonic() + PATIENCE
    while not is_served(server, path):
        assert time.monotonic() < end, (server.dir / "log").read_text()
        time.sleep(0.05)


reread.time = 1_000_000_000


def test_what_leads_to_no_newer_serial_is_not_kept(tmp_path):
    """RFC 1982 section 3.2: two versions of one serial, and one that goes
    back."""
    path = tmp_path / "zone"
    test_primaries.write(path, 1)
    with started(primaries.Ours({ZONE: path})) as server:
        for serial in 2, 3:
            reread(server, path, serial)
        assert ask(server, ZONE, "ixfr", 1)[0] == "diffs 1 3"
        reread(server, path, 3, "other 60 IN TXT x\n")
        assert ask(server, ZONE, "ixfr", 1)[0] == "whole 3"
        reread(server, path, 4)
        assert ask(server, ZONE, "ixfr", 3)[0] == "diffs 3 4"
        reread(server, path, 2)
        assert ask(server, ZONE, "ixfr", 1)[0] == "whole 2"
        # A file that says the same keeps what there is.
        reread(server, path, 3)
        reread(server, path, 3)
        assert ask(server, ZONE, "ixfr", 2)[0] == "diffs 2 3"


def child(server, role):
    """The pid of a role's process, once there is one."""
    main = server.process.pid
    end = time.monotonic() + PATIENCE
    while True:
        children = pathlib.Path(f"/proc/{main}/task/{main}/children")
        for pid in map(int, children.read_text().split()):
            try:
                title = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if role.encode() in title:
                return pid
        assert time.monotonic() < end
        time.sleep(0.02)


def test_differences_outlive_the_loader(tmp_path):
    path, sets = tmp_path / "zone", {}
    primary = primaries.Ours({ZONE: path})
    middle = Ours(primary)
    with version_1(primary, middle, path, sets):
        for serial in range(2, LAST + 1):
            for server in primary, middle:
                os.kill(child(server, "loader"), signal.SIGKILL)
            advance(primary, path, serial, sets)
            wait_for(middle, serial)
            for server in primary, middle:
                expect_differences(server, sets,
                                   max(1, serial - Ours.kept), serial)


def count_transfers(server):
    """How often AXFR and IXFR were asked for, as statistics have it."""
    log = server.dir / "log"
    before = len(re.findall("XSTATS", log.read_text()))
    os.kill(server.process.pid, signal.SIGUSR1)
    end = time.monotonic() + PATIENCE
    while len(found := re.findall(r"XSTATS .* RAXFR=(\d+) RIXFR=(\d+)",
                                  log.read_text())) == before:
        assert time.monotonic() < end
        time.sleep(0.02)
    return tuple(map(int, found[-1]))


@pytest.mark.parametrize("key", (None, KEY), ids=("plain", "signed"))
@pytest.mark.parametrize("kind", secondaries.ALL + (Ours,))
def test_secondaries_take_differences(tmp_path, kind, key):
    path, sets = tmp_path / "zone", {}
    primary = primaries.Ours({ZONE: path})
    primary.key = key
    secondary = kind(primary)
    secondary.key, secondary.how = key, ""
    primary.notified = secondary.port
    with version_1(primary, secondary, path, sets):
        whole, _ = count_transfers(primary)
        for serial in range(2, LAST + 1):
            advance(primary, path, serial, sets)
            wait_for(secondary, serial)
            equal(secondary, ZONE, path)
        assert count_transfers(primary)[0] == whole
        assert count_transfers(primary)[1] >= LAST - 1
        if key is None:
            expect_differences(primary, sets, LAST - 5, LAST)


def notify(server, key=None, zone=ZONE):
    query = dns.message.make_query(zone, "SOA")
    query.set_opcode(dns.opcode.NOTIFY)
    query.flags |= dns.flags.AA
    if key:
        algorithm, name, secret = key
        query.use_tsig(dns.tsigkeyring.from_text(
            {name: (algorithm, secret)}))
    dns.query.udp(query, "127.0.0.1", timeout=PATIENCE, port=server.port)


@pytest.mark.parametrize("kind", secondaries.ALL + (Ours,))
def test_secondaries_take_one_difference_for_several(tmp_path, kind):
    """RFC 1995 section 6. They hear of the last version only."""
    path, sets = tmp_path / "zone", {}
    primary = primaries.Ours({ZONE: path})
    secondary = kind(primary)
    secondary.how, primary.notified = "", None
    with version_1(primary, secondary, path, sets):
        whole, _ = count_transfers(primary)
        for serial in range(2, 5):
            advance(primary, path, serial, sets)
            wait_for(primary, serial)
        said, lines = ask(primary, ZONE, "ixfr", 1)
        assert said == "diffs 1 4"
        assert sum(" SOA " in line for line in lines) == 2
        assert apply(sets[1], lines) == sets[4]
        notify(secondary)
        wait_for(secondary, 4)
        equal(secondary, ZONE, path)
        assert count_transfers(primary)[0] == whole


# ---- files

def checkzone(program, path, old):
    subprocess.run([program, "-i", old, ZONE.rstrip("."), path], check=True,
                   timeout=60, stdout=subprocess.DEVNULL)


def test_files_of_nsd_are_read_at_a_start(tmp_path):
    path, sets = tmp_path / "zone", {}
    for serial in range(1, LAST + 1):
        old = tmp_path / "old"
        if serial > 1:
            shutil.copy(path, old)
        test_primaries.write(path, serial)
        sets[serial] = in_file(ZONE, path)
        if serial > 1:
            checkzone("/usr/sbin/nsd-checkzone", path, old)
    with started(primaries.Ours({ZONE: path})) as server:
        expect_differences(server, sets, LAST - 5, LAST)
    # A broken file ends the chain.
    (tmp_path / "zone.ixfr.3").write_text("; IXFR data file\n")
    with started(primaries.Ours({ZONE: path})) as server:
        expect_differences(server, sets, LAST - 2, LAST)
        assert ask(server, ZONE, "ixfr", LAST - 3)[0] == f"whole {LAST}"
        assert "zone.ixfr.3 is not used" in (server.dir / "log").read_text()


def test_files_are_written_and_read(tmp_path):
    path, sets = tmp_path / "zone", {}
    primary = primaries.Bind({ZONE: path})
    middle = Ours(primary)
    middle.write_sec = 1
    with version_1(primary, middle, path, sets):
        for serial in range(2, LAST + 1):
            advance(primary, path, serial, sets)
            wait_for(middle, serial)
        written = middle.dir / f"{ZONE}zone"
        end = time.monotonic() + PATIENCE
        while not (written.exists()
                   and f"update to serial {LAST} " in written.read_text()):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert sorted(p.name for p in middle.dir.glob("*.ixfr*")) == sorted(
            f"{ZONE}zone.ixfr{n}" for n in ("", ".2", ".3", ".4", ".5"))
        # Ours has nothing but the files.
        primary.stop()
        middle.kill()
        shutil.rmtree(middle.dir / "xfrd.state.journal")
        middle.start()
        wait_for(middle, LAST)
        expect_differences(middle, sets, LAST - 5, LAST)
        # And so has the real one.
        for file in middle.dir.glob(f"{ZONE}zone*"):
            shutil.copy(file, tmp_path / file.name.replace(f"{ZONE}", ""))
        with started(primaries.Nsd({ZONE: path})) as nsd:
            expect_differences(nsd, sets, LAST - 5, LAST)


def wait_file(path, serial):
    """Until the newest difference leads to a serial."""
    end = time.monotonic() + PATIENCE
    while not (path.exists() and f"; to_serial {serial}\n"
               in path.read_text()):
        assert time.monotonic() < end, f"{path} leads to no {serial}"
        time.sleep(0.05)


@pytest.mark.parametrize("kind", (primaries.Ours, primaries.Nsd))
def test_files_of_primaries_outlive_a_restart(tmp_path, kind):
    """Difference files that ours writes when a zone file has changed, beside
    an unchanged zone file. Ours and the real one read them."""
    path, sets = tmp_path / "zone", {}
    server = primaries.Ours({ZONE: path})
    try:
        advance(server, path, 1, sets)
        server.start()
        for serial in range(2, LAST + 1):
            advance(server, path, serial, sets)
            wait_for(server, serial)
        text, when = path.read_text(), path.stat().st_mtime_ns
        wait_file(tmp_path / "zone.ixfr", LAST)
        server.stop()
        assert sorted(p.name for p in tmp_path.glob("zone*")) == [
            "zone", *(f"zone.ixfr{n}" for n in ("", ".2", ".3", ".4", ".5"))]
        assert (path.read_text(), path.stat().st_mtime_ns) == (text, when)
        server = kind({ZONE: path})
        server.start()
        expect_differences(server, sets, LAST - 5, LAST)
    finally:
        server.stop()


def wait_at_rest(server):
    """Waits until xfrd, which knows only later versions for others, has
    looked."""
    main = server.process.pid

    def look():
        for pid in pathlib.Path(
                f"/proc/{main}/task/{main}/children").read_text().split():
            path = pathlib.Path("/proc") / pid
            if b"xfrd" in (path / "cmdline").read_bytes():
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                return fields[0] == "S" and fields[11:13]
        return None

    end, seen, since = time.monotonic() + PATIENCE, None, 0
    while since < 3:
        assert time.monotonic() < end, "xfrd never rests"
        time.sleep(0.1)
        now = look()
        since = since + 1 if now and now == seen else 0
        seen = now


def test_differences_are_written_before_the_end(tmp_path):
    path, sets = tmp_path / "zone", {}
    for serial in range(1, 5):
        server = primaries.Ours({ZONE: path})
        try:
            if serial == 1:
                advance(server, path, serial, sets)
            server.start()
            if serial < 4:
                wait_at_rest(server)
                advance(server, path, serial + 1, sets)
                wait_for(server, serial + 1)
            else:
                expect_differences(server, sets, 1, 4)
        finally:
            server.stop()


def test_files_that_lead_nowhere_go(tmp_path):
    """A version that has come without a difference ends the chain."""
    path = tmp_path / "zone"
    test_primaries.write(path, 1)
    server = primaries.Ours({ZONE: path})
    try:
        server.start()
        reread(server, path, 2)
        wait_file(tmp_path / "zone.ixfr", 2)
        reread(server, path, 1)
        end = time.monotonic() + PATIENCE
        while (tmp_path / "zone.ixfr").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        server.stop()


# ---- files of another moment than the zone file's

@pytest.fixture
def two_versions(tmp_path):
    """A server that has changed from 1 to 2, whose file it has written."""
    path, sets = tmp_path / "zone", {}
    server = primaries.Ours({ZONE: path})
    server.more = ["server:", "\treplace-hung: no"]  # xfrd is stopped
    try:
        advance(server, path, 1, sets)
        server.start()
        advance(server, path, 2, sets)
        wait_for(server, 2)
        wait_file(tmp_path / "zone.ixfr", 2)
        yield server, path, sets
    finally:
        server.stop()


def wait_gone(path):
    end = time.monotonic() + PATIENCE
    while path.exists():
        assert time.monotonic() < end, f"{path} is there"
        time.sleep(0.05)


def add(path, text="other 60 IN TXT x\n"):
    """Another content, and the same serial."""
    with open(path, "a", encoding="ascii") as out:
        out.write(text)


def make_new(path):
    """As a copy of a folder may: its time is a later one."""
    before = path.stat().st_ctime_ns
    end = time.monotonic() + PATIENCE
    while path.stat().st_ctime_ns <= before:
        assert time.monotonic() < end
        path.chmod(0o644)


def expect_chain(server, path, sets):
    """No difference leads from 1, and the one from 2 to 3 is right."""
    sets[2] = in_file(ZONE, path)
    assert ask(server, ZONE, "ixfr", 1)[0] == "whole 2"
    text = path.read_text()
    advance(server, path, 3, sets)
    wait_for(server, 3)
    wait_file(path.with_name("zone.ixfr"), 3)
    assert "other" not in path.read_text() and "other" in text
    server.end()
    server.start()
    assert ask(server, ZONE, "ixfr", 1)[0] == "whole 3"
    said, lines = ask(server, ZONE, "ixfr", 2)
    assert said == "diffs 2 3"
    assert apply(sets[2], lines) == sets[3]
    assert not path.with_name("zone.ixfr.2").exists()


@pytest.mark.parametrize("away", (False, True))
def test_files_go_with_the_content_of_their_serial(two_versions, away):
    """Difference files go with the content of their serial, also if xfrd is
    another one when it looks."""
    server, path, sets = two_versions
    xfrd = child(server, "xfrd")
    if away:
        os.kill(xfrd, signal.SIGSTOP)
    add(path)
    server.reread()
    end = time.monotonic() + PATIENCE
    while not is_served(server, path):
        assert time.monotonic() < end
        time.sleep(0.05)
    if away:
        os.kill(xfrd, signal.SIGKILL)
    wait_gone(path.with_name("zone.ixfr"))
    server.end()
    server.start()
    expect_chain(server, path, sets)


@pytest.mark.parametrize("killed", (False, True))
def test_files_older_than_the_zone_file_are_not_read(two_versions, killed):
    """The zone file has changed while the server was down; the difference
    files are removed, so that they cannot become newer later."""
    server, path, sets = two_versions
    (server.kill if killed else server.end)()
    add(path)
    server.start()
    wait_gone(path.with_name("zone.ixfr"))
    assert ("zone.ixfr is not used, nor are older ones: it is not newer than"
            in (server.dir / "log").read_text())
    expect_chain(server, path, sets)


def test_files_older_than_what_is_included_are_not_read(two_versions):
    server, path, _ = two_versions
    more, file = path.with_name("more"), path.with_name("zone.ixfr")
    step = file.read_text()
    more.write_text("one 60 IN TXT x\n")
    add(path, f"$INCLUDE {more}\n")
    server.reread()
    wait_gone(file)
    server.end()
    file.write_text(step)
    server.start()
    assert ask(server, ZONE, "ixfr", 1)[0] == "diffs 1 2"
    server.end()
    more.write_text("other 60 IN TXT x\n")
    server.start()
    assert ask(server, ZONE, "ixfr", 1)[0] == "whole 2"


def test_files_older_than_a_link_are_not_read(tmp_path, two_versions):
    server, path, _ = two_versions
    server.end()
    shutil.copy(path, tmp_path / "other")
    add(tmp_path / "other")
    make_new(tmp_path / "zone.ixfr")
    path.unlink()
    path.symlink_to("other")
    server.start()
    assert ask(server, ZONE, "ixfr", 1)[0] == "whole 2"


def test_files_are_written_anew_beside_one_that_says_the_same(two_versions):
    """The zone file was touched, or replaced by an equal one."""
    server, path, sets = two_versions
    file = path.with_name("zone.ixfr")

    def is_newer():
        return file.stat().st_ctime_ns > path.stat().st_ctime_ns

    for _ in range(3):
        # The difference file goes if the zone file is touched during the
        # write.
        wait_at_rest(server)
        os.utime(path)
        server.reread()
        end = time.monotonic() + PATIENCE
        while not is_newer():
            assert time.monotonic() < end
            time.sleep(0.05)
    server.end()
    server.start()
    expect_differences(server, sets, 1, 2)


def test_nothing_is_written_beside_a_file_that_was_not_read(two_versions):
    """A difference file would be newer than the unread zone file."""
    server, path, sets = two_versions
    xfrd = child(server, "xfrd")
    os.kill(xfrd, signal.SIGSTOP)
    advance(server, path, 3, sets)
    wait_for(server, 3)
    add(path)
    os.kill(xfrd, signal.SIGCONT)
    wait_gone(path.with_name("zone.ixfr"))
    server.end()
    server.start()
    assert ask(server, ZONE, "ixfr", 2)[0] == "whole 3"


# ---- nsd-checkzone -i

CHECKZONES = (str(servers.build_dir() / "nsd-checkzone"),
              "/usr/sbin/nsd-checkzone")


def read_files(folder):
    """The contents of the files, without order of records, version and time;
    and size, since NSD 4.6.1 has records added at the apex twice."""
    found = {}
    for path in folder.glob("zone.ixfr*"):
        lines = path.read_text().split("\n")
        assert re.fullmatch(
            r"; IXFR created by NSD \S+ for \S+ \d+ to \d+ of \d+ bytes at "
            r"time .*", lines[5])
        parts = [lines[:4]]
        for line in lines[6:]:
            if "\tSOA\t" in line:
                parts.append([line])
            else:
                parts[-1].append(line)
        found[path.name] = parts[:1] + [[p[0], *sorted(set(p[1:]))]
                                        for p in parts[1:]]
    return found


def run_checkzone(program, folder, *args):
    result = subprocess.run([program, *args, "changing.test", "zone"],
                            cwd=folder, timeout=60, capture_output=True,
                            text=True)
    return result.returncode, result.stdout, [
        line.split(": ", 1)[1] for line in result.stderr.split("\n")
        if " warning: " not in line and line]


def test_checkzone_writes_the_same_octets(tmp_path):
    text = ("$TTL 300\n@ SOA ns h {} 2 3 4 5\n@ NS ns\nns A 192.0.2.{}\n"
            'www MX 10 mail.{}\ntxt{} TXT "a b" "\\255\\"{}"\n'
            "x{} TYPE999 \\# 3 0102{:02}\na.b.c{} AAAA ::{}\n")
    found = []
    for program in CHECKZONES:
        for name, n in ("old", 1), ("zone", 2):
            (tmp_path / name).write_text(text.format(*[n] * 9))
        assert run_checkzone(program, tmp_path, "-i", "old")[0] == 0
        path = tmp_path / "zone.ixfr"
        found.append(re.sub(r"by NSD \S+|at time .*", "", path.read_text()))
        path.unlink()
    assert found[0] == found[1]


def test_checkzone_makes_the_same_files(tmp_path):
    folders = [tmp_path / "ours", tmp_path / "theirs"]
    for folder in folders:
        folder.mkdir()
    runs = [(2, []), (3, []), (4, ["-n", "2"]), (4, []), (6, []),
            (5, []), (6, []), (7, ["-s", "10"]), (8, []),
            (9, ["-s", "50000"])]
    serial = 1
    for to, more in runs:
        said = []
        for program, folder in zip(CHECKZONES, folders):
            test_primaries.write(folder / "old", serial)
            test_primaries.write(folder / "zone", to)
            said.append(run_checkzone(program, folder, "-i", "old", *more))
        assert said[0] == said[1], (to, more)
        assert read_files(folders[0]) == read_files(folders[1]), (to, more)
        serial = max(serial, to)
    # Faults of the old file, and of the new one.
    for file in "old", "zone":
        said = []
        for program, folder in zip(CHECKZONES, folders):
            test_primaries.write(folder / "old", 9)
            test_primaries.write(folder / "zone", 10)
            with open(folder / file, "a", encoding="ascii") as out:
                out.write("x A 192.0.2.256\n")
            said.append(run_checkzone(program, folder, "-i", "old")[:2])
        assert said[0] == said[1]
        assert read_files(folders[0]) == read_files(folders[1])
