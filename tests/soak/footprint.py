"""Resources of a server's processes: memory, descriptors, and the store."""
import os
import pathlib
import re
import signal
import time

PERCENT = 5
# The C library keeps blocks that a thread has freed, up to seven of each of 64
# sizes: 230 KiB if all are there, and while there are few each may hold a page
# of 4 KiB. How many are kept depends on all that was done before; a process of
# half a MiB may come to have that much more, once, and no more.
CACHES_KIB = 256
# Without those caches (NO_CACHES) only what is in use holds pages: 40 KB in
# main, 72 KB in the loader, in blocks of any size. Which pages they lie in is
# left to the order of things: 84 to 124 KiB in the loader.
PAGES_KIB = 64
NO_CACHES = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
# Octets in use are counted, not weighed in pages: these are limits in KiB of
# their own, without a percentage. At rest the loader's differ by what the table
# of holes in the store needs.
IN_USE_KIB = {"loader": 4}
IN_USE_ELSE_KIB = 1
# Objects in the store: the table by which zones share equal RRsets has room in
# it, now more and now less: up to 0.7 % with 100,000 updates. All others are as
# they were, but for a few octets.
LIVE_PERCENT, LIVE_KIB = 2, 32
HEAP_DEADLINE = 60

FIELDS = ("Pss", "Pss_Anon", "Private_Dirty")


class Process:
    """A process at one moment; KiB. Pages of the store are in pss and in
    private_dirty as far as this process has looked at them. anon is its
    private memory; files (its program, the C library) are shared with other
    processes of the machine."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/smaps_rollup") as f:
            text = f.read()
        self.pss, self.anon, self.private_dirty = (
            int(re.search(rf"^{field}: +(\d+) kB$", text, re.M)[1])
            for field in FIELDS)
        with open(f"/proc/{pid}/status") as f:
            self.page_tables = int(re.search(r"^VmPTE:\s+(\d+) kB$", f.read(),
                                             re.M)[1])
        self.in_use = self.kept = 0
        self.descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        self.threads = len(os.listdir(f"/proc/{pid}/task"))

    def read_heap(self, pid, directory):
        """Octets of malloc in use, and free in its pages; for a process at
        rest (tests/lib/heap_report.h)."""
        path = pathlib.Path(directory, f"heap.{pid}")
        os.kill(pid, signal.SIGRTMIN + 1)
        late = time.monotonic() + HEAP_DEADLINE
        while not path.exists():
            if time.monotonic() > late:
                raise TimeoutError(f"no {path}")
            time.sleep(0.01)
        self.in_use, self.kept = map(int, path.read_text().split())
        path.unlink()

    def __str__(self):
        return (f"pss {self.pss:7} KiB, private dirty {self.private_dirty:7},"
                f" own {self.anon:6}, page tables {self.page_tables:3},"
                f" heap in use {self.in_use} octets, {self.kept} kept;"
                f" {self.descriptors} descriptors, {self.threads} threads")


class Footprint:
    """All processes, and the pages that they share without a name."""

    def __init__(self, roles):
        self.roles = {role: Process(pid) for role, pid in roles.items()}
        self.pids = roles
        self.live = 0 # octets of the store's objects; set by who knows
        files = {}
        for pid in roles.values():
            for fd in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{fd}"
                try:
                    if os.readlink(path).startswith("/memfd:"):
                        at = os.stat(path)
                        files[at.st_ino] = at.st_blocks // 2
                except OSError:
                    pass
        self.shared = sum(files.values())

    def read_heaps(self, directory):
        for role, process in self.roles.items():
            process.read_heap(self.pids[role], directory)

    def total(self):
        return self.shared + sum(p.anon for p in self.roles.values())

    def pss(self):
        return sum(p.pss for p in self.roles.values())

    def rows(self):
        for role, process in sorted(self.roles.items()):
            yield f"{role:9} {process}"
        yield (f"together  pss {self.pss():7} KiB; pages of the store and what"
               f" else is shared {self.shared:7}, with own {self.total():7}")


def compare(start, end, caches, store_percent=PERCENT):
    """Rows that say what has grown by how much, and what has grown too much.
    caches: the C library keeps what was freed as if it were in use."""
    rows, wrong = [], []
    floor_kib = CACHES_KIB if caches else PAGES_KIB

    def one(what, before, after, limit=None, percent=PERCENT):
        of = f"{limit} KiB" if limit else f"{percent:g} % or {floor_kib} KiB"
        limit = limit or max(before * percent / 100, floor_kib)
        ok = after - before <= limit
        digits = 0 if isinstance(before, int) else 1
        rows.append(f"{what:22} {before:7.{digits}f} -> {after:7.{digits}f} KiB"
                    f" ({(after - before) * 100 / max(before, 1):+5.1f} %, "
                    f"{after - before:+.{digits}f} KiB): "
                    + ("within " if ok else "GROWN beyond ") + of)
        if not ok:
            wrong.append(f"{what} has grown")

    for role, before in sorted(start.roles.items()):
        after = end.roles.get(role)
        if after is None:
            wrong.append(f"{role} is gone")
            continue
        one(f"{role}, heap in use", before.in_use / 1024, after.in_use / 1024,
            CACHES_KIB if caches else IN_USE_KIB.get(role, IN_USE_ELSE_KIB))
        one(f"{role}, own memory", before.anon, after.anon)
        one(f"{role}, page tables", before.page_tables, after.page_tables)
        if after.descriptors != before.descriptors:
            wrong.append(f"{role} had {before.descriptors} descriptors, has "
                         f"{after.descriptors}")
        if after.threads != before.threads:
            wrong.append(f"{role} had {before.threads} threads, has "
                         f"{after.threads}")
    one("store, objects", start.live / 1024, end.live / 1024,
        max(start.live * LIVE_PERCENT // 102400, LIVE_KIB))
    one("store", start.shared, end.shared, None, store_percent)
    one("all together", start.total(), end.total(), None, store_percent)
    one("all together, pss", start.pss(), end.pss(), None, store_percent)
    return rows, wrong


def settled(look, steady_sec=3, limit_sec=60):
    """The footprint once it has not changed for that long; look gives one, or
    None while something is still going on."""
    known, since = None, time.monotonic()
    end = since + limit_sec
    while time.monotonic() < end:
        now = look()
        state = now and [(r, p.anon, p.descriptors, p.threads)
                         for r, p in sorted(now.roles.items())], \
            now and now.shared
        if state != known or now is None:
            known, since = state, time.monotonic()
        elif time.monotonic() - since >= steady_sec:
            return now
        time.sleep(0.1)
    raise TimeoutError(f"not settled in {limit_sec} s: {known}")
