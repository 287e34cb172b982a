"""Debian's NSD is swapped for this server and back, as doc/upgrade.md says:
under the restrictions of its unit, with its own folders, its keys of
nsd-control, a zone.list of root's and an xfrd.state that counts failures.

What is at /etc/nsd, /var/lib/nsd, /run/nsd, /usr/sbin and /tmp is another folder
for the two servers than for the machine."""
import contextlib
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import pytest

import debian_unit
from harness import pids_of_session
from ports import free_port
from scripted_primary import ScriptedPrimary, reply, soa, whole
from servers import build_dir

pytestmark = pytest.mark.lasts(10)

PATIENCE = 120
PRIMARIES, SECONDARIES, ADDED = 900, 60, 40
PLACES = {"etc": "/etc/nsd", "var": "/var/lib/nsd", "run": "/run/nsd",
          "sbin": "/usr/sbin", "tmp": "/tmp"}
DEBIAN = pathlib.Path("/usr/sbin")
PROGRAMS = ("nsd", "nsd-control", "nsd-checkconf")
ZONE = """$TTL 3600
@	IN SOA ns host {serial} 7200 3600 1209600 300
	IN NS ns
ns	IN A 192.0.2.{last}
"""
CONF = """\
server:
	log-only-syslog: no
	ip-address: 127.0.0.1@{port}
	server-count: 2
	verbosity: 1
	# As this server finds them, however it was configured.
	username: nsd
	zonesdir: "/etc/nsd"
	zonelistfile: "/var/lib/nsd/zone.list"
	xfrdfile: "/var/lib/nsd/xfrd.state"
remote-control:
	control-enable: yes
	control-interface: 127.0.0.1
	control-port: {control}
	server-key-file: "/etc/nsd/nsd_server.key"
	server-cert-file: "/etc/nsd/nsd_server.pem"
	control-key-file: "/etc/nsd/nsd_control.key"
	control-cert-file: "/etc/nsd/nsd_control.pem"
pattern:
	name: added
	zonefile: "zones/%s.zone"
pattern:
	name: here
	zonefile: "zones/%s.zone"
	zonestats: "here"
pattern:
	name: there
	zonefile: "/var/lib/nsd/%s.zone"
	request-xfr: 127.0.0.1@{primary} NOKEY
	allow-notify: 127.0.0.1 NOKEY
"""


def wait(what, check):
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


class Machine:
    """A machine with Debian's NSD, or this server in its place."""

    def __init__(self, folder, primary):
        self.folder = folder
        self.port = free_port()
        self.process = None
        self.secondaries = [f"s{n}.test" for n in range(SECONDARIES)]
        self.added = [f"a{n}.test" for n in range(ADDED)]
        self.zones = [f"p{n}.test" for n in range(PRIMARIES)] \
            + self.secondaries + self.added
        user = pwd.getpwnam("nsd")
        # With its keys.
        shutil.copytree("/etc/nsd", folder / "etc")
        for name in PLACES:
            (folder / name).mkdir(exist_ok=True)
        for name in ("var", "run", "tmp"):
            os.chown(folder / name, user.pw_uid, user.pw_gid)
        (folder / "etc/zones").mkdir()
        for zone in self.zones:
            self.write_zone(zone, 1)
        conf = CONF.format(port=self.port, control=free_port(),
                           primary=primary)
        for zone in self.zones[:-ADDED]:
            conf += (f"zone:\n\tname: {zone}\n\tinclude-pattern: "
                     f"{'there' if zone in self.secondaries else 'here'}\n")
        (folder / "etc/nsd.conf.d/zones.conf").write_text(conf)
        self.list = folder / "var/zone.list"
        self.list.write_text("# NSD zone list\n# name pattern\n")
        self.state = folder / "var/xfrd.state"

    def install(self, programs):
        for name in PROGRAMS:
            shutil.copy(programs / name, self.folder / "sbin")

    def write_zone(self, zone, serial):
        path = self.folder / f"etc/zones/{zone}.zone"
        path.write_text(ZONE.format(serial=serial, last=len(zone)))

    def start(self):
        """Starts the server as the unit does; waits for all zones."""
        folders = [f"{self.folder / name}={place}"
                   for name, place in PLACES.items()]
        self.output = self.folder / "output"
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, debian_unit.__file__, *folders, "--",
                 "/usr/sbin/nsd", "-c", "/etc/nsd/nsd.conf", "-d", "-P", ""],
                stdin=subprocess.DEVNULL, stdout=output,
                start_new_session=True,
                # A sanitizer's look for leaks is by ptrace.
                stderr=output, env={**os.environ,
                                    "ASAN_OPTIONS": "detect_leaks=0"})
        wait("nsd-control", lambda: self.control("status")[0] == 0)
        wait("all zones", lambda: len(self.answers()) == len(self.zones))

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            assert self.process.wait(PATIENCE) == 0, self.output.read_text()
            wait("the end of all processes",
                 lambda: not pids_of_session(self.process.pid))
            self.process = None

    def end(self):
        """Ends all processes, whatever happened before."""
        if self.process is not None:
            self.process.kill()
            for pid in pids_of_session(self.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait(PATIENCE)

    def run(self, program, *words, text=""):
        """Runs a program in the server's mounts, so that it sees the same
        folders."""
        assert self.process.poll() is None, self.output.read_text()
        made = subprocess.run(
            ["nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt", "--",
             f"/usr/sbin/{program}", *words], input=text, text=True,
            capture_output=True, timeout=PATIENCE, check=False)
        return made.returncode, made.stdout

    def control(self, *words, text=""):
        return self.run("nsd-control", "-c", "/etc/nsd/nsd.conf", *words,
                        text=text)

    def ask(self, name, rdtype="SOA"):
        return dns.query.udp(dns.message.make_query(name, rdtype, id=1),
                             "127.0.0.1", port=self.port, timeout=PATIENCE)

    def answers(self):
        """{zone: the reply to a question for its SOA}, of those that have
        one."""
        found = {}
        for zone in self.zones:
            response = self.ask(zone)
            if response.rcode() == dns.rcode.NOERROR:
                found[zone] = response.to_text()
        return found

    def serial(self, zone):
        answer = self.ask(zone).answer
        return answer[0][0].serial if answer else None

    def counters(self):
        text = self.control("stats_noreset")[1]
        return [line.split("=")[0] for line in text.splitlines()]

    def limit(self):
        """The rate limit of the configuration, which must be in effect."""
        said = self.run("nsd-checkconf", "-o", "rrl-ratelimit",
                        "/etc/nsd/nsd.conf")[1].strip()

        def is_limited():
            for _ in range(int(said) * 2):
                with contextlib.suppress(dns.exception.Timeout):
                    if dns.query.udp(dns.message.make_query(
                            "ns.p0.test", "A"), "127.0.0.1", port=self.port,
                            timeout=0.05).flags & dns.flags.TC:
                        return True
            return False
        wait("the rate limit", is_limited)
        return said


@pytest.fixture
def upstream():
    """The primary of the secondaries. Its list has the serial."""
    serial = [1]

    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial[0], "7200 3600 90000 300"))]
        return [whole(query, apex, serial[0], timers="7200 3600 90000 300")]
    with ScriptedPrimary(answer) as primary:
        primary.serial = serial
        yield primary


@pytest.fixture
def machine(upstream):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        made = Machine(folder, upstream.port)
        try:
            yield made
        finally:
            made.end()


def fill(machine):
    """Debian's NSD has served for a while."""
    machine.zones, zones = machine.zones[:-ADDED], machine.zones
    machine.install(DEBIAN)
    machine.start()
    machine.zones = zones
    lines = "".join(f"{zone} added\n" for zone in machine.added)
    assert machine.control("addzones", text=lines)[0] == 0
    wait("zones that were added",
         lambda: len(machine.answers()) == len(machine.zones))


def test_swapped_in_and_back(machine, upstream):
    fill(machine)
    limit = machine.limit()
    assert limit == "200"
    before, counters = machine.answers(), machine.counters()
    machine.control("write")
    wait("zone files", lambda: len(list(
        (machine.folder / "var").glob("s*.zone"))) == SECONDARIES)
    machine.stop()
    # The state says that the primaries were away for a while.
    text, count = re.subn(r"(state: 0 .*(?:\n\t.*)*?\n\tbackoff: )0",
                          r"\g<1>2", machine.state.read_text())
    assert count == SECONDARIES
    machine.state.write_text(text)

    machine.install(build_dir())
    machine.start()
    assert machine.answers() == before
    status = machine.control("status")[1]
    assert "trouble" not in status
    assert machine.limit() == limit and f"rrl-ratelimit {limit}" in (
        machine.output.read_text())
    assert set(counters) <= set(machine.counters())
    assert "error" not in machine.output.read_text()

    # Changes made here are there for NSD.
    assert machine.control("delzone", machine.added[0]) == (0, "ok\n")
    machine.zones.remove(machine.added[0])
    machine.zones.append("more.test")
    machine.write_zone("more.test", 1)
    assert machine.control("addzone", "more.test", "added") == (0, "ok\n")
    machine.write_zone("p1.test", 2)
    assert machine.control("reload")[0] == 0
    upstream.serial[0] = 2
    assert machine.control("transfer")[0] == 0
    wait("transfers", lambda: all(
        machine.serial(zone) == 2 for zone in machine.secondaries))
    assert "trouble" not in machine.control("status")[1]
    between = machine.answers()

    assert machine.control("write")[0] == 0
    machine.stop()
    assert machine.list.stat().st_uid == 0
    (machine.folder / "var/nsd.db").unlink(missing_ok=True)
    upstream.serial[0] = 3  # not asked for: they are fresh
    machine.install(DEBIAN)
    machine.start()
    assert machine.answers() == between
    assert machine.ask(machine.added[0]).rcode() == dns.rcode.REFUSED
    assert machine.limit() == limit
    assert "error" not in machine.output.read_text()
    machine.stop()
