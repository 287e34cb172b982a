#!/usr/bin/env python3
"""Measures what DNS over TLS costs this server and NSD.

    tls.py [--build DIR] [--servers NAME,...] [--handshakes N] [--queries N]
           [--idle N] [--reps N]

Each server has one worker and a key of ECDSA P-256; both have the OpenSSL of the
system. Counted is the CPU time of all its processes: for a full handshake of TLS
1.3 with a connection and a query, for a resumed one, for an answer where 100
queries come at once on one connection, with TLS and without; and the memory of
a worker for a connection that is idle after a query. Medians of --reps runs, in
turns; as a table in Markdown. Nothing here fails because of a time.
"""
import argparse
import os
import pathlib
import resource
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import report  # noqa: E402
from certificates import Authority  # noqa: E402
from ports import free_port  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")
BATCH = 100
CONF = """server:
\tip-address: 127.0.0.1@{plain}
\tip-address: 127.0.0.1@{tls}
\ttls-port: {tls}
\ttls-service-key: "{key}"
\ttls-service-pem: "{cert}"
\tserver-count: 1
\tusername: ""
\tchroot: ""
\tzonesdir: "{dir}"
\tlogfile: "{dir}/log"
\tpidfile: "{dir}/pid"
\txfrdfile: "{dir}/xfrd.state"
\tzonelistfile: "{dir}/zone.list"
\txfrdir: "{dir}"
\tdatabase: ""
\ttcp-count: {conns}
\trrl-ratelimit: 0
remote-control:
\tcontrol-enable: no
zone:
\tname: example
\tzonefile: example.zone
"""
ZONE = "$TTL 60\n@ SOA ns host 1 7200 3600 86400 60\n@ NS ns\nns A 192.0.2.1\n"


def query(number):
    name = b"\2ns\7example\0" + struct.pack(">HH", 1, 1)
    message = struct.pack(">HHHHHH", number & 0xffff, 0, 1, 0, 0, 0) + name
    return struct.pack(">H", len(message)) + message


def read_answers(sock, count):
    """The answers are all of one size."""
    octets = b""
    while len(octets) < 2 or len(octets) < count * (2 + struct.unpack(
            ">H", octets[:2])[0]):
        more = sock.recv(65536)
        if not more:
            raise EOFError
        octets += more


def children(pid):
    found = [pid]
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found += children(int(child))
    return found


def cpu_sec(pid):
    total = 0
    for one in children(pid):
        stat = pathlib.Path(f"/proc/{one}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def memory(pid):
    """Private memory of all its processes, octets."""
    total = 0
    for one in children(pid):
        for line in pathlib.Path(
                f"/proc/{one}/smaps_rollup").read_text().splitlines():
            if line.startswith(("Private_Dirty:", "Private_Clean:")):
                total += int(line.split()[1]) * 1024
    return total


class Server:
    conf = CONF

    def __init__(self, program, directory, files, conns):
        directory.mkdir()
        self.plain, self.tls = free_port(), free_port()
        key, cert = files
        (directory / "example.zone").write_text(ZONE)
        conf = directory / "nsd.conf"
        conf.write_text(self.conf.format(
            plain=self.plain, tls=self.tls, key=key, cert=cert, dir=directory,
            conns=conns))
        self.process = subprocess.Popen(
            [program, "-d", "-c", str(conf)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        end = time.monotonic() + 60
        while True:
            try:
                with self.connect() as sock:
                    sock.sendall(query(0))
                    read_answers(sock, 1)
                return
            except (OSError, EOFError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def connect(self, session=None, tls=True):
        plain = socket.create_connection(
            ("127.0.0.1", self.tls if tls else self.plain), timeout=60)
        if not tls:
            return plain
        return self.context.wrap_socket(plain, session=session)

    def measure(self, what, count):
        """Microseconds of CPU for one of count."""
        before = cpu_sec(self.process.pid)
        what(count)
        return (cpu_sec(self.process.pid) - before) / count * 1e6

    def full(self, count):
        for number in range(count):
            with self.connect() as sock:
                sock.sendall(query(number))
                read_answers(sock, 1)

    def resumed(self, count):
        session = None
        reused = 0
        for number in range(count):
            with self.connect(session) as sock:
                sock.sendall(query(number))
                read_answers(sock, 1)
                reused += sock.session_reused
                session = sock.session
        if reused < count * 0.9:
            print(f"only {reused} of {count} were resumed", file=sys.stderr)

    def pipelined(self, count, tls=True):
        octets = b"".join(query(n) for n in range(BATCH))
        with self.connect(tls=tls) as sock:
            for _ in range(count // BATCH):
                sock.sendall(octets)
                read_answers(sock, BATCH)

    def idle(self, count, tls=True):
        before = memory(self.process.pid)
        held = []
        for number in range(count):
            held.append(self.connect(tls=tls))
            held[-1].sendall(query(number))
            read_answers(held[-1], 1)
        octets = (memory(self.process.pid) - before) / count
        for sock in held:
            sock.close()
        return octets


def run(args, directory):
    authority = Authority(directory / "certificates")
    files = authority.sign("ns.example")
    programs = {"ours": str(pathlib.Path(args.build) / "nsd"),
                "nsd": "/usr/sbin/nsd"}
    found = {}
    for rep in range(args.reps):
        for name, program in programs.items():
            if name not in args.servers or not os.path.exists(program):
                continue
            server = Server(program, directory / f"{name}{rep}", files,
                            args.idle + 100)
            try:
                figures = {
                    "full": server.measure(server.full, args.handshakes),
                    "resumed": server.measure(server.resumed,
                                              args.handshakes),
                    "tls": server.measure(server.pipelined, args.queries),
                    "tcp": server.measure(
                        lambda n: server.pipelined(n, False), args.queries),
                    "idle": server.idle(args.idle),
                    "idle-tcp": server.idle(args.idle, False),
                }
            finally:
                server.stop()
            found.setdefault(name, []).append(figures)
    return found


ROWS = [("full", "full handshake, a query, us of CPU", "{:.0f}"),
        ("resumed", "resumed, a query, us of CPU", "{:.0f}"),
        ("tls", "answer over TLS, 100 at once, us of CPU", "{:.2f}"),
        ("tcp", "the same over TCP", "{:.2f}"),
        ("idle", "an idle connection with TLS, octets", "{:.0f}"),
        ("idle-tcp", "one without", "{:.0f}")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--handshakes", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=200000)
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--servers", default="ours,nsd")
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="nsd-bench-") as directory:
        found = run(args, pathlib.Path(directory))
    names = list(found)
    print(report.table(["", *names], [
        [text, *(form.format(statistics.median(f[key] for f in found[name]))
                 for name in names)] for key, text, form in ROWS]))


if __name__ == "__main__":
    main()
