#!/usr/bin/env python3
"""Measures what an IXFR of many versions costs secondaries, in CPU time.

    versions.py [--build DIR] [--names N] [--versions N] [--only NAME,...]

A zone of --names names, and one IXFR of --versions versions in which a record
that matters to all of them comes and goes. Each server is a secondary of the
same small primary, on both cores, one after the other, and begins with a file
of the first version. The row is the CPU time from NOTIFY until the last version
is served, of all processes.
"""
import argparse
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import primary  # noqa: E402
import servers  # noqa: E402
from dnssec import wait_settled  # noqa: E402
from update_changes import SERIAL, rival_server, soa_text  # noqa: E402
from update_changes import soa_wire  # noqa: E402
from update_watch import ZONE, asked_serial, spent_sec  # noqa: E402

LIMIT_SEC = 300
NS, MX, DNAME, NSEC3PARAM = 2, 15, 39, 51
TARGET = f"ns.{ZONE}"

# Record that comes and goes: (owner, type, RDATA); text that is there before.
KINDS = {
    "NS above": ((f"sub.{ZONE}", NS, primary.wire_name(TARGET)), ""),
    "DNAME above": ((f"sub.{ZONE}", DNAME, primary.wire_name(TARGET)), ""),
    "second NSEC3PARAM": (
        (ZONE, NSEC3PARAM, bytes.fromhex("0100000202abcd")),
        f"{ZONE}. 300 NSEC3PARAM 1 0 1 aabb\n"),
    "NSEC3PARAM, no chain": (
        (ZONE, NSEC3PARAM, bytes.fromhex("0100006402aabb")), ""),
    "MX, 100 iterations": (
        (f"n1.sub.{ZONE}", MX, b"\0\1" + primary.wire_name(TARGET)),
        f"{ZONE}. 300 NSEC3PARAM 1 0 100 aabb\n"),
}


def write_zone(path, names, more):
    with open(path, "w") as f:
        f.write(f"{ZONE}. 3600 SOA {soa_text(SERIAL)}\n"
                f"{ZONE}. 300 NS {TARGET}.\n{TARGET}. 300 A 192.0.2.1\n{more}")
        for i in range(names):
            f.write(f"n{i}.sub.{ZONE}. 300 A 192.0.2.{i % 250}\n")


def deltas(record, count):
    owner, rrtype, rdata = record
    wire = primary.wire_record(owner, 300, rrtype, rdata)
    for n in range(count):
        old, new = soa_wire(SERIAL + n), soa_wire(SERIAL + n + 1)
        yield [old, new, wire] if n % 2 == 0 else [old, wire, new]


def measure(kind, program, zones, work, record, versions):
    """CPU seconds; None: it did not come to the end in time."""
    source = primary.Primary(ZONE, SERIAL, soa_wire)
    server = None
    try:
        server = rival_server(kind, program, zones, work, "0,1", 1,
                              source.port)
        if not server.wait(LIMIT_SEC):
            raise ValueError("did not serve the zone")
        wait_settled(server, 5)
        for delta in deltas(record, versions):
            source.change(delta)
        before = spent_sec(server)
        end = time.monotonic() + LIMIT_SEC
        again = 0
        while asked_serial(server.port) != SERIAL + versions:
            if time.monotonic() > end:
                return None
            if time.monotonic() > again:
                source.notify(server.port)
                again = time.monotonic() + 5
            time.sleep(0.01)
        wait_settled(server, 5)
        return spent_sec(server) - before
    finally:
        if server:
            server.stop()
        source.stop()


def program_of(args, kind):
    return (os.path.join(args.build, "nsd") if kind == "ours"
            else servers.find_program(servers.RIVALS[kind]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--names", type=int, default=20000)
    parser.add_argument("--versions", type=int, default=400)
    parser.add_argument("--only", default="ours,bind,knot,nsd")
    args = parser.parse_args()
    for what, (record, more) in KINDS.items():
        for kind in args.only.split(","):
            with tempfile.TemporaryDirectory() as work:
                path = os.path.join(work, "bench.zone")
                write_zone(path, args.names, more)
                zones = servers.ZoneSet("versions", {ZONE: path},
                                        probe=(ZONE, 6))
                os.makedirs(os.path.join(work, kind))
                spent = measure(kind, program_of(args, kind), zones,
                                os.path.join(work, kind), record,
                                args.versions)
            print(f"{what:22} {kind:5} "
                  + ("not in time" if spent is None else f"{spent:.3f} s"),
                  flush=True)


if __name__ == "__main__":
    main()
