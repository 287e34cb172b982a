"""What changes of zones cost: the part updates of the bench.

Ours takes them by tests/lib/nsd_update on the loader's own channel; the others
are secondaries of primary.py, which sends NOTIFY and serves IXFR. One change
has 10 records: the SOA and two delegations with an address each, old and new.
"""
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import primary
import report
import servers
from dnssec import busy, cell, machine_line, wait_settled

ZONE = "bench"
SERIAL = 2025010101  # that gen_zone writes
SLOTS = 50           # pairs of delegations that are replaced in turn
SLOTS_TTL = 86400
COUNT = 50           # single changes
RIVAL_COUNT = 10
QUERIES = 20000      # a second
OURS_RATE = 100      # changes a second
RIVAL_RATE = 20
BASE_SEC = 15
RIVAL_SEC = 20
SETTLE_SEC = 30
SMALL_ADDED = 20


# ---- changes

def soa_text(serial):
    return (f"ns1.nic.net. hostmaster.nic.net. {serial} 1800 900 604800 900")


def soa_wire(serial):
    return primary.wire_record(
        ZONE, 3600, primary.SOA,
        primary.wire_name("ns1.nic.net") + primary.wire_name(
            "hostmaster.nic.net")
        + struct.pack(">IIIII", serial, 1800, 900, 604800, 900))


def delegations(n):
    """(owner, name server, address) that change n puts, n > 0."""
    for letter in "ab":
        owner = f"upd-{n % SLOTS}-{letter}.{ZONE}"
        yield (owner, f"ns{n}.{owner}",
               (192, 0, n >> 8 & 255, n & 255))


def change_text(n):
    """For nsd_update."""
    lines = [f"zone {ZONE}.",
             f"remove @ 3600 SOA {soa_text(SERIAL + n - 1)}",
             f"add @ 3600 SOA {soa_text(SERIAL + n)}"]
    for action, k in (("remove", n - SLOTS), ("add", n)):
        if k <= 0:
            continue
        for owner, server, address in delegations(k):
            lines.append(f"{action} {owner}. {SLOTS_TTL} NS {server}.")
            lines.append(f"{action} {server}. {SLOTS_TTL} A "
                         + ".".join(map(str, address)))
    return ("\n".join(lines) + "\nsend\n").encode()


def change_wire(n):
    """The records of an IXFR."""
    records = []
    for serial, k in ((SERIAL + n - 1, n - SLOTS), (SERIAL + n, n)):
        records.append(soa_wire(serial))
        if k <= 0:
            continue
        for owner, server, address in delegations(k):
            records.append(primary.wire_record(
                owner, SLOTS_TTL, 2, primary.wire_name(server)))
            records.append(primary.wire_record(
                server, SLOTS_TTL, 1, bytes(address)))
    return records


class OurChanges:
    """Sends changes to nsd_update, and reads what came of them."""

    def __init__(self, server):
        self.server = server
        self.n = 0
        self.pipe = server.process.stdin.fileno()
        self.answers = []
        self.refused = 0
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.server.process.stdout:
            got = re.match(rb"\d+ ok .* usec (\d+)", line)
            if got:
                self.answers.append(int(got[1]) / 1000)
            else:
                self.refused += 1

    def prepare(self, count):
        self.ready = [change_text(self.n + 1 + i) for i in range(count)]

    def send(self):
        self.n += 1
        os.write(self.pipe, self.ready.pop(0))

    def applied(self):
        """If all that were sent have been answered."""
        return len(self.answers) + self.refused >= self.n

    def remind(self):
        pass

    def stop(self):
        pass


class RivalChanges:
    def __init__(self, source):
        self.primary = source
        self.server = None  # once it runs
        self.told, self.told_sec = SERIAL, 0
        self.n = 0

    def prepare(self, count):
        self.ready = [change_wire(self.n + 1 + i) for i in range(count)]

    def send(self):
        """NSD 4.6.1 gives up IXFR for good ("update failed, restarting
        transfer") if a transfer ends while it reloads for the one before: it
        is told of a change once it serves what it was told of last."""
        self.n += 1
        self.primary.change(self.ready.pop(0))
        self.remind()

    def applied(self):
        return asked_serial(self.server.port) == SERIAL + self.n

    def remind(self):
        if self.server.kind == "nsd" and self.told_sec + 5 > \
                time.monotonic() and \
                asked_serial(self.server.port, 0.02) != self.told:
            return
        self.told = self.primary.serial
        self.told_sec = time.monotonic()
        self.primary.notify(self.server.port)

    def stop(self):
        self.primary.stop()


# ---- secondaries

def secondary_of(kind, port):
    """A function like those of servers.CONFS, for a secondary of the port."""
    def conf(work, own_port, workers, zones):
        path = os.path.join(work, "secondary.zone")
        if kind == "bind":
            shutil.copyfile(zones.zones[ZONE], path)  # it writes it anew
        else:
            os.symlink(zones.zones[ZONE], path)
        none = servers.ZoneSet(zones.name)
        name, text = servers.CONFS[kind](work, own_port, workers, none)
        return name, SECONDARIES[kind](text, path, port)
    return conf


def secondary_nsd(text, path, port):
    text = text.replace("server:\n", "server:\n\tzonefiles-write: 0\n", 1)
    return text + f"""zone:
\tname: "{ZONE}"
\tzonefile: "{path}"
\trequest-xfr: 127.0.0.1@{port} NOKEY
\tallow-notify: 127.0.0.1 NOKEY
"""


def secondary_knot(text, path, port):
    before, after = text.split("template:\n")
    return before + f"""remote:
  - id: primary
    address: 127.0.0.1@{port}
acl:
  - id: notify
    address: 127.0.0.1
    action: notify
template:
{after}zone:
  - domain: "{ZONE}"
    file: "{path}"
    master: primary
    acl: notify
"""


def secondary_named(text, path, port):
    text = text.replace("options {\n", "options {\n\tserial-query-rate 1000;"
                        "\n", 1)
    return text + f"""zone "{ZONE}" {{ type secondary; file "{path}";
\tmasterfile-format text; primaries port {port} {{ 127.0.0.1; }};
\tallow-notify {{ 127.0.0.1; }}; }};
"""


SECONDARIES = {"nsd": secondary_nsd, "knot": secondary_knot,
               "bind": secondary_named}


# ---- asking

def asked_serial(port, timeout=1):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(timeout)
        try:
            sock.send(servers.wire_query(ZONE, 6, 1))
            return reply_serial(sock.recv(4096))
        except OSError:
            return None


def reply_serial(reply):
    """Of the SOA that is the last record of an answer to it (no EDNS), or
    the first one: its name may be a pointer, and so may its names."""
    at = reply.find(struct.pack(">HHI", 6, 1, 3600), 12)
    if at < 0 or len(reply) < at + 10:
        return None
    rdlen = struct.unpack(">H", reply[at + 8:at + 10])[0]
    end = at + 10 + rdlen
    if len(reply) < end:
        return None
    return struct.unpack(">I", reply[end - 20:end - 16])[0]


class Watch:
    """Sockets that reach every worker, if they choose by the port."""

    def __init__(self, port, count):
        self.sockets = []
        for _ in range(count):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.connect(("127.0.0.1", port))
            self.sockets.append(sock)

    def wait(self, serial, limit_sec):
        """Until all have seen it; False if one did not in time."""
        query = servers.wire_query(ZONE, 6, serial & 0xffff)
        end = time.monotonic() + limit_sec
        left = list(self.sockets)
        for sock in left:
            sock.send(query)
        while left:
            if time.monotonic() > end:
                return False
            ready, _, _ = select.select(left, [], [], 0.2)
            if not ready:
                ready = list(left)
                for sock in ready:
                    sock.send(query)
                continue
            for sock in ready:
                try:
                    seen = reply_serial(sock.recv(4096))
                except OSError:
                    continue
                if seen is not None and seen >= serial:
                    left.remove(sock)
                else:
                    sock.send(query)
        return True

    def close(self):
        for sock in self.sockets:
            sock.close()


def spent_sec(server):
    """CPU time; in ticks, with that of processes that have ended, where
    others take their place."""
    if server.kind == "nsd":
        return server.start_cpu_sec()
    return server.cpu_ns()[0] / 1e9


def store_line(server):
    """What ours says of its store once nothing waits for readers."""
    path = os.path.join(server.work, "nsd.log")
    end = time.monotonic() + 10
    while time.monotonic() < end:
        known = os.path.getsize(path)
        server.process.send_signal(signal.SIGUSR1)
        late = time.monotonic() + 1
        while time.monotonic() < late:
            with open(path, errors="replace") as f:
                f.seek(known)
                found = re.search(r"STORE (.*)\n", f.read())
            if found:
                break
            time.sleep(0.01)
        if found:
            line = {k: int(v) for k, v in
                    re.findall(r"(\w+)=(\d+)", found[1])}
            if line["retired"] == 0:
                return line
            time.sleep(0.05)
    return None


class MemoryPeak:
    """PSS of all processes, every 30 ms, in a thread."""

    def __init__(self, server):
        self.server = server
        self.rest_kib = self.peak_kib = server.pss_kib()
        self.samples = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.ended.wait(0.03):
            self.peak_kib = max(self.peak_kib, self.server.pss_kib())
            self.samples += 1

    def stop(self):
        self.ended.set()
        self.thread.join(5)


class Parts:
    """Of Bench, which has the rest."""

    def part_updates(self):
        size = self.args.update_size or self.args.size
        u = self.result["updates"] = {
            "shared": busy(), "size": size, "single": {}, "load": {},
            "replace": {}, "small": {}, "left_out": []}
        zones = self.zone_set(f"tld-{size}")
        # What it takes to make the zone does not count.
        self.updates_end = time.monotonic() + self.args.update_limit
        for kind in self.programs:
            if kind != "ours" and kind not in SECONDARIES:
                u["left_out"].append(f"{kind} (not tried)")
                continue
            self.attempt(f"{kind}: 10 records", self.updates_single, kind,
                         zones, 10 + size / 60000)
            self.attempt(f"{kind}: changes under load", self.updates_load,
                         kind, zones, 20 + size / 60000)
            self.attempt(f"{kind}: whole zones", self.updates_replace, kind,
                         zones, 5 if kind == "ours" else 10 + size / 25000)
        self.drop_set(zones.name)
        self.drop_set(f"tld-{size}-other")
        if self.args.large:
            self.updates_end = time.monotonic() + self.args.update_limit
            self.attempt("ours: small zones", self.updates_small, "ours",
                         None, 60)

    def attempt(self, what, body, kind, zones, needs_sec):
        """What fails, or has no time left, is left out and said to be."""
        left_out = self.result["updates"]["left_out"]
        if kind not in self.programs:
            return
        if time.monotonic() + needs_sec > self.updates_end:
            left_out.append(f"{what} (no time left)")
            self.say(f"{what}: no time left")
            return
        try:
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
            program = os.path.join(self.args.build, "tests/lib/nsd_update")
            server = servers.Server(kind, program, zones, self.work, cpus,
                                    workers, updates=True)
            changes = OurChanges(server)
        else:
            changes = RivalChanges(primary.Primary(ZONE, SERIAL, soa_wire))
            try:
                server = changes.server = servers.Server(
                    kind, self.programs[kind], zones, self.work, cpus,
                    workers, conf=secondary_of(kind, changes.primary.port))
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

    def updates_single(self, kind, zones):
        """One change at a time: until every worker answers from it."""
        count = COUNT if kind == "ours" else RIVAL_COUNT
        server, changes = self.start_changes(kind, zones, 2)
        watch = Watch(server.port, 16)
        try:
            self.updates_warm(changes)
            took, late = [], 0
            changes.prepare(count)
            end = time.monotonic() + 20
            while changes.ready and time.monotonic() < end:
                begin = time.monotonic()
                changes.send()
                if watch.wait(SERIAL + changes.n, 8):
                    took.append((time.monotonic() - begin) * 1e3)
                else:
                    late += 1
            row = {"count": len(took), "late": late,
                   "min_ms": min(took), "median_ms": report.median(took),
                   "max_ms": max(took)}
            row["cpu_ms"] = self.updates_cpu(server, changes, count)
            if kind == "ours":
                row["loader_ms"] = report.median(changes.answers[-count:])
                row["refused"] = changes.refused
                row.update(self.updates_store(server, changes))
        finally:
            watch.close()
            server.stop()
            changes.stop()
        self.result["updates"]["single"][kind] = row
        self.say(f"10 records {kind}: {row}")

    def updates_warm(self, changes):
        """As many as there are pairs, so that the next ones replace."""
        changes.prepare(SLOTS)
        for i in range(SLOTS):
            changes.send()
            if i % 10 == 9 and isinstance(changes, OurChanges):
                self.updates_applied(changes, 8)
        if not self.updates_applied(changes, 25):
            raise ValueError("the first changes did not come")

    def updates_cpu(self, server, changes, count):
        """Milliseconds of all processes for one, with nobody asking."""
        wait_settled(server, 5)
        changes.prepare(count)
        before = spent_sec(server)
        for _ in range(count):
            changes.send()
            self.updates_applied(changes, 3)
        return (spent_sec(server) - before) / count * 1e3

    def updates_applied(self, changes, limit_sec):
        end = time.monotonic() + limit_sec
        again = time.monotonic() + 0.2
        while time.monotonic() < end:
            if changes.applied():
                return True
            time.sleep(0.002)
            if time.monotonic() > again:
                # What has missed the last NOTIFY.
                changes.remind()
                again = time.monotonic() + 0.2
        return False

    def updates_store(self, server, changes):
        """Octets of the store that a change takes, and that stay."""
        before = store_line(server)
        changes.prepare(COUNT)
        for _ in range(COUNT):
            changes.send()
            self.updates_applied(changes, 3)
        after = store_line(server)
        if before is None or after is None:
            return {}
        return {"copied": (after["retired_total"] - before["retired_total"])
                / COUNT,
                "kept": (after["live"] - before["live"]) / COUNT,
                "mapped": after["mapped"] - before["mapped"]}

    def updates_load(self, kind, zones):
        """Latency without changes, then with them."""
        ours = kind == "ours"
        rate = OURS_RATE if ours else RIVAL_RATE
        seconds = self.args.update_seconds
        server, changes = self.start_changes(kind, zones, 1)
        cpus = os.sched_getaffinity(0)
        try:
            # With the load, away from the server.
            os.sched_setaffinity(0, {1})
            total = int(rate * (seconds if ours
                                else min(seconds, RIVAL_SEC)))
            row = {"rate": rate}
            self.updates_warm(changes)
            changes.n_before = changes.n
            row["without"] = self.updates_latency(
                server, zones, min(seconds, BASE_SEC), None)
            changes.prepare(total)
            row["with"] = self.updates_latency(
                server, zones, total / rate, lambda: self.updates_tick(
                    changes, total, rate))
            begin = time.monotonic()
            self.updates_applied(changes, 10)
            row["behind_sec"] = time.monotonic() - begin
            row["sent"] = total
            row["seen"] = (asked_serial(server.port) or SERIAL) - SERIAL \
                - changes.n_before
            if not ours:
                row["transfers"] = changes.primary.transfers
        finally:
            os.sched_setaffinity(0, cpus)
            server.stop()
            changes.stop()
        self.result["updates"]["load"][kind] = row
        self.say(f"under load {kind}: " + ", ".join(
            "%s p50 %.0f p99 %.0f p99.9 %.0f max %.0f us lost %d" % (
                (k,) + tuple(row[k][p] for p in (
                    "p50", "p99", "p999", "max", "lost")))
            for k in ("without", "with"))
            + f", {row['seen']} of {row['sent']} changes seen")

    def updates_tick(self, changes, total, rate):
        begin = time.monotonic()
        for i in range(total):
            left = begin + i / rate - time.monotonic()
            if left > 0:
                time.sleep(left)
            changes.send()

    def updates_latency(self, server, zones, seconds, body):
        before = spent_sec(server)
        process = subprocess.Popen(
            ["taskset", "-c", "1", os.path.join(self.bin, "load"),
             "-t", str(seconds), "-r", str(QUERIES), "-w", "4096", "-c",
             "16", "-l", "500", "udp", str(server.port),
             zones.prefix + ".hit"], stdout=subprocess.PIPE)
        try:
            if body:
                body()
            line, _ = process.communicate(timeout=seconds + 30)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        if process.returncode:
            raise ValueError("the load failed")
        counts = json.loads(line)
        counts["cpu_share"] = (spent_sec(server) - before) / seconds
        return counts

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
        zones = self.zone_set(f"small-{count}")
        self.updates_end = time.monotonic() + self.args.update_limit
        program = os.path.join(self.args.build, "tests/lib/nsd_update")
        server = servers.Server(kind, program, zones, self.work, "0,1", 1,
                                updates=True)
        changes = OurChanges(server)
        try:
            if not server.wait(120):
                raise ValueError("did not serve the zones")
            wait_settled(server, 60)
            row = {"count": count, "start_sec": server.start_sec,
                   "cpu_sec": server.start_cpu_sec(),
                   "pss_mib": server.pss_kib() / 1024, "added_ms": []}
            for n in range(SMALL_ADDED):
                row["added_ms"].append(add_small(server, n))
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
    query = servers.wire_query("www." + name, 1, 7)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", server.port))
        sock.settimeout(0.2)
        begin = time.monotonic()
        os.write(server.process.stdin.fileno(), text)
        while time.monotonic() < begin + 5:
            try:
                sock.send(query)
                reply = sock.recv(4096)
            except OSError:
                continue
            if reply[3] & 15 == 0 and reply[7]:
                return (time.monotonic() - begin) * 1e3
    raise ValueError("the new zone was not served")


# ---- tables and charts

def single_markdown(u):
    rows = []
    for kind, r in u["single"].items():
        rows.append([kind, r["count"]] + [
            "%.2f" % r[k] for k in ("min_ms", "median_ms", "max_ms",
                                    "cpu_ms")]
            + [cell(r.get(k)) for k in ("copied", "kept", "mapped")])
    text = ("## 10 records changed\n\nFrom the sending of a change until 16 "
            "clients see it, two workers, ms; CPU time of all processes for "
            "one, ms, with nobody asking; octets of the store that are "
            "copied for one and used again, that stay, and the growth of the "
            "mapping over all.\n\n" + report.table(
                ["server", "changes", "min", "median", "max", "CPU",
                 "copied", "kept", "mapped"], rows))
    ours = u["single"].get("ours")
    if ours:
        text += ("\nOurs: the time includes main's reading of the change as "
                 "text; from main's sending to the loader's answer: "
                 f"{ours['loader_ms']:.2f} ms (median). ")
    return text + ("The others are told by NOTIFY and fetch it by IXFR; "
                   "NSD's xfrd-reload-timeout is 1 s, its default, "
                   "and it is told of a change once it serves the last that "
                   "it was told of: otherwise it gives up IXFR.\n")


def load_markdown(u):
    rows = []
    for kind, r in u["load"].items():
        for what in ("without", "with"):
            got = r[what]
            rows.append([f"{kind} {what}" + (
                f", {r['rate']} a second" if what == "with" else "")]
                + ["%.0f" % got[p] for p in ("p50", "p99", "p999", "max")]
                + [got["sent"], got["lost"], f"{got['cpu_share']:.2f}",
                   f"{r['seen']} of {r['sent']}" if what == "with" else ""])
    text = (f"## Changes under load\n\nLatency of {QUERIES} queries a second, "
            "us, without changes and with them; one worker, all processes of "
            "a server on one core.\n\n" + report.table(
                ["server, changes", "p50", "p99", "p99.9", "max", "sent",
                 "lost", "cores", "changes seen"], rows) + "\n")
    for kind, r in u["load"].items():
        text += (f"- {kind}: p99.9 with changes is "
                 f"{r['with']['p999'] / max(0.1, r['without']['p999']):.2f} "
                 "of that without\n")
    return text + "\n![latency](updates.svg)\n![latency, ours]" \
        "(updates-ours.svg)\n"


def replace_markdown(u):
    rows = []
    for kind, got in u["replace"].items():
        for what, r in got.items():
            rows.append([f"{kind} {what}"] + ["%.0f" % r[k] for k in (
                "rest_mib", "peak_mib", "after_mib")]
                + [cell(r[k], "%.2f") for k in ("times", "seen_sec",
                                                "cpu_sec")])
    return ("## Whole zones replaced\n\nA zone file of the same octets, then "
            "one of other names, and SIGHUP. Memory of all processes (PSS, "
            "MiB) before, at its peak (sampled each 30 ms) and afterwards; "
            "peak over before; seconds until it was served, and of CPU "
            "time.\n\n" + report.table(
                ["server, zone", "before", "peak", "after", "peak/before",
                 "served", "CPU"], rows))


def small_markdown(u):
    rows = [[k, r["count"], "%.2f" % r["start_sec"], "%.2f" % r["cpu_sec"],
             "%.0f" % r["pss_mib"], "%.2f" % report.median(r["added_ms"]),
             "%.2f" % max(r["added_ms"])] for k, r in u["small"].items()]
    return ("## Small zones\n\nAll cores. Start to first answer, s; CPU time, s; PSS, "
            "MiB; one more added and served, ms, median and slowest of "
            f"{SMALL_ADDED}.\n\n" + report.table(
                ["server", "zones", "start", "CPU", "memory", "added",
                 "slowest"], rows))


def updates_markdown(result):
    u = result["updates"]
    text = ("# Changes of zones\n\n" + machine_line(result, u["shared"])
            + f"A TLD of {u['size']:,} delegations with NSEC3. A change: the "
            "SOA and two delegations with an address each, the old ones "
            "removed and new ones added, 10 records.\n")
    for key, make in (("single", single_markdown), ("load", load_markdown),
                      ("replace", replace_markdown),
                      ("small", small_markdown)):
        if u[key]:
            text += "\n" + make(u)
    if u["left_out"]:
        text += "\nLeft out: " + "; ".join(u["left_out"]) + ".\n"
    return text


def draw(u, out):
    def points(run):
        return [(s[0], s[3] / 1e3) for s in run["series"][:-1]]
    series = {}
    for kind, r in u["load"].items():
        series[f"{kind}, {r['rate']}/s"] = points(r["with"])
    title = f"Slowest of 1000 at {QUERIES} queries a second"
    if series:
        report.line_chart(os.path.join(out, "updates.svg"), title,
                          "seconds", "ms (p99.9 of half a second)", series)
    ours = u["load"].get("ours")
    if ours:
        report.line_chart(
            os.path.join(out, "updates-ours.svg"), title, "seconds",
            "ms (p99.9 of half a second)",
            {f"ours, {ours['rate']}/s": points(ours["with"]),
             "none": points(ours["without"])})


def write_documents(result, out):
    if "updates" not in result:
        return
    with open(os.path.join(out, "updates.md"), "w") as f:
        f.write(updates_markdown(result))
    draw(result["updates"], out)
