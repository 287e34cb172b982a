"""The part updates: times of answers under load while changes come, beside
those without changes, in short parts in turns."""
import array
import json
import os
import subprocess
import time

from dnssec import wait_settled
from update_changes import SERIAL
from update_report import PAIRS, QUERIES
from update_watch import Waiting, asked_serial, spent_sec

OURS_RATE = 100      # changes a second
RIVAL_RATE = 20
RIVAL_SEC = 20       # with changes, at most
POINTS = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1}


class Load:
    """Measurements under load, mixed into Bench."""

    def updates_load(self, kind, zones):
        ours = kind == "ours"
        rate = OURS_RATE if ours else RIVAL_RATE
        seconds = self.args.update_seconds
        part_sec = max(0.5, (seconds if ours else min(seconds, RIVAL_SEC))
                       / PAIRS)
        server, changes = self.start_changes(kind, zones, 1)
        cpus = os.sched_getaffinity(0)
        try:
            # With the load, away from the server.
            os.sched_setaffinity(0, {1})
            self.updates_warm(changes)
            n_before = changes.n
            wait_settled(server, 5)
            self.updates_latency(server, zones, min(1, part_sec))
            runs = []
            for pair in range(PAIRS):
                # A drift should affect both alike.
                for what in ("without", "with")[::-1 if pair % 2 else 1]:
                    runs.append(self.updates_part(
                        what, server, changes, zones, part_sec, rate))
            row = together(runs)
            row.update(rate=rate, part_sec=part_sec,
                       sent=changes.n - n_before,
                       seen=(asked_serial(server.port) or SERIAL) - SERIAL
                       - n_before)
            if not ours:
                row["transfers"] = changes.primary.transfers
        finally:
            os.sched_setaffinity(0, cpus)
            server.stop()
            changes.stop()
        self.result["updates"]["load"][kind] = row
        self.say(f"under load {kind}: " + ", ".join(
            "%s p50 %.0f p99 %.0f p99.9 %.0f max %.0f us lost %d" % (
                (k,) + tuple(row[k][p] for p in POINTS) + (row[k]["lost"],))
            for k in ("without", "with"))
            + f", {row['seen']} of {row['sent']} changes seen")

    def updates_part(self, what, server, changes, zones, part_sec, rate):
        if what == "without":
            return what, self.updates_latency(server, zones, part_sec)
        total = int(rate * part_sec)
        changes.prepare(total)
        got = self.updates_latency(server, zones, part_sec, lambda:
                                   self.updates_tick(changes, total, rate))
        begin = time.monotonic()
        self.updates_applied(changes, 10)
        got["behind_sec"] = time.monotonic() - begin
        # Work after the changes is due to them, but not to be measured.
        wait_settled(server, 5)
        return what, got

    def updates_tick(self, changes, total, rate):
        begin = time.monotonic()
        for i in range(total):
            left = begin + i / rate - time.monotonic()
            if left > 0:
                time.sleep(left)
            changes.send()

    def updates_latency(self, server, zones, seconds, body=None):
        before = spent_sec(server)
        waiting = Waiting(server)
        samples = os.path.join(self.work, "samples")
        process = subprocess.Popen(
            ["taskset", "-c", "1", os.path.join(self.bin, "load"),
             "-t", str(seconds), "-r", str(QUERIES), "-w", "4096", "-c",
             "16", "-l", "500", "-o", samples, "udp", str(server.port),
             zones.prefix + ".hit"], stdout=subprocess.PIPE)
        try:
            if body:
                body()
            line, _ = process.communicate(timeout=seconds + 30)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        if process.returncode:
            raise ValueError("the load failed")
        counts = json.loads(line)
        if "series" not in counts:
            # Not one answer: all are counted as lost.
            counts.update(series=[], p999=None, away_us=0)
        counts["asked_sec"] = seconds
        counts["cpu_sec"] = spent_sec(server) - before
        counts.update(waiting.row())
        with open(samples, "rb") as f:
            counts["took_ns"] = array.array("I", f.read())
        return counts


def together(runs):
    """All parts of each kind as one, the pairs, and the course of all in
    their order: [second, p50, p99, p99.9, max], the second in the middle of the
    half that is meant, and (from, to) of changes."""
    row = {"pairs": [], "course": [], "changed": []}
    at = 0
    for what, got in runs:
        # The last half second of a part may be of next to nothing.
        row["course"] += [[at + s[0] + 0.25] + s[1:] for s in got["series"]
                          if s[0] < got["asked_sec"] - 0.25]
        if what == "with":
            row["changed"].append((at, at + got["asked_sec"]))
        at += got["asked_sec"]
    for what in ("without", "with"):
        row[what] = sum_up([got for w, got in runs if w == what])
    for i in range(0, len(runs), 2):
        pair = dict(runs[i:i + 2])
        row["pairs"].append((pair["without"]["p999"], pair["with"]["p999"]))
    return row


def sum_up(runs):
    took = array.array("I")
    for got in runs:
        took.extend(got["took_ns"])
    if not took:
        raise ValueError("nothing was answered")
    took = sorted(took)
    row = {k: took[min(len(took) - 1, int(len(took) * part))] / 1e3
           for k, part in POINTS.items()}
    seconds = sum(got["asked_sec"] for got in runs)
    row.update({k: sum(got[k] for got in runs)
                for k in ("sent", "lost", "bad", "queue_full", "stolen_ms")})
    waited = [got["waited_ms"] for got in runs]
    row.update(seconds=seconds,
               away_us=max(got["away_us"] for got in runs),
               behind_sec=max(got.get("behind_sec", 0) for got in runs),
               cpu_share=sum(got["cpu_sec"] for got in runs) / seconds,
               waited_ms=None if None in waited else sum(waited))
    return row
