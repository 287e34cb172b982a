#!/usr/bin/env python3
"""Measures what DNS over TLS costs this server and others.

    tls.py [--build DIR] [--servers NAME,...] [--program NAME=PATH]
           [--handshakes N] [--queries N] [--idle N] [--reps N]
           [--instructions] [--doc FILE]

    /usr/bin/python3 tests/bench/tls.py --build build/release \\
        --doc doc/performance/tls.md            (idle: some 3 minutes)

Each server has one worker on core 0 and a key of ECDSA P-256; the client, on
core 1, speaks TLS 1.3 and takes the server's choice of all else. Counted is
the CPU time of all its threads, the kernel's part included, so what it can do
in a second on one core is the inverse: for a full handshake with its
connection and a query, for a resumed one, for an answer where 100 queries come
at once on one connection, with TLS and without; and memory for a connection
that is idle after a query. Medians of --reps runs, in turns; as a table in
Markdown. With --instructions these are counted by perf in place of time, which
a busy machine does not change. Nothing here fails because of a time.

Servers: ours, nsd, bind, and knot from version 3.4 on; --program knot=PATH
names one that is elsewhere. What has no TLS is named and left out.
"""
import argparse
import os
import pathlib
import resource
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402
from certificates import Authority  # noqa: E402
from ports import free_port  # noqa: E402
from tls_server import BATCH, ZONE, query, read_answers  # noqa: E402

LIMIT = 10  # seconds for an answer
PAGE = """# DNS over TLS

Made by `tests/bench/tls.py`; nobody edits it. {machine}
{versions}.

One worker on one core, the client on the other, TLS 1.3, a key of ECDSA P-256.
{unit} of all threads of the server, the kernel's part included; medians of
{reps} runs, in turns, of {handshakes} handshakes, {queries} queries and {idle} idle
connections. *Times* is how many more a second than NSD, or, of resumed
handshakes, than full ones of the same server. Memory is that of the processes; the
kernel has sockets besides. What OpenSSL takes of it, and why a resumed handshake
is no cheaper, is in [decision 0120](../decisions/0120-what-bounds-handshakes.md).

{table}"""


def conf_of(kind, files, port, idle):
    """A configuration that has TLS on a port, and room for connections."""
    key, cert = files

    def make(*args):
        name, text = servers.CONFS[kind](*args)
        if kind in ("ours", "nsd"):
            return name, text.replace("tcp-count: 1000", (
                f"tcp-count: {4 * idle}\n\tip-address: 127.0.0.1@{port}\n"
                f'\ttls-port: {port}\n\ttls-service-key: "{key}"\n'
                f'\ttls-service-pem: "{cert}"'))
        if kind == "bind":
            text = text.replace("tcp-clients 1000", (
                f"tcp-clients {4 * idle};\n"
                f"\tlisten-on port {port} tls own {{ 127.0.0.1; }}"))
            return name, (f'tls own {{ key-file "{key}"; cert-file "{cert}"; '
                          f"}};\n{text}")
        # With tcp-reuseport Knot 3.4.6 takes no connections over TLS.
        text = text.replace("tcp-reuseport: on", "tcp-reuseport: off")
        return name, text.replace("tcp-max-clients: 1000", (
            f"tcp-max-clients: {4 * idle}\n    tcp-idle-timeout: 120\n"
            f"    listen-tls: 127.0.0.1@{port}\n"
            f'    key-file: "{key}"\n    cert-file: "{cert}"'))
    return make


class Instructions:
    """Counts those of processes by perf."""

    def __init__(self, pids):
        self.perf = subprocess.Popen(
            ["perf", "stat", "-x", ",", "-e", "instructions:u,instructions:k",
             "-p", ",".join(map(str, pids))], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)

    def stop(self):
        self.perf.send_signal(signal.SIGINT)
        lines = self.perf.communicate(timeout=LIMIT)[1].splitlines()
        counts = [line.split(",")[0] for line in lines
                  if ",instructions:" in line]
        return sum(int(count) for count in counts)


class Server:
    def __init__(self, kind, program, zones, files, args, work):
        self.tls = free_port()
        self.by_instructions = args.instructions
        self.server = servers.Server(
            kind, program, zones, work,
            conf=conf_of(kind, files, self.tls, args.idle))
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.set_alpn_protocols(["dot"])

    def is_ready(self):
        """False: the server does not serve over TLS."""
        if not self.server.wait(30):
            return False
        try:
            self.full(20)
        except (OSError, EOFError):
            return False
        return True

    def connect(self, session=None, tls=True):
        plain = socket.create_connection(
            ("127.0.0.1", self.tls if tls else self.server.port),
            timeout=LIMIT)
        if not tls:
            return plain
        return self.context.wrap_socket(plain, session=session)

    def measure(self, what, count):
        """ns of CPU, or instructions, for one of count; None: it does not
        answer."""
        if self.by_instructions:
            counter = Instructions(self.server.pids())
        else:
            before = self.server.cpu_ns()[0]
        try:
            what(count)
        except (OSError, EOFError):
            count = None
        spent = (counter.stop() if self.by_instructions
                 else self.server.cpu_ns()[0] - before)
        return spent / count if count else None

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
            print(f"{self.server.kind}: only {reused} of {count} were resumed",
                  file=sys.stderr)

    def pipelined(self, count, tls=True):
        octets = b"".join(query(n) for n in range(BATCH))
        with self.connect(tls=tls) as sock:
            for _ in range(count // BATCH):
                sock.sendall(octets)
                read_answers(sock, BATCH)

    def idle(self, count, tls=True):
        """Octets for one of count."""
        before = self.server.pss_kib()
        held = []
        try:
            for number in range(count):
                held.append(self.connect(tls=tls))
                held[-1].sendall(query(number))
                read_answers(held[-1], 1)
            return (self.server.pss_kib() - before) * 1024 / count
        except (OSError, EOFError):
            return None
        finally:
            for sock in held:
                sock.close()


def version_of(kind, program):
    done = subprocess.run([program, "--version" if kind == "knot" else "-v"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    lines = done.stdout.strip().splitlines()
    slow = " (with the asserts of hot paths)" \
        if "--enable-hot-asserts" in done.stdout else ""
    return lines[0].replace(" <id:>", "") + slow


def programs(args):
    named = dict(one.split("=", 1) for one in args.program)
    found = {}
    for kind in args.servers.split(","):
        path = named.get(kind) or (
            str(pathlib.Path(args.build) / "nsd") if kind == "ours"
            else servers.find_program(servers.RIVALS[kind]))
        if path and os.access(path, os.X_OK):
            found[kind] = path
        else:
            print(f"{kind} is missing", file=sys.stderr)
    return found


def run(args, found, directory):
    """{server: {what: [figures]}}"""
    files = Authority(directory / "certificates").sign("ns.example")
    zone = directory / "example.zone"
    zone.write_text(ZONE)
    zones = servers.ZoneSet("tls", {"example": str(zone)},
                            probe=("ns.example", 1))
    figures = {}
    for _ in range(args.reps):
        for kind in list(found):
            server = Server(kind, found[kind], zones, files, args,
                            str(directory))
            try:
                if not server.is_ready():
                    print(f"{kind} has no TLS", file=sys.stderr)
                    del found[kind]
                    continue
                rows = figures.setdefault(kind, {})
                for key, value in (
                        ("full", server.measure(server.full,
                                                args.handshakes)),
                        ("resumed", server.measure(server.resumed,
                                                   args.handshakes)),
                        ("tls", server.measure(server.pipelined,
                                               args.queries)),
                        ("tcp", server.measure(
                            lambda n: server.pipelined(n, False),
                            args.queries)),
                        # TCP first: it would reuse memory that TLS has freed.
                        ("idle-tcp", server.idle(args.idle, False)),
                        ("idle", server.idle(args.idle))):
                    rows.setdefault(key, []).append(value)
            finally:
                server.server.stop()
    return figures


def ratio(above, below):
    return f"{above / below:.2f}" if above and below else "-"


def table_of(figures, instructions):
    """Rows of what, columns of servers."""
    middle = {kind: {key: None if None in values
                     else statistics.median(values)
                     for key, values in rows.items()}
              for kind, rows in figures.items()}
    times = "instructions" if instructions else "us of CPU"

    def text(kind, key, unit, digits):
        value = middle[kind][key]
        return "does not answer all" if value is None \
            else f"{value / unit:,.{digits}f}"
    part = 1 if instructions else 1000
    small = 0 if instructions else 2
    rows = [[label, *(text(kind, key, unit, digits) for kind in middle)]
            for label, key, unit, digits in (
                (f"full handshake and a query, {times}", "full", part, 0),
                (f"resumed and a query, {times}", "resumed", part, 0),
                (f"an answer over TLS, {BATCH} at once, {times}", "tls", part,
                 small),
                (f"the same over TCP, {times}", "tcp", part, small),
                ("an idle connection with TLS, octets", "idle", 1, 0),
                ("one without, octets", "idle-tcp", 1, 0))]
    nsd = middle.get("nsd", {})
    rows.insert(1, ["times NSD's full handshakes a second", *(
        ratio(nsd.get("full"), middle[kind]["full"]) for kind in middle)])
    rows.insert(3, ["times its own full handshakes a second", *(
        ratio(middle[kind]["full"], middle[kind]["resumed"])
        for kind in middle)])
    rows.insert(6, ["answers: TLS over TCP", *(
        ratio(middle[kind]["tls"], middle[kind]["tcp"]) for kind in middle)])
    return report.table(["", *middle], rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--handshakes", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=200000)
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--servers", default="ours,nsd,knot,bind")
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--doc")
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.sched_setaffinity(0, {1})
    found = programs(args)
    versions = [f"{kind}: {version_of(kind, path)}"
                for kind, path in found.items()]
    result = {}
    others = machine.Others(result)
    others.part = "tls"
    with tempfile.TemporaryDirectory(prefix="nsd-bench-") as directory, \
            others.watched():
        figures = run(args, found, pathlib.Path(directory))
    table = table_of(figures, args.instructions)
    print(table)
    if args.doc:
        pathlib.Path(args.doc).write_text(PAGE.format(
            machine=f"{machine.name()}. "
                    f"{machine.others_text(result.get('tls'))}",
            versions=", ".join(versions), table=table, reps=args.reps,
            unit="Instructions" if args.instructions else "CPU time",
            handshakes=args.handshakes, queries=args.queries, idle=args.idle))


if __name__ == "__main__":
    main()
