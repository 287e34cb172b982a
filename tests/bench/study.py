"""The common parts of studies: servers are found, started and stopped, other
programs watched, and results kept as JSON; a page and its charts are made of it."""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import machine
import report
import servers

KINDS = ("ours", "newer", "nsd", "knot", "bind", "pdns")
PROGRAMS = {**servers.RIVALS, "pdns": "pdns_server"}
VERSION_FLAGS = {"bind": "-V", "knot": "-V", "pdns": "--version"}
START_LIMIT_SEC = 600
# A server has settled when it takes less than this in a look.
SETTLED_NS = 5e6
# The same for a shorter look.
RESTING_NS = 4e5


class StudyError(Exception):
    """A fault that no busy machine explains."""


def conf_kind(kind):
    """The kind of servers.py whose configuration it reads."""
    return "nsd" if kind in ("ours", "newer") else kind


def version_of(kind, program):
    done = subprocess.run([program, VERSION_FLAGS.get(kind, "-v")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    lines = done.stdout.strip().splitlines() or ["unknown"]
    # Some print the time first. Angle brackets would be a link.
    first = re.sub(r"^\w+ +\d+ [\d:]+ | ?<\w*:\w*>", "", lines[0])
    return first + (" (with the asserts of hot paths)"
                       if "--enable-hot-asserts" in done.stdout else "")


class Study:
    """Measurements of all servers, in parts: a method part_NAME each. NAME: of
    the results. A part of MAY_FAIL ends alone where the system forbids what it
    needs."""
    NAME = ""
    MAY_FAIL = ()

    def __init__(self, args, work, **parameters):
        self.args, self.work = args, work
        self.programs = self.find_programs()
        self.result = {
            "study": self.NAME, "machine": machine.name(),
            "date": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[0], "short": args.short,
            "versions": {kind: version_of(kind, path)
                         for kind, path in self.programs.items()},
            "parameters": parameters, "others": {}, "runs": []}
        self.others = machine.Others(self.result["others"])

    def say(self, text):
        print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr,
              flush=True)

    def program(self, name):
        path = os.path.join(self.args.build, "tests/bench", name)
        if not os.access(path, os.X_OK):
            raise StudyError(f"there is no {path}: make -C {self.args.build} "
                             f"tests/bench/{name}")
        return path

    def find_programs(self):
        named = dict(one.split("=", 1) for one in self.args.program)
        found = {}
        for kind in self.args.servers.split(","):
            path = named.get(kind) or (
                os.path.join(self.args.build, "nsd") if kind == "ours"
                else servers.find_program(PROGRAMS.get(kind, kind)))
            if path and os.access(path, os.X_OK):
                found[kind] = path
            else:
                self.say(f"{kind} is missing")
        if not found:
            raise StudyError("no server is there")
        return found

    def start(self, kind, zones, workers=1, cpus="0", conf=None,
              limit_sec=START_LIMIT_SEC):
        """A server that answers."""
        server = servers.Server(
            conf_kind(kind), self.programs[kind], zones,
            os.path.join(self.work, kind), cpus, workers, conf=conf)
        try:
            if not server.wait(limit_sec):
                raise StudyError(f"{kind} does not serve {zones.name}")
        except BaseException:
            server.stop()
            raise
        return server

    def settle(self, server):
        """Waits until it does nothing, a minute at most."""
        last, still = 0, 0
        for _ in range(240):
            time.sleep(0.05 if self.args.short else 0.25)
            cpu = server.cpu_ns()[0]
            still = still + 1 if cpu - last < SETTLED_NS else 0
            last = cpu
            if still == 4:
                return

    def rest(self, server):
        """Waits until it has answered what waits for it, a minute at most."""
        last, still = server.cpu_ns()[0], 0
        for _ in range(3000):
            time.sleep(0.02)
            cpu = server.cpu_ns()[0]
            still = still + 1 if cpu - last < RESTING_NS else 0
            last = cpu
            if still == 2:
                return

    def rotated(self, turn):
        """The servers; another one is the first at each turn."""
        kinds = list(self.programs)
        return kinds[turn % len(kinds):] + kinds[:turn % len(kinds)]

    def note(self, part, kind, **more):
        self.result["runs"].append({"part": part, "server": kind, **more})
        self.say(f"{part} {kind} " + " ".join(
            f"{name} {value:.6g}" if isinstance(value, float)
            else f"{name} {value}" for name, value in more.items()
            if not isinstance(value, (dict, list))))

    def keep(self, old):
        """Takes the parts of older results that are not measured now. Each part
        is of one machine and day, which the page names."""
        measured = self.args.parts.split(",")
        self.result["runs"] = [run for run in old["runs"]
                               if run["part"] not in measured]
        self.result["machines"] = {
            run["part"]: machine_of(old, run["part"])
            for run in self.result["runs"]}
        self.result["dates"] = {run["part"]: date_of(old, run["part"])
                                for run in self.result["runs"]}
        for name in ("others", "parameters"):
            self.result[name] |= {part: row for part, row in old[name].items()
                                  if part not in measured}
        self.result["versions"] = old["versions"] | self.result["versions"]

    def run(self):
        for part in self.args.parts.split(","):
            self.others.part = part
            with self.others.watched():
                try:
                    getattr(self, f"part_{part}")()
                except (OSError, subprocess.SubprocessError) as error:
                    if part not in self.MAY_FAIL:
                        raise
                    self.failed(part, error)
            self.save()

    def failed(self, part, error):
        self.say(f"{part}: {error}")

    def save(self):
        os.makedirs(self.args.out, exist_ok=True)
        with open(os.path.join(self.args.out, f"{self.NAME}-study.json"),
                  "w") as f:
            json.dump(self.result, f)


def parser_of(text, parts, kinds="ours,newer,nsd,knot,bind,pdns"):
    """The options that all studies have. kinds: the servers that are measured
    if none is named; None: all, and one NSD."""
    parser = argparse.ArgumentParser(description=text, formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    parser.add_argument("--build", default=".")
    parser.add_argument("--tmp", default=None)
    parser.add_argument("--out", default="bench-results-studies")
    parser.add_argument("--doc")
    parser.add_argument("--servers", default=kinds)
    parser.add_argument("--program", action="append", default=[],
                        metavar="NAME=PATH")
    parser.add_argument("--parts", default=",".join(parts))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--again", metavar="RESULTS.JSON")
    parser.add_argument("--keep", metavar="RESULTS.JSON")
    return parser


def parse(parser, parts, short):
    """The arguments; short: what --short has in place of them."""
    args = parser.parse_args()
    if args.servers is None:
        newer = any(one.startswith("newer=") for one in args.program)
        args.servers = ",".join(kind for kind in KINDS if kind != (
            "nsd" if newer else "newer"))
    for part in args.parts.split(","):
        if part not in parts:
            parser.error(f"{part}: not a part")
    for kind in args.servers.split(","):
        if kind not in KINDS:
            parser.error(f"{kind}: not a server")
    if args.short:
        for name, value in short.items():
            setattr(args, name, value)
        if args.doc:
            parser.error("--doc: the figures of --short mean nothing")
    args.build = os.path.abspath(args.build)
    return args


# ---- pages

def machine_of(result, part):
    """The machine that a part was measured on."""
    return result.get("machines", {}).get(part, result["machine"])


def date_of(result, part):
    """The day on which a part was measured; "": not recorded."""
    return result.get("dates", {}).get(part, result.get("date", ""))


def part_text(result, part, names):
    """Other programs during a part, and its machine and day if the results have
    others."""
    text = f"{names}: {machine.others_text(result['others'].get(part))}"
    where, when = machine_of(result, part), date_of(result, part)
    if where != result["machine"]:
        text += f" (Measured on {where}.)"
    if when != result.get("date", ""):
        text += f" (Measured on {when or 'an earlier day'}.)"
    return text


def versions_text(result):
    """The versions, where newer NSD comes from, the settings, and the day."""
    # Angle brackets, as of BIND's "<id:>", would be a link.
    text = "; ".join(f"{kind}: " + re.sub(r" ?<\w*:\w*>", "", version)
                     for kind, version in result["versions"].items()) + "."
    if "newer" in result["versions"]:
        text += " *newer* is Debian 13's package with its own C library " \
            "(`tools/newer-nsd`)."
    if "pdns" in result["versions"]:
        text += " *pdns* reads zone files (its backend *bind*), and has a " \
            "receiver thread for each worker and a distributor thread."
    text += " Ours is a release build. Settings: `tests/bench/servers.py`; " \
        "no rate limits, no journals."
    day = result.get("date")
    return text + (f" Measured on {day}." if day else "")


def heading(result, title, maker, parts):
    """The first lines of a page: what made it, the machine, what else ran."""
    lines = [f"# {title}\n\nMade by `tests/bench/{maker}`; nobody edits it. "
             f"{result['machine']}."]
    lines += [part_text(result, part, names)
              for part, names in parts.items()
              if any(run["part"] == part for run in result["runs"])]
    text = " ".join(lines) + "\n\n"
    if result.get("short"):
        text += "**A short run, for sanity: its figures mean nothing.**\n\n"
    return text + versions_text(result) + "\n"


def runs_of(result, part, **want):
    return [run for run in result["runs"] if run["part"] == part
            and all(run.get(key) == value for key, value in want.items())]


def kinds_of(result, part):
    have = {run["server"] for run in runs_of(result, part)}
    return [kind for kind in result["versions"] if kind in have]


def values_of(result, part, what, **want):
    return [run[what] for run in runs_of(result, part, **want)
            if run.get(what) is not None]


def of_form(value, form="%.0f"):
    return "-" if value is None else form % value


def write_page(result, directory, name, text, charts):
    """The page, its charts {file: arguments of line_chart}, and the results."""
    os.makedirs(directory, exist_ok=True)
    for file, arguments in charts.items():
        report.line_chart(os.path.join(directory, file), *arguments)
    for file, content in ((f"{name}-study.md", text),
                          (f"{name}-study.json", json.dumps(result) + "\n")):
        with open(os.path.join(directory, file), "w") as f:
            f.write(content)


def run(args, kind, page):
    """Measures, or reads results that are there, and writes what page.write
    makes of them. kind: a Study of args and a folder for its files."""
    try:
        measure(args, kind, page)
    except StudyError as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")


def measure(args, kind, page):
    if args.again:
        with open(args.again) as f:
            result = json.load(f)
    else:
        # A run that is ended cleans up like one that is interrupted.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with tempfile.TemporaryDirectory(prefix="nsd-study-",
                                         dir=args.tmp) as work:
            study = kind(args, work)
            if args.keep:
                with open(args.keep) as f:
                    study.keep(json.load(f))
            study.run()
        result = study.result
        page.write(result, args.out)
    if args.doc:
        page.write(result, args.doc)
