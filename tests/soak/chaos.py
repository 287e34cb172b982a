#!/usr/bin/env python3
"""A server answers whatever happens to its processes and files: no answer is
wrong, and there are no two seconds without an answer.

usage: tests/soak/chaos.py --build DIR [--seconds N] [--seed N] [--rate N]
                           [--gap MSEC] [--keep DIR] [--verbose]

--gap: how long there may be no answer; more than two seconds where other
programs take the processors. Time counts as far as a process beside the server
got its share: see chaos_ask.c. --verbose: what is done when, as in the log.

Half of the time the zones are in memory, half in a file (`database:`). Meanwhile
chaos_ask asks all the time. At the end processes, descriptors and memory are as
at the start. Needs root: the disks that get full, or fail, are small ones of its
own, in a name space of mounts that ends with this program.
"""
import argparse
import collections
import contextlib
import ctypes
import errno
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ZONES = 6
WORKERS = 2
DISK_OCTETS = 48 << 20
GAP_MSEC = 2000
GROWTH_KB = 4096  # of a process's own memory, beside half of what it was
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000

TEXT = """\
$TTL 60
@ IN SOA ns host {n} 7200 3600 1209600 60
@ IN NS ns
ns IN A 10.{low}
www IN A 10.{low}
www IN A 11.{low}
txt IN TXT "a{n}"
txt IN TXT "b{n}"
"""


def zone_text(n):
    """A zone as chaos_ask.c expects it, with more records for the loader to
    read."""
    low = f"{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"
    return TEXT.format(n=n, low=low) + "".join(
        f"h{i} IN A 10.{low}\n" for i in range(n % 7 * 100))


def make_disk(directory):
    """A small file system there, that nobody else sees."""
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result):
        if result != 0:
            raise OSError(ctypes.get_errno(), "needs root and mounts")
    check(libc.unshare(CLONE_NEWNS))
    check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    check(libc.mount(b"chaos", os.fsencode(directory), b"tmpfs", 0,
                     f"size={DISK_OCTETS},mode=755".encode()))


class FailingDisk:
    """A file system whose reads fail: its image is cut behind its back."""

    def __init__(self, directory):
        self.image = pathlib.Path(directory) / "image"
        self.place = pathlib.Path(directory) / "failing"
        self.place.mkdir()

    @contextlib.contextmanager
    def holding(self, name, text):
        """A file there that was written, and cannot be read any more."""
        with self.image.open("wb") as f:
            f.truncate(4 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", self.image],
                       check=True)
        subprocess.run(["mount", "-o", "loop", self.image, self.place],
                       check=True)
        try:
            path = self.place / name
            with path.open("w") as f:
                f.write(text)
                f.flush()
                os.fsync(f.fileno())
            with path.open("rb") as f:  # out of the memory of the kernel
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.truncate(self.image, 4096)
            try:
                path.read_bytes()
                raise AssertionError("the disk does not fail")
            except OSError as error:
                assert error.errno == errno.EIO, error
            yield path
        finally:
            subprocess.run(["umount", "-l", self.place], check=True)


class Told:
    """Memory shared with chaos_ask: the newest versions, and that we are
    away."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(4 * (ZONES + 1)))
        with path.open("r+b") as f:  # written a number at a time, not octets
            self.numbers = memoryview(mmap.mmap(f.fileno(), 0)).cast("I")

    def __getitem__(self, i):
        return self.numbers[i]

    def __setitem__(self, i, value):
        self.numbers[i] = value

    @contextlib.contextmanager
    def away(self):
        self[ZONES] = 1
        yield
        self[ZONES] = 0


class Chaos:
    def __init__(self, args, rng, directory, database):
        self.args, self.rng, self.directory = args, rng, directory
        self.told = Told(pathlib.Path(directory) / "told")
        self.done = collections.Counter()
        self.altered = False
        self.database = pathlib.Path(directory) / "disk/zones.db"
        self.filler = pathlib.Path(directory) / "disk/filler"
        self.failing = FailingDisk(directory)
        options = {"server-count": WORKERS}
        if database:
            options["database"] = f'"{self.database}"'
        for z in range(ZONES):
            self.told[z] = 1
        self.server = harness.Server(
            f"{directory}/disk", options=options,
            zones={f"z{z}.test": zone_text(1) for z in range(ZONES)})
        # The log must not be on the disk that gets full.
        self.server.log = pathlib.Path(directory) / "log"
        self.server.options["logfile"] = f'"{self.server.log}"'
        self.server.output_file = pathlib.Path(directory) / "output"
        self.server.write_config()

    # ---- what is done to it

    def pids(self, *names):
        return [pid for role, pid in self.server.roles().items()
                if role.split()[0] in names]

    def signal(self, number, pids):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                self.tell(f"  signal {number} to {pid}, "
                          f"{harness.read_proc(pid, 'comm').strip()}")
                os.kill(pid, number)

    def tell(self, what):
        if self.args.verbose:
            print(f"{time.time():.3f} {what}", flush=True)

    def choose(self, *names):
        pids = self.pids(*names)
        return [self.rng.choice(pids)] if pids else []

    def publish(self, zones):
        """New versions; on a full disk none."""
        for z in zones:
            name = f"z{z}.test"
            self.told[z] += 1
            try:
                self.server.write_zone(name, zone_text(self.told[z]))
            except OSError:
                with contextlib.suppress(OSError):
                    self.server.zone_file(name).with_suffix(".new").unlink()

    def hup(self):
        self.signal(signal.SIGHUP, [self.server.main_pid])

    def do_reload(self):
        self.publish(self.rng.sample(range(ZONES), self.rng.randint(1, ZONES)))
        self.hup()

    def do_broken_file(self):
        """Breaks a zone file for a while: a process that starts without a
        version has none then."""
        z = self.rng.randrange(ZONES)
        with contextlib.suppress(OSError):
            self.server.write_zone(f"z{z}.test",
                                   zone_text(1) + "x A 300.0.0.1\n")
        self.hup()
        time.sleep(self.rng.random())
        self.publish([z])
        self.hup()

    def do_kill(self):
        self.signal(signal.SIGKILL, self.choose("server", "loader", "xfrd"))

    def do_crash(self):
        """SIGBUS tells of a file that cannot be read."""
        numbers = [signal.SIGSEGV, signal.SIGABRT]
        if "database" not in self.server.options:
            numbers.append(signal.SIGBUS)
        self.signal(self.rng.choice(numbers), self.choose("server", "xfrd"))

    def do_kill_all_workers(self):
        self.signal(signal.SIGKILL, self.pids("server"))

    def do_stop(self):
        pids = self.choose("server", "loader", "xfrd")
        self.signal(signal.SIGSTOP, pids)
        if self.rng.random() < 0.3:
            time.sleep(self.rng.random())
            self.signal(signal.SIGCONT, pids)

    def do_stop_all_workers(self):
        self.signal(signal.SIGSTOP, self.pids("server"))

    def do_stop_main(self):
        self.signal(signal.SIGSTOP, [self.server.main_pid])
        time.sleep(self.rng.random() * 0.7)
        self.signal(signal.SIGCONT, [self.server.main_pid])

    def do_full_disk(self):
        with contextlib.suppress(OSError), self.filler.open("wb") as f:
            while True:
                f.write(bytes(1 << 20))
        self.do_reload()
        time.sleep(self.rng.random())
        self.filler.unlink()

    def do_failing_disk(self):
        """A zone file lies there for a while."""
        z = self.rng.randrange(ZONES)
        file = self.server.zone_file(f"z{z}.test")
        with self.failing.holding("zone", zone_text(1)) as path, \
                contextlib.suppress(OSError):
            link = file.with_suffix(".new")
            link.symlink_to(path)
            link.rename(file)
            self.hup()
            time.sleep(self.rng.random())
        self.publish([z])
        self.hup()

    def do_alter(self):
        """The table of zones: where all readers go, once, for they must not
        die of it for ever; later the count of zones, which nobody may find
        wrong, and a crash."""
        with contextlib.suppress(OSError, ValueError, struct.error):
            path = test_loader_dies.memory_file(self.server, "nsd-store")
            table = [test_loader_dies.ROOT]
            if self.altered:
                test_loader_dies.alter_store(path, table, 12, 99)
                self.do_crash()
            else:
                test_loader_dies.alter_store(path, table, 8, 0x7fffff00)
            self.altered = True

    def do_truncate(self):
        """The database, once: after that the zones are in memory."""
        if self.altered:
            return
        self.altered = True
        with self.database.open("r+b") as f:
            f.truncate(4096)

    def do_kill_main(self):
        """As a service manager does: it is started again."""
        self.signal(signal.SIGKILL, [self.server.main_pid])
        self.server.process.wait()
        self.server.start(ready=False)
        # Before it has its name, a signal would be its end.
        harness.wait_for("main", lambda: "main" in self.server.roles())

    def do_restart(self):
        with self.told.away():
            assert self.server.stop() == 0
            self.server.start()

    # ---- the whole

    def choose_deeds(self):
        deeds = [self.do_reload] * 8 + [self.do_kill] * 6 + [
            self.do_crash, self.do_stop] * 3 + [
            self.do_broken_file, self.do_kill_all_workers, self.do_stop_main,
            self.do_stop_all_workers, self.do_full_disk, self.do_kill_main,
            self.do_failing_disk, self.do_restart]
        return deeds + ([self.do_truncate]
                        if "database" in self.server.options
                        else [self.do_alter])

    def rage(self, seconds):
        end = time.monotonic() + seconds
        deeds = self.choose_deeds()
        # Deeds that take all workers away: two in a row would be two waits.
        total = {self.do_stop_all_workers, self.do_kill_all_workers,
                 self.do_kill_main, self.do_stop_main, self.do_alter,
                 self.do_truncate}
        while time.monotonic() < end:
            deed = self.rng.choice(deeds)
            if deed in total:
                self.server.wait_answer()
            self.done[deed.__name__[3:]] += 1
            self.tell(deed.__name__[3:])
            deed()
            time.sleep(self.rng.random() ** 2 * 2)

    def settle(self):
        """All roles are there, and all zones are served as their files are."""
        self.signal(signal.SIGCONT, self.server.roles().values())
        self.publish(range(ZONES))
        self.hup()
        for z in range(ZONES):
            harness.wait_for(f"the last version of z{z}", lambda z=z:
                             self.ask_serial(z) == self.told[z])
        self.server.wait_serving()

    def ask_serial(self, z):
        with contextlib.suppress(Exception):
            reply = self.server.query(f"z{z}.test", "SOA", timeout=1)
            return reply.answer[0][0].serial if reply.answer else None
        return None

    def measure(self):
        """{what: how much}"""
        found = {}
        for role, pid in self.server.roles().items():
            status = harness.read_proc(pid, "status")
            memory = re.search(r"RssAnon:\s+(\d+)", status)
            found[f"{role}: kB"] = int(memory[1])
            found[f"{role}: files"] = len(harness.open_files(pid))
        found["memory files"] = len(test_kill.memory_files(
            self.server.roles().values()))
        return found

    def compare(self, start, end):
        wrong = []
        for what in sorted(start.keys() | end.keys()):
            was, now = start.get(what, 0), end.get(what, 0)
            # Of main: two for each worker that stands by, and the file of a
            # database whose place a store in memory has taken.
            room = (was // 2 + GROWTH_KB if what.endswith("kB")
                    else 2 * WORKERS + 1)
            print(f"{what}: {was}, at the end {now}")
            if now > was + room or what not in start or what not in end:
                wrong.append(f"{what}: {was}, at the end {now}")
        return wrong

    def run(self, seconds):
        self.server.start()
        self.settle()
        start = self.measure()
        asker = subprocess.Popen(
            [f"{self.args.build}/tests/soak/chaos_ask", str(self.server.port),
             str(self.args.rate), str(ZONES), str(self.told.path)],
            stdout=subprocess.PIPE, text=True)
        try:
            self.rage(seconds)
            self.settle()
        finally:
            asker.terminate()
            said = asker.communicate()[0]
        print(dict(self.done))
        print(said, end="", flush=True)
        result = json.loads(said)
        wrong = self.compare(start, self.measure())
        if asker.returncode != 0:
            wrong.append(f"{result['wrong']} wrong answers")
        # A store may be filled while a file is broken.
        if result["failed"] > self.args.rate:
            wrong.append(f"{result['failed']} times SERVFAIL")
        if result["gap_ms"] > self.args.gap:
            wrong.append(f"{result['gap_ms']} ms without an answer")
        if result["counted"] < result["seconds"] / 4:
            wrong.append("the machine stood still most of the time")
        if self.server.stop() != 0:
            wrong.append("the server did not end well")
        return wrong


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--seconds", type=float, default=1800)
    p.add_argument("--seed", type=int, default=time.time_ns() % 1000000007)
    p.add_argument("--rate", type=int, default=5000)
    p.add_argument("--gap", type=int, default=GAP_MSEC)
    p.add_argument("--keep", help="a directory for all its files")
    p.add_argument("--verbose", action="store_true")
    return p.parse_args()


def main(args):
    print(f"seed {args.seed}", flush=True)
    rng = random.Random(args.seed)
    wrong = []
    for database in (False, True):
        name = "database" if database else "memory"
        directory = tempfile.mkdtemp(prefix="nsd-chaos-", dir=args.keep)
        (pathlib.Path(directory) / "disk").mkdir()
        make_disk(f"{directory}/disk")
        print(f"zones in {name}:", flush=True)
        chaos = Chaos(args, rng, directory, database)
        try:
            wrong += [f"{name}: {w}" for w in chaos.run(args.seconds / 2)]
        except Exception as error:  # with what was seen until then
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        finally:
            left = chaos.server.clean_up()
            wrong += [f"{name}: {role} was left" for role in left.values()]
            if not args.keep:
                ctypes.CDLL(None).umount2(f"{directory}/disk".encode(), 2)
                shutil.rmtree(directory)
    for what in wrong:
        print(f"FAILED: {what}, seed {args.seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    ARGS = arguments()
    os.environ["NSD_BUILD"] = ARGS.build
    sys.path[:0] = [str(HERE.parent / "blackbox"), str(HERE.parent / "lib")]
    import harness  # looks for the build when imported
    import test_kill
    import test_loader_dies
    sys.exit(main(ARGS))
