"""The machine that is measured on: what it is, what else it does meanwhile,
and its memory made alike for all who start on it."""
import contextlib
import os
import platform
import re
import subprocess
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")
MIB = 1 << 20
CHUNK_SEC = 10      # the shortest part of a look at others
IDLE_SHARE = 0.02   # of the cores, for others: below it is called idle
IDLE_CHUNK = 0.10
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

def own_ticks():
    """The CPU ticks of this process and its descendants, also those that have
    ended."""
    children, spent = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry))
        spent[int(entry)] = sum(int(n) for n in fields[11:15])
    total, todo = 0, [os.getpid()]
    while todo:
        pid = todo.pop()
        total += spent.get(pid, 0)
        todo += children.get(pid, [])
    return total


def now():
    """(time, seconds that the cores were used, and those by us)"""
    with open("/proc/stat") as f:
        user, nice, system, _, _, irq, softirq = [
            int(n) for n in f.readline().split()[1:8]]
    return (time.monotonic(), (user + nice + system + irq + softirq) / TICK,
            own_ticks() / TICK)


class Others:
    """The time that programs outside the bench take of the cores, summed over
    the measurements of a part."""

    def __init__(self, result):
        self.result = result    # part to a row: is kept up to date
        self.part = None
        self.watching = False
        self.chunk = {}

    @contextlib.contextmanager
    def watched(self):
        """Watches other programs while something is measured; a watch within
        another one does nothing."""
        if self.watching or self.part is None:
            yield
            return
        self.watching = True
        before = now()
        try:
            yield
        finally:
            self.watching = False
            self.add([b - a for a, b in zip(before, now())])

    def add(self, spent):
        row = self.result.setdefault(self.part, {
            "seconds": 0, "others_sec": 0, "share": 0, "highest": None})
        seconds, others = spent[0], spent[1] - spent[2]
        row["seconds"] += seconds
        row["others_sec"] += others
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


def others_text(row):
    """A sentence of a page."""
    if not row:
        return "What else ran meanwhile was not recorded."
    highest = row["share"] if row["highest"] is None else row["highest"]
    idle = row["share"] < IDLE_SHARE and highest < IDLE_CHUNK
    # A process that its parent has not waited for is another's at its end.
    return (f"Other programs took at most {100 * row['share']:.1f} % of the "
            f"cores while it was measured, {100 * highest:.1f} % in the worst "
            f"{CHUNK_SEC} seconds: {'idle' if idle else 'shared'}.")


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
