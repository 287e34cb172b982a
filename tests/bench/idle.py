#!/usr/bin/env python3
"""Measures what connections cost that are open and ask nothing.

    idle.py [--build DIR] [--count N] [--seconds S] [--rate R] [--first]
            [--doc FILE]

N connections over TCP and N over TLS are opened, one kind after the other; each
asks once and stays. Before, between and behind, a client asks over UDP; what it
lost, how long answers took, what the workers' memory and the kernel's have grown
by, and the workers' time on a processor while nobody asks anything, become a
table in Markdown. At the end each connection asks again: who gets no answer was
cut. --doc writes the page of doc/performance with it. --first is for a machine
that others use: the server and who asks it come before these.

Two workers share the connections: a limit of 20,000 open files, as systems have
it, is then enough for 20,000 of them.
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import attack  # noqa: E402
import machine  # noqa: E402
import report  # noqa: E402
import tls_server  # noqa: E402
from certificates import Authority  # noqa: E402

WORKERS = 2
REST_SEC = 10
PAGE = """# Idle connections

Made by `tests/bench/idle.py`; nobody edits it. {machine}. {others}

{count} connections over TCP and {count} over TLS 1.3, each idle after one query,
with {workers} workers. Beside them {rate} questions a second over UDP for {seconds:g}
seconds. *Worker*: private memory of the workers, for each connection of the row's
kind; *kernel*: what the kernel's slabs grew by for each, both ends of it, since the
clients are on the same machine. *At rest*: how long the workers ran while nobody
asked anything, of a second.{first}

{table}
At the end each connection asked again, and {alive} of {all} were answered.
"""
FIRST = """ Server and asker came before all other programs
(`--first`)."""


def from_network(number):
    """Clients of many networks, as they come in the field."""
    return f"127.{number // 200 % 250 + 1}.{number // 50000}.1"


class Holder:
    """A process that holds connections."""

    def __init__(self, port, count, context):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(
            target=self.run, args=(other, port, count, context))
        self.process.start()
        other.close()
        self.pipe.recv()

    def check(self):
        self.pipe.send("check")
        return self.pipe.recv()

    def end(self):
        self.pipe.send(None)
        self.process.join()

    @staticmethod
    def run(pipe, port, count, context):
        held = []
        for number in range(count):
            sock = socket.create_connection(
                ("127.0.0.1", port), 60, (from_network(number), 0))
            held.append(context.wrap_socket(sock) if context else sock)
            held[-1].sendall(tls_server.query(number))
            tls_server.read_answers(held[-1], 1)
        pipe.send("ready")
        while pipe.recv() is not None:
            pipe.send(sum(map(Holder.asks, held)))

    @staticmethod
    def asks(sock):
        try:
            sock.sendall(tls_server.query(1))
            tls_server.read_answers(sock, 1)
            return True
        except (OSError, EOFError):
            return False


class Server(tls_server.Server):
    """The server of tls_server.py with several workers, and time-outs that are
    longer than any run."""

    conf = tls_server.CONF.replace(
        "server-count: 1", f"server-count: {WORKERS}\n\treuseport: yes\n"
        "\ttcp-timeout: 3600")

    def workers(self):
        found = []
        for pid in tls_server.children(self.process.pid):
            name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            if name.startswith("nsd: server"):
                found.append(pid)
        return found

    def memory(self):
        """Private, octets."""
        total = 0
        for pid in self.workers():
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += 1024 * sum(int(n) for n in re.findall(
                r"^Private_(?:Dirty|Clean): +(\d+)", text, re.M))
        return total

    def ran_msec(self):
        return sum(int(pathlib.Path(f"/proc/{pid}/schedstat").read_text()
                       .split()[0]) for pid in self.workers()) / 1e6


class Idle:
    def __init__(self, args, directory):
        self.args = args
        files = Authority(directory / "certificates").sign("ns.example")
        # More than twice what a worker holds: from half on, time-outs shrink.
        self.server = Server(
            str(pathlib.Path(args.build) / "nsd"), directory / "ours", files,
            3 * args.count + 100)
        for pid in self.server.workers() if args.first else []:
            os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))
        self.queries = directory / "queries"
        self.queries.write_text("ns.example A\n" * 100)
        self.rows = []

    def ask(self, beside):
        line = subprocess.run(
            [*(["chrt", "-f", "1"] if self.args.first else []),
             os.path.join(self.args.build, "tests/bench/load"), "-t",
             str(self.args.seconds), "-r", str(self.args.rate), "-w", "4096",
             "-c", "4", "-l", "500", "-b", str(beside), "udp",
             str(self.server.plain), str(self.queries)],
            check=True, text=True, stdout=subprocess.PIPE).stdout
        return json.loads(line)

    def rest(self):
        """Milliseconds of a second."""
        before = self.server.ran_msec()
        time.sleep(REST_SEC)
        return (self.server.ran_msec() - before) / REST_SEC

    def measure(self, what, beside, hold=None):
        memory, slab = self.server.memory(), machine.meminfo("Slab")
        holder = hold() if hold else None
        grown = [(self.server.memory() - memory) / self.args.count,
                 (machine.meminfo("Slab") - slab) / self.args.count]
        rest = self.rest()
        got = self.ask(beside)
        self.rows.append(
            [what, *(f"{n:.0f}" if hold else "-" for n in grown),
             f"{rest:.2f}", str(got["sent"]),
             str(got["sent"] - got["answered"]),
             *(f"{got[k] / 1000:.2f}" for k in
               ("p50", "p999", "max", "own_max", "stood_max"))])
        print(" | ".join(self.rows[-1]), file=sys.stderr, flush=True)
        return holder

    def run(self):
        count = self.args.count
        with attack.echo(self.args.build) as beside:
            self.measure("none", beside)
            holders = [
                self.measure(f"{count} TCP", beside, lambda: Holder(
                    self.server.plain, count, None)),
                self.measure(f"and {count} TLS", beside, lambda: Holder(
                    self.server.tls, count, self.server.context))]
            alive = sum(holder.check() for holder in holders)
            for holder in holders:
                holder.end()
        return alive


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--doc")
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    others = {}
    with tempfile.TemporaryDirectory(prefix="nsd-idle-") as directory:
        watch = machine.Others(others)
        watch.part = "idle"
        with watch.watched():
            idle = Idle(args, pathlib.Path(directory))
            try:
                alive = idle.run()
            finally:
                idle.server.stop()
    table = report.table(
        ["held", "worker, octets", "kernel, octets", "at rest, ms", "asked",
         "lost", "median, ms", "99.9 %", "slowest", "own", "stood still"],
        idle.rows)
    print(table)
    print(f"{alive} of {2 * args.count} were answered at the end")
    if args.doc:
        pathlib.Path(args.doc).write_text(PAGE.format(
            machine=machine.name(), others=machine.others_text(
                others["idle"]), count=args.count, workers=WORKERS,
            rate=args.rate, seconds=args.seconds, table=table, alive=alive,
            first=FIRST if args.first else "",
            all=2 * args.count))


if __name__ == "__main__":
    main()
