"""Starts the servers that are measured, and reads what they cost."""
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import time

from ports import free_port

RIVALS = {"nsd": "nsd", "knot": "knotd", "bind": "named", "yadifa": "yadifad"}
PACKAGES = {"nsd": "nsd", "knot": "knot", "bind": "bind9", "yadifa": "yadifa",
            "pdns": "pdns-server pdns-backend-bind"}
STOP_LIMIT_SEC = 60
# Of processes whose first one has ended already.
CHILDREN_LIMIT_SEC = 10


def find_program(name):
    path = os.environ["PATH"] + ":/usr/sbin:/sbin:/usr/local/sbin"
    return shutil.which(name, path=path)


def wire_query(name, qtype, ident):
    labels = [l for l in name.rstrip(".").split(".") if l]
    qname = b"".join(bytes([len(l)]) + l.encode() for l in labels) + b"\0"
    return struct.pack(">HHHHHH", ident, 0, 1, 0, 0, 0) + qname + \
        struct.pack(">HH", qtype, 1)


class ZoneSet:
    """The zones that a server is to serve: name to file, or clauses made
    already."""

    def __init__(self, name, zones=None, clauses=None, probe=None):
        self.name = name
        self.zones = zones or {}
        self.clauses = clauses  # a prefix of files, one for each server
        self.probe = probe      # (name, type) that has an answer


def conf_nsd(work, port, workers, zones):
    text = f"""server:
\tip-address: 127.0.0.1
\tport: {port}
\tserver-count: {workers}
\treuseport: {"yes" if workers > 1 else "no"}
\tusername: ""
\tchroot: ""
\tzonesdir: "{work}"
\tlogfile: "{work}/nsd.log"
\tpidfile: "{work}/nsd.pid"
\txfrdfile: "{work}/xfrd.state"
\tzonelistfile: "{work}/zone.list"
\txfrdir: "{work}"
\tdatabase: ""
\ttcp-count: 1000
\trrl-ratelimit: 0
\trrl-whitelist-ratelimit: 0
remote-control:
\tcontrol-enable: no
"""
    for name, path in zones.zones.items():
        text += f'zone:\n\tname: "{name}"\n\tzonefile: "{path}"\n'
    if zones.clauses:
        text += f'include: "{zones.clauses}.nsd"\n'
    return "nsd.conf", text


def conf_named(work, port, workers, zones):
    text = f"""options {{
\tdirectory "{work}";
\tlisten-on port {port} {{ 127.0.0.1; }};
\tlisten-on-v6 {{ none; }};
\tpid-file none;
\tsession-keyfile none;
\trecursion no;
\tnotify no;
\tempty-zones-enable no;
\tdnssec-validation no;
\tminimal-responses yes;
\ttcp-clients 1000;
\ttcp-listen-queue 1000;
\tcheck-integrity no;
}};
controls {{ }};
logging {{ channel f {{ file "{work}/named.log"; }}; category default {{ f; }};
\tcategory queries {{ null; }}; }};
"""
    for name, path in zones.zones.items():
        text += f'zone "{name}" {{ type primary; file "{path}"; }};\n'
    if zones.clauses:
        text += f'include "{zones.clauses}.named";\n'
    return "named.conf", text


def conf_knot(work, port, workers, zones):
    text = f"""server:
    rundir: "{work}"
    listen: 127.0.0.1@{port}
    udp-workers: {workers}
    tcp-workers: {workers}
    background-workers: 1
    tcp-max-clients: 1000
    tcp-reuseport: on
log:
  - target: "{work}/knot.log"
    any: warning
database:
    storage: "{work}"
control:
    listen: "{work}/knot.sock"
template:
  - id: default
    storage: "{work}"
    zonefile-sync: -1
    journal-content: none
    semantic-checks: off
"""
    if zones.zones:
        text += "zone:\n"
    for name, path in zones.zones.items():
        text += f'  - domain: "{name}"\n    file: "{path}"\n'
    if zones.clauses:
        text += f'include: "{zones.clauses}.knot"\n'
    return "knot.conf", text


def conf_yadifa(work, port, workers, zones):
    text = f"""<main>
daemon off
chroot off
user root
group root
pidfile "{work}/yadifad.pid"
datapath "{work}"
keyspath "{work}"
logpath "{work}"
xfrpath "{work}"
listen 127.0.0.1 port {port}
port {port}
edns0-max-size 1232
max-tcp-queries 255
thread-count-by-address {workers}
statistics off
queries-log-type 0
</main>
<rrl>
enabled false
</rrl>
<channels>
all all.log 0644
</channels>
<loggers>
zone EMERG,ALERT,CRIT,ERR all
server EMERG,ALERT,CRIT,ERR all
</loggers>
"""
    for name, path in zones.zones.items():
        text += f'<zone>\ntype primary\ndomain "{name}"\n' \
            f'file "{path}"\n</zone>\n'
    if zones.clauses:
        text += f'include "{zones.clauses}.yadifad"\n'
    return "yadifad.conf", text


def conf_pdns(work, port, workers, zones):
    """PowerDNS with zones of files; its own configuration names them."""
    with open(f"{work}/named.conf", "w") as f:
        f.write(f'options {{ directory "{work}"; }};\n')
        for name, path in zones.zones.items():
            f.write(f'zone "{name}" {{ type master; file "{path}"; }};\n')
    return "pdns.conf", f"""launch=bind
bind-config={work}/named.conf
socket-dir={work}
local-address=127.0.0.1
local-port={port}
receiver-threads={workers}
distributor-threads=1
reuseport={"yes" if workers > 1 else "no"}
max-tcp-connections=1000
daemon=no
guardian=no
loglevel=3
disable-syslog=yes
security-poll-suffix=
version-string=anonymous
"""


def command(kind, program, conf, workers):
    if kind in ("ours", "nsd"):
        return [program, "-d", "-c", conf]
    if kind == "bind":
        return [program, "-f", "-n", str(workers), "-c", conf]
    if kind == "pdns":
        return [program, f"--config-dir={os.path.dirname(conf)}"]
    return [program, "-c", conf]


CONFS = {"ours": conf_nsd, "nsd": conf_nsd, "bind": conf_named,
         "knot": conf_knot, "yadifa": conf_yadifa, "pdns": conf_pdns}


class Server:
    """A running server with all processes that it made."""

    def __init__(self, kind, program, zones, work, cpus="0", workers=1,
                 conf=None, updates=False):
        """conf: in place of that of CONFS; updates: pipes to and from it."""
        self.kind = kind
        self.work = os.path.join(work, f"{kind}-{zones.name}-{workers}")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.port = free_port()
        name, text = (conf or CONFS[kind])(self.work, self.port, workers, zones)
        path = os.path.join(self.work, name)
        with open(path, "w") as f:
            f.write(text)
        self.out = open(os.path.join(self.work, "output"), "w")
        begin = time.monotonic()
        self.process = subprocess.Popen(
            ["taskset", "-c", cpus] + command(kind, program, path, workers),
            stdin=subprocess.PIPE if updates else subprocess.DEVNULL,
            stdout=subprocess.PIPE if updates else self.out, stderr=self.out,
            start_new_session=True)
        self.start_sec = self.stop_sec = None
        self.zones = zones
        self.begin = begin

    def wait(self, limit_sec):
        """Waits for the first answer; False if none came."""
        name, qtype = self.zones.probe
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(("127.0.0.1", self.port))
        sock.settimeout(0.005)
        ident = 0
        try:
            while time.monotonic() - self.begin < limit_sec:
                if self.process.poll() is not None:
                    return False
                ident = (ident + 1) & 0xffff
                try:
                    sock.send(wire_query(name, qtype, ident))
                    reply = sock.recv(4096)
                    # Replies to earlier queries come first if the server had
                    # its socket long before it answered.
                    while int.from_bytes(reply[:2], "big") != ident:
                        reply = sock.recv(4096)
                except OSError:
                    time.sleep(0.001)
                    continue
                # no error, and an answer or a referral
                if len(reply) > 12 and reply[3] & 15 == 0 and \
                        (reply[7] or reply[9]):
                    self.start_sec = time.monotonic() - self.begin
                    return True
                time.sleep(0.005)
        finally:
            sock.close()
        return False

    def pids(self):
        """The process and all its descendants."""
        children = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/stat") as f:
                    ppid = int(f.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(ppid, []).append(int(entry))
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            todo += children.get(pid, [])
        return found

    def pss_kib(self):
        total = 0
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/smaps_rollup") as f:
                    for line in f:
                        if line.startswith("Pss:"):
                            total += int(line.split()[1])
            except OSError:
                pass
        return total

    def cpu_ns(self):
        """(time on a CPU of all threads in ns, user ticks, system ticks)"""
        run = user = system = 0
        for pid in self.pids():
            try:
                for tid in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
                        run += int(f.read().split()[0])
                with open(f"/proc/{pid}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                user += int(fields[11])
                system += int(fields[12])
            except OSError:
                pass
        return run, user, system

    def no_room(self):
        """Datagrams that found no room in the sockets of its port so far."""
        with open("/proc/net/udp") as f:
            fields = [line.split() for line in f.readlines()[1:]]
        return sum(int(line[-1]) for line in fields
                   if line[1].endswith(f":{self.port:04X}"))

    def start_cpu_sec(self):
        """CPU time so far, that of processes which have ended included."""
        ticks = 0
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                ticks += sum(int(n) for n in fields[11:15])
            except OSError:
                pass
        return ticks / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Ends the processes that were started here. stop_sec: the time until
        all had ended; None: some had to be killed."""
        fds = open_processes(self.pids())
        begin = time.monotonic()
        if self.process.poll() is None:
            self.process.terminate()
        left = wait_ended(fds[:1], STOP_LIMIT_SEC) + \
            wait_ended(fds[1:], CHILDREN_LIMIT_SEC)
        self.stop_sec = None if left else time.monotonic() - begin
        for fd in left:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        self.process.wait()
        for fd in fds:
            os.close(fd)
        self.out.close()
        shutil.rmtree(self.work, ignore_errors=True)


def open_processes(pids):
    """Descriptors of those that are still there."""
    fds = []
    for pid in pids:
        try:
            fds.append(os.pidfd_open(pid))
        except OSError:
            pass
    return fds


def wait_ended(fds, limit_sec):
    """The processes that have not ended after so long."""
    poll = select.poll()
    left = list(fds)
    end = time.monotonic() + limit_sec
    for fd in left:
        poll.register(fd, select.POLLIN)
    while left and time.monotonic() < end:
        for fd, _ in poll.poll(max(1, (end - time.monotonic()) * 1e3)):
            poll.unregister(fd)
            left.remove(fd)
    return left


class Echo:
    """The bare echo, with the same measures as a server. With octets its
    replies are made so long."""

    def __init__(self, program, transport, octets=None, cpus="0"):
        self.kind = "echo" if octets is None else "echo-size"
        self.port = free_port()
        self.process = subprocess.Popen(
            ["taskset", "-c", cpus, program, transport, str(self.port)]
            + ([] if octets is None else [str(octets)]),
            stdin=subprocess.DEVNULL)
        time.sleep(0.2)

    cpu_ns = Server.cpu_ns
    no_room = Server.no_room
    pids = Server.pids

    def stop(self):
        self.process.kill()
        self.process.wait()
