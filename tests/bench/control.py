#!/usr/bin/env python3
"""Measures what nsd-control asks for, beside NSD's server.

    control.py [--build DIR] [--tmp DIR] [--count N] [--nsd-count N]
               [--large N] [--reps N] [--turns N] [--servers NAME,...]
               [--doc FILE]

Each server, on all cores, with one zone at first. --count zones with a file each
are added with one `addzones` (--nsd-count for NSD); then single ones are added
and go, and `stats_noreset` is asked for, --turns times; then all go with one
`delzones`. Then each server starts with as many zones in its nsd.conf, of
which one is changed again and again, with a `reconfig` each, while a client asks
a thousand times a second; it asks for as long again beside nothing. Medians of
--reps starts, and the most of all starts where it says slowest. --large zones
are tried with our server in one start. As tables in Markdown; --doc writes the
page of doc/performance with them.
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

Zones of seven records, a file each in memory; two cores, two workers; medians of
{reps} starts, each with medians of {turns} turns ({large:,} zones: one start). *Slowest*: of
all turns of all starts. *Served*: from sending `addzone` until the zone is answered for.

## Many at once

{many}
Lines go through our `nsd-control`. *Said*: until it has its answer; *served*: until the
last zone is answered for. *Memory*: the sum of PSS of all processes, before any was there,
with all of them, when all had gone, and when all had come and gone a second time.

{roles}
## One of many

Commands go straight to the socket.

{one}
## `reconfig` with one zone changed

All zones stand in nsd.conf. A client, which comes before all other programs, asks a
thousand times a second; of what it asked during a `reconfig`, the slowest answer: the
median of all of them and the most. The virtual machine stands still at times. So the same
is shown of as many spells as long in which the file was written anew and nothing more.

{reconfig}"""


def zone_name(n):
    return f"z{n}.many"


def conf(kind, files, clauses):
    """The configuration for servers.Server; clauses: so many zones in
    nsd.conf."""
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


def ask(sock, name, number):
    """The reply; None after the socket's time-out."""
    sock.send(servers.wire_query(name, SOA, number))
    with contextlib.suppress(TimeoutError):
        while True:
            reply = sock.recv(4096)
            if reply[:2] == number.to_bytes(2, "big"):
                return reply
    return None


class Asker:
    """Asks for one zone a thousand times a second, in a process."""

    def __init__(self, port, name):
        self.theirs, self.ours = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=self.run,
                                               args=(port, name))
        self.process.start()

    def run(self, port, name):
        # Real-time priority, so that it waits for the server and not for a
        # core.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(("127.0.0.1", port))
        sock.settimeout(2)
        took, due = [], time.monotonic()
        while not self.theirs.poll(max(0, due - time.monotonic())):
            due = max(due + ASK_SEC, time.monotonic())
            begin = time.monotonic()
            ask(sock, name, len(took) & 0xffff)
            took.append((begin, time.monotonic()))
        self.theirs.send(took)

    def end(self):
        """When each was asked and answered; 2 s later: there was none."""
        self.ours.send(None)
        took = self.ours.recv()
        self.process.join()
        return took


def slowest(took, spell):
    """The longest answer of those that came or were due in a spell."""
    return max(end - begin for begin, end in took
               if begin <= spell[1] and end >= spell[0])


class Run:
    """One server that is asked for things."""

    def __init__(self, bench, kind, count, clauses=0):
        self.kind, self.count = kind, count
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
        self.asked = 0
        if not self.server.wait(LIMIT_SEC):
            raise ValueError(f"{kind} does not serve")
        self.wait(zone_name(clauses - 1) if clauses else "one")

    def bulk(self, verb, lines):
        """Runs a bulk command with our nsd-control: NSD's waits for ever for
        many lines."""
        subprocess.run([self.client, "-c", f"{self.server.work}/nsd.conf",
                        verb], input="".join(lines).encode(), check=True,
                       stdout=subprocess.DEVNULL)

    def control(self, *words):
        """The answer to a command."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.connect(self.path)
            sock.sendall(f"NSDCT1 {' '.join(words)}\n".encode())
            answer = b""
            while got := sock.recv(1 << 20):
                answer += got
        if b"error" in answer:
            raise ValueError(f"{words}: {answer.decode()}")
        return answer

    def wait(self, name, there=True):
        end = time.monotonic() + LIMIT_SEC
        while time.monotonic() < end:
            self.asked = self.asked + 1 & 0xffff
            reply = ask(self.sock, name, self.asked)
            if reply and (reply[3] & 15 == 0 and reply[7] > 0) == there:
                return
        raise ValueError(f"{self.kind}: {name} does not "
                         f"{'come' if there else 'go'}")

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
        """Milliseconds of each, of the slowest answers beside each, and of
        those beside nothing for as long."""
        path = os.path.join(self.server.work, "nsd.conf")
        with open(path) as f:
            text = f.read()
        name = f'name: "{zone_name(self.count // 2)}"\n'
        spells = [[], []]
        asker = Asker(self.server.port, zone_name(0))
        for work, found in zip((True, False), spells):
            for i in range(turns):
                with open(path, "w") as f:
                    f.write(text.replace(name, name + "\tprovide-xfr: "
                                         f"192.0.2.{i % 250} NOKEY\n"))
                begin = time.monotonic()
                if work:
                    self.control("reconfig")
                else:
                    time.sleep(spells[0][i][1] - spells[0][i][0])
                found.append((begin, time.monotonic()))
                time.sleep(0.01)
        took = asker.end()
        return [[(end - begin) * 1e3 for begin, end in spells[0]],
                *([slowest(took, spell) * 1e3 for spell in found]
                  for found in spells)]

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
        for name in ["one", "single",
                     *map(zone_name, range(max(args.count, args.large)))]:
            with open(os.path.join(self.files, name), "w") as f:
                f.write(ZONE)

    def run(self, kind, count):
        """Figures of many, of roles, and turns of: one (three), reconfig
        (three)."""
        run = Run(self, kind, count)
        try:
            added, roles = run.add_all()
            ones = run.one_by_one(self.args.turns)
            gone = run.delete_all()
            run.add_all()
            again = run.delete_all()
        finally:
            run.end()
        run = Run(self, kind, count, count)
        try:
            run.settle()
            changed = run.reconfig(max(3, self.args.turns // 2))
        finally:
            run.end()
        return [added[:2] + gone[:1] + added[2:] + gone[1:] + again[1:],
                [roles[role] for role in ROLES], ones, changed]

    def tables(self):
        heads = [["zones", "said, s", "served, s", "gone, s", "before, MiB",
                  "with all, MiB", "after, MiB", "a second time, MiB"],
                 ["CPU of addzones, s", *ROLES],
                 ["ms", "addzone, served", "slowest", "delzone, gone",
                  "slowest", "stats_noreset", "slowest"],
                 ["ms", "reconfig", "slowest", "slowest answer beside it",
                  "of all", "beside nothing", "of all"]]
        rows = [[], [], [], []]
        args = self.args
        series = [(kind, args.count if kind == "ours" else args.nsd_count,
                   args.reps) for kind in self.kinds]
        if args.large > 0:
            series.insert(1, ("ours", args.large, 1))
        for kind, count, reps in series:
            runs = [self.run(kind, count) for _ in range(reps)]
            for part, figures in enumerate(zip(*runs)):
                if part == 1 and kind != "ours":
                    continue   # other servers' processes have other parts
                row = list(map(report.median, zip(*figures))) if part < 2 \
                    else list(of_turns(figures))
                rows[part].append([f"{kind}, {count:,}",
                                   *(f"{v:.2f}" for v in row)])
                print(*rows[part][-1], flush=True)
        return [report.table(*pair) for pair in zip(heads, rows)]


def of_turns(runs):
    """For each kind of turn: the median of the runs' medians, and the most."""
    for turns in zip(*runs):
        yield report.median([report.median(took) for took in turns])
        yield max(map(max, turns))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--tmp", default="/dev/shm")
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--nsd-count", type=int, default=100000)
    parser.add_argument("--large", type=int, default=0)
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
