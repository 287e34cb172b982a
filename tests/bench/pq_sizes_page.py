"""The page and the charts of tests/bench/pq_sizes.py, from its results."""
import json
import os

import machine
import report
import study

LIMITS = (512, 1232, 4096)
# Of the table of what a server needs: queries a second.
NEEDED_RATE = 10000
PAGE = """# Signatures of post-quantum sizes

Made by `tests/bench/pq_sizes.py`; nobody edits it. {machine}. {others}

{versions}

What a TLD's server has to send, and pays, when signatures get as large as those of
algorithms that a quantum computer does not break. The *large* zone has {size:,} delegations,
NSEC3 with opt-out, 28 % of them signed; its signatures and keys are random octets of
the right sizes, since no server checks them. The *small* one has {small:,} delegations and
real signatures, as far as the table says. Zones of different algorithms differ in nothing
else, and get the same queries (`tests/bench/gen_capture.c`: 25 % for names that do not
exist; A 40 %, AAAA 20, NS 11, DS 9 of delegations, HTTPS 6, MX 5, TXT 5, SOA 2 and DNSKEY 1 of
the zone, CNAME 1; 10 % without EDNS, 72 % with DO), but for the UDP limit, which all queries
with EDNS have alike. Servers send up to 4,096 octets over UDP if the client takes them. Each
has the buffers of a socket and the places for new connections that it takes by itself (NSD
and ours hold 2,520 queries, others 256: [buffers](buffers-study.md); BIND queued ten
connections, as Knot does): what they lose, and answers that took a second, is mostly that.
Over loopback no datagram is fragmented, and an answer of 32 KB takes no further round trip.

{signatures}
{failed}
## Truncated

Percent of the answers over UDP that come truncated (large zone). With DO, as 72 % of the
queries have it, a referral with DS has one signature, one without DS two, as its NSEC3
records are signed, and a denial four: 17 % of all answers have four, and 55 % two or more.

![truncated](pq-sizes-truncated.svg)

{truncated}
{truncated_small}
## Octets

Whole answers, as over TCP: mean, the length that 99 % do not exceed, and the longest (large
zone):

{whole}
Answers over UDP with a limit of 1,232: mean, and the length that 99 % do not exceed:

{udp_octets}
## CPU an answer

Over UDP alone, {udp_rate:,} queries a second for {seconds:g} s, one worker: microseconds in user mode and
in the kernel together (large zone; {means}; `-`: not measured on an idle machine, or no
answers), and how many queries had no answer{again}:

{cpu}
## With TCP behind what is truncated

The [study of TCP](../performance.md) at the share that each size implies: {rate:,} queries a
second over UDP, and a connection for each answer that comes truncated. Microseconds of CPU for
each query, all in all, and more than in the table before, as fewer queries come at a time; in
brackets the median and the 99th percentile of the time to the last answer, ms. The median is
that of answers over TCP where more than half of the queries were asked again, the percentile
where more than 1 % were; else they are those of answers over UDP.

![CPU](pq-sizes-cpu.svg)

{behind}
## Memory, start and transfer

Memory at rest (PSS of all processes, MiB) and seconds from exec to the first answer; *file*: of
the zone, MiB:

![memory](pq-sizes-memory.svg)

{memory}
AXFR, a client on the other core: MiB that were sent, messages, seconds:

{axfr}
## What a TLD's server would need

Ours, {size:,} delegations, for {needed:,} queries a second of such a mix, by the UDP limit of
its clients: connections a second (all that are truncated ask again), cores of this machine,
and Mbit/s of answers, without heads of IP, UDP and TCP. Computed from the figures above, so
cores are an upper bound: at {udp_rate:,} queries a second an answer over UDP took half as much
CPU time as at {rate:,}.

{needs}
"""

SMALL = """The small zone, with its real signatures:

{table}"""


def runs_of(result, part, **want):
    return [run for run in result["runs"] if run["part"] == part
            and all(run.get(key) == value for key, value in want.items())]


def served(result, part, **want):
    return [run for run in runs_of(result, part, **want)
            if "failed" not in run]


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def mean_of(result, part, value, **want):
    """The mean of what a function says of each run."""
    return mean([value(run) for run in served(result, part, **want)])


def kinds_of(result, part):
    have = {run["server"] for run in runs_of(result, part)}
    return [kind for kind in result["versions"] if kind in have]


def algorithms_of(result, part):
    have = {run["algorithm"] for run in runs_of(result, part)}
    return [name for name in result["algorithms"] if name in have]


# ---- figures of a run

def truncated(limit):
    def value(run):
        got = run[f"udp {limit}"]
        return 100 * got["truncated"] / got["udp"][1] if got["udp"][1] \
            else None
    return value


def cpu_usec(name, asked="udp"):
    """CPU time for each answer."""
    def value(run):
        got = run.get(name)
        if not got or "cpu" not in got or not got[asked][1]:
            return None
        return 1e6 * sum(got["cpu"]) / got[asked][1]
    return value


def last_answer(run, limit, place):
    """Milliseconds until the last answer. Of the part of queries that ask again
    the times are known alone: where these are fewer than the part that is
    wanted, those of UDP hold."""
    got = run.get(f"behind {limit}")
    if not got or "latency" not in got:
        return None
    share = got["truncated"] / got["udp"][1] if got["udp"][1] else 0
    again = share > 0.5 if place == 0 else share > 0.01
    return got["latency"]["both" if again else "udp"][place] / 1e3


def octets_of(run, limit):
    """Octets for each query, of UDP and of TCP behind it."""
    got = run.get(f"behind {limit}")
    return (got["udp"][2] + got["tcp"][2]) / got["udp"][1] \
        if got and got["udp"][1] else None


# ---- tables

def figure(value, form):
    return "-" if value is None else form.format(value)


def by_limit(result, part, text):
    """Algorithms and limits, and what text says of a server."""
    kinds = kinds_of(result, part)
    return report.table(["algorithm, UDP limit", *kinds], [
        [f"{algorithm}, {limit:,}"]
        + [text(kind, algorithm, limit) for kind in kinds]
        for algorithm in algorithms_of(result, part) for limit in LIMITS])


def by_algorithm(result, part, text):
    kinds = kinds_of(result, part)
    return report.table(["algorithm", *kinds], [
        [algorithm] + [text(kind, algorithm) for kind in kinds]
        for algorithm in algorithms_of(result, part)])


def signature_table(result):
    rows = []
    for name, (number, signature, key) in result["algorithms"].items():
        made = result["signatures"].get(name)
        text = "not made" if not made else \
            "random octets" if not made["signed"] else \
            f"{made['signed']:,} of {made['all']:,} signatures real, by " \
            f"{made['by']}"
        rows.append([name, number, f"{signature:,}", f"{key:,}", text])
    return report.table(["algorithm", "number", "octets of a signature",
                         "of a key", "in the small zone"], rows) \
        + "\nNumbers from 18 on are free ones: none is assigned.\n"


def failed_list(result):
    seen = {}
    for run in result["runs"]:
        why = run.get("failed") or run["axfr"].get("failed")
        if why:
            seen[f"{run['server']}, {run['part']} zone, {run['algorithm']}: "
                 f"{why}"] = True
    if not seen:
        return "Each server took each zone.\n"
    return "Not served, or not sent:\n\n" + "".join(
        f"- {text}.\n" for text in seen)


def truncated_table(result, part):
    return by_limit(result, part, lambda kind, algorithm, limit: figure(
        mean_of(result, part, truncated(limit), server=kind,
                algorithm=algorithm), "{:.1f}"))


def lengths(run_key, octets_key, places):
    def text(result, part, kind, algorithm):
        values = [mean_of(result, part,
                          lambda run, p=place: run[run_key][octets_key][p],
                          server=kind, algorithm=algorithm)
                  for place in places]
        return "-" if None in values else ", ".join(
            f"{value:,.0f}" for value in values)
    return text


def whole_table(result):
    text = lengths("whole", "tcp_octets", ("mean", "p99", "max"))
    return by_algorithm(result, "large", lambda kind, algorithm: text(
        result, "large", kind, algorithm))


def udp_octets_table(result):
    text = lengths("udp 1232", "udp_octets", ("mean", "p99"))
    return by_algorithm(result, "large", lambda kind, algorithm: text(
        result, "large", kind, algorithm))


def cpu_table(result):
    def text(kind, algorithm, limit):
        want = {"server": kind, "algorithm": algorithm}
        value = mean_of(result, "large", cpu_usec(f"udp {limit}"), **want)
        return "-" if value is None else f"{value:.1f}" + lost_text(
            result, f"udp {limit}", want)
    return by_limit(result, "large", text)


def behind_table(result):
    def text(kind, algorithm, limit):
        want = {"server": kind, "algorithm": algorithm}
        cost = mean_of(result, "large", cpu_usec(f"behind {limit}"), **want)
        if cost is None:
            return "-"
        times = [mean_of(result, "large",
                         lambda run, p=place: last_answer(run, limit, p),
                         **want) for place in (0, 1)]
        return f"{cost:.1f} ({times[0]:.2f}, {times[1]:.2f})" \
            + lost_text(result, f"behind {limit}", want)
    return by_limit(result, "large", text)


def lost_text(result, name, want):
    lost = sum(run[name][way][0] - run[name][way][1]
               for run in served(result, "large", **want)
               for way in ("udp", "tcp"))
    return f"; {lost:,} lost" if lost else ""


def memory_table(result):
    def text(kind, algorithm):
        values = [mean_of(result, "large", lambda run, k=key: run.get(k),
                          server=kind, algorithm=algorithm)
                  for key in ("pss_mib", "start_sec")]
        return ", ".join([figure(values[0], "{:,.0f}"),
                          figure(values[1], "{:.1f}")])
    kinds, files = kinds_of(result, "large"), result.get("files", {})
    return report.table(["algorithm", "file", *kinds], [
        [algorithm, figure(files.get(f"large {algorithm}", 0) / (1 << 20),
                           "{:,.0f}")]
        + [text(kind, algorithm) for kind in kinds]
        for algorithm in algorithms_of(result, "large")])


def axfr_table(result):
    def text(kind, algorithm):
        found = [run["axfr"] for run in served(
            result, "large", server=kind, algorithm=algorithm)
            if "failed" not in run["axfr"]]
        if not found:
            return "-"
        return ", ".join([
            f"{found[0]['octets'] / (1 << 20):,.1f}",
            f"{found[0]['messages']:,}",
            figure(mean([one.get("seconds") for one in found]), "{:.2f}")])
    return by_algorithm(result, "large", text)


def needs_table(result):
    rows = []
    for algorithm in algorithms_of(result, "large"):
        for limit in LIMITS:
            want = {"server": "ours", "algorithm": algorithm}
            share = mean_of(result, "large", truncated(limit), **want)
            cost = mean_of(result, "large", cpu_usec(f"behind {limit}"),
                           **want)
            octets = mean_of(result, "large",
                             lambda run, n=limit: octets_of(run, n), **want)
            rows.append([
                f"{algorithm}, {limit:,}",
                figure(share and share / 100 * NEEDED_RATE if share
                       else share, "{:,.0f}"),
                figure(None if cost is None else cost * NEEDED_RATE / 1e6,
                       "{:.2f}"),
                figure(None if octets is None
                       else octets * 8 * NEEDED_RATE / 1e6, "{:,.0f}"),
                figure(mean_of(result, "large",
                               lambda run: run["pss_mib"], **want),
                       "{:,.0f}"),
                figure(mean_of(result, "large",
                               lambda run: run.get("start_sec"), **want),
                       "{:.1f}"),
                figure(mean_of(result, "large", lambda run: run["axfr"].get(
                    "octets", 0) / (1 << 20), **want), "{:,.0f}")])
    return report.table(
        ["algorithm, UDP limit", "connections a second", "cores", "Mbit/s",
         "memory, MiB", "start, s", "AXFR, MiB"], rows)


# ---- charts

def truncated_series(result):
    kind = kinds_of(result, "large")[0]
    return {algorithm: [(limit, value) for limit in LIMITS
                        if (value := mean_of(
                            result, "large", truncated(limit), server=kind,
                            algorithm=algorithm)) is not None]
            for algorithm in algorithms_of(result, "large")
            if served(result, "large", server=kind, algorithm=algorithm)}


def signature_series(result, value):
    """Means of the large zone, of a value of each run, by octets of a
    signature."""
    series = {}
    for kind in kinds_of(result, "large"):
        for algorithm in algorithms_of(result, "large"):
            got = mean_of(result, "large", value, server=kind,
                          algorithm=algorithm)
            if got is not None:
                series.setdefault(kind, []).append(
                    (result["algorithms"][algorithm][1], got))
    return series


def charts(result):
    """{file: (title, x, y, series)}"""
    return {
        "pq-sizes-truncated.svg": (
            "Answers that come truncated", "UDP limit, octets",
            "% of the answers", truncated_series(result)),
        "pq-sizes-cpu.svg": (
            "CPU time a query, with TCP behind what is truncated at 1,232 "
            "octets", "octets of a signature", "microseconds",
            signature_series(result, cpu_usec("behind 1232"))),
        "pq-sizes-memory.svg": (
            "Memory of all processes", "octets of a signature", "MiB (PSS)",
            signature_series(result, lambda run: run["pss_mib"])),
    }


def page(result):
    parameters, small = result["parameters"], ""
    if runs_of(result, "small"):
        small = SMALL.format(table=truncated_table(result, "small"))
    text = PAGE.format(
        again=again_text(result["runs"]),
        machine=result["machine"],
        others=" ".join(
            (f"{result['days'][name]}: " if "days" in result else "")
            + machine.others_text(row)
            for name, row in result["others"].items() if "large" in name)
        if result["timed"] else "No times and no CPU were kept: other "
        "programs ran.",
        versions=study.versions_text(result),
        signatures=signature_table(result), failed=failed_list(result),
        truncated=truncated_table(result, "large"), truncated_small=small,
        whole=whole_table(result), udp_octets=udp_octets_table(result),
        cpu=cpu_table(result), behind=behind_table(result),
        memory=memory_table(result), axfr=axfr_table(result),
        needs=needs_table(result), needed=NEEDED_RATE,
        means=means_text(result),
        **{name: parameters[name] for name in ("size", "small", "rate",
                                               "udp_rate", "seconds")})
    if result.get("short"):
        text = text.replace("\n\n", "\n\n**A short run, for sanity: its "
                            "figures mean nothing.**\n\n", 1)
    return text


def means_text(result):
    """How many runs there are of an algorithm. Results of several days may be
    put together: their runs with another rep each, their rows of others with the
    word "large" in their names, and what `days` says of each of these."""
    counts = {name: len({run["rep"] for run in runs_of(
        result, "large", algorithm=name)})
              for name in algorithms_of(result, "large")}
    most = max(counts.values())
    text = f"means of {most} runs" if most > 1 else "one run"
    fewer = [f"{name} {count}" for name, count in counts.items()
             if count < most]
    return text + (", of " + ", ".join(fewer) if fewer else "")


def again_text(runs):
    """How often runs were made again; results from before do not say."""
    rows = [row for run in runs if run["part"] == "large"
            for row in run.values() if isinstance(row, dict)
            and "tries" in row]
    if not rows:
        return ""
    void = sum(row["stolen"] > machine.STOLEN_SHARE for row in rows)
    return (f". {sum(row['tries'] > 1 for row in rows)} of {len(rows)} runs, "
            "here and below, were begun again, as the host\ntook over "
            f"{100 * machine.STOLEN_SHARE:.0f} % of the cores; in {void} it "
            "did so in the last try as well")


def write(result, directory):
    """The page, the charts and the results themselves; of results without the
    large part nothing but these."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "pq-sizes.json"), "w",
              encoding="utf-8") as f:
        json.dump(result, f)
    if not runs_of(result, "large"):
        return
    text = page(result)
    for name, (title, xlabel, ylabel, series) in charts(result).items():
        if any(series.values()):
            report.line_chart(os.path.join(directory, name), title, xlabel,
                              ylabel, series)
        else:
            text = drop_chart(text, name)
    with open(os.path.join(directory, "pq-sizes.md"), "w",
              encoding="utf-8") as f:
        f.write(text)


def drop_chart(text, name):
    """Without the line of a chart that has no figures."""
    return "".join(line for line in text.splitlines(keepends=True)
                   if f"({name})" not in line)
