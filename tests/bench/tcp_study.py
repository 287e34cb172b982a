#!/usr/bin/env python3
"""Repeats the study of DNS over TCP of SIDN Labs (2025): what a server pays when
a share of its queries comes once more over TCP, beside other servers.

    tcp_study.py [--build DIR] [--tmp DIR] [--out DIR] [--doc DIR]
                 [--servers NAME,...] [--program NAME=PATH] [--reps N]
                 [--seconds SEC] [--rate N] [--size N] [--shares PCT,...]
                 [--round-trips MSEC,...] [--limit-rates N,...]
                 [--interval SEC] [--parts NAME,...] [--keep RESULTS.JSON]
                 [--short]
    tcp_study.py --again RESULTS.JSON --doc DIR

It needs the programs of tests/bench: make bench-studies builds them, and runs it.

A made capture (tests/bench/gen_capture) is sent again (tests/bench/replay) to each
server: all queries over UDP, of which a share is asked once more over TCP, a
connection each, right after its answer; and all over TCP only. Parts: shares (CPU
time of all processes, in user mode and in the kernel, memory, losses, and how
long answers took, for each share), limit (the rate to which a server answers
99 % over TCP only), far (the same over round-trip times, by netem or, where the
kernel has none, by tests/bench/delay; as root). The share from which UDP with TCP
behind it costs more than TCP only is the tipping point.

--out gets the results as JSON, with each run; --doc the page, its charts and the
JSON (tcp-study.*). --again measures nothing: it writes the page of results that
are there. --keep takes the parts that are not in --parts from older results.
--short takes a minute or two: for sanity, not for figures. The study fails if
counts do not add up or nothing is answered, never because of a time.

Servers: ours nsd knot bind pdns; newer: another NSD, by --program newer=PATH, in
place of the installed one if --servers does not name both. One worker on core 0; the
client, and the way, are on core 1. The published runs took an hour each; those of
three seconds take an hour for all, of thirty six.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import far  # noqa: E402
import servers  # noqa: E402
import study  # noqa: E402
import tcp_study_page  # noqa: E402
from study import StudyError, conf_kind  # noqa: E402

PARTS = ("shares", "limit", "far")
# Shares of the part far: none, some, and TCP only.
FAR_SHARES = (0, 50, "only")
# The share that is asked for before others are measured.
FIRST_SHARE = 50
PARAMETERS = {
    "shares": ("size", "rate", "seconds", "interval", "reps"),
    "limit": ("size", "seconds"), "far": ("size", "rate", "seconds")}
SHORT = {"reps": 1, "seconds": 2.0, "rate": 500, "size": 1000,
         "shares": "0,50,100", "round_trips": "10", "limit_rates": "500",
         "interval": 1.0}


class Study(study.Study):
    NAME = "tcp"
    # Namespaces may be forbidden.
    MAY_FAIL = ("far",)

    def __init__(self, args, work):
        super().__init__(args, work, **{
            part: {name: getattr(args, name) for name in names}
            for part, names in PARAMETERS.items()})
        self.zones = self.make_zones()
        self.capture = self.make_capture(args.rate)

    # ---- zones and queries

    def make_zones(self):
        directory = os.path.join(self.work, "zone")
        os.mkdir(directory)
        subprocess.run([self.program("gen_zone"), "tld", str(self.args.size),
                        "1", directory], check=True)
        made = servers.ZoneSet(f"tld-{self.args.size}",
                               {"bench": f"{directory}/tld.zone"},
                               probe=("bench.", 6))
        made.prefix = f"{directory}/tld"
        return made

    def make_capture(self, rate):
        path = os.path.join(self.work, f"capture-{rate}")
        if not os.path.exists(path):
            subprocess.run(
                [self.program("gen_capture"), "-t", str(self.args.seconds),
                 "-r", str(rate), "-T", "0", "-6", "0",
                 self.zones.prefix + ".hit", self.zones.prefix + ".nx", path],
                check=True)
        return path

    # ---- running

    def replay(self, server, share, capture, before=(), address="127.0.0.1"):
        """Sends the capture again; the object that replay prints."""
        command = ["taskset", "-c", "1", self.program("replay"), "-a",
                   address, "-i", str(self.args.interval), "-p",
                   ",".join(map(str, server.pids()))]
        command += ["-T"] if share == "only" else ["-s", str(share)]
        if address != "127.0.0.1":
            command += ["-f", f"{far.CLIENT}/250"]
        done = subprocess.run(
            [*before, *command, str(server.port), capture], check=True,
            stdout=subprocess.PIPE, text=True)
        got = json.loads(done.stdout)
        check_counts(got)
        return got

    def note_replay(self, part, kind, rep, got, **more):
        self.result["runs"].append({"part": part, "server": kind, "rep": rep,
                                    **more, "replay": got})
        used = got["server"]
        self.say(f"{part} {kind} {more}: "
                 f"{used['user'] + used['system']:.2f} s of CPU in "
                 f"{got['seconds']:.1f} s, {used['pss_mib']:.0f} MiB, lost "
                 f"{got['udp']['timeouts'] + got['udp']['unsent']} of UDP, "
                 f"{got['tcp']['asked'] - got['tcp']['answered']} of TCP")

    def shares(self):
        return [int(share) for share in self.args.shares.split(",")] + ["only"]

    # ---- parts

    def part_shares(self):
        """Each repeat begins with another share: what comes with the time that
        a server has run is of no share's account."""
        for rep in range(self.args.reps):
            shares = self.shares()
            first = len(shares) * rep // self.args.reps
            shares = shares[first:] + shares[:first]
            for kind in self.rotated(rep):
                server = self.start(kind, self.zones)
                try:
                    self.settle(server)
                    # Memory that is touched for the first time would be of
                    # the first share's account.
                    self.replay(server, FIRST_SHARE, self.capture)
                    for share in shares:
                        self.note_replay("shares", kind, rep, self.replay(
                            server, share, self.capture), share=share)
                finally:
                    server.stop()

    def part_limit(self):
        """Rates over TCP only, until less than 99 % is answered."""
        for kind in self.programs:
            server = self.start(kind, self.zones)
            try:
                self.settle(server)
                for rate in map(int, self.args.limit_rates.split(",")):
                    got = self.replay(server, "only", self.make_capture(rate))
                    self.note_replay("limit", kind, 0, got, rate=rate)
                    if got["tcp"]["answered"] < 0.99 * got["tcp"]["asked"]:
                        break
            finally:
                server.stop()

    def part_far(self):
        for round_trip in map(float, self.args.round_trips.split(",")):
            with far.Far(self.args.build, round_trip) as way:
                self.result["parameters"]["far"]["way"] = way.by
                for kind in self.programs:
                    self.run_far(way, kind, round_trip)

    def run_far(self, way, kind, round_trip):
        conf = far.listens(conf_kind(kind), servers.CONFS[conf_kind(kind)])
        server = self.start(kind, self.zones, conf=conf)
        try:
            self.settle(server)
            way_there = (self.capture, way.client, far.SERVER)
            self.replay(server, FIRST_SHARE, *way_there)
            for share in FAR_SHARES:
                self.note_replay("far", kind, 0, self.replay(
                    server, share, *way_there), share=share,
                    round_trip=round_trip)
        finally:
            server.stop()

    def failed(self, part, error):
        super().failed(part, error)
        self.result["parameters"]["far"]["way"] = str(error)


def check_counts(got):
    """Each query has one end, and some are answered, however slow all is."""
    udp, tcp = got["udp"], got["tcp"]
    if udp["sent"] != udp["answered"] + udp["timeouts"]:
        raise StudyError(f"counts of UDP do not add up: {udp}")
    if tcp["asked"] != sum(tcp[end] for end in (
            "answered", "timeouts", "refused", "cut", "unsent")):
        raise StudyError(f"counts of TCP do not add up: {tcp}")
    if not (got["share"] or got["cut_again"] or got["only_tcp"]) \
            and tcp["asked"]:
        raise StudyError(f"TCP was not asked for: {tcp}")
    if udp["answered"] + tcp["answered"] == 0:
        raise StudyError("nothing was answered")
    if got["server"]["processes"] == 0:
        raise StudyError("the server has ended")


def parse_args():
    parser = study.parser_of(__doc__, PARTS, kinds=None)
    parser.add_argument("--reps", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--interval", type=float, default=1.5)
    parser.add_argument("--rate", type=int, default=3000)
    parser.add_argument("--size", type=int, default=1000000)
    parser.add_argument("--shares", default="0,10,20,30,40,50,60,70,80,90,100")
    parser.add_argument("--round-trips", default="10,50,150")
    parser.add_argument("--limit-rates", default="5000,10000,15000,20000,"
                        "25000,30000,35000,40000,45000,50000")
    return study.parse(parser, PARTS, SHORT)


if __name__ == "__main__":
    study.run(parse_args(), Study, tcp_study_page)
