"""The cost of DNSSEC: the parts nsec3, dnssec and hashing of the bench."""
import os
import subprocess
import time

import machine
import report
import servers
from pages import cases_markdown, cell

# NLnet Labs document 2010-002: these numbers of iterations.
ITERATIONS = [0, 1, 15, 50, 100, 150, 500, 2500]
# Where a server asks itself how its rate falls, not how its cache does.
SMALLER = 10


class Parts:
    """Of Bench, which has the rest."""

    # ---- the experiment

    def start_hashed(self, kind, names, iterations):
        """With all names, or a tenth where hashing these takes too long."""
        for count in (names, names // SMALLER):
            zones = self.zone_set(f"qx-{count}-{iterations}")
            s = self.start(kind, zones, limit_sec=self.args.start_limit)
            if s:
                s.names = count
                return s
            if iterations < ITERATIONS[3]:
                break  # the server refuses the zone: its size is not why
        return None

    def part_nsec3(self):
        """CPU time of a denial against iterations, all servers in turns."""
        self.result["hash"] = subprocess.run(
            ["taskset", "-c", "0", os.path.join(self.bin, "bench_nsec3")],
            check=True, text=True, stdout=subprocess.PIPE).stdout
        names = self.args.names
        experiment = self.result.setdefault("nsec3", {
            "names": names, "refused": {}, "fewer": {},
            "points": {}, "octets": {}})
        for iterations in ITERATIONS:
            running = []
            try:
                for kind in self.programs:
                    s = self.start_hashed(kind, names, iterations)
                    note = "refused" if not s else \
                        "fewer" if s.names < names else None
                    if note:
                        experiment[note].setdefault(kind, []).append(
                            iterations)
                    if s:
                        running.append(s)
                if running:
                    self.measure_denial(running, iterations, names,
                                        experiment)
            finally:
                for s in running:
                    s.stop()
            for count in (names, names // SMALLER):
                self.drop_set(f"qx-{count}-{iterations}")

    def measure_denial(self, running, iterations, names, experiment):
        case = f"nsec3 {iterations}"
        queries = self.zone_set(f"qx-{names}-{iterations}").prefix + ".nx"
        self.turns(running, case, ["-w", 128, "-d"], "udp", queries)
        for row in self.result["rows"]:
            if row["case"] != case:
                continue
            kind = row["server"]
            asked = max(1, sum(row["codes"][k] for k in (
                "noerror", "nxdomain", "refused", "servfail")))
            if row["codes"]["nxdomain"] < 0.99 * asked:
                self.say(f"{kind}: no denials at {iterations}: left out")
                experiment["refused"].setdefault(kind, []).append(iterations)
                continue
            experiment["points"].setdefault(kind, []).append(
                (iterations, row["cpu_ns"], row["rate"]))
            if row["codes"]["truncated"] == 0:
                experiment["octets"][kind] = row["octets"]
        self.save()

    # ---- a TLD

    def part_dnssec(self):
        """A root, and a TLD at 0 iterations and at 150, with and without
        DO."""
        size = self.args.size
        self.result["size"] = size
        self.measure_zone("root", "root", ROOT_CASES)
        for iterations in (0, 150):
            self.measure_zone(f"tld-{size}-{iterations}", f"tld {iterations}",
                              [case for case in TLD_CASES if not iterations
                               or case[1] in ("unsigned", "nx")])

    def measure_zone(self, name, label, cases):
        zones = self.zone_set(name)
        running = []
        try:
            for kind in self.programs:
                if kind == "bind" and not self.args.servers:
                    continue
                s = self.start(kind, zones, limit_sec=self.args.start_limit)
                if s:
                    running.append(s)
            for case, file, do in cases:
                self.turns(running, f"dnssec {label} {case}",
                           ["-w", 128] + (["-d"] if do else []), "udp",
                           f"{zones.prefix}.{file}")
        finally:
            for s in running:
                s.stop()
        self.drop_set(zones.name)

    def part_hashing(self):
        """Measures the time that hashing adds to a start: on one core; ours on
        all, too."""
        self.result["size"] = self.args.size
        for what in ("unused", "0", "150"):
            zones = self.zone_set(f"tld-{self.args.size}-{what}")
            for turn in range(min(2, self.args.reps)):
                for kind in self.rotated(turn):
                    if kind == "bind" and not self.args.servers:
                        continue
                    self.measure_hashing(kind, zones, what, "0")
                    if kind == "ours":
                        self.measure_hashing(kind, zones, what, "0,1")
            self.drop_set(zones.name)

    def measure_hashing(self, kind, zones, what, cpus):
        self.touch(zones)
        with self.others.watched():
            self.measure_hashed(kind, zones, what, cpus)

    def measure_hashed(self, kind, zones, what, cpus):
        s = servers.Server(kind, self.programs[kind], zones, self.work, cpus)
        try:
            if not s.wait(self.args.start_limit):
                self.say(f"{kind} did not serve {zones.name}")
                return
            wait_settled(s)
            row = {"server": kind, "iterations": what, "cpus": cpus,
                   "start_sec": s.start_sec, "cpu_sec": s.start_cpu_sec(),
                   "pss_mib": s.pss_kib() / 1024}
            self.result.setdefault("hashing", []).append(row)
            self.say("%-16s %-7s cores %-3s first answer %7.2f s, %.2f s CPU,"
                     " %.0f MiB" % (zones.name, kind, cpus, row["start_sec"],
                                    row["cpu_sec"], row["pss_mib"]))
            self.save()
        finally:
            s.stop()


ROOT_CASES = [
    ("referrals", "hit", False),
    ("referrals DO", "hit", True),
    ("mix", "mix", False),
    ("mix DO", "mix", True),
    ("nxdomain", "nx", False),
    ("nxdomain DO", "nx", True),
]
TLD_CASES = [
    ("referrals", "hit", False),
    ("referrals DO", "hit", True),
    ("unsigned referrals DO", "unsigned", True),
    ("signed referrals DO", "signed", True),
    ("mix DO", "mix", True),
    ("mix", "mix", False),
    ("nxdomain", "nx", False),
    ("nxdomain DO", "nx", True),
]


def wait_settled(server, limit_sec=30):
    """Waits until the server has spent next to no CPU time for a second."""
    last, still, end = 0, 0, time.monotonic() + limit_sec
    while still < 4 and time.monotonic() < end:
        time.sleep(0.25)
        cpu = server.cpu_ns()[0]
        still = still + 1 if cpu - last < 5e6 else 0
        last = cpu


# ---- tables

def half_count(points):
    """Iterations at which an answer costs twice what it costs at 0."""
    points = sorted(points)
    if not points or points[0][0] != 0:
        return None
    twice = 2 * points[0][1]
    for (x0, y0, _), (x1, y1, _) in zip(points, points[1:]):
        if y1 >= twice > y0:
            return x0 + (twice - y0) * (x1 - x0) / (y1 - y0)
    return None


def slope(points):
    """Nanoseconds that a further iteration costs a query."""
    points = sorted(points)
    if len(points) < 2 or points[-1][0] < 100:
        return None
    return (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])


def nsec3_markdown(result):
    e = result["nsec3"]
    kinds = [k for k in result["versions"] if k in e["points"]]
    at = {k: {p[0]: p for p in e["points"][k]} for k in kinds}
    rows = []
    for iterations in ITERATIONS:
        cells = []
        others = [at[k][iterations][1] for k in kinds
                  if k != "ours" and iterations in at[k]]
        for k in kinds:
            if iterations not in at[k]:
                cells.append("-")
                continue
            mark = "*" if iterations in e["fewer"].get(k, []) else ""
            cells.append(f"{at[k][iterations][1]:.0f}{mark}")
        ours = at.get("ours", {}).get(iterations)
        cells.append(cell(ours[1] / min(others) if ours and others
                          else None, "%.2f"))
        rows.append([iterations] + cells)
    rows.append(["half at"] + [cell(half_count(e["points"][k]))
                               for k in kinds] + [""])
    rows.append(["each further"] + [cell(slope(e["points"][k]), "%.1f")
                                    for k in kinds] + [""])
    rows.append(["octets"] + [cell(e["octets"].get(k)) for k in kinds] + [""])
    text = ("# Iterations of NSEC3\n\n"
            + machine.line(result, "nsec3")
            + f"The zone qx: {e['names']:,} names `[a-z]{{5}}v.qx`, a salt of "
            "4 octets; queries for `[a-z]{5}i.qx` with DO. CPU time an "
            "answer, ns; \"half at\": iterations at which an answer costs "
            "twice what it costs at 0; \"each further\": ns an iteration.\n\n"
            + report.table(["iterations"] + kinds + ["ours/best"], rows))
    if any(e["fewer"].values()):
        text += (f"\n\\* measured with a {SMALLER}th of the names: hashing "
                 "all of them took the server too long at its start.\n")
    for k, which in e["refused"].items():
        text += f"\n{k} did not answer from the zone with " + \
            ", ".join(str(n) for n in which) + " iterations.\n"
    return text


def draw_nsec3(result, path):
    e = result["nsec3"]
    series = {k: [(n, 1e6 / cpu) for n, cpu, _ in points]
              for k, points in e["points"].items()}
    for k, points in e["points"].items():
        half = half_count(points)
        if half is not None:
            series[f"{k}, half at {half:.0f}"] = series.pop(k)
    report.line_chart(path, "Denials a second of CPU time against iterations "
                      "of NSEC3", "iterations", "thousand answers a second",
                      series, ITERATIONS)


def dnssec_markdown(result):
    return ("# DNSSEC on a root and on a TLD\n\n"
            + machine.line(result, "dnssec")
            + f"The TLD has {result['size']:,} delegations; the number before "
            "a case: iterations of NSEC3. The mix of the root: 60 % names "
            "that do not exist, 40 % referrals; of the TLD: 70 % referrals, "
            "20 % names that do not exist, 7 % DS, 3 % apex. "
            + cases_markdown(result, "dnssec "))


def hashing_markdown(result):
    got = {}
    for row in result["hashing"]:
        got.setdefault((row["iterations"], row["cpus"]), {}).setdefault(
            row["server"], []).append(row)
    kinds = [k for k in result["versions"]
             if any(k in v for v in got.values())]
    rows = []
    for (what, cpus), servers_ in got.items():
        cells = []
        for k in kinds:
            if k not in servers_:
                cells.append("-")
                continue
            cells.append("%.2f / %.2f / %.0f" % tuple(
                report.median([r[key] for r in servers_[k]])
                for key in ("start_sec", "cpu_sec", "pss_mib")))
        rows.append([what, len(cpus.split(","))] + cells)
    return ("# Hashing at the start\n\n"
            + machine.line(result, "hashing")
            + f"A TLD of {result['size']:,} delegations. Start to first "
            "answer, s / CPU time of the start, s / memory, MiB (PSS), by "
            "iterations and cores; \"unused\": the same zone "
            "without its NSEC3PARAM record, so that nothing is hashed.\n\n"
            + report.table(["iterations", "cores"] + kinds, rows))


def write_documents(result, out):
    """The tables and charts of the parts that were run."""
    made = []
    if result.get("nsec3", {}).get("points"):
        made.append(("nsec3.md", nsec3_markdown(result)))
        made.append(("hash.md", "# What a hash costs\n\n" + machine.line(
            result, "nsec3") + result["hash"]))
        draw_nsec3(result, os.path.join(out, "nsec3.svg"))
    if any(row["case"].startswith("dnssec ") for row in result["rows"]):
        made.append(("dnssec.md", dnssec_markdown(result)))
    if result.get("hashing"):
        made.append(("hashing.md", hashing_markdown(result)))
    for name, text in made:
        with open(os.path.join(out, name), "w") as f:
            f.write(text)
