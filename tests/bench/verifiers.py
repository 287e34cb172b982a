#!/usr/bin/env python3
"""Measures what verifiers of some zones cost the transfers of others.

    verifiers.py [--build DIR] [--tmp DIR] [--zones N] [--sleep S]
                 [--hanging N] [--turns N]

Whole zones are given to the loader one after the other, as xfrd gives them
(tests/lib/nsd_update): each is timed until it is served. Once without a
verifier, and once while those of other zones sleep. Turns of both alternate.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import machine  # noqa: E402
from ports import free_port  # noqa: E402

CONF = """server:
	ip-address: 127.0.0.1@{port}
	username: ""
	server-count: 1
	verbosity: 0
	zonesdir: {folder}
	xfrdir: {folder}
	pidfile: {folder}/nsd.pid
	logfile: {folder}/nsd.log
	zonelistfile: {folder}/zone.list
	xfrdfile: {folder}/xfrd.state
verify:
	enable: yes
	ip-address: 127.0.0.1
	port: {verify_port}
	verifier: {folder}/verifier
	verifier-count: {hanging}
	verifier-feed-zone: no
	verify-zones: no
"""
ZONE = ("zone:\n\tname: {name}\n\tzonefile: {name}.zone\n"
        "\trequest-xfr: 127.0.0.1@1 NOKEY\n\tverify-zone: {verify}\n")
WHOLE = ("whole {name}.\nadd @ 3600 SOA ns m {serial} 3600 600 86400 60\n"
         "add @ 3600 NS ns\nadd ns 60 A 192.0.2.53\nsend\n")


class Server:
    def __init__(self, build, folder, zones, hanging, sleep):
        self.folder = folder
        conf = CONF.format(folder=folder, port=free_port(),
                           verify_port=free_port(), hanging=hanging)
        for i in range(zones):
            conf += ZONE.format(name=f"z{i}.test", verify="no")
        for i in range(hanging):
            conf += ZONE.format(name=f"h{i}.test", verify="yes")
        verifier = folder / "verifier"
        verifier.write_text(f"#!/bin/sh\necho >> {folder}/asked\n"
                            f"exec sleep {sleep}\n")
        verifier.chmod(0o755)
        (folder / "nsd.conf").write_text(conf)
        self.process = subprocess.Popen(
            [build / "tests/lib/nsd_update", "-d", "-c", folder / "nsd.conf"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            bufsize=1)

    def send(self, name, serial):
        self.process.stdin.write(WHOLE.format(name=name, serial=serial))
        self.process.stdin.flush()

    def read(self):
        """The microseconds of an answer."""
        line = self.process.stdout.readline()
        found = re.match(r"\d+ ok .* usec (\d+) ", line)
        if found is None:
            sys.exit(f"not served: {line.strip()}")
        return int(found[1])

    def asked(self):
        try:
            return len((self.folder / "asked").read_text())
        except FileNotFoundError:
            return 0

    def end(self):
        self.process.terminate()
        self.process.wait()


def measure(options, hanging):
    """Microseconds of each transfer."""
    with tempfile.TemporaryDirectory(dir=options.tmp) as name:
        server = Server(options.build, pathlib.Path(name), options.zones,
                        max(hanging, 1), options.sleep)
        try:
            # The first transfer waits for the start.
            server.send("z0.test", 1)
            server.read()
            for i in range(hanging):
                server.send(f"h{i}.test", 1)
            while server.asked() < hanging:
                pass
            times = []
            for i in range(options.zones):
                server.send(f"z{i}.test", 2)
                times.append(server.read())
            return times
        finally:
            server.end()


def report(name, times):
    cuts = statistics.quantiles(times, n=100)
    print(f"{name:<36}{statistics.median(times):>9.0f}"
          f"{cuts[94]:>9.0f}{cuts[98]:>9.0f}{max(times):>9}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default="build")
    parser.add_argument("--tmp", default=None)
    parser.add_argument("--zones", type=int, default=1000)
    parser.add_argument("--sleep", type=int, default=30)
    parser.add_argument("--hanging", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    options.build = options.build.resolve()
    print(machine.name())
    print(f"{'microseconds until served':<36}{'median':>9}{'95 %':>9}"
          f"{'99 %':>9}{'most':>9}")
    times = [[], []]
    for _ in range(options.turns):
        for i, hanging in enumerate((0, options.hanging)):
            times[i] += measure(options, hanging)
    report("without", times[0])
    report(f"{options.hanging} of other zones sleep", times[1])


if __name__ == "__main__":
    main()
