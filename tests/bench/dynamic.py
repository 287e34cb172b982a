#!/usr/bin/env python3
"""Measures dynamic updates (RFC 2136), beside BIND and Knot.

    dynamic.py [--build DIR] [--tmp DIR] [--sizes N,...] [--clients N]
               [--seconds SEC] [--reps N] [--queries RATE]
               [--servers NAME,...] [--doc FILE]

One zone of --sizes names takes the updates of --clients clients, each of which
sends the next once the last is answered: a TXT record comes to a new name below a
random one of the zone, and goes. Each is signed by HMAC-SHA256; of the first size
there is a run without signatures, too, where addresses decide. Then the same again,
while --queries queries a second are asked of the same server. Server and clients
share the machine's cores.
Medians of --reps starts, which take turns between servers. As a table in
Markdown; --doc writes the page of doc/performance with it.
"""
import argparse
import base64
import hashlib
import hmac
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402
from dnssec import wait_settled  # noqa: E402
from primary import wire_name, wire_record  # noqa: E402

LIMIT_SEC = 600
A, SOA, TXT, TSIG, ANY = 1, 6, 16, 250, 255
ZONE, KEY, ALGORITHM = "dynamic.bench", "key.bench", "hmac-sha256"
SECRET = bytes(range(32))
FUDGE_SEC = 300
MOST_A_SECOND = 60000
"""Updates that are made before they are sent, for each second of a run."""
PAGE = """# Dynamic updates

Made by `tests/bench/dynamic.py`; nobody edits it. {machine}. {others}

One zone. {clients} clients, each with one update of its own under way: a TXT record comes
to a new name, and goes; signed by HMAC-SHA256 or not. Updates a second, CPU time of all processes of the
server for one, and from sending until the reply, which says that the update is on disk
and served. Server, clients and queries share two cores. With queries, {queries:,} a
second are asked beside: those without an answer, and how long answers took. CPU is of
both then. Medians of {reps} runs of {seconds:g} s.

{table}"""


# ---- messages

def tsig(message, now):
    """The message with a TSIG record of the only key."""
    name, algorithm = wire_name(KEY), wire_name(ALGORITHM)
    times = struct.pack(">HIH", now >> 32, now & 0xffffffff, FUDGE_SEC)
    mac = hmac.digest(SECRET, message + name + struct.pack(">HI", ANY, 0)
                      + algorithm + times + bytes(4), hashlib.sha256)
    rdata = algorithm + times + struct.pack(">H", len(mac)) + mac \
        + message[:2] + bytes(4)
    return message[:10] + b"\0\1" + message[12:] + name + struct.pack(
        ">HHIH", TSIG, ANY, 0, len(rdata)) + rdata


def update(number, name, adds):
    record = wire_record(name, 60, TXT, b"\x2b" + b"x" * 43) if adds else \
        wire_name(name) + struct.pack(">HHIH", ANY, ANY, 0, 0)
    return struct.pack(">HHHHHH", number & 0xffff, 5 << 11, 1, 0, 1, 0) \
        + wire_name(ZONE) + struct.pack(">HH", SOA, 1) + record


def write_messages(path, size, clients, count, signed):
    """Messages of all clients: record n of a client is added, then removed."""
    rng, now = random.Random(size), int(time.time())
    names = []
    with open(path, "wb") as f:
        for at in range(count):
            turn, client = divmod(at, clients)
            if turn % 2 == 0:
                names = names[:client] if client == 0 else names
                names.append(f"_acme-challenge.h{rng.randrange(size)}.c{at}."
                             + ZONE)
            message = update(at, names[client], turn % 2 == 0)
            if signed:
                message = tsig(message, now)
            f.write(struct.pack(">H", len(message)) + message)


def write_zone(path, size):
    with open(path, "w") as f:
        f.write(f"$ORIGIN {ZONE}.\n$TTL 3600\n"
                "@ SOA ns h 1 7200 3600 1209600 300\n@ NS ns\n"
                "ns A 192.0.2.1\n")
        f.writelines(f"h{n} A 10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}\n"
                     for n in range(size))


def write_queries(path, size):
    rng = random.Random(size)
    with open(path, "w") as f:
        f.writelines(f"h{rng.randrange(size)}.{ZONE} A\n"
                     for _ in range(100000))


# ---- configurations

def more_ours(text, signed):
    who = KEY if signed else "NOKEY"
    return text + f"\tallow-update: 127.0.0.1 {who}\n" + (
        f'key:\n\tname: "{KEY}"\n\talgorithm: {ALGORITHM}\n'
        f'\tsecret: "{base64.b64encode(SECRET).decode()}"\n')


def more_bind(text, signed):
    who = f'key "{KEY}"' if signed else "127.0.0.1"
    return f'key "{KEY}" {{ algorithm {ALGORITHM}; secret ' \
        f'"{base64.b64encode(SECRET).decode()}"; }};\n' + text.replace(
            "type primary;", f"type primary; allow-update {{ {who}; }};")


def more_knot(text, signed):
    who = f"    key: {KEY}\n" if signed else "    address: 127.0.0.1\n"
    return text.replace("template:\n", (
        f"key:\n  - id: {KEY}\n    algorithm: {ALGORITHM}\n"
        f"    secret: {base64.b64encode(SECRET).decode()}\n"
        f"acl:\n  - id: update\n{who}    action: update\n"
        "template:\n"), 1).replace(
            "journal-content: none",
            "journal-content: changes\n    acl: update")


MORE = {"ours": more_ours, "bind": more_bind, "knot": more_knot}


def conf(kind, zone_file, signed):
    def make(work, port, workers, zones):
        path = f"{work}/zone"
        subprocess.run(["cp", zone_file, path], check=True)
        name, text = servers.CONFS[kind](work, port, workers, servers.ZoneSet(
            "one", {ZONE: path}))
        return name, MORE[kind](text, signed)
    return make


# ---- runs

class Bench:
    def __init__(self, args, path):
        self.args, self.path = args, path
        self.programs = {"ours": os.path.join(args.build, "nsd")}
        for kind in ("knot", "bind"):
            self.programs[kind] = servers.find_program(servers.RIVALS[kind])
        self.kinds = [kind for kind in args.servers.split(",")
                      if self.programs[kind]]

    def program(self, name):
        return os.path.join(self.args.build, "tests/bench", name)

    def run(self, kind, size, signed):
        """[row without queries, row with them]"""
        probe = servers.ZoneSet("dynamic", probe=(f"h0.{ZONE}", A))
        server = servers.Server(
            kind, self.programs[kind], probe, self.path, "0,1", 1,
            conf=conf(kind, f"{self.path}/zone-{size}", signed))
        try:
            if not server.wait(LIMIT_SEC):
                raise ValueError(f"{kind} does not serve the zone")
            wait_settled(server, 60)
            return [self.measure(server, size, signed, queries)
                    for queries in (False, True)]
        finally:
            server.stop()

    def measure(self, server, size, signed, queries):
        args = self.args
        messages = f"{self.path}/messages"
        write_messages(messages, size, args.clients,
                       int(MOST_A_SECOND * args.seconds), signed)
        beside = queries and subprocess.Popen(
            [self.program("load"), "-t", str(args.seconds), "-r",
             str(args.queries), "-i", "-l", "1000", "-w", "4000", "udp",
             str(server.port), f"{self.path}/queries-{size}"],
            stdout=subprocess.PIPE, text=True)
        spent = server.start_cpu_sec()
        got = json.loads(subprocess.run(
            [self.program("send_updates"), "-c", str(args.clients), "-t",
             str(args.seconds), str(server.port), messages], check=True,
            stdout=subprocess.PIPE, text=True).stdout)
        got["cpu"] = server.start_cpu_sec() - spent
        if got["rcodes"][0] != got["answered"] or not got["answered"]:
            raise ValueError(f"RCODEs of answers: {got['rcodes']}")
        got["queries"] = json.loads(beside.communicate(timeout=60)[0]) \
            if beside else None
        return got

    def row(self, kind, size, signed, runs):
        def mid(get, form="{:.1f}"):
            values = [get(run) for run in runs]
            return "" if None in values else form.format(
                report.median(values))

        def of_queries(what, scale=1):
            return lambda run: run["queries"] and run["queries"][what] / scale

        return [
            kind, f"{size:,}", "yes" if signed else "no",
            "yes" if runs[0]["queries"] else "no",
            mid(lambda run: run["in_time"] / run["seconds"], "{:,.0f}"),
            mid(lambda run: run["cpu"] / run["answered"] * 1e6, "{:.0f}"),
            mid(lambda run: run["p50"] / 1e3), mid(lambda run: run["p99"] / 1e3),
            mid(lambda run: run["max"] / 1e3),
            mid(lambda run: run["again"], "{:.0f}"),
            mid(of_queries("lost"), "{:.0f}"), mid(of_queries("p50", 1e3)),
            mid(of_queries("p99", 1e3)), mid(of_queries("max", 1e3))]

    def table(self):
        rows = []
        sizes = list(map(int, self.args.sizes.split(",")))
        for size, signed in [*((size, True) for size in sizes),
                             (sizes[0], False)]:
            write_zone(f"{self.path}/zone-{size}", size)
            write_queries(f"{self.path}/queries-{size}", size)
            runs = {kind: [] for kind in self.kinds}
            for _ in range(self.args.reps):
                for kind in self.kinds:
                    try:
                        runs[kind].append(self.run(kind, size, signed))
                    except (ValueError, OSError) as error:
                        print(f"{kind}, {size}: {error}", file=sys.stderr)
            for kind in self.kinds:
                for part in zip(*runs[kind]):
                    rows.append(self.row(kind, size, signed, part))
                    print(rows[-1], file=sys.stderr, flush=True)
        return report.table([
            "server", "names", "signed", "queries", "updates a second", "CPU, us",
            "p50, ms", "p99, ms", "max, ms", "sent again", "lost answers",
            "query p50, ms", "p99, ms", "max, ms"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    parser.add_argument("--build", default=".")
    parser.add_argument("--tmp", default=None)
    parser.add_argument("--sizes", default="10000,1000000")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--servers", default="ours,bind,knot")
    parser.add_argument("--doc")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    others = {}
    watch = machine.Others(others)
    watch.part = "dynamic"
    with tempfile.TemporaryDirectory(dir=args.tmp) as path:
        with watch.watched():
            table = Bench(args, path).table()
    print(table)
    if args.doc:
        with open(args.doc, "w") as f:
            f.write(PAGE.format(
                machine=machine.name(), clients=args.clients,
                others=machine.others_text(others.get("dynamic")),
                queries=args.queries, reps=args.reps, seconds=args.seconds,
                table=table))


if __name__ == "__main__":
    main()
