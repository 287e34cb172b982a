"""`database:`: the zones in a file, kept over a clean stop; and whatever may
have happened to that file, right answers."""

import contextlib
import os
import pathlib
import random
import re
import signal
import struct
import subprocess

import dns.exception
import pytest

import harness
from harness import is_alive, wait_for, zone_text
from test_loader_dies import ROOT, alter_store
from test_nsec3 import HEAD, chain, denial, param

SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))

needs_root = pytest.mark.skipif(os.geteuid() != 0,
                                reason="other users' files need root")


@pytest.fixture
def database(directory):
    return pathlib.Path(directory) / "zones.db"


def options(database, **more):
    # Tests stop processes here to hold them.
    return {"database": f'"{database}"', "replace-hung": "no", **more}


@pytest.fixture
def server(nsd, database):
    return nsd(zones={"a.test": zone_text(1), "b.test": zone_text(2)},
               options=options(database))


def restart(server, stop=True):
    """Ends and starts it; the log of the new start."""
    if stop:
        assert server.stop() == 0
    known = len(server.read_log())
    server.start()
    server.wait_log(r"\d+ zones: \d+ read, \d+ failed", known)
    return server.read_log()[known:]


def end_badly(server):
    """Without a chance to close anything."""
    pids = list(server.roles().values())
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    server.process.wait()
    wait_for("the end of all", lambda: not any(map(is_alive, pids)))


def check(server):
    assert server.serial("a.test") == 1
    assert server.serial("b.test") == 2
    assert server.answer("www.b.test", "A") == ["192.0.2.1"]


def test_clean_stop_is_attached_to(server, database):
    assert "there was none; zones are read from their files" \
        in server.read_log()
    check(server)
    log = restart(server)
    assert f"database {database}: as it was left by a clean stop" in log
    assert "2 zones are in it, 0 are new, 0 are not configured" in log
    assert "2 zones: 0 read, 0 failed" in log
    check(server)
    # And it goes on as any other.
    server.write_zone("a.test", zone_text(5))
    server.reload()
    server.wait_log("zone a.test serial 1 is updated to 5")
    log = restart(server)
    assert "2 zones: 0 read, 0 failed" in log
    assert server.serial("a.test") == 5


def test_newer_zone_file_is_read(server):
    assert server.stop() == 0
    server.write_zone("b.test", zone_text(3))
    log = restart(server, stop=False)
    assert "zone b.test read with success" in log
    assert "2 zones: 1 read, 0 failed" in log
    assert server.serial("a.test") == 1
    assert server.serial("b.test") == 3


def test_changed_include_is_read(nsd, database, directory):
    include = pathlib.Path(directory) / "more.inc"
    include.write_text("more A 192.0.2.8\n")
    server = nsd(zones={"a.test": zone_text() + "$INCLUDE more.inc\n"},
                 options=options(database))
    assert "1 zones: 0 read" in restart(server)
    assert server.stop() == 0
    include.write_text("more A 192.0.2.99\n")
    assert "1 zones: 1 read" in restart(server, stop=False)
    assert server.answer("more.a.test", "A") == ["192.0.2.99"]


def test_other_file_of_a_zone_is_read(server):
    """The configuration names another file for a zone; no file has changed."""
    assert server.stop() == 0
    text = server.config.read_text()
    server.zone_file("a.test").rename(server.directory / "other.zone")
    server.config.write_text(text.replace("a.test.zone", "other.zone"))
    assert "2 zones: 1 read, 0 failed" in restart(server, stop=False)
    check(server)


def test_broken_file_is_said_again(server):
    server.write_zone("a.test", zone_text(2) + "x A 300.0.0.1\n")
    server.reload()
    server.wait_log("zone a.test file a.test.zone read with 1 errors")
    log = restart(server)
    assert "error: a.test.zone:8:" in log
    assert "2 zones: 0 read, 1 failed" in log
    check(server)


def test_removed_file_leaves_the_version(server):
    assert server.stop() == 0
    server.zone_file("a.test").unlink()
    log = restart(server, stop=False)
    assert "zonefile a.test.zone does not exist" in log
    check(server)


def test_zones_come_and_go(server):
    assert server.stop() == 0
    del server.zones["a.test"]
    server.write_zone("c.test", zone_text(7))
    server.write_config()
    log = restart(server, stop=False)
    assert "1 zones are in it, 1 are new, 1 are not configured" in log
    assert "2 zones: 1 read, 0 failed" in log
    assert server.rcode("a.test", "SOA") == "REFUSED"
    assert server.serial("b.test") == 2
    assert server.serial("c.test") == 7


def test_acls_are_those_of_the_configuration(server):
    assert server.stop() == 0
    server.extra = "\tallow-query: 127.0.0.1 BLOCKED\n"
    server.write_config()  # for the last zone, b.test
    assert "2 zones: 0 read, 0 failed" in restart(server, stop=False)
    assert server.rcode("a.test", "SOA") == "NOERROR"
    assert server.rcode("b.test", "SOA") == "REFUSED"


def test_unclean_stop_is_rebuilt(server):
    end_badly(server)
    log = restart(server, stop=False)
    assert "it was not closed by a clean stop" in log
    assert "2 zones: 2 read, 0 failed" in log
    check(server)
    assert "2 zones: 0 read, 0 failed" in restart(server)
    check(server)


def test_dead_loader_does_not_make_it_unclean(server):
    server.wait_replaced("loader", server.kill("loader"))
    server.wait_log("2 zones: 0 read, 0 failed")
    server.write_zone("a.test", zone_text(9))
    server.reload()
    server.wait_serial("a.test", 9)
    log = restart(server)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log
    assert server.serial("a.test") == 9


def test_loader_dies_before_it_has_read_newer_files(server):
    """The loader dies in its first pass: the next one reads the newer
    files."""
    assert server.stop() == 0
    more = harness.Held(server.directory / "more.inc")
    server.write_zone("a.test", zone_text(4) + "$INCLUDE more.inc\n")
    server.start(ready=False)
    with more.opened() as f:  # the loader is in the middle now
        server.kill("loader")
        f.write("more A 192.0.2.7\n")
    server.wait_log("the loader takes over")
    server.wait_serving()
    server.wait_serial("a.test", 4)
    assert server.serial("b.test") == 2


def test_stop_without_a_loader_is_clean(server):
    """The next loader takes over to close the file."""
    server.wait_replaced("loader", server.kill("loader"))
    server.wait_log("2 zones: 0 read, 0 failed")
    server.kill("loader")  # for a second
    log = restart(server)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log
    check(server)


@pytest.mark.parametrize("fill", [0, 110000], ids=["small", "large"])
def test_changed_limit_of_iterations_undoes_no_change(nsd, database, fill):
    """Zones are hashed anew from what is served; that their files are gone
    does not matter."""
    fill = "".join(f"fill{i}.sub A 192.0.2.1\n" for i in range(fill))
    text = HEAD + fill + "\n".join(
        param("ab", 3) + chain("a.test.", "ab", 3)) + "\n"
    server = nsd(zones={"a.test": text}, updates=True, options=options(
        database, **{"nsec3-max-iterations": 3}))
    assert server.update("zone a.test.\nadd new 60 TXT fresh") == ("ok", 1, 0)
    for limit, there in (2, True), (3, True), (2, False), (3, False):
        if not there:
            server.zone_file("a.test").unlink(missing_ok=True)
        server.options["nsec3-max-iterations"] = limit
        server.write_config()
        log = restart(server)
        assert f"zone a.test: hashed for at most {limit} NSEC3" in log
        assert f"1 zones: 0 read, {int(not there)} failed" in log
        assert (len(denial(server, "nx.a.test.")) > 1) == (limit == 3)
        assert server.answer("new.a.test", "TXT") == ['"fresh"']
        assert server.update(f"zone a.test.\nadd l{limit} 60 TXT x"
                             )[0] == "ok"


@pytest.mark.parametrize("keep", [0, 5000, -1])
def test_truncated_file_is_rebuilt(server, database, keep):
    assert server.stop() == 0
    size = database.stat().st_size
    os.truncate(database, keep if keep >= 0 else size + keep)
    log = restart(server, stop=False)
    assert "2 zones: 2 read, 0 failed" in log or "is not used" in log
    check(server)


def test_altered_file_is_rebuilt(server, database):
    assert server.stop() == 0
    with database.open("r+b") as f:
        data = f.read()
        f.seek(data.rindex(b"some text"))
        f.write(b"other txt")
    log = restart(server, stop=False)
    assert "its checksum is wrong" in log
    assert "2 zones: 2 read, 0 failed" in log
    assert server.answer("txt.a.test", "TXT") == ['"some text"']


def test_what_is_no_store_is_left_alone(make_server, database):
    database.write_text("something of value\n" * 1000)
    before = database.read_bytes()
    server = make_server(zones={"a.test": zone_text(1)},
                         options=options(database)).start()
    server.wait_log(f"error: database {database} is not used: it is no zone"
                    " store; zones are kept in memory only")
    assert server.serial("a.test") == 1
    assert server.stop() == 0
    assert database.read_bytes() == before


@needs_root
def test_file_of_another_user_is_not_used(server, database):
    assert server.stop() == 0
    os.chown(database, 65534, 65534)
    log = restart(server, stop=False)
    assert "is not used: it belongs to another user" in log
    check(server)


def test_file_that_others_may_write_is_not_used(server, database):
    assert server.stop() == 0
    database.chmod(0o666)
    log = restart(server, stop=False)
    assert "is not used: others than its owner may write to it" in log
    check(server)


def test_two_servers_do_not_share_a_file(server, make_server, database):
    second = make_server(zones={"a.test": zone_text(8)},
                         options=options(database)).start()
    second.wait_log("is not used: another server uses it")
    assert second.serial("a.test") == 8
    assert second.stop() == 0
    assert "2 zones: 0 read" in restart(server)
    check(server)


def overwrite_spans(database):
    """Found out by the next loader."""
    with database.open("r+b") as f:
        f.seek(4096)
        f.write(bytes(1024))  # the first span says that it is free


def damage(server, database):
    overwrite_spans(database)
    server.kill("loader")
    server.wait_log("the zone store is left behind, a new one in memory is"
                    " to be filled from zone files")
    server.wait_log("2 zones: 2 read, 0 failed", count=2)


def wait_left(server, database):
    """Waits until no process maps the file any more, and main alone has it
    open."""
    def is_left():
        roles = server.roles()
        return len(roles) == 4 and not any(
            str(database) in harness.read_proc(pid, "maps")
            for pid in roles.values())
    wait_for("the end of the old workers", is_left)


def test_file_that_was_cut_short_is_left_for_memory(server, database):
    """Readers of a truncated database get SIGBUS, however often they are
    replaced."""
    loader = server.role("loader")
    with database.open("r+b") as f:
        f.truncate(4096)
    with contextlib.suppress(dns.exception.DNSException, OSError):
        server.query("www.a.test", "A", timeout=1)
    server.wait_log("the database cannot be read any more")
    server.wait_replaced("loader", loader)
    server.wait_log("2 zones: 2 read, 0 failed", count=2)
    wait_left(server, database)
    check(server)
    log = restart(server)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log
    check(server)


def test_damaged_store_is_left_for_memory(server, database):
    """The contents of the store in memory are kept in the file at the end."""
    damage(server, database)
    wait_left(server, database)
    check(server)
    server.write_zone("a.test", zone_text(6))
    server.reload()
    server.wait_serial("a.test", 6)
    inode = database.stat().st_ino
    log = restart(server)
    assert "database closed: " in server.read_log()
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log
    assert database.stat().st_ino == inode
    assert server.serial("a.test") == 6
    assert server.serial("b.test") == 2
    # As any other.
    server.write_zone("a.test", zone_text(7))
    server.reload()
    server.wait_serial("a.test", 7)
    assert "2 zones: 0 read, 0 failed" in restart(server)


def test_later_loader_keeps_what_is_in_memory(server, database):
    damage(server, database)
    wait_left(server, database)
    server.wait_replaced("loader", server.kill("loader"))
    server.wait_log("the loader takes over")
    server.wait_log("2 zones: 0 read, 0 failed")
    log = restart(server)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log
    check(server)


def test_unclean_end_after_damage_is_unclean(server, database):
    damage(server, database)
    wait_left(server, database)
    end_badly(server)
    log = restart(server, stop=False)
    assert "it was not closed by a clean stop" in log
    assert "2 zones: 2 read, 0 failed" in log
    check(server)


class Image:
    """The contents of a database file, without holes."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            head = f.read(4096)
            spans, = struct.unpack_from("=I", head, 12)
            self.data_at, = struct.unpack_from("=Q", head, 24)
            self.head = head + f.read(spans * 1024)
            f.seek(self.data_at)
            self.data = f.read()

    def write(self, head, data):
        with open(self.path, "r+b") as f:
            f.write(head)
            f.truncate(self.data_at + len(data))
            f.seek(self.data_at)
            f.write(data)


# Where the first page has them (doc/store.md).
LAYOUT, CONTENTS, CLEAN = 8, 40, 48


@pytest.mark.parametrize("at, said", [
    (LAYOUT, "it is of another version"),
    (CONTENTS, "it is of another version"),
    (CLEAN, "it was not closed by a clean stop")],
    ids=["layout", "contents", "clean"])
def test_file_with_another_mark_is_rebuilt(server, database, at, said):
    assert server.stop() == 0
    image = Image(database)
    head = bytearray(image.head)
    head[at] ^= 1
    image.write(head, image.data)
    log = restart(server, stop=False)
    assert said in log
    assert "2 zones: 2 read, 0 failed" in log
    check(server)
    assert "2 zones: 0 read, 0 failed" in restart(server)


def test_one_bit_anywhere_is_noticed(server, database):
    """A flipped bit in use is noticed; other octets do not matter."""
    rng = random.Random(SEED)
    print("SEED", SEED)
    assert server.stop() == 0
    image = Image(database)
    used = [at for at, octet in enumerate(image.data) if octet != 0]
    for _ in range(25):
        head, data = bytearray(image.head), bytearray(image.data)
        if rng.random() < 0.2:
            head[rng.randrange(192, len(head))] ^= 1 << rng.randrange(8)
        else:
            data[rng.choice(used)] ^= 1 << rng.randrange(8)
        image.write(head, data)
        log = restart(server, stop=False)
        assert "its checksum is wrong" in log
        assert "2 zones: 2 read, 0 failed" in log
        check(server)
        assert server.stop() == 0


@pytest.mark.parametrize("references, offset", [
    ([], ROOT), ([ROOT], 8), ([ROOT, 8, 8, 8], 20)],
    ids=["table", "entries", "names"])
def test_damage_that_was_there_before_the_sum_is_left_behind(
        server, database, references, offset):
    """Loaders die of it, or readers do; then zones come from their files."""
    assert server.stop() == 0
    alter_store(database, references, offset, 0x7fffff00)
    subprocess.run([harness.BUILD / "tests/lib/store_forge", database],
                   check=True)
    known = len(server.read_log())
    server.start(ready=False)
    server.wait_log("as it was left by a clean stop", known)

    def is_left():
        with contextlib.suppress(dns.exception.DNSException, OSError):
            server.query("www.a.test", "A", timeout=0.2)
            server.query("www.b.test", "A", timeout=0.2)
        return "2 zones: 2 read, 0 failed" in server.read_log()[known:]

    wait_for("another store", is_left)
    server.wait_serving()
    wait_left(server, database)
    check(server)
    assert "2 zones: 0 read, 0 failed" in restart(server)
    check(server)


def test_start_and_stop_leave_nothing_more_in_the_file(server):
    """Settings of each start take the place of those before."""
    assert "2 zones: 0 read" in restart(server)
    for _ in range(3):
        assert "2 zones: 0 read" in restart(server)
    assert server.stop() == 0
    closed = re.findall(r"database closed: (\d+) octets", server.read_log())
    assert len(closed) == 5
    assert len(set(closed[1:])) == 1


def test_loaders_that_die_of_the_file_leave_it_behind(server, database):
    """The loaders are killed before they have listed the zones."""
    assert server.stop() == 0
    server.start(ready=False)
    known = len(server.read_log())
    last = None
    for _ in range(3):
        last = wait_for("a loader", lambda p=last: next(
            (pid for role, pid in server.roles().items()
             if role == "loader" and pid != p), None))
        os.kill(last, signal.SIGKILL)
        if "zones: " in server.read_log()[known:]:
            break  # the loader was faster, and has listed them
    server.wait_serving()
    wait_for("the zones", lambda: server.rcode("b.test", "SOA") == "NOERROR")
    check(server)


@needs_root
def test_user_and_chroot(make_server, directory, database):
    os.chown(directory, 65534, 65534)
    server = make_server(zones={"a.test": zone_text(1),
                                "b.test": zone_text(2)},
                         options=options(database, username="nobody",
                                         chroot=f'"{directory}"'))
    if harness.is_sanitized():
        server.look_for_no_leaks()
    server.start()
    assert database.stat().st_uid == 65534
    log = restart(server)
    assert "as it was left by a clean stop" in log
    assert "2 zones: 0 read, 0 failed" in log
    check(server)


def test_orphaned_workers_make_room(server):
    """Main is killed; its workers map the file until the next start."""
    server.kill("main")
    server.process.wait()
    log = restart(server, stop=False)
    assert "zones are read from their files" in log
    check(server)
