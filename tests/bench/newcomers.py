#!/usr/bin/env python3
"""Measures how long the first client of another network waits over TCP behind
clients of one network that have taken all places.

    newcomers.py [--build DIR] [--servers NAME,...] [--workers N,...]
                 [--places N,...] [--count N] [--turns N] [--limit S]
                 [--first] [--doc FILE]

The crowd is that of tests/lib/tcp_crowd.py. Some time after it has come, one
client after the other, each of a network of its own, connects, asks once and
waits. As a table in Markdown; --doc writes the page of doc/performance with it.
--first is for a machine that others use: servers and newcomers come before these,
and before the crowd.
"""
import argparse
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIB = os.path.join(HERE, os.pardir, "lib")
sys.path[:0] = [HERE, LIB]
import attack  # noqa: E402
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402
import tcp_crowd  # noqa: E402

MODES = ["pipelines", "transfers"]
SOON, LATER = 0.2, 2  # seconds from the crowd to the first, and to the others
OTHERS = 5
PAGE = """# Newcomers over TCP

Made by `tests/bench/newcomers.py`; nobody edits it. {machine}.
{others}

{count} clients of one network connect at once and stay: *pipelines* ask without
an end and read nothing; *transfers* ask for a zone of 20,000 records and read
10 KB a second. Whom the server sends away comes back after 0.2 s. Seconds that
clients of other networks wait from the beginning of their connection to the
answer: the *first* of them, {soon} s behind the crowd, medians and the most of
{turns} turns; and *{more} others*, one after the other from {later} s on, of all turns.
*-*: the client had no answer after {limit} s.{first}

{table}"""
FIRST = """ Servers and newcomers came before all
other programs (`--first`)."""


def ask(port, source, limit):
    """How long it waits, or None."""
    begun = time.monotonic()
    while (left := begun + limit - time.monotonic()) > 0:
        try:
            with socket.create_connection(("127.0.0.1", port), left,
                                          (source, 0)) as client:
                client.sendall(tcp_crowd.request("www.example", 1))
                if len(client.recv(512)) > 14:
                    return time.monotonic() - begun
        except OSError:
            pass
        time.sleep(0.01)
    return None


def conf_of(kind, places):
    def make(*args):
        name, text = attack.conf_of(kind)(*args)
        return name, text.replace("tcp-count: 1000", f"tcp-count: {places}") \
            .replace("clients: 1000", f"clients: {places}") \
            .replace("clients 1000", f"clients {places}")
    return make


def come_first(pid, nice=-20):
    """All of its session, by which the kernel shares the processors."""
    with open(f"/proc/{pid}/autogroup", "w") as f:
        f.write(str(nice))


def turn(args, program, kind, zones, work, workers, places, mode):
    server = servers.Server(kind, program, zones, work, "0-1", workers,
                            conf_of(kind, places))
    crowd = None
    try:
        if not server.wait(30):
            sys.exit(f"{kind} did not serve the zone")
        crowd = subprocess.Popen(
            [sys.executable, tcp_crowd.__file__, mode, str(server.port),
             str(args.count), str(args.limit * (OTHERS + 1) + 60)],
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        if args.first:
            come_first(server.process.pid)
        crowd.stdout.readline()
        time.sleep(SOON)
        first = ask(server.port, "127.9.9.1", args.limit)
        time.sleep(LATER)
        others = [None if first is None else
                  ask(server.port, f"127.9.{i + 20}.1", args.limit)
                  for i in range(OTHERS)]
    finally:
        if crowd is not None:
            crowd.kill()
            crowd.wait()
        server.stop()
    return first, others


def shown(waits, limit):
    """Median and most."""
    waits = [limit if wait is None else wait for wait in waits]
    return [f"{w:.3f}" if w < limit else "-"
            for w in (report.median(waits), max(waits))]


def measure_all(args, work):
    rows = []
    zone = os.path.join(work, "example.zone")
    with open(zone, "w") as f:
        f.write(attack.ZONE)
    zones = servers.ZoneSet("crowd", {"example": zone},
                            probe=("www.example", 1))
    for mode in MODES:
        for places in args.places.split(","):
            for workers in args.workers.split(","):
                for kind in args.servers.split(","):
                    program = os.path.join(args.build, "nsd") \
                        if kind == "ours" \
                        else servers.find_program(servers.RIVALS[kind])
                    got = [turn(args, program, kind, zones, work,
                                int(workers), places, mode)
                           for _ in range(args.turns)]
                    firsts = [first for first, _ in got]
                    others = [o for _, others in got for o in others]
                    rows.append([mode, places, workers, kind,
                                 *shown(firsts, args.limit),
                                 *shown(others, args.limit)])
                    print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=".")
    parser.add_argument("--servers", default="ours,nsd,knot")
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--places", default="100,1000")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--doc")
    args = parser.parse_args()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    if args.first:
        come_first(os.getpid())
    with tempfile.TemporaryDirectory(prefix="nsd-newcomers-") as work:
        others = {}
        watch = machine.Others(others)
        watch.part = "newcomers"
        with watch.watched():
            rows = measure_all(args, work)
    if args.first:
        come_first(os.getpid(), 0)
    table = report.table(["crowd", "places", "workers", "server", "first, s",
                          "most", "others, s", "most"], rows)
    print(table)
    if args.doc:
        with open(args.doc, "w") as f:
            f.write(PAGE.format(
                count=args.count, soon=SOON, later=LATER, turns=args.turns,
                first=FIRST if args.first else "",
                more=OTHERS, limit=f"{args.limit:g}", table=table,
                machine=machine.name(),
                others=machine.others_text(others["newcomers"])))


if __name__ == "__main__":
    main()
