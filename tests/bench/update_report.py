"""Tables and charts of the part updates."""
import os

import report
from dnssec import cell, machine_line

QUERIES = 20000      # a second
SMALL_ADDED = 20


def single_markdown(u):
    rows = []
    for kind, r in u["single"].items():
        rows.append([kind, r["count"]] + [
            "%.2f" % r[k] for k in ("min_ms", "median_ms", "max_ms",
                                    "cpu_ms")]
            + [cell(r.get(k)) for k in ("copied", "kept", "mapped")])
    text = ("## 10 records changed\n\nFrom the sending of a change until 16 "
            "clients see it, two workers, ms; CPU time of all processes for "
            "one, ms, with nobody asking; octets of the store that are "
            "copied for one and used again, that stay, and the growth of the "
            "mapping over all.\n\n" + report.table(
                ["server", "changes", "min", "median", "max", "CPU",
                 "copied", "kept", "mapped"], rows))
    ours = u["single"].get("ours")
    for kind, r in u["single"].items():
        if r.get("slowest", {}).get("waited_ms") is not None:
            text += (f"\n- {kind}: in the slowest change its processes waited "
                     f"{r['slowest']['waited_ms']:.2f} ms for a core")
            if "loader_ms" in r["slowest"]:
                text += (f", and the loader answered main after "
                         f"{r['slowest']['loader_ms']:.2f} ms")
    text += "\n"
    if ours:
        text += ("\nOurs: the time includes main's reading of the change as "
                 "text; from main's sending to the loader's answer: "
                 f"{ours['loader_ms']:.2f} ms (median). ")
    return text + ("The others are told by NOTIFY and fetch it by IXFR; "
                   "NSD's xfrd-reload-timeout is 1 s, its default, "
                   "and it is told of a change once it serves the last that "
                   "it was told of: otherwise it gives up IXFR.\n")


def load_markdown(u):
    rows = []
    for kind, r in u["load"].items():
        for what in ("without", "with", "after"):
            got = r.get(what)
            if not got:
                continue
            rows.append([f"{kind} {what}" + (
                f", {r['rate']} a second" if what == "with" else "")]
                + ["%.0f" % got[p] for p in ("p50", "p99", "p999", "max")]
                + [got["sent"], got["lost"], got["queue_full"],
                   f"{got['cpu_share']:.2f}",
                   "-" if got["waited_ms"] is None else
                   "%.1f" % (got["waited_ms"] / got["seconds"]),
                   "%.1f" % (got["stolen_ms"] / got["seconds"]),
                   "%.0f" % got["away_us"],
                   f"{r['seen']} of {r['sent']}" if what == "with" else ""])
    text = (f"## Changes under load\n\nLatency of {QUERIES} queries a second, "
            "us, before changes, with them and after; one worker, all "
            "processes of a server on one core. Lost: in all, and for want of "
            "room in the server's socket. Waited: milliseconds a second in "
            "which processes of the server were ready and had no core; "
            "stolen: in which the machine had none, for all; away: the "
            "longest time, us, in which the client itself did nothing.\n\n"
            + report.table(
                ["server, changes", "p50", "p99", "p99.9", "max", "sent",
                 "lost", "no room", "cores", "waited", "stolen", "away",
                 "changes seen"], rows) + "\n")
    for kind, r in u["load"].items():
        base = report.median([r[k]["p999"] for k in ("without", "after")
                              if k in r])
        text += (f"- {kind}: p99.9 with changes is "
                 f"{r['with']['p999'] / max(0.1, base):.2f} "
                 "of the mean without\n")
    return text + "\n![latency](updates.svg)\n![latency, ours]" \
        "(updates-ours.svg)\n"


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
    return ("## Small zones\n\nAll cores. Start to the first answer from a "
            "zone, and from the last one, s; CPU time, s; PSS, MiB. One more "
            "zone, from its sending to its first answer: with its records in "
            "the message, or by name and pattern from its file; and until one "
            f"is gone: ms, median / slowest of {SMALL_ADDED}.\n\n"
            + report.table(["server", "zones", "start", "last", "CPU",
                            "memory", "added", "from a file", "removed"],
                           rows))


def updates_markdown(result):
    u = result["updates"]
    text = ("# Changes of zones\n\n" + machine_line(result, u["shared"])
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
    def points(run):
        return [(s[0], s[3] / 1e3) for s in run["series"][:-1]]
    series = {}
    for kind, r in u["load"].items():
        series[f"{kind}, {r['rate']}/s"] = points(r["with"])
    title = f"Slowest of 1000 at {QUERIES} queries a second"
    if series:
        report.line_chart(os.path.join(out, "updates.svg"), title,
                          "seconds", "ms (p99.9 of half a second)", series)
    ours = u["load"].get("ours")
    if ours:
        report.line_chart(
            os.path.join(out, "updates-ours.svg"), title, "seconds",
            "ms (p99.9 of half a second)",
            {f"ours, {ours['rate']}/s": points(ours["with"]),
             "none": points(ours["without"])})


def write_documents(result, out):
    if "updates" not in result:
        return
    with open(os.path.join(out, "updates.md"), "w") as f:
        f.write(updates_markdown(result))
    draw(result["updates"], out)
