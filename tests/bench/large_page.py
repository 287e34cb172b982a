"""The page of tests/bench/large.py, from its results."""
import json
import os
import re

import machine
import report

MIB = 1 << 20
COM = 160000000
# Steps, as tables name them.
NAMES = {"near": "file, 1 % changed", "far": "file, other names",
         "small": "IXFR, 0.5 %", "great": "IXFR, 10 %",
         "again": "start, with journal", "axfr": "AXFR"}
ROLES = ("main", "loader", "server 1", "xfrd", "writer")
PAGE = """# Large zones, and many

Made by `tests/bench/large.py`; nobody edits it. {machine}. {others}{busy}

{versions}.

A made zone of {size:,} delegations ({text}), NSEC3 with opt-out, 28 % of the names signed
with signatures of 64 octets, a share between those of .com and .nl. Both
cores are the server's, with one worker; clients, {rate:,} queries a second of a TLD's mix
(names that exist, that do not, DS), and primaries share the second one. *Memory* is PSS
without mapped files, the most while the row was measured: of all processes together,
and of each by itself; what was there at rest afterwards is beside it. The page cache is
not in it. *Lost*: queries without an answer of those asked, and 99 % were answered
within, ms: in the median turn of two seconds and in the worst.

## One zone

{zone}
*File, 1 % changed*: about one name of a hundred has other name servers. *File, other names*:
it is built beside the served one. *IXFR*: of one in 200 delegations, and of one in ten (of those
without DS half get other name servers, a quarter goes, a quarter comes). *Start, with journal*:
from the file, with both differences in the journal. *write*: `nsd-control write`, until the
file is there. *AXFR*: from the start of a secondary without data, whose primary, ours, has the
other core.

{memory}
{more}
## Octets a delegation

{octets}
*Computed*: what a zone of so many delegations would take if each took what one takes
in the largest zone that was measured. A store has 32 GiB; where two versions do not fit
into one, each has its own ([0067](../decisions/0067-a-store-a-version.md)).

## Beside others

Secondaries of {beside:,} delegations: a start from the file, and differences of the same
shares. Seconds / MiB at most / p99 of clients, ms / lost.

{others_table}
## {zones:,} zones

All from one file of six records; their primary says that nothing is newer. Seconds are for all
zones together. *storm*: all are due at the start, and the primary is asked for the serial of each.
*transfer*: the same at `nsd-control transfer`. *again*: a stop, and another start.

{many}
{asked}
{left_out}"""


def rows_of(result, part, kind="ours"):
    return {run["step"]: run for run in result["runs"]
            if run["part"] == part and run["server"] == kind}


def mib(octets):
    return "-" if octets is None else f"{octets / MIB:,.0f}"


def most(run, role="all"):
    """A start may be over before the first look."""
    found = [run["memory"][when].get(role) for when in ("most", "rest")]
    found = [octets for octets in found if octets is not None]
    return max(found) if found else None


def seconds(value):
    return "-" if value is None else f"{value:,.2f}" if value < 100 \
        else f"{value:,.0f}"


def clients(run):
    got = run.get("clients")
    if not got:
        return ["-", "-"]
    return [f"{got['lost']:,} of {got['asked']:,}",
            "-" if got["p99_us"] is None else
            f"{got['p99_us'] / 1e3:.2f}, {got['p99_worst_us'] / 1e3:.2f}"]


def measured(result):
    """(name, run) of all that the zone went through."""
    named = {"ixfr": ("small", "great", "again", "write"),
             "zone": ("start", "near", "far"), "axfr": ("start",)}
    for part in ("zone", "ixfr", "axfr"):
        rows = rows_of(result, part)
        for step in named[part]:
            if step in rows:
                yield part if step == "start" and part == "axfr" else step, \
                    rows[step]


def zone_table(result):
    return report.table(
        ["what", "s", "CPU, s", "memory, MiB", "at rest, MiB", "lost",
         "p99, ms"],
        [[NAMES.get(name, name), seconds(run["sec"]), seconds(run["cpu_sec"]),
          mib(most(run)), mib(run["memory"]["rest"]["all"]), *clients(run)]
         for name, run in measured(result)])


def memory_table(result):
    return report.table(
        ["the most, MiB", *ROLES, "store", "mapped files"],
        [[NAMES.get(name, name), *(mib(most(run, role)) for role in ROLES),
          mib((run.get("store") or {}).get("live")),
          mib(most(run, "files"))]
         for name, run in measured(result)])


def more_lines(result):
    lines = []
    for step, run in rows_of(result, "ixfr").items():
        if step in ("small", "great"):
            lines.append(f"- {run['count']:,} delegations changed: "
                         f"{mib(run['octets'])} MiB over the wire, "
                         f"{mib(run['journal'])} MiB of journal.")
    axfr = rows_of(result, "axfr").get("start")
    if axfr:
        lines.append(f"- The whole zone: {mib(axfr['disk'])} MiB of journal.")
    for part, word in (("zone", "from its file"), ("ixfr", "as a secondary"),
                       ("many", "of all zones")):
        rows = rows_of(result, part)
        if "stop" in rows:
            lines.append(f"- A stop {word}: {seconds(rows['stop']['sec'])} s;"
                         f" lines in the log: {rows['log']['lines']:,}.")
    for tool, run in rows_of(result, "tools").items():
        lines.append(f"- {tool}: {seconds(run['sec'])} s, "
                     f"{seconds(run['cpu_sec'])} s of CPU, "
                     f"{mib(run['most'])} MiB at most.")
        lines += [f"  - `{' '.join(line.split())}`" for line in run["said"]
                  if tool == "nsd-mem" and line.split()]
    return "\n".join(lines) + "\n"


def octets_rows(result):
    """(what, octets, of how many delegations, which)"""
    size = result["parameters"]["size"]
    zone, ixfr, axfr = (rows_of(result, part)
                        for part in ("zone", "ixfr", "axfr"))
    if "start" in zone:
        start = zone["start"]
        yield "text of the file", start["text"], size
        if start.get("store"):
            yield "store, one version", start["store"]["live"], size
        yield "all processes, at rest", start["memory"]["rest"]["all"], size
        yield "all, at most, at the start", most(start), size
    for step in ("near", "far"):
        if step in zone:
            yield f"all, at most, {NAMES[step]}", most(zone[step]), size
    for step in ("small", "great"):
        if step in ixfr:
            yield f"all, at most, {NAMES[step]}", most(ixfr[step]), size
    if "start" in axfr:
        yield "journal of a whole zone", axfr["start"]["disk"], size
        yield "all, at most, AXFR", most(axfr["start"]), size


def octets_table(result):
    return report.table(
        ["what", "measured, MiB", "an item, octets",
         f"computed for {COM:,}, GiB"],
        [[what, mib(octets), f"{octets / size:.1f}",
          f"{octets / size * COM / (1 << 30):.1f}"]
         for what, octets, size in octets_rows(result)])


def beside_cell(run):
    if run is None:
        return "-"
    lost, p99 = clients(run)
    text = f"{seconds(run['sec'])} / {mib(most(run))}"
    return text if p99 == "-" else f"{text} / {p99} / {lost}"


def beside_table(result):
    kinds = [kind for kind in result["versions"]
             if rows_of(result, "beside", kind)]
    steps = ("start", "small", "great")
    return report.table(["what", *kinds], [
        [NAMES.get(step, step)] + [beside_cell(rows_of(result, "beside", kind).get(step))
                  for kind in kinds] for step in steps])


def many_table(result):
    rows = rows_of(result, "many")
    steps = ("start", "storm", "addzone", "delzone", "transfer", "again")
    return report.table(
        ["what", "s", "CPU, s", "memory, MiB", *(role for role in ROLES[:4]),
         "lost", "p99, ms"],
        [[step, seconds(rows[step]["sec"]), seconds(rows[step]["cpu_sec"]),
          mib(most(rows[step])),
          *(mib(most(rows[step], role)) for role in ROLES[:4]),
          *clients(rows[step])]
         for step in steps if step in rows])


def asked_lines(result):
    rows, lines = rows_of(result, "many"), []
    for step, what in (("storm", "All asked for since the start"),
                       ("transfer", "All asked for by `nsd-control "
                        "transfer`")):
        if step in rows:
            told = rows[step]["told"]
            lines.append(
                f"- {what}: within {seconds(rows[step]['sec'])} s, "
                f"{told['most_a_second']:,} in a second at most; "
                f"{told['again']:,} questions were asked again before.")
    for step in ("zonestatus", "stats_noreset", "progress"):
        if step in rows:
            run = rows[step]
            lines.append(f"- `{step}`: {run['lines']:,} lines, "
                         f"{mib(run['octets'])} MiB, "
                         f"{seconds(run['sec'])} s.")
    if "again" in rows:
        run = rows["again"]
        lines.append(
            f"- A stop took {seconds(run['stop_sec'])} s; `xfrd.state` has "
            f"{mib(run['state'])} MiB, the zone list {mib(run['list'])}; at "
            f"the start after it {run['asked']:,} zones were asked for.")
    return "\n".join(lines) + "\n"


def page(result):
    names = ", ".join(f"{k}: {v}" for k, v in result["versions"].items())
    # Angle brackets, as of BIND's "<id:>", would be a link.
    names = re.sub(r" ?<\w*:\w*>", "", names)
    share = {part: machine.others_share(row)
             for part, row in result["others"].items()}
    text = rows_of(result, "zone").get("start", {}).get("text")
    left_out = result.get("left_out", [])
    busy = "" if all(value is None or value < machine.IDLE_SHARE
                     for value in share.values()) \
        else " **Figures of a busy machine: times hold for nothing but their " \
        "order.**"
    return PAGE.format(
        machine=result["machine"], versions=names, busy=busy,
        others="Other programs took, of the cores: " + ", ".join(
            f"{part} " + ("not known" if value is None
                          else f"{100 * value:.1f} %")
            for part, value in share.items())
        + ".", size=result["parameters"]["size"],
        text="-" if text is None else f"{text / 1e9:.2f} GB of text",
        rate=result["parameters"]["rate"], zone=zone_table(result),
        memory=memory_table(result), more=more_lines(result),
        octets=octets_table(result), beside=result["parameters"]["beside"],
        others_table=beside_table(result),
        zones=result["parameters"]["zones"], many=many_table(result),
        asked=asked_lines(result), left_out="" if not left_out else
        "## Left out\n\n" + "".join(f"- {line}\n" for line in left_out))


def write(result, directory):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "large.md"), "w") as f:
        f.write(page(result))
    with open(os.path.join(directory, "large.json"), "w") as f:
        json.dump(result, f)
