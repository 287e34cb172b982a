"""The part updates: one change at a time, until all clients see it, beside
rounds without a change."""
import time

import report
from dnssec import wait_settled
from update_changes import SERIAL, SLOTS, OurChanges
from update_watch import Waiting, Watch, spent_sec, store_line

COUNT = 500          # changes of ours
BLOCK = 50           # of them, then as many rounds with nothing changed
RIVAL_COUNT = 10
RIVAL_SEC = 20
COST_COUNT = 50      # changes whose CPU time and store are looked at
SLOW_MS = 3
CLIENTS = 16


class Single:
    """Measurements of single changes, mixed into Bench."""

    def updates_single(self, kind, zones):
        ours = kind == "ours"
        server, changes = self.start_changes(kind, zones, 2)
        watch = Watch(server.port, CLIENTS)
        try:
            self.updates_warm(changes)
            rounds, control = Rounds(), Rounds()
            if ours:
                unmeasured = Rounds()
                self.unchanged_rounds(server, watch, unmeasured, 0, BLOCK)
                least = report.median(unmeasured.took)
                for _ in range(COUNT // BLOCK):
                    changes.prepare(BLOCK)
                    self.changed_rounds(server, changes, watch, rounds, 60)
                    self.updates_applied(changes, 3)
                    self.unchanged_rounds(
                        server, watch, control,
                        report.median(rounds.took) - least, BLOCK)
            else:
                changes.prepare(RIVAL_COUNT)
                self.changed_rounds(server, changes, watch, rounds,
                                    RIVAL_SEC)
            row = rounds.row()
            if ours:
                row["control"] = control.row()
            count = COST_COUNT if ours else RIVAL_COUNT
            row["cpu_ms"] = self.updates_cpu(server, changes, count)
            if ours:
                row["loader_ms"] = report.median(changes.answers[-count:])
                row["refused"] = changes.refused
                row.update(self.updates_store(server, changes))
        finally:
            watch.close()
            server.stop()
            changes.stop()
        self.result["updates"]["single"][kind] = row
        self.say(f"10 records {kind}: {row}")

    def changed_rounds(self, server, changes, watch, rounds, limit_sec):
        """Makes changes one by one; of slow ones also notes the waits of the
        server's processes for a core, and when the loader had answered."""
        end = time.monotonic() + limit_sec
        while changes.ready and time.monotonic() < end:
            waiting = Waiting(server)
            begin = time.monotonic()
            changes.send()
            if not watch.wait(SERIAL + changes.n, 8):
                rounds.late += 1
                continue
            if not rounds.add(begin, watch):
                continue
            rounds.slowest.update(waiting.row())
            if server.kind == "ours" and self.updates_applied(changes, 3):
                rounds.slowest["loader_ms"] = changes.answers[-1]

    def unchanged_rounds(self, server, watch, rounds, took_ms, count):
        """Makes rounds of the same length without a change, with one more
        answer to each client."""
        for _ in range(count):
            Waiting(server)     # as the others do before they begin
            begin = time.monotonic()
            if watch.wait_for(took_ms / 1e3, 8):
                rounds.add(begin, watch)

    def updates_warm(self, changes):
        """Makes as many changes as there are pairs, so that the next ones
        replace."""
        changes.prepare(SLOTS)
        for i in range(SLOTS):
            changes.send()
            if i % 10 == 9 and isinstance(changes, OurChanges):
                self.updates_applied(changes, 8)
        if not self.updates_applied(changes, 25):
            raise ValueError("the first changes did not come")

    def updates_cpu(self, server, changes, count):
        """Milliseconds of all processes for one, with nobody asking."""
        wait_settled(server, 5)
        changes.prepare(count)
        before = spent_sec(server)
        for _ in range(count):
            changes.send()
            self.updates_applied(changes, 3)
        return (spent_sec(server) - before) / count * 1e3

    def updates_applied(self, changes, limit_sec):
        end = time.monotonic() + limit_sec
        again = time.monotonic() + 0.2
        while time.monotonic() < end:
            if changes.applied():
                return True
            time.sleep(0.002)
            if time.monotonic() > again:
                # In case the last NOTIFY was lost.
                changes.remind()
                again = time.monotonic() + 0.2
        return False

    def updates_store(self, server, changes):
        """Octets of the store that a change takes, and that stay."""
        before = store_line(server)
        changes.prepare(COST_COUNT)
        for _ in range(COST_COUNT):
            changes.send()
            self.updates_applied(changes, 3)
        after = store_line(server)
        if before is None or after is None:
            return {}
        return {"copied": (after["retired_total"] - before["retired_total"])
                / COST_COUNT,
                "kept": (after["live"] - before["live"]) / COST_COUNT,
                "mapped": after["mapped"] - before["mapped"]}


class Rounds:
    """How long they took, and what the clients saw of the server meanwhile."""

    def __init__(self):
        self.took, self.gaps, self.late = [], [], 0
        self.slowest = {}

    def add(self, begin, watch):
        """True if it is the slowest so far."""
        self.took.append((time.monotonic() - begin) * 1e3)
        self.gaps.append(watch.gap_sec * 1e3)
        if self.took[-1] < max(self.took):
            return False
        self.slowest = {"gap_ms": self.gaps[-1]}
        return True

    def row(self):
        if not self.took:
            raise ValueError("no change was seen")
        slow = [(t, g) for t, g in zip(self.took, self.gaps) if t > SLOW_MS]
        return {"count": len(self.took), "late": self.late,
                "min_ms": min(self.took),
                "median_ms": report.median(self.took),
                "p99_ms": report.quantile(self.took, 0.99),
                "max_ms": max(self.took), "slow": len(slow),
                # Which of them the longest silence alone has made slow.
                "slow_silent": sum(t - g <= SLOW_MS for t, g in slow),
                "gaps": sum(g > SLOW_MS for g in self.gaps),
                "gap_max_ms": max(self.gaps), "slowest": self.slowest}
