#!/usr/bin/env python3
"""Measures how many queries wait for a server that stands still.

    buffers_study.py [--build DIR] [--tmp DIR] [--out DIR] [--doc DIR]
                     [--servers NAME,...] [--program NAME=PATH]
                     [--sizes OCTETS,...] [--keep RESULTS.JSON] [--short]
    buffers_study.py --again RESULTS.JSON --doc DIR

All processes of a server are stopped, more queries are sent over UDP than any buffer
takes, and the processes go on: what is answered was in the buffer of its socket. For
ours with each of the sizes of receive-buffer-size, for the others with their own. It
depends on no load, and takes a few seconds. --out gets the results as JSON; --doc the
page, its chart and the JSON (buffers-study.*).

Servers: ours nsd knot bind pdns; newer: another NSD, by --program newer=PATH.
"""
import os
import pathlib
import signal
import socket
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import buffers_study_page  # noqa: E402
import servers  # noqa: E402
import study  # noqa: E402

PARTS = ("waiting",)
SHORT = {"sizes": "1048576"}
APEX = "waits.example."
ZONE = f"""{APEX} 3600 IN SOA ns.{APEX} host.{APEX} 1 3600 900 604800 900
{APEX} 3600 IN NS ns.{APEX}
ns.{APEX} 3600 IN A 192.0.2.1
"""
SENT = 40000
SO_RCVBUFFORCE = 33
CLIENT_OCTETS = 256 << 20
QUIET_SEC, LIMIT_SEC = 2, 60
SYSTEM = "/proc/sys/net/core/rmem_default"


class Study(study.Study):
    NAME = "buffers"

    def __init__(self, args, work):
        with open(SYSTEM, encoding="ascii") as f:
            own = int(f.read())
        super().__init__(args, work, waiting={
            "sent": SENT, "query": len(servers.wire_query(APEX, 6, 0)),
            "system": own})
        path = os.path.join(work, "zone")
        with open(path, "w", encoding="ascii") as f:
            f.write(ZONE)
        self.zones = servers.ZoneSet("waits", {APEX.rstrip("."): path},
                                     probe=(APEX, 6))

    def part_waiting(self):
        for kind in self.programs:
            self.measure(kind, None)
        if "ours" in self.programs:
            for octets in map(int, self.args.sizes.split(",")):
                self.measure("ours", octets)

    def measure(self, kind, octets):
        server = self.start(kind, self.zones,
                            conf=octets and conf_with(octets))
        try:
            answered = waiting(server)
        finally:
            server.stop()
        if not answered:
            raise study.StudyError(f"{kind} answers nothing")
        self.note("waiting", kind, octets=octets, answered=answered)


def conf_with(octets):
    def make(*args):
        name, text = servers.conf_nsd(*args)
        return name, text.replace(
            "server:\n", f"server:\n\treceive-buffer-size: {octets}\n", 1)
    return make


def waiting(server):
    """The queries that waited while the server stood still."""
    query = servers.wire_query(APEX, 6, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, CLIENT_OCTETS)
        sock.connect(("127.0.0.1", server.port))
        pids = server.pids()
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            wait_stopped(pids)
            for _ in range(SENT):
                sock.send(query)
        finally:
            # A parent that ran before its child would find it hung.
            for pid in reversed(pids):
                os.kill(pid, signal.SIGCONT)
        return count_replies(sock)


def wait_stopped(pids):
    """Until all threads of all are stopped."""
    end = time.monotonic() + LIMIT_SEC
    while time.monotonic() < end:
        if all(state_of(pid, tid) == "T" for pid in pids
               for tid in os.listdir(f"/proc/{pid}/task")):
            return
        time.sleep(0.01)
    raise study.StudyError("a process does not stop")


def state_of(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def count_replies(sock):
    """Replies until none has come for a while."""
    sock.settimeout(QUIET_SEC)
    count = 0
    end = time.monotonic() + LIMIT_SEC
    try:
        while time.monotonic() < end:
            sock.recv(4096)
            count += 1
    except TimeoutError:
        pass
    return count


def parse_args():
    parser = study.parser_of(__doc__, PARTS)
    parser.add_argument("--sizes", default="131072,262144,524288,1048576,"
                        "2097152,4194304,8388608")
    parser.add_argument("--reps", help="for all studies; there is one run")
    return study.parse(parser, PARTS, SHORT)


if __name__ == "__main__":
    study.run(parse_args(), Study, buffers_study_page)
