"""A machine with Debian's NSD 4, under the restrictions of its unit, with its own
folders, or another server in its place.

What is at /etc/nsd, /var/lib/nsd, /run/nsd, /usr/sbin and /tmp is another folder
for the servers than for the machine that runs the test."""
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import time

import dns.exception
import dns.message
import dns.query
import dns.rcode

import debian_unit
from harness import pids_of_session
from ports import free_port

PATIENCE = 120
PLACES = {"etc": "/etc/nsd", "var": "/var/lib/nsd", "run": "/run/nsd",
          "sbin": "/usr/sbin", "tmp": "/tmp"}
DEBIAN = pathlib.Path("/usr/sbin")
PROGRAMS = ("nsd", "nsd-control", "nsd-checkconf")
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
"""


def wait(what, check):
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


def ask(port, name, rdtype="SOA"):
    """The reply to a question; datagrams may be lost amid many."""
    query = dns.message.make_query(name, rdtype, id=1)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return dns.query.udp(query, "127.0.0.1", port=port, timeout=3,
                                 ignore_unexpected=True)
        except dns.exception.Timeout:
            assert time.monotonic() < end, f"no reply for {name}"


class Machine:
    """zones: the names of those that have to be served after a start."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.process = None
        self.zones = []
        user = pwd.getpwnam("nsd")
        # With its keys.
        shutil.copytree("/etc/nsd", folder / "etc")
        for name in PLACES:
            (folder / name).mkdir(exist_ok=True)
        for name in ("var", "run", "tmp"):
            os.chown(folder / name, user.pw_uid, user.pw_gid)
        (folder / "etc/zones").mkdir()
        self.list = folder / "var/zone.list"
        self.list.write_text("# NSD zone list\n# name pattern\n")
        self.state = folder / "var/xfrd.state"

    def configure(self, text):
        """Writes nsd.conf, with text behind its first lines."""
        (self.folder / "etc/nsd.conf.d/zones.conf").write_text(
            CONF.format(port=self.port, control=free_port()) + text)

    def install(self, programs):
        for name in PROGRAMS:
            shutil.copy(programs / name, self.folder / "sbin")

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
        return ask(self.port, name, rdtype)

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
