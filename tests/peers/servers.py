"""Our server and the real BIND, Knot and NSD, each serving the same zones on a
port of its own on loopback."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import dns.message
import dns.query

from ports import free_port

START_DEADLINE = 60.0


def build_dir():
    return pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve()


class Server:
    """One running server. zones: {zone name: path of its file}."""

    name = None

    def __init__(self, zones):
        self.zones = zones
        self.port = free_port()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix=f"peer-{self.name}-"))
        self.log = open(self.dir / "output", "wb")
        self.process = None

    def command(self):
        raise NotImplementedError

    def start(self):
        self.process = subprocess.Popen(
            self.command(), cwd=self.dir, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        for zone in self.zones:
            self._wait_for(zone)
        return self

    def _wait_for(self, zone):
        question = dns.message.make_query(zone, "SOA")
        deadline = time.monotonic() + START_DEADLINE
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                reply = dns.query.udp(question, "127.0.0.1", timeout=0.5,
                                      port=self.port)
                if reply.rcode() == 0:
                    return
                time.sleep(0.02)
            except (OSError, dns.exception.DNSException):
                time.sleep(0.02)
        self.stop(keep=True)
        output = (self.dir / "output").read_text(errors="replace")
        raise RuntimeError(f"{self.name} does not serve {zone}:\n{output}")

    def stop(self, keep=False):
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        self.log.close()
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path


class Ours(Server):
    name = "ours"

    def command(self):
        conf = self.write("nsd.conf", nsd_conf(self))
        return [str(build_dir() / "nsd"), "-d", "-c", str(conf)]


class Nsd(Server):
    name = "nsd"

    def command(self):
        conf = self.write("nsd.conf", nsd_conf(self))
        return ["/usr/sbin/nsd", "-d", "-c", str(conf)]


def nsd_conf(server):
    lines = [
        "server:", f"\tip-address: 127.0.0.1@{server.port}",
        '\tusername: ""', f'\tzonesdir: "{server.dir}"',
        f'\tpidfile: "{server.dir}/pid"', f'\tlogfile: "{server.dir}/log"',
        f'\tzonelistfile: "{server.dir}/zone.list"',
        f'\txfrdfile: "{server.dir}/xfrd.state"',
        f'\txfrdir: "{server.dir}"', "\tverbosity: 1",
        "\tipv4-edns-size: 4096", "\trrl-ratelimit: 0",
    ]
    for zone, path in server.zones.items():
        lines += ["zone:", f"\tname: {zone}", f'\tzonefile: "{path}"']
    lines += ["remote-control:", "\tcontrol-enable: no"]
    return "\n".join(lines) + "\n"


class Bind(Server):
    name = "bind"

    def command(self):
        lines = [
            "options {", f'directory "{self.dir}";', 'pid-file none;',
            'session-keyfile none;', 'lock-file none;',
            f"listen-on port {self.port} {{ 127.0.0.1; }};",
            "listen-on-v6 { none; };", "recursion no;",
            "minimal-responses no;", "minimal-any no;",
            "dnssec-validation no;", "notify no;", "empty-zones-enable no;",
            "check-names primary ignore;", "check-integrity no;",
            "check-mx ignore; check-mx-cname ignore; check-srv-cname ignore;",
            "check-wildcard no; check-sibling no;",
            "max-udp-size 4096; edns-udp-size 4096;",
            "answer-cookie no; require-server-cookie no;",
            "}; controls { };",
        ]
        for zone, path in self.zones.items():
            lines.append(f'zone "{zone}" {{ type primary; file "{path}"; }};')
        conf = self.write("named.conf", "\n".join(lines) + "\n")
        return ["/usr/sbin/named", "-g", "-n", "1", "-c", str(conf)]


class Knot(Server):
    name = "knot"

    def command(self):
        lines = [
            "server:", f'    rundir: "{self.dir}"',
            f"    listen: 127.0.0.1@{self.port}",
            "    udp-max-payload: 4096",
            "    udp-workers: 1", "    tcp-workers: 1",
            "    background-workers: 1",
            "database:", f'    storage: "{self.dir}"',
            "log:", "  - target: stderr", "    any: info",
            "template:", "  - id: default", "    zonefile-sync: -1",
            "    journal-content: none", "    semantic-checks: off",
            "zone:",
        ]
        for zone, path in self.zones.items():
            lines += [f'  - domain: "{zone}"', f'    file: "{path}"']
        conf = self.write("knot.conf", "\n".join(lines) + "\n")
        return ["/usr/sbin/knotd", "-c", str(conf)]


RIVALS = (Bind, Knot, Nsd)
