"""Runs real programs on loopback, so that a test reads as a story.

    def test_worker_is_replaced(nsd):
        server = nsd(zones={"example": ZONE}, options={"server-count": 2})
        server.kill("server 1")
        server.wait_log("server 1 .* was killed by signal 9")
        assert server.answer("www.example", "A") == ["192.0.2.1"]

Nothing here sleeps to get a timing right: wait_for and wait_log look until a
deadline. Every process that a server made must be gone after the test.
"""

import concurrent.futures
import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import threading
import time

import dns.edns
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype

from ports import free_port
from proc import (is_alive, open_files, parent_of, pids_of_session,
                  process_state, read_proc, session_of, store_stat)

BUILD = pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve()
NSD = BUILD / "nsd"

# Much longer than anything takes on a loaded machine in a program built with
# sanitizers: what is waited for is there at once, so it costs nothing.
DEADLINE = 120

# The time that a client waits for an answer, by a Clock (see there).
LATE = 5

ZONE = """\
$TTL 3600
@	IN SOA ns host {serial} 7200 3600 1209600 300
	IN NS ns
ns	IN A 192.0.2.53
	IN AAAA 2001:db8::53
www	IN A {address}
txt	IN TXT "some text"
"""


PIDFD_GETFD = 438  # the same number on all machines


def sockets_of(pid):
    """Copies of all sockets of a process, but for those that it closes
    meanwhile; each is closed before the next."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    try:
        for number, file in open_files(pid).items():
            if not file.startswith("socket:"):
                continue
            fd = libc.syscall(PIDFD_GETFD, pidfd, number, 0)
            if fd == -1 and ctypes.get_errno() == errno.EBADF:
                continue
            assert fd != -1, os.strerror(ctypes.get_errno())
            with socket.socket(fileno=fd) as sock:
                yield sock
    finally:
        os.close(pidfd)


def socket_of(pid, matches):
    """A copy of the first socket of a process that matches(socket)."""
    for sock in sockets_of(pid):
        if matches(sock):
            return sock.dup()
    raise AssertionError("the process has no such socket")


def lifeline_address(pidfile):
    """The abstract address of the lifeline, as in src/process/lifeline.c."""
    number = 14695981039346656037
    for octet in os.fsencode(pidfile):
        number = (number ^ octet) * 1099511628211 % 2**64
    return f"\0nsd-lifeline-{number:016x}"


def zone_text(serial=1, address="192.0.2.1"):
    return ZONE.format(serial=serial, address=address)


@functools.cache
def is_sanitized():
    """Built with AddressSanitizer: memory figures mean nothing then."""
    return b"__asan_init" in NSD.read_bytes()


def wait_for(what, check, deadline=DEADLINE):
    """Calls check until it gives something true, which is returned: most is
    there at once, and what is not costs less to look for now and then."""
    begin = time.monotonic()
    while True:
        result = check()
        if result:
            return result
        waited = time.monotonic() - begin
        if waited > deadline:
            raise AssertionError(f"waited {deadline} s in vain for {what}")
        time.sleep(0.005 if waited < 0.5 else 0.02)


def at_once(story, servers):
    """Calls story(server, number) for each at the same time: most of it is
    waiting for the pause before a process is replaced. A story that hangs
    does not keep the test from its end: a pool would wait for it."""
    def tell(done, *arguments):
        try:
            done.set_result(story(*arguments))
        except BaseException as error:
            done.set_exception(error)

    ends = [concurrent.futures.Future() for _ in servers]
    for number, server in enumerate(servers):
        threading.Thread(target=tell, args=(ends[number], server, number),
                         daemon=True).start()
    concurrent.futures.wait(ends)
    for done in ends:
        done.result()


class Server:
    """An nsd with a directory, a configuration and zone files of its own."""

    def __init__(self, directory, zones=None, options=None, flags=(),
                 extra="", foreground=True, address="127.0.0.1",
                 updates=False):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.address = address
        self.port = free_port()
        self.flags = list(flags)
        self.foreground = foreground
        # With a channel for updates: see tests/lib/nsd_update.c.
        self.program = BUILD / "tests/lib/nsd_update" if updates else NSD
        self.updates = updates
        self.process = None
        self.launcher = []  # runs the program
        # The server itself looks at who died of which signal.
        self.environment = {**os.environ, "ASAN_OPTIONS": ":".join(
            f"handle_{name}=0" for name in (
                "sigbus", "segv", "abort", "sigill", "sigfpe"))}
        self.extra_groups = None
        self.sessions = []
        self.config = self.directory / "nsd.conf"
        self.log = self.directory / "nsd.log"
        self.pidfile = self.directory / "nsd.pid"
        self.output_file = self.directory / "nsd.output"
        self.zones = {}
        self.extra = extra
        self.options = {
            "ip-address": address,
            "port": self.port,
            "username": '""',
            "zonesdir": f'"{self.directory}"',
            "pidfile": f'"{self.pidfile}"',
            "logfile": f'"{self.log}"',
            "zonelistfile": f'"{self.directory}/zone.list"',
            "xfrdfile": f'"{self.directory}/xfrd.state"',
            "xfrdir": f'"{self.directory}"',
            "verbosity": 1,
            # The queries of a test are no attack.
            "rrl-ratelimit": 0,
        }
        self.options.update(options or {})
        for name, text in (zones or {}).items():
            self.write_zone(name, text)
        self.write_config()

    # ---- files

    def zone_file(self, name):
        return self.directory / f"{name.rstrip('.')}.zone"

    def write_zone(self, name, text):
        """text None: the zone is configured, but has no file."""
        self.zones[name] = text
        if text is None:
            return
        path = self.zone_file(name)
        temp = path.with_suffix(".new")
        temp.write_text(text)
        temp.rename(path)

    def write_config(self):
        lines = ["server:"]
        for name, value in self.options.items():
            values = value if isinstance(value, list) else [value]
            lines += [f"\t{name}: {v}" for v in values if v is not None]
        for name in self.zones:
            lines += ["zone:", f"\tname: {name}",
                      f"\tzonefile: {self.zone_file(name).name}"]
        self.config.write_text("\n".join(lines) + "\n" + self.extra)

    # ---- the program

    def command(self, *more):
        return [*self.launcher, str(self.program), "-c", str(self.config), *self.flags,
                *more]

    def run(self, *more):
        """Runs to the end, as for a start that fails."""
        result = subprocess.run(self.command(*more), capture_output=True,
                                text=True, timeout=DEADLINE, check=False,
                                stdin=subprocess.DEVNULL,
                                env=self.environment)
        return result

    def look_for_no_leaks(self):
        """As a sanitizer does at the end, with /proc and ptrace."""
        self.environment["ASAN_OPTIONS"] += ":detect_leaks=0"

    def start(self, ready=True):
        known = len(self.read_log())
        if self.foreground:
            # To a file: a pipe would be held open by workers that outlive
            # main.
            with self.output_file.open("w") as output:
                self.process = subprocess.Popen(
                    self.command("-d"), bufsize=0,
                    stdin=subprocess.PIPE if self.updates
                    else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if self.updates else output,
                    stderr=output if self.updates else subprocess.STDOUT,
                    env=self.environment, start_new_session=True,
                    extra_groups=self.extra_groups)
            self.sessions.append(self.process.pid)
        else:
            result = self.run()
            assert result.returncode == 0, result.stderr
            self.sessions.append(self.read_pid())
        if ready:
            wait_for("the start", lambda: self.has_ended()
                     or "nsd started" in self.read_log()[known:])
            assert not self.has_ended(), self.read_log() + self.output
            # After a second it serves those that are read by then.
            if self.options["verbosity"]:
                self.wait_log(r"\d+ zones: \d+ read, \d+ failed", known)
            self.wait_serving()
        return self

    def has_ended(self):
        return self.foreground and self.process.poll() is not None

    def wait_serving(self):
        """Waits until all processes have their names, and one answers."""
        count = int(self.options.get("server-count", 1))
        names = {"main", "loader", "xfrd",
                 *(f"server {i + 1}" for i in range(count))}
        wait_for("all processes", lambda: names <= set(self.roles()))
        self.wait_answer()

    def wait_answer(self):
        def ask():
            try:
                return self.query("id.server", "TXT", rdclass="CH",
                                  timeout=1)
            except (dns.exception.DNSException, OSError):
                return None
        return wait_for("an answer", ask)

    @property
    def main_pid(self):
        return self.process.pid if self.foreground else self.sessions[-1]

    def read_pid(self):
        return int(self.pidfile.read_text())

    def roles(self):
        """{"main": pid, "loader": pid, "server 1": pid, ...}, without those
        that stand by."""
        return {name: pid for name, pid in self.processes().items()
                if not name.startswith("standby")}

    def processes(self):
        """The processes by role, with standbys: "standby 1"."""
        found = {}
        session = session_of(self.main_pid) or self.sessions[-1]
        names = {pid: read_proc(pid, "comm").strip()
                 for pid in pids_of_session(session)}
        for pid, name in names.items():
            parent = parent_of(pid)
            # A child has its parent's name: until it takes its own, or for as
            # long as it tries a call that may kill it.
            if (not name.startswith("nsd: ") or parent is None
                    or names.get(parent) == name
                    or (name == "nsd: main" and pid != session)):
                continue
            found[name[5:]] = pid
        return found

    def role(self, name):
        return wait_for(f"the process {name}",
                        lambda: self.roles().get(name))

    def kill(self, name, number=signal.SIGKILL):
        """Signals a role; returns the pid that it had."""
        pid = self.role(name)
        os.kill(pid, number)
        if number == signal.SIGKILL:
            wait_for(f"the end of {name}", lambda: not is_alive(pid))
        return pid

    def wait_replaced(self, name, old_pid):
        return wait_for(f"another {name}",
                        lambda: (self.roles().get(name) or old_pid)
                        != old_pid and self.roles().get(name))

    def signal(self, number):
        os.kill(self.main_pid, number)

    def reload(self):
        """SIGHUP, and waits until all is read."""
        known = len(self.read_log())
        self.signal(signal.SIGHUP)
        self.wait_log(r"SIGHUP received, reloading\.\.\.", known)

    def send_update(self, text):
        """Lines for nsd_update, without the final "send"."""
        self.process.stdin.write((text.strip() + "\nsend\n").encode())

    def read_update(self):
        """The next answer to an update, as (outcome, added, removed)."""
        line = b""
        end = time.monotonic() + DEADLINE
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [],
                                        max(end - time.monotonic(), 0))
            assert ready, "no answer to an update"
            octet = self.process.stdout.read(1)
            assert octet, "the server has ended"
            line += octet
        found = re.match(r"\d+ (.*?) added (\d+) removed (\d+) ",
                         line.decode())
        return ((found[1], int(found[2]), int(found[3])) if found
                else (line.decode().split(" ", 1)[1].strip(), 0, 0))

    def update(self, text):
        self.send_update(text)
        return self.read_update()

    def stop(self):
        """Ends it as an operator does; returns the exit code."""
        if self.foreground:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
            code = self.process.wait(DEADLINE)
        else:
            pid = self.main_pid
            if is_alive(pid):
                os.kill(pid, signal.SIGTERM)
            wait_for("the end of main", lambda: not is_alive(pid))
            code = 0
        return code

    def leftovers(self):
        return [p for s in self.sessions for p in pids_of_session(s)]

    def clean_up(self):
        """Ends what is left; the names of processes that should not be."""
        left = {}
        try:
            self.end_all()
        finally:  # also where the time for the test is over
            for pid in self.leftovers():
                left[pid] = read_proc(pid, "comm").strip()
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if self.process is not None and self.process.poll() is None:
                self.process.wait(DEADLINE)
        return left

    def end_all(self):
        """Stops the server as an operator does, and waits for its end."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(DEADLINE)
        elif not self.foreground:
            for session in self.sessions:
                if is_alive(session):
                    os.kill(session, signal.SIGTERM)
                    with contextlib.suppress(AssertionError):
                        wait_for("the end", lambda s=session:
                                 not is_alive(s))
        # Processes that end with main may take a moment longer.
        with contextlib.suppress(AssertionError):
            wait_for("the end of all", lambda: not self.leftovers())

    # ---- the log

    @property
    def output(self):
        """The output of the server to its standard streams."""
        return self.output_file.read_text(errors="replace")

    def read_log(self):
        """The whole lines of the log: one may be seen half written."""
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return ""
        return text[:text.rfind("\n") + 1]

    def wait_log(self, pattern, start=0, count=1):
        """Waits for so many matches behind start; returns the last one."""
        def look():
            found = list(re.finditer(pattern, self.read_log()[start:]))
            return found[count - 1] if len(found) >= count else None
        try:
            return wait_for(f"{pattern!r} in the log", look)
        except AssertionError as error:
            raise AssertionError(f"{error}; it holds:\n{self.read_log()}"
                                 ) from None

    def place(self, option):
        """The place of an option of server: in nsd.conf, as it is told; of
        several the last."""
        lines = self.config.read_text().splitlines()
        numbers = [number for number, line in enumerate(lines, 1)
                   if line.strip().startswith(f"{option}:")]
        return f"{self.config}:{numbers[-1]}: " if numbers else ""

    # ---- queries

    def query(self, name, rdtype, rdclass="IN", tcp=False,
              timeout=DEADLINE, address=None, port=None, edns=None,
              **more):
        message = dns.message.make_query(name, rdtype, rdclass,
                                         use_edns=edns, **more)
        ask = dns.query.tcp if tcp else dns.query.udp
        return ask(message, address or self.address, timeout=timeout,
                   port=port or self.port)

    def answer(self, name, rdtype, **more):
        """The RDATA of the answer, as text and sorted."""
        response = self.query(name, rdtype, **more)
        assert response.rcode() == dns.rcode.NOERROR, response
        return sorted(rr.to_text() for rrset in response.answer
                      for rr in rrset)

    def rcode(self, name, rdtype, **more):
        return dns.rcode.to_text(self.query(name, rdtype, **more).rcode())

    def serial(self, zone):
        response = self.query(zone, "SOA")
        return response.answer[0][0].serial if response.answer else None

    def identity(self, **more):
        answer = self.query("id.server", "TXT", rdclass="CH", **more).answer
        return answer[0][0].strings[0].decode() if answer else None

    def wait_serial(self, zone, serial):
        wait_for(f"serial {serial} of {zone}",
                 lambda: self.serial(zone) == serial)


class Held:
    """A file that can be opened to be read only once it is let go, so that
    its reader is known to be in the middle:

        more = Held(server.directory / "more.inc")
        ...
        with more.opened() as f:  # somebody waits for it
            ...
            f.write("text")       # and now reads this

    It is a lease (fcntl(2)): the kernel lets an open wait for its end, but
    not for longer than /proc/sys/fs/lease-break-time (45 s), and it does not
    begin anew for the next that opens. A test for which that was too short
    fails: its reader may have read what is not finished.
    """

    def __init__(self, path, text=""):
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self.write(text)
        self.hold()

    def __del__(self):
        self.close()

    def hold(self):
        """From now on, or from now on again. Nobody may have it open."""
        self.let_go()
        # SIGIO, which would come when it is opened, would end us.
        fcntl.fcntl(self.fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(self.fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)

    def is_waited_for(self):
        if fcntl.fcntl(self.fd, fcntl.F_GETLEASE) == fcntl.F_WRLCK:
            return False
        self.check_held()
        return True

    def check_held(self):
        """A lease that is there but was made one for reading, as whoever
        opens the file needs it, is no longer waited for."""
        file = os.fstat(self.fd).st_ino
        leases = re.findall(rf"LEASE +(\w+) +(\w+) {os.getpid()} "
                            rf"\w+:\w+:{file} ", read_proc("", "locks"))
        assert leases in ([("ACTIVE", "WRITE")], [("BREAKING", "READ")]), (
            f"{self.path} was opened though it is held: the test took longer"
            f" than the kernel lets an open wait; its lease: {leases}")

    def write(self, text):
        os.write(self.fd, text.encode())

    def let_go(self):
        with contextlib.suppress(BlockingIOError):  # there is none
            fcntl.fcntl(self.fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    def close(self):
        if self.fd != -1:
            os.close(self.fd)
        self.fd = -1

    @contextlib.contextmanager
    def opened(self):
        wait_for("somebody who opens it", self.is_waited_for)
        try:
            yield self
            self.check_held()
        finally:
            self.let_go()


def ede_codes(response):
    """The extended errors of a response (RFC 8914)."""
    return [int(o.code) for o in response.options if o.otype == 15]


class Clock:
    """Seconds in which we had a processor whenever we wanted one. While the
    whole machine stood still, or another had our turn, next to none have
    passed: what takes long by this clock, no busy machine is to blame for."""

    STEP = 0.1  # no wait of those that read it is longer

    def __init__(self):
        self.now = 0.0
        self.last = time.monotonic()

    def tick(self):
        """Call it at least once each STEP."""
        now = time.monotonic()
        self.now += min(now - self.last, self.STEP)
        self.last = now
        return self.now


class Load:
    """Queries without pause from several client ports, each waiting for its
    answer before it asks again; counts as lost those that were not answered
    while we waited LATE seconds for it, as resolvers do at most."""

    def __init__(self, server, clients=8, name="www.example", patience=LATE):
        self.sockets = []
        self.pending = {}
        self.sent = 0
        self.lost = 0
        self.answered = 0
        self.patience = patience
        self.clock = Clock()
        self.wire = dns.message.make_query(name, "A").to_wire()
        for _ in range(clients):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect((server.address, server.port))
            s.setblocking(False)
            self.sockets.append(s)

    def step(self, seconds):
        """Runs for that long."""
        self._run(lambda end=time.monotonic() + seconds:
                  time.monotonic() >= end)

    def step_answers(self, count):
        """Runs until that many more are answered."""
        goal = self.answered + count
        end = time.monotonic() + DEADLINE
        self._run(lambda: self.answered >= goal
                  or time.monotonic() >= end)
        assert self.answered >= goal, f"{self.answered} of {goal} answers"

    def _run(self, is_over):
        while not is_over():
            for s in self.sockets:
                if s not in self.pending:
                    self._send(s)
            self._receive_ready(self.sockets)
            self._give_up()

    def _send(self, s):
        try:
            s.send(self.wire)
        except OSError:
            pass
        self.pending[s] = self.clock.tick()
        self.sent += 1

    def _receive_ready(self, sockets):
        ready, _, _ = select.select(sockets, [], [], 0.05)
        for s in ready:
            try:
                s.recv(4096)
            except OSError:
                continue
            if self.pending.pop(s, None) is not None:
                self.answered += 1

    def _give_up(self):
        """Gives up queries without an answer for too long."""
        now = self.clock.tick()
        for s in [s for s, since in self.pending.items()
                  if now - since > self.patience]:
            del self.pending[s]
            self.lost += 1

    def finish(self):
        """Waits for what is on its way."""
        while self.pending:
            self._receive_ready(list(self.pending))
            self._give_up()
        for s in self.sockets:
            s.close()
