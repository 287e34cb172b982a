"""What the processes of a server hold: memory, descriptors, and the store."""
import os
import re
import time

# The C library keeps blocks that a thread has freed, up to seven of each of 64
# sizes: 230 KiB if all are there, and while there are few each may hold a page
# of 4 KiB. How many are kept depends on all that was done before; a process of
# half a MiB may come to have that much more, once, and no more.
FLOOR_KIB = 256

FIELDS = ("Pss", "Pss_Anon", "Private_Dirty")


class Process:
    """One of them, at one moment; KiB. Pages of the store are in pss and in
    private_dirty as far as this process has looked at them. anon is what it
    has for itself; files (its program, the C library) are shared with whatever
    else runs on the machine."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/smaps_rollup") as f:
            text = f.read()
        self.pss, self.anon, self.private_dirty = (
            int(re.search(rf"^{field}: +(\d+) kB$", text, re.M)[1])
            for field in FIELDS)
        self.descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        self.threads = len(os.listdir(f"/proc/{pid}/task"))

    def __str__(self):
        return (f"pss {self.pss:7} KiB, private dirty {self.private_dirty:7},"
                f" own {self.anon:6}, {self.descriptors} descriptors,"
                f" {self.threads} threads")


class Footprint:
    """All of them, and the pages of what they share without a name."""

    def __init__(self, roles):
        self.roles = {role: Process(pid) for role, pid in roles.items()}
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

    def total(self):
        return self.shared + sum(p.anon for p in self.roles.values())

    def pss(self):
        return sum(p.pss for p in self.roles.values())

    def rows(self):
        for role, process in sorted(self.roles.items()):
            yield f"{role:9} {process}"
        yield (f"together  pss {self.pss():7} KiB; pages of the store and what"
               f" else is shared {self.shared:7}, with own {self.total():7}")


def compare(start, end, percent, floor_kib=FLOOR_KIB):
    """Rows that say what has grown by how much, and what has grown too much."""
    rows, wrong = [], []

    def one(what, before, after):
        limit = max(before * percent / 100, floor_kib)
        ok = after - before <= limit
        rows.append(f"{what:22} {before:7} -> {after:7} KiB "
                    f"({(after - before) * 100 / max(before, 1):+5.1f} %, "
                    f"{after - before:+} KiB): "
                    + ("within" if ok else "GROWN beyond")
                    + f" {percent} % or {floor_kib} KiB")
        if not ok:
            wrong.append(f"{what} has grown")

    for role, before in sorted(start.roles.items()):
        after = end.roles.get(role)
        if after is None:
            wrong.append(f"{role} is gone")
            continue
        one(f"{role}, own memory", before.anon, after.anon)
        if after.descriptors != before.descriptors:
            wrong.append(f"{role} had {before.descriptors} descriptors, has "
                         f"{after.descriptors}")
        if after.threads != before.threads:
            wrong.append(f"{role} had {before.threads} threads, has "
                         f"{after.threads}")
    one("store", start.shared, end.shared)
    one("all together", start.total(), end.total())
    one("all together, pss", start.pss(), end.pss())
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
