#!/usr/bin/env python3
"""Measures what dnstap and the query log cost an answer, here and elsewhere.

    dnstap.py [--build DIR] [--servers NAME,...] [--program NAME=PATH]
              [--reps N] [--seconds S] [--rate N] [--doc FILE]

    /usr/bin/python3 tests/bench/dnstap.py --build build/release \\
        --program newer=DIR/nsd --doc doc/performance/dnstap.md

Each server has one worker, answers queries over UDP for names of a small zone,
64 outstanding, and sends frames to a receiver on a UNIX socket that counts
them (tap_receiver). Counted is the CPU time of the process that answers and of
all processes, the kernel's part included, for one answer: without dnstap, with
queries, with both kinds, with one of 100, with both and no receiver, and with
the query log in words and in JSON; the difference from that without; and the
frames that the receiver had of those that should have come. A second table has
the same at --rate answers a second. A third one has this server with receivers
that are absent, stall, or close in the middle of a frame, at 15,000 queries a
second: those that were lost, the slowest answer, and how long a start, a
reconfig of its options and a stop take. Medians of --reps runs, in turns.
Nothing here fails because of a time.

Servers: ours, nsd, knot (with Debian's knot-module-dnstap); newer: another NSD,
by --program newer=PATH.
"""
import argparse
import collections
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402

NAMES = 1000
# Kinds of messages, and other options in the words of nsd.conf.
Mode = collections.namedtuple("Mode", "queries responses sample log absent",
                              defaults=(False, False, 1, None, False))
MODES = {
    "none": Mode(),
    "queries": Mode(queries=True),
    "both": Mode(queries=True, responses=True),
    "both, 1 of 100": Mode(queries=True, responses=True, sample=100),
    "both, no receiver": Mode(queries=True, responses=True, absent=True),
    "query log": Mode(log="words"),
    "query log, JSON": Mode(log="json"),
}
# Receivers of the third table, and whether dnstap is on.
RECEIVERS = {"without dnstap": None, "reads": "", "absent": "absent",
             "stalls": "stalls", "closes amid frames": "cuts"}
SLOW_RATE = 15000
OURS_ALONE = ("both, 1 of 100", "query log", "query log, JSON")
PAGE = """# What dnstap and the query log cost

Made by `tests/bench/dnstap.py`; nobody edits it. {machine}
{versions}.

One worker, UDP, a zone of {names} names, a receiver on a UNIX socket that reads
and counts. CPU time for an answer, the kernel's part included: of the process
that answers, and of all processes of the server; in brackets how much more than
without. Knot answers and sends in threads of one process. Medians of {reps} runs
of {seconds} seconds, in turns. *Frames* are those that the receiver had of those
that should have come: more than all where the server has answered more than the
client waited for; *dropped*, those that this server says it has lost, in all runs.
With other programs beside, differences below a microsecond mean little.

As many as the server answers, 64 outstanding:

{closed}
{rate:,} queries a second offered:

{open}
Receivers of all sorts, {slow_rate:,} queries a second, ours, both kinds; the slowest of all
answers, and seconds to the first answer of a start, to the end of a reconfig that changes
`dnstap-identity`, and to the end of a stop:

{slow}
What a worker writes and what a collector does with it:
[decision 0180](../decisions/0180-records-in-rings.md); lines:
[0181](../decisions/0181-a-query-log-from-the-same-records.md).
"""


def yes(flag):
    return "yes" if flag else "no"


def conf_of(kind, mode, socket_path):
    def make(*args):
        name, text = servers.CONFS[kind](*args)
        work = args[0]
        if kind == "ours":
            text = text.replace(
                "control-enable: no",
                f'control-enable: yes\n\tcontrol-interface: "{work}/control"')
        if kind == "knot":
            if mode.queries or mode.responses:
                text = text.replace("template:\n", (
                    f'mod-dnstap:\n  - id: tap\n    sink: "unix:{socket_path}"\n'
                    f"    log-queries: {'on' if mode.queries else 'off'}\n"
                    f"    log-responses: {'on' if mode.responses else 'off'}\n"
                    "template:\n")).replace(
                        "  - id: default\n",
                        "  - id: default\n    global-module: mod-dnstap/tap\n")
            return name, text
        text += (f"dnstap:\n\tdnstap-enable: "
                 f"{yes(mode.queries or mode.responses)}\n"
                 f'\tdnstap-socket-path: "{socket_path}"\n'
                 f"\tdnstap-log-auth-query-messages: {yes(mode.queries)}\n"
                 "\tdnstap-log-auth-response-messages: "
                 f"{yes(mode.responses)}\n")
        if mode.sample != 1:
            text += f"\tdnstap-sample: {mode.sample}\n"
        if mode.log:
            fields = "json" if mode.log == "json" else ""
            text += (f'server:\n\tquery-log: "{work}/queries.log"\n'
                     f'\tquery-log-format: "{fields}"\n')
        return name, text
    return make


class Receiver:
    def __init__(self, build, path, *how):
        self.process = subprocess.Popen(
            [f"{build}/tests/bench/tap_receiver", path, *how],
            stdout=subprocess.PIPE, text=True)
        while not os.path.exists(path):
            time.sleep(0.01)

    def stop(self):
        """The frames that have come."""
        self.process.send_signal(signal.SIGTERM)
        out = self.process.communicate(timeout=30)[0]
        return json.loads(out.splitlines()[-1])["frames"]


def cpu_by_pid(server):
    """{pid: ns of all its threads}"""
    spent = {}
    for pid in server.pids():
        try:
            spent[pid] = sum(
                int(pathlib.Path(f"/proc/{pid}/task/{tid}/schedstat")
                    .read_text().split()[0])
                for tid in os.listdir(f"/proc/{pid}/task"))
        except OSError:
            pass
    return spent


def is_collector(kind, pid):
    """True of a process that does nothing but send frames or write lines: by
    its name, which NSD's has not if a loader runs it, or its second thread."""
    try:
        if kind in ("nsd", "newer"):
            return len(os.listdir(f"/proc/{pid}/task")) > 1
        return "collector" in pathlib.Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return False


def load(args, server, queries, rate, *more):
    command = [f"{args.build}/tests/bench/load", "-t", str(args.seconds)]
    command += ["-w", "4096", "-c", "4", "-r", str(rate)] if rate else [
        "-w", "64"]
    command += [*more, "udp", str(server.port), queries]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def lines_of(server):
    path = pathlib.Path(server.work) / "queries.log"
    with open(path, "rb") as lines:
        return sum(part.count(b"\n")
                   for part in iter(lambda: lines.read(1 << 20), b""))


def dropped_of(args, server):
    """The messages and lines that this server counts as lost."""
    said = subprocess.run(
        [f"{args.build}/nsd-control", "-c", f"{server.work}/nsd.conf",
         "stats_noreset"], capture_output=True, text=True, check=True).stdout
    figures = dict(line.split("=") for line in said.splitlines())
    return sum(int(figures.get(name, 0))
               for name in ("dnstap.dropped", "querylog.dropped"))


def measure(args, kind, program, mode, zones, queries, rate, work):
    """{what: figure} of one run."""
    conf_kind = "nsd" if kind == "newer" else kind
    path = os.path.join(work, "tap.sock")
    if os.path.exists(path):
        os.unlink(path)
    sends = (mode.queries or mode.responses) and not mode.absent
    receiver = Receiver(args.build, path) if sends else None
    server = servers.Server(conf_kind, program, zones, work, cpus="0,1",
                            conf=conf_of(conf_kind, mode, path))
    try:
        if not server.wait(30):
            raise SystemExit(f"{kind} does not answer")
        time.sleep(1.2)   # the connection to the receiver
        before = cpu_by_pid(server)
        answered = max(1, load(args, server, queries, rate)["answered"])
        time.sleep(0.8)   # frames that are still under way
        spent = {pid: ns - before.get(pid, 0)
                 for pid, ns in cpu_by_pid(server).items()}
        rest = sum(ns for pid, ns in spent.items() if is_collector(kind, pid))
        row = {"all": sum(spent.values()) / answered,
               "worker": (sum(spent.values()) - rest) / answered,
               "answers": answered / args.seconds}
        if mode.log:
            row["frames"] = lines_of(server) / answered
        if kind == "ours":
            row["dropped"] = dropped_of(args, server)
    finally:
        server.stop()
        frames = receiver.stop() if receiver else 0
    if sends:
        row["frames"] = frames * mode.sample / answered / (
            mode.queries + mode.responses)
    return row


def version_of(kind, program):
    done = subprocess.run([program, "--version" if kind == "knot" else "-v"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    slow = " (with the asserts of hot paths)" \
        if "--enable-hot-asserts" in done.stdout else ""
    return done.stdout.strip().splitlines()[0] + slow


def programs(args):
    named = dict(one.split("=", 1) for one in args.program)
    found = {}
    for kind in args.servers.split(","):
        path = named.get(kind)
        if path is None and kind == "ours":
            path = str(pathlib.Path(args.build) / "nsd")
        if path is None and kind in servers.RIVALS:
            path = servers.find_program(servers.RIVALS[kind])
        if path and os.access(path, os.X_OK):
            found[kind] = path
        else:
            print(f"{kind} is missing", file=sys.stderr)
    return found


def reconfig(args, server, conf):
    """Changes an option of dnstap; returns the seconds that it takes."""
    conf.write_text(conf.read_text().replace(
        "dnstap:\n", 'dnstap:\n\tdnstap-identity: "other"\n'))
    begin = time.monotonic()
    subprocess.run([f"{args.build}/nsd-control", "-c", str(conf), "reconfig"],
                   check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def measure_receiver(args, program, kind, zones, queries, work):
    """{what: figure} of one run with a receiver of some sort."""
    path = os.path.join(work, "tap.sock")
    if os.path.exists(path):
        os.unlink(path)
    mode = Mode(queries=kind is not None, responses=kind is not None)
    receiver = Receiver(args.build, path, *filter(None, [kind])) \
        if kind not in (None, "absent") else None

    server = servers.Server("ours", program, zones, work, cpus="0,1",
                            conf=conf_of("ours", mode, path))
    try:
        if not server.wait(30):
            raise SystemExit("ours does not answer")
        time.sleep(1.5)
        said = load(args, server, queries, SLOW_RATE, "-l", "100")
        row = {"start": server.start_sec,
               "lost": said["sent"] - said["answered"],
               "slowest": max(part[-1] for part in said["series"]),
               "reconfig": reconfig(args, server,
                                    pathlib.Path(server.work) / "nsd.conf")}
        begin = time.monotonic()
        server.process.terminate()
        server.process.wait(60)
        row["stop"] = time.monotonic() - begin
    finally:
        server.stop()
        if receiver:
            receiver.stop()
    return row


def run_receivers(args, program, work):
    zones, queries = make_zone(work)
    figures = {}
    for _ in range(args.reps):
        for name, kind in RECEIVERS.items():
            row = measure_receiver(args, program, kind, zones, queries, work)
            figures.setdefault(name, []).append(row)
            print(name, row, file=sys.stderr)
    rows = []
    for name, found in figures.items():
        middle = {what: statistics.median(row[what] for row in found)
                  for what in found[0]}
        rows.append([name, str(sum(row["lost"] for row in found)),
                     f"{middle['slowest'] / 1000:,.1f}",
                     *(f"{middle[what]:.2f}"
                       for what in ("start", "reconfig", "stop"))])
    return report.table(["receiver", "queries lost, all runs",
                         "slowest answer, ms", "start, s", "reconfig, s",
                         "stop, s"], rows)


def make_zone(work):
    """The zone, and the file of queries for its names."""
    zone = pathlib.Path(work) / "example.zone"
    zone.write_text("$ORIGIN example.\n$TTL 3600\n@ SOA ns a 1 2 3 4 5\n"
                    "@ NS ns\nns A 192.0.2.1\n" + "".join(
                        f"n{i} A 192.0.2.{i % 256}\n" for i in range(NAMES)))
    zones = servers.ZoneSet("dnstap", {"example": str(zone)},
                            probe=("ns.example", 1))
    queries = pathlib.Path(work) / "queries"
    queries.write_text("".join(f"n{i}.example. A\n" for i in range(NAMES)))
    return zones, str(queries)


def run(args, found, rate, work):
    """{(server, mode): [figures]}"""
    zones, queries = make_zone(work)
    figures = {}
    for rep in range(args.reps):
        for kind, program in found.items():
            for name, mode in MODES.items():
                if kind != "ours" and name in OURS_ALONE:
                    continue
                row = measure(args, kind, program, mode, zones, queries, rate,
                              work)
                figures.setdefault((kind, name), []).append(row)
                print(rep, kind, name, row, file=sys.stderr)
    return figures


def table_of(figures):
    middle = {key: {what: statistics.median(row[what] for row in rows)
                    for what in rows[0]} for key, rows in figures.items()}

    def text(row, base, what):
        more = row[what] - base[what]
        return f"{row[what]:,.0f}" if row is base \
            else f"{row[what]:,.0f} ({more:+,.0f})"
    rows = []
    for (kind, name), row in middle.items():
        base = middle[kind, "none"]
        rows.append([
            kind, name, text(row, base, "worker"), text(row, base, "all"),
            f"{row['answers']:,.0f}",
            f"{100 * row['frames']:.1f} %" if "frames" in row else "",
            f"{sum(one['dropped'] for one in figures[kind, name]):,}"
            if "dropped" in row else ""])
    return report.table(["server", "dnstap", "worker, ns", "all, ns",
                         "answers a second", "frames", "dropped"], rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rate", type=int, default=150000)
    parser.add_argument("--servers", default="ours,nsd,newer,knot")
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--doc")
    args = parser.parse_args()
    found = programs(args)
    result = {}
    others = machine.Others(result)
    others.part = "dnstap"
    with tempfile.TemporaryDirectory(prefix="nsd-bench-") as work, \
            others.watched():
        closed = table_of(run(args, found, 0, work))
        rated = table_of(run(args, found, args.rate, work))
        slow = run_receivers(args, found["ours"], work) \
            if "ours" in found else ""
    print(closed, rated, slow, sep="\n")
    if args.doc:
        pathlib.Path(args.doc).write_text(PAGE.format(
            machine=f"{machine.name()}. "
                    f"{machine.others_text(result.get('dnstap'))}",
            versions=", ".join(f"{kind}: {version_of(kind, path)}"
                               for kind, path in found.items()),
            names=NAMES, reps=args.reps, seconds=args.seconds,
            rate=args.rate, closed=closed, open=rated, slow=slow,
            slow_rate=SLOW_RATE))


if __name__ == "__main__":
    main()
