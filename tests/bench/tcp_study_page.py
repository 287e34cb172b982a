"""The page and the charts of tests/bench/tcp_study.py, from its results."""
import json
import os
import statistics

import machine
import report
import study

# Servers as tables and charts name them.
NAMES = {"pdns": "pdns, unsigned"}
# Of the published study: the tipping point, and R2 of the fit.
NSD = "NSD 4.12.0", 70, 0.9961
PUBLISHED = {"nsd": NSD, "newer": NSD,
             "knot": ("Knot 3.5.2", 90, 0.9958),
             "bind": ("BIND 9.20", 50, 0.9561),
             "pdns": ("PowerDNS 4.9.0", 70, 0.9783)}
PAGE = """# TCP behind UDP

Made by `tests/bench/tcp_study.py`; nobody edits it. {machine}. {others}

{versions}

The study of SIDN Labs (2025) of TCP for post-quantum signatures: queries of a TLD come over UDP, and a share of them
once more over TCP, each on a connection of its own, as when answers do not fit into a
datagram; for comparison all over TCP only. Here: {rate:,} queries a second for {seconds:g}
seconds of a made capture (`tests/bench/gen_capture.c` says of what), a zone of {size:,}
delegations, one worker on core 0, the client on core 1, over loopback; means of
{reps} runs, as there, which take turns between servers and begin with one share after the
other; before its runs each server has one that is not counted. Each may have 1,000
connections at once, and the client has 64 addresses. *pdns, unsigned*: PowerDNS takes
signatures from a database alone, so it serves the zone without them. CPU time is of all processes of a server,
in percent of one core. There: an hour of a .nl server's queries, two machines with a
network between them, defaults of each server, and other versions (below); so its CPU times
cannot be compared with these, but shapes can. On loopback the client pays for a part of what the server's
kernel does elsewhere.

![CPU](tcp-study-cpu.svg)

Percent of a core, in user mode and in the kernel, by the share asked again:

{cpu}
*Tipping point*: the first measured share at which UDP with TCP behind it costs more than
TCP only, which does not ask over UDP first; in brackets where the line between
the shares crosses it. *Fit*: CPU against the share, least squares; the slope is for
ten percent more. In a run of a few seconds during which the machine stood still CPU time is
up to twice that of the others; it moves a mean, and a tipping point by ten percent or more.
*By medians*: tipping point and slope of the medians of the runs, which it does not move.

{fit}
Memory (PSS of all processes) at the end of a run, MiB, means of the runs; and the queries
that were not answered in five seconds, or not taken by a socket, of all runs, of UDP and
of TCP:

{memory}
CPU time by intervals of {interval:g} seconds: the least and the most that one of all runs
had, percent of a core.

{course}
How long those answers took that were asked for again, in milliseconds: until the answer over TCP since
the query was first sent over UDP (0 %: until the answer over UDP; TCP only: since the
connection was begun); p50 and p99, medians of the runs.

![latency](tcp-study-latency.svg)

{latency}
The same of the answers over UDP alone, asked again or not:

{udp}
"""
LIMIT = """## The most over TCP only

One run of {seconds:g} seconds a rate and server, each rate higher than the one before; the
highest rate at which 99 % were answered, and of the next one, with which the search ended,
what was. `-`: no higher rate was offered. *Given up*: no answer within five seconds.
*Unsent*: 1,000 connections were open already, so the client opened none. The client has one
core; where it has used that, its limit is told and not the server's. Clients that begin a
connection when another one has ended have other rates
([measurements of NSD 4](nsd4-study.md)).

{table}
"""
FAR = """## Round trips

The same over a longer way ({way}), one run each: percent of a core, and milliseconds, p50
and p99, each within 1/64. {note}

{table}
"""
FAR_NOTE = """The
kernel has no netem, so a program forwards packets between two TUN interfaces; it shares
the client's core."""


def name_of(share):
    return "TCP only" if share == "only" else f"{share} %"


def runs_of(result, part, **want):
    return [run for run in result["runs"] if run["part"] == part
            and all(run.get(key) == value for key, value in want.items())]


def percent(result, run, what):
    """CPU time over the time in which queries were sent; all: in both
    modes."""
    used = run["replay"]["server"]
    spent = used["user"] + used["system"] if what == "all" else used[what]
    return 100 * spent / result["parameters"][run["part"]]["seconds"]


def mean(values):
    return statistics.fmean(values) if values else None


def median(values):
    return statistics.median(values) if values else None


def label_of(kind):
    return NAMES.get(kind, kind)


def labels_of(kinds):
    return [label_of(kind) for kind in kinds]


def cpu(result, kind, share, what="all", middle=mean):
    return middle([percent(result, run, what) for run in runs_of(
        result, "shares", server=kind, share=share)])


def shares_of(result):
    found = {run["share"] for run in runs_of(result, "shares")}
    return sorted(found - {"only"}) + (["only"] if "only" in found else [])


def kinds_of(result, part):
    have = {run["server"] for run in runs_of(result, part)}
    return [kind for kind in result["versions"] if kind in have]


# ---- figures

def fit(points):
    """(slope, intercept, R2) of the least squares; None of one point."""
    if len({x for x, _ in points}) < 2:
        return None
    xs, ys = zip(*points)
    middle_x, middle_y = mean(xs), mean(ys)
    slope = sum((x - middle_x) * (y - middle_y) for x, y in points) \
        / sum((x - middle_x) ** 2 for x in xs)
    start = middle_y - slope * middle_x
    spread = sum((y - middle_y) ** 2 for y in ys)
    left = sum((y - start - slope * x) ** 2 for x, y in points)
    return slope, start, 1 - left / spread if spread else 1.0


def tipping_point(points, only):
    """(first x with more than only, x where the line crosses it); None where
    there is none."""
    points = sorted(points)
    for number, (x, y) in enumerate(points):
        if y <= only:
            continue
        if number == 0:
            return x, x
        x0, y0 = points[number - 1]
        return x, x0 + (only - y0) / (y - y0) * (x - x0)
    return None


def cpu_points(result, kind, middle=mean):
    found = [(share, cpu(result, kind, share, middle=middle))
             for share in shares_of(result) if share != "only"]
    return [point for point in found if point[1] is not None]


def tipping_text(result, kind, middle):
    only = cpu(result, kind, "only", middle=middle)
    tip = tipping_point(cpu_points(result, kind, middle), only) \
        if only is not None else None
    return "none" if tip is None else f"{tip[0]} % ({tip[1]:.0f})"


def slope_text(line):
    return "-" if line is None else f"{10 * line[0]:.2f}"


def latency_of(run):
    """Times until the last answer of a query: TCP only, TCP behind UDP, or
    UDP."""
    got = run["replay"]["latency"]
    if run["share"] == "only":
        return got["tcp"]
    return got["both"] if run["share"] else got["udp"]


def latency(result, part, what, **want):
    found = [latency_of(run)[what] for run in runs_of(result, part, **want)]
    return statistics.median(found) / 1e3 if found else None


# ---- tables

def cpu_table(result):
    kinds = kinds_of(result, "shares")

    def text(kind, share):
        if cpu(result, kind, share) is None:
            return "-"
        return "%.1f (%.1f + %.1f)" % tuple(
            cpu(result, kind, share, what)
            for what in ("all", "user", "system"))
    return report.table(["asked again", *labels_of(kinds)], [
        [name_of(share)] + [text(kind, share) for kind in kinds]
        for share in shares_of(result)])


def fit_table(result):
    rows = []
    for kind in kinds_of(result, "shares"):
        line = fit(cpu_points(result, kind))
        theirs = PUBLISHED.get(kind)
        rows.append([
            label_of(kind), tipping_text(result, kind, mean), slope_text(line),
            "-" if line is None else f"{line[1]:.1f}",
            "-" if line is None else f"{line[2]:.4f}",
            tipping_text(result, kind, median) + ", " + slope_text(
                fit(cpu_points(result, kind, median))),
            f"{theirs[0]}: {theirs[1]} %, {theirs[2]}" if theirs else ""])
    return report.table(["server", "tipping point", "slope", "at 0 %", "R2",
                         "by medians", "published: tipping point, R2"], rows)


def lost(run):
    udp, tcp = run["replay"]["udp"], run["replay"]["tcp"]
    return (udp["timeouts"] + udp["unsent"], tcp["asked"] - tcp["answered"])


def memory_table(result):
    rows = []
    for kind in kinds_of(result, "shares"):
        runs = runs_of(result, "shares", server=kind)
        sums = [sum(column) for column in zip(*map(lost, runs))]
        sent = sum(run["replay"]["udp"]["sent"] for run in runs)
        asked = sum(run["replay"]["tcp"]["asked"] for run in runs)
        by_share = [mean([run["replay"]["server"]["pss_mib"] for run in runs
                          if run["share"] == share])
                    for share in shares_of(result)]
        rows.append([label_of(kind), *("-" if value is None else f"{value:.0f}"
                                       for value in by_share),
                     f"{sums[0]:,} of {sent:,}", f"{sums[1]:,} of {asked:,}"])
    return report.table(["server", *map(name_of, shares_of(result)),
                         "lost, UDP", "lost, TCP"], rows)


def pair(result, part, **want):
    values = [latency(result, part, what, **want) for what in ("p50", "p99")]
    return "-" if None in values else "%.2f, %.2f" % tuple(values)


def latency_table(result):
    kinds = kinds_of(result, "shares")
    return report.table(["asked again", *labels_of(kinds)], [
        [name_of(share)] + [pair(result, "shares", server=kind, share=share)
                            for kind in kinds]
        for share in shares_of(result)])


def udp_table(result):
    kinds = kinds_of(result, "shares")

    def text(kind, share):
        found = [[run["replay"]["latency"]["udp"][part] for part in (
            "p50", "p99")] for run in runs_of(result, "shares", server=kind,
                                              share=share)]
        return "%.2f, %.2f" % tuple(
            statistics.median(column) / 1e3 for column in zip(*found)) \
            if found else "-"
    return report.table(["asked again", *labels_of(kinds)], [
        [name_of(share)] + [text(kind, share) for kind in kinds]
        for share in shares_of(result) if share != "only"])


def interval_percents(run, interval, seconds):
    """CPU of the whole intervals in which queries were sent."""
    return [100 * (part["server"]["user"] + part["server"]["system"])
            / (part["end"] - part["begin"])
            for part in run["replay"].get("course", ())
            if part["end"] - part["begin"] >= 0.9 * interval
            and part["end"] <= seconds + 0.1 * interval]


def course_table(result):
    kinds = kinds_of(result, "shares")
    used = result["parameters"]["shares"]

    def text(kind, share):
        found = [value for run in runs_of(result, "shares", server=kind,
                                          share=share)
                 for value in interval_percents(run, used["interval"],
                                                used["seconds"])]
        return f"{min(found):.1f} to {max(found):.1f}" if found else "-"
    return report.table(["asked again", *labels_of(kinds)], [
        [name_of(share)] + [text(kind, share) for kind in kinds]
        for share in shares_of(result)])


def limit_table(result):
    rows = []
    for kind in kinds_of(result, "limit"):
        best, next_one = "none", "-"
        for run in runs_of(result, "limit", server=kind):
            tcp = run["replay"]["tcp"]
            if tcp["answered"] >= 0.99 * tcp["asked"]:
                best = f"{run['rate']:,}"
            else:
                own = run["replay"]["client"]
                busy = (own["user"] + own["system"]) / run["replay"]["seconds"]
                next_one = f"{run['rate']:,}: {tcp['answered']:,} of " \
                    f"{tcp['asked']:,}; {tcp['timeouts']:,} given up, " \
                    f"{tcp['unsent']:,} unsent; client {100 * busy:.0f} % " \
                    "of its core"
        rows.append([label_of(kind), best, next_one])
    return report.table(["server", "connections a second", "the next"], rows)


def far_cpu(result, runs):
    return mean([percent(result, run, "all") for run in runs])


def far_table(result):
    kinds = kinds_of(result, "far")
    keys = sorted({(run["round_trip"], str(run["share"]))
                   for run in runs_of(result, "far")})
    rows = []
    for round_trip, text in keys:
        share = text if text == "only" else int(text)
        cells = []
        for kind in kinds:
            want = {"server": kind, "share": share, "round_trip": round_trip}
            runs = runs_of(result, "far", **want)
            cells.append(f"{far_cpu(result, runs):.1f}; "
                         + pair(result, "far", **want) if runs else "-")
        rows.append([f"{round_trip:g} ms, {name_of(share)}", *cells])
    sums = [[sum(column) for column in zip(*map(lost, runs_of(
        result, "far", server=kind)))] for kind in kinds]
    rows.append(["lost of all, UDP; TCP", *(f"{udp}; {tcp}"
                                            for udp, tcp in sums)])
    return report.table(["round trip, asked again", *labels_of(kinds)], rows)


# ---- charts

def cpu_series(result):
    """{label: points}, and the labels of lines of TCP only."""
    series, flat = {}, []
    ends = [share for share in shares_of(result) if share != "only"]
    for kind in kinds_of(result, "shares"):
        label = label_of(kind)
        series[label] = cpu_points(result, kind)
        only = cpu(result, kind, "only")
        if only is not None and len(ends) > 1:
            series[f"{label}, TCP only"] = [(ends[0], only), (ends[-1], only)]
            flat.append(f"{label}, TCP only")
    return series, flat


def latency_series(result):
    return {label_of(kind): [
        (share, latency(result, "shares", "p99", server=kind, share=share))
        for share in shares_of(result) if share != "only"
        and runs_of(result, "shares", server=kind, share=share)]
            for kind in kinds_of(result, "shares")}


def charts(result):
    """{file: (title, x, y, series, options of line_chart)}"""
    series, flat = cpu_series(result)
    return {
        "tcp-study-cpu.svg": (
            "CPU time against the share asked again over TCP (dashed: TCP "
            "only)", "% of the queries asked again", "% of a core", series,
            {"dashed": flat}),
        "tcp-study-latency.svg": (
            "99th percentile of the time to the last answer",
            "% of the queries asked again", "ms (logarithmic)",
            latency_series(result), {"powers": True}),
    }


def page(result):
    text = PAGE.format(
        machine=result["machine"],
        others=machine.others_text(result["others"].get("shares")),
        versions=study.versions_text(result),
        cpu=cpu_table(result), fit=fit_table(result),
        memory=memory_table(result), course=course_table(result),
        latency=latency_table(result), udp=udp_table(result),
        **result["parameters"]["shares"])
    if result.get("short"):
        text = text.replace("\n\n", "\n\n**A short run, for sanity: its "
                            "figures mean nothing.**\n\n", 1)
    if runs_of(result, "limit"):
        text += LIMIT.format(table=limit_table(result),
                             seconds=result["parameters"]["limit"]["seconds"])
    if runs_of(result, "far"):
        by = result["parameters"]["far"]["way"]
        text += FAR.format(table=far_table(result), way=f"`{by}`"
                           if "/" in by else by,
                           note=FAR_NOTE if "/" in by else "")
    return text


def write(result, directory):
    """The page, the charts and the results themselves; of results without the
    part shares nothing but these."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "tcp-study.json"), "w") as f:
        json.dump(result, f)
    if not runs_of(result, "shares"):
        return
    for name, (*arguments, options) in charts(result).items():
        report.line_chart(os.path.join(directory, name), *arguments, **options)
    with open(os.path.join(directory, "tcp-study.md"), "w") as f:
        f.write(page(result))
