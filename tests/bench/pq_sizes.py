#!/usr/bin/env python3
"""Signatures of post-quantum sizes on a TLD's server: answers that do not fit
into a datagram, octets, CPU, memory, starts and transfers, beside other servers.

    pq_sizes.py [--build DIR] [--tmp DIR] [--out DIR] [--doc DIR]
                [--servers NAME,...] [--program NAME=PATH] [--size N]
                [--small N] [--reps N] [--seconds SEC] [--rate N]
                [--udp-rate N] [--algorithms NAME,...] [--parts NAME,...]
                [--memory GIB] [--start-limit SEC] [--sign-limit SEC]
                [--sizes-only] [--short]
    pq_sizes.py --again RESULTS.JSON --doc DIR

Parts: small, a zone with real signatures, as far as something makes them
(pq_sign.py) and the time for it goes; and large, one of --size delegations whose
signatures are random octets of the same sizes. Each is made for each algorithm
and served by each server in turn, with a UDP limit of 4,096 octets; a server that
cannot, or takes more than --memory, is told with why. A made capture
(gen_capture: an hour of a TLD's server, as validators ask) is sent

- over TCP alone: how long whole answers are;
- over UDP with a limit of 512, 1232 and 4096 octets in all queries: what comes
  truncated, how long it is, and what it costs;
- in the large part also with a connection of its own for each answer that comes
  truncated, as of a resolver: the study of TCP (tcp_study.py) at the share that
  the signatures imply.

--out gets the results as JSON, --doc the page, its charts and the JSON
(pq-sizes.*). The whole takes about 25 minutes on an idle machine and 20 GiB of
memory for those servers that need most. --sizes-only keeps no times and no CPU: for a machine that is not
idle. --short takes some two minutes: for sanity, not for figures. It fails if
counts do not add up or servers differ in what is there, never because of a time.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import machine  # noqa: E402
import pq_sizes_page  # noqa: E402
import pq_transfer  # noqa: E402
import servers  # noqa: E402
import study  # noqa: E402
from pq_algorithms import ALGORITHMS  # noqa: E402
from study import StudyError, conf_kind  # noqa: E402
from tcp_study import check_counts  # noqa: E402

PARTS = ("small", "large")
LIMITS = (512, 1232, 4096)
TRIES = 3   # of a run, at most
ZONE = "bench."
SHORT = {"reps": 1, "seconds": 0.5, "rate": 400, "udp_rate": 400, "size": 500,
         "small": 50, "sign_limit": 1.0}
# UDP limits of 4,096 octets, and transfers, for the configuration of each kind:
# (a line that is there, the lines in its place).
CHANGES = {
    "nsd": [("\ttcp-count: 1000\n", "\ttcp-count: 1000\n"
             "\tipv4-edns-size: 4096\n"),
            ("\tzonefile:", "\tprovide-xfr: 127.0.0.1 NOKEY\n\tzonefile:")],
    "bind": [("\trecursion no;\n", "\trecursion no;\n\tedns-udp-size 4096;\n"
              "\tmax-udp-size 4096;\n\tallow-transfer { any; };\n")],
    "knot": [("    tcp-max-clients: 1000\n", "    tcp-max-clients: 1000\n"
              "    udp-max-payload: 4096\n"),
             ("template:\n", "acl:\n  - id: all\n    address: 127.0.0.0/8\n"
              "    action: transfer\ntemplate:\n"),
             ("    semantic-checks: off\n",
              "    semantic-checks: off\n    acl: all\n")],
    "pdns": [("launch=bind\n", "launch=bind\nudp-truncation-threshold=4096\n"
              "allow-axfr-ips=127.0.0.0/8\n")],
}


def conf_of(kind):
    """A configuration of servers.py with what this study needs."""
    def make(*args):
        name, text = servers.CONFS[kind](*args)
        for old, new in CHANGES[kind]:
            if old not in text:
                raise ValueError(f"{kind}: {old!r} is not in its "
                                 "configuration")
            text = text.replace(old, new)
        return name, text
    return make


class Guard:
    """Kills a server whose start takes more memory than it may, and notes the
    most that it took: by what the machine has less."""
    LOOK_SEC = 0.1

    def __init__(self, server, octets):
        self.server, self.octets = server, octets
        self.before = machine.meminfo("MemAvailable")
        self.most, self.hit = 0, False
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.over.wait(self.LOOK_SEC):
            self.most = max(self.most, self.before
                            - machine.meminfo("MemAvailable"))
            if self.most > self.octets:
                self.hit = True
                self.server.process.kill()
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Sizes(study.Study):
    NAME = "pq"

    def __init__(self, args, work):
        super().__init__(args, work, **{name: getattr(args, name) for name in (
            "size", "small", "rate", "udp_rate", "seconds", "reps")})
        self.result["timed"] = not args.sizes_only
        self.result["algorithms"] = {
            name: list(ALGORITHMS[name][:3])
            for name in args.algorithms.split(",")}
        self.result["signatures"] = {}
        # The memory that starts may take: most of what is free, or what is said.
        free = machine.meminfo("MemAvailable")
        self.memory = min(free * 9 // 10, int(args.memory * (1 << 30))
                          if args.memory else free)
        self.lists = {}

    def save(self):
        os.makedirs(self.args.out, exist_ok=True)
        with open(os.path.join(self.args.out, "pq-sizes.json"), "w",
                  encoding="utf-8") as f:
            json.dump(self.result, f)

    # ---- zones and queries

    def make_zone(self, part, algorithm):
        """A set of the zone; the lists of queries are those of the first one:
        zones differ in signatures alone."""
        number, signature_len, key_len = self.result["algorithms"][algorithm]
        folder = os.path.join(self.work, f"{part}-{number}")
        count = self.args.small if part == "small" else self.args.size
        os.mkdir(folder)
        subprocess.run(
            [self.program("gen_zone"), "-a", str(number), "-s",
             str(signature_len), "-k", str(key_len), "tld", str(count), "1",
             folder], check=True)
        path = f"{folder}/tld.zone"
        if part not in self.lists:
            self.lists[part] = os.path.join(self.work, f"{part}-lists")
            os.mkdir(self.lists[part])
            for name in "tld.hit", "tld.nx":
                shutil.move(f"{folder}/{name}", self.lists[part])
        for name in os.listdir(folder):
            if name != "tld.zone":
                os.unlink(f"{folder}/{name}")
        if part == "small":
            self.sign(path, algorithm)
        octets = os.path.getsize(path)
        self.result.setdefault("files", {})[f"{part} {algorithm}"] = octets
        self.say(f"{part} {algorithm}: {octets:,} octets")
        return servers.ZoneSet(f"{part}-{number}", {"bench": path},
                               probe=(ZONE, 6)), folder

    def sign(self, path, algorithm):
        row = {"signed": 0, "all": None, "by": None}
        try:
            # This module needs packages.
            import pq_sign
            row["signed"], row["all"] = pq_sign.sign_zone(
                path, algorithm, self.args.sign_limit)
            row["by"] = pq_sign.maker(algorithm)
        except ImportError as error:
            self.say(f"{algorithm}: {error}")
        self.result["signatures"][algorithm] = row

    def capture(self, part, limit, rate):
        path = os.path.join(self.work, f"{part}-{limit}-{rate}")
        seconds = self.args.seconds / (2 if part == "small" else 1)
        if not os.path.exists(path):
            lists = self.lists[part]
            subprocess.run(
                [self.program("gen_capture"), "-t", str(seconds),
                 "-r", str(rate), "-T", "0", "-6", "0", "-e", str(limit),
                 "-v", ZONE, f"{lists}/tld.hit", f"{lists}/tld.nx", path],
                check=True)
        return path

    # ---- a server

    def begin(self, kind, zones):
        """(server, None, the most octets it took), or (None, why not, ...)"""
        server = servers.Server(
            conf_kind(kind), self.programs[kind], zones,
            os.path.join(self.work, kind), "0", 1,
            conf=conf_of(conf_kind(kind)))
        try:
            with Guard(server, self.memory) as guard:
                if server.wait(self.args.start_limit):
                    return server, None, guard.most
            ended = server.process.poll() is not None
            why = f"took more than {self.memory / (1 << 30):.1f} GiB" \
                if guard.hit else "ended" if ended \
                else f"no answer in {self.args.start_limit:g} s"
        except BaseException:
            server.stop()
            raise
        server.stop()
        return None, why, guard.most

    def replay(self, server, capture, *more):
        """A run. It is begun again if the host took too much of the cores."""
        for tries in range(1, TRIES + 1):
            stolen = machine.Stolen()
            done = subprocess.run(
                ["taskset", "-c", "1", self.program("replay"), "-i", "60",
                 "-p", ",".join(map(str, server.pids())), *more,
                 str(server.port), capture], check=True,
                stdout=subprocess.PIPE, text=True)
            row = self.compact(json.loads(done.stdout))
            row.update(stolen=stolen.share(), tries=tries)
            if row["stolen"] <= machine.STOLEN_SHARE or self.args.short \
                    or not self.result["timed"]:
                break
        return row

    def compact(self, got):
        """The part of replay's object that the page needs."""
        check_counts(got)
        udp, tcp, used = got["udp"], got["tcp"], got["server"]
        row = {"udp": [udp["sent"] + udp["unsent"], udp["answered"],
                       udp["octets"]],
               "tcp": [tcp["asked"], tcp["answered"], tcp["octets"]],
               "truncated": got["truncated"], "nxdomain": got["rcodes"][3],
               "udp_octets": got["lengths"]["udp"],
               "tcp_octets": got["lengths"]["tcp"]}
        if self.result["timed"]:
            row["cpu"] = [used["user"], used["system"]]
            row["latency"] = {way: [got["latency"][way][part]
                                    for part in ("p50", "p99")]
                              for way in ("udp", "tcp", "both")}
        return row

    def measure(self, part, kind, zones):
        """A row of results: a server with a zone."""
        server, why, most = self.begin(kind, zones)
        if server is None:
            return {"failed": why}
        try:
            self.settle(server)
            row = {"pss_mib": server.pss_kib() / 1024}
            if self.result["timed"]:
                row.update(start_sec=server.start_sec,
                           start_cpu=server.start_cpu_sec(),
                           most_mib=most / (1 << 20))
            row["axfr"] = pq_transfer.take(server.port, ZONE)
            if not self.result["timed"]:
                row["axfr"].pop("seconds", None)
            row["whole"] = self.replay(server, self.capture(
                part, 4096, self.args.rate), "-T")
            for limit in LIMITS:
                row[f"udp {limit}"] = self.replay(server, self.capture(
                    part, limit, self.args.udp_rate))
                if part == "large":
                    row[f"behind {limit}"] = self.replay(
                        server, self.capture(part, limit, self.args.rate),
                        "-C")
            return row
        finally:
            server.stop()

    # ---- parts

    def run_part(self, part):
        turn = 0
        for algorithm in self.result["algorithms"]:
            zones, folder = self.make_zone(part, algorithm)
            for rep in range(self.args.reps):
                for kind in self.rotated(turn):
                    self.note(part, kind, algorithm=algorithm, rep=rep,
                              **self.measure(part, kind, zones))
                    self.save()
                turn += 1
            shutil.rmtree(folder)

    def part_small(self):
        self.run_part("small")

    def part_large(self):
        self.run_part("large")

    def run(self):
        super().run()
        faults = find_faults(self.result["runs"])
        for fault in faults:
            self.say(fault)
        if faults:
            raise StudyError(faults[0])


def find_faults(runs):
    """Faults that no busy machine explains."""
    faults, seen = [], {}
    for run in runs:
        where = f"{run['part']} {run['algorithm']} {run['server']}"
        if "failed" in run:
            continue
        if run["axfr"].get("failed"):
            faults.append(f"{where}: {run['axfr']['failed']}")
        shares = [run[f"udp {limit}"]["truncated"]
                  / run[f"udp {limit}"]["udp"][1] for limit in LIMITS]
        whole = all(run[f"udp {limit}"]["udp"][0]
                    == run[f"udp {limit}"]["udp"][1] for limit in LIMITS)
        if whole and shares != sorted(shares, reverse=True):
            faults.append(f"{where}: more truncated with more room: {shares}")
        for limit in LIMITS:
            got = run[f"udp {limit}"]
            if got["udp_octets"]["max"] > limit:
                faults.append(f"{where}: {got['udp_octets']['max']} octets "
                              f"where {limit} are allowed")
            got = run.get(f"behind {limit}")
            if got and got["truncated"] != got["tcp"][0]:
                faults.append(f"{where}: {got['truncated']} truncated, "
                              f"{got['tcp'][0]} asked again")
        whole = run["whole"]
        if whole["tcp"][0] != whole["tcp"][1]:
            continue
        for what, value in (("names that do not exist", whole["nxdomain"]),
                            ("records", run["axfr"].get("records"))):
            first = seen.setdefault((run["part"], what), (value, where))
            if value != first[0]:
                faults.append(f"{where}: {value} {what}, {first[1]} has "
                              f"{first[0]}")
    return faults


def parse_args():
    parser = study.parser_of(__doc__, PARTS, "ours,newer,nsd,knot,bind")
    parser.add_argument("--reps", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--udp-rate", type=int, default=20000)
    parser.add_argument("--size", type=int, default=1000000)
    parser.add_argument("--small", type=int, default=500)
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    parser.add_argument("--memory", type=float)
    parser.add_argument("--start-limit", type=float, default=300)
    parser.add_argument("--sign-limit", type=float, default=20)
    parser.add_argument("--sizes-only", action="store_true")
    args = study.parse(parser, PARTS, SHORT)
    for name in args.algorithms.split(","):
        if name not in ALGORITHMS:
            parser.error(f"{name}: not one of "
                         + ", ".join(ALGORITHMS))
    return args


if __name__ == "__main__":
    study.run(parse_args(), Sizes, pq_sizes_page)
