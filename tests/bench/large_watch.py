"""Of the study of large zones: what a server's processes have of memory while
something is done, clients beside, and a primary whose differences lie in files."""
import collections
import contextlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import threading
import time

import primary
import servers
import study
from update_changes import soa_wire
from update_watch import ZONE, reply_serial

MIB = 1 << 20
LOOK_SEC = 0.25
# Queries are sent in turns of so many seconds, each with a figure of its own.
TURN_SEC = 2
WINDOW = "4096"
SOCKETS = 4
SEND_SEC = 600
KINDS = ("Pss_Anon", "Pss_Shmem", "Pss_File")


def memory_of(pid):
    """(role, octets without files, octets of mapped files) of a process."""
    name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    rows = {}
    with open(f"/proc/{pid}/smaps_rollup") as f:
        for line in f:
            words = line.split()
            if words[0][:-1] in KINDS:
                rows[words[0][:-1]] = int(words[1]) << 10
    return name.removeprefix("nsd: "), rows["Pss_Anon"] + rows["Pss_Shmem"], \
        rows["Pss_File"]


class Memory(threading.Thread):
    """Looks at all processes of a server again and again: the most of each
    role, of all together, and of what they map of files."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ended = server, threading.Event()
        self.most = collections.Counter()
        self.looks = 0
        self.look()

    def look(self):
        now, files = collections.Counter(), 0
        for pid in self.server.pids():
            with contextlib.suppress(OSError, KeyError):
                role, octets, mapped = memory_of(pid)
                now[role] += octets
                files += mapped
        now["all"] = sum(now.values())
        now["files"] = files
        for role, octets in now.items():
            self.most[role] = max(self.most[role], octets)
        self.looks += 1
        return now

    def run(self):
        while not self.ended.wait(LOOK_SEC):
            self.look()

    def end(self):
        self.ended.set()
        self.join()
        return {"most": dict(self.most), "rest": dict(self.look()),
                "looks": self.looks}


class Clients(threading.Thread):
    """Queries at a rate, in turns, until it is ended: how many were lost, and
    how long 99 in 100 answers took in the worst turn and in the median one."""

    def __init__(self, program, server, queries, rate):
        super().__init__(daemon=True)
        self.command = ["taskset", "-c", "1", program, "-i", "-t",
                        str(TURN_SEC), "-r", str(rate), "-w", WINDOW, "-c",
                        str(SOCKETS), "-l", "1000", "udp", str(server.port),
                        queries]
        self.turns, self.ended = [], threading.Event()
        self.failure = None

    def run(self):
        while not self.ended.is_set():
            done = subprocess.run(
                [*self.command[:4], "-s", str(len(self.turns) * 1009),
                 *self.command[4:]], text=True, stdout=subprocess.PIPE,
                check=False)
            if done.returncode:
                self.failure = f"the load ended with {done.returncode}"
                return
            self.turns.append(json.loads(done.stdout))

    def end(self):
        self.ended.set()
        self.join()
        if self.failure or not self.turns:
            raise study.StudyError(self.failure or "no queries were sent")
        p99 = sorted(turn["p99"] for turn in self.turns if "p99" in turn)
        return {"asked": sum(turn["sent"] for turn in self.turns),
                "lost": sum(turn["sent"] - turn["answered"]
                            for turn in self.turns),
                "servfail": sum(turn["servfail"] for turn in self.turns),
                "p99_us": p99[len(p99) // 2] if p99 else None,
                "p99_worst_us": p99[-1] if p99 else None,
                "most_us": max((turn["max"] for turn in self.turns
                                if "max" in turn), default=None)}


@contextlib.contextmanager
def watched(row, server, clients=None):
    """Fills a row: seconds, seconds of CPU, memory and clients."""
    memory, spent = Memory(server), server.start_cpu_sec()
    began = clients() if clients else None
    if began:
        began.start()
    memory.start()
    begin = time.monotonic()
    try:
        yield
        row["sec"] = time.monotonic() - begin
        row["cpu_sec"] = server.start_cpu_sec() - spent
    finally:
        row["memory"] = memory.end()
        if began:
            row["clients"] = began.end()


def wait_serial(port, serial, limit_sec, remind=None):
    """Until the zone has the serial. remind: is called every ten seconds."""
    query = servers.wire_query(ZONE, primary.SOA, 1)
    end = time.monotonic() + limit_sec
    again = time.monotonic() + 10
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(1)
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                sock.send(query)
                if reply_serial(sock.recv(4096)) == serial:
                    return True
            if remind and time.monotonic() > again:
                remind()
                again = time.monotonic() + 10
            time.sleep(0.02)
    return False


class FilePrimary(primary.Primary):
    """Serves IXFR from files of messages, as gen_changes makes them."""

    def __init__(self, serial):
        super().__init__(ZONE, serial, soa_wire)
        self.files = {}

    def give(self, path):
        """The file leads from the serial of now to the next one."""
        self.files[self.serial] = path
        self.serial += 1

    def answers(self, query, tcp):
        if tcp and self.asks_ixfr(query):
            for sock in self.connections:
                sock.settimeout(SEND_SEC)
            held = self.held_serial(query)
            if held in self.files:
                self.transfers += 1
                return self.messages_of(query[:2], self.files[held])
        return super().answers(query, tcp)

    def asks_ixfr(self, query):
        at = 12 + len(self.zone)
        return query[at:at + 2] == struct.pack(">H", primary.IXFR)

    @staticmethod
    def held_serial(query):
        at = query.find(struct.pack(">HH", primary.SOA, 1), 12)
        rdlen = struct.unpack(">H", query[at + 8:at + 10])[0]
        end = at + 10 + rdlen
        return struct.unpack(">I", query[end - 20:end - 16])[0]

    @staticmethod
    def messages_of(ident, path):
        with open(path, "rb") as f:
            while size := f.read(2):
                yield ident + f.read(int.from_bytes(size, "big"))[2:]


def octets_below(folder, leave_out=()):
    """Octets of the files of a server, but for some."""
    total = 0
    for path in pathlib.Path(folder).rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and path.name not in leave_out:
                total += path.stat().st_blocks * 512
    return total


def available():
    with open("/proc/meminfo") as f:
        for line in f:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 0


def replace(source, path):
    """The file at path becomes the source, by a rename and without a copy."""
    os.link(source, path + ".new")
    os.utime(path + ".new")
    os.rename(path + ".new", path)
