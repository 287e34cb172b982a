#!/usr/bin/env python3
"""Measures zone transfers beside NSD, Knot and BIND.

    transfers.py [--build DIR] [--tmp DIR] [--size N] [--reps N]
                 [--servers NAME,...] [--parts NAME,...] [--doc FILE]

A zone of --size delegations. *In*: a secondary without data, on core 0, takes
it from ours on core 1: from its start to its first answer, its CPU time, and
the most memory that all of its processes had meanwhile (PSS, looked at all the
time), beside that at rest. *Out*: a client on core 1 takes the zone from a
server on core 0 and throws it away: octets a second, and CPU time of the
server for a million octets. Medians of --reps turns, in rotating order.
*Beside*: see transfers_beside.py; *changes*: transfers_changes.py; *many*,
*rate*: transfers_many.py; *rest*: transfers_rest.py.
"""
import argparse
import bisect
import multiprocessing
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402
import transfers_beside  # noqa: E402
import transfers_changes  # noqa: E402
import transfers_many  # noqa: E402
import transfers_rest  # noqa: E402

ZONE = "bench"
PARTS = ("whole", "beside", "changes", "many", "rate", "rest")
LIMIT_SEC = 900
AXFR = 252
SEND_OCTETS = 65536
PAGE = """# Zone transfers

Made by `tests/bench/transfers.py`; nobody edits it. {machine}.

{size} delegations, {reps} turns, medians. *In*: from the start of a secondary
without data, on one core, to its first answer; the primary is ours, on the
other core. Memory is the sum of PSS of all its processes: the most while it
took the zone, and afterwards. *Out*: one client, on the other core, which
throws away what comes; the bare sender writes as many octets, 64 KiB at a
time, and does nothing else.

## In

{taken}

## Out

{sent}

## Out, beside queries

Queries that hit, over UDP, as fast as one worker answers them (512 outstanding);
then the same while a client takes the zone at up to {pace} MB/s, again and again. The
server has core 0, both clients share core 1, where what is taken is thrown away by
the kernel. *For transfers*: what of the server's time is left when each answer takes
as long as without. {turns} turns of {beside_sec:g} s, medians.

{beside}
Half as many queries a second, whatever is answered. Not answered: sums of all turns.

{beside_half}

## Changes of ten records

One after the other, by NOTIFY and IXFR, until clients of both workers see the
new serial; on both cores. CPU time is that of all processes, for one.

{changes}

## {count} zones of one primary

Nine records each. From the start of a secondary without data, on one core, until
all are served; the primary is ours, on the other core.

{many}

## Secondary zones with nothing to fetch

Ours, all on one core. Zones of one file, whose primary has nothing newer: what xfrd
has for each above the same zones without a primary, and the CPU time of all
processes, for half a minute after each zone was asked for once.

{rest}

## {rate} changes a second

Of 1,000 such zones, in turn, for {seconds} s, each by NOTIFY and IXFR of one
record, and asked for each 0.2 ms, or each fiftieth of the time that it has taken by then; the
secondary has one core. *Skipped*: the change
before was not served yet. *Not served*: nor ten seconds after the last one. A NOTIFY whose change
is not served is sent again after a second, and so is a question without a reply. Beside it
{queries:,} queries a second for these zones, over UDP.

{rates}
![serials served since the first change]({chart})
"""


def conf_nsd(lines):
    def make(work, port, workers, zones):
        name, text = servers.conf_nsd(work, port, workers,
                                      servers.ZoneSet("none"))
        return name, text + "".join(f"{line}\n" for line in lines(work, zones))
    return make


def nsd_primary(work, zones):
    return ["zone:", f"\tname: {ZONE}",
            f'\tzonefile: "{zones.zones[ZONE]}"',
            "\tprovide-xfr: 127.0.0.1 NOKEY"]


def nsd_secondary(port):
    return lambda work, zones: [
        "zone:", f"\tname: {ZONE}", f'\tzonefile: "{work}/taken.zone"',
        f"\trequest-xfr: AXFR 127.0.0.1@{port} NOKEY"]


def knot_conf(primary_port):
    def make(work, port, workers, zones):
        remote, more = "", f'    file: "{zones.zones[ZONE]}"'
        if primary_port:
            remote = ("remote:\n  - id: p\n"
                      f"    address: 127.0.0.1@{primary_port}\n")
            more = "    master: p"
        return "knot.conf", f"""server:
    rundir: "{work}"
    listen: 127.0.0.1@{port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: "{work}"
log:
  - target: stderr
    any: warning
{remote}acl:
  - id: all
    address: 127.0.0.1
    action: transfer
template:
  - id: default
    zonefile-sync: -1
    journal-content: none
    semantic-checks: off
    acl: all
zone:
  - domain: {ZONE}
{more}
"""
    return make


def bind_conf(primary_port):
    def make(work, port, workers, zones):
        kind = f'type primary; file "{zones.zones[ZONE]}";'
        if primary_port:
            kind = (f'type secondary; file "{work}/taken"; primaries '
                    f"{{ 127.0.0.1 port {primary_port}; }};")
        return "named.conf", f"""options {{
directory "{work}"; pid-file none; session-keyfile none; lock-file none;
listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
recursion no; notify no; empty-zones-enable no; dnssec-validation no;
allow-transfer {{ any; }}; max-records-per-type 0; max-types-per-name 0;
}}; controls {{ }};
zone "{ZONE}" {{ {kind} }};
"""
    return make


def conf_of(kind, primary_port=None):
    if kind == "knot":
        return knot_conf(primary_port)
    if kind == "bind":
        return bind_conf(primary_port)
    return conf_nsd(nsd_secondary(primary_port) if primary_port
                    else nsd_primary)


class Peak(threading.Thread):
    """The most memory that a server has while this runs."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.most = 0
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, self.server.pss_kib())

    def end(self):
        self.over.set()
        self.join()
        return self.most


def take(port):
    """Takes the zone: (octets, seconds)."""
    begin = time.monotonic()
    sock = socket.create_connection(("127.0.0.1", port))
    query = servers.wire_query(ZONE, AXFR, 1)
    sock.sendall(struct.pack(">H", len(query)) + query)
    buffer = bytearray(1 << 20)
    octets = 0
    # The last record is the SOA again: no count says how long it is. A server
    # that has sent all says nothing more.
    sock.settimeout(0.5)
    end = begin
    try:
        while True:
            n = sock.recv_into(buffer)
            if n == 0:
                break
            octets += n
            end = time.monotonic()
    except socket.timeout:
        pass
    sock.close()
    return octets, end - begin


def bare_send(listener, octets, result):
    """Sends octets from a process of its own: the least cost of a transfer."""
    os.sched_setaffinity(0, {0})
    connection, _ = listener.accept()
    connection.recv(4096)
    piece = bytes(SEND_OCTETS)
    before = time.process_time()
    for _ in range(octets // SEND_OCTETS):
        connection.sendall(piece)
    result.value = time.process_time() - before
    connection.close()


class Bench:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        directory = os.path.join(work, "zone")
        os.makedirs(directory)
        subprocess.run([os.path.join(args.build, "tests/bench/gen_zone"),
                        "tld", str(args.size), "1", directory], check=True)
        self.zones = servers.ZoneSet(
            "tld", {ZONE: os.path.join(directory, "tld.zone")},
            probe=(ZONE, 6))
        self.taken = {kind: [] for kind in args.servers}
        self.sent = {kind: [] for kind in args.servers}
        self.changes, self.many, self.rates, self.served = [], [], [], {}
        self.beside, self.beside_half, self.rest = [], [], []
        self.path = work
        self.zone = ZONE

    def program(self, kind):
        return (os.path.join(self.args.build, "nsd") if kind == "ours"
                else servers.find_program(servers.RIVALS[kind]))

    def start(self, kind, cpus, conf):
        return servers.Server(kind, self.program(kind), self.zones,
                              os.path.join(self.work, f"on-{cpus}"),
                              cpus, 1, conf=conf)

    def take_in(self, kind, primary):
        machine.touch(machine.wanted_octets(f"tld-{self.args.size}", 0))
        server = self.start(kind, "0", conf_of(kind, primary.port))
        peak = Peak(server)
        served = server.wait(LIMIT_SEC)
        most = peak.end()
        cpu = server.start_cpu_sec()
        time.sleep(3)
        rest = server.pss_kib()
        server.stop()
        if served:
            self.taken[kind].append((server.start_sec, cpu, most / 1024,
                                     rest / 1024))

    def send_out(self, kind):
        server = self.start(kind, "0", conf_of(kind))
        if server.wait(LIMIT_SEC):
            time.sleep(1)
            before = server.start_cpu_sec()
            octets, seconds = take(server.port)
            cpu = server.start_cpu_sec() - before
            self.sent[kind].append((octets / 1e6 / seconds,
                                    cpu / octets * 1e9, octets / 1e6))
        server.stop()

    def send_beside(self):
        os.sched_setaffinity(0, {1})
        for kind in self.args.servers:
            server = self.start(kind, "0", conf_of(kind))
            if server.wait(LIMIT_SEC):
                time.sleep(1)
                octets, _ = take(server.port)
                full, half = transfers_beside.beside_rows(self, kind, server,
                                                          octets)
                self.beside.append(full)
                self.beside_half.append(half)
                print(*full, "/", *half, flush=True)
            server.stop()

    def send_bare(self):
        """As many octets as ours sends, and nothing else."""
        octets = int(self.sent["ours"][-1][2] * 1e6)
        listener = socket.create_server(("127.0.0.1", 0))
        cpu = multiprocessing.Value("d", 0)
        sender = multiprocessing.Process(
            target=bare_send, args=(listener, octets, cpu))
        sender.start()
        got, seconds = take(listener.getsockname()[1])
        sender.join()
        listener.close()
        self.sent.setdefault("bare sender", []).append(
            (got / 1e6 / seconds, cpu.value / got * 1e9, got / 1e6))

    def change(self):
        for kind in self.args.servers:
            took, cpu_ms = transfers_changes.changes_run(
                kind, self.program(kind), self.zones, self.work)
            self.changes.append(
                [kind, *transfers_changes.changes_row(took, cpu_ms)])
            print(*self.changes[-1], flush=True)

    def fetch_many(self):
        for kind in self.args.servers:
            took, cpu, mib = transfers_many.fetch(
                kind, self.program(kind), self, self.args.count)
            self.many.append([kind, f"{took:.2f}", f"{cpu:.2f}", f"{mib:.1f}"])
            print(*self.many[-1], flush=True)

    def keep_many(self):
        self.rest.append(transfers_rest.rest_row(
            self.program("ours"), self.path, self.args.rest_count))
        print(*self.rest[-1], flush=True)

    def change_many(self):
        for kind in self.args.servers:
            run, late, cpu, beside = transfers_many.changed(
                kind, self.program(kind), self, self.args.rate,
                self.args.seconds)
            self.rates.append(
                [kind, str(len(run.took)), f"{report.median(run.took):.2f}",
                 f"{report.quantile(run.took, 0.99):.1f}",
                 f"{max(run.took):.0f}", str(run.skipped), str(late),
                 f"{cpu:.2f}", f"{beside[0]:,}", str(beside[1]),
                 f"{beside[2]:.2f}"])
            self.served[kind] = [
                (second, bisect.bisect(run.served_sec, second))
                for second in range(self.args.seconds
                                    + transfers_many.LOST_SEC + 1)]
            print(*self.rates[-1], flush=True)

    def run_whole(self):
        os.sched_setaffinity(0, {1})
        for rep in range(self.args.reps):
            order = self.args.servers[rep % len(self.args.servers):] \
                + self.args.servers[:rep % len(self.args.servers)]
            for kind in order:
                primary = self.start("ours", "1", conf_of("ours"))
                if not primary.wait(LIMIT_SEC):
                    sys.exit("the primary does not serve the zone")
                self.take_in(kind, primary)
                primary.stop()
                self.send_out(kind)
                if kind == "ours":
                    self.send_bare()
                print(kind, self.taken[kind][-1:], self.sent[kind][-1:],
                      flush=True)

    def tables(self):
        return {
            "taken": rows(self.taken, [
                "secondary", "seconds", "CPU, s", "memory, most, MiB",
                "memory, rest, MiB"]),
            "sent": rows(self.sent, ["primary", "MB/s", "CPU, ms for 1 MB",
                                     "MB sent"]),
            "beside": report.table(transfers_beside.FULL_HEAD, self.beside),
            "beside_half": report.table(transfers_beside.HALF_HEAD,
                                        self.beside_half),
            "changes": report.table(transfers_changes.CHANGES_HEAD,
                                    self.changes),
            "many": report.table(["secondary", "seconds", "CPU, s",
                                  "memory, MiB"], self.many),
            "rest": report.table(transfers_rest.REST_HEAD, self.rest),
            "rates": report.table(
                ["secondary", "served", "median, ms", "p99, ms", "most, ms",
                 "skipped", "not served", "CPU, ms for one", "queries",
                 "not answered", "p99 of these, ms"], self.rates),
        }


def rows(found, head):
    return report.table(head, [
        [kind, *(f"{report.median([r[i] for r in results]):.{digits}f}"
                 for i, digits in enumerate(DIGITS[:len(head) - 1]))]
        for kind, results in found.items() if results])


DIGITS = (2, 2, 1, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--tmp", default="/tmp")
    parser.add_argument("--size", type=int, default=1000000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--servers", default="ours,nsd,knot,bind",
                        type=lambda text: text.split(","))
    parser.add_argument("--parts", default=PARTS,
                        type=lambda text: text.split(","))
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--rest-count", type=int, default=1000000)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--queries", type=int, default=10000)
    parser.add_argument("--pace", type=int, default=100)
    parser.add_argument("--beside-sec", type=float, default=3)
    parser.add_argument("--beside-turns", type=int, default=5)
    parser.add_argument("--doc")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nsd-bench-", dir=args.tmp) as work:
        bench = Bench(args, work)
        if "beside" in args.parts:
            bench.send_beside()
        if "changes" in args.parts:
            bench.change()
        if "rate" in args.parts:
            bench.change_many()
        if "many" in args.parts:
            bench.fetch_many()
        if "rest" in args.parts:
            bench.keep_many()
        if "whole" in args.parts:
            bench.run_whole()
    tables = bench.tables()
    print(*tables.values(), sep="\n\n")
    if args.doc:
        chart = pathlib.Path(args.doc).with_suffix(".svg")
        report.line_chart(chart, f"New serials served, {args.rate} a second "
                          "are made", "seconds since the first",
                          "served", bench.served)
        with open(args.doc, "w") as f:
            f.write(PAGE.format(machine=machine.name(), size=args.size,
                                reps=args.reps, count=args.count,
                                rate=args.rate, seconds=args.seconds,
                                queries=args.queries,
                                pace=args.pace, turns=args.beside_turns,
                                chart=chart.name,
                                beside_sec=args.beside_sec,
                                **tables))


if __name__ == "__main__":
    main()
