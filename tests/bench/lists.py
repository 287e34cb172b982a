#!/usr/bin/env python3
"""Measures what long access lists cost a request.

    lists.py [--build DIR] [--requests N] [--lengths N,...]

For allow-query, provide-xfr, allow-notify and allow-proxy: instructions of a
worker (user, kernel) for a request over UDP whose sender is the last of so many
elements. perf counts them, so other work beside does not matter. A table in
Markdown.
"""
import argparse
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import report  # noqa: E402
import tls_server  # noqa: E402
from ports import free_port  # noqa: E402

WINDOW = 16
START_SEC = 60
NAME = b"\7example\0"
QUERY, NOTIFY = 0x0000, 0x2400
A, SOA, IXFR = 1, 6, 251
OLD = (b"\xc0\x0c" + struct.pack("!HHIH", SOA, 1, 0, 22) + b"\0\0"
       + bytes(20))


def request(flags, rdtype, name=NAME, more=b"", counts=(1, 0, 0, 0)):
    return (struct.pack("!6H", 7, flags, *counts) + name
            + struct.pack("!HH", rdtype, 1) + more)


PROXY = (b"\r\n\r\n\0\r\nQUIT\n\x21\x12\0\x0c" + bytes([192, 0, 2, 1])
         + bytes([192, 0, 2, 2]) + struct.pack("!HH", 4321, 53))
# The request that a list decides on: serial 1 is the zone's own, so the reply
# to an IXFR is one SOA record.
KINDS = {
    "allow-query": request(QUERY, A, b"\2ns" + NAME),
    "provide-xfr": request(QUERY, IXFR, more=OLD[:-20] + struct.pack(
        "!5I", 1, 0, 0, 0, 0), counts=(1, 0, 1, 0)),
    "allow-notify": request(NOTIFY, SOA),
    "allow-proxy": PROXY + request(QUERY, A, b"\2ns" + NAME),
}


def elements(option, length):
    """The text of a list that ends with the client's address; the other
    elements are single hosts that are not adjacent."""
    made = [f"10.{n >> 15 & 255}.{n >> 7 & 255}.{n * 2 & 255}"
            for n in range(length - 1)] + ["127.0.0.1"]
    key = "" if option == "allow-proxy" else " NOKEY"
    return "".join(f"\t{option}: {one}{key}\n" for one in made[-length:])


def start(args, directory, option, length):
    directory.mkdir()
    port = free_port()
    text = tls_server.CONF.split("\tip-address: 127.0.0.1@{tls}")[0].format(
        plain=port) + "".join(
            f"\t{line}\n" for line in (
                "server-count: 1", 'username: ""', 'chroot: ""',
                f'zonesdir: "{directory}"', f'logfile: "{directory}/log"',
                f'pidfile: "{directory}/pid"',
                f'xfrdfile: "{directory}/xfrd.state"',
                f'zonelistfile: "{directory}/zone.list"',
                f'xfrdir: "{directory}"', "rrl-ratelimit: 0"))
    if option == "allow-proxy":
        text += f"\tproxy-protocol-port: {port}\n" + elements(option, length)
    text += "zone:\n\tname: example\n\tzonefile: example.zone\n"
    if option != "allow-proxy":
        text += elements(option, length)
    if option == "allow-notify":
        text += f"\trequest-xfr: 127.0.0.1@{free_port()} NOKEY\n"
    (directory / "example.zone").write_text(tls_server.ZONE)
    conf = directory / "nsd.conf"
    conf.write_text(text)
    process = subprocess.Popen(
        [os.path.join(args.build, "nsd"), "-d", "-c", str(conf)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    return process, port


def ask(client, wire, count):
    """Sends queries with some outstanding at a time, until count are
    answered."""
    sent = heard = 0
    while heard < count:
        while sent < count and sent - heard < WINDOW:
            client.send(wire)
            sent += 1
        if not select.select([client], [], [], 2)[0]:
            sent = heard    # the rest was lost
            continue
        reply = client.recv(4096)
        heard += 1
        if reply[3] & 15 != 0:
            raise RuntimeError(f"rcode {reply[3] & 15}")


def wait_for_answer(client, wire):
    end = time.monotonic() + START_SEC
    while time.monotonic() < end:
        try:
            client.send(wire)
            if select.select([client], [], [], 0.2)[0] \
                    and client.recv(4096)[3] & 15 == 0:
                return
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise TimeoutError("the server does not answer")


def worker_of(pid):
    return next(str(one) for one in tls_server.children(pid) if "server" in
                pathlib.Path(f"/proc/{one}/comm").read_text())


def measure(args, directory, option, length):
    process, port = start(args, directory, option, length)
    wire = KINDS[option]
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(("127.0.0.1", port))
            wait_for_answer(client, wire)
            while select.select([client], [], [], 0.5)[0]:
                client.recv(4096)
            counter = subprocess.Popen(
                ["perf", "stat", "-x,", "-e", "instructions:u,instructions:k",
                 "-p", worker_of(process.pid)],
                stderr=subprocess.PIPE, text=True)
            select.select([], [], [], 0.5)  # until it counts
            ask(client, wire, args.requests)
            counter.send_signal(signal.SIGINT)
            text = counter.communicate()[1]
    finally:
        process.terminate()
        process.wait()
    return [int(line.split(",")[0]) / args.requests
            for line in text.splitlines() if "instructions" in line]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--lengths", default="1,10,1000,100000")
    args = parser.parse_args()
    lengths = [int(n) for n in args.lengths.split(",")]
    rows = []
    with tempfile.TemporaryDirectory(prefix="nsd-lists-") as directory:
        for option in KINDS:
            cells = []
            for length in lengths:
                got = measure(args, pathlib.Path(directory)
                              / f"{option}{length}", option, length)
                cells.append(" + ".join(f"{n:.0f}" for n in got))
            rows.append([option, *cells])
            print(rows[-1], file=sys.stderr, flush=True)
    print(report.table(["elements", *map(str, lengths)], rows))


if __name__ == "__main__":
    main()
