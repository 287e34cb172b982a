#!/usr/bin/env python3
"""Measures what nsd-control asks for, beside NSD's server.

    control.py [--build DIR] [--tmp DIR] [--count N] [--nsd-count N]
               [--reps N] [--turns N] [--servers NAME,...] [--doc FILE]

Each server, on all cores, with one zone at first. --count zones with a file each
are added with one `addzones` (--nsd-count for NSD); then single ones are added
and go, and `stats_noreset` is asked for, --turns times; then all go with one
`delzones`. Then each server starts with as many zones in its nsd.conf, of
which one is changed again and again, with a `reconfig` each, while a client asks
a thousand times a second; it asks for as long again beside nothing. Medians of
--reps starts. As tables in Markdown; --doc writes the page of doc/performance
with them.
"""
import argparse
import contextlib
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402

SOA = 6
LIMIT_SEC = 600
ASK_SEC = 0.001
ROLES = ("main", "loader", "xfrd")
ZONE = ("$TTL 3600\n@ SOA ns host 1 3600 900 604800 900\n@ NS ns\n"
        "ns A 192.0.2.1\n@ MX 10 mail\nmail A 192.0.2.2\nwww A 192.0.2.3\n"
        "www AAAA 2001:db8::3\n")
PAGE = """# nsd-control

Made by `tests/bench/control.py`; nobody edits it. {machine}. {others}

{count} zones of seven records, a file each in memory ({nsd_count} with NSD); two cores,
two workers; medians of {reps} starts, each with medians of {turns} turns. *Served*: from
sending `addzone` until the zone is answered for; *slowest*: of all turns.

## Many at once

{many}
*Said*: until the command has its answer; *served*: until the last zone is answered for.
*Memory*: the sum of PSS of all processes, before any was there, with all of them, and
when all had gone.

{roles}
## One of many

{one}
## `reconfig` with one zone changed

All zones stand in nsd.conf. A client, which comes before all other programs, asks a
thousand times a second meanwhile, and for as long beside nothing: the virtual machine
stands still at times.

{reconfig}"""


def zone_name(n):
    return f"z{n}.many"


def conf(kind, files, clauses):
    """For servers.Server; clauses: of so many zones in nsd.conf."""
    def make(work, port, workers, zones):
        name, text = servers.conf_nsd(work, port, workers, zones)
        text = text.replace("control-enable: no", "control-enable: yes\n"
                            f'\tcontrol-interface: "{work}/control"')
        if kind != "ours":
            text = text.replace('database: ""\n', 'database: ""\n'
                                "\tzonefiles-check: no\n")
        text = text.replace("server:\n", "server:\n\tzonefiles-write: 0\n", 1)
        text += f'pattern:\n\tname: "p"\n\tzonefile: "{files}/%s"\n'
        for n in range(clauses):
            text += f'zone:\n\tname: "{zone_name(n)}"\n\tinclude-pattern: p\n'
        return name, text
    return make


class Asker:
    """Asks for one zone a thousand times a second, in a process."""

    def __init__(self, port, name):
        self.theirs, self.ours = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=self.run,
                                               args=(port, name))
        self.process.start()

    def run(self, port, name):
        # What it waits for is the server, then, and not the bench's core.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(("127.0.0.1", port))
        sock.settimeout(2)
        took, due = [], time.monotonic()
        while not self.theirs.poll(max(0, due - time.monotonic())):
            due = max(due + ASK_SEC, time.monotonic())
            begin = time.monotonic()
            sock.send(servers.wire_query(name, SOA, len(took) & 0xffff))
            with contextlib.suppress(OSError):
                sock.recv(4096)
            took.append(time.monotonic() - begin)
        self.theirs.send(took)

    def end(self):
        """Seconds that each answer took; 2: there was none."""
        self.ours.send(None)
        took = self.ours.recv()
        self.process.join()
        return took


class Run:
    """One server that is asked for things."""

    def __init__(self, bench, kind, clauses=0):
        self.kind = kind
        self.count = clauses or bench.count(kind)
        probe = servers.ZoneSet("control", {"one": f"{bench.files}/one"},
                                probe=("one", SOA))
        self.server = servers.Server(
            kind, bench.programs[kind], probe, bench.path, "0,1", 2,
            conf=conf(kind, bench.files, clauses))
        self.path = os.path.join(self.server.work, "control")
        self.client = os.path.join(bench.args.build, "nsd-control")
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.connect(("127.0.0.1", self.server.port))
        self.sock.settimeout(2)
        if not self.server.wait(LIMIT_SEC) \
                or not self.wait(zone_name(clauses - 1) if clauses else "one"):
            raise ValueError(f"{kind} does not serve")

    def bulk(self, verb, lines):
        """With our nsd-control: NSD's waits for ever if there are many."""
        subprocess.run([self.client, "-c", f"{self.server.work}/nsd.conf",
                        verb], input="".join(lines).encode(), check=True,
                       stdout=subprocess.DEVNULL)

    def control(self, *words):
        """What is answered to a command."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.connect(self.path)
            sock.sendall(f"NSDCT1 {' '.join(words)}\n".encode())
            answer = b""
            while got := sock.recv(1 << 20):
                answer += got
        if b"error" in answer:
            raise ValueError(f"{words}: {answer.decode()}")
        return answer

    def is_there(self, name):
        self.sock.send(servers.wire_query(name, SOA, 1))
        reply = self.sock.recv(4096)
        return reply[3] & 15 == 0 and reply[7] > 0

    def wait(self, name, there=True):
        end = time.monotonic() + LIMIT_SEC
        while time.monotonic() < end:
            if self.is_there(name) == there:
                return True
        return False

    def spent(self):
        """Seconds of the processor of each role."""
        found = {}
        for pid in self.server.pids():
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/comm") as f:
                    role = f.read().strip()
                for tid in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
                        found[role] = found.get(role, 0) \
                            + int(f.read().split()[0]) / 1e9
        return found

    def settle(self):
        """MiB of all processes, once that does not change."""
        last = self.server.pss_kib()
        for _ in range(30):
            time.sleep(1)
            now = self.server.pss_kib()
            if abs(now - last) < max(200, now // 200):
                break
            last = now
        return now / 1024

    def add_all(self):
        before, spent, begin = self.settle(), self.spent(), time.monotonic()
        self.bulk("addzones", [f"{zone_name(n)} p\n"
                               for n in range(self.count)])
        said = time.monotonic() - begin
        self.wait(zone_name(self.count - 1))
        served = time.monotonic() - begin
        roles = {role: self.spent().get(f"nsd: {role}", 0)
                 - spent.get(f"nsd: {role}", 0) for role in ROLES}
        return [said, served, before, self.settle()], roles

    def delete_all(self):
        begin = time.monotonic()
        self.bulk("delzones", [f"{zone_name(n)}\n"
                               for n in range(self.count)])
        self.wait(zone_name(self.count - 1), there=False)
        return [time.monotonic() - begin, self.settle()]

    def one_by_one(self, turns):
        """Milliseconds: of each addzone, delzone and stats_noreset."""
        took = [[], [], []]
        for _ in range(turns):
            for i, (words, there) in enumerate(
                    [(("addzone", "single", "p"), True),
                     (("delzone", "single"), False),
                     (("stats_noreset",), None)]):
                begin = time.monotonic()
                self.control(*words)
                if there is not None:
                    self.wait("single", there)
                took[i].append((time.monotonic() - begin) * 1e3)
        return took

    def reconfig(self, turns):
        """Milliseconds of each, the slowest answer beside them, and beside
        nothing for as long."""
        path = os.path.join(self.server.work, "nsd.conf")
        with open(path) as f:
            text = f.read()
        name = f'name: "{zone_name(self.count // 2)}"\n'
        took, slowest = [], []
        for work in True, False:
            asker = Asker(self.server.port, zone_name(0))
            for i in range(turns):
                if not work:
                    time.sleep(took[i] / 1e3)
                    continue
                with open(path, "w") as f:
                    f.write(text.replace(name, name + "\tprovide-xfr: "
                                         f"192.0.2.{i % 250} NOKEY\n"))
                begin = time.monotonic()
                self.control("reconfig")
                took.append((time.monotonic() - begin) * 1e3)
            slowest.append(max(asker.end()) * 1e3)
        return [report.median(took), max(took), *slowest]

    def end(self):
        self.sock.close()
        self.server.stop()


class Bench:
    def __init__(self, args, path):
        self.args, self.path = args, path
        self.files = os.path.join(path, "files")
        self.programs = {"ours": os.path.join(args.build, "nsd"),
                         "nsd": servers.find_program("nsd")}
        self.kinds = [kind for kind in args.servers.split(",")
                      if self.programs[kind]]
        os.makedirs(self.files)
        for name in ["one", "single", *map(zone_name, range(args.count))]:
            with open(os.path.join(self.files, name), "w") as f:
                f.write(ZONE)

    def count(self, kind):
        return self.args.count if kind == "ours" else self.args.nsd_count

    def run(self, kind):
        """Rows of figures: many, roles, one, reconfig."""
        run = Run(self, kind)
        try:
            added, roles = run.add_all()
            ones = run.one_by_one(self.args.turns)
            gone = run.delete_all()
        finally:
            run.end()
        run = Run(self, kind, self.count(kind))
        try:
            changed = run.reconfig(max(3, self.args.turns // 10))
        finally:
            run.end()
        one = [value for took in ones
               for value in (report.median(took), max(took))]
        return [added[:2] + gone[:1] + added[2:] + gone[1:],
                [roles[role] for role in ROLES], one, changed]

    def tables(self):
        heads = [["zones", "said, s", "served, s", "gone, s", "before, MiB",
                  "with all, MiB", "after, MiB"],
                 ["CPU of addzones, s", *ROLES],
                 ["ms", "addzone, served", "slowest", "delzone, gone",
                  "slowest", "stats_noreset", "slowest"],
                 ["ms", "reconfig", "slowest", "slowest answer beside it",
                  "beside nothing"]]
        rows = [[], [], [], []]
        for kind in self.kinds:
            runs = [self.run(kind) for _ in range(self.args.reps)]
            for part, figures in enumerate(zip(*runs)):
                if part == 1 and kind != "ours":
                    continue   # its processes have other parts
                row = [report.median(column) for column in zip(*figures)]
                label = f"{kind}, {self.count(kind):,}"
                rows[part].append([label, *(f"{v:.2f}" for v in row)])
                print(*rows[part][-1], flush=True)
        return [report.table(*pair) for pair in zip(heads, rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--tmp", default="/dev/shm")
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--nsd-count", type=int, default=100000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--servers", default="ours,nsd")
    parser.add_argument("--doc")
    args = parser.parse_args()
    path = tempfile.mkdtemp(prefix="nsd-bench-", dir=args.tmp)
    others = {}
    watch = machine.Others(others)
    watch.part = "control"
    try:
        with watch.watched():
            many, roles, one, reconfig = Bench(args, path).tables()
    finally:
        shutil.rmtree(path)
    page = PAGE.format(machine=machine.name(), many=many, roles=roles, one=one,
                       others=machine.others_text(others["control"]),
                       reconfig=reconfig, **vars(args))
    print(page)
    if args.doc:
        with open(args.doc, "w") as f:
            f.write(page)


if __name__ == "__main__":
    main()
