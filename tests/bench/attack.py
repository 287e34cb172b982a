#!/usr/bin/env python3
"""Measures what TCP clients that mean harm do to those who ask over UDP.

    attack.py [--build DIR] [--servers NAME,...] [--rate R] [--seconds S]
              [--reps N] [--modes NAME,...] [--first] [--doc FILE]

Each server runs with one worker on core 0. Core 1 has the attacker of
tests/blackbox/tcp_attack.py, and a UDP client which comes before it there, so
that what it waits for is the server. The same client asks an echo on core 0
which comes before the server: while that does not answer, the machine stands
still. For each server and attack: datagrams sent and not answered, the 99.9th
percentile and the slowest answer, both also without the time for which the echo
did not answer, how long that was at most, and how much memory the kernel held
for the server's TCP. As a table in Markdown; --doc writes the page of doc/performance with it.
--first is for a machine that others use: the server comes before these.
"""
import argparse
import contextlib
import json
import os
import re
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
from ports import free_port  # noqa: E402

ATTACKER = os.path.join(HERE, os.pardir, "blackbox", "tcp_attack.py")
PYTHON = "/usr/bin/python3"  # the one with Debian's dnspython
MODES = ["none", "never-reads", "reads-slowly", "tiny-window",
         "tiny-requests", "tiny-then-big", "half-closes", "half-closes-tiny",
         "never-asks", "comes-and-goes", "transfers"]
PAGE = """# Attacks over TCP

Made by `tests/bench/attack.py`; nobody edits it. {machine}.
{others}

One client asks {rate} times a second over UDP while clients of one kind attack
over TCP; turns of {seconds:g} s, {reps} of each{first}. Counts are
sums, the 99.9th percentiles medians of the turns, memory (what the kernel holds
for TCP on the server's side) the most of them. A virtual machine stands still at
times. So the client asks an echo beside the server, on the same core and before
it: *own* is without the time for which the echo did not answer, *stood still*
the longest of it. Other programs of the machine have the core at times, too, and
the echo does not see that. So of the slowest answers of the turns two are shown:
their median and the slowest of all. The attacks are those of
`tests/blackbox/tcp_attack.py`.

{table}"""
FIRST = ", the servers at nice -20"
ZONE = """$TTL 3600
@ SOA ns host 1 7200 3600 1209600 300
@ NS ns
ns A 192.0.2.53
www A 192.0.2.1
big TXT """ + " ".join(['"' + "x" * 250 + '"'] * 200) + "\n" + \
    "".join(f"h{i} A 192.0.2.1\n" for i in range(20000))


def tcp_kib(port):
    """Received, queued to be sent, and kept free for more, in the sockets of
    that port."""
    said = subprocess.run(["ss", "-tmnH", f"sport = :{port}"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return sum(int(n) for found in re.findall(
        r"skmem:\(r(\d+),.*?,f(\d+),w(\d+)", said) for n in found) >> 10


class Memory(threading.Thread):
    """The most that the kernel held for the server's TCP."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.most, self.ends = port, 0, False
        self.start()

    def run(self):
        while not self.ends:
            self.most = max(self.most, tcp_kib(self.port))
            time.sleep(0.2)

    def stop(self):
        self.ends = True
        self.join()
        return self.most


def conf_of(kind):
    """Transfers are allowed, as BIND does anyway."""
    def make(*args):
        name, text = servers.CONFS[kind](*args)
        if kind in ("ours", "nsd"):
            text += "\tprovide-xfr: 127.0.0.1 NOKEY\n"
        elif kind == "knot":
            text = text.replace("zone:\n", "acl:\n  - id: all\n"
                                "    address: 127.0.0.1\n"
                                "    action: transfer\nzone:\n")
            text += "    acl: all\n"
        return name, text
    return make


@contextlib.contextmanager
def echo(build):
    """Runs the echo, with priority over all else on the servers' core. Gives
    its port."""
    port = free_port()
    process = subprocess.Popen(
        ["taskset", "-c", "0", "chrt", "-f", "1",
         os.path.join(build, "tests/bench/echo"), "udp", str(port)])
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def measure(args, server, mode, queries):
    attacker = None
    if mode != "none":
        attacker = subprocess.Popen(
            ["taskset", "-c", "1", PYTHON, ATTACKER, mode, str(server.port),
             str(args.seconds + 2)], stdout=subprocess.PIPE, text=True)
        attacker.stdout.readline()  # "ready"
        time.sleep(0.5)
    memory = Memory(server.port)
    line = subprocess.run(
        ["taskset", "-c", "1", "nice", "-n", "-20",
         os.path.join(args.build, "tests/bench/load"), "-t",
         str(args.seconds), "-r", str(args.rate), "-w", "4096", "-c", "4",
         "-l", "500", "-b", str(args.echo), "udp", str(server.port), queries],
        check=True, text=True, stdout=subprocess.PIPE).stdout
    most = memory.stop()
    if attacker is not None:
        attacker.wait()
    time.sleep(0.5)
    return json.loads(line), most


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=".")
    parser.add_argument("--servers", default="ours,nsd,knot,bind")
    parser.add_argument("--rate", type=int, default=15000)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--doc")
    args = parser.parse_args()
    # The watcher must not run on the servers' core.
    os.sched_setaffinity(0, {1})
    with tempfile.TemporaryDirectory(prefix="nsd-attack-") as work, \
            echo(args.build) as args.echo:
        others = {}
        watch = machine.Others(others)
        watch.part = "attack"
        with watch.watched():
            rows = measure_all(args, work)
    table = report.table(["server", "attack", "sent", "not answered",
                          "99.9 %, ms", "own", "slowest own, ms",
                          "of all", "stood still, ms", "TCP memory, MiB"], rows)
    print(table)
    if args.doc:
        with open(args.doc, "w") as f:
            f.write(PAGE.format(
                rate=args.rate, seconds=args.seconds, reps=args.reps,
                machine=machine.name(), table=table,
                others=machine.others_text(others["attack"]),
                first=FIRST if args.first else ""))


def measure_all(args, work):
    rows = []
    zone = os.path.join(work, "example.zone")
    with open(zone, "w") as f:
        f.write(ZONE)
    queries = os.path.join(work, "queries")
    with open(queries, "w") as f:
        f.write("www.example A\n")
    zones = servers.ZoneSet("attack", {"example": zone},
                            probe=("www.example", 1))
    for kind in args.servers.split(","):
        program = os.path.join(args.build, "nsd") if kind == "ours" \
            else servers.find_program(servers.RIVALS[kind])
        server = servers.Server(kind, program, zones, work,
                                conf=conf_of(kind))
        try:
            if not server.wait(30):
                sys.exit(f"{kind} did not serve the zone")
            for pid in server.pids() if args.first else []:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    os.setpriority(os.PRIO_PROCESS, int(thread), -20)
            for mode in args.modes.split(","):
                got = [measure(args, server, mode, queries)
                       for _ in range(args.reps)]
                rows.append(row(kind, mode, got))
                print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        finally:
            server.stop()
    # By attack, the servers below each other.
    rows.sort(key=lambda r: args.modes.split(",").index(r[1]))
    return rows


def row(kind, mode, got):
    """A row of the table, of all repetitions: the sum of the counts, the
    median of the 99.9th percentiles and of the slowest, and the most."""
    counts = [g for g, _ in got]
    sent = sum(c["sent"] for c in counts)
    return [kind, mode, str(sent),
            str(sent - sum(c["answered"] for c in counts)),
            *(f"{report.median([c[k] for c in counts]) / 1000:.2f}"
              for k in ("p999", "own_p999", "own_max")),
            *(f"{max(c[k] for c in counts) / 1000:.2f}"
              for k in ("own_max", "stood_max")),
            f"{max(most for _, most in got) / 1024:.1f}"]


if __name__ == "__main__":
    main()
