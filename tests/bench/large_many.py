"""Of the study of large zones: very many zones of a primary, all from one file."""
import collections
import json
import multiprocessing
import os
import pathlib
import queue
import signal
import socket
import struct
import subprocess
import time

import servers
import study
from large_watch import Clients, octets_below, watched
from primary import SOA, wire_record
from transfers_many import zone_name

LIMIT_SEC = 1800
ONE_OCTETS = 3000
RATE = 3000
FIRST, SECOND = 1, 2
TIMES = (86400, 3600, 604800, 900)
ZONE_FILE = ("$TTL 3600\n@ SOA . . 1 86400 3600 604800 900\n@ NS ns\n"
             "ns A 192.0.2.1\nwww A 192.0.2.3\nwww AAAA 2001:db8::3\n")
# Commands of operators that say something of all zones.
ASKED = (("zonestatus",), ("stats_noreset",), ("progress",))


class Counting:
    """Answers each query for a SOA over UDP, with that of the file, and counts
    what is asked: in a process of its own."""

    def __init__(self, count):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.sock.bind(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.asked = multiprocessing.Value("q", 0)  # different zones
        self.rounds = multiprocessing.Queue()
        self.process = multiprocessing.Process(target=self.run, args=(count,),
                                               daemon=True)
        self.process.start()

    def run(self, count):
        """Counts until all were asked for; then puts the row of it, and begins
        anew."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        soa = b"\xc0\x0c" + wire_record("", 3600, SOA, b"\0\0" + struct.pack(
            ">IIIII", FIRST, *TIMES))[1:]
        seen, again, seconds = bytearray(count), 0, collections.Counter()
        while True:
            query, address = self.sock.recvfrom(4096)
            end = query.index(b"\0", 12) + 5
            self.sock.sendto(query[:2] + struct.pack(
                ">HHHHH", 0x8400, 1, 1, 0, 0) + query[12:end] + soa, address)
            n = int(query[14:13 + query[12]])
            if n >= count:
                continue
            seconds[int(time.monotonic())] += 1
            again += seen[n]
            if not seen[n]:
                seen[n] = 1
                self.asked.value += 1
            if self.asked.value == count:
                self.rounds.put({
                    "at": time.monotonic(), "again": again,
                    "most_a_second": max(seconds.values()),
                    "seconds": len(seconds)})
                seen, again = bytearray(count), 0
                seconds.clear()
                self.asked.value = 0

    def wait(self, limit_sec=LIMIT_SEC):
        """The row of the round that ends next."""
        try:
            return self.rounds.get(timeout=limit_sec)
        except queue.Empty:
            raise study.StudyError(f"{self.asked.value} zones were asked for"
                                   ) from None

    def stop(self):
        self.process.terminate()
        self.process.join()
        self.sock.close()


class Many:
    """Of Study, which has the rest."""

    def many_conf(self, count, port):
        def make(work, own, workers, zones):
            name, text = servers.conf_nsd(work, own, workers, zones)
            pathlib.Path(work, "one.zone").write_text(ZONE_FILE)
            with open(f"{work}/zone.list", "w") as f:
                f.write("# NSD zone list\n# name pattern\n")
                f.writelines(f"add {zone_name(n)} p\n" for n in range(count))
            text = text.replace(
                "server:\n", "server:\n\tzonefiles-write: 0\n\tverbosity: 1\n",
                1).replace(
                "control-enable: no", "control-enable: yes\n"
                f'\tcontrol-interface: "{work}/control"', 1)
            return name, text + (
                f'pattern:\n\tname: "p"\n\tzonefile: "{work}/one.zone"\n'
                f"\trequest-xfr: 127.0.0.1@{port} NOKEY\n"
                "\tallow-notify: 127.0.0.1 NOKEY\n")
        return make

    def part_many(self):
        count = self.args.zones
        self.needs("the zones", ONE_OCTETS * count, 400 * count)
        names, queries = f"{self.work}/names", f"{self.work}/asked"
        with open(names, "w") as f:
            f.writelines(f"{zone_name(n)}\n" for n in range(count))
        with open(queries, "w") as f:
            f.writelines(f"www.{zone_name(n * 7919 % count)} A\n"
                         for n in range(count))
        source = Counting(count)
        server = None
        try:
            server = self.many_begin(count, source, names)
            self.many_storm(server, source, queries)
            self.many_asked(server)
            self.many_one(server, count)
            self.many_commanded(server, source, queries)
            self.many_again(server, count, source)
            self.end("many", server)
        finally:
            if server:
                server.stop()
            source.stop()

    def many_begin(self, count, source, names):
        row = {}
        server = servers.Server(
            "ours", self.programs["ours"],
            servers.ZoneSet("many", probe=(zone_name(count - 1), SOA)),
            f"{self.work}/m", "0,1", 1, conf=self.many_conf(count,
                                                            source.port))
        try:
            with watched(row, server):
                all_served(self.program("served"), server, names)
        except BaseException:
            self.show_log(server)
            server.stop()
            raise
        row["sec"] = time.monotonic() - server.begin
        self.note("many", "ours", step="start", zones=count, **row)
        return server

    def many_storm(self, server, source, queries):
        row = {}
        with watched(row, server, lambda: Clients(
                self.program("load"), server, queries, RATE)):
            told = source.wait()
        row["sec"] = told["at"] - server.begin
        self.settle(server)
        self.note("many", "ours", step="storm", told=told, **row)

    def many_asked(self, server):
        """Commands that answer with something of all zones."""
        for words in ASKED:
            begin = time.monotonic()
            said = self.control(server, *words)
            self.note("many", "ours", step=words[0], octets=len(said),
                      lines=said.count("\n"), sec=time.monotonic() - begin)

    def many_one(self, server, count):
        """A zone comes and goes, until clients see it."""
        name = zone_name(count)
        for step, words, served in (("addzone", [name, "p"], True),
                                    ("delzone", [name], False)):
            row = {}
            with watched(row, server):
                self.control(server, step, *words)
                wait_rcode(server.port, name, 0 if served else 5)
            self.note("many", "ours", step=step, **row)

    def many_commanded(self, server, source, queries):
        """All zones are asked for by command."""
        row = {}
        with watched(row, server, lambda: Clients(
                self.program("load"), server, queries, RATE)):
            self.control(server, "transfer")
            told = source.wait()
        self.note("many", "ours", step="transfer", told=told, **row)

    def many_again(self, server, count, source):
        """A stop, and a start with xfrd.state, when nothing is due."""
        begin = time.monotonic()
        server.process.terminate()
        server.process.wait(LIMIT_SEC)
        row = {"stop_sec": time.monotonic() - begin,
               "state": os.path.getsize(f"{server.work}/xfrd.state"),
               "list": os.path.getsize(f"{server.work}/zone.list"),
               "disk": octets_below(server.work)}
        before = source.asked.value
        server.process = subprocess.Popen(
            ["taskset", "-c", "0,1", self.programs["ours"], "-d", "-c",
             f"{server.work}/nsd.conf"], stdin=subprocess.DEVNULL,
            stdout=server.out, stderr=server.out, start_new_session=True)
        server.begin = time.monotonic()
        with watched(row, server):
            all_served(self.program("served"), server, f"{self.work}/names")
        self.settle(server)
        row["asked"] = source.asked.value - before
        self.note("many", "ours", step="again", zones=count, **row)


def all_served(program, server, names):
    found = json.loads(subprocess.run(
        ["taskset", "-c", "1", program, "-t", str(LIMIT_SEC),
         str(server.port), names], check=True, text=True,
        stdout=subprocess.PIPE).stdout)
    if not found["all"]:
        raise study.StudyError(f"{found['served']} zones are served")


def wait_rcode(port, name, rcode):
    end = time.monotonic() + 60
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(1)
        while time.monotonic() < end:
            try:
                sock.send(servers.wire_query(name, SOA, 1))
                if sock.recv(4096)[3] & 15 == rcode:
                    return
            except OSError:
                continue
    raise study.StudyError(f"{name} has not the rcode {rcode}")
