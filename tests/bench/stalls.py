#!/usr/bin/env python3
"""Measures how long changes wait for what else the loader does.

    stalls.py [--build DIR] [--size N] [--zones N] [--rate R] [--seconds S]
              [--only NAME,...]

Changes of 10 records come at a steady rate, whether those before them have
been answered or not, while the loader is kept busy in one way after another:
with a zone of --size delegations, a second one of half that size, and --zones
small ones. For each way: the time from sending to answer (median, p99, max),
and of the slowest what the loader's main thread did meanwhile: ran, or waited
for a core. What it ran is what held the change up; what it waited others did.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import servers  # noqa: E402
from update_changes import OurChanges, SERIAL, SLOTS  # noqa: E402

OTHER = "other"
START_SEC = 120


def make_zones(args, work):
    generator = os.path.join(args.build, "tests/bench/gen_zone")
    zones = {}
    for name, size in (("bench", args.size), ("other", args.size // 2)):
        directory = os.path.join(work, name)
        os.makedirs(directory)
        subprocess.run([generator, "tld", str(size), "1", directory],
                       check=True)
        zones[name] = os.path.join(directory, "tld.zone")
    # A zone of other names: the same ones below another apex.
    path = zones["other"]
    subprocess.run(["sed", "-i", rf"s/\bbench\./{OTHER}./g", path],
                   check=True)
    # As many names again that are others, and a serial that is newer.
    subprocess.run(["sed", rf"1s/{SERIAL}/{SERIAL + 1}/;"
                    rf"s/^\([a-z0-9-]*\)\.{OTHER}\./\1-x.{OTHER}./", path],
                   stdout=open(path + ".new", "w"), check=True)
    shutil.copyfile(path, path + ".old")
    for i in range(args.zones):
        name = f"z{i}.small"
        zones[name] = os.path.join(work, "small", name)
    os.makedirs(os.path.join(work, "small"))
    for i in range(args.zones):
        with open(zones[f"z{i}.small"], "w") as f:
            f.write(small_text(0))
    return servers.ZoneSet("stalls", zones, probe=("bench", 6))


def small_text(n):
    return (f"@ 3600 IN SOA ns. host. {n + 1} 1800 900 604800 900\n"
            "@ 3600 NS ns\nns 3600 A 192.0.2.1\n" + "".join(
                f"h{n}-{i} 3600 TXT \"{'x' * 40}\"\n" for i in range(8)))


class Loader:
    """The CPU time and waits of the loader's main thread."""

    def __init__(self, server):
        self.pid = None
        for pid in server.pids():
            with open(f"/proc/{pid}/cmdline") as f:
                if "loader" in f.read():
                    self.pid = pid

    def spent(self):
        """Milliseconds that it ran, and that it waited for a core."""
        with open(f"/proc/{self.pid}/task/{self.pid}/schedstat") as f:
            return [int(x) / 1e6 for x in f.read().split()[:2]]


class Ways:
    """Ways to keep the loader busy; each is called at each change."""

    def __init__(self, server, zones, args):
        self.server, self.zones, self.args = server, zones, args
        self.n = 0

    def nothing(self, i):
        pass

    def statistics(self, i):
        if i % self.args.rate == 0:
            self.server.process.send_signal(signal.SIGUSR1)

    def reload_equal(self, i):
        if i == self.args.rate:
            os.utime(self.zones.zones[OTHER])
            self.server.process.send_signal(signal.SIGHUP)

    def reload_other(self, i):
        if i == self.args.rate:
            path = self.zones.zones[OTHER]
            os.replace(path + ".new", path)
            self.server.process.send_signal(signal.SIGHUP)

    def reload_back(self, i):
        if i == self.args.rate:
            path = self.zones.zones[OTHER]
            os.replace(path + ".old", path)
            self.server.process.send_signal(signal.SIGHUP)

    def small(self, i):
        """Small zones change, so that memory is scattered and compacted."""
        if i % (self.args.rate * 2) == 0:
            self.n += 1
            # Beside the changes, which are to come at a steady rate.
            threading.Thread(target=self.write_small, args=(self.n,),
                             daemon=True).start()

    def write_small(self, n):
        for path in list(self.zones.zones.values())[2:]:
            with open(path, "w") as f:
                f.write(small_text(n))
        self.server.process.send_signal(signal.SIGHUP)


WAYS = ["nothing", "statistics", "reload_equal", "reload_other",
        "reload_back", "small", "nothing"]


def run_way(name, server, ways, changes, args):
    count = int(args.rate * args.seconds)
    loader = Loader(server)
    changes.prepare(count)
    first = len(changes.answers)
    samples = []
    begin = time.monotonic()
    spent = loader.spent()
    for i in range(count):
        left = begin + i / args.rate - time.monotonic()
        if left > 0:
            time.sleep(left)
        samples.append((time.monotonic(), *loader.spent()))
        getattr(ways, name)(i)
        changes.send()
    end = time.monotonic() + 60
    while not changes.applied() and time.monotonic() < end:
        time.sleep(0.005)
    samples.append((time.monotonic(), *loader.spent()))
    took = changes.answers[first:]
    if len(took) < count:
        print(f"{name}: {count - len(took)} of {count} not answered")
        return
    slowest = max(range(count), key=lambda i: took[i])
    after = next((s for s in samples[slowest + 1:]
                  if s[0] - samples[slowest][0] >= took[slowest] / 1e3),
                 samples[-1])
    ran, waited = (after[k] - samples[slowest][k] for k in (1, 2))
    total = sum(loader.spent()) - sum(spent)
    ordered = sorted(took)
    print(f"{name:13} median {ordered[count // 2]:7.2f}  p99 "
          f"{ordered[count * 99 // 100]:7.2f}  max {ordered[-1]:7.2f} ms"
          f"  over 3 ms: {sum(t > 3 for t in took):4}"
          f"  slowest: loader ran {ran:.1f}, waited {waited:.1f} ms;"
          f" in all {total:.0f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=".")
    parser.add_argument("--size", type=int, default=200000)
    parser.add_argument("--zones", type=int, default=5000)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--only", default=",".join(WAYS))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nsd-stalls-") as work:
        zones = make_zones(args, work)
        server = servers.Server(
            "ours", os.path.join(args.build, "tests/lib/nsd_update"), zones,
            work, "0,1", 1, updates=True)
        try:
            if not server.wait(START_SEC):
                sys.exit("did not serve the zone")
            # The pass over all files is over.
            time.sleep(3)
            changes = OurChanges(server)
            changes.prepare(SLOTS)
            for _ in range(SLOTS):
                changes.send()
            ways = Ways(server, zones, args)
            for name in args.only.split(","):
                run_way(name, server, ways, changes, args)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
