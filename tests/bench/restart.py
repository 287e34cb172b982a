#!/usr/bin/env python3
"""Measures starts from a database (the option database:).

    restart.py [--build DIR] [--tmp DIR] [--size N] [--reps N] [--cpus LIST]

A zone of --size delegations: its start from the zone file, and then from the
database after a clean stop, after all processes were killed at once (what is
left is not trusted and is read again), and after a clean stop behind which the
zone file became newer (it is read again, too).
Of each the time from exec to the first answer: median, fastest and slowest of
--reps, and what the log says. Each pays alike for memory (machine.py).
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402

START_SEC = 600


class Restarts:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.database = os.path.join(work, "nsd.db")
        directory = os.path.join(work, "zone")
        os.makedirs(directory)
        subprocess.run([os.path.join(args.build, "tests/bench/gen_zone"),
                        "tld", str(args.size), "1", directory], check=True)
        self.file = os.path.join(directory, "tld.zone")
        self.zones = servers.ZoneSet("tld", {"bench": self.file},
                                     probe=("bench", 6))

    def conf(self, work, port, workers, zones):
        name, text = servers.conf_nsd(work, port, workers, zones)
        return name, text.replace(
            'database: ""', f'database: "{self.database}"\n\tverbosity: 1')

    def start(self):
        """(server, what its log says once all is read)"""
        machine.touch(machine.wanted_octets(f"tld-{self.args.size}", 0))
        server = servers.Server(
            "ours", os.path.join(self.args.build, "nsd"), self.zones,
            self.work, self.args.cpus, 1, conf=self.conf)
        if not server.wait(START_SEC):
            server.stop()
            sys.exit("did not serve the zone")
        log = os.path.join(server.work, "nsd.log")
        end = time.monotonic() + START_SEC
        while time.monotonic() < end:
            with open(log) as f:
                text = f.read()
            if re.search(r"\d+ zones: \d+ read", text):
                break
            time.sleep(0.01)
        said = [line.split("]: ")[-1] for line in text.splitlines()
                if "database" in line or "zones:" in line]
        return server, said

    def kill(self, server):
        for pid in server.pids():
            os.kill(pid, signal.SIGKILL)
        server.stop()

    def newer_file(self):
        status = os.stat(self.file)
        os.utime(self.file, ns=(status.st_atime_ns,
                                status.st_mtime_ns + 10**9))

    def run(self):
        print(f"{self.args.size} delegations, cores {self.args.cpus}")
        ways = (("from the zone file", lambda s: s.stop()),
                ("after a clean stop", self.kill),
                ("after all were killed", lambda s: s.stop()),
                ("file newer than that", lambda s: s.stop()))
        took = {name: [] for name, _ in ways}
        said = {}
        for _ in range(self.args.reps):
            if os.path.exists(self.database):
                os.remove(self.database)
            for name, leave in ways:
                if name.startswith("file newer"):
                    self.newer_file()
                server, said[name] = self.start()
                took[name].append(server.start_sec)
                leave(server)
        for name, seconds in took.items():
            print(f"{name:22} median {report.median(seconds):6.3f} s, "
                  f"{min(seconds):.3f} to {max(seconds):.3f}")
            for line in said[name]:
                print(f"    {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=".")
    parser.add_argument("--tmp", help="where zone and database are")
    parser.add_argument("--size", type=int, default=1000000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--cpus", default="0,1")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nsd-bench-",
                                     dir=args.tmp) as work:
        Restarts(args, work).run()


if __name__ == "__main__":
    main()
