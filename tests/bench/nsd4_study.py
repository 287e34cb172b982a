#!/usr/bin/env python3
"""Repeats the measurements that NSD 4 was presented with (NLnet Labs, 2013).

    nsd4_study.py [--build DIR] [--tmp DIR] [--out DIR] [--doc DIR]
                  [--servers NAME,...] [--program NAME=PATH] [--reps N]
                  [--seconds SEC] [--size N] [--rates N,...] [--days N]
                  [--day-sec SEC] [--month-zones N] [--changes-day N]
                  [--parts NAME,...] [--keep RESULTS.JSON] [--short]
    nsd4_study.py --again RESULTS.JSON --doc DIR

Parts: offered (share answered of the UDP queries offered to an unsigned root of
500 delegations, from 10,000 a second until less than half is answered, 1 worker
to as many as there are cores), tcp (a connection for each query, 100 at a time,
given up after 100 ms, by workers), memory (of a TLD of --size delegations beside
the size of its file: unsigned, with NSEC, with NSEC3 and opt-out), times
(compilation where a server has one, start, stop, of that with NSEC3), month
(--days days of updates of --month-zones zones, of which each lasts --day-sec
seconds: memory of each process over time; all servers at once).

--keep takes the parts that are not measured now from older results. --out gets
the results as JSON, with each run; --doc the page, its charts and the JSON
(nsd4-study.*). --again measures nothing: it writes the page of results that are
there. --short takes about three minutes, two of them a day of the month: for
sanity, not for figures. It fails if a server does not answer or takes no change,
never because of a time.

Servers: ours nsd knot bind pdns; newer: another NSD, by --program newer=PATH. One
worker is on core 0, more are on as many cores; the client is on the last core.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import machine  # noqa: E402
import month  # noqa: E402
import nsd4_study_page  # noqa: E402
import servers  # noqa: E402
import study  # noqa: E402
import zone_forms  # noqa: E402

PARTS = ("offered", "tcp", "memory", "times", "month")
PARAMETERS = {
    "offered": ("reps", "seconds"), "tcp": ("reps", "seconds"),
    "memory": ("size",), "times": ("size", "reps"),
    "month": ("days", "day_sec", "month_zones", "changes_day")}
ROOT_SIZE = 500
CONNECTIONS, TIMEOUT_MS = 100, 100
FORMS = ("unsigned", "NSEC", "NSEC3")
# Answers that come later count as lost: a queue is no rate.
DRAIN_MS = 10
# A curve ends where less is answered.
CURVE_END = 0.5
# A machine that is busy may leave a short run without an answer.
TRIES = 20
SHORT = {"reps": 1, "seconds": 0.5, "size": 2000, "rates": "1000,2000",
         "days": 1, "day_sec": 120.0, "month_zones": 50, "changes_day": 20.0}


class Study(month.Parts, study.Study):
    NAME = "nsd4"

    def __init__(self, args, work):
        super().__init__(args, work, **{
            part: {name: getattr(args, name) for name in names}
            for part, names in PARAMETERS.items()})
        self.cores = os.cpu_count()
        self.zones = {}

    # ---- zones

    def zone_of(self, kind, size, form):
        """A zone of gen_zone, made once."""
        key = (kind, size, form)
        if key not in self.zones:
            folder = os.path.join(self.work, f"{kind}-{size}")
            if not os.path.isdir(folder):
                os.mkdir(folder)
                subprocess.run([self.program("gen_zone"), kind, str(size),
                                "1", folder], check=True)
            self.zones[key] = self.formed(folder, kind, size, form)
        return self.zones[key]

    def formed(self, folder, kind, size, form):
        path = f"{folder}/{kind}.zone"
        if form in ("unsigned", "NSEC"):
            make = {"unsigned": zone_forms.unsigned,
                    "NSEC": zone_forms.signed_with_nsec}[form]
            make(path, f"{path}.{form}")
            path = f"{path}.{form}"
        name, probe = {"root": (".", (".", 6)),
                       "tld": ("bench", ("bench.", 6))}[kind]
        zones = servers.ZoneSet(f"{kind}-{size}-{form}", {name: path},
                                probe=probe)
        zones.path, zones.prefix = path, f"{folder}/{kind}"
        return zones

    # ---- running

    def load(self, server, *options):
        """The client's counts; it runs on the last core."""
        for _ in range(TRIES):
            got = self.load_once(server, options)
            if got["answered"]:
                return got
        raise study.StudyError(f"{server.kind} answers nothing")

    def load_once(self, server, options):
        done = subprocess.run(
            ["taskset", "-c", str(self.cores - 1), self.program("load"),
             *map(str, options)], check=True, stdout=subprocess.PIPE,
            text=True, timeout=self.args.seconds + 60)
        got = json.loads(done.stdout)
        self.rest(server)
        if server.process.poll() is not None:
            raise study.StudyError(f"{server.kind} has ended")
        return got

    def with_workers(self, part, body):
        """Calls body with each server and count of workers; the repeats are
        in turns between servers."""
        zones = self.zone_of("root", ROOT_SIZE, "unsigned")
        for rep in range(self.args.reps):
            for workers in range(1, self.cores + 1):
                for kind in self.rotated(rep):
                    server = self.start(kind, zones, workers,
                                        ",".join(map(str, range(workers))))
                    try:
                        self.settle(server)
                        self.note(part, kind, rep=rep, workers=workers,
                                  **body(server, zones))
                    finally:
                        server.stop()

    # ---- parts

    def part_offered(self):
        self.with_workers("offered", self.offered_curve)

    def offered_curve(self, server, zones):
        """Points (offered, answered), a second."""
        points = []
        for rate in map(int, self.args.rates.split(",")):
            got = self.load(server, "-t", self.args.seconds, "-r", rate, "-w",
                            4096, "-c", 16, "-D", DRAIN_MS, "udp", server.port,
                            zones.prefix + ".hit")
            offered = got["sent"] / self.args.seconds
            points.append((offered, got["answered"] / self.args.seconds))
            # The client cannot offer more, either.
            if got["answered"] < CURVE_END * got["sent"] or \
                    offered < 0.8 * rate:
                break
        return {"points": points,
                "most": max(answered for _, answered in points)}

    def part_tcp(self):
        self.with_workers("tcp", self.tcp_rate)

    def tcp_rate(self, server, zones):
        got = self.load(server, "-t", self.args.seconds, "-c", CONNECTIONS,
                        "-w", 1, "-n", 1, "-T", TIMEOUT_MS, "tcp", server.port,
                        zones.prefix + ".hit")
        return {"rate": got["answered"] / got["seconds"],
                "timeouts": got["timeouts"], "refused": got["failed"]}

    def part_memory(self):
        for form in FORMS:
            zones = self.zone_of("tld", self.args.size, form)
            for kind in self.programs:
                server = self.start(kind, zones)
                try:
                    self.settle(server)
                    self.note("memory", kind, form=form,
                              file_mib=os.path.getsize(zones.path) / machine.MIB,
                              **memory_of(server))
                finally:
                    server.stop()
            self.drop(zones)

    def drop(self, zones):
        """Frees the disk from a form; the zone that it was made of stays."""
        if not zones.path.endswith(".zone"):
            os.unlink(zones.path)
            self.zones = {key: made for key, made in self.zones.items()
                          if made is not zones}

    def part_times(self):
        zones = self.zone_of("tld", self.args.size, "NSEC3")
        for rep in range(self.args.reps):
            for kind in self.rotated(rep):
                self.times(kind, rep, zones)
                if kind == "bind":
                    self.times_compiled(rep, zones)

    def times(self, kind, rep, zones, conf=None, **more):
        machine.touch(machine.wanted_octets(f"tld-{self.args.size}", 0))
        server = self.start(kind, zones, conf=conf)
        try:
            self.settle(server)
            cpu_sec = server.start_cpu_sec()
        finally:
            server.stop()
        if server.stop_sec is None:
            raise study.StudyError(f"{kind} does not end")
        self.note("times", kind, rep=rep, start_sec=server.start_sec,
                  cpu_sec=cpu_sec, stop_sec=server.stop_sec, **more)

    def times_compiled(self, rep, zones):
        """BIND with a zone compiled before: its format raw."""
        compiler = servers.find_program("named-compilezone")
        if not compiler:
            return
        raw = f"{zones.path}.raw"
        begin = time.monotonic()
        subprocess.run(["taskset", "-c", "0", compiler, "-q", "-i", "none",
                        "-F", "raw", "-o", raw, "bench", zones.path],
                       check=True, stdout=subprocess.DEVNULL)
        took = time.monotonic() - begin
        compiled = servers.ZoneSet("raw", {"bench": raw}, probe=zones.probe)
        self.times("bind", rep, compiled, conf=conf_raw, compile_sec=took)
        os.unlink(raw)


def conf_raw(*args):
    name, text = servers.conf_named(*args)
    return name, text.replace("type primary;",
                              "type primary; masterfile-format raw;")


def memory_of(server):
    """MiB: PSS of all processes, the sums of their RSS, of the most of it, of
    virtual memory and of swap, and RSS of the largest."""
    found = {"VmRSS": [], "VmHWM": [], "VmSize": [], "VmSwap": []}
    for pid in server.pids():
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                for line in f:
                    name, rest = line.split(":", 1)
                    if name in found:
                        found[name].append(int(rest.split()[0]) / 1024)
        except OSError:
            continue
    return {"pss": server.pss_kib() / 1024, "rss": sum(found["VmRSS"]),
            "largest": max(found["VmRSS"]), "peak": sum(found["VmHWM"]),
            "virtual": sum(found["VmSize"]), "swap": sum(found["VmSwap"])}


def parse_args():
    parser = study.parser_of(__doc__, PARTS)
    parser.add_argument("--reps", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--size", type=int, default=1000000)
    parser.add_argument("--rates", default="10000,20000,40000,60000,80000,"
                        "100000,120000,140000,160000,180000,200000,250000,"
                        "300000,350000,400000")
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--day-sec", type=float, default=25)
    parser.add_argument("--month-zones", type=int, default=1000)
    parser.add_argument("--changes-day", type=float, default=2)
    return study.parse(parser, PARTS, SHORT)


if __name__ == "__main__":
    study.run(parse_args(), Study, nsd4_study_page)
