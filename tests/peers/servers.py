"""Our server and the real BIND, Knot and NSD, each serving the same zones on a
port of its own on loopback."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import dns.message
import dns.name
import dns.query
import dns.rdatatype
import dns.zone

from ports import free_port

START_DEADLINE = 120.0


def build_dir():
    return pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve()


class Server:
    """One running server. zones: {zone name: path of its file}."""

    name = None

    def __init__(self, zones):
        self.zones = zones
        self.minimal = False  # minimal-responses; Knot knows no other
        self.more = []  # lines of nsd.conf, behind the zones
        self.zone_more = []  # and of each zone
        self.control = ["\tcontrol-enable: no"]  # of nsd.conf
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

    def end(self):
        """Ends the server; its files stay, for another start."""
        self.process.terminate()
        self.process.wait(START_DEADLINE)

    def stop(self, keep=False):
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(60)
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


@contextlib.contextmanager
def started(server):
    """Runs a server within a with statement."""
    try:
        server.start()
        yield server
    finally:
        server.stop()


class Ours(Server):
    name = "ours"

    def kill(self):
        """Kills all processes at once; the files stay."""
        main = self.process.pid
        os.kill(main, signal.SIGSTOP)  # main must not replace children
        children = pathlib.Path(f"/proc/{main}/task/{main}/children")
        for pid in (*map(int, children.read_text().split()), main):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()

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
        # An empty database, as all would share the one of Debian's otherwise.
        '\tdatabase: ""', "\tipv4-edns-size: 4096", "\trrl-ratelimit: 0",
        f"\tminimal-responses: {'yes' if server.minimal else 'no'}",
    ]
    for zone, path in server.zones.items():
        lines += ["zone:", f"\tname: {zone}", f'\tzonefile: "{path}"',
                  *server.zone_more]
    lines += server.more
    lines += ["remote-control:", *server.control]
    return "\n".join(lines) + "\n"


class Bind(Server):
    name = "bind"

    def command(self):
        lines = [
            "options {", f'directory "{self.dir}";', 'pid-file none;',
            'session-keyfile none;', 'lock-file none;',
            f"listen-on port {self.port} {{ 127.0.0.1; }};",
            "listen-on-v6 { none; };", "recursion no;",
            f"minimal-responses {'yes' if self.minimal else 'no'};",
            "minimal-any no;",
            "dnssec-validation no;", "notify no;", "empty-zones-enable no;",
            "check-names primary ignore;", "check-integrity no;",
            "check-mx ignore; check-mx-cname ignore; check-srv-cname ignore;",
            "check-wildcard no; check-sibling no;",
            "max-udp-size 4096; edns-udp-size 4096;",
            "max-records-per-type 0; max-types-per-name 0;",
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


class Unbound(Server):
    """A validating resolver for the zones of another server. It asks nobody
    else: what is not served there can't be resolved."""

    name = "unbound"

    def __init__(self, zones, upstream):
        super().__init__(zones)
        self.upstream = upstream

    def command(self):
        lines = [
            "server:", "interface: 127.0.0.1", f"port: {self.port}",
            f'directory: "{self.dir}"', 'chroot: ""', 'username: ""',
            'pidfile: ""', "do-daemonize: no", "use-syslog: no",
            "verbosity: 1", "val-log-level: 2", "do-ip6: no",
            'local-zone: "test." nodefault', "do-not-query-localhost: no",
            "do-not-query-address: 192.0.2.0/24", "qname-minimisation: no",
            'module-config: "validator iterator"', "aggressive-nsec: no",
            "harden-below-nxdomain: no", "outgoing-range: 64",
            'val-nsec3-keysize-iterations: "1024 500 2048 500 4096 2500"',
        ]
        for zone, path in self.zones.items():
            lines += [f'trust-anchor: "{key}"' for key in keys(zone, path)]
        for zone in (*self.zones, "."):
            lines += ["stub-zone:", f'name: "{zone}"',
                      f"stub-addr: 127.0.0.1@{self.upstream.port}"]
        conf = self.write("unbound.conf", "\n".join(lines) + "\n")
        return ["/usr/sbin/unbound", "-d", "-p", "-c", str(conf)]


class Dnsdist(Server):
    """A proxy before another server, which it tells its clients (PROXYv2)."""

    name = "dnsdist"

    def __init__(self, zones, upstream_port):
        super().__init__(zones)
        self.upstream_port = upstream_port

    def command(self):
        conf = self.write("dnsdist.conf", "\n".join([
            f'setLocal("127.0.0.1:{self.port}")', 'setACL("127.0.0.0/8")',
            "setSecurityPollSuffix('')", "newServer({"
            f"address='127.0.0.1:{self.upstream_port}', useProxyProtocol=true"
            "})", "getServer(0):setUp()"]) + "\n")
        return ["/usr/bin/dnsdist", "--supervised", "--disable-syslog", "-C",
                str(conf)]


def keys(zone, path):
    """The keys that a zone's keys are signed with, as trust anchors."""
    apex = dns.name.from_text(zone)
    found = dns.zone.from_file(str(path), apex, relativize=False,
                               check_origin=False)
    rdataset = found.find_rdataset(apex, dns.rdatatype.DNSKEY)
    return [f"{apex} {rdataset.ttl} DNSKEY {key.to_text()}"
            for key in rdataset if key.flags == 257]


RIVALS = (Bind, Knot, Nsd)
