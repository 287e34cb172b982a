#!/usr/bin/env python3
"""Measures what rate limits and cookies add to an answer.

    limits_cost.py [--build DIR] [--before DIR] [--names N] [--seconds S]
                   [--reps N] [--doc DIR]

Servers with and without them, each with one worker on core 0, are asked in turns,
in an order of chance, by tests/bench/load on core 1, for names of a zone of --names:
each a subject of its own. For an answer: CPU time of the server, and instructions of
user and kernel, if perf counts them here; medians of --reps turns, and what they are
above those without. --before: the same of another build. As a table; --doc writes
the page of doc/performance. Nothing here fails because of a time.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402

RRL = "\trrl-ratelimit: 1000000\n"
WIDER = "\trrl-ipv4-wider: 22 4\n\trrl-ipv4-wider: 20 8\n" \
    "\trrl-ipv4-wider: 18 16\n"
COOKIE = "\tanswer-cookie: yes\n"
# Name, options, those of the load, and what it is compared with.
CASES = [
    ("off", "", [], None),
    ("limits", RRL, [], "off"),
    ("limits, three wider ones", RRL + WIDER, [], "off"),
    ("off, a cookie asked for", "", ["-k"], None),
    ("cookies", COOKIE, ["-k"], "off, a cookie asked for"),
    ("cookies and limits", RRL + COOKIE, ["-k"], "off, a cookie asked for"),
]
EVENTS = ["instructions:u", "instructions:k"]
PAGE = """# What limits and cookies cost

Made by `tests/bench/limits_cost.py`; nobody edits it. {machine}. {others}

One worker, 128 questions on their way, for {names:,} names, a subject each; medians of
{reps} turns of {seconds:g} s, in brackets what they are above those without. *cookies*
is a cookie of a client alone in each question, so one is made for each answer.

{table}"""


def conf_of(more):
    def make(*args):
        name, text = servers.conf_nsd(*args)
        return name, text.replace("\trrl-ratelimit: 0\n",
                                  more if RRL in more
                                  else more + "\trrl-ratelimit: 0\n")
    return make


def counts(build, server, options, queries, seconds):
    """One turn: CPU time in ns and instructions, of an answer."""
    before = server.cpu_ns()[0]
    run = subprocess.run(
        ["perf", "stat", "-x", ",", "-e", ",".join(EVENTS), "-p",
         ",".join(map(str, server.pids())), "--", "taskset", "-c", "1",
         os.path.join(build, "tests/bench/load"), "-t", str(seconds), "-w",
         "128", "-d", *options, "udp", str(server.port), queries],
        check=True, text=True, capture_output=True, timeout=seconds + 60)
    spent = server.cpu_ns()[0] - before
    answered = max(1, json.loads(run.stdout)["answered"])
    got = [spent / answered]
    for event in EVENTS:
        for line in run.stderr.splitlines():
            fields = line.split(",")
            if len(fields) > 2 and fields[2] == event:
                got.append(float(fields[0]) / answered
                           if fields[0].isdigit() else None)
    return got


def start(kind, args, build, zones, more, work):
    where = os.path.join(work, kind.replace(" ", "-").replace(",", ""))
    os.makedirs(where)
    server = servers.Server("ours", os.path.join(build, "nsd"), zones, where,
                            conf=conf_of(more))
    if not server.wait(60):
        sys.exit(f"{kind}: the server did not serve its zone")
    return server


def cell(value, base):
    if value is None:
        return "-"
    return f"{value:.0f}" if base is None else \
        f"{value:.0f} ({value - base:+.0f})"


def measure(args, work):
    zone, queries = (os.path.join(work, n) for n in ("zone", "queries"))
    names = list(range(args.names))
    with open(zone, "w") as f:
        f.write("$TTL 3600\n@ SOA ns host 1 7200 3600 1209600 300\n@ NS ns\n"
                "ns A 192.0.2.53\n"
                + "".join(f"h{i} A 192.0.2.1\n" for i in names))
    random.Random(1).shuffle(names)
    with open(queries, "w") as f:
        f.write("".join(f"h{i}.example A\n" for i in names))
    zones = servers.ZoneSet("cost", {"example": zone}, probe=("ns.example", 1))
    builds = [("", args.build)]
    if args.before:
        builds.append(("before: ", args.before))
    running, got = {}, {}
    try:
        for prefix, build in builds:
            for name, more, options, _ in CASES:
                if prefix and "wider" in name:
                    continue
                running[prefix + name] = (start(
                    prefix + name, args, build, zones, more, work), options)
        for turn in range(args.reps + 1):
            order = list(running)
            random.shuffle(order)
            for name in order:
                server, options = running[name]
                row = counts(args.build, server, options, queries,
                             args.seconds)
                if turn > 0:  # the first warms up
                    got.setdefault(name, []).append(row)
    finally:
        for server, _ in running.values():
            server.stop()
    return {name: [report.median(column) for column in zip(*rows)]
            for name, rows in got.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=".")
    parser.add_argument("--before")
    parser.add_argument("--names", type=int, default=200000)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--reps", type=int, default=9)
    parser.add_argument("--doc")
    args = parser.parse_args()
    os.sched_setaffinity(0, {1})
    others = machine.Others({})
    others.part = "cost"
    with tempfile.TemporaryDirectory(prefix="nsd-cost-") as work, \
            others.watched():
        got = measure(args, work)
    rows = []
    for prefix in "before: ", "":
        for name, _, _, base in CASES:
            if prefix + name in got:
                of = got.get(prefix + base) if base else [None] * 3
                rows.append([prefix + name] + [
                    cell(*pair) for pair in zip(got[prefix + name], of)])
    table = report.table(["", "CPU, ns", "instructions, user",
                          "instructions, kernel"], rows)
    print(table)
    if args.doc:
        pathlib.Path(args.doc, "limits-cost.md").write_text(PAGE.format(
            machine=machine.name(), names=args.names, reps=args.reps,
            others=machine.others_text(others.result.get("cost")),
            seconds=args.seconds, table=table))


if __name__ == "__main__":
    main()
