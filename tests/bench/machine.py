"""The machine that is measured on: what it is, what else it does meanwhile,
and its memory made alike for all who start on it."""
import contextlib
import os
import platform
import re
import subprocess
import sys
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")
MIB = 1 << 20
CHUNK_SEC = 10      # the shortest part of a look at others
IDLE_SHARE = 0.02   # of the cores, for others: below it is called idle
IDLE_CHUNK = 0.10
STOLEN_SHARE = 0.02 # of the cores, for the host: above it, not idle; a short
                    # run is void
# The process that begins all threads of the kernel.
KERNEL_THREADS = 2
# Octets that the largest server takes for a delegation, and for a small zone.
OCTETS_NAME, OCTETS_ZONE, OCTETS_MORE = 1350, 11000, 64 * MIB
TOUCHED_TIMES = 2


def name():
    model = "unknown"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{os.cpu_count()} x {model}, {meminfo('MemTotal') >> 30} GiB, " \
        f"Linux {platform.release()}"


def meminfo(what):
    """A figure of /proc/meminfo, in octets."""
    with open("/proc/meminfo") as f:
        for line in f:
            if line.startswith(what + ":"):
                return int(line.split()[1]) << 10
    return 0


# ---- what else it does

def processes():
    """{pid: (time of its start, parent, ticks, ticks of children that it has
    waited for)}"""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        found[int(entry)] = (int(fields[19]), int(fields[1]),
                             int(fields[11]) + int(fields[12]),
                             int(fields[13]) + int(fields[14]))
    return found


def begun_by(found, pids):
    """The processes, and their descendants."""
    children = {}
    for pid, (_, parent, _, _) in found.items():
        children.setdefault(parent, []).append(pid)
    begun, more = set(), list(pids)
    while more:
        pid = more.pop()
        begun.add(pid)
        more += children.get(pid, [])
    return begun


def stolen_ticks():
    """The ticks for which the host of a virtual machine ran something else."""
    with open("/proc/stat") as f:
        return int(f.readline().split()[8])


class Stolen:
    """The time that the host of a virtual machine takes of the cores from here
    on."""

    def __init__(self):
        self.began, self.ticks = time.monotonic(), stolen_ticks()

    def share(self):
        return share((stolen_ticks() - self.ticks) / TICK,
                     time.monotonic() - self.began)


class OtherPrograms:
    """The CPU ticks of programs that this process has not begun. The kernel's
    threads work for what is measured, mostly, and are left out."""

    def __init__(self):
        self.own, self.last = set(), {}

    def look(self):
        """The ticks since the last look, also of those that have ended and
        whose parents have waited for them. Process 1 waits for servers whose
        parents have ended, too."""
        found = processes()
        own = begun_by(found, [os.getpid(), KERNEL_THREADS])
        self.own |= {(pid, found[pid][0]) for pid in own if pid in found}
        ticks = {(pid, one[0]): (one[2], one[3] if pid != 1 else 0)
                 for pid, one in found.items()
                 if (pid, one[0]) not in self.own}
        run, waited_for = [
            sum(new[way] - self.last.get(who, (0, 0))[way]
                for who, new in ticks.items()) for way in (0, 1)]
        # A parent has all ticks of a process that it has waited for.
        known = sum(map(sum, (self.last[who] for who in self.last
                              if who not in ticks)))
        self.last = ticks
        return run + max(0, waited_for - known)


class Others:
    """The time that programs outside the bench take of the cores, summed over
    the measurements of a part; a thread looks while one lasts."""

    def __init__(self, result):
        self.result = result    # part to a row: is kept up to date
        self.part = None
        self.watching = False
        self.programs, self.last = OtherPrograms(), None
        self.chunk = {}

    @contextlib.contextmanager
    def watched(self):
        """Watches other programs while something is measured; a watch within
        another one does nothing."""
        if self.watching or self.part is None:
            yield
            return
        self.watching = True
        self.result.setdefault(self.part, {
            "seconds": 0, "others_sec": 0, "stolen_sec": 0, "share": 0,
            "highest": None})
        self.programs.look()
        self.last = time.monotonic(), stolen_ticks()
        over = threading.Event()
        thread = threading.Thread(target=self.watch, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.look()
            self.watching = False

    def watch(self, over):
        while not over.wait(CHUNK_SEC):
            self.look()

    def look(self):
        new = time.monotonic(), stolen_ticks()
        self.add(new[0] - self.last[0], self.programs.look() / TICK,
                 (new[1] - self.last[1]) / TICK)
        self.last = new

    def add(self, seconds, others, stolen):
        row = self.result[self.part]
        row["seconds"] += seconds
        row["others_sec"] += others
        row["stolen_sec"] = row.get("stolen_sec", 0) + stolen
        row["share"] = share(row["others_sec"], row["seconds"])
        # Ticks are coarse, so short times are put together.
        chunk = self.chunk.setdefault(self.part, [0, 0])
        chunk[0] += seconds
        chunk[1] += others
        if chunk[0] >= CHUNK_SEC:
            row["highest"] = max(row["highest"] or 0, share(chunk[1],
                                                            chunk[0]))
            self.chunk[self.part] = [0, 0]


def share(spent, seconds):
    return max(0, spent) / (seconds * os.cpu_count()) if seconds else 0


def others_share(row):
    """The share of the cores that others took, or None: rows of before may
    have less than nothing, which says nothing."""
    return None if row.get("others_sec", 0) < 0 else row["share"]


def others_text(row):
    """A sentence of a page."""
    if not row or others_share(row) is None:
        return "What else ran meanwhile was not recorded."
    highest = row["share"] if row["highest"] is None else row["highest"]
    # A process that its parent has not waited for is another's at its end.
    # Rows of before have no figure of the host.
    host = row.get("stolen_sec")
    stolen = share(host or 0, row["seconds"])
    idle = row["share"] < IDLE_SHARE and highest < IDLE_CHUNK \
        and stolen < STOLEN_SHARE
    host = "" if host is None else f", and the host {100 * stolen:.1f} %"
    return (f"Other programs took at most {100 * row['share']:.1f} % of the "
            f"cores while it was measured, {100 * highest:.1f} % in the worst "
            f"{CHUNK_SEC} seconds{host}: {'idle' if idle else 'shared'}.")


def line(result, part):
    """The first lines of a page: machine and versions."""
    # Angle brackets, as of BIND's "<id:>", would be a link.
    names = ", ".join(f"{k}: {v}" for k, v in result["versions"].items())
    names = re.sub(r" ?<\w*:\w*>", "", names)
    return (f"{result['machine']}. "
            f"{others_text(result.get('others', {}).get(part))}\n\n"
            f"{names}.\n\n")


# ---- memory

def wanted_octets(zones_name, most):
    """Memory that the largest server takes for a set of zones: by its name, or
    the most that has been seen of it."""
    kind, count = (zones_name.split("-") + ["1500"])[:2]
    each = OCTETS_ZONE if kind == "small" else OCTETS_NAME
    return max(most, int(count) * each + OCTETS_MORE)


def touch(octets):
    """Takes twice so much memory, or most of what is free, and frees it. A
    virtual machine gives what is free back to its host after a while, and
    whoever touches it next pays: 3 to 4 times what it costs otherwise. Twice,
    because a third of it is gone again within 6 seconds, and the kernel hands
    out first what it still has. Files that are in memory stay there. Returns
    (octets, seconds)."""
    octets = min(TOUCHED_TIMES * octets, meminfo("MemFree") * 9 // 10)
    begin = time.monotonic()
    subprocess.run(["taskset", "-c", "0", sys.executable, "-c",
                    f"b'.' * {octets}"], check=True)
    return octets, time.monotonic() - begin
