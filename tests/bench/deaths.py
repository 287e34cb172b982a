#!/usr/bin/env python3
"""Measures what deaths of processes cost honest clients over UDP.

    deaths.py [--build DIR] [--tmp DIR] [--seconds S] [--rates LIST]
              [--workers LIST] [--servers LIST]

A client asks 1,000 queries a second from 64 ports, whatever is answered, and
counts what is within 0.8 s. Beside it processes die at a pace, by chance:

  die-segv, die-abrt, die-sys   of a message, over UDP or TCP: this server as
        tests/lib/nsd_deadly.c has it
  SIGKILL   one that serves is killed: this server, NSD, and Knot, which is
        one process and is started again 0.1 s later, as systemd does it
        (which would give up after the fifth time in ten seconds)

And once a second the zone changes and SIGHUP says so: how long until that is
served (this server alone). The CPU time is that of all of the server's
processes, for the honest answers, too.
"""
import argparse
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "lib")]
import servers  # noqa: E402
from ports import free_port  # noqa: E402

QPS = 1000
PORTS = 64
LATE = 0.8
RESTART = 0.1
ZONE = ("$TTL 60\n@ SOA ns hostmaster {} 3600 600 86400 60\n@ NS ns\n"
        "ns A 192.0.2.1\nwww A 192.0.2.2\n")
MESSAGES = [("die-segv", "udp"), ("die-segv", "tcp"), ("die-abrt", "udp"),
            ("die-sys", "udp")]
TICKS = os.sysconf("SC_CLK_TCK")


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(child) for child in f.read().split()]
    except OSError:
        return []


def leaves_of(pid):
    below = children_of(pid)
    return [leaf for child in below
            for leaf in leaves_of(child) or [child]]


def comm_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def cpu_of(pid):
    """The CPU seconds of a process and its descendants, dead or not."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (sum(map(int, fields[11:15])) / TICKS
            + sum(map(cpu_of, children_of(pid))))


class Server:
    def __init__(self, kind, program, work, workers):
        self.kind, self.work, self.port = kind, work, free_port()
        self.file = os.path.join(work, "zone")
        self.serial = 0
        self.write_zone()
        zones = servers.ZoneSet("deaths", {"example": self.file})
        name, text = servers.CONFS[kind](work, self.port, workers, zones)
        path = os.path.join(work, name)
        with open(path, "w") as f:
            f.write(text)
        self.command = [program, *(["-d"] if kind != "knot" else []), "-c",
                        path]
        self.used = 0
        self.again = None  # when it starts
        self.start()

    def start(self):
        self.again = None
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def tick(self, now):
        if self.kind != "knot":
            return
        if self.again is None and self.process.poll() is not None:
            self.again = now + RESTART
        elif self.again is not None and now >= self.again:
            self.start()

    def kill(self, chance):
        """One process that serves. False: there is none."""
        pids = leaves_of(self.process.pid)
        if self.kind == "ours":
            pids = [pid for pid in pids if "server" in comm_of(pid)]
        if self.kind == "knot":
            pids = [self.process.pid] if self.process.poll() is None else []
        if not pids:
            return False
        self.used += cpu_of(self.process.pid) if self.kind == "knot" else 0
        try:
            os.kill(chance.choice(pids), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def cpu(self):
        return self.used + cpu_of(self.process.pid)

    def write_zone(self):
        self.serial += 1
        with open(self.file + ".new", "w") as f:
            f.write(ZONE.format(self.serial))
        os.rename(self.file + ".new", self.file)

    def stop(self):
        pids = [self.process.pid, *leaves_of(self.process.pid)]
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pid in pids[1:]:
            if comm_of(pid).startswith("nsd"):
                os.kill(pid, signal.SIGKILL)


class Client:
    def __init__(self, port):
        self.port = port
        self.sockets = {}
        self.epoll = select.epoll()
        for _ in range(PORTS):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect(("127.0.0.1", port))
            s.setblocking(False)
            self.sockets[s.fileno()] = s
            self.epoll.register(s, select.EPOLLIN)
        self.order = list(self.sockets.values())
        self.clear()

    def clear(self):
        self.sent, self.open, self.times = 0, {}, []
        self.serials = {}

    def ask(self, qtype=1):
        s = self.order[self.sent % PORTS]
        name = "www.example" if qtype == 1 else "example"
        key = (s.fileno(), self.sent & 0xffff)
        self.sent += 1
        self.open[key] = time.perf_counter()
        try:
            s.send(servers.wire_query(name, qtype, key[1]))
        except OSError:
            pass

    def take(self, wait):
        for fd, _ in self.epoll.poll(max(wait, 0)):
            while True:
                try:
                    data = self.sockets[fd].recv(4096)
                except OSError:
                    break
                now = time.perf_counter()
                then = self.open.pop((fd, data[0] << 8 | data[1]), None)
                if then is not None and now - then < LATE:
                    self.times.append(now - then)
                if data[7] and len(data) > 60:  # an SOA, perhaps
                    self.note_serial(data, now)

    def note_serial(self, data, now):
        at = data.find(b"\x00\x06\x00\x01", 12 + 13)
        if at == -1:
            return
        rdata = at + 10
        length = struct.unpack(">H", data[at + 8:at + 10])[0]
        serial = struct.unpack(
            ">I", data[rdata + length - 20:rdata + length - 16])[0]
        self.serials.setdefault(serial, now)

    def wait(self):
        end = time.monotonic() + 20
        while not self.times and time.monotonic() < end:
            self.ask()
            self.take(0.05)
        return bool(self.times)


def send_deadly(how, transport, port):
    wire = servers.wire_query(f"{how}.example", 1, 1)
    kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as s:
        s.settimeout(0.2)
        try:
            s.connect(("127.0.0.1", port))
            s.send(wire if transport == "udp"
                   else struct.pack(">H", len(wire)) + wire)
        except OSError:
            pass


def run(server, client, how, transport, rate, seconds):
    chance = random.Random(1)
    begin = time.perf_counter()
    deadly = begin + (chance.expovariate(rate) if rate else seconds)
    reload, changed, deaths = begin + 0.5, {}, 0
    while True:
        now = time.perf_counter()
        server.tick(now)
        if now >= begin + seconds:
            break
        while client.sent < (now - begin) * QPS:
            client.ask(6 if client.sent % 10 == 0 else 1)
        while deadly <= now:
            if how == "SIGKILL":
                deaths += server.kill(chance)
            else:
                send_deadly(how, transport, server.port)
                deaths += 1
            deadly += chance.expovariate(rate)
        if now >= reload and server.kind == "ours":
            server.write_zone()
            changed[server.serial] = now
            os.kill(server.process.pid, signal.SIGHUP)
            reload += 1
        client.take(min(begin + client.sent / QPS, deadly) - now)
    end = time.perf_counter() + LATE
    while time.perf_counter() < end:
        client.take(0.05)
    took = sorted(client.serials.get(serial, float("inf")) - then
                  for serial, then in changed.items())
    return deaths, took


def measure(args, name, program, how, transport, rate, workers):
    with tempfile.TemporaryDirectory(dir=args.tmp) as work:
        server = Server(name, program, work, workers)
        try:
            client = Client(server.port)
            if not client.wait():
                sys.exit(f"{name} did not start")
            time.sleep(1)
            client.take(0)
            client.clear()
            before = server.cpu()
            deaths, took = run(server, client, how, transport, rate,
                               args.seconds)
            cpu = server.cpu() - before
        finally:
            server.stop()
    times = sorted(client.times) or [0]
    print(f"| {name} | {workers} | {how} | {transport} | {rate} | {deaths} |"
          f" {100 * len(client.times) / client.sent:.1f} |"
          f" {times[len(times) // 2] * 1000:.2f} |"
          f" {times[len(times) * 99 // 100] * 1000:.1f} | {cpu:.2f} |"
          f" {f'{took[len(took) // 2] * 1000:.0f}' if took else ''} |",
          flush=True)


def numbers(text):
    return [int(n) for n in text.split(",")]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/check")
    parser.add_argument("--tmp", default="/tmp")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rates", type=numbers, default=[0, 10, 200])
    parser.add_argument("--workers", type=numbers, default=[1, 4])
    parser.add_argument("--servers", default="ours,nsd,knot",
                        type=lambda text: text.split(","))
    args = parser.parse_args()
    programs = {name: servers.find_program(servers.RIVALS[name])
                for name in args.servers if name != "ours"}
    print("| server | workers | death | by | a second | deaths | % answered |"
          " ms, median | ms, 99 % | s of CPU | ms, reload |\n"
          "| --- |" + " ---: |" * 10)
    for workers in args.workers:
        for rate in args.rates:
            if "ours" in args.servers:
                program = os.path.join(args.build, "tests/lib/nsd_deadly")
                for how, transport in MESSAGES if rate else MESSAGES[:1]:
                    measure(args, "ours", program, how, transport, rate,
                            workers)
                programs["ours"] = program
            for name in args.servers if rate else []:
                if programs[name] is not None:
                    measure(args, name, programs[name], "SIGKILL", "", rate,
                            workers)


if __name__ == "__main__":
    main()
