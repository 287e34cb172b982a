"""Secondary zones whose zone files are gone, or have other names: they are
written again, as nothing else has them."""
import os
import signal
import time

import pytest

from control import ask, begin, config
from harness import DEADLINE, wait_for, zone_text
from scripted_primary import records, reply, soa
from written import Primary, read, secondary

HOUR = 3600


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


@pytest.fixture
def start(make_server, primary):
    def make(zones=None, **options):
        server = make_server(
            zones={"example": zone_text()}, extra=zones or secondary(primary),
            options={"verbosity": 3, "zonefiles-write": HOUR, **{
                name.replace("_", "-"): value
                for name, value in options.items()}})
        config(server).start()
        return server
    return make


def pattern(primary, name, file):
    return (f"pattern:\n\tname: {name}\n\tzonefile: {file}\n"
            f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n"
            "\tmin-retry-time: 1\n\tmax-retry-time: 2\n")


def write(server, *zone):
    assert ask(server, "write", *zone) == (0, "ok\n")


def is_whole(path):
    """True if the file has the zone, also without the comment on a
    transfer."""
    return "192.0.2.9" in read(path)


def crash(server):
    """Of all processes, as if the power was gone."""
    pids = list(server.roles().values())
    for pid in [server.main_pid, *pids]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    server.process.wait(DEADLINE)


@pytest.mark.parametrize("zone", [(), ("s.test",)])
def test_write_makes_a_file_that_is_gone(start, zone):
    server = start()
    server.wait_serial("s.test", 1)
    write(server)
    path = server.directory / "s.test.zone"
    stamp = path.stat().st_mtime_ns
    write(server, *zone)
    assert path.stat().st_mtime_ns == stamp
    path.unlink()
    write(server, *zone)
    assert is_whole(path)


def test_made_by_the_clock(start):
    server = start(zonefiles_write=1)
    path = server.directory / "s.test.zone"
    wait_for("the file", lambda: is_whole(path))
    path.unlink()
    wait_for("the file again", lambda: is_whole(path))


def test_made_at_a_stop(start, primary):
    server = start()
    server.wait_serial("s.test", 1)
    write(server)
    path = server.directory / "s.test.zone"
    path.unlink()
    assert server.stop() == 0
    assert is_whole(path)
    primary.__exit__()
    server.start()
    server.wait_serial("s.test", 1)


def test_made_at_a_stop_by_a_writer_that_does_not_know_all_zones(start,
                                                                 primary):
    """The writer that runs at a stop is the last, and does not know all
    zones."""
    server = start(zones=pattern(primary, "p", "a/%s"))
    assert ask(server, "addzone", "s.test", "p") == (0, "ok\n")
    server.wait_serial("s.test", 1)
    write(server)
    # The writer rests for some seconds from here on.
    assert ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    server.wait_serial("a.test", 1)
    (server.directory / "a/s.test").unlink()
    assert server.stop() == 0
    assert is_whole(server.directory / "a/s.test")
    primary.__exit__()
    server.start()
    for zone in "s.test", "a.test":
        server.wait_serial(zone, 1)


def test_not_by_itself_without_zonefiles_write(start):
    server = start(zonefiles_write=0)
    server.wait_serial("s.test", 1)
    write(server)
    path = server.directory / "s.test.zone"
    path.unlink()
    assert server.stop() == 0
    assert not path.exists()


def test_folder_that_is_gone(start, primary):
    server = start(zones=secondary(primary, file="a/b/s.test"))
    server.wait_serial("s.test", 1)
    write(server)
    (server.directory / "a").rename(server.directory / "moved")
    write(server)
    assert is_whole(server.directory / "a/b/s.test")


def test_folder_made_anew_while_the_writer_is_there(start, primary,
                                                    directory):
    """The writer may write to the folders that existed when it began, and
    stays busy."""
    for name in "a", "tmp":
        (directory / name).mkdir()
    server = start(zones=secondary(primary, file="a/s.test"),
                   zonefiles_write=1, xfrdir=f'"{directory}/tmp"')
    path = server.directory / "a/s.test"
    wait_for("the file", lambda: is_whole(path))
    (server.directory / "a").rename(server.directory / "moved")
    (server.directory / "a").mkdir()
    wait_for("the file again", lambda: is_whole(path))


def test_zones_that_go_meanwhile_hold_nobody_up(start, primary):
    """A writer that was made after they went knows none of them."""
    server = start(zones=pattern(primary, "p", "a/%s"))
    names = [f"z{n}.test" for n in range(100)]
    for name in ["s.test", *names]:
        assert ask(server, "addzone", name, "p") == (0, "ok\n")
    for name in ["s.test", *names]:
        server.wait_serial(name, 1)
    write(server)
    (server.directory / "a/s.test").unlink()
    wait_for("the end of the writer",
             lambda: "writer" not in server.roles())
    # The next one comes a second after that.
    with begin(server, "write") as waits:
        for name in names:
            assert ask(server, "delzone", name) == (0, "ok\n")
        begun = time.monotonic()
        assert waits.wait(DEADLINE) == 0
    # Not a second for each.
    assert time.monotonic() - begun < 50
    assert is_whole(server.directory / "a/s.test")


def changezone(server):
    assert ask(server, "changezone", "s.test", "q") == (0, "ok\n")


def reconfig(server):
    server.extra = server.extra.replace("a/%s", "b/%s")
    server.write_config()
    assert ask(server, "reconfig")[0] == 0


@pytest.mark.parametrize("rename", [changezone, reconfig])
@pytest.mark.parametrize("is_written", [True, False])
def test_another_name(start, primary, rename, is_written):
    """The zone is there after a crash, as soon as it has its new file."""
    server = start(zones=pattern(primary, "p", "a/%s")
                   + pattern(primary, "q", "b/%s"))
    assert ask(server, "addzone", "s.test", "p") == (0, "ok\n")
    server.wait_serial("s.test", 1)
    if is_written:
        write(server)
    rename(server)
    path = server.directory / "b/s.test"
    if is_written:
        wait_for("its new file", lambda: is_whole(path))
    else:
        # The journal has it.
        assert not path.exists()
    crash(server)
    primary.__exit__()
    server.start()
    server.wait_serial("s.test", 1)


@pytest.mark.parametrize("rename", [changezone, reconfig])
def test_another_name_of_a_zone_that_is_promoted(start, primary, rename):
    """The file of before has what is served, and the journal has forgotten
    it."""
    server = start(zones=pattern(primary, "p", "a/%s")
                   + "pattern:\n\tname: q\n\tzonefile: b/%s\n")
    assert ask(server, "addzone", "s.test", "p") == (0, "ok\n")
    server.wait_serial("s.test", 1)
    write(server)
    assert is_whole(server.directory / "a/s.test")
    server.extra = server.extra.replace("request-xfr: ", "# ")
    rename(server)
    write(server)
    assert is_whole(server.directory / "b/s.test")
    crash(server)
    primary.__exit__()
    server.start()
    server.wait_serial("s.test", 1)


@pytest.mark.parametrize("rename", [changezone, reconfig])
def test_another_name_right_before_a_stop(start, primary, rename):
    """The writer that is there is not let into the new folder, and may have been
    told to end: another one comes, also at a stop."""
    server = start(zones=pattern(primary, "p", "a/%s")
                   + pattern(primary, "q", "b/%s"))
    (server.directory / "b").mkdir()
    (server.directory / "b").chmod(0o777)
    assert ask(server, "addzone", "s.test", "p") == (0, "ok\n")
    server.wait_serial("s.test", 1)
    write(server)
    writer = server.roles()["writer"]
    os.kill(writer, signal.SIGSTOP)
    rename(server)
    os.kill(server.main_pid, signal.SIGTERM)
    wait_for("the end of workers", lambda: "server 1" not in server.roles())
    os.kill(writer, signal.SIGCONT)
    assert server.process.wait(DEADLINE) == 0
    assert is_whole(server.directory / "b/s.test")
    assert "not all zone files" not in server.read_log()


def test_many_names_right_before_a_stop(start, primary):
    """All files are written, however often they are renamed."""
    server = start(zones=pattern(primary, "p", "a/%s")
                   + pattern(primary, "q", "b/%s"))
    names = [f"z{n}.test" for n in range(20)]
    for name in names:
        assert ask(server, "addzone", name, "p") == (0, "ok\n")
    for name in names:
        server.wait_serial(name, 1)
    write(server)
    for name in names:
        assert ask(server, "changezone", name, "q") == (0, "ok\n")
    assert server.stop() == 0
    assert [name for name in names
            if not is_whole(server.directory / "b" / name)] == []


class Differing(Primary):
    """Sends what a version adds to the one before."""

    def say(self, apex, rdtype, query):
        if rdtype != "IXFR" or self.serial == 1:
            return super().say(apex, rdtype, query)
        new = soa(apex, self.serial)
        added = records(apex, f"h{self.serial} A 192.0.2.{self.serial}")
        return [reply(query, new, soa(apex, self.serial - 1), new, *added,
                      new)]


@pytest.mark.parametrize("rename", [changezone, reconfig])
def test_another_name_of_a_file_that_differences_lead_on_from(
        make_server, rename):
    """Differences are useless without the file that they lead on from."""
    with Differing() as primary:
        server = make_server(
            zones={"example": zone_text()},
            extra=pattern(primary, "p", "a/%s") + pattern(primary, "q",
                                                          "b/%s"),
            options={"verbosity": 3, "zonefiles-write": HOUR})
        config(server).start()
        assert ask(server, "addzone", "s.test", "p") == (0, "ok\n")
        server.wait_serial("s.test", 1)
        write(server)
        primary.serial = 2
        server.wait_serial("s.test", 2)
        rename(server)
        wait_for("its new file",
                 lambda: is_whole(server.directory / "b/s.test"))
        crash(server)
    server.start()
    server.wait_serial("s.test", 2)
    assert server.answer("h2.s.test", "A") == ["192.0.2.2"]
    assert server.answer("www.s.test", "A") == ["192.0.2.9"]


def test_file_that_is_there_is_left_alone(start, primary):
    """A file that an operator has put there is not overwritten."""
    server = start(zones=pattern(primary, "p", "a/%s")
                   + pattern(primary, "q", "b/%s"))
    assert ask(server, "addzone", "s.test", "p") == (0, "ok\n")
    assert ask(server, "addzone", "t.test", "p") == (0, "ok\n")
    for zone in "s.test", "t.test":
        server.wait_serial(zone, 1)
    write(server)
    folder = server.directory / "b"
    folder.mkdir()
    text = zone_text(1)
    (folder / "s.test").write_text(text)
    for zone in "s.test", "t.test":
        assert ask(server, "changezone", zone, "q") == (0, "ok\n")
    wait_for("the other file", lambda: is_whole(folder / "t.test"))
    write(server)
    assert (folder / "s.test").read_text() == text


def test_some_of_many(start, primary):
    """More than fit into a message, with names of all lengths."""
    count = 300
    server = start(zones=pattern(primary, "p", "a/%s"))
    names = [f"{'x' * (n % 60)}z{n}.test" for n in range(count)]
    names += [".".join(["y" * 60] * 3 + [f"z{n}.test"]) for n in range(20)]
    for name in names:
        assert ask(server, "addzone", name, "p") == (0, "ok\n")
    for name in names:
        server.wait_serial(name, 1)
    write(server)
    stamps = {name: (server.directory / "a" / name).stat().st_mtime_ns
              for name in names}
    lost = [names[0], names[1], *names[100:103], *names[-2:]]
    for name in lost:
        (server.directory / "a" / name).unlink()
    write(server)
    for name in names:
        path = server.directory / "a" / name
        assert is_whole(path)
        assert (path.stat().st_mtime_ns == stamps[name]) == (
            name not in lost)
