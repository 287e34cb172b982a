"""The page and the charts of tests/bench/knot_study.py, from its results."""
import report
from study import heading, kinds_of, runs_of, values_of, write_page

PAGE = """
The thesis that Knot DNS began with (2010) has four scenarios: one client or two, the
zone .cz unsigned or signed; dnsperf, each with 20 and with 100 queries outstanding, 1 to 6
threads; answers a second, and lost queries. Here: a made TLD of {size:,} delegations
(NSEC3 with opt-out where it is signed, asked with DO; *pdns, unsigned*: PowerDNS takes
signatures from a database alone, so it serves the zone without them), half of the names
exist; clients
are processes of dnsperf and share the last core, which a worker has as well where there
are as many workers as cores; {reps} runs of {seconds} seconds in turns between servers,
medians. There: two machines with a network between them; its figures are charts, which are
not repeated here. A query without an answer for
a second is lost. A client is one socket: the kernel gives all packets of a socket to one
worker where each worker has a socket of its own, so that a second worker helps from
the second client on. Queries outstanding, divided by the mean time of an answer, are what
would come if clients cost nothing: where that is far more than what came, dnsperf and its
core were the limit, and servers differ by what they leave it. So it is with ours in most
rows: there its multiple of another server is a lower bound.
"""
SCENARIO = """
## {name}

Answers a second; in brackets the mean time of an answer, ms; *lost*: of all queries of
all runs.

{table}
![answers]({chart})
"""


def name_of(form, clients):
    return f"{form.capitalize()}, " + (
        "1 client" if clients == 1 else f"{clients} clients")


def file_of(form, clients):
    return f"knot-study-{form}-{clients}.svg"


def keys_of(result, *names):
    """The values that there are, in order of their coming."""
    found = dict.fromkeys(tuple(run[name] for name in names)
                          for run in runs_of(result, "matrix"))
    return sorted(found, key=lambda key: tuple(
        (part != "unsigned", part) for part in key))


def label_of(kind, form):
    return "pdns, unsigned" if (kind, form) == ("pdns", "signed") else kind


def lost_of(result, want):
    lost = sum(values_of(result, "matrix", "lost", **want))
    sent = sum(values_of(result, "matrix", "sent", **want))
    return "0" if not lost else f"{lost:,} ({100 * lost / sent:.2g} %)"


def scenario_table(result, form, clients):
    rows = []
    kinds = kinds_of(result, "matrix")
    for outstanding, workers in keys_of(result, "outstanding", "workers"):
        cells = []
        for kind in kinds:
            want = {"form": form, "clients": clients, "server": kind,
                    "outstanding": outstanding, "workers": workers}
            rate = report.median(values_of(result, "matrix", "rate", **want))
            took = report.median(values_of(result, "matrix", "latency",
                                           **want))
            cells += ["-", "-"] if rate is None else [
                f"{rate:,.0f} ({1e3 * took:.2f})", lost_of(result, want)]
        rows.append([f"{outstanding}, {workers}", *cells])
    return report.table(["outstanding, workers"]
                        + [name for kind in kinds
                           for name in (label_of(kind, form), "lost")], rows)


def scenario_chart(result, form, clients):
    """Answers a second by workers; dashed: the fewest outstanding."""
    series, dashed = {}, []
    counts = [key[0] for key in keys_of(result, "outstanding")]
    workers = [key[0] for key in keys_of(result, "workers")]
    for outstanding in counts:
        for kind in kinds_of(result, "matrix"):
            label = f"{label_of(kind, form)}, {outstanding}"
            series[label] = [
                (count, report.median(rates) / 1e3) for count in workers
                if (rates := values_of(
                    result, "matrix", "rate", form=form, clients=clients,
                    server=kind, outstanding=outstanding, workers=count))]
            if outstanding == counts[0] and len(counts) > 1:
                dashed.append(label)
    return (f"{name_of(form, clients)} (dashed: {counts[0]} outstanding)",
            "workers", "thousand answers a second", series,
            workers if len(workers) > 1 else None, (), dashed)


def write(result, directory):
    """The page, the charts, and the results."""
    text = heading(result, "The measurements of Knot's thesis",
                   "knot_study.py", {"matrix": "All"})
    text += PAGE.format(**result["parameters"]["matrix"])
    charts = {}
    for form, clients in keys_of(result, "form", "clients"):
        file = file_of(form, clients)
        text += SCENARIO.format(
            name=name_of(form, clients), chart=file,
            table=scenario_table(result, form, clients))
        charts[file] = scenario_chart(result, form, clients)
    write_page(result, directory, "knot", text, charts)
