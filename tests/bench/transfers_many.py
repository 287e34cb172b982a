"""Of the bench of transfers: many small zones of one primary.

All are fetched at a start; then, from a primary made here, changes of one zone
after the other at a fixed rate."""
import collections
import heapq
import json
import os
import select
import socket
import struct
import subprocess
import time

import servers
from dnssec import wait_settled
from ports import free_port
from primary import IXFR, NOTIFY, SOA, wire_name, wire_record

LIMIT_SEC = 600
SERIAL = 1
ASK_AGAIN_SEC = 0.0002
# The pause before another question for a serial grows with the time that it has
# taken: or questions would be most of the work of a server that is behind.
ASK_AGAIN_SHARE = 0.02
REPEAT_SEC = 1
LOST_SEC = 10
WARM_SEC = 8
ASKED = ("www A", "www AAAA", "@ MX", "@ TXT", "none A")


def zone_name(n):
    return f"z{n}.many"


def zone_text(serial):
    return (f"$TTL 3600\n@ SOA ns host {serial} 3600 900 604800 900\n@ NS ns\n"
            "ns A 192.0.2.1\nns AAAA 2001:db8::1\n@ MX 10 mail\n"
            "mail A 192.0.2.2\nwww A 192.0.2.3\nwww AAAA 2001:db8::3\n"
            '@ TXT "v=spf1 -all"\n')


def make_zones(folder, count):
    os.makedirs(folder)
    for n in range(count):
        with open(f"{folder}/{zone_name(n)}", "w") as f:
            f.write(zone_text(SERIAL))


# ---- configurations: of a primary with files, of a secondary of a port

def clauses_nsd(folder, count, port):
    for n in range(count):
        yield f'zone:\n\tname: "{zone_name(n)}"\n\tzonefile: ' \
            f'"{folder}/{zone_name(n)}"\n'
        if port:
            yield f"\trequest-xfr: 127.0.0.1@{port} NOKEY\n" \
                "\tallow-notify: 127.0.0.1 NOKEY\n"
        else:
            yield "\tprovide-xfr: 127.0.0.1 NOKEY\n"


def clauses_knot(folder, count, port):
    yield f"remote:\n  - id: p\n    address: 127.0.0.1@{port}\n"
    yield "acl:\n  - id: n\n    address: 127.0.0.1\n    action: notify\n"
    yield "zone:\n"
    for n in range(count):
        yield f'  - domain: "{zone_name(n)}"\n    master: p\n    acl: n\n' \
            f'    file: "{folder}/{zone_name(n)}"\n'


def clauses_bind(folder, count, port):
    for n in range(count):
        yield f'zone "{zone_name(n)}" {{ type secondary; file ' \
            f'"{folder}/{zone_name(n)}"; primaries port {port} ' \
            "{ 127.0.0.1; }; allow-notify { 127.0.0.1; }; " \
            "masterfile-format text; };\n"


CLAUSES = {"ours": clauses_nsd, "nsd": clauses_nsd, "knot": clauses_knot,
           "bind": clauses_bind}


def conf(kind, folder, count, port):
    """The configuration for servers.Server; port: of the primary, or None."""
    def make(work, own_port, workers, zones):
        own = folder
        if port:
            own = f"{work}/zones"
            if folder:
                os.rename(folder, own)
            else:
                os.makedirs(own)
        name, text = servers.CONFS[kind](work, own_port, workers,
                                         servers.ZoneSet("many"))
        if kind == "bind":
            text = text.replace("options {\n", "options {\n\tserial-query-rate"
                                " 10000; transfers-in 100; transfers-per-ns "
                                "100;\n", 1)
        if kind in ("ours", "nsd"):
            text = text.replace("server:\n",
                                "server:\n\tzonefiles-write: 0\n", 1)
        return name, text + "".join(CLAUSES[kind](own, count, port))
    return make


# ---- all of them, at a start

def wait_served(build, path, count, server):
    """The seconds from a server's start until all zones are served. Who asks
    for them shares the core of the primary."""
    names = f"{path}/names"
    with open(names, "w") as f:
        f.writelines(f"{zone_name(n)}\n" for n in range(count))
    found = json.loads(subprocess.run(
        ["taskset", "-c", "1", f"{build}/tests/bench/served", "-t",
         str(LIMIT_SEC), str(server.port), names],
        check=True, text=True, stdout=subprocess.PIPE).stdout)
    if not found["all"]:
        raise ValueError(f"{count - found['served']} zones were not served")
    return found["at"] - server.begin


def fetch(kind, program, work, count):
    """(seconds from the start of a secondary until all zones are served, CPU
    seconds, MiB at rest). The primary, ours, is on the other core."""
    ours = work.program("ours")
    folder = f"{work.path}/many"
    probe = servers.ZoneSet("many", probe=(zone_name(count - 1), SOA))
    make_zones(folder, count)
    first = servers.Server("ours", ours, probe, f"{work.path}/p", "1", 1,
                           conf=conf("ours", folder, count, None))
    second = None
    try:
        if not first.wait(LIMIT_SEC):
            raise ValueError("the primary does not serve the zones")
        second = servers.Server(kind, program, probe, f"{work.path}/s", "0",
                                1, conf=conf(kind, None, count, first.port))
        took = wait_served(work.args.build, work.path, count, second)
        cpu = second.start_cpu_sec()
        wait_settled(second)
        return took, cpu, second.pss_kib() / 1024
    finally:
        if second:
            second.stop()
        first.stop()
        for n in range(count):
            os.unlink(f"{folder}/{zone_name(n)}")
        os.rmdir(folder)


# ---- changes, one zone after the other

class Primary:
    """SOA, NOTIFY and IXFR of many zones, in the turns of its owner."""

    def __init__(self, count):
        self.zones = {wire_name(zone_name(n)): n for n in range(count)}
        self.wires = list(self.zones)
        self.serials = [SERIAL] * count
        self.port = free_port()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        self.tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.tcp.bind(("127.0.0.1", self.port))
        self.tcp.listen(256)
        self.transfers = 0
        self.buffers = {}

    def soa(self, n, serial):
        apex = zone_name(n)
        return wire_record(apex, 3600, SOA, wire_name("ns." + apex)
                           + wire_name("host." + apex)
                           + struct.pack(">IIIII", serial, 3600, 900, 604800,
                                         900))

    def address(self, n, serial):
        last = (serial - SERIAL + 3) & 0xffff
        return wire_record("www." + zone_name(n), 3600, 1,
                           bytes([192, 0, *divmod(last + 512, 256)]))

    def answer(self, query):
        ident, _, _, _, _, _ = struct.unpack(">HHHHHH", query[:12])
        end = query.index(b"\0", 12) + 1
        n = self.zones.get(query[12:end].lower())
        question = query[12:end + 4]
        if n is None:
            return struct.pack(">HHHHHH", ident, 0x8405, 1, 0, 0, 0) + question
        now = self.serials[n]
        records = [self.soa(n, now)]
        if question[-4:-2] == struct.pack(">H", IXFR):
            self.transfers += 1
            rdlen = struct.unpack(">H", query[end + 14:end + 16])[0] \
                if query[end + 4] >= 192 else None
            if rdlen is None:
                at = query.index(b"\0", end + 4) + 1
                rdlen = struct.unpack(">H", query[at + 8:at + 10])[0]
                at += 10 + rdlen
            else:
                at = end + 16 + rdlen
            held = struct.unpack(">I", query[at - 20:at - 16])[0]
            for serial in range(held, now):
                records += [self.soa(n, serial), self.address(n, serial),
                            self.soa(n, serial + 1),
                            self.address(n, serial + 1)]
            if len(records) > 1:
                records.append(records[0])
        return struct.pack(">HHHHHH", ident, 0x8400, 1, len(records), 0, 0) \
            + question + b"".join(records)

    def take(self, sock, poll):
        """Handles the input of a socket."""
        if sock is self.udp:
            query, address = sock.recvfrom(4096)
            self.udp.sendto(self.answer(query), address)
        elif sock is self.tcp:
            connection, _ = sock.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.buffers[connection.fileno()] = (connection, bytearray())
            poll.register(connection, select.EPOLLIN)
        else:
            self.take_stream(sock, poll)

    def take_stream(self, sock, poll):
        buffer = self.buffers[sock.fileno()][1]
        try:
            data = sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            poll.unregister(sock)
            del self.buffers[sock.fileno()]
            sock.close()
            return
        buffer += data
        replies = []
        while len(buffer) >= 2:
            size = int.from_bytes(buffer[:2], "big")
            if len(buffer) < 2 + size:
                break
            reply = self.answer(bytes(buffer[2:2 + size]))
            replies.append(struct.pack(">H", len(reply)) + reply)
            del buffer[:2 + size]
        if replies:
            sock.sendall(b"".join(replies))


class Rate:
    """Changes at a rate, and when each is served. A NOTIFY whose change is not
    served is sent again, as primaries do, and so is a question without a
    reply."""
    ask_again_sec = ASK_AGAIN_SEC
    repeat_sec = REPEAT_SEC

    def __init__(self, primary, port, rate, seconds):
        self.primary, self.rate, self.seconds = primary, rate, seconds
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.connect(("127.0.0.1", port))
        self.sock.setblocking(False)
        self.poll = select.epoll()
        self.files = {s.fileno(): s for s in (primary.udp, primary.tcp,
                                              self.sock)}
        for sock in [*self.files.values(),
                     *(s for s, _ in primary.buffers.values())]:
            self.poll.register(sock, select.EPOLLIN)
        self.told = {}      # zone: (when, serial)
        self.notified = {}  # zone: when
        self.again = []     # (when, zone), a heap
        self.asked = {}     # zone: when, while there is no reply
        self.silent = collections.deque()
        self.took, self.skipped = [], 0
        self.served_sec = []   # of each that was served, since the first

    def change(self, n):
        if n in self.told:
            self.skipped += 1
            return
        self.primary.serials[n] += 1
        serial = self.primary.serials[n]
        self.told[n] = (time.monotonic(), serial)
        self.notify(n)
        self.ask_later(n, time.monotonic(), self.ask_again_sec)

    def notify(self, n):
        self.notified[n] = time.monotonic()
        serial = self.primary.serials[n]
        self.sock.send(struct.pack(">HHHHHH", serial & 0xffff,
                                   NOTIFY << 11 | 0x400, 1, 1, 0, 0)
                       + self.primary.wires[n] + struct.pack(">HH", SOA, 1)
                       + self.primary.soa(n, serial))

    def take_reply(self):
        try:
            reply = self.sock.recv(4096)
        except OSError:
            return
        now = time.monotonic()
        end = reply.index(b"\0", 12) + 1
        n = self.primary.zones.get(reply[12:end].lower())
        if reply[2] >> 3 & 15 == NOTIFY or n not in self.told:
            return
        when, serial = self.told[n]
        self.asked.pop(n, None)
        # The SOA has no name behind it that ends the same way.
        if struct.pack(">II", serial, 3600) in reply[end:]:
            self.took.append((now - when) * 1e3)
            self.served_sec.append(now - self.begin)
            del self.told[n]
        else:
            self.ask_later(n, now, max(self.ask_again_sec,
                                       ASK_AGAIN_SHARE * (now - when)))
            if now - self.notified[n] >= self.repeat_sec:
                self.notify_again(n)

    def notify_again(self, n):
        try:
            self.notify(n)
        except OSError:
            pass    # another time

    def repeat(self, now):
        """Asks anew what has had no reply: sockets lose datagrams while the
        machine stands still."""
        while self.silent and self.silent[0][0] <= now:
            _, n, when = self.silent.popleft()
            if self.asked.get(n) == when:
                self.ask_later(n, now, 0)

    def ask_later(self, n, now, pause_sec):
        heapq.heappush(self.again, (now + pause_sec, n))

    def ask(self, now):
        while self.again and self.again[0][0] <= now:
            n = heapq.heappop(self.again)[1]
            if n in self.told:
                try:
                    self.sock.send(servers.wire_query(zone_name(n), SOA, n
                                                      & 0xffff))
                    self.asked[n] = now
                    self.silent.append((now + self.repeat_sec, n, now))
                except OSError:
                    self.ask_later(n, now, ASK_AGAIN_SEC)

    def wait(self, due):
        """The files that are ready, or none at a time, monotonic. An epoll set
        waits for whole milliseconds, select for microseconds: with the former
        a serial would be seen up to a millisecond late, the later the fewer
        messages its secondary sends, as each of them ends the wait."""
        left = max(0, due - time.monotonic())
        ready = select.select([self.poll.fileno()], [], [], left)[0]
        return self.poll.poll(0) if ready else []

    def run(self):
        begin = self.begin = now = time.monotonic()
        sent, total = 0, self.rate * self.seconds
        while sent < total or \
                self.told and now < begin + self.seconds + LOST_SEC:
            now = time.monotonic()
            while sent < total and sent < (now - begin) * self.rate:
                self.change(sent % len(self.primary.wires))
                sent += 1
            self.repeat(now)
            self.ask(now)
            due = [begin + sent / self.rate] if sent < total else []
            due += [at for at, _ in self.again[:1]]
            for fd, _ in self.wait(min(due, default=now + ASK_AGAIN_SEC)):
                if fd == self.sock.fileno():
                    self.take_reply()
                    continue
                sock = self.files.get(fd) or self.primary.buffers[fd][0]
                self.primary.take(sock, self.poll)
        return len(self.told)


class Queries:
    """Clients over UDP beside, at a rate, on the core of the primary."""

    def __init__(self, work, port, count, rate, seconds):
        path = f"{work.path}/queries"
        with open(path, "w") as f:
            for n in range(count):
                for line in ASKED:
                    owner, rrtype = line.split()
                    owner = owner.replace("@", "") and f"{owner}."
                    f.write(f"{owner}{zone_name(n)} {rrtype}\n")
        self.process = subprocess.Popen(
            ["taskset", "-c", "1", f"{work.args.build}/tests/bench/load",
             "-i", "-t", str(seconds), "-r", str(rate), "-w", "4096", "-c",
             "4", "-l", "1000", "udp", str(port), path],
            text=True, stdout=subprocess.PIPE)

    def end(self):
        """(asked, not answered, p99 in milliseconds)"""
        counts = json.loads(self.process.communicate()[0])
        return (counts["sent"], counts["sent"] - counts["answered"],
                counts.get("p99", 0) / 1000)


def changed(kind, program, work, rate, seconds):
    """(the run, changes that were not served, CPU milliseconds for one, what
    came of queries beside). 1,000 zones; the secondary on one core, the primary
    and whoever asks on the other."""
    count = 1000
    os.sched_setaffinity(0, {1})
    folder = f"{work.path}/many"
    make_zones(folder, count)
    primary = Primary(count)
    server = servers.Server(
        kind, program, servers.ZoneSet("many", probe=(zone_name(0), SOA)),
        f"{work.path}/s", "0", 1, conf=conf(kind, folder, count, primary.port))
    try:
        if not server.wait(LIMIT_SEC):
            raise ValueError("does not serve the zones")
        # The server asks for all zones at its start.
        Rate(primary, server.port, 20, WARM_SEC).run()
        before = server.start_cpu_sec()
        run = Rate(primary, server.port, rate, seconds)
        queries = Queries(work, server.port, count, work.args.queries, seconds)
        late = run.run()
        beside = queries.end()
        cpu = (server.start_cpu_sec() - before) / max(1, len(run.took)) * 1e3
        return run, late, cpu, beside
    finally:
        server.stop()
