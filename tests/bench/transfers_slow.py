#!/usr/bin/env python3
"""Measures how long zones wait beside those whose transfer drips, with NSD,
Knot and BIND as secondaries, too.

    transfers_slow.py [--build DIR] [--tmp DIR] [--servers NAME,...]
                      [--counts N,...] [--doc FILE]

The primary, made here, answers what is asked on a connection one after the
other, as most do. A zone is there once its transfer is answered."""
import argparse
import collections
import heapq
import os
import select
import socket
import struct
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402
from ports import free_port  # noqa: E402
from primary import IXFR, NOTIFY, SOA, wire_name, wire_record  # noqa: E402

AXFR = 252
OTHERS = 20
DRIP_SEC = 0.1
LIMIT_SEC = 20
SETTLE_SEC = 4
HEAD = ["secondary", "slow zones", "at a start", "at NOTIFY",
        "3 s after they began"]
WHENS = ("start", "notify", "later")
PAGE = """# Zones beside slow ones

Made by `tests/bench/transfers_slow.py`; nobody edits it. {machine}.

{others} zones of three records, and so many that send one small record each
{drip} s for ever. Seconds until the transfer of the last of the {others} was
answered: from the first question of a secondary without data on; from the
NOTIFYs for all, in one moment, on; from those for the {others} on, 3 s after
the others'. The primary answers what is asked on a connection one after the
other. NSD 4.6, Knot and BIND have their usual limits of transfers, BIND
`transfers-in` and `transfers-per-ns` of 100, Knot ten background workers.

## All of one primary

{one}

## Each slow one of a primary of its own

{many}
"""


def slow_name(n):
    return f"s{n}.slow"


def other_name(n):
    return f"n{n}.slow"


def address_of(n, many):
    return f"127.0.{1 + n // 250}.{1 + n % 250}" if many else "127.0.0.1"


class Primary(threading.Thread):
    """Has serial 1, and drips instead from `since` on."""

    def __init__(self, names, since):
        super().__init__(daemon=True)
        self.wires = {wire_name(n): n for n in names}
        self.serials = dict.fromkeys(names, 1)
        self.since = since
        self.port = free_port()
        self.begun = None        # the first question
        self.answered = {}       # (zone, serial): when
        self.dripping = set()    # zones
        self.over = False
        self.poll = select.epoll()
        self.buffers = {}
        self.drips = []          # (when, number, connection, zone, question)
        self.count = 0
        self.udp = {}
        self.tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.tcp.bind(("0.0.0.0", self.port))
        self.tcp.listen(1024)
        self.tcp.setblocking(False)
        self.poll.register(self.tcp, select.EPOLLIN)

    def listen(self, addresses):
        for address in addresses:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind((address, self.port))
            sock.setblocking(False)
            self.udp[sock.fileno()] = sock
            self.poll.register(sock, select.EPOLLIN)

    def soa(self, zone, serial):
        return wire_record(zone, 3600, SOA, wire_name(f"ns.{zone}")
                           + wire_name(f"h.{zone}") + struct.pack(
                               ">IIIII", serial, 3600, 3600, 604800, 900))

    @staticmethod
    def message(question, records):
        ident, text = question
        return struct.pack(">HHHHHH", ident, 0x8400, 1, len(records), 0, 0) \
            + text + b"".join(records)

    def read(self, query):
        """(zone, type, question)"""
        end = query.index(b"\0", 12) + 1
        zone = self.wires.get(query[12:end].lower())
        return zone, int.from_bytes(query[end:end + 2], "big"), (
            int.from_bytes(query[:2], "big"), query[12:end + 4])

    def run(self):
        while not self.over:
            wait = 0.2
            if self.drips:
                wait = min(wait, max(0, self.drips[0][0] - time.monotonic()))
            for fd, _ in self.poll.poll(wait):
                try:
                    self.take(fd)
                except OSError:
                    self.drop(fd)
            while self.drips and self.drips[0][0] <= time.monotonic():
                self.drip(*heapq.heappop(self.drips)[2:])

    def take(self, fd):
        if fd == self.tcp.fileno():
            connection, _ = self.tcp.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
            # [socket, octets, questions that wait]
            self.buffers[connection.fileno()] = [
                connection, bytearray(), collections.deque(), False]
            self.poll.register(connection, select.EPOLLIN)
            return
        if fd in self.udp:
            query, address = self.udp[fd].recvfrom(4096)
            self.begun = self.begun or time.monotonic()
            zone, rdtype, question = self.read(query)
            if rdtype == SOA and zone:
                self.udp[fd].sendto(self.message(question, [
                    self.soa(zone, self.serials[zone])]), address)
            return
        state = self.buffers[fd]
        data = state[0].recv(65536)
        if not data:
            raise OSError
        self.begun = self.begun or time.monotonic()
        state[1] += data
        while len(state[1]) >= 2:
            size = int.from_bytes(state[1][:2], "big")
            if len(state[1]) < size + 2:
                break
            state[2].append(bytes(state[1][2:size + 2]))
            del state[1][:size + 2]
        self.go_on(state)

    def go_on(self, state):
        while state[2] and not state[3]:
            zone, rdtype, question = self.read(state[2].popleft())
            serial = self.serials[zone]
            if rdtype in (AXFR, IXFR) and serial >= self.since \
                    and zone.startswith("s"):
                state[3] = True
                self.dripping.add(zone)
                self.send(state, self.message(question,
                                              [self.soa(zone, serial)]))
                self.drip(state, zone, question)
                return
            records = [self.soa(zone, serial)]
            if rdtype in (AXFR, IXFR):
                ns = f"ns.{zone}"
                records += [wire_record(zone, 3600, 2, wire_name(ns)),
                            wire_record(ns, 3600, 1, bytes([192, 0, 2, 1])),
                            records[0]]
            self.send(state, self.message(question, records))
            if rdtype in (AXFR, IXFR):
                self.answered.setdefault((zone, serial), time.monotonic())

    def drip(self, state, zone, question):
        if state[0].fileno() < 0:
            return
        self.count += 1
        owner = f"a{self.count}.{zone}"
        try:
            self.send(state, self.message(question, [wire_record(
                owner, 3600, 1, bytes([192, 0, 2, 1]))]))
        except OSError:
            self.drop(state[0].fileno())
            return
        heapq.heappush(self.drips, (time.monotonic() + DRIP_SEC, self.count,
                                    state, zone, question))

    @staticmethod
    def send(state, message):
        state[0].sendall(struct.pack(">H", len(message)) + message)

    def drop(self, fd):
        state = self.buffers.pop(fd, None)
        if state:
            self.poll.unregister(fd)
            state[0].close()

    def stop(self):
        self.over = True
        self.join()
        for sock in [self.tcp, *self.udp.values(),
                     *(s[0] for s in self.buffers.values())]:
            sock.close()


def conf(kind, zones, port):
    """zones: {name: address of its primary}"""
    def make(work, own_port, workers, zone_set):
        name, text = servers.CONFS[kind](work, own_port, workers,
                                         servers.ZoneSet("slow"))
        more = []
        if kind == "bind":
            text = text.replace("options {\n", "options {\n\tserial-query-rate"
                                " 10000; transfers-in 100; transfers-per-ns "
                                "100;\n", 1)
        if kind == "knot":
            text = text.replace("background-workers: 1", "background-workers: "
                                "10")
            addresses = sorted(set(zones.values()))
            more += ["remote:\n"] + [f"  - id: p{a.replace('.', '-')}\n    "
                                     f"address: {a}@{port}\n"
                                     for a in addresses]
            more.append("acl:\n  - id: n\n    address: 127.0.0.0/8\n    "
                        "action: notify\nzone:\n")
        for zone, address in zones.items():
            more.append({
                "ours": f'zone:\n\tname: "{zone}"\n\tzonefile: "{zone}"\n'
                        f"\trequest-xfr: {address}@{port} NOKEY\n"
                        "\tallow-notify: 127.0.0.0/8 NOKEY\n",
                "bind": f'zone "{zone}" {{ type secondary; file "{work}/{zone}'
                        f'"; primaries port {port} {{ {address}; }}; '
                        "allow-notify { any; }; };\n",
                "knot": f'  - domain: "{zone}"\n    master: '
                        f"p{address.replace('.', '-')}\n    acl: n\n",
            }["ours" if kind == "nsd" else kind])
        return name, text + "".join(more)
    return make


def wait_answered(primary, names, serial, since, limit=LIMIT_SEC):
    """(seconds until all of them were answered, how many were not)"""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if all((n, serial) in primary.answered for n in names):
            break
        time.sleep(0.01)
    begun = since or primary.begun or end
    took = [primary.answered[n, serial] - begun for n in names
            if (n, serial) in primary.answered]
    return max(took, default=0), len(names) - len(took)


def notify(primary, port, names):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", port))
    sock.settimeout(0.001)
    for i, name in enumerate(names):
        sock.send(struct.pack(">HHHHHH", i, NOTIFY << 11 | 0x400, 1, 1, 0, 0)
                  + wire_name(name) + struct.pack(">HH", SOA, 1)
                  + primary.soa(name, primary.serials[name]))
        try:
            sock.recv(512)
        except OSError:
            pass
    sock.close()


def beside(kind, program, work, count, many, when):
    """(seconds until the last of those that are not slow has been answered,
    how many were not within LIMIT_SEC)"""
    slow = [slow_name(n) for n in range(count)]
    others = [other_name(n) for n in range(OTHERS)]
    zones = {n: address_of(i, many) for i, n in enumerate(slow)}
    zones.update(dict.fromkeys(others, "127.0.0.1"))
    primary = Primary(list(zones), 1 if when == "start" else 2)
    primary.listen(sorted(set(zones.values())))
    primary.start()
    server = servers.Server(
        kind, program, servers.ZoneSet("slow", probe=(others[0], SOA)),
        f"{work}/s", "0", 1, conf=conf(kind, zones, primary.port))
    try:
        if when == "start":
            return wait_answered(primary, others, 1, None)
        if wait_answered(primary, list(zones), 1, None, 60)[1]:
            raise ValueError(f"{kind} does not take the zones")
        time.sleep(SETTLE_SEC)
        for name in zones:
            primary.serials[name] = 2
        begin = time.monotonic()
        if when == "later":
            notify(primary, server.port, slow)
            time.sleep(3)
            begin = time.monotonic()
            notify(primary, server.port, others)
        else:
            notify(primary, server.port, slow + others)
        return wait_answered(primary, others, 2, begin)
    finally:
        primary.stop()  # threads end with the primary
        server.stop()


def show(took, late):
    return f"{took:.2f}" if late == 0 \
        else f"{late} of {OTHERS} not in {LIMIT_SEC} s"


def row(kind, program, work, count, many):
    found = []
    for when in WHENS:
        try:
            found.append(show(*beside(kind, program, work, count, many, when)))
        except ValueError:
            found.append("-")
    return [kind, str(count), *found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--tmp", default="/tmp")
    parser.add_argument("--servers", default="ours,nsd,knot,bind",
                        type=lambda text: text.split(","))
    parser.add_argument("--counts", default=(1, 2, 9, 60, 300),
                        type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--doc")
    args = parser.parse_args()
    os.sched_setaffinity(0, {1})
    tables = {"one": [], "many": []}
    with tempfile.TemporaryDirectory(prefix="nsd-bench-", dir=args.tmp) as work:
        for name, rows in tables.items():
            for count in args.counts:
                for kind in args.servers:
                    program = os.path.join(args.build, "nsd") \
                        if kind == "ours" \
                        else servers.find_program(servers.RIVALS[kind])
                    rows.append(row(kind, program, work, count,
                                    name == "many"))
                    print(name, *rows[-1], flush=True)
    if args.doc:
        with open(args.doc, "w") as f:
            f.write(PAGE.format(machine=machine.name(), others=OTHERS,
                                drip=DRIP_SEC, **{
                                    name: report.table(HEAD, rows)
                                    for name, rows in tables.items()}))


if __name__ == "__main__":
    main()
