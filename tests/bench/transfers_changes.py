"""Of the bench of transfers: changes of ten records, one at a time, by NOTIFY
and IXFR, to a secondary that serves the zone."""
import time

import report
from dnssec import wait_settled
from update_changes import SERIAL, RivalChanges, rival_server
from update_watch import Watch, spent_sec

COUNT = 200          # of ours
RIVAL_COUNT = 10     # of the others, which take longer
CLIENTS = 8
WARM = 10
LIMIT_SEC = 20


def changes_run(kind, program, zones, work):
    """(milliseconds of each from NOTIFY to all clients, CPU milliseconds of
    all processes for one). On both cores, with two workers."""
    changes = RivalChanges()
    server = None
    try:
        server = changes.server = rival_server(
            kind, program, zones, work, "0,1", 2, changes.primary.port)
        if not server.wait(LIMIT_SEC * 20):
            raise ValueError("did not serve the zone")
        wait_settled(server, 10)
        took = watched(server, changes, COUNT if kind == "ours"
                       else RIVAL_COUNT)
        return took, cost(server, changes, RIVAL_COUNT)
    finally:
        if server:
            server.stop()
        changes.stop()


def watched(server, changes, count):
    watch = Watch(server.port, CLIENTS)
    took = []
    changes.prepare(WARM + count)
    try:
        for i in range(WARM + count):
            begin = time.monotonic()
            changes.send()
            while not watch.wait(SERIAL + changes.n, 0.5):
                changes.remind()
                if time.monotonic() > begin + LIMIT_SEC:
                    raise ValueError("a change was not served")
            if i >= WARM:
                took.append((time.monotonic() - begin) * 1e3)
    finally:
        watch.close()
    return took


def cost(server, changes, count):
    wait_settled(server, 5)
    changes.prepare(count)
    before = spent_sec(server)
    for _ in range(count):
        changes.send()
        applied(changes)
    wait_settled(server, 5)
    return (spent_sec(server) - before) / count * 1e3


def applied(changes):
    end = time.monotonic() + LIMIT_SEC
    again = time.monotonic() + 0.5
    while not changes.applied():
        if time.monotonic() > end:
            raise ValueError("a change was not served")
        time.sleep(0.002)
        if time.monotonic() > again:
            changes.remind()
            again = time.monotonic() + 0.5


def changes_row(took, cpu_ms):
    return [f"{report.median(took):.2f}", f"{report.quantile(took, 0.99):.2f}",
            f"{max(took):.1f}", f"{cpu_ms:.2f}", str(len(took))]


CHANGES_HEAD = ["secondary", "median, ms", "p99, ms", "most, ms",
                "CPU, ms for one", "changes"]
