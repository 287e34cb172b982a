"""The power fails at any moment amid updates: those that were answered are
served again by the first answer of the next start, and each version as it was
(see test_power_all.py). NSD_POWER_CUTS: how many starts, or "all"; SEED."""
import time

import dns.query
import dns.rcode
import dns.update
import pytest

import harness
import power
import test_power_all
from control import ask, config
from harness import BUILD, DEADLINE, at_once, wait_for, zone_text
from test_power_all import SEED, SERVERS, Recording, choose, cuts_of, left_of

ZONES = ("u.test", "w.test")
FIRST = 1
STEPS = 14           # updates of each zone; each is a version
WRITE = (4, 10)      # zone files are written after these
RESTART = (6, 12)    # and after these the server ends, and starts
LARGE = 8            # from this on, updates have some KiB
OPTIONS = "".join(f"zone:\n\tname: {name}\n\tzonefile: state/{name}.zone\n"
                  "\tallow-update: 127.0.0.1 NOKEY\n" for name in ZONES)


def original():
    return zone_text(FIRST) + f'v TXT "v{FIRST}"\n'


def make(make_server, name, database):
    server = make_server(
        name=name, zones={"example": zone_text()}, extra=OPTIONS,
        options={"verbosity": 2, "zonefiles-write": 3600})
    folder = server.directory / "state"
    folder.mkdir()
    for zone in ZONES:
        (folder / f"{zone}.zone").write_text(original())
    server.options["xfrdfile"] = f'"{folder}/xfrd.state"'
    server.options["zonelistfile"] = f'"{folder}/zone.list"'
    if database:
        server.options["database"] = f'"{folder}/zones.db"'
    server.write_config()
    return server, folder


def update(server, zone, serial):
    """Makes this version, and waits for the answer."""
    change = dns.update.UpdateMessage(zone)
    change.replace("v", 60, "TXT", f"v{serial}")
    if serial > LARGE:
        change.replace("more", 60, "TXT", " ".join(["y" * 250] * 20))
    reply = wait_for("xfrd", lambda: dns.query.tcp(
        change, server.address, port=server.port, timeout=DEADLINE))
    assert reply.rcode() == dns.rcode.NOERROR, reply
    assert server.serial(zone) == serial


def record(make_server, log, database):
    """The octets of the log, and what was answered."""
    server, folder = make(make_server, "first", database)
    server.program = BUILD / "tests/lib/nsd_written"
    server.options["sandbox"] = "no"
    server.environment |= {"NSD_WRITTEN": str(log),
                           "NSD_WRITTEN_OF": str(folder)}
    config(server).start()
    recording = Recording(log, server)
    for step in range(FIRST + 1, FIRST + 1 + STEPS):
        for zone in ZONES:
            update(server, zone, step)
            recording.note(zone, step)
        if step in WRITE:
            assert ask(server, "write") == (0, "ok\n")
        if step in RESTART:
            assert server.stop() == 0
            server.start()
    assert server.stop() == 0
    return log.read_bytes(), recording.seen


class After(test_power_all.After):
    def __init__(self, make_server, number, database):
        self.server, self.folder = make(make_server, f"after{number}",
                                        database)

    def start(self, files):
        """A file that was never replaced is as it was."""
        for zone in ZONES:
            files.setdefault(f"{zone}.zone", Text(original()))
        super().start(files)

    def check(self, client, name, least):
        def look():
            first = self.ask(client, name, "SOA")
            assert first is None or first.serial >= least, (
                f"{name}: {first.serial}, but {least} was answered")
            text = first and self.ask(client, f"v.{name}", "TXT")
            if not text:
                return False
            assert text.to_text() == f'"v{first.serial}"', name
            return True
        wait_for(f"{name} {least}", look)


class Text:
    def __init__(self, text):
        self.text = text

    def store(self, path):
        path.write_text(self.text)


def least_of(seen, end):
    return dict.fromkeys(ZONES, FIRST) | {
        zone: serial for at, zone, serial in seen if at <= end}


def cut_all(make_server, octets, seen, cuts, database):
    """Several servers take turns."""
    def story(after, number):
        mine = [cut for at, cut in enumerate(cuts) if at % SERVERS == number]
        disk = power.Disk()
        for i, (*operation, end) in enumerate(power.operations(octets)):
            disk.do(*operation)
            while mine and mine[0][0] == i:
                kind = mine.pop(0)[1]
                try:
                    after.check_all(left_of(disk, i, kind),
                                    least_of(seen, end))
                except BaseException:
                    print(f"cut {i, kind} at {operation[:3]}, SEED {SEED}\n"
                          f"{after.server.read_log()}")
                    raise
    at_once(story, [After(make_server, number, database)
                    for number in range(SERVERS)])


@pytest.mark.lasts(40)
@pytest.mark.parametrize("database", [False, True], ids=["memory", "file"])
def test_answered_updates_outlast_a_power_cut(make_server, tmp_path, database):
    octets, seen = record(make_server, tmp_path / "written", database)
    done = list(power.operations(octets))
    paths = {path for _, path, *_ in done}
    assert paths >= {f"{name}.zone~" for name in ZONES}
    slow = database or harness.is_sanitized()
    cuts = choose(list(cuts_of(octets)), "60" if slow else "200")
    start = time.monotonic()
    cut_all(make_server, octets, seen, cuts, database)
    print(f"{len(cuts)} starts after {len(done)} operations, SEED {SEED}: "
          f"{time.monotonic() - start:.0f} s")
