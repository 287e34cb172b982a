"""The cost of changes of zones: the part updates of the bench.

Ours takes them by tests/lib/nsd_update, from xfrd to the loader; the others
are secondaries of primary.py, which sends NOTIFY and serves IXFR. One change
has 10 records: the SOA and two delegations with an address each, old and new.
"""
import os
import shutil
import signal
import socket
import subprocess
import time

import machine
import servers
from dnssec import wait_settled
from update_changes import SECONDARIES, SERIAL, OurChanges, \
    RivalChanges, rival_server
from update_load import RIVAL_SEC, Load
from update_report import SMALL_ADDED, write_documents  # noqa: F401
from update_single import Single
from update_watch import MemoryPeak, ZONE, asked_serial

SETTLE_SEC = 30
OUR_ZONE = 1100       # octets of memory for a small zone
PARTS = ["load", "single", "replace", "small"]
# The most important parts first: the last ones may have no time left.
ORDER = [("load", "ours"), ("single", "ours"), ("replace", "ours"),
         ("load", "nsd"), ("load", "knot"), ("small", "ours"),
         ("single", "knot"), ("single", "nsd"), ("replace", "knot"),
         ("replace", "nsd"), ("load", "bind"), ("single", "bind"),
         ("replace", "bind")]


class Parts(Single, Load):
    """Of Bench, which has the rest."""

    def part_updates(self):
        size = self.args.update_size or self.args.size
        u = self.result["updates"] = {
            "size": size, "single": {}, "load": {},
            "replace": {}, "small": {}, "left_out": []}
        zones = self.zone_set(f"tld-{size}")
        # The time to make the zone does not count.
        self.updates_end = time.monotonic() + self.args.update_limit
        bodies = {
            "load": ("changes under load", self.updates_load,
                     30 + 2 * min(self.args.update_seconds, RIVAL_SEC)
                     + size / 60000),
            "single": ("10 records", self.updates_single,
                       10 + size / 60000),
            "replace": ("whole zones", self.updates_replace,
                        10 + size / 25000),
            "small": ("small zones", self.updates_small, 60),
        }
        for part, kind in ORDER:
            if part not in self.args.update_parts or \
                    part == "small" and not self.args.large:
                continue
            what, body, needs_sec = bodies[part]
            if kind == "ours":
                needs_sec = min(needs_sec, 20)
            self.attempt(f"{kind}: {what}", body, kind, zones, needs_sec)
        for kind in self.programs:
            if kind != "ours" and kind not in SECONDARIES:
                u["left_out"].append(f"{kind} (not tried)")
        self.drop_set(zones.name)
        self.drop_set(f"tld-{size}-other")

    def attempt(self, what, body, kind, zones, needs_sec):
        """Measures one thing; a failure, or a lack of time, leaves it out and
        says so."""
        left_out = self.result["updates"]["left_out"]
        if kind not in self.programs:
            return
        if time.monotonic() + needs_sec > self.updates_end:
            left_out.append(f"{what} (no time left)")
            self.say(f"{what}: no time left")
            return
        try:
            with self.others.watched():
                body(kind, zones)
        except (OSError, ValueError, KeyError, IndexError,
                subprocess.SubprocessError) as e:
            left_out.append(f"{what} ({e})")
            self.say(f"{what}: {e}")
        self.save()

    def start_changes(self, kind, zones, workers):
        """A server that takes changes, and what sends them."""
        cpus = "0" if workers == 1 else "0,1"
        if kind == "ours":
            server = self.our_server(zones, cpus, workers)
            changes = OurChanges(server)
        else:
            changes = RivalChanges()
            try:
                server = changes.server = rival_server(
                    kind, self.programs[kind], zones, self.work, cpus,
                    workers, changes.primary.port)
            except BaseException:
                changes.stop()
                raise
        try:
            if not server.wait(min(self.args.start_limit, 60)):
                raise ValueError("did not serve the zone")
            wait_settled(server, 10)
        except BaseException:
            server.stop()
            changes.stop()
            raise
        return server, changes

    def our_server(self, zones, cpus, workers):
        program = os.path.join(self.args.build, "tests/lib/nsd_update")
        return servers.Server("ours", program, zones, self.work, cpus,
                              workers, updates=True)

    # ---- whole zones

    def other_zone(self, zones, size):
        """A zone of other names, with a serial that is newer."""
        name = f"tld-{size}-other"
        if name not in self.sets:
            directory = os.path.join(self.work, name)
            os.makedirs(directory)
            subprocess.run([os.path.join(self.bin, "gen_zone"), "tld",
                            str(size), "2", directory], check=True)
            subprocess.run(["sed", "-i", f"1s/{SERIAL}/{SERIAL + 1}/",
                            directory + "/tld.zone"], check=True)
            made = servers.ZoneSet(name)
            made.directory = directory
            self.sets[name] = made
        return self.sets[name].directory + "/tld.zone"

    def updates_replace(self, kind, zones):
        size = self.result["updates"]["size"]
        begin = time.monotonic()
        other = self.other_zone(zones, size)
        self.updates_end += time.monotonic() - begin
        path = os.path.join(self.work, "replaced.zone")
        link(zones.zones[ZONE], path)
        served = servers.ZoneSet("replaced", {ZONE: path},
                                 probe=zones.probe)
        server = self.start(kind, served, limit_sec=60)
        if not server:
            raise ValueError("did not serve the zone")
        row = {}
        try:
            wait_settled(server, 20)
            for what in ("equal", "different"):
                # A new file of another time, as one that is written anew.
                source = zones.zones[ZONE] if what == "equal" else other
                link(source, path)
                os.utime(path)
                row[what] = self.updates_peak(
                    server, SERIAL + (what == "different"))
                if what == "equal":
                    row[what]["seen_sec"] = None
                self.say(f"replaced {kind} {what}: {row[what]}")
        finally:
            server.stop()
        self.result["updates"]["replace"][kind] = row

    def updates_peak(self, server, serial):
        # Times in whole seconds are all that some look at.
        time.sleep(1.1)
        os.utime(server.zones.zones[ZONE])
        peak = MemoryPeak(server)
        cpu = server.start_cpu_sec()
        begin = time.monotonic()
        try:
            server.process.send_signal(signal.SIGHUP)
            end = begin + SETTLE_SEC
            while time.monotonic() < end:
                if asked_serial(server.port) == serial:
                    break
                time.sleep(0.01)
            else:
                raise ValueError("the new zone was not served")
            seen = time.monotonic() - begin
            # An equal file shows in no answer: give it time to begin, and
            # do not take a wait for the disk or for a core as the end.
            time.sleep(3)
            wait_settled(server, SETTLE_SEC)
            wait_settled(server, SETTLE_SEC)
        finally:
            peak.stop()
        return {"rest_mib": peak.rest_kib / 1024,
                "peak_mib": peak.peak_kib / 1024,
                "after_mib": server.pss_kib() / 1024,
                "times": peak.peak_kib / max(1, peak.rest_kib),
                "seen_sec": seen, "samples": peak.samples,
                "cpu_sec": server.start_cpu_sec() - cpu}

    # ---- small zones

    def updates_small(self, kind, _):
        count = self.args.update_zones
        begin = time.monotonic()
        zones = self.zone_set(f"small-{count}")
        self.updates_end += time.monotonic() - begin
        last = last_zone(zones, self.work)
        machine.touch(count * OUR_ZONE)
        server = self.our_server(zones, "0,1", 1)
        try:
            if not server.wait(120):
                raise ValueError("did not serve the zones")
            wait_answer(server, "www." + last, True, 120)
            last_sec = time.monotonic() - server.begin
            wait_settled(server, 60)
            row = {"count": count, "start_sec": server.start_sec,
                   "last_sec": last_sec,
                   "cpu_sec": server.start_cpu_sec(),
                   "pss_mib": server.pss_kib() / 1024,
                   "added_ms": [], "file_ms": [], "removed_ms": []}
            for n in range(SMALL_ADDED):
                row["added_ms"].append(add_small(server, n))
            for n in range(SMALL_ADDED):
                took = add_file(server, self.work, n)
                row["file_ms"].append(took[0])
                row["removed_ms"].append(took[1])
        finally:
            server.stop()
            self.drop_set(zones.name)
        self.result["updates"]["small"][kind] = row
        self.say(f"small zones {kind}: {row}")


def link(source, path):
    """The file at path becomes one of its own, with the octets of source;
    by a rename, as careful people do."""
    shutil.copyfile(source, path + ".new")
    os.rename(path + ".new", path)


def add_small(server, n):
    """Milliseconds from the sending of a new zone to its first answer."""
    name = f"added{n}.test"
    text = (f"add-zone {name}.\nadd @ 60 SOA ns host 5 7200 3600 1209600 300"
            "\nadd @ 60 NS ns\nadd ns 60 A 192.0.2.53\n"
            "add www 60 A 192.0.2.5\nsend\n").encode()
    begin = time.monotonic()
    os.write(server.process.stdin.fileno(), text)
    return wait_answer(server, "www." + name, True, 5) - begin * 1e3


def wait_answer(server, name, served, limit_sec):
    """Until the name has an address, or is of no zone any more; the time then,
    in milliseconds."""
    query = servers.wire_query(name, 1, 7)
    end = time.monotonic() + limit_sec
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", server.port))
        sock.settimeout(0.2)
        while time.monotonic() < end:
            try:
                sock.send(query)
                reply = sock.recv(4096)
            except OSError:
                continue
            if reply[3] & 15 == (0 if served else 5) and \
                    bool(reply[7]) == served:
                return time.monotonic() * 1e3
    raise ValueError(f"{name} was not as it should be")


def last_zone(zones, work):
    """The zone that is read last. Also adds a pattern for added zones."""
    last = ""
    with open(zones.clauses + ".nsd", "r+") as f:
        for line in f:
            if line.startswith("\tname: "):
                last = max(last, line.split('"')[1])
        f.write('pattern:\n\tname: added\n\tzonefile: '
                f'"{work}/%s.added"\n')
    return last


def add_file(server, work, n):
    """Measures addzone of a zone with a file, until it is served; and delzone,
    until it is gone."""
    name = f"file{n}.test"
    with open(f"{work}/{name}.added", "w") as f:
        f.write("$TTL 60\n@ SOA ns host 5 7200 3600 1209600 300\n@ NS ns\n"
                "ns A 192.0.2.53\nwww A 192.0.2.5\nwww AAAA 2001:db8::5\n"
                "@ MX 10 mail\nmail A 192.0.2.25\n")
    took = []
    for line, served in ((f"addzone {name} added", True),
                         (f"delzone {name}", False)):
        begin = time.monotonic() * 1e3
        os.write(server.process.stdin.fileno(), line.encode() + b"\n")
        took.append(wait_answer(server, "www." + name, served, 5) - begin)
    return took


