"""The page and the charts of tests/bench/nsd4_study.py, from its results."""
import report
from study import heading, kinds_of, of_form, runs_of, values_of, write_page

# A rate of which so much is answered counts as answered whole.
WHOLE = 0.999
PARTS = {"offered": "Rates offered", "tcp": "Connections",
         "memory": "Memory", "times": "Times", "month": "The month"}

INTRODUCTION = """
NLnet Labs presented NSD 4 (2013) with measurements beside other servers of its day;
they are repeated here. Published figures stand beside ours as numbers: machines,
kernels, and zones are others, so shapes and ratios can be compared, and rates cannot.
"""
OFFERED = """
## UDP: offered and answered

An unsigned root of 500 delegations, names below them at random, {reps} runs in
turns between servers, {seconds:g} s a rate; the client is on the last core and
shares it with a worker where there are as many workers as cores. Rates that were offered and
answered, in thousands a second, medians; *whole*: the highest rate of which at
least 99.9 % was answered in one of the runs, whatever lower rates had: the machine stands
still for milliseconds at times. Then the buffer of a socket decides: NSD and ours ask for 1 MiB
(2,520 queries), the others take the kernel's 208 KiB (256 queries;
[buffers](buffers-study.md)). So *whole* and shares of 99 % say little of how fast Knot, BIND
and PowerDNS are; *most answered* does.

{table}
Published (Linux 3.9, 4 cores of 2 GHz, up to 4 workers): whole up to 140,000 to 160,000 a
second.

![share answered](nsd4-study-offered.svg)
"""
TCP = """
## TCP: a connection for each query

The same zone and names; 100 connections at a time, each given up after 100 ms; {reps}
runs of {seconds:g} s. Answers a second, the median; in brackets the lowest and the
highest run, then connections that were given up.

{table}
Published (dnstcpbench, 1 to 4 workers on Linux): at best about 14,000 a second, of YADIFA,
then NSD 4.
"""
MEMORY = """
## Memory beside the size of the file

A TLD of {size:,} delegations, one worker, after the start has settled: MiB (PSS) of all
processes; in brackets as a multiple of the file. NSEC3 is with opt-out, 28 % of the
delegations are signed; NSEC is over all names; signatures have 64 octets. How busy the
machine was changes nothing here.

{table}
All of one form ({form}), MiB: RSS of the largest process, of all (shared pages count
in each), the sum of the most that each process had, virtual, swap.

{detail}
Published: .nl of June 2013 (1.5 GB of text, 5.3 million delegations, NSEC3 and opt-out, 28
% signed): 6.9 GB by nsd-mem, 4.6 times the file; with NSEC 2.7 GB of text and 6.0 GB, 2.2
times.

![memory](nsd4-study-memory.svg)

A line joins the three forms of a server: unsigned, NSEC3, NSEC.
"""
TIMES = """
## Compilation, start, stop

The TLD of {size:,} delegations with NSEC3, one worker on one core, {reps} runs in turns,
after memory was taken and freed ([why](../performance.md)). Seconds, medians; in
brackets the lowest and the highest. No server of today has to compile a zone;
BIND can (`named-compilezone -F raw`), and then starts from that. The stop lasts from the
signal until the last process has ended.

{table}
Published: NSD 4 stops in less than a second.
"""
MONTH = """
## A month of updates

{days} days of {month_zones:,} zones, a day in {day_sec:g} seconds: each zone changes {changes_day:g}
times a day, by an IXFR that puts one name of changing length in the place of another. Each
server has a primary of its own, and all run at once: memory does not depend on how busy
the machine is. MiB (PSS, without programs and libraries, which other programs share).
A zone whose change is not served after 5 seconds is notified of again. *Growth*: the
mean of the last quarter over that of the second one. NSD and ours write their zone files
once an hour of such a day; Knot and BIND have the settings of the other pages. A change
of a zone that still waits for the last one is left out and counted as *skipped*.

{table}
By process, the means of the second and of the last quarter:

{roles}
![memory over days](nsd4-study-month.svg)
"""


def median_of(result, part, what, **want):
    return report.median(values_of(result, part, what, **want))


# ---- rates

def curve(result, kind, workers):
    """[(offered, answered)]: medians of each rate over the runs that have
    it."""
    runs = [run["points"] for run in runs_of(
        result, "offered", server=kind, workers=workers)]
    shortest = min(map(len, runs), default=0)
    return [tuple(report.median([points[at][side] for points in runs])
                  for side in (0, 1)) for at in range(shortest)]


def workers_of(result, part):
    return sorted({run["workers"] for run in runs_of(result, part)})


def whole_rate(result, kind, workers):
    """The highest rate of which all was answered in some run; 0: none."""
    return max((offered for run in runs_of(
        result, "offered", server=kind, workers=workers)
                for offered, answered in run["points"]
                if answered >= WHOLE * offered), default=0)


def offered_table(result):
    rows = []
    for workers in workers_of(result, "offered"):
        for kind in kinds_of(result, "offered"):
            points = curve(result, kind, workers)
            if not points:
                continue
            most = max(answered for _, answered in points)
            rows.append([f"{kind}, {workers}",
                         of_form(whole_rate(result, kind, workers) / 1e3),
                         of_form(most / 1e3),
                         ", ".join(f"{offered / 1e3:.0f}: "
                                   f"{100 * answered / offered:.1f} %"
                                   for offered, answered in points)])
    return report.table(["server, workers", "whole", "most answered",
                         "offered: share"], rows)


def offered_section(result):
    return OFFERED.format(
        table=offered_table(result), **result["parameters"]["offered"])


def offered_chart(result):
    series, dashed = {}, []
    for workers in workers_of(result, "offered"):
        for kind in kinds_of(result, "offered"):
            label = f"{kind}, {workers}"
            series[label] = [
                (round(offered / 1e3, 3), 100 * answered / offered)
                for offered, answered in curve(result, kind, workers)]
            if workers > 1:
                dashed.append(label)
    return ("Answered of what is offered over UDP (dashed: 2 workers or more)",
            "thousand queries a second offered", "% answered", series, None,
            (), dashed)


def tcp_section(result):
    rows = []
    for workers in workers_of(result, "tcp"):
        cells = []
        for kind in kinds_of(result, "tcp"):
            want = {"server": kind, "workers": workers}
            rates = values_of(result, "tcp", "rate", **want)
            given_up = sum(values_of(result, "tcp", "timeouts", **want))
            cells.append(f"{report.median(rates):,.0f} ({min(rates):,.0f} to "
                         f"{max(rates):,.0f}; {given_up})" if rates else "-")
        rows.append([workers, *cells])
    return TCP.format(table=report.table(
        ["workers", *kinds_of(result, "tcp")], rows),
        **result["parameters"]["tcp"])


# ---- memory

def forms_of(result):
    return list(dict.fromkeys(run["form"] for run in runs_of(
        result, "memory")))


def memory_section(result):
    kinds = kinds_of(result, "memory")
    rows = []
    for form in forms_of(result):
        file_mib = median_of(result, "memory", "file_mib", form=form)
        cells = []
        for kind in kinds:
            pss = median_of(result, "memory", "pss", form=form, server=kind)
            cells.append("-" if pss is None
                         else f"{pss:,.0f} ({pss / file_mib:.2f})")
        rows.append([form, f"{file_mib:,.0f}", *cells])
    last = forms_of(result)[-1]
    names = ("largest", "rss", "peak", "virtual", "swap")
    detail = [[kind, *(of_form(median_of(result, "memory", name, form=last,
                                         server=kind)) for name in names)]
              for kind in kinds]
    return MEMORY.format(
        table=report.table(["form", "file, MiB", *kinds], rows), form=last,
        detail=report.table(["server", "largest", "all", "most", "virtual",
                             "swap"], detail),
        **result["parameters"]["memory"])


def memory_chart(result):
    series = {kind: sorted(
        (round(median_of(result, "memory", "file_mib", form=form), 3),
         median_of(result, "memory", "pss", form=form, server=kind))
        for form in forms_of(result)
        if values_of(result, "memory", "pss", form=form, server=kind))
              for kind in kinds_of(result, "memory")}
    return ("Memory of all processes: " + ", ".join(sorted(
        forms_of(result), key=lambda form: median_of(
            result, "memory", "file_mib", form=form))),
            "MiB of the file", "MiB (PSS)", series)


# ---- times

def times_cell(rows, what):
    took = [row[what] for row in rows if row.get(what) is not None]
    if not took:
        return "-"
    return f"{report.median(took):.3f} ({min(took):.3f} to {max(took):.3f})"


def times_section(result):
    rows = []
    for kind in kinds_of(result, "times"):
        runs = runs_of(result, "times", server=kind)
        for name, some in ((kind, [run for run in runs
                                   if "compile_sec" not in run]),
                           (f"{kind}, compiled",
                            [run for run in runs if "compile_sec" in run])):
            if some:
                rows.append([name] + [times_cell(some, what) for what in (
                    "compile_sec", "start_sec", "cpu_sec", "stop_sec")])
    return TIMES.format(table=report.table(
        ["server", "compilation", "start", "CPU of the start", "stop"], rows),
        **result["parameters"]["times"])


# ---- the month

def quarter(looks, number, role):
    """The mean over a quarter of the time; a process that is not always there
    counts where it is."""
    some = looks[len(looks) * number // 4:len(looks) * (number + 1) // 4]
    values = [found[role] for _, found in some if role in found]
    return sum(values) / len(values) if values else None


def growth(looks, role="all"):
    early, late = quarter(looks, 1, role), quarter(looks, 3, role)
    return 100 * (late / early - 1) if early and late else None


def role_text(role):
    """A program that another libc's loader runs has the loader's name, and so
    have all of its processes."""
    return "all processes" if role.startswith("ld-linux") else role


def month_section(result):
    rows, roles = [], []
    for run in runs_of(result, "month"):
        looks = run["looks"]
        rows.append([run["server"], f"{run['served']:,}", run["skipped"],
                     run["late"]]
                    + [of_form(quarter(looks, number, "all"), "%.1f")
                       for number in (0, 1, 3)]
                    + [of_form(max(found["all"] for _, found in looks),
                               "%.1f"), of_form(growth(looks), "%+.1f %%")])
        for role in sorted({name for _, found in looks for name in found}
                           - {"all"}):
            roles.append([f"{run['server']}, {role_text(role)}"]
                         + [of_form(quarter(looks, number, role), "%.1f")
                            for number in (1, 3)])
    return MONTH.format(
        table=report.table(["server", "changes", "skipped", "never served",
                            "first quarter", "second", "last", "most",
                            "growth"], rows),
        roles=report.table(["server, process", "second quarter", "last"],
                           roles),
        **result["parameters"]["month"])


def month_chart(result):
    """The mean of each day, or of each look where there are few."""
    parameters = result["parameters"]["month"]
    series = {}
    for run in runs_of(result, "month"):
        days = {}
        for at, found in run["looks"]:
            day = at / parameters["day_sec"]
            key = int(day) + 1 if parameters["days"] > 7 else round(day, 2)
            if key <= parameters["days"]:
                days.setdefault(key, []).append(found["all"])
        series[run["server"]] = [(day, round(sum(some) / len(some), 3))
                                 for day, some in sorted(days.items())]
    return ("Memory of all processes over a month of updates", "day",
            "MiB (PSS without files)", series)


SECTIONS = {"offered": offered_section, "tcp": tcp_section,
            "memory": memory_section, "times": times_section,
            "month": month_section}
CHARTS = {"offered": offered_chart, "memory": memory_chart,
          "month": month_chart}


def write(result, directory):
    """The page and charts of the parts that there are, and the results."""
    text = heading(result, "The measurements of NSD 4", "nsd4_study.py",
                   PARTS) + INTRODUCTION
    charts = {}
    for part, section in SECTIONS.items():
        if runs_of(result, part):
            text += section(result)
            if part in CHARTS:
                charts[f"nsd4-study-{part}.svg"] = CHARTS[part](result)
    write_page(result, directory, "nsd4", text, charts)
