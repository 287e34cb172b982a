"""Tables and charts of the part updates."""
import os

import machine
import report
from pages import cell

QUERIES = 20000      # a second
PAIRS = 6            # parts without and with changes
SMALL_ADDED = 20


def single_row(label, r):
    return [label, r["count"]] + [
        "%.2f" % r[k] for k in ("min_ms", "median_ms", "p99_ms", "max_ms")
    ] + [r["slow"], r["slow_silent"], r["gaps"], "%.2f" % r["gap_max_ms"]] + [
        cell(r.get("cpu_ms"), "%.2f")] + [
        cell(r.get(k)) for k in ("copied", "kept", "mapped")]


def single_markdown(u):
    rows = []
    for kind, r in u["single"].items():
        rows.append(single_row(kind, r))
        if "control" in r:
            rows.append(single_row(f"{kind}, nothing changed", r["control"]))
    text = ("## 10 records changed\n\nFrom the sending of a change until 16 "
            "clients see it, who ask anew 0.1 ms after an answer; two "
            "workers, ms. How many took longer than 3 ms, and how many of "
            "these would not have but for the longest time in which none of "
            "the 16 got any answer. Gaps: times in which no answer came, "
            "longer than 3 ms, and the longest, ms. CPU time of all "
            "processes for one change, ms, with nobody asking; octets of the "
            "store that are copied for one and used again, that stay, and "
            "the growth of the mapping over all.\n\n"
            "*Nothing changed* is what the machine does by itself: the same "
            "clients ask the same server in as many rounds of the median "
            "length of a change, in turns of 50 with the changes.\n\n"
            + report.table(
                ["server", "rounds", "min", "median", "p99", "max", "> 3 ms",
                 "of these silent", "gaps", "longest gap", "CPU", "copied",
                 "kept", "mapped"], rows))
    ours = u["single"].get("ours")
    for kind, r in u["single"].items():
        text += slowest_line(kind, r)
    text += "\n"
    if ours:
        text += ("\nOurs: the time includes main's reading of the change as "
                 "text; from main's sending to the loader's answer: "
                 f"{ours['loader_ms']:.2f} ms (median). ")
    return text + ("The others are told by NOTIFY and fetch it by IXFR; "
                   "NSD's xfrd-reload-timeout is 1 s, its default, "
                   "and it is told of a change once it serves the last that "
                   "it was told of: otherwise it gives up IXFR.\n")


def slowest_line(kind, r):
    slowest = r["slowest"]
    if slowest.get("waited_ms") is None:
        return ""
    text = (f"\n- {kind}: in the slowest change its processes waited "
            f"{slowest['waited_ms']:.2f} ms for a core, no answer came for "
            f"{slowest['gap_ms']:.2f}")
    if "loader_ms" in slowest:
        text += (", and the loader answered main after "
                 f"{slowest['loader_ms']:.2f}")
    return text


def load_row(label, got, changes):
    return ([label] + ["%.0f" % got[p] for p in ("p50", "p99", "p999", "max")]
            + [got["sent"], got["lost"], got["queue_full"],
               f"{got['cpu_share']:.2f}",
               "-" if got["waited_ms"] is None else
               "%.1f" % (got["waited_ms"] / got["seconds"]),
               "%.1f" % (got["stolen_ms"] / got["seconds"]),
               "%.0f" % got["away_us"], changes])


def load_markdown(u):
    rows, ratios = [], []
    for kind, r in u["load"].items():
        rows.append(load_row(f"{kind} without", r["without"], ""))
        rows.append(load_row(f"{kind} with, {r['rate']} a second", r["with"],
                             f"{r['seen']} of {r['sent']}"))
        pairs = [b / max(0.1, a) if a and b else None for a, b in r["pairs"]]
        ratios.append([kind, f"{r['with']['seconds']:.0f}", "%.2f" % (
            r["with"]["p999"] / max(0.1, r["without"]["p999"]))]
            + [cell(report.median(pairs), "%.2f")]
            + [" ".join(cell(p, "%.2f") for p in pairs)])
    return (f"## Changes under load\n\nLatency of {QUERIES} queries a "
            "second, us; one worker, all processes of a server on one core. "
            f"{PAIRS} parts without changes and {PAIRS} of the same length "
            "with them take turns (the first of a pair once the one, once "
            "the other), so that a slow phase of the machine meets both; a "
            "row is of all queries in all its parts. Lost: in all, and for "
            "want of room in the server's socket. Waited: milliseconds a "
            "second in which processes of the server were ready and had no "
            "core; stolen: in which the machine had none, for all; away: the "
            "longest time, us, in which the client itself did nothing.\n\n"
            + report.table(
                ["server, changes", "p50", "p99", "p99.9", "max", "sent",
                 "lost", "no room", "cores", "waited", "stolen", "away",
                 "changes seen"], rows)
            + "\np99.9 with changes as a multiple of that without: of all "
            "queries, then by pair of parts.\n\n"
            + report.table(["server", "seconds with changes", "all queries",
                            "median of pairs", "each pair"], ratios)
            + "\n![latency](updates.svg)\n![latency, ours]"
            "(updates-ours.svg)\n")


def replace_markdown(u):
    rows = []
    for kind, got in u["replace"].items():
        for what, r in got.items():
            rows.append([f"{kind} {what}"] + ["%.0f" % r[k] for k in (
                "rest_mib", "peak_mib", "after_mib")]
                + [cell(r[k], "%.2f") for k in ("times", "seen_sec",
                                                "cpu_sec")])
    return ("## Whole zones replaced\n\nA zone file of the same octets, then "
            "one of other names, and SIGHUP. Memory of all processes (PSS, "
            "MiB) before, at its peak (sampled each 30 ms) and afterwards; "
            "peak over before; seconds until it was served, and of CPU "
            "time.\n\n" + report.table(
                ["server, zone", "before", "peak", "after", "peak/before",
                 "served", "CPU"], rows))


def small_markdown(u):
    rows = [[k, r["count"], "%.2f" % r["start_sec"], "%.2f" % r["last_sec"],
             "%.2f" % r["cpu_sec"], "%.0f" % r["pss_mib"]]
            + ["%.2f / %.2f" % (report.median(r[what]), max(r[what]))
               for what in ("added_ms", "file_ms", "removed_ms")]
            for k, r in u["small"].items()]
    return ("## Small zones\n\nAll cores; memory as in the other starts: "
            "taken and freed before. Start to the first answer from a "
            "zone, and from the last one, s; CPU time, s; PSS, MiB. One more "
            "zone, from its sending to its first answer: with its records in "
            "the message, or by name and pattern from its file; and until one "
            f"is gone: ms, median / slowest of {SMALL_ADDED}.\n\n"
            + report.table(["server", "zones", "start", "last", "CPU",
                            "memory", "added", "from a file", "removed"],
                           rows))


def updates_markdown(result):
    u = result["updates"]
    text = ("# Changes of zones\n\n" + machine.line(result, "updates")
            + f"A TLD of {u['size']:,} delegations with NSEC3. A change: the "
            "SOA and two delegations with an address each, the old ones "
            "removed and new ones added, 10 records.\n")
    for key, make in (("single", single_markdown), ("load", load_markdown),
                      ("replace", replace_markdown),
                      ("small", small_markdown)):
        if u[key]:
            text += "\n" + make(u)
    if u["left_out"]:
        text += "\nLeft out: " + "; ".join(u["left_out"]) + ".\n"
    return text


def draw(u, out):
    def points(r, changed):
        """The points of the parts with changes, one after the other, or of all
        parts."""
        at, got = 0, []
        if not changed:
            return [(s[0], s[3] / 1e3) for s in r["course"]]
        for first, last in r["changed"]:
            got += [(at + s[0] - first, s[3] / 1e3) for s in r["course"]
                    if first <= s[0] < last]
            at += last - first
        return got
    title = f"Slowest of 1000 at {QUERIES} queries a second"
    label = "ms (p99.9 of half a second)"
    if u["load"]:
        report.line_chart(
            os.path.join(out, "updates.svg"), title, "seconds with changes",
            label, {f"{kind}, {r['rate']}/s": points(r, True)
                    for kind, r in u["load"].items()})
    ours = u["load"].get("ours")
    if ours:
        report.line_chart(
            os.path.join(out, "updates-ours.svg"),
            f"{title} (grey: {ours['rate']} changes a second)", "seconds",
            label, {"ours": points(ours, False)}, bands=ours["changed"])


def write_documents(result, out):
    if "updates" not in result:
        return
    with open(os.path.join(out, "updates.md"), "w") as f:
        f.write(updates_markdown(result))
    draw(result["updates"], out)
