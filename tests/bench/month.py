"""A month of updates of many zones, played faster: the memory of each process of
servers that are secondaries of them, over time. Each server has a primary of its
own, in a process of its own; all run at once."""
import multiprocessing
import os
import signal
import time

import servers
import study
import transfers_many
from primary import SOA, wire_record
from transfers_many import SERIAL, zone_name

SAMPLES_DAY = 4
HOSTS = 64      # names that come and go in a zone
TXT = 16
TTL = 3600
MIB_KIB = 1024
NOTIFY_SEC = 5
# Without files that are mapped: these are shared with what else runs.
MEMORY = ("Pss_Anon:", "Pss_Shmem:")


class MonthPrimary(transfers_many.Primary):
    """Changes that differ in name and size, so that memory that is freed does
    not fit the next one by itself."""

    def address(self, n, serial):
        if serial <= SERIAL:
            return super().address(n, serial)
        text = b"x" * (1 + serial * 37 % 200)
        return wire_record(f"h{serial % HOSTS}.{zone_name(n)}", TTL, TXT,
                           bytes([len(text)]) + text)


class MonthRate(transfers_many.Rate):
    """Changes of all zones in turn; looks at memory meanwhile."""
    ask_again_sec = 0.25
    repeat_sec = NOTIFY_SEC

    def __init__(self, primary, server, rate, seconds, look_sec):
        super().__init__(primary, server.port, rate, seconds)
        self.server, self.look_sec = server, look_sec
        self.next_look = 0
        self.looks = []

    def ask(self, now):
        super().ask(now)
        if now - self.begin >= self.next_look:
            self.next_look += self.look_sec
            self.looks.append((now - self.begin, memory(self.server)))


def role_of(pid):
    """The name that a process has given itself, or that of its program."""
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip().removeprefix("nsd: ")


def memory(server):
    """PSS without that of files, by role in MiB, and that of all."""
    found = {}
    for pid in server.pids():
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
                kib = sum(int(line.split()[1]) for line in f
                          if line.startswith(MEMORY))
            role = role_of(pid)
        except (OSError, IndexError):
            continue
        found[role] = found.get(role, 0) + kib / MIB_KIB
    found["all"] = sum(found.values())
    return found


def conf_of(kind, folder, count, port, write_sec):
    """The configuration of transfers_many, but that ours and NSD write their zone
    files."""
    make = transfers_many.conf(kind, folder, count, port)

    def changed(*args):
        name, text = make(*args)
        return name, text.replace("zonefiles-write: 0",
                                  f"zonefiles-write: {write_sec}")
    return changed


def play(kind, program, work, args, pipe):
    """A month of one server; sends what came of it."""
    folder = os.path.join(work, "many")
    os.makedirs(work)
    transfers_many.make_zones(folder, args.month_zones)
    primary = MonthPrimary(args.month_zones)
    seconds = args.days * args.day_sec
    rate = args.month_zones * args.changes_day / args.day_sec
    server = servers.Server(
        kind, program,
        servers.ZoneSet("many", probe=(zone_name(0), SOA)), work, "0,1", 1,
        conf=conf_of(kind, folder, args.month_zones, primary.port,
                     max(5, round(args.day_sec / 24))))
    try:
        if not server.wait(study.START_LIMIT_SEC):
            pipe.send({"error": "does not serve the zones"})
            return
        run = MonthRate(primary, server, rate, seconds,
                        args.day_sec / SAMPLES_DAY)
        late = run.run()
        if server.process.poll() is not None:
            pipe.send({"error": "has ended"})
            return
        pipe.send({"served": len(run.took), "late": late,
                   "skipped": run.skipped, "seconds": time.monotonic()
                   - run.begin, "looks": run.looks})
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server.stop()


class Parts:
    """Of a study, which has the rest."""

    def part_month(self):
        running = []
        for kind, program in self.programs.items():
            if kind == "pdns":
                continue    # takes no IXFR
            ours, theirs = multiprocessing.Pipe(False)
            child = multiprocessing.Process(target=play, args=(
                study.conf_kind(kind), program,
                os.path.join(self.work, f"month-{kind}"), self.args, theirs))
            child.start()
            theirs.close()
            running.append((kind, child, ours))
        try:
            for kind, child, pipe in running:
                self.note_month(kind, pipe)
                child.join()
        except BaseException:
            # A child ends its server when it is ended itself.
            for _, child, _ in running:
                child.terminate()
            raise
        finally:
            for _, child, _ in running:
                child.join()

    def note_month(self, kind, pipe):
        try:
            got = pipe.recv()
        except EOFError:
            got = {"error": "did not come to its end"}
        if "error" in got:
            raise study.StudyError(f"{kind} {got['error']}")
        if not got["served"]:
            raise study.StudyError(f"{kind} served no change")
        self.note("month", kind, **got)
