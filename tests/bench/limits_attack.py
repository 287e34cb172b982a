#!/usr/bin/env python3
"""The effect of floods of forged questions on honest clients, and the use that
floods can make of a server, with rate limits and without.

    limits_attack.py [--build DIR] [--servers NAME,...] [--rate N]
                     [--seconds S] [--reps N] [--slips N,...] [--doc DIR]

As root: it makes a network namespace of its own, in which sources can be forged
and answers to them go nowhere, where they are counted. Each server has one worker
on core 0, the flood and the clients (tests/bench/flood) are on core 1. --rate is
that of all questions; nine of ten are forged.

First, 200 honest clients of as many netblocks ask for names of which half exist,
while the others come from 1, 1,000 and 1,000,000 sources beside each other: how many of
their answers the clients keep. Then one client is in the netblock that an
attacker forges, and asks for the same kind of answer: for each slip, what the
attacker gets for what it sends, and what the client loses. --doc writes the page
and the charts of doc/performance.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402

LIMIT = 200
SOURCES = [1, 1000, 1000000]
SLIPS = [0, 1, 2, 3, 5, 10]
CLIENTS = 200
CLIENT = "10.9.{}.1"
VICTIM = "10.9.0.77"   # beside the first client
VICTIM_RATE = 50       # questions of that client, below the limit
WARM_SEC = 3
ZONE = """$TTL 3600
@ SOA ns host 1 7200 3600 1209600 300
@ NS ns
ns A 192.0.2.53
""" + "".join(f"h{i} A 192.0.2.1\n" for i in range(1000))
PAGE = """# Floods of forged questions

Made by `tests/bench/limits_attack.py`; nobody edits it. {machine}. {others}

A server with one worker on one core; the flood and the clients on the other.
`rrl-ratelimit: {limit}` (Knot's `rate-limit`), one netblock a client: /24.

## What honest clients keep

{clients} clients, each in a netblock of its own, ask {honest} times a second together,
half for names that exist. The flood asks {forged} times for names that there are not,
from so many sources beside each other: of 1, 4 and 3,907 netblocks. *Kept*
is the share of their questions that was answered whole; *comes out* are the octets
that leave for forged addresses for each that was sent in their name. {reps} turns of {seconds:g} s,
medians. What is lost without a limit, too, is lost for want of a processor.

{kept}
A flood of thousands of netblocks stays below the limit of each. No limit sees it, and
none is needed for the clients' sake: they keep their answers as long as the server has
time for all. For floods of one network there is `rrl-ipv4-wider`.

## What slip trades

An attacker forges an address of a client's netblock, and asks {forged} times a second
for names that there are not. The client asks {victim} times a second for such names,
too. What comes out is what the attacker can aim at the client; *TCP* is the share of
the client's questions that it has to ask again over TCP, *nothing* that which it has
to ask again, and the last column those left without an answer, whole or cut short,
when three were sent.

![slip](limits-slip.svg)

{slip}
"""


def enter_namespace():
    """Runs this program again in a network of its own, and makes that."""
    if os.environ.get("NSD_FLOOD") != "1":
        os.environ["NSD_FLOOD"] = "1"
        os.execvp("unshare", ["unshare", "-n", sys.executable] + sys.argv)
    # Packets that leave by the one end come in at the other, and are dropped
    # there.
    lines = ["link set lo up", "link add sink type veth peer name drain",
             "link set sink arp off up", "link set drain arp off up",
             "route add default dev sink"]
    lines += [f"addr add {CLIENT.format(i)}/32 dev lo"
              for i in range(CLIENTS)]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True,
                   check=True)
    # Answers come from 127.0.0.1, and are to get as far as the sink.
    for one in "sink", "all":
        with open(f"/proc/sys/net/ipv4/conf/{one}/route_localnet", "w") as f:
            f.write("1")


def sunk_octets():
    """Octets sent to addresses without a host, without link headers."""
    with open("/proc/net/dev") as f:
        for line in f:
            if line.strip().startswith("sink:"):
                fields = line.split(":")[1].split()
                return int(fields[8]) - 14 * int(fields[9])
    raise OSError("there is no sink")


def conf_of(kind, limit, slip):
    def make(*args):
        name, text = servers.CONFS[kind](*args)
        if kind in ("ours", "nsd"):
            text = text.replace(
                "\trrl-ratelimit: 0\n",
                f"\trrl-ratelimit: {limit}\n\trrl-slip: {slip}\n")
        elif limit:
            text = text.replace(
                "template:\n  - id: default\n",
                "mod-rrl:\n  - id: default\n"
                f"    rate-limit: {limit}\n    slip: {slip}\n"
                "template:\n  - id: default\n"
                "    global-module: mod-rrl/default\n")
        return name, text
    return make


class Bench:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        zone = os.path.join(work, "example.zone")
        with open(zone, "w") as f:
            f.write(ZONE)
        self.zones = servers.ZoneSet("flood", {"example": zone},
                                     probe=("h1.example", 1))

    def flood(self, server, seconds, options):
        before = sunk_octets()
        line = subprocess.run(
            ["taskset", "-c", "1", os.path.join(
                self.args.build, "tests/bench/flood"), "-t", str(seconds)]
            + [str(o) for o in options] + [str(server.port), "example"],
            check=True, text=True, stdout=subprocess.PIPE,
            timeout=seconds + 60).stdout
        got = json.loads(line)
        got["out"] = sunk_octets() - before
        return got

    def measure(self, kind, limit, slip, options):
        """The counts of each turn, of a server of its own."""
        program = os.path.join(self.args.build, "nsd") if kind == "ours" \
            else servers.find_program(servers.RIVALS[kind])
        server = servers.Server(kind, program, self.zones, self.work,
                                conf=conf_of(kind, limit, slip))
        try:
            if not server.wait(30):
                sys.exit(f"{kind} did not serve the zone")
            self.flood(server, WARM_SEC, options)
            return [self.flood(server, self.args.seconds, options)
                    for _ in range(self.args.reps)]
        finally:
            server.stop()

    def keep(self, kind, limit, slip, sources):
        rate = self.args.rate
        got = self.measure(kind, limit, slip, [
            "-r", rate * 9 // 10, "-n", sources, "-s", 1, "-R", rate // 10,
            "-N", CLIENTS, "-F", CLIENT.format(0), "-e", 2])
        row = [kind, f"{sources:,}", slip if limit else "no limit",
               share(got, "whole"), share(got, "cut"), comes_out(got)]
        print(" | ".join(map(str, row)), file=sys.stderr, flush=True)
        return row

    def trade(self, kind, slip):
        """(octets out for one in, TCP, nothing) in percent."""
        got = self.measure(kind, LIMIT, slip, [
            "-r", self.args.rate * 9 // 10, "-f", VICTIM, "-R", VICTIM_RATE,
            "-F", CLIENT.format(0), "-e", 1000000])
        cut = report.median([100 * g["cut"] / g["honest"] for g in got])
        none = report.median([100 * (1 - (g["whole"] + g["cut"])
                                     / g["honest"]) for g in got])
        out = report.median([100 * g["out"] / g["forged_octets"]
                             for g in got])
        print(kind, slip, out, cut, none, file=sys.stderr, flush=True)
        return out, cut, none


def share(got, what):
    return "%.1f %%" % report.median([100 * g[what] / g["honest"]
                                      for g in got])


def comes_out(got):
    return "%.2f" % report.median([g["out"] / max(1, g["forged_octets"])
                                   for g in got])


def slip_page(bench, kinds, directory):
    rows, series = [], {}
    for slip in SLIPS:
        for kind in kinds:
            out, cut, none = bench.trade(kind, slip)
            rows.append([slip, kind, f"{out / 100:.2f}", f"{cut:.0f} %",
                         f"{none:.0f} %", f"{none ** 3 / 1e4:.0f} %"])
            if kind == "ours":
                for label, value in (("octets out for 100 in", out),
                                     ("TCP: the client's share", cut),
                                     ("nothing: the client's", none),
                                     ("nothing, three times",
                                      none ** 3 / 1e4)):
                    series.setdefault(label, []).append((slip, value))
    if directory:
        report.line_chart(os.path.join(directory, "limits-slip.svg"),
                          "What an attacker gets, and what a client beside "
                          "it loses (ours)", "rrl-slip", "%", series,
                          ticks=SLIPS)
    return report.table(["slip", "server", "comes out", "TCP", "nothing",
                         "after three"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=".")
    parser.add_argument("--servers", default="ours,nsd,knot")
    parser.add_argument("--rate", type=int, default=20000)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--slips", default="0,1,2")
    parser.add_argument("--doc")
    args = parser.parse_args()
    enter_namespace()
    os.sched_setaffinity(0, {1})
    kinds = args.servers.split(",")
    others = machine.Others({})
    others.part = "floods"
    with tempfile.TemporaryDirectory(prefix="nsd-flood-") as work, \
            others.watched():
        bench = Bench(args, work)
        cases = [(0, 0)] + [(LIMIT, int(s)) for s in args.slips.split(",")]
        kept = report.table(
            ["server", "sources", "slip", "kept", "cut short", "comes out"],
            [bench.keep(kind, limit, slip, sources) for sources in SOURCES
             for limit, slip in cases for kind in kinds])
        slips = slip_page(bench, kinds, args.doc)
    print(kept + "\n" + slips)
    if args.doc:
        pathlib.Path(args.doc, "limits-attack.md").write_text(PAGE.format(
            machine=machine.name(), limit=LIMIT, clients=CLIENTS,
            others=machine.others_text(others.result.get("floods")),
            honest=args.rate // 10, forged=args.rate * 9 // 10,
            reps=args.reps, seconds=args.seconds, victim=VICTIM_RATE,
            kept=kept, slip=slips.rstrip("\n")))


if __name__ == "__main__":
    main()
