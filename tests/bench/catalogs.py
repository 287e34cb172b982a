#!/usr/bin/env python3
"""Measures consumers of a catalog zone (RFC 9432), beside NSD, BIND and Knot.

    catalogs.py [--build DIR] [--tmp DIR] [--count N] [--large N] [--reps N]
                [--turns N] [--servers NAME,...] [--doc FILE]

Each server begins as a secondary of an empty catalog. One IXFR brings --count
members, whose zones it takes from another server of ours: the time from NOTIFY
until all are served, CPU time and memory. Then members come one by one, --turns
times: the time from NOTIFY until each is served, which takes a transfer of the
catalog and one of the zone. --large members are tried with our server alone,
which has both cores then. Else the consumer has core 0; the primaries and whoever asks
share core 1. Medians of --reps starts. As tables in Markdown; --doc writes the page of
doc/performance with them. NSD has catalogs since 4.9: Debian 12's has none, so give
another one in PATH (tools/newer-nsd).
"""
import argparse
import contextlib
import os
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import machine  # noqa: E402
import primary  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402
from dnssec import wait_settled  # noqa: E402
from transfers_many import wait_served, zone_name, zone_text  # noqa: E402
from update_watch import reply_serial  # noqa: E402

LIMIT_SEC = 900
NS, SOA, PTR, TXT = 2, 6, 12, 16
CATALOG = "catalog.bench"
LIST_HEAD = "# NSD zone list\n# name pattern\n"
LOOK_SEC = 0.05
PAGE = """# Catalog zones

Made by `tests/bench/catalogs.py`; nobody edits it. {machine}. {others}

One IXFR brings all members to a consumer whose catalog was empty; their zones of nine
records come from a server of ours, a transfer each. *Listed*: from NOTIFY until the zone
list has the last member; *served*: until the last zone is answered for. Consumer on one
core, or on both with {large:,} members and one start; primaries on the other. *Most* and *rest*: the sum of PSS of all processes, while
members came and afterwards. Medians of {reps} starts.

{many}
## One more

From NOTIFY until the new member is served: medians of {turns} members, each with a version
of the catalog. CPU of all processes of the consumer.

{one}"""


def soa_rdata(serial):
    return primary.wire_name("invalid") * 2 + struct.pack(
        ">IIIII", serial, 3600, 900, 604800, 0)


def soa_wire(serial):
    return primary.wire_record(CATALOG, 3600, SOA, soa_rdata(serial))


def member_wire(n):
    return primary.wire_record(f"m{n}.zones.{CATALOG}", 0, PTR,
                               primary.wire_name(zone_name(n)))


def change(serial, members):
    """The records of an IXFR that adds some."""
    return [soa_wire(serial), soa_wire(serial + 1),
            *(member_wire(n) for n in members)]


def catalog_wire():
    """The first version, without its SOA."""
    return [primary.wire_record(CATALOG, 0, NS, primary.wire_name("invalid")),
            primary.wire_record(f"version.{CATALOG}", 0, TXT, b"\x012")]


def catalog_text():
    return (f"{CATALOG}. 3600 SOA invalid. invalid. 1 3600 900 604800 0\n"
            f"{CATALOG}. 0 NS invalid.\nversion.{CATALOG}. 0 TXT \"2\"\n")


def asked_serial(port, name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(1)
        try:
            sock.send(servers.wire_query(name, SOA, 1))
            return reply_serial(sock.recv(4096))
        except OSError:
            return None


# ---- configurations of consumers

def more_nsd(work, source, zones):
    return ("", 'pattern:\n\tname: "member"\n\tallow-notify: 127.0.0.1 NOKEY\n'
            f"\trequest-xfr: 127.0.0.1@{zones} NOKEY\n"
            f'zone:\n\tname: "{CATALOG}"\n'
            f'\tzonefile: "{work}/catalog.zone"\n'
            "\tcatalog: consumer\n\tcatalog-member-pattern: member\n"
            "\tallow-notify: 127.0.0.1 NOKEY\n"
            f"\trequest-xfr: 127.0.0.1@{source} NOKEY\n")


def more_bind(work, source, zones):
    return (f'\tcatalog-zones {{ zone "{CATALOG}" default-primaries port '
            f"{zones} {{ 127.0.0.1; }} in-memory no min-update-interval 0; "
            "};\n\tserial-query-rate 10000; transfers-in 100; "
            "transfers-per-ns 100;\n",
            f'zone "{CATALOG}" {{ type secondary; '
            f'file "{work}/catalog.zone"; '
            f"primaries port {source} {{ 127.0.0.1; }}; allow-notify "
            "{ 127.0.0.1; }; masterfile-format text; };\n")


def more_knot(work, source, zones):
    return ("", f"remote:\n  - id: s\n    address: 127.0.0.1@{source}\n"
            f"  - id: z\n    address: 127.0.0.1@{zones}\n"
            "acl:\n  - id: n\n    address: 127.0.0.1\n    action: notify\n"
            "template:\n  - id: member\n    master: z\n    acl: n\n"
            "    zonefile-sync: -1\n"
            f'zone:\n  - domain: "{CATALOG}"\n'
            f'    file: "{work}/catalog.zone"\n'
            "    master: s\n    acl: n\n    catalog-role: interpret\n"
            "    catalog-template: member\n")


MORE = {"ours": more_nsd, "nsd": more_nsd, "bind": more_bind,
        "knot": more_knot}


def conf(kind, source, zones):
    """A consumer's configuration, for servers.Server."""
    def make(work, port, workers, probe):
        with open(f"{work}/catalog.zone", "w") as f:
            f.write(catalog_text())
        name, text = servers.CONFS[kind](work, port, workers, probe)
        options, clauses = MORE[kind](work, source, zones)
        if kind == "bind":
            text = text.replace("options {\n", "options {\n" + options, 1)
        elif kind in ("ours", "nsd"):
            text = text.replace("server:\n",
                                "server:\n\tzonefiles-write: 0\n", 1)
            text = text.replace("control-enable: no", "control-enable: yes\n"
                                f'\tcontrol-interface: "{work}/control"')
        else:
            # Each section stands once.
            remotes, rest = clauses.split("template:\n")
            members, clauses = rest.split("zone:\n")
            text = text.replace("template:\n", remotes + "template:\n"
                                + members, 1)
            text += clauses
            clauses = ""
        return name, text + clauses
    return make


def start_zones(program, path, count):
    """A server of ours with the members' zones, all from one file."""
    with open(f"{path}/zone", "w") as f:
        f.write(zone_text(1))
    with open(f"{path}/zones.list", "w") as f:
        f.write(LIST_HEAD)
        f.writelines(f"add {zone_name(n)} p\n" for n in range(count))

    def make(work, port, workers, zones):
        name, text = servers.conf_nsd(work, port, workers,
                                      servers.ZoneSet("zones"))
        text = text.replace(f"{work}/zone.list", f"{path}/zones.list")
        return name, text + (f'pattern:\n\tname: "p"\n\tzonefile: '
                             f'"{path}/zone"\n'
                             "\tprovide-xfr: 127.0.0.1 NOKEY\n")
    probe = servers.ZoneSet("zones", probe=(zone_name(count - 1), SOA))
    server = servers.Server("ours", program, probe, path, "1", 1, conf=make)
    if not server.wait(LIMIT_SEC):
        server.stop()
        raise ValueError("the primary does not serve the zones")
    return server


# ---- what a consumer takes

class Watch(threading.Thread):
    """Looks at a consumer while members come: the most memory, and when the
    zone list has all of them."""

    def __init__(self, server, count):
        super().__init__(daemon=True)
        self.server, self.count = server, count
        self.most_kib, self.listed_at, self.ended = 0, None, False

    def lines(self):
        found = 0
        with contextlib.suppress(OSError):
            with open(f"{self.server.work}/zone.list", "rb") as f:
                while got := f.read(1 << 20):
                    found += got.count(b"\n")
        return found

    def run(self):
        pause = LOOK_SEC if self.count < 100000 else 20 * LOOK_SEC
        while not self.ended:
            if self.server.kind == "ours" and self.listed_at is None \
                    and self.lines() >= self.count + 2:
                self.listed_at = time.monotonic()
            self.most_kib = max(self.most_kib, self.server.pss_kib())
            time.sleep(pause)

    def end(self):
        self.ended = True
        self.join()


def wait_transfer(source, server):
    """Has the consumer take the next version of the catalog, which Knot
    answers no queries for."""
    end, again, before = time.monotonic() + LIMIT_SEC, 0, source.transfers
    while source.transfers == before:
        if time.monotonic() > end:
            raise ValueError("the catalog is not asked for")
        if time.monotonic() > again:
            source.notify(server.port)
            again = time.monotonic() + 1
        time.sleep(0.0005)


def wait_zone(server, n):
    end = time.monotonic() + LIMIT_SEC
    while asked_serial(server.port, zone_name(n)) is None:
        if time.monotonic() > end:
            raise ValueError("a member does not come")
        time.sleep(0.0005)


class Bench:
    def __init__(self, args, path):
        self.args, self.path = args, path
        self.programs = {"ours": os.path.join(args.build, "nsd")}
        for kind in ("nsd", "knot", "bind"):
            self.programs[kind] = servers.find_program(servers.RIVALS[kind])
        self.kinds = [kind for kind in args.servers.split(",")
                      if self.programs[kind]]

    def run(self, kind, count, cpus):
        """([listed, served, CPU seconds, MiB most, MiB rest], [ms, CPU ms] of
        single members)"""
        source = primary.Primary(CATALOG, 1, soa_wire, catalog_wire())
        zones = server = None
        try:
            zones = start_zones(self.programs["ours"], self.path,
                                count + self.args.turns)
            probe = servers.ZoneSet("catalog", {"one": f"{self.path}/zone"},
                                    probe=("one", SOA))
            server = servers.Server(
                kind, self.programs[kind], probe, self.path, cpus, 1,
                conf=conf(kind, source.port, zones.port))
            if not server.wait(LIMIT_SEC):
                raise ValueError(f"{kind} does not serve the catalog")
            wait_settled(server, 5)
            return self.bring(source, server, count), \
                self.bring_one_by_one(source, server, count)
        finally:
            if server:
                server.stop()
            if zones:
                zones.stop()
            source.stop()

    def bring(self, source, server, count):
        source.change(change(1, range(count)))
        watch = Watch(server, count)
        watch.start()
        spent, begin = server.start_cpu_sec(), time.monotonic()
        server.begin = begin  # wait_served counts from there
        try:
            wait_transfer(source, server)
            served = wait_served(self.args.build, self.path, count, server)
            spent = server.start_cpu_sec() - spent
            wait_settled(server)
        finally:
            watch.end()
        listed = watch.listed_at - begin if watch.listed_at else None
        return [listed, served, spent, watch.most_kib / 1024,
                server.pss_kib() / 1024]

    def bring_one_by_one(self, source, server, count):
        took, cpu = [], []
        for turn in range(self.args.turns):
            source.change(change(2 + turn, [count + turn]))
            spent, begin = server.cpu_ns()[0], time.monotonic()
            wait_transfer(source, server)
            wait_zone(server, count + turn)
            took.append((time.monotonic() - begin) * 1e3)
            time.sleep(0.05)
            cpu.append((server.cpu_ns()[0] - spent) / 1e6)
        return [report.median(took), max(took), report.median(cpu)]

    def tables(self):
        heads = [["consumer", "members", "listed, s", "served, s", "CPU, s",
                  "memory, most, MiB", "rest, MiB"],
                 ["consumer", "members", "ms", "slowest, ms", "CPU, ms"]]
        rows = [[], []]
        series = [(kind, self.args.count, self.args.reps, "0")
                  for kind in self.kinds]
        if self.args.large > 0:
            series.append(("ours", self.args.large, 1, "0,1"))
        for kind, count, reps, cpus in series:
            try:
                runs = [self.run(kind, count, cpus) for _ in range(reps)]
            except (ValueError, OSError) as error:
                print(f"{kind}, {count} members: {error}", file=sys.stderr)
                continue
            for which in range(2):
                columns = zip(*(run[which] for run in runs))
                rows[which].append([kind, f"{count:,}"] + [
                    "" if column[0] is None else f"{report.median(column):.2f}"
                    for column in columns])
                print(rows[which][-1], file=sys.stderr, flush=True)
        return [report.table(head, part) for head, part in zip(heads, rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/rel")
    parser.add_argument("--tmp", default="/dev/shm")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--large", type=int, default=0)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--servers", default="ours,nsd,bind,knot")
    parser.add_argument("--doc")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    path = tempfile.mkdtemp(prefix="nsd-bench-", dir=args.tmp)
    others = {}
    watch = machine.Others(others)
    watch.part = "catalogs"
    try:
        with watch.watched():
            many, one = Bench(args, path).tables()
    finally:
        shutil.rmtree(path, ignore_errors=True)
    page = PAGE.format(machine=machine.name(), many=many, one=one,
                       others=machine.others_text(others["catalogs"]),
                       reps=args.reps, turns=args.turns, large=args.large)
    print(page)
    if args.doc:
        with open(args.doc, "w") as f:
            f.write(page)


if __name__ == "__main__":
    main()
