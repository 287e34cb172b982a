"""The page and the charts of tests/bench/nsec3_study.py, from its results, and the
published figures."""
import report
from study import heading, kinds_of, of_form, runs_of, write_page

# Queries a second, by the size of the key in bits; None: NSEC.
PUBLISHED = {
    1024: {None: 46963, 1: 25400, 15: 19336, 30: 18476, 45: 17461, 60: 15898,
           75: 14023, 90: 13320, 105: 12382, 120: 10273, 135: 9648,
           150: 9179},
    2048: {None: 44853, 1: 21298, 50: 14492, 100: 10898, 150: 8789, 200: 7461,
           250: 6367, 300: 5586, 350: 5273, 400: 4804, 450: 4179, 500: 3867},
    4096: {None: 36054, 1: 20419, 250: 6914, 500: 3945, 750: 2773, 1000: 2148,
           1250: 1757, 1500: 1445, 1750: 1289, 2000: 1054, 2250: 976,
           2500: 898},
}
# Numbers of iterations of the published tables.
COUNTS = {bits: [count for count in rates if count is not None]
          for bits, rates in PUBLISHED.items()}

PAGE = """
Denials from the zone qx with names `[a-z]{{5}}v.qx`, {queries:,} queries for
`[a-z]{{5}}i.qx`, none of which exists, with DO and {edns:,} octets of EDNS, over UDP;
signatures are random octets of the sizes of RSA keys. The rate is the highest of which
99 % are answered, found by bisection; the second try of a step counts where the first one
failed. An answer that comes later than 10 ms behind the last query counts as lost. One
worker on core 0, the client on core 1. PowerDNS is left out: it takes NSEC3 from a database
alone.

The published study (NLnet Labs document 2010-002) had NSD on one core of 3.2 GHz, and
500,000 names. Machines differ, so the ratios to the rate with NSEC of the same server can
be compared, and the number of iterations at which half of the rate with one is left;
rates cannot. `>`: the client could offer no more, or all that was offered was answered, up to
1.25 times the rate at which answers came one after another.
"""
KEY = """
## Keys of {bits} bits

{names:,} names, {steps} steps of {seconds:g} seconds. Queries a second; in brackets in
percent of the server's rate with NSEC.

{table}
![rates]({chart})
"""
HALF = """
## Half of the performance

Iterations at which half of the rate with one iteration is left; published: about
100, whatever the key, and by its tables {published}. `-`: more than half is left at
the last number of the table.

{table}
"""
MANY = """
## What servers do with many iterations

RFC 9276 has zones use no iterations at all, and lets validators treat more as insecure
or as a failure. Authoritative servers: the most iterations of which a zone was loaded
and denied with whole proofs, octets of an answer at the most iterations of each key,
and what was refused.

{table}
"""
VALIDATORS = """
## What validators do with many iterations

{versions} asked for a name that does not exist
in zones that were signed by `ldns-signzone` with so many iterations. *Insecure*: the
denial is taken as that of a zone without signatures.

{table}
"""


def rate_of(result, kind, bits, iterations):
    """(rate, whether the client was the limit); None: it was refused or not
    measured."""
    runs = [run for run in runs_of(result, str(bits), server=kind,
                                   iterations=iterations) if run.get("rate")]
    if not runs:
        return None
    return (report.median([run["rate"] for run in runs]),
            any(run["limited"] or all(passed for _, passed in run["tries"])
                for run in runs))


def keys_of(result):
    return [bits for bits in COUNTS if runs_of(result, str(bits))]


def key_kinds(result):
    """The servers that any key was measured with."""
    found = {kind for bits in keys_of(result)
             for kind in kinds_of(result, str(bits))}
    return [kind for kind in result["versions"] if kind in found]


def key_runs(result, kind):
    """[(bits, run)] of a server"""
    return [(bits, run) for bits in keys_of(result)
            for run in runs_of(result, str(bits), server=kind)]


def counts_of(result, bits):
    return list(dict.fromkeys(run["iterations"] for run in runs_of(
        result, str(bits))))


def cell_of(rate, limited, reference):
    if not rate:
        return "-"
    share = f" ({100 * rate / reference:.0f})" if reference else ""
    return f"{'>' if limited else ''}{rate:,.0f}{share}"


def key_table(result, bits):
    kinds = kinds_of(result, str(bits))
    published = PUBLISHED[bits]
    rows = []
    for iterations in counts_of(result, bits):
        cells = [cell_of(published[iterations], False, published[None])]
        for kind in kinds:
            rate, limited = rate_of(result, kind, bits, iterations) or (
                None, False)
            reference = rate_of(result, kind, bits, None)
            cells.append(cell_of(rate, limited, reference and reference[0]))
        rows.append(["NSEC" if iterations is None else iterations, *cells])
    return report.table(["iterations", "published", *kinds], rows)


def points_of(result, kind, bits):
    """[(iterations, rate)]; kind None: the published ones."""
    if kind is None:
        return [(count, PUBLISHED[bits][count]) for count in COUNTS[bits]]
    found = [(count, rate_of(result, kind, bits, count))
             for count in counts_of(result, bits) if count is not None]
    return [(count, got[0]) for count, got in found if got]


def reference_of(result, kind, bits):
    if kind is None:
        return PUBLISHED[bits][None]
    got = rate_of(result, kind, bits, None)
    return got[0] if got else None


def half_count(points):
    """Iterations at which half of the first rate is left, on the lines between
    the points; None: more is left at the last one."""
    if not points:
        return None
    half = points[0][1] / 2
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if y1 <= half:
            return x0 + (y0 - half) * (x1 - x0) / (y0 - y1)
    return None


def half_table(result):
    kinds = key_kinds(result)
    return report.table(["key", *kinds], [
        [f"{bits} bits"] + [of_form(half_count(points_of(result, kind, bits)))
                            for kind in kinds] for bits in keys_of(result)])


def many_row(result, kind):
    served = [(bits, run) for bits, run in key_runs(result, kind)
              if run["iterations"] is not None and "refused" not in run]
    octets = []
    for bits in keys_of(result):
        found = [run for of, run in served if of == bits]
        if found:
            last = max(found, key=lambda run: run["iterations"])
            cut = last["truncated"]
            octets.append(f"{last['octets']:.0f}" + (
                f" ({100 * cut:.0f} % truncated)" if cut else ""))
    refused = [f"{run['iterations']} ({bits}): {run['refused']}"
               for bits, run in key_runs(result, kind) if "refused" in run]
    return [kind, max((run["iterations"] for _, run in served), default="-"),
            ", ".join(octets) or "-", "; ".join(refused) or "nothing"]


def many_table(result):
    return report.table(
        ["server", "most iterations", "octets", "refused"],
        [many_row(result, kind) for kind in key_kinds(result)])


def validators_section(result):
    runs = runs_of(result, "validators")
    names = list(dict.fromkeys(run["server"] for run in runs))
    said = {(run["server"], run["iterations"]): run["said"] for run in runs}
    counts = list(dict.fromkeys(run["iterations"] for run in runs))
    return VALIDATORS.format(
        versions=" and ".join(dict.fromkeys(run["version"] for run in runs)),
        table=report.table(["iterations", *names], [
            [count, *(said.get((name, count), "-") for name in names)]
            for count in counts]))


def key_chart(result, bits):
    """Percent of the rate with NSEC, which compares with the published."""
    series = {}
    for kind in [None, *kinds_of(result, str(bits))]:
        reference = reference_of(result, kind, bits)
        points = points_of(result, kind, bits)
        if reference and points:
            series[kind or "published"] = [
                (count, 100 * rate / reference) for count, rate in points]
    return (f"Rate of denials, keys of {bits} bits", "iterations",
            "% of the rate with NSEC", series, None, (), ("published",))


def write(result, directory):
    """The page and charts of the parts that there are, and the results."""
    text = heading(result, "Iterations of NSEC3, by the highest rate",
                   "nsec3_study.py", {str(bits): f"Keys of {bits} bits"
                                      for bits in COUNTS})
    charts = {}
    if keys_of(result):
        text += rates_sections(result, charts)
    if runs_of(result, "validators"):
        text += validators_section(result)
    write_page(result, directory, "nsec3", text, charts)


def rates_sections(result, charts):
    text = PAGE.format(queries=167000, edns=4096)
    for bits in keys_of(result):
        file = f"nsec3-study-{bits}.svg"
        text += KEY.format(bits=bits, chart=file,
                           table=key_table(result, bits),
                           **result["parameters"][str(bits)])
        charts[file] = key_chart(result, bits)
    text += HALF.format(table=half_table(result), published=", ".join(
        f"{half_count(points_of(result, None, bits)):.0f} ({bits})"
        for bits in PUBLISHED))
    return text + MANY.format(table=many_table(result))
