"""Pages and charts of the parts udp, tcp, size, offered and tcprate, and the
table of everything that a run has measured."""
import os

import machine
import report

# Delegations; only --large measures more.
LARGE = 1000000
CURVES = {
    "offered": ("Answered of what is offered, root zone, UDP (dashed: 2 "
                "workers)", "queries a second offered", "% answered"),
    "tcprate": ("A connection for each query (dashed: 2 workers)",
                "connections at a time", "answers a second"),
}


def cell(value, form="%.0f"):
    return "-" if value is None else form % value


# ---- what an answer costs

def cases_of(result, prefix=""):
    """The rows of the cases whose name begins so: case, then server."""
    cases = {}
    for row in result["rows"]:
        if row["case"].startswith(prefix):
            cases.setdefault(row["case"][len(prefix):], {})[
                row["server"]] = row
    return cases


def cases_markdown(result, prefix):
    """CPU time and octets of the cases whose name begins so."""
    cases = cases_of(result, prefix)
    kinds = [k for k in ["echo", "echo-size"] + list(result["versions"])
             if any(k in got for got in cases.values())]
    cost, octets = [], []
    for case, got in cases.items():
        ours = got.get("ours")
        cells = []
        for k in kinds:
            if k not in got:
                cells.append("-")
                continue
            text = f"{got[k]['cpu_ns']:.0f}"
            if ours and k != "ours":
                text += f" ({ours['cpu_ns'] / got[k]['cpu_ns']:.2f})"
            cells.append(text)
        cost.append([case] + cells)
        octets.append([case] + [
            cell(got[k]["octets"] if k in got else None) for k in kinds])
    rows = [row for got in cases.values() for row in got.values()]
    turns = min(len(row["samples"]) for row in rows)
    return (f"CPU time an answer, ns, {of_turns(turns)}; in brackets ours as "
            "a multiple of it.\n\n"
            + report.table(["case"] + kinds, cost) + spread_line(rows, turns)
            + "\nOctets of an answer:\n\n"
            + report.table(["case"] + kinds, octets))


def of_turns(count):
    return "one turn" if count == 1 else f"the median of {count} turns"


def spread_line(rows, turns):
    if turns < 2:
        return ""
    spreads = [row["spread"] for row in rows]
    return ("\nThe turns that a figure is the median of differ by "
            f"{report.median(spreads):.0f} % to each side (median of all "
            f"figures), by {max(spreads):.0f} % at most.\n")


def udp_markdown(result):
    return ("# UDP\n\n" + machine.line(result, "udp")
            + "One worker, 128 queries on their way, so that the batches of "
            "every server are full. Names that exist (hit) and that do not "
            "(nxdomain), with DO and without. "
            + cases_markdown(result, "udp "))


def tcp_markdown(result):
    return ("# TCP\n\n" + machine.line(result, "tcp")
            + cases_markdown(result, "tcp "))


# ---- starts

def starts_of(result, kind):
    """Of the zone sets of a kind: size, then server, to rows."""
    got = {}
    for row in result["starts"]:
        name, count = row["zones"].split("-")[:2]
        if name == kind:
            got.setdefault(int(count), {}).setdefault(
                row["server"], []).append(row)
    return got


def start_cell(rows):
    text = "%.2f / %.0f / %.2f" % tuple(
        report.median([r[k] for r in rows])
        for k in ("start_sec", "pss_mib", "cpu_sec"))
    took = [r["start_sec"] for r in rows]
    if len(took) > 1:
        text += f" ({min(took):.2f}-{max(took):.2f})"
    return text


def size_markdown(result):
    names = list(result["versions"])
    sizes = starts_of(result, "tld")
    rows, ratios = [], []
    for size, got in sizes.items():
        rows.append([f"{size:,}"] + [
            start_cell(got[n]) if n in got else "-" for n in names])
        ratios.append([f"{size:,}"] + [ratio_cell(got, n) for n in names
                                       if n != "ours"])
    turns = max(len(r) for got in sizes.values() for r in got.values())
    touched = max(r.get("touched_mib", 0) for got in sizes.values()
                  for rows_ in got.values() for r in rows_)
    text = ("# Start and memory against the size of a zone\n\n"
            + machine.line(result, "size")
            + "A TLD with so many delegations, one worker, all processes of "
            "a server on one core, the file in memory. Seconds to the first "
            "answer / MiB (PSS) of all processes / seconds of CPU time, "
            + of_turns(turns) + (
                ", in rotating order; in brackets the fastest and the "
                "slowest start" if turns > 1 else "") + ". ")
    if touched:
        text += ("Before each start twice as much memory was taken and freed "
                 "as the largest server needs there, or most of what was "
                 f"free ({touched:,.0f} MiB at most), so that nobody pays "
                 "for what the host of a virtual machine had taken back.\n\n")
    else:
        text += ("Who came first paid for the memory that the host of the "
                 "virtual machine had taken back: ours.\n\n")
    text += report.table(["delegations"] + names, rows)
    if len(ratios[0]) > 1 and any("ours" in got for got in sizes.values()):
        text += ("\nOurs as a multiple, time to the first answer / memory:"
                 "\n\n" + report.table(
                     ["delegations"] + [n for n in names if n != "ours"],
                     ratios))
    text += stops_text(sizes, names)
    charts = large_suffix(result)
    return text + (f"\n![start](start_sec{charts}.svg)\n"
                   f"![memory](pss_mib{charts}.svg)\n")


def stops_text(sizes, names):
    """The times of stops, of results that have them."""
    rows = [[f"{size:,}"] + [stop_cell(got.get(n, [])) for n in names]
            for size, got in sizes.items()]
    if all(cell == "-" for row in rows for cell in row[1:]):
        return ""
    return ("\nStop: seconds from the signal until all processes had ended, "
            "the median; in brackets the fastest and the slowest:\n\n"
            + report.table(["delegations"] + names, rows))


def stop_cell(rows):
    took = [r["stop_sec"] for r in rows if r.get("stop_sec") is not None]
    if not took:
        return "-"
    return f"{report.median(took):.3f} ({min(took):.3f}-{max(took):.3f})"


def ratio_cell(got, name):
    if name not in got or "ours" not in got:
        return "-"
    return " / ".join(
        "%.3f" % (report.median([r[k] for r in got["ours"]])
                  / report.median([r[k] for r in got[name]]))
        for k in ("start_sec", "pss_mib"))


def large_suffix(result):
    """A run with --large has pages of its own: it takes long, and those of
    other runs are not to lose its sizes."""
    sizes = starts_of(result, "tld")
    return "-large" if sizes and max(sizes) > LARGE else ""


def draw_starts(result, out):
    sizes = starts_of(result, "tld")
    for key, title, label in (
            ("start_sec", "Start to first answer", "seconds"),
            ("pss_mib", "Memory of all processes", "MiB (PSS)")):
        series = {}
        for size, got in sizes.items():
            for kind, rows in got.items():
                series.setdefault(kind, []).append(
                    (size, report.median([r[key] for r in rows])))
        report.line_chart(os.path.join(
            out, key + large_suffix(result) + ".svg"), title, "delegations",
            label, series)


# ---- rates

def rates_markdown(result):
    curves = result["curves"]
    text = "# Rates\n\n%s With two workers the load shares their cores.\n" \
        % turns_line(result.get("turns_a_point", 1))
    if "offered" in curves:
        text += ("\n## Offered and answered\n\n"
                 + machine.line(result, "offered")
                 + "Share answered of the UDP queries offered to a root (60 "
                 "% of the names do not exist), at the rate that the load "
                 "reached, the median of the turns; in brackets the least of "
                 "them, where it is another.\n\n")
        turns = result.get("offered_turns", {})
        for label, points in curves["offered"].items():
            text += f"- {label}: " + ", ".join(
                offered_point(x, y, least) for (x, y), least in
                zip(points, turns.get(label) or [None] * len(points))) + "\n"
        if turns:
            text += "\n" + no_room_line(turns)
        text += "\n![offered](offered.svg)\n"
    if "tcprate" in curves:
        lines = curves["tcprate"]
        conns = sorted({x for points in lines.values() for x, _ in points})
        rows = [[label] + [cell(dict(map(tuple, points)).get(x))
                           for x in conns] for label, points in lines.items()]
        text += ("\n## A connection for each query\n\n"
                 + machine.line(result, "tcprate")
                 + "Answers a second, by parallel connections.\n\n"
                 + report.table(["server, workers"] + [str(c) for c in conns],
                                rows)
                 + tcprate_shares(result, conns)
                 + "\n![connections](tcprate.svg)\n")
    return text


def turns_line(turns):
    return "One turn a point." if turns == 1 else \
        f"{turns} turns a point; medians."


def offered_point(offered, share, turns):
    text = "%.0fk %.0f %%" % (offered / 1e3, share)
    if turns and "%.0f" % turns[0] != "%.0f" % share:
        text += " (%.0f)" % turns[0]
    return text


def no_room_line(turns):
    """Of what was not answered, what had found no room in a socket."""
    return ("Of the queries that were not answered so many had found no room "
            "in the socket of the server: " + ", ".join(
                "%s %.0f %%" % (label, 100 * sum(n for _, n, _ in rows)
                                / max(1, sum(n for *_, n in rows)))
                for label, rows in turns.items()) + ".\n")


def tcprate_shares(result, conns):
    """Shares of a core of server and load, which tell the limit of the
    rate."""
    shares = result.get("tcprate_shares")
    if not shares:
        return ""
    rows = []
    for label, points in shares.items():
        found = {n: "%.2f / %.2f, %.1f" % (server, load, ns / 1e3)
                 for n, server, load, ns in points}
        rows.append([label] + [found.get(n, "-") for n in conns])
    return ("\nThe share of a core that the server and the load used, and "
            "microseconds of the server's CPU time a connection:\n\n"
            + report.table(["server, workers"] + [str(c) for c in conns],
                           rows))


def draw_curves(result, out):
    for name, (title, xlabel, ylabel) in CURVES.items():
        if name in result["curves"]:
            report.line_chart(os.path.join(out, name + ".svg"), title,
                              xlabel, ylabel, result["curves"][name])


# ---- all of it

def markdown(result):
    """All measurements as Markdown, with those that the pages leave out."""
    names = list(result["versions"])
    text = f"Machine: {result['machine']}\n\n"
    for name in names:
        text += f"- {name}: {result['versions'][name]}\n"
    text += "\n"
    for part, row in result.get("others", {}).items():
        text += f"- {part}: {machine.others_text(row)}\n"
    cases = cases_of(result)
    if cases:
        columns = ["echo", "echo-size"] + names
        text += "\nCPU time an answer, ns (median; in brackets: share of " \
            "user time, then ours as a multiple)\n\n"
        text += report.table(["case"] + columns, [
            [case] + [cost_cell(got.get(n), got.get("ours")) for n in columns]
            for case, got in cases.items()])
        text += "\nAnswers a second (median; the load's core is often the " \
            "limit), octets an answer\n\n"
        text += report.table(["case"] + columns, [
            [case] + [f"{got[n]['rate']:.0f} ({got[n]['octets']:.0f})"
                      if n in got else "-" for n in columns]
            for case, got in cases.items()])
    starts = {}
    for row in result["starts"]:
        starts.setdefault(row["zones"], {}).setdefault(
            row["server"], []).append(row)
    if starts:
        text += "\nStart to first answer, s / PSS of all processes, MiB / " \
            "CPU time of the start, s\n\n"
        text += report.table(["zones"] + names, [
            [zones] + [start_cell(got[n]) if n in got else "-"
                       for n in names] for zones, got in starts.items()])
    if result["curves"]:
        text += "\n" + rates_markdown(result)
    return text


def cost_cell(row, ours):
    if not row:
        return "-"
    text = f"{row['cpu_ns']:.0f} ({row['user_ns']:.0f})"
    if ours and row["server"] != "ours":
        text += f" x{ours['cpu_ns'] / row['cpu_ns']:.2f}"
    return text


def draw_costs(result, out):
    for case, got in cases_of(result).items():
        report.bar_chart(
            os.path.join(out, "cpu-" + case.replace(" ", "-") + ".svg"),
            f"CPU time an answer: {case}", "ns",
            {kind: row["cpu_ns"] for kind, row in got.items()})


def write_documents(result, out):
    """The tables and charts of the parts that were run."""
    made = []
    if cases_of(result, "udp root") or cases_of(result, "udp tld"):
        made.append(("udp.md", udp_markdown(result)))
    if cases_of(result, "tcp "):
        made.append(("tcp.md", tcp_markdown(result)))
    if starts_of(result, "tld"):
        made.append((f"size{large_suffix(result)}.md",
                     size_markdown(result)))
        draw_starts(result, out)
    if result["curves"]:
        made.append(("rates.md", rates_markdown(result)))
        draw_curves(result, out)
    for name, text in made:
        with open(os.path.join(out, name), "w") as f:
            f.write(text)
