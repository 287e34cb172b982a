"""Figures that an operator asks for first: the part overview of the bench. A
signed TLD of --size delegations, loaded, held in memory, answered from, and
changed."""
import os
import time

import machine
import pages
import report
import transfers_changes

COLOR, COLOR_OTHERS = "#c0392b", "#8a94a0"
NAMES = {"ours": "this server", "nsd": "NSD", "knot": "Knot", "bind": "BIND",
         "yadifa": "YADIFA"}
CASE = "overview hit DO"
# Of the chart: the width and height of a panel, of a row, of a label.
WIDTH, ROW, LABEL, VALUE = 380, 22, 92, 74
HEAD, GAP, TOP = 30, 20, 44


class Parts:
    """Of Bench, which has the rest."""

    def part_overview(self):
        self.result["overview"] = found = {
            "size": self.args.size, "date": time.strftime("%Y-%m-%d"),
            "starts": {}, "changes": {}}
        zones = self.zone_set(f"tld-{self.args.size}")
        for turn in range(self.args.reps):
            for kind in self.rotated(turn):
                server = self.measure_start(kind, zones)
                if server:
                    found["starts"].setdefault(kind, []).append(
                        self.result["starts"].pop())
                    server.stop()
        self.with_all(zones, lambda running: self.turns(
            running, CASE, ["-w", 128, "-d"], "udp", zones.prefix + ".hit"))
        for kind in self.programs:
            self.overview_changes(kind, zones)
        self.save()

    def overview_changes(self, kind, zones):
        try:
            with self.others.watched():
                took, cpu_ms = transfers_changes.changes_run(
                    kind, self.programs[kind], zones, self.work)
        except ValueError as e:
            self.say(f"{kind}: {e}")
            return
        self.result["overview"]["changes"][kind] = {
            "took_ms": took, "cpu_ms": cpu_ms}
        self.say(f"{kind}: a change after {report.median(took):.2f} ms")


def figures(result):
    """(what, unit, {server: value}) of each panel of the chart."""
    found = result["overview"]
    size = f"{found['size']:,}"
    starts = {kind: {what: report.median([row[what] for row in rows])
                     for what in ("start_sec", "pss_mib")}
              for kind, rows in found["starts"].items()}
    cpu = {row["server"]: row["cpu_ns"] / 1e3 for row in result["rows"]
           if row["case"] == CASE}
    return [
        (f"Start with {size} delegations", "s",
         {kind: row["start_sec"] for kind, row in starts.items()}),
        ("Memory of all processes", "MiB",
         {kind: row["pss_mib"] for kind, row in starts.items()}),
        ("CPU time for an answer over UDP", "µs", cpu),
        ("From NOTIFY to the new answer, by IXFR", "ms",
         {kind: report.median(row["took_ms"])
          for kind, row in found["changes"].items()})]


def printed(value):
    return (f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100
            else f"{value:,.0f}")


def panel(at, what, unit, values):
    x, y = at
    out = [f'<text class="b" x="{x}" y="{y + 14}">{what}</text>']
    most = max(values.values())
    for i, (kind, value) in enumerate(values.items()):
        top = y + HEAD + ROW * i
        length = max(2, value / most * (WIDTH - LABEL - VALUE))
        bold = ' class="b"' if kind == "ours" else ""
        out.append(
            f'<text{bold} x="{x + LABEL - 8}" y="{top + 13}" '
            f'text-anchor="end">{NAMES.get(kind, kind)}</text>'
            f'<rect x="{x + LABEL}" y="{top + 2}" width="{length:.1f}" '
            f'height="{ROW - 7}" rx="2" '
            f'fill="{COLOR if kind == "ours" else COLOR_OTHERS}"/>'
            f'<text{bold} x="{x + LABEL + length + 6:.1f}" y="{top + 13}">'
            f'{printed(value)} {unit}</text>')
    return out


def draw(result, path):
    """Two panels beside each other; on a ground of its own, which is dark
    where the reader's is."""
    panels = [p for p in figures(result) if p[2]]
    rows = max(len(values) for _, _, values in panels)
    high = HEAD + ROW * rows + GAP
    width = 2 * (WIDTH + GAP) + GAP
    height = TOP + high * ((len(panels) + 1) // 2)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="13">',
           "<style>.g{fill:#fff}text{fill:#24292f}.b{font-weight:bold}"
           "@media(prefers-color-scheme:dark){.g{fill:#161b22}"
           "text{fill:#e6edf3}}</style>",
           f'<rect class="g" width="{width}" height="{height}" rx="8"/>',
           f'<text class="b" x="{GAP}" y="27" font-size="16">A signed '
           'TLD: less is better</text>']
    for i, one in enumerate(panels):
        out += panel((GAP + i % 2 * (WIDTH + GAP), TOP + i // 2 * high), *one)
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


def markdown(result):
    found = result["overview"]
    panels = figures(result)
    names = list(result["versions"])
    rows = [[f"{what}, {unit}"] + [
        printed(values[n]) + ("" if n == "ours" or "ours" not in values else
                              f" ({values['ours'] / values[n]:.3f})")
        if n in values else "-" for n in names]
        for what, unit, values in panels]
    turns = min([len(rows_) for rows_ in found["starts"].values()] or [0])
    return (
        "# Overview\n\n" + machine.line(result, "overview")
        + f"Measured on {found['date']}. A TLD of {found['size']:,} "
        "delegations with NSEC3, all servers in one run; in brackets ours as "
        "a multiple.\n\n"
        + report.table(["figure"] + names, rows)
        + f"\n*Start*: from exec to the first answer, all processes of a "
        f"server on one core; {pages.of_turns(turns)}, in rotating order. "
        "*Memory*: the sum of PSS after that start. *CPU time*: one worker, "
        "128 queries on their way, names that exist, with DO. *NOTIFY to "
        "answer*: ten records changed, the server is a secondary with two "
        "workers on two cores; until clients of both see the new serial, the "
        f"median of {transfers_changes.COUNT} changes ("
        f"{transfers_changes.RIVAL_COUNT} of the others). NSD waits up to a "
        "second before it reloads (xfrd-reload-timeout, its default).\n\n"
        "![start, memory, CPU time, changes](overview.svg)\n")


def write_documents(result, out):
    if not result.get("overview", {}).get("starts"):
        return
    with open(os.path.join(out, "overview.md"), "w", encoding="utf-8") as f:
        f.write(markdown(result))
    draw(result, os.path.join(out, "overview.svg"))
