#!/usr/bin/env python3
"""Repeats the measurements of the thesis that Knot DNS began with (2010).

    knot_study.py [--build DIR] [--tmp DIR] [--out DIR] [--doc DIR]
                  [--servers NAME,...] [--program NAME=PATH] [--reps N]
                  [--seconds SEC] [--size N] [--outstanding N,...]
                  [--clients N,...] [--keep RESULTS.JSON] [--short]
    knot_study.py --again RESULTS.JSON --doc DIR

dnsperf asks for names of a TLD, half of which exist: of the zone unsigned, and of
it signed, with DO; one client, and two at once (a process each); 20 and 100
queries outstanding a client; workers from 1 to as many as there are cores. Answers a
second, lost queries, and the time of an answer are those that dnsperf reports.

--out gets the results as JSON, with each run; --doc the page, its charts and the
JSON (knot-study.*). --again measures nothing: it writes the page of results that
are there. --short takes about a minute: for sanity, not for figures. It fails if
a server does not answer, never because of a time.

Servers: ours nsd knot bind pdns; newer: another NSD, by --program newer=PATH. One
worker is on core 0, more are on as many cores; the clients share the last core.
"""
import itertools
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import knot_study_page  # noqa: E402
import servers  # noqa: E402
import study  # noqa: E402
import zone_forms  # noqa: E402

PARTS = ("matrix",)
# A query that has no answer for so long is lost, to dnsperf.
TIMEOUT_SEC = 1
QUERIES_MAX = 500000
# A machine that is busy may leave a short run without an answer.
TRIES = 20
SHORT = {"reps": 1, "seconds": 1, "size": 1000, "outstanding": "20",
         "clients": "1,2"}
FIGURES = {
    "sent": r"Queries sent: +(\d+)",
    "answered": r"Queries completed: +(\d+)",
    "lost": r"Queries lost: +(\d+)",
    "rate": r"Queries per second: +([\d.]+)",
    "latency": r"Average Latency \(s\): +([\d.]+)",
}


class Study(study.Study):
    NAME = "knot"

    def __init__(self, args, work):
        super().__init__(args, work, matrix={
            name: getattr(args, name) for name in (
                "reps", "seconds", "size", "outstanding", "clients")})
        self.cores = os.cpu_count()
        if not servers.find_program("dnsperf"):
            raise study.StudyError("dnsperf is missing")
        self.zones = self.make_zones()
        self.queries = self.make_queries()

    def make_zones(self):
        """{form: zones}"""
        self.folder = os.path.join(self.work, "zone")
        os.mkdir(self.folder)
        subprocess.run([self.program("gen_zone"), "tld", str(self.args.size),
                        "1", self.folder], check=True)
        made = {}
        for form in ("unsigned", "signed"):
            path = f"{self.folder}/tld.zone"
            if form == "unsigned":
                zone_forms.unsigned(path, f"{path}.unsigned")
                path = f"{path}.unsigned"
            made[form] = servers.ZoneSet(f"tld-{form}", {"bench": path},
                                         probe=("bench.", 6))
        return made

    def make_queries(self):
        """A file for each client; names that exist and that do not, in
        turns."""
        with open(f"{self.folder}/tld.hit", encoding="ascii") as hits, \
                open(f"{self.folder}/tld.nx", encoding="ascii") as misses:
            lines = [line for pair in itertools.islice(
                zip(hits, misses), QUERIES_MAX // 2) for line in pair]
        paths = []
        clients = max(map(int, self.args.clients.split(",")))
        for client in range(clients):
            first = len(lines) * client // clients
            paths.append(f"{self.folder}/queries-{client}")
            with open(paths[-1], "w", encoding="ascii") as f:
                f.writelines(lines[first:] + lines[:first])
        return paths

    # ---- running

    def part_matrix(self):
        for rep in range(self.args.reps):
            for form, zones in self.zones.items():
                for workers in range(1, self.cores + 1):
                    for kind in self.rotated(rep):
                        self.measure(kind, zones, form, workers, rep)

    def measure(self, kind, zones, form, workers, rep):
        """All clients and counts of outstanding queries of one server."""
        server = self.start(kind, zones, workers,
                            ",".join(map(str, range(workers))))
        try:
            self.settle(server)
            for clients in map(int, self.args.clients.split(",")):
                for outstanding in map(int, self.args.outstanding.split(",")):
                    self.note("matrix", kind, rep=rep, form=form,
                              workers=workers, clients=clients,
                              outstanding=outstanding,
                              **self.ask(server, form, clients, outstanding))
        finally:
            server.stop()

    def ask(self, server, form, clients, outstanding):
        """The sums over the clients; the mean of their latencies."""
        for _ in range(TRIES):
            got = self.ask_once(server, form, clients, outstanding)
            if server.process.poll() is not None:
                raise study.StudyError(f"{server.kind} has ended")
            if got["answered"]:
                return got
        raise study.StudyError(f"{server.kind} answers nothing")

    def ask_once(self, server, form, clients, outstanding):
        command = ["taskset", "-c", str(self.cores - 1), "dnsperf", "-s",
                   "127.0.0.1", "-p", str(server.port), "-l",
                   str(self.args.seconds), "-q", str(outstanding), "-t",
                   str(TIMEOUT_SEC), "-T", "1"]
        command += ["-e", "-D"] if form == "signed" else []
        running = [subprocess.Popen([*command, "-d", path], text=True,
                                    stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)
                   for path in self.queries[:clients]]
        found = [figures_of(one.communicate()[0]) for one in running]
        got = {name: sum(one[name] for one in found) for name in FIGURES}
        got["latency"] /= clients
        return got


def figures_of(text):
    """The figures that dnsperf reports."""
    got = {}
    for name, pattern in FIGURES.items():
        found = re.search(pattern, text)
        if not found:
            raise study.StudyError(f"dnsperf does not say {name}: {text}")
        got[name] = float(found[1]) if name in ("rate", "latency") \
            else int(found[1])
    return got


def parse_args():
    parser = study.parser_of(__doc__, PARTS)
    parser.add_argument("--reps", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--size", type=int, default=100000)
    parser.add_argument("--outstanding", default="20,100")
    parser.add_argument("--clients", default="1,2")
    return study.parse(parser, PARTS, SHORT)


if __name__ == "__main__":
    study.run(parse_args(), Study, knot_study_page)
