#!/usr/bin/env python3
"""A whole server, driven with updates, reloads, zones that come and go,
connections and queries: none of its processes grows.

usage: tests/soak/server.py --build DIR [--updates N] [--zones N]
                            [--delegations N] [--seed N] [--caches]
                            [--store-percent N] [--keep DIR]

All is back to what the files said at the start whenever it is measured. The
start is measured after a tenth as many updates (2000 if that is more) and all
other kinds of work: pages that are written once, when something is done for
the first time (stacks, what the loader of programs puts off), are there then.

The C library's caches of freed blocks are off, so that octets in use are
exact and pages hold what is in use; --caches leaves them on, as they are for
everybody else, and allows each process what they may come to keep.
"""
import argparse
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import dns.message

import changes
import footprint

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 10
BATCH = 50        # updates on their way at once
CONNECTIONS = 60
WORKERS = 2


class Soak:
    def __init__(self, args, directory):
        self.args = args
        self.rng = random.Random(args.seed)
        self.directory = directory
        subprocess.run([f"{args.build}/tests/bench/gen_zone", "tld",
                        str(args.delegations), "1", directory], check=True)
        for path in pathlib.Path(directory).glob("tld.*"):
            if path.name != "tld.zone":
                path.unlink()
        self.large = changes.Large(f"{directory}/tld.zone")
        self.small = changes.Small(directory, args.zones)
        self.answers = b""
        self.connections, self.asked, self.opened = [], 0, 0
        self.sent = self.refused = self.reloads = self.came = 0
        self.server = harness.Server(
            directory, updates=True, options={
                "server-count": WORKERS, "tcp-count": 2 * CONNECTIONS},
            extra=f'zone:\n\tname: bench\n\tzonefile: "tld.zone"\n'
            f'pattern:\n\tname: added\n\tzonefile: "%s.added"\n'
            + "".join(f"zone:\n\tname: {self.small.name(z)}\n\tzonefile: "
                      f"{self.small.name(z)}.zone\n"
                      for z in range(args.zones)))
        self.server.environment["NSD_HEAP_REPORTS"] = directory
        self.server.environment.update(
            {} if args.caches else footprint.NO_CACHES)

    # ---- what it is asked to do

    def send(self, lines, answers):
        """Commands, and their answers; queries in between."""
        data = lines.encode()
        pipe = self.server.process
        seen = 0
        late = time.monotonic() + harness.DEADLINE
        while data or seen < answers:
            if time.monotonic() > late:
                raise TimeoutError(f"{seen} of {answers} answers")
            self.queries(4)
            _, writable, _ = select.select([], [pipe.stdin] if data else [],
                                           [], 0)
            if writable:
                data = data[os.write(pipe.stdin.fileno(), data[:4096]):]
            if select.select([pipe.stdout], [], [], 0 if data else 0.001)[0]:
                got = os.read(pipe.stdout.fileno(), 65536)
                if not got:
                    raise RuntimeError("the server has ended")
                self.answers += got
                *whole, self.answers = self.answers.split(b"\n")
                seen += len(whole)
                for line in whole:
                    if not re.match(rb"\d+ ok ", line):
                        self.refused += 1
                        print("refused:", line.decode(), flush=True)

    def updates(self, count):
        while count > 0:
            batch = min(count, BATCH)
            self.send("".join(self.change() for _ in range(batch)), batch)
            self.sent += batch
            count -= batch
            self.connect()

    def change(self):
        if self.rng.random() < 0.5:
            return self.small.change(self.rng)
        return self.large.change(self.rng)

    def zones_come_and_go(self, count):
        """With a pattern and a file."""
        for i in range(count):
            name = f"added{i % 7}.test"
            changes.write_file(f"{self.directory}/{name}.added",
                               self.small.text(i))
            self.send(f"addzone {name} added\n", 1)
            self.send(f"delzone {name}\n", 1)
            self.came += 1

    def reload(self, large):
        """Some files are new, then all files are as they were."""
        some = self.rng.sample(range(self.small.count),
                               max(self.small.count // 20, 1))
        for extra in ("more TXT more\n", ""):
            for z in some:
                self.small.write(z, extra)
            expected = {self.small.name(z): self.small.serials[z]
                        for z in some}
            if large:
                self.large.touch()
                expected["bench"] = self.large.generation
            self.server.signal(signal.SIGHUP)
            for name, serial in expected.items():
                while self.server.serial(name) != serial:
                    self.queries(4)
                    self.connect()
            self.reloads += 1

    def undo(self):
        """Reverts all changes, so that zones are as in their files."""
        for slot in sorted(self.large.present):
            self.send(self.large.toggle(slot, False, self.rng), 1)
        for z in sorted(self.small.dirty):
            self.send(self.small.undo(z), 1)
        self.reload(True)

    # ---- who asks meanwhile

    def prepare(self):
        names = self.rng.sample(self.large.names,
                                min(len(self.large.names), 1000)) + [
            f"{self.rng.getrandbits(40):x}.bench" for _ in range(500)] + [
            f"{label}.{self.small.name(self.rng.randrange(self.small.count))}"
            for _ in range(1000) for label in ("www", "v", "h3", "none")]
        self.wires = [dns.message.make_query(
            name, self.rng.choice(["A", "TXT", "DS", "NS"]),
            want_dnssec=self.rng.random() < 0.5).to_wire() for name in names]
        self.sockets = []
        for _ in range(8):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect(("127.0.0.1", self.server.port))
            s.settimeout(5)
            self.sockets.append(s)

    def queries(self, count):
        for _ in range(count):
            s = self.rng.choice(self.sockets)
            s.send(self.rng.choice(self.wires))
            s.recv(65535)
            self.asked += 1

    def connect(self):
        """Some connections end, others begin; each asks once in a while."""
        for _ in range(2):
            if self.connections and self.rng.random() < 0.5:
                self.connections.pop(
                    self.rng.randrange(len(self.connections))).close()
            if len(self.connections) < CONNECTIONS:
                self.connections.append(socket.create_connection(
                    ("127.0.0.1", self.server.port), 5))
                self.opened += 1
        for s in self.rng.sample(self.connections,
                                 min(len(self.connections), 3)):
            try:
                ask(s, self.rng.choice(self.wires))
                self.asked += 1
            except ConnectionError:
                # The connection was idle for too long.
                self.connections.remove(s)
                s.close()

    def disconnect(self):
        for s in self.connections:
            s.close()
        self.connections = []

    # ---- the course of it

    def settle(self, what):
        self.disconnect()
        roles = self.server.roles()
        look = {"at": 0}

        def measure():
            now = time.monotonic()
            # A worker that sleeps would keep what it has mapped; the store's
            # line says if something waits for readers.
            if now - look["at"] > 1:
                look["at"] = now
                self.queries(16)
            return footprint.Footprint(roles)
        known = len(self.server.read_log())
        found = footprint.settled(measure, self.args.steady)
        found.read_heaps(self.directory)
        self.server.signal(signal.SIGUSR1)
        store = self.server.wait_log(r"STORE (.*)", known)[1]
        print(f"-- {what}, {time.monotonic() - self.began:.0f} s: "
              f"{self.sent} updates, {self.reloads} reloads, {self.came} zones"
              f" came and went, {self.opened} connections, {self.asked} "
              "queries")
        for row in found.rows():
            print("   " + row)
        numbers = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", store)}
        found.live = numbers["live"]
        print(f"   store: live {numbers['live']}, free among it "
              f"{numbers['free']} ({numbers['free'] * 100 / numbers['live']:.1f}"
              f" %), pages {numbers['mapped']}, waiting {numbers['retired']},"
              f" given back {numbers['given_back']}, used again "
              f"{numbers['reclaimed_total']}", flush=True)
        return found

    def round(self, updates):
        part = max(updates // 4, 1)
        for n in range(4):
            self.updates(part)
            self.zones_come_and_go(max(part // 50, 1))
            self.reload(n == 3)

    def run(self):
        self.began = time.monotonic()
        server = self.server.start()
        self.prepare()
        server.wait_log(r"zones: \d+ read")
        loaded = self.settle("loaded")
        # A first round, so that everything has been done once, and every page
        # read.
        self.round(max(self.args.updates // 10, 2000))
        self.undo()
        start = self.settle("start")
        self.sent = 0
        for n in range(self.args.rounds):
            self.round(self.args.updates // self.args.rounds)
            self.undo()
            end = self.settle(f"round {n + 1} of {self.args.rounds}")
        limits = self.args.caches, self.args.store_percent
        print("since it was loaded, before anything was changed:")
        print("\n".join(footprint.compare(loaded, end, *limits)[0]))
        print("since the start:")
        rows, wrong = footprint.compare(start, end, *limits)
        print("\n".join(rows))
        if self.refused:
            wrong.append(f"{self.refused} changes were refused")
        return wrong


def ask(s, wire):
    """A query over TCP."""
    s.sendall(len(wire).to_bytes(2, "big") + wire)
    reply = b""
    while len(reply) < 2 or \
            len(reply) < 2 + int.from_bytes(reply[:2], "big"):
        got = s.recv(65535)
        if not got:
            raise ConnectionError("closed")
        reply += got


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--updates", type=int, default=100000)
    p.add_argument("--zones", type=int, default=1000)
    p.add_argument("--delegations", type=int, default=100000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--rounds", type=int, default=ROUNDS)
    p.add_argument("--steady", type=float, default=3)
    p.add_argument("--caches", action="store_true")
    p.add_argument("--store-percent", type=float, default=footprint.PERCENT)
    p.add_argument("--keep", help="a directory for all its files")
    return p.parse_args()


def main(args):
    directory = args.keep or tempfile.mkdtemp(prefix="nsd-soak-")
    soak = Soak(args, directory)
    try:
        wrong = soak.run()
    finally:
        left = soak.server.clean_up()
        if not args.keep:
            shutil.rmtree(directory)
    for what in wrong:
        print("FAILED:", what)
    print(f"seed {args.seed}, {time.monotonic() - soak.began:.1f} s")
    return 1 if wrong or left else 0


if __name__ == "__main__":
    ARGS = arguments()
    os.environ["NSD_BUILD"] = ARGS.build
    sys.path[:0] = [str(HERE.parent / "blackbox"), str(HERE.parent / "lib")]
    import harness  # looks for the build when imported
    sys.exit(main(ARGS))
