"""The power fails at any moment, and no primary is there afterwards: what was
served is served again. A server writes down what it does to its files (tests/
lib/nsd_written.c): journal, zone files, xfrd.state, zone.list, `database:`. They
are made anew from each beginning of that (power.py), and another server starts with
them. So it is for zones that come and go by nsd-control, once that has said ok.

NSD_POWER_CUTS: how many such starts, or "all"; SEED: of their choice."""
import collections
import functools
import os
import random
import shutil
import signal
import socket
import time

import dns.message
import dns.opcode
import dns.query
import dns.rcode
import pytest

import harness
import power
from control import ask, config
from harness import BUILD, DEADLINE, at_once, wait_for, zone_text
from scripted_primary import ScriptedPrimary, records, reply, soa

SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))
STEPS = 6        # new versions of each zone
WRITE = (2, 5)   # zone files are written after these
RESTART = 3      # and after this the server is ended and started
SERVERS = 4      # at a time, after the cuts
TIMERS = "60 5 86400 300"
ZONES = ("whole.test", "large.test", "diffs.test")
GONE = 0         # in place of a serial: the zone was removed


# ---- what is served before -----------------------------------------------------

@functools.lru_cache(1)
def filling(apex):
    """Records of more than a MiB: such a zone has a file of its own in the
    journal."""
    return records(apex, *(f"n{i} TXT {'x ' * 8}" + " ".join(["y" * 250] * 20)
                           for i in range(210)))


def content(apex, serial, large):
    """The records of a version; the TXT at "v" has the serial."""
    found = records(apex, f"v TXT v{serial}", "ns A 192.0.2.1")
    return [*found, *filling(apex)] if large else found


def primary_of(serials):
    def answer(apex, rdtype, query):
        name = apex.rstrip(".")
        serial = serials[name]
        now = soa(apex, serial, TIMERS)
        if rdtype == "SOA":
            return [reply(query, now)]
        if rdtype == "IXFR" and name == "diffs.test":
            old = query.authority[0][0].serial
            if old >= serial:
                return [reply(query, now)]
            return [reply(query, now, soa(apex, old, TIMERS),
                          *records(apex, f"v TXT v{old}"), now.copy(),
                          *records(apex, f"v TXT v{serial}"), now.copy())]
        rrsets = content(apex, serial, name == "large.test")
        return [reply(query, now), *(
            reply(query, *rrsets[i:i + 10])
            for i in range(0, len(rrsets), 10)), reply(query, now.copy())]
    return answer


def configured(port):
    options = (f"\trequest-xfr: 127.0.0.1@{port} NOKEY\n"
               "\tallow-notify: 127.0.0.1 NOKEY\n")
    return "pattern:\n\tname: p\n\tzonefile: state/%s.zone\n" + options + (
        "".join(f"zone:\n\tname: {name}\n\tzonefile: state/{name}.zone\n"
                f"{options}" for name in ZONES))


def notify(server, name):
    message = dns.message.make_query(name, "SOA")
    message.set_opcode(dns.opcode.NOTIFY)
    dns.query.udp(message, server.address, port=server.port)


def bring(server, name, serial):
    """A NOTIFY may find no xfrd yet."""
    def look():
        notify(server, name)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            if server.serial(name) == serial:
                return True
            time.sleep(0.01)
        return False
    wait_for(f"{name} {serial}", look)


def make(make_server, name, port, database):
    server = make_server(
        name=name, zones={"example": zone_text()}, extra=configured(port),
        options={"verbosity": 2, "zonefiles-write": 3600})
    folder = server.directory / "state"
    folder.mkdir()
    server.options["xfrdfile"] = f'"{folder}/xfrd.state"'
    server.options["zonelistfile"] = f'"{folder}/zone.list"'
    if database:
        server.options["database"] = f'"{folder}/zones.db"'
    server.write_config()
    return server, folder


def added(step, end=None):
    """The name of a zone that comes. Its line of zone.list is long, so that
    some lie in two sectors; those who were there before leave their place."""
    return ".".join([f"added{step}", *["x" * 60] * 3,
                     f"test{step if end is None else end}"])


class Recording:
    """The operations of a server, and which client had seen which version by
    when."""

    def __init__(self, log, server):
        self.log, self.server = log, server
        self.seen = []  # octets of the log, zone, serial

    def note(self, name, serial):
        """serial: GONE, or None: nobody knows for now."""
        # The log is made with the first octets that are written.
        size = self.log.stat().st_size if self.log.exists() else 0
        self.seen.append((size, name, serial))

    def bring(self, name, serial):
        bring(self.server, name, serial)
        self.note(name, serial)

    def add(self, name, serial):
        assert ask(self.server, "addzone", name, "p") == (0, "ok\n")
        self.bring(name, serial)

    def remove(self, name):
        self.note(name, None)
        assert ask(self.server, "delzone", name) == (0, "ok\n")
        self.note(name, GONE)


def record(make_server, log, database):
    """The octets of the log, and what was seen."""
    serials = collections.defaultdict(lambda: 1)
    with ScriptedPrimary(primary_of(serials)) as primary:
        server, folder = make(make_server, "first", primary.port, database)
        server.program = BUILD / "tests/lib/nsd_written"
        server.options["sandbox"] = "no"
        server.environment |= {"NSD_WRITTEN": str(log),
                               "NSD_WRITTEN_OF": str(folder)}
        config(server).start()
        recording = Recording(log, server)
        for step in range(3, STEPS + 1):  # halves of two lines
            recording.note(added(step, step - 2), GONE)
        for step in range(1, STEPS + 1):
            for name in ZONES:
                serials[name] = step
                notify(server, name)
            for name in ZONES:
                recording.bring(name, step)
            recording.add(added(step), 1)
            if step > 2:
                recording.remove(added(step - 1))
            if step in WRITE:
                assert ask(server, "write") == (0, "ok\n")
            if step == RESTART:
                assert server.stop() == 0
                server.start()
        assert server.stop() == 0
    return log.read_bytes(), recording.seen


# ---- what is served after ------------------------------------------------------

class After:
    """A server that starts with what a cut has left, again and again."""

    def __init__(self, make_server, number, database):
        self.server, self.folder = make(make_server, f"after{number}", 1,
                                        database)

    def start(self, files):
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        for name, octets in files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True, mode=0o700)
            octets.store(path)
        self.server.log.unlink(missing_ok=True)
        self.server.start(ready=False)

    def kill(self):
        os.killpg(self.server.process.pid, signal.SIGKILL)
        self.server.process.wait(DEADLINE)
        wait_for("the end of all", lambda: not self.server.leftovers())
        self.server.sessions.clear()

    @staticmethod
    def query(client, name, rdtype):
        """None: there is nobody yet."""
        query = dns.message.make_query(name, rdtype)
        answer = None
        try:
            client.send(query.to_wire())
            while answer is None or answer.id != query.id:  # a late one
                answer = dns.message.from_wire(client.recv(4096))
        except OSError:
            time.sleep(0.002)
            return None
        return answer

    def ask(self, client, name, rdtype):
        """None: the server has no answer yet."""
        answer = self.query(client, name, rdtype)
        if answer is not None and answer.answer:
            return answer.answer[0][0]
        time.sleep(0.002)
        return None

    def check(self, client, name, least):
        """The first answer counts."""
        def look():
            first = self.ask(client, name, "SOA")
            assert first is None or first.serial >= least, (
                f"{name}: {first.serial}, but {least} was served")
            text = first and self.ask(client, f"v.{name}", "TXT")
            then = text and self.ask(client, name, "SOA")
            if not then or then.serial != first.serial:
                return False
            assert text.to_text() == f'"v{then.serial}"', name
            assert then.serial <= STEPS
            return True
        wait_for(f"{name} {least}", look)

    def check_gone(self, client, name):
        answer = wait_for("an answer", lambda: self.query(client, name, "SOA"))
        assert answer.rcode() == dns.rcode.REFUSED, f"{name} came back"

    def check_all(self, files, least):
        self.start(files)
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.connect((self.server.address, self.server.port))
                client.settimeout(0.5)
                for name, serial in least.items():
                    if serial != GONE:
                        self.check(client, name, serial)
                for name, serial in least.items():
                    if serial == GONE:
                        self.check_gone(client, name)
        finally:
            self.kill()


# The possible states after a power cut: all writes; the flushed ones; or those
# and any part of the rest: of a line of zone.list in some ways.
ALL, FLUSHED, SOME = range(3)
WAYS = 8


def cuts_of(octets):
    """(after which operation, what is left), each once."""
    disk = power.Disk()
    for i, (*operation, _) in enumerate(power.operations(octets)):
        disk.do(*operation)
        yield i, ALL
        if not disk.is_certain():
            yield i, FLUSHED
            for way in range(WAYS if operation[1] == "zone.list" else 1):
                yield i, SOME + way


def left_of(disk, i, kind):
    if kind < SOME:
        return disk.left(kind == ALL)
    return disk.left(random.Random(f"{SEED} {i} {kind}"))


def least_of(seen, end):
    """{zone: serial} of what was served by then."""
    told = {zone: serial for at, zone, serial in seen if at <= end}
    return {zone: serial for zone, serial in told.items()
            if serial is not None}


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


def choose(cuts, default):
    wanted = os.environ.get("NSD_POWER_CUTS", default)
    if wanted == "all" or int(wanted) >= len(cuts):
        return cuts
    return sorted(random.Random(SEED).sample(cuts[:-1], int(wanted) - 1)
                  + cuts[-1:])


@pytest.mark.lasts(40)
@pytest.mark.parametrize("database", [False, True], ids=["memory", "file"])
def test_what_was_served_is_served_after_a_power_cut(make_server, tmp_path,
                                                     database):
    octets, seen = record(make_server, tmp_path / "written", database)
    done = list(power.operations(octets))
    assert {kind for kind, *_ in done} >= {b"C", b"W", b"S", b"R", b"U"}
    paths = {path for _, path, *_ in done}
    assert paths >= {"xfrd.state", "zone.list", *(f"{name}.zone~" for name in ZONES)}
    slow = database or harness.is_sanitized()
    cuts = choose(list(cuts_of(octets)), "60" if slow else "all")
    start = time.monotonic()
    cut_all(make_server, octets, seen, cuts, database)
    print(f"{len(cuts)} starts after {len(done)} operations, SEED {SEED}: "
          f"{time.monotonic() - start:.0f} s")
