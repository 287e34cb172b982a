"""Folders whose zone files are zones (zone-directory)."""
import os
import re
import shutil
import subprocess
import time

import pytest

import control
from harness import DEADLINE, is_sanitized, wait_for, zone_text

PATTERN = 'pattern:\n\tname: p\n\tzone-directory: "served"\n'
# A file that is gone, and no zone any more: five seconds, and what it takes.
GONE_SEC = 5


def old(path):
    """A file that nobody has written to for a while."""
    os.utime(path, (time.time() - 60, time.time() - 60))
    return path


class Folder:
    """A server with a folder."""

    def __init__(self, server):
        self.server = server
        self.path = server.directory / "served"

    def file(self, name):
        return self.path / f"{name}.zone"

    def write(self, name, serial=1):
        self.file(name).write_text(zone_text(serial))
        return self.file(name)

    def move_in(self, name, serial=1):
        """A file that comes as a whole."""
        other = self.server.directory / "other.new"
        other.write_text(zone_text(serial))
        other.rename(self.file(name))

    def serial(self, name):
        """The serial of a zone; None: it is not served."""
        reply = self.server.query(name, "SOA")
        return reply.answer[0][0].serial if reply.answer else None

    def wait(self, name, serial):
        wait_for(f"{name} {serial}", lambda: self.serial(name) == serial)

    def lines(self):
        """Lines of zones in the zone list."""
        text = (self.server.directory / "zone.list")
        return sorted(line for line in (text.read_text().splitlines()
                                        if text.exists() else [])
                      if not line.startswith(("#", "del")))


def make_folder(make_server, *names, extra=PATTERN, **options):
    server = make_server(zones={"example": zone_text()}, extra=extra,
                         options=options)
    folder = Folder(server)
    folder.path.mkdir()
    for name in names:
        old(folder.write(name))
    control.config(server).start()
    for name in names:
        folder.wait(name, 1)
    return folder


@pytest.fixture
def folder(make_server):
    return make_folder(make_server)


def member(name, pattern="p"):
    return f"mem {name} {pattern} zone-directory."


# ---- files that come, go and change -----------------------------------------

def test_files_are_zones(make_server):
    folder = make_folder(make_server, "a.test", "b.test", "xn--c.test")
    assert folder.lines() == [member("a.test"), member("b.test"),
                              member("xn--c.test")]
    folder.move_in("d.test", 7)
    folder.wait("d.test", 7)
    folder.move_in("a.test", 2)
    folder.wait("a.test", 2)
    folder.write("b.test", 3)
    folder.wait("b.test", 3)
    began = time.monotonic()
    folder.file("b.test").unlink()
    folder.wait("b.test", None)
    assert time.monotonic() - began >= GONE_SEC
    assert folder.lines() == [member("a.test"), member("d.test"),
                              member("xn--c.test")]


def test_restart_finds_the_same(make_server):
    folder = make_folder(make_server, "a.test", "b.test")
    assert folder.server.stop() == 0
    folder.file("b.test").unlink()
    old(folder.write("c.test", 5))
    folder.server.start()
    folder.wait("c.test", 5)
    wait_for("the end of b.test", lambda: folder.lines() == [
        member("a.test"), member("c.test")])
    assert folder.serial("a.test") == 1


def test_zones_that_have_come_miss_no_files(make_server):
    """Zones of the first reading are counted once, and not looked for."""
    names = [f"z{i}.test" for i in range(12000)]
    server = make_server(zones={"example": zone_text()}, extra=PATTERN)
    folder = Folder(server)
    folder.path.mkdir()
    for name in names:
        old(folder.write(name))
    control.config(server).start()
    server.wait_log("member zones: 12000 added, 0 changed, 0 deleted")
    answer = control.ask(server, "catalogs")[1]
    assert "\tmembers: 12000\n" in answer
    assert "missing" not in answer
    for name in names[::500]:
        folder.wait(name, 1)
    folder.file(names[0]).unlink()
    folder.wait(names[0], None)
    assert "\tmembers: 11999\n" in control.ask(server, "catalogs")[1]


def test_many_files_change_at_once(make_server):
    names = [f"z{i}.test" for i in range(200)]
    folder = make_folder(make_server, *names)
    for name in names:
        folder.write(name, 2)
    for name in names:
        folder.wait(name, 2)


def test_folder_needs_no_control_channel(make_server):
    server = make_server(zones={"example": zone_text()}, extra=PATTERN)
    folder = Folder(server)
    folder.path.mkdir()
    old(folder.write("a.test"))
    server.start()
    folder.wait("a.test", 1)
    folder.move_in("b.test", 4)
    folder.wait("b.test", 4)


# ---- what deletes nothing ---------------------------------------------------

def test_half_written_file_is_waited_for(folder):
    """The zone is neither read nor refused before its writer is done."""
    text = zone_text(3)
    with folder.file("a.test").open("w") as file:
        for part in text[:20], text[20:40]:
            file.write(part)
            file.flush()
            time.sleep(1.5)
        assert folder.serial("a.test") is None
        assert folder.lines() == []
        file.write(text[40:])
    folder.wait("a.test", 3)
    assert "a.test" not in "".join(
        line for line in folder.server.read_log().splitlines()
        if "error" in line)


@pytest.mark.parametrize("save", [
    # vim, with and without backupcopy
    "mv a.test.zone a.test.zone~; sleep 1; cp ../new a.test.zone; rm a.test.zone~",
    "cp a.test.zone a.test.zone~; cat ../new > a.test.zone; rm a.test.zone~",
    # emacs; sed -i
    "ln -s someone@host.1 .#a.test.zone; cp ../new '#a.test.zone#';"
    " mv '#a.test.zone#' a.test.zone; rm .#a.test.zone",
    "cp ../new sedAbCdEf; mv sedAbCdEf a.test.zone",
    # rsync(1), and one that removes first
    "cp ../new .a.test.zone.XyZ123; mv .a.test.zone.XyZ123 a.test.zone",
    "rm a.test.zone; sleep 3; cp ../new a.test.zone",
])
def test_saved_file_is_no_file_that_goes(make_server, save):
    folder = make_folder(make_server, "a.test", "b.test")
    (folder.server.directory / "new").write_text(zone_text(2))
    known = folder.lines()
    subprocess.run(["sh", "-c", save], cwd=folder.path, check=True)
    folder.wait("a.test", 2)
    assert folder.lines() == known
    folder.move_in("c.test")
    folder.wait("c.test", 1)
    assert folder.lines() == [*known, member("c.test")]
    assert not re.search(", [1-9][0-9]* deleted", folder.server.read_log())


def test_broken_names_are_told(make_server):
    folder = make_folder(make_server, "a.test")
    for name in "B.test", "c..test", "d.test.", "e" * 64 + ".test", "sp ace":
        folder.move_in(name)
    folder.file("f.test").mkdir()
    (folder.path / "g.test.txt").write_text(zone_text())
    folder.move_in("z.test")
    folder.wait("z.test", 1)
    for name in "B.test", "c..test", "d.test.", "e" * 64 + ".test":
        folder.server.wait_log(
            f"zone-directory served: {name.replace('.', '[.]')}[.]zone is not"
            " taken: expected the name of a zone, in lower case")
    assert [line for line in folder.lines() if "sp" not in line] == [
        member("a.test"), member("z.test")]


def fault(folder):
    """The fault of the folder, by `catalogs`; None: there is none."""
    for line in control.ask(folder.server, "catalogs")[1].splitlines():
        if line.startswith("\tinvalid: "):
            return line.removeprefix("\tinvalid: ")
    return None


def test_file_with_a_bad_name_is_told_once(folder):
    """However often it is written, and until it has gone."""
    def wait(text):
        wait_for(f"the fault {text}", lambda: fault(folder) == text)
    folder.move_in("B.test")
    wait("files with a bad name: 1, the first one is B.test.zone")
    for i in range(3):
        folder.move_in("B.test")
        folder.move_in(f"a{i}.test")
        folder.wait(f"a{i}.test", 1)
    folder.move_in("C.test")
    wait("files with a bad name: 2, the first one is B.test.zone")
    assert folder.server.read_log().count("B.test.zone is not taken") == 1
    folder.file("B.test").unlink()
    wait("files with a bad name: 1, the first one is C.test.zone")
    folder.file("C.test").unlink()
    wait(None)


@pytest.mark.lasts(40)
def test_file_with_a_bad_name_is_no_other_file(make_server):
    """An empty folder keeps its zones; the last file is forgotten."""
    folder = make_folder(make_server, "a.test")
    folder.move_in("B.test")
    folder.file("a.test").unlink()
    folder.server.wait_log("zone-directory served has no zone files any more")
    folder.move_in("C.test")
    folder.server.wait_log("C.test.zone is not taken")
    for name in "B.test", "C.test":
        folder.file(name).unlink()
    time.sleep(GONE_SEC)
    assert folder.lines() == [member("a.test")]
    assert folder.serial("a.test") == 1
    folder.move_in("a.test", 2)
    folder.wait("a.test", 2)
    wait_for("no fault", lambda: fault(folder) is None)


def test_empty_folder_without_members_is_no_fault(folder):
    """Files that are no members of it come and go."""
    folder.move_in("example", 2)
    folder.server.wait_log("member zone example is not taken")
    folder.file("example").unlink()
    wait_for("the end of what was refused", lambda: "refused" not in
             control.ask(folder.server, "catalogs")[1])
    assert fault(folder) is None
    folder.move_in("a.test")
    folder.wait("a.test", 1)
    assert "no zone files any more" not in folder.server.read_log()


def test_broken_file_is_a_zone_that_is_not_loaded(make_server):
    folder = make_folder(make_server, "a.test")
    (folder.server.directory / "other.new").write_text("what is this\n")
    (folder.server.directory / "other.new").rename(folder.file("b.test"))
    wait_for("the line", lambda: member("b.test") in folder.lines())
    wait_for("the zone", lambda: folder.server.rcode("b.test", "SOA")
             == "SERVFAIL")
    folder.move_in("b.test", 2)
    folder.wait("b.test", 2)
    (folder.server.directory / "other.new").write_text("what is this\n")
    (folder.server.directory / "other.new").rename(folder.file("b.test"))
    folder.server.wait_log("b.test.zone:1")
    assert folder.serial("b.test") == 2


def test_empty_folder_keeps_its_zones(make_server):
    folder = make_folder(make_server, "a.test", "b.test")
    for name in "a.test", "b.test":
        folder.file(name).unlink()
    folder.server.wait_log("zone-directory served has no zone files any more:"
                           " its zones stay as they are")
    time.sleep(GONE_SEC)
    assert folder.serial("a.test") == folder.serial("b.test") == 1
    assert len(folder.lines()) == 2
    # After a restart, too.
    assert folder.server.stop() == 0
    folder.server.start()
    folder.server.wait_log("its zones stay as they are")
    folder.wait("a.test", None)
    assert len(folder.lines()) == 2
    folder.move_in("b.test", 2)
    folder.wait("b.test", 2)
    wait_for("the end of a.test",
             lambda: folder.lines() == [member("b.test")])


def test_empty_folder_may_be_told_to_delete(make_server):
    folder = make_folder(make_server, "a.test",
                         extra=PATTERN + "\tcatalog-empty: delete\n")
    folder.file("a.test").unlink()
    folder.wait("a.test", None)
    assert folder.lines() == []


@pytest.mark.lasts(40)
def test_folder_that_goes_keeps_its_zones(make_server):
    folder = make_folder(make_server, "a.test", "b.test")
    away = folder.server.directory / "away"
    folder.path.rename(away)
    folder.server.wait_log("zone-directory served cannot be read: No such file"
                           " or directory: its zones stay as they are")
    time.sleep(GONE_SEC)
    assert len(folder.lines()) == 2
    # An empty folder in its place, as of a mount that has gone.
    folder.path.mkdir()
    folder.server.wait_log("has no zone files any more")
    time.sleep(GONE_SEC)
    assert len(folder.lines()) == 2
    folder.path.rmdir()
    (away / "a.test.zone").unlink()
    away.rename(folder.path)
    wait_for("the end of a.test",
             lambda: folder.lines() == [member("b.test")])


@pytest.mark.lasts(60)
@pytest.mark.parametrize("how", ["replaced", "emptied"])
def test_folder_may_be_filled_anew_slowly(make_server, how):
    """Zones stay as long as files come; what is missing then goes."""
    names = [f"z{i}.test" for i in range(8)]
    folder = make_folder(make_server, *names)
    server = folder.server
    known = folder.lines()
    if how == "replaced":
        folder.path.rename(server.directory / "away")
        folder.path.mkdir()
    else:
        for name in names:
            folder.file(name).unlink()
    for name in names[:-1]:
        folder.move_in(name, 2)
        time.sleep(GONE_SEC / 2)
        assert folder.lines() == known
    status = control.ask(server, "zonestatus", names[-1])[1]
    assert "its file is gone, and the folder is being filled" in status
    assert "\tmissing: 1 files: " in control.ask(server, "catalogs")[1]
    assert '"missing":1' in control.ask(server, "-j", "catalogs")[1].replace(
        " ", "")
    for name in names[:-1]:
        folder.wait(name, 2)
    wait_for("the last one's end", lambda: folder.lines() == known[:-1])
    assert "missing" not in control.ask(server, "catalogs")[1]
    assert f"{len(names) - 1} deleted" not in server.read_log()


@pytest.mark.lasts(50)
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_mounted_folder_goes_and_comes(make_server):
    """A mount, of which no event tells: the path is looked at."""
    folder = make_folder(make_server, "a.test")
    source = folder.server.directory / "source"
    source.mkdir()
    for name in "a.test", "b.test":
        (source / f"{name}.zone").write_text(zone_text(1))
        old(source / f"{name}.zone")
    known = subprocess.run(["mount", "--bind", source, folder.path],
                           check=False, capture_output=True)
    if known.returncode:
        pytest.skip("no mounts here")
    try:
        folder.wait("b.test", 1)
        folder.file("c.test").write_text(zone_text(3))
        folder.wait("c.test", 3)
    finally:
        subprocess.run(["umount", folder.path], check=True)
    # The folder below has one file: the others are gone.
    folder.wait("b.test", None)
    folder.wait("c.test", None)
    assert folder.serial("a.test") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="other users need root")
def test_unreadable_folder_keeps_its_zones(make_server):
    server = make_server(zones={"example": zone_text()}, extra=PATTERN,
                         options={"username": '"nobody"'})
    folder = Folder(server)
    folder.path.mkdir()
    old(folder.write("a.test"))
    server.directory.chmod(0o777)
    control.config(server).start()
    folder.wait("a.test", 1)
    folder.path.chmod(0o700)
    server.reload()
    assert control.ask(server, "reload")[0] in (0, 1)
    server.wait_log("zone-directory served cannot be read: Permission denied")
    assert folder.lines() == [member("a.test")]
    assert "cannot be read" in control.ask(server, "catalogs")[1]
    folder.path.chmod(0o755)
    old(folder.write("b.test", 2))
    folder.wait("b.test", 2)
    wait_for("no fault", lambda: "cannot be read" not in control.ask(
        server, "catalogs")[1])


def test_name_of_a_file_is_no_line_of_an_answer(make_server):
    folder = make_folder(make_server, "a.test")
    (folder.path / "b\nzone-directory: forged.zone").write_text("")
    wait_for("the fault", lambda: "bad name" in control.ask(
        folder.server, "catalogs")[1])
    answer = control.ask(folder.server, "catalogs")[1]
    assert "b\\010zone-directory: forged.zone" in answer
    assert len([line for line in answer.splitlines()
                if line.startswith("zone-directory")]) <= 1


@pytest.mark.skipif(os.geteuid() != 0, reason="a chroot needs root")
@pytest.mark.parametrize("absolute", [False, True])
def test_folder_in_a_chroot(make_server, directory, absolute):
    path = directory / "served"
    server = make_server(
        zones={"example": zone_text()},
        options={"username": "nobody", "chroot": f'"{directory}"'},
        extra=PATTERN.replace('"served"', f'"{path}"') if absolute
        else PATTERN)
    folder = Folder(server)
    folder.path.mkdir()
    old(folder.write("a.test"))
    os.chown(directory, 65534, 65534)
    if is_sanitized():
        server.look_for_no_leaks()
    server.start()
    folder.wait("a.test", 1)
    folder.move_in("b.test", 2)
    folder.wait("b.test", 2)


# ---- beside other zones -----------------------------------------------------

def test_other_zones_are_never_touched(make_server):
    folder = make_folder(make_server, "a.test",
                         extra=PATTERN + 'pattern:\n\tname: q\n'
                         '\tzonefile: "%s.hand"\n')
    server = folder.server
    (server.directory / "hand.test.hand").write_text(zone_text(9))
    assert control.ask(server, "addzone", "hand.test", "q") == (0, "ok\n")
    folder.move_in("hand.test", 2)
    folder.move_in("example", 2)
    for name, why in (("hand.test", "the zone was added by hand"),
                      ("example", "the zone is in nsd.conf")):
        server.wait_log(f"zone-directory served: member zone {name} is not"
                        f" taken: {why}")
    assert folder.serial("hand.test") == 9
    assert folder.serial("example") == 1
    # The name becomes free: the file is a zone.
    assert control.ask(server, "delzone", "hand.test") == (0, "ok\n")
    folder.wait("hand.test", 2)
    folder.file("hand.test").unlink()
    folder.file("example").unlink()
    folder.wait("hand.test", None)
    assert folder.serial("example") == 1


def test_members_are_not_changed_by_hand(make_server):
    folder = make_folder(make_server, "a.test")
    server = folder.server
    code, text = control.ask(server, "delzone", "a.test")
    assert code == 1 and text.startswith("error "), text
    code, text = control.ask(server, "changezone", "a.test", "p")
    assert code == 1 and text.startswith("error "), text
    assert control.ask(server, "addzone", "a.test", "p") == (
        0, "zone a.test already exists\nok\n")
    assert folder.lines() == [member("a.test")]


def test_file_moves_to_another_folder(make_server):
    """The zone stays served, and gets the other pattern. That folder is new,
    and found before the zone counts as gone."""
    folder = make_folder(
        make_server, "a.test", "b.test",
        extra=PATTERN + 'pattern:\n\tname: q\n\tzone-directory: "more"\n')
    more = folder.server.directory / "more"
    more.mkdir()
    folder.server.wait_log("zone-directory more: 0 zone files")
    folder.file("a.test").rename(more / "a.test.zone")
    began = time.monotonic()
    while time.monotonic() < began + GONE_SEC + 1 or folder.lines() != [
            member("a.test", "q"), member("b.test")]:
        assert folder.serial("a.test") == 1
        assert time.monotonic() < began + DEADLINE
        time.sleep(0.02)
    (more / "b.test.zone").write_text(zone_text(5))
    folder.server.wait_log("zone-directory more: member zone b.test is not"
                           " taken: the zone is a member of another source")
    assert folder.serial("b.test") == 1
    folder.move_in("c.test")
    folder.file("b.test").unlink()
    folder.wait("b.test", 5)


# ---- reload, reconfig, processes that die -----------------------------------

def test_reload_reads_the_folder(make_server):
    folder = make_folder(make_server, "a.test")
    known = len(folder.server.read_log())
    folder.move_in("a.test", 2)
    assert control.ask(folder.server, "reload") == (0, "ok\n")
    folder.wait("a.test", 2)
    assert "error" not in folder.server.read_log()[known:]


@pytest.mark.parametrize("has_control", [True, False])
def test_reconfig_brings_folders(make_server, has_control):
    server = make_server(zones={"example": zone_text()},
                         options={"reload-config": "yes"})
    folder = Folder(server)
    folder.path.mkdir()
    old(folder.write("a.test"))
    if has_control:
        control.config(server)
    server.start()
    server.extra += PATTERN
    server.write_config()
    server.reload()
    folder.wait("a.test", 1)
    # Another one, and the first one is followed no more.
    more = server.directory / "more"
    more.mkdir()
    (more / "b.test.zone").write_text(zone_text(2))
    server.extra = server.extra.replace(
        PATTERN, PATTERN.replace("zone-directory", "zonefile").replace(
            "served", "served/%s.zone")
        + 'pattern:\n\tname: q\n\tzone-directory: "more"\n')
    server.write_config()
    server.reload()
    folder.wait("b.test", 2)
    server.wait_log("zone-directory served is not followed any more: its zones"
                    " stay")
    folder.move_in("c.test")
    (more / "d.test.zone").write_text(zone_text(2))
    folder.wait("d.test", 2)
    assert folder.serial("a.test") == 1
    assert folder.serial("c.test") is None
    if has_control:
        assert control.ask(server, "delzone", "a.test") == (0, "ok\n")


@pytest.mark.lasts(30)
@pytest.mark.parametrize("role", ["xfrd", "loader"])
def test_process_dies_amid_it(make_server, role):
    """Ends with what is there, whatever was under way."""
    folder = make_folder(make_server, "a.test")
    server = folder.server
    for number in range(5):
        for i in range(100):
            folder.move_in(f"z{number}-{i}.test", number + 2)
        if number > 1:
            for i in range(100):
                folder.file(f"z{number - 2}-{i}.test").unlink()
        server.wait_replaced(role, server.kill(role))
    wanted = [member("a.test"), *(member(f"z{number}-{i}.test")
                                  for number in (3, 4) for i in range(100))]
    wait_for("the list", lambda: folder.lines() == sorted(wanted))
    for i in 0, 99:
        folder.wait(f"z4-{i}.test", 6)
        folder.wait(f"z0-{i}.test", None)


def test_many_files_come_at_once(make_server):
    """More than a batch of changes has, and than the kernel keeps events."""
    folder = make_folder(make_server, "a.test")
    text = zone_text(1)
    for i in range(10000):
        folder.file(f"z{i}.test").write_text(text)
    wait_for("the list", lambda: len(folder.lines()) == 10001)
    for i in 0, 5000, 9999:
        folder.wait(f"z{i}.test", 1)
    for i in range(10000):
        folder.file(f"z{i}.test").unlink()
    wait_for("the end", lambda: folder.lines() == [member("a.test")])
    folder.wait("z0.test", None)
    shutil.rmtree(folder.path)
