"""Of the bench of transfers: what clients over UDP get while others take the
zone, one transfer after the other.

The server has core 0, all clients share core 1. So that it is the server that
is measured, whoever takes the zone comes first there and has the kernel throw
away what comes, which takes next to nothing of that core.
"""
import ctypes
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
WAKE_OCTETS = 1 << 16  # or so many are left
SETTLE_SEC = 0.5
FIRST = -20  # of nice
WINDOW = 512
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.recv.restype = ctypes.c_ssize_t
LIBC.recv.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
                      ctypes.c_int]


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


def throw_away(sock):
    """Receives without copying (tcp(7)); returns the count, 0 at the end."""
    return LIBC.recv(sock.fileno(), None, PIECE, socket.MSG_TRUNC)


def taker_run(zone, port, size, pace, octets):
    """size: octets of a transfer. pace: octets a second."""
    os.sched_setaffinity(0, {1})
    os.setpriority(os.PRIO_PROCESS, 0, FIRST)
    query = servers.wire_query(zone, AXFR, 1)
    begin, taken = time.monotonic(), 0
    while True:
        sock = socket.create_connection(("127.0.0.1", port))
        sock.sendall(struct.pack(">H", len(query)) + query)
        left, wake = size, WAKE_OCTETS
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wake)
        while left > 0:
            if left < wake:
                wake = left
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wake)
            n = throw_away(sock)
            if n <= 0:
                break
            left -= n
            taken += n
            octets.value = taken
            ahead = taken / pace - (time.monotonic() - begin)
            if ahead > 0:
                time.sleep(ahead)
            elif ahead < -0.1:
                begin -= ahead  # missed queries are not made up for
        sock.close()


class Found:
    """The results of a turn of queries."""

    def __init__(self, args, server, queries, rate=None, taker=None):
        """rate: queries a second; None: as many as are answered."""
        before, cpu, begin = 0, server.cpu_ns()[0], time.monotonic()
        if taker is not None:
            before = taker.octets.value
        how = ["-w", str(WINDOW)] if rate is None else [
            "-w", "4096", "-c", "4", "-l", "500", "-r", str(rate)]
        line = subprocess.run(
            ["taskset", "-c", "1", "nice", "-n", str(FIRST + 1),
             os.path.join(args.build, "tests/bench/load"),
             "-t", str(args.beside_sec), *how, "udp", str(server.port),
             queries],
            check=True, text=True, stdout=subprocess.PIPE).stdout
        took = time.monotonic() - begin
        counts = json.loads(line)
        self.cpu_sec = (server.cpu_ns()[0] - cpu) / 1e9
        self.answers = counts["answered"]
        self.rate = counts["answered"] / args.beside_sec
        self.busy = self.cpu_sec / args.beside_sec * 100
        self.not_answered = counts["sent"] - counts["answered"]
        self.p99_ms = counts.get("p99", 0) / 1000
        self.mb_sec = 0
        if taker is not None:
            self.mb_sec = (taker.octets.value - before) / 1e6 / took


def share_of_transfers(alone, both):
    """Of the server's time beside transfers, in percent: what is left when
    each answer takes as long as without them."""
    return (1 - both.answers * alone.cpu_sec / alone.answers
            / both.cpu_sec) * 100


def pair(bench, server, size, rate=None):
    """A turn without transfers and one with them."""
    queries = os.path.join(bench.work, "zone", "tld.hit")
    alone = Found(bench.args, server, queries, rate)
    taker = Taker(bench.zone, server.port, size, bench.args.pace * 1e6)
    time.sleep(SETTLE_SEC)
    both = Found(bench.args, server, queries, rate, taker)
    taker.stop()
    time.sleep(SETTLE_SEC)
    return alone, both


FULL_HEAD = ["primary", "answers a second", "beside transfers", "share",
             "core in use, %", "the same beside", "of it for transfers, %",
             "MB/s of these"]
HALF_HEAD = ["primary", "queries a second", "not answered", "beside transfers",
             "p99, ms", "beside transfers, ms", "MB/s of these"]


def beside_rows(bench, kind, server, size):
    """A row for each table: as many queries as are answered, and half as many.
    Medians of turns, but for what was not answered: sums."""
    full = [pair(bench, server, size) for _ in range(bench.args.beside_turns)]
    rate = report.median([alone.rate for alone, _ in full]) / 2
    half = [pair(bench, server, size, rate)
            for _ in range(bench.args.beside_turns)]

    def mid(pairs, which, what):
        return report.median([getattr(found[which], what) for found in pairs])

    alone, both = (mid(full, which, "rate") for which in (0, 1))
    return ([kind, f"{alone:,.0f}", f"{both:,.0f}", f"{both / alone:.2f}",
             *(f"{mid(full, which, 'busy'):.0f}" for which in (0, 1)),
             f"{report.median([share_of_transfers(*p) for p in full]):.1f}",
             f"{mid(full, 1, 'mb_sec'):.0f}"],
            [kind, f"{rate:,.0f}",
             *(str(sum(found[which].not_answered for found in half))
               for which in (0, 1)),
             *(f"{mid(half, which, 'p99_ms'):.2f}" for which in (0, 1)),
             f"{mid(half, 1, 'mb_sec'):.0f}"])
