"""The page and the chart of tests/bench/buffers_study.py, from its results."""
import report
from study import heading, runs_of, write_page

RATES = (1000, 20000, 100000)
MIB = 1 << 20

PAGE = """
All processes of a server were stopped while {sent:,} queries of {query} octets came over
UDP, to one worker; those answered when it went on had waited in the buffer of its socket.
That is what a machine may stand still without a loss: the last columns are computed from
it. The kernel doubles the size that a program asks for and counts {each:.0f} octets for such a
query; without a size of its own a socket has {system:,} octets here
(`net.core.rmem_default`, not doubled). How busy the machine was changes nothing.

{table}
![queries that wait](buffers-study.svg)
"""


def write(result, directory):
    """The page, the chart, and the results."""
    runs = runs_of(result, "waiting")
    rows = [[f"{run['server']}, as it comes" if run["octets"] is None
             else f"{run['server']}, {run['octets']:,}",
             f"{run['answered']:,}"]
            + [f"{1e3 * run['answered'] / rate:,.0f} ms" for rate in RATES]
            for run in runs]
    text = heading(result, "Queries that wait", "buffers_study.py",
                   {"waiting": "All"})
    sized = [run for run in runs if run["octets"] is not None]
    each = report.median([2 * run["octets"] / run["answered"]
                          for run in sized]) or 0
    text += PAGE.format(**result["parameters"]["waiting"], each=each, table=report.table(
        ["server, octets", "queries"] + [f"at {rate:,} a second"
                                         for rate in RATES], rows))
    write_page(result, directory, "buffers", text, {"buffers-study.svg": (
        "Queries that wait, by the size of the buffer", "MiB "
        "(receive-buffer-size)", "queries", {"ours": [
            (run["octets"] / MIB, run["answered"]) for run in sized]})})
