"""Of the bench of transfers: many secondary zones with nothing to fetch.

What xfrd keeps of each, above the same zones without a primary, and what all
processes do while nothing is due. All zones have one file."""
import multiprocessing
import os
import pathlib
import socket
import struct
import time

import servers
from primary import SOA, wire_record

LIMIT_SEC = 300
QUIET_SEC = 8
REST_SEC = 30
PROBE = "r0.rest"
ZONE_FILE = ("$TTL 3600\n@ SOA . . 1 86400 3600 604800 900\n@ NS ns\n"
             "ns A 192.0.2.1\n")


class Primary:
    """Answers each query for a SOA over UDP: with that of the file."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.sock.bind(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.asked = multiprocessing.Value("q", 0)
        self.process = multiprocessing.Process(target=self.run, daemon=True)
        self.process.start()

    def run(self):
        os.sched_setaffinity(0, {1})
        soa = b"\xc0\x0c" + wire_record("", 3600, SOA, b"\0\0" + struct.pack(
            ">IIIII", 1, 86400, 3600, 604800, 900))[1:]
        while True:
            query, address = self.sock.recvfrom(4096)
            end = query.index(b"\0", 12) + 5
            self.sock.sendto(query[:2] + struct.pack(
                ">HHHHH", 0x8400, 1, 1, 0, 0) + query[12:end] + soa, address)
            self.asked.value += 1

    def wait_quiet(self, count):
        """Until all zones were asked for, and nothing more for a while."""
        begin = changed = time.monotonic()
        last = 0
        while time.monotonic() < changed + QUIET_SEC or last < count:
            if time.monotonic() > begin + LIMIT_SEC:
                raise ValueError(f"{last} of {count} zones were asked for")
            time.sleep(0.2)
            if self.asked.value != last:
                last, changed = self.asked.value, time.monotonic()

    def stop(self):
        self.process.terminate()
        self.process.join()
        self.sock.close()


def conf(count, port):
    """port: of the primary; None: zones without one."""
    def make(work, own_port, workers, zones):
        name, text = servers.conf_nsd(work, own_port, workers, zones)
        pathlib.Path(work, "one.zone").write_text(ZONE_FILE)
        options = "" if port is None else \
            f"\trequest-xfr: 127.0.0.1@{port} NOKEY\n" \
            "\tallow-notify: 127.0.0.1 NOKEY\n"
        text = text.replace("server:\n", "server:\n\tzonefiles-write: 0\n", 1)
        return name, text + (f'pattern:\n\tname: "all"\n\tzonefile: '
                             f'"{work}/one.zone"\n{options}') + "".join(
            f"zone:\n\tname: r{n}.rest\n\tinclude-pattern: all\n"
            for n in range(count))
    return make


def private_octets(server):
    """The private memory of xfrd: shared pages cost nothing more."""
    for pid in server.pids():
        if pathlib.Path(f"/proc/{pid}/comm").read_text() == "nsd: xfrd\n":
            lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            return sum(int(line.split()[1]) * 1024
                       for line in lines.splitlines()
                       if line.startswith("Private_"))
    raise ValueError("there is no xfrd")


def measure(program, work, count, port, settle):
    """(octets of xfrd, CPU time of all processes as a part of one core)"""
    server = servers.Server("ours", program,
                            servers.ZoneSet("rest", probe=(PROBE, SOA)),
                            f"{work}/s", "0", 1, conf=conf(count, port))
    try:
        if not server.wait(LIMIT_SEC):
            raise ValueError("does not serve the zones")
        settle()
        octets = private_octets(server)
        before = server.cpu_ns()[0]
        time.sleep(REST_SEC)
        return octets, (server.cpu_ns()[0] - before) / 1e9 / REST_SEC
    finally:
        server.stop()


def rest_row(program, work, count):
    bare, _ = measure(program, work, count, None,
                      lambda: time.sleep(QUIET_SEC))
    primary = Primary()
    try:
        octets, cpu = measure(program, work, count, primary.port,
                              lambda: primary.wait_quiet(count))
    finally:
        primary.stop()
    return [f"{count:,}", f"{(octets - bare) / count:.0f}",
            f"{octets / 2**20:.0f}", f"{cpu * 100:.2f} %"]


REST_HEAD = ["zones", "octets of xfrd for each", "xfrd, MiB",
             "of a core, at rest"]
