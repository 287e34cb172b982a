"""The power fails at any moment, and no primary is there afterwards: what was
served is served again. A server writes down what it does to its files (tests/
lib/nsd_written.c); they are made anew from a part of that, and another server
starts with them."""
import functools
import random
import struct

import dns.message
import dns.opcode
import dns.query
import pytest

from harness import BUILD, wait_for, zone_text
from scripted_primary import ScriptedPrimary, records, reply, soa

HEAD = struct.Struct("=cHQI")
CUTS = 24     # how many are tried
STEPS = 10    # new versions of each zone
TIMERS = "60 5 86400 300"
ZONES = ("whole.test", "large.test", "diffs.test")


@functools.lru_cache(1)
def filling(apex):
    """More than a MiB: such a zone has a file of its own in the journal."""
    return records(apex, *(f"n{i} TXT {'x ' * 8}" + " ".join(["y" * 250] * 20)
                           for i in range(240)))


def content(apex, serial, large):
    """Its "v" tells the serial."""
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
    return "".join(
        f"zone:\n\tname: {name}\n\tzonefile: {name}.zone\n"
        f"\trequest-xfr: 127.0.0.1@{port} NOKEY\n"
        "\tallow-notify: 127.0.0.1 NOKEY\n" for name in ZONES)


def notify(server, name):
    message = dns.message.make_query(name, "SOA")
    message.set_opcode(dns.opcode.NOTIFY)
    dns.query.udp(message, server.address, port=server.port)


def make(make_server, name, port):
    server = make_server(
        name=name, zones={"example": zone_text()}, extra=configured(port),
        options={"verbosity": 2, "zonefiles-write": 0})
    folder = server.directory / "state"
    folder.mkdir()
    server.options["xfrdfile"] = f'"{folder}/xfrd.state"'
    server.write_config()
    return server, folder


def operations(octets):
    at = 0
    while at < len(octets):
        kind, path_len, offset, size = HEAD.unpack_from(octets, at)
        at += HEAD.size
        path = octets[at:at + path_len].decode()
        data = octets[at + path_len:at + path_len + size]
        at += path_len + size
        yield kind, path, offset, data, at


class Disk:
    """What was flushed, and what was only written since."""

    def __init__(self, chance):
        self.chance = chance  # of each write that was not flushed: None: all
        self.files = {}       # name: octets
        self.waiting = {}     # name: writes since its last flush

    def do(self, kind, path, offset, data):
        if kind == b"C":
            self.files.setdefault(path, bytearray())
        elif kind in (b"W", b"T"):
            self.waiting.setdefault(path, []).append((kind, offset, data))
        elif kind == b"S":
            for one in self.waiting.pop(path, []):
                self.write(path, *one)
        elif kind == b"R":
            to = data.decode()
            self.files[to] = self.files.pop(path)
            self.waiting[to] = self.waiting.pop(path, [])
        elif kind == b"U":
            self.files.pop(path, None)
            self.waiting.pop(path, None)

    def write(self, path, kind, offset, data):
        octets = self.files.setdefault(path, bytearray())
        if kind == b"T":
            del octets[offset:]
            octets.extend(bytes(offset - len(octets)))
            return
        octets.extend(bytes(max(0, offset - len(octets))))
        octets[offset:offset + len(data)] = data

    def cut(self):
        for path, writes in self.waiting.items():
            for one in writes:
                if self.chance is None or self.chance.random() < 0.5:
                    self.write(path, *one)
        return self.files


def restore(octets, end, chance, folder):
    disk = Disk(chance)
    for kind, path, offset, data, at in operations(octets):
        if at > end:
            break
        disk.do(kind, path, offset, data)
    for name, data in disk.cut().items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, mode=0o700)
        path.write_bytes(data)


@pytest.fixture
def written(make_server, tmp_path):
    """What a server has done, and who had seen what by when."""
    serials = dict.fromkeys(ZONES, 1)
    log = tmp_path / "written"
    seen = []  # octets of the log, zone, serial
    with ScriptedPrimary(primary_of(serials)) as primary:
        server, folder = make(make_server, "first", primary.port)
        server.program = BUILD / "tests/lib/nsd_written"
        server.options["sandbox"] = "no"
        server.environment |= {"NSD_WRITTEN": str(log),
                               "NSD_WRITTEN_OF": str(folder)}
        server.write_config()
        server.start()
        for step in range(1, STEPS + 1):
            for name in ZONES:
                serials[name] = step
                notify(server, name)
            for name in ZONES:
                wait_for(f"{name} {step}",
                         lambda n=name, s=step: server.serial(n) == s)
                seen.append((log.stat().st_size, name, step))
        server.stop()
    return log.read_bytes(), seen


def test_what_was_served_is_served_after_a_power_cut(written, make_server):
    octets, seen = written
    ends = [at for *_, at in operations(octets)]
    assert len(ends) > 10 * STEPS
    assert {kind for kind, *_ in operations(octets)} >= {
        b"C", b"W", b"S", b"R", b"U"}
    chance = random.Random(11)
    cuts = sorted(chance.sample(ends, CUTS - 1)) + [ends[-1]]
    for i, end in enumerate(cuts):
        server, folder = make(make_server, f"cut{i}", 1)
        restore(octets, end, (None, chance)[i % 2], folder)
        server.start()
        for name in ZONES:
            least = max((serial for at, zone, serial in seen
                         if zone == name and at <= end), default=0)
            if least == 0:
                continue
            found = server.serial(name)
            assert found is not None and found >= least, (
                f"cut {i} at {end}: {name} {found}, {least} was served\n"
                + server.read_log())
            assert server.answer(f"v.{name}", "TXT") == [f'"v{found}"']
        server.stop()
