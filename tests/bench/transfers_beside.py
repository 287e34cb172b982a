"""Of the bench of transfers: what clients over UDP get while others take the
zone, one transfer after the other."""
import json
import multiprocessing
import os
import socket
import struct
import subprocess
import time

import report
import servers

AXFR = 252
PIECE = 1 << 18
SETTLE_SEC = 0.5


class Taker:
    """A process that takes the zone again and again, at a pace."""

    def __init__(self, zone, port, size, pace):
        self.octets = multiprocessing.Value("Q", 0)
        self.process = multiprocessing.Process(
            target=taker_run, args=(zone, port, size, pace, self.octets),
            daemon=True)
        self.process.start()

    def stop(self):
        self.process.terminate()
        self.process.join()


def taker_run(zone, port, size, pace, octets):
    """size: octets of a transfer. pace: octets a second."""
    os.sched_setaffinity(0, {1})
    query = servers.wire_query(zone, AXFR, 1)
    buffer = bytearray(PIECE)
    begin, taken = time.monotonic(), 0
    while True:
        sock = socket.create_connection(("127.0.0.1", port))
        sock.sendall(struct.pack(">H", len(query)) + query)
        left = size
        while left > 0:
            n = sock.recv_into(buffer)
            if n == 0:
                break
            left -= n
            taken += n
            octets.value = taken
            ahead = taken / pace - (time.monotonic() - begin)
            if ahead > 0:
                time.sleep(ahead)
            elif ahead < -0.1:
                begin -= ahead  # what was missed is not made up for
        sock.close()


def load(args, server, queries):
    """Answers a second, as many as it gives."""
    line = subprocess.run(
        ["taskset", "-c", "1", "nice", "-n", "-20",
         os.path.join(args.build, "tests/bench/load"),
         "-t", str(args.beside_sec), "udp", str(server.port), queries],
        check=True, text=True, stdout=subprocess.PIPE).stdout
    return json.loads(line)["answered"] / args.beside_sec


def beside(bench, server, size):
    """(answers a second without a transfer, with one, MB/s of that), medians
    of turns of both."""
    args, alone, both, rates = bench.args, [], [], []
    queries = os.path.join(bench.work, "zone", "tld.hit")
    for _ in range(args.beside_turns):
        alone.append(load(args, server, queries))
        taker = Taker(bench.zone, server.port, size, args.pace * 1e6)
        time.sleep(SETTLE_SEC)
        before, begin = taker.octets.value, time.monotonic()
        both.append(load(args, server, queries))
        rates.append((taker.octets.value - before) / 1e6
                     / (time.monotonic() - begin))
        taker.stop()
        time.sleep(SETTLE_SEC)
    return [report.median(found) for found in (alone, both, rates)]


BESIDE_HEAD = ["primary", "answers a second", "beside transfers", "share",
               "MB/s of these"]


def beside_row(kind, found):
    alone, both, rate = found
    return [kind, f"{alone:,.0f}", f"{both:,.0f}", f"{both / alone:.2f}",
            f"{rate:.0f}"]
