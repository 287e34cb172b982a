"""Observes a server while its zones change: serials, its store, its memory,
the waits of its processes."""
import os
import re
import select
import signal
import socket
import struct
import threading
import time

import servers

ZONE = "bench"
PAUSE_SEC = 100e-6


def asked_serial(port, timeout=1):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(timeout)
        try:
            sock.send(servers.wire_query(ZONE, 6, 1))
            return reply_serial(sock.recv(4096))
        except OSError:
            return None


def reply_serial(reply):
    """The serial of the SOA in an answer, as the last record (no EDNS), or the
    first one: owner and names in it may be pointers."""
    at = reply.find(struct.pack(">HHI", 6, 1, 3600), 12)
    if at < 0 or len(reply) < at + 10:
        return None
    rdlen = struct.unpack(">H", reply[at + 8:at + 10])[0]
    end = at + 10 + rdlen
    if len(reply) < end:
        return None
    return struct.unpack(">I", reply[end - 20:end - 16])[0]


class Watch:
    """Sockets that reach every worker, if they choose by the port."""

    def __init__(self, port, count):
        self.sockets = []
        self.gap_sec = 0
        for _ in range(count):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.connect(("127.0.0.1", port))
            self.sockets.append(sock)

    def wait(self, serial, limit_sec):
        """Waits until all clients have seen the serial; False if one did not
        in time."""
        return self.ask(lambda seen: seen >= serial, limit_sec)

    def wait_for(self, seconds, limit_sec):
        """Waits until all clients have an answer after so many seconds,
        whatever it says."""
        end = time.monotonic() + seconds
        return self.ask(lambda seen: time.monotonic() >= end, limit_sec)

    def ask(self, enough, limit_sec):
        """Each again and again, until its answer is enough, with a pause
        between that leaves the server its cores. Leaves gap_sec, the longest
        time in which no answer came."""
        query = servers.wire_query(ZONE, 6, 1)
        last = time.monotonic()
        end = last + limit_sec
        self.gap_sec = 0
        left = list(self.sockets)
        for sock in left:
            sock.send(query)
        while left:
            if last > end:
                return False
            ready, _, _ = select.select(left, [], [], 0.2)
            now = time.monotonic()
            self.gap_sec = max(self.gap_sec, now - last)
            last = now
            if not ready:
                ready = list(left)
                for sock in ready:
                    sock.send(query)
                continue
            for sock in ready:
                try:
                    seen = reply_serial(sock.recv(4096))
                except OSError:
                    continue
                if seen is not None and enough(seen):
                    left.remove(sock)
                else:
                    sock.send(query)
            if left:
                time.sleep(PAUSE_SEC)
        return True

    def close(self):
        for sock in self.sockets:
            sock.close()


def spent_sec(server):
    """CPU time; in ticks, with that of processes that have ended, where
    others take their place."""
    if server.kind == "nsd":
        return server.start_cpu_sec()
    return server.cpu_ns()[0] / 1e9


class Waiting:
    """The waits of a server's processes, and of the machine, since this was
    made: a process that lacks a core is not slow by itself."""

    def __init__(self, server):
        self.server = server
        self.before = self.read()

    def read(self):
        waited = 0
        for pid in self.server.pids():
            try:
                for tid in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
                        waited += int(f.read().split()[1])
            except OSError:
                pass
        with open("/proc/stat") as f:
            stolen = int(f.readline().split()[8])
        return (waited / 1e6, stolen / os.sysconf("SC_CLK_TCK") * 1e3,
                udp_drops(self.server.port))

    def row(self):
        after = self.read()
        row = dict(zip(("waited_ms", "stolen_ms", "queue_full"),
                       (b - a for a, b in zip(self.before, after))))
        # NSD's processes end, and their waits go with them.
        if self.server.kind == "nsd":
            row["waited_ms"] = None
        return row


def udp_drops(port):
    """Datagrams for which the sockets on a port had no room."""
    drops = 0
    with open("/proc/net/udp") as f:
        next(f)
        for line in f:
            fields = line.split()
            if int(fields[1].split(":")[1], 16) == port:
                drops += int(fields[-1])
    return drops


def store_line(server):
    """The line of our server about its store, once nothing waits for
    readers."""
    path = os.path.join(server.work, "nsd.log")
    end = time.monotonic() + 10
    while time.monotonic() < end:
        known = os.path.getsize(path)
        server.process.send_signal(signal.SIGUSR1)
        late = time.monotonic() + 1
        while time.monotonic() < late:
            with open(path, errors="replace") as f:
                f.seek(known)
                found = re.search(r"STORE (.*)\n", f.read())
            if found:
                break
            time.sleep(0.01)
        if found:
            line = {k: int(v) for k, v in
                    re.findall(r"(\w+)=(\d+)", found[1])}
            if line["retired"] == 0:
                return line
            time.sleep(0.05)
    return None


class MemoryPeak:
    """PSS of all processes, every 30 ms, in a thread."""

    def __init__(self, server):
        self.server = server
        self.rest_kib = self.peak_kib = server.pss_kib()
        self.samples = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.ended.wait(0.03):
            self.peak_kib = max(self.peak_kib, self.server.pss_kib())
            self.samples += 1

    def stop(self):
        self.ended.set()
        self.thread.join(5)
