"""Consumers of catalog zones (RFC 9432): ours, BIND, Knot and NSD, and a
scripted primary whose catalogs say what a test wants."""
import functools
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

import servers

sys.path += [str(pathlib.Path(__file__).parent.parent / name)
             for name in ("lib", "blackbox")]
from scripted_primary import ScriptedPrimary, error, reply  # noqa: E402

PATIENCE = 120
REST = 1.0
"""Seconds that a state has to last."""
CATALOG = "cat.test."


def until(check, what):
    end = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.05)


def soa(apex, serial, timers="3600 3600 36000 0"):
    return dns.rrset.from_text(apex, 0, "IN", "SOA",
                               f"invalid. invalid. {serial} {timers}")


def members(*names):
    """Records of member nodes: the label of a member is its first one."""
    return [f"{name.split('.')[0]}.zones PTR {name}" for name in names]


def serial(server, zone):
    """Serial that is served; None: none."""
    question = dns.message.make_query(zone, "SOA")
    try:
        # Knot tells of a catalog over TCP alone.
        ask = dns.query.tcp if zone == CATALOG else dns.query.udp
        answer = ask(question, "127.0.0.1", timeout=1, port=server.port)
    except (OSError, dns.exception.DNSException):
        return None
    if answer.rcode() != 0 or not answer.flags & dns.flags.AA or \
            not answer.answer or \
            answer.answer[0].rdtype != dns.rdatatype.SOA or \
            answer.answer[0].name != question.question[0].name:
        return None
    return answer.answer[0][0].serial


def served(server, names):
    return {name for name in names if serial(server, name) is not None}


class Primary:
    """Serves catalogs as they are set, and each other zone with serial 1."""

    def __init__(self):
        self.zones = {}  # {apex: (serial, texts, timers, how)}
        self.consumers = []  # told of new versions
        self.wants_transfer = True
        self.server = ScriptedPrimary(self.answer)
        self.port = self.server.port

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def set(self, serial, texts, apex=CATALOG, timers="3600 3600 36000 0",
            how="whole"):
        """A new version. how: "whole", "cut", "bare" (no NS record)."""
        old = self.zones.get(apex)
        self.wants_transfer = old is None or old[0] < serial
        self.zones[apex] = (serial, list(texts), timers, how)
        self.server.asked.clear()
        self.notify(apex)

    def drop(self, apex=CATALOG):
        """The zone is not served any more."""
        self.zones[apex] = None

    def notify(self, apex=CATALOG):
        message = dns.message.make_query(apex, "SOA")
        message.set_opcode(dns.opcode.NOTIFY)
        message.flags = (message.flags | dns.flags.AA) & ~dns.flags.RD
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for consumer in self.consumers:
                sock.sendto(message.to_wire(), ("127.0.0.1", consumer.port))

    def was_asked(self, apex=CATALOG):
        wanted = ("AXFR", "IXFR") if self.wants_transfer else ("SOA", "IXFR")
        return any(name.lower() == apex and rdtype in wanted
                   for name, rdtype in list(self.server.asked))

    def answer(self, apex, qtype, query):
        """Answers for the scripted server."""
        apex = apex.lower()
        zone = self.zones.get(apex, (1, ["@ TXT member"], "3600 3600 36000 0",
                                     "whole"))
        if zone is None:
            return error(query, dns.rcode.REFUSED)
        serial, texts, timers, how = zone
        first = soa(apex, serial, timers)
        if qtype == "SOA" or (qtype == "IXFR" and
                              query.authority[0][0].serial >= serial):
            return [reply(query, first)]
        sets = [self._record(apex, text) for text in texts]
        if how != "bare":
            sets.insert(0, dns.rrset.from_text(apex, 0, "IN", "NS",
                                               "invalid."))
        if how == "cut":
            return [reply(query, first, *sets[:-1]), None]
        return [reply(query, first, *sets, first.copy())]

    @staticmethod
    def _record(apex, text):
        owner, rdtype, rdata = text.split(maxsplit=2)
        owner = apex if owner == "@" else f"{owner}.{apex}"
        return dns.rrset.from_text(owner, 0, "IN", rdtype, rdata)


class Consumer:
    """Has the catalog CATALOG from a primary, and a zone of its own. Mixed into
    one of the servers."""

    expires = True

    def __init__(self, primary_port, catalogs=(CATALOG,)):
        super().__init__({})
        self.primary_port = primary_port
        self.catalogs = catalogs
        self.fixed = self.write(
            "fixed.zone", "@ 3600 SOA invalid. invalid. 99 3600 600 86400 0\n"
            "@ 3600 NS invalid.\n")
        self.zones = {"fixed.test": self.fixed}

    def serial(self, zone):
        return serial(self, zone)

    def served(self, names):
        return served(self, names)

    def log_text(self):
        return (self.dir / "output").read_text(errors="replace")


def _nsd_lines(self, more=()):
    lines = []
    for name in ("m", "other"):
        lines += ["pattern:", f"\tname: {name}",
                  f"\trequest-xfr: 127.0.0.1@{self.primary_port} NOKEY",
                  "\tallow-notify: 127.0.0.1 NOKEY",
                  "\tprovide-xfr: 127.0.0.1 NOKEY", '\tzonefile: "%s.z"']
    for catalog in self.catalogs:
        lines += ["zone:", f"\tname: {catalog}", "\tcatalog: consumer",
                  "\tcatalog-member-pattern: m", *more,
                  f"\trequest-xfr: 127.0.0.1@{self.primary_port} NOKEY",
                  "\tallow-notify: 127.0.0.1 NOKEY",
                  "\tprovide-xfr: 127.0.0.1 NOKEY"]
    return lines


class Controlled:
    """A server with nsd-control."""

    def ask(self, *words):
        done = subprocess.run(
            [*self.control_program(), "-c", str(self.dir / "nsd.conf"),
             *words], capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def log_text(self):
        return (self.dir / "log").read_text(errors="replace")


class _ControlledConsumer(Controlled, Consumer):
    more_of_catalog = ()

    def command(self):
        self.more = _nsd_lines(self, self.more_of_catalog)
        self.control = ["\tcontrol-enable: yes",
                        f'\tcontrol-interface: "{self.dir}/ctl"']
        return super().command()

    def status(self, zone):
        """{name: text} of zonestatus."""
        lines = self.ask("zonestatus", zone)[1].splitlines()
        return dict(line.strip().partition(": ")[::2] for line in lines[1:])


class OursControlled(servers.Ours):
    def control_program(self):
        return [str(servers.build_dir() / "nsd-control")]


class Ours(_ControlledConsumer, OursControlled):
    pass


NSD_FOLDER = os.environ.get("PEERS_NSD", "/usr/sbin")
"""Folder with nsd and nsd-control: Debian 12's NSD knows no catalogs;
tools/newer-nsd makes such a folder."""


class NsdControlled(servers.Nsd):
    def command(self):
        _, *arguments = super().command()
        # Not known any more to those that know catalogs.
        conf = self.dir / "nsd.conf"
        conf.write_text(conf.read_text().replace(
            '\tdatabase: ""\n', "\txfrd-reload-timeout: 0\n"))
        return [f"{NSD_FOLDER}/nsd", *arguments]

    def control_program(self):
        return [f"{NSD_FOLDER}/nsd-control"]


class Nsd(_ControlledConsumer, NsdControlled):
    pass


class Bind(Consumer, servers.Bind):
    def command(self):
        command = super().command()
        conf = self.dir / "named.conf"
        primaries = f"{{ 127.0.0.1 port {self.primary_port}; }}"
        listed = " ".join(
            f'zone "{catalog}" default-primaries {primaries} in-memory yes '
            "min-update-interval 0;" for catalog in self.catalogs)
        text = conf.read_text().replace(
            "options {", "options { serial-query-rate 1000; transfers-in 100;"
            " transfers-per-ns 100; min-refresh-time 1; min-retry-time 1;"
            f" catalog-zones {{ {listed} }}; allow-transfer {{ any; }};", 1)
        for catalog in self.catalogs:
            text += (f'zone "{catalog}" {{ type secondary; primaries '
                     f'{primaries}; file "{catalog}z"; }};\n')
        conf.write_text(text)
        return command


class Knot(Consumer, servers.Knot):
    expires = False  # Knot's catalogs never do

    def command(self):
        lines = [
            "server:", f'    rundir: "{self.dir}"',
            f"    listen: 127.0.0.1@{self.port}",
            "    udp-workers: 1", "    tcp-workers: 1",
            "    background-workers: 1",
            "    tcp-io-timeout: 30000", "    tcp-remote-io-timeout: 30000",
            "database:", f'    storage: "{self.dir}"',
            "log:", "  - target: stderr", "    any: info",
            "remote:", "  - id: upstream",
            f"    address: 127.0.0.1@{self.primary_port}",
            "acl:", "  - id: all", "    address: 127.0.0.1",
            "    action: [transfer, notify]",
            "template:", "  - id: default", "    zonefile-sync: -1",
            f'    storage: "{self.dir}"',
            "    semantic-checks: off", "    acl: all",
            "    refresh-min-interval: 2", "    retry-min-interval: 1",
            "    expire-min-interval: 3",
        ]
        for name in ("m", "other"):
            lines += [f"  - id: {name}", "    master: upstream",
                      "    acl: all", "    zonefile-sync: -1",
                      f'    storage: "{self.dir}"']
        lines += ["zone:", '  - domain: "fixed.test"',
                  f'    file: "{self.fixed}"']
        for catalog in self.catalogs:
            lines += [f'  - domain: "{catalog}"', "    master: upstream",
                      "    catalog-role: interpret",
                      "    catalog-template: [m, other]"]
        conf = self.write("knot.conf", "\n".join(lines) + "\n")
        return ["/usr/sbin/knotd", "-c", str(conf)]


@functools.cache
def nsd_lacks_catalogs():
    """Why the NSD of this machine can't be asked; "": it can."""
    try:
        done = subprocess.run([f"{NSD_FOLDER}/nsd", "-v"],
                              capture_output=True, text=True, timeout=60)
    except OSError as problem:
        return str(problem)
    found = re.search(r"NSD version (\d+)\.(\d+)", done.stdout + done.stderr)
    if found is None:
        return f"no version of NSD: {done.stdout}{done.stderr}"
    if tuple(map(int, found.groups())) < (4, 9):
        return f"{found[0]} has no catalogs: see tools/newer-nsd"
    return ""


def require(kind):
    """Skips the test if this machine's server has no catalogs."""
    if kind is Nsd and nsd_lacks_catalogs():
        pytest.skip(nsd_lacks_catalogs())


RIVALS = (Bind, Knot, Nsd)
