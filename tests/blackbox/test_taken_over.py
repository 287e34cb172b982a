"""Processes that somebody has taken over, of each role: whatever system calls
they make, they alter no file, no other process and no zone, and get no further.

tests/lib/nsd_taken.c makes the calls in the process, after its start. Each row
below is an attempt that would succeed by the rights of the process's user.
"""

import errno
import os
import re
import select
import socket

import pytest
import seccomp

from harness import (BUILD, DEADLINE, is_sanitized, open_files, wait_for,
                     zone_text)
from ports import free_port

NOBODY = 65534
AT_FDCWD = -100
RW, RWX, SHARED, PRIVATE, ANONYMOUS = 3, 7, 1, 2, 0x20
TCP, UDP = socket.SOCK_STREAM, socket.SOCK_DGRAM
CONTINUE = 18  # SIGCONT: harms nobody
FILES = ("database", "zone", "pidfile", "log", "config")
OTHERS = ("main", "loader", "xfrd", "server-1", "server-2")

# Errors of a refusal: no such call, or not allowed.
REFUSED = {errno.ENOSYS, errno.EACCES, errno.EPERM}


# A build without dnstap has no collector to be taken over here.
COLLECTOR = ("collector",) if "#define USE_DNSTAP 1" in (
    BUILD / "config.h").read_text() else ()
READERS = ("server-1", "verify-server", "xfrd", "writer")
CONFINED = (*READERS, *COLLECTOR)
EVERYBODY = ("server-1", "verify-server", "loader", "xfrd", "writer",
             *COLLECTOR)


def rows():
    """(what, roles, call and its arguments): refused to each of the roles."""
    yield from file_rows(EVERYBODY)
    for name in OTHERS:
        yield from other_rows(f"{{{name}}}", tuple(
            role for role in EVERYBODY if role != name))
    for role in EVERYBODY:
        for number in range(3, 20):
            yield from descriptor_rows(role, number)
    yield from own_rows(EVERYBODY)


def file_rows(everybody):
    for file in FILES:
        path = f"={{{file}}}"
        yield "opens to write", everybody, f"openat {AT_FDCWD} {path} {os.O_RDWR}"
        yield "opens to append", everybody, \
            f"openat {AT_FDCWD} {path} {os.O_WRONLY | os.O_APPEND}"
        yield "opens and cuts", everybody, \
            f"openat {AT_FDCWD} {path} {os.O_RDONLY | os.O_TRUNC}"
        yield "cuts", everybody, f"truncate {path} 0"
        yield "removes", everybody, f"unlinkat {AT_FDCWD} {path} 0"
        yield "renames", everybody, \
            f"renameat {AT_FDCWD} {path} {AT_FDCWD} ={{folder}}/other"
        yield "links", everybody, \
            f"linkat {AT_FDCWD} {path} {AT_FDCWD} ={{folder}}/other 0"
        yield "lets others write", everybody, f"fchmodat {AT_FDCWD} {path} 511"
        yield "opens to read", CONFINED, \
            f"openat {AT_FDCWD} {path} {os.O_RDONLY}"
    yield "makes a file", everybody, \
        f"openat {AT_FDCWD} ={{folder}}/made {os.O_RDWR | os.O_CREAT} 384"
    yield "makes a folder", everybody, f"mkdirat {AT_FDCWD} ={{folder}}/made 448"
    yield "reads a folder", CONFINED, \
        f"openat {AT_FDCWD} ={{folder}} {os.O_RDONLY | os.O_DIRECTORY}"
    yield "a file in memory", everybody, "memfd_create =name 0"
    yield "its own memory as a file", everybody, \
        f"openat {AT_FDCWD} =/proc/self/mem {os.O_RDWR}"
    yield "cuts the log", CONFINED, "ftruncate @log 0"
    yield "the start of the log", everybody, "lseek @log 0 0"
    yield "the log without O_APPEND", CONFINED, "fcntl @log 4 0"


def other_rows(pid, others):
    yield "signals", others, f"kill {pid} {CONTINUE}"
    yield "signals a thread", others, f"tgkill {pid} {pid} {CONTINUE}"
    yield "signals a thread", others, f"tkill {pid} {CONTINUE}"
    yield "queues a signal", others, f"rt_sigqueueinfo {pid} {CONTINUE} @zeros"
    yield "a handle", others, f"pidfd_open {pid} 0"
    yield "signals by a descriptor", others, f"fcntl @log 8 {pid}"
    yield "limits", others, f"prlimit64 {pid} 7 @zeros 0"
    yield "its priority", others, f"setpriority 0 {pid} 19"
    yield "its processors", others, f"sched_setaffinity {pid} 8 @code"
    yield "its scheduler", others, f"sched_setattr {pid} @zeros 0"
    for file in ("mem", "maps", "environ", "fd"):
        yield "looks into", others, \
            f"openat {AT_FDCWD} =/proc/{pid}/{file} {os.O_RDONLY}"
    yield "writes into", others, \
        f"openat {AT_FDCWD} =/proc/{pid}/mem {os.O_RDWR}"


def descriptor_rows(role, number):
    for other in ("main", "loader"):
        if role != other:
            yield "opens what it has open", (role,), \
                f"openat {AT_FDCWD} =/proc/{{{other}}}/fd/{number} {os.O_RDWR}"
    if role != "loader":
        yield "maps to write", (role,), f"mmap 0 4096 {RW} {SHARED} {number} 0"
        yield "opens anew", (role,), \
            f"openat {AT_FDCWD} =/proc/self/fd/{number} {os.O_RDWR}"
    if role == "server-1":
        yield "connects", (role,), f"connect {number} @zeros 16"
        yield "binds", (role,), f"bind {number} @zeros 16"
        yield "ends listening", (role,), f"shutdown {number} 0"
        yield "steers the queries of all", (role,), \
            f"setsockopt {number} 1 51 @zeros 16"


def own_rows(everybody):
    yield "the store, to write", READERS, \
        f"mprotect @store 4096 {RW}"
    yield "its code", everybody, f"mprotect @code 4096 {RWX}"
    yield "more code", everybody, \
        f"mmap 0 4096 {RWX} {PRIVATE | ANONYMOUS} -1 0"
    yield "shared memory", CONFINED, \
        f"mmap 0 4096 {RW} {SHARED | ANONYMOUS} -1 0"
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX,
                   socket.AF_NETLINK, socket.AF_PACKET):
        # xfrd asks other servers.
        who = [role for role in everybody if role != "xfrd"
               or family not in (socket.AF_INET, socket.AF_INET6)]
        yield "a socket", who, f"socket {int(family)} {int(UDP)} 0"
        yield "a socket", who, f"socket {int(family)} {int(TCP)} 0"
    # Of the sockets for operators, too: which one it is makes no difference.
    yield "ends listening", everybody, "shutdown @log 0"
    yield "may be looked into", everybody, "prctl 4 1 0 0 0"
    yield "a ring of calls", everybody, "io_uring_setup 8 @zeros"
    yield "a process", everybody, "clone3 @zeros 88"
    yield "events in the kernel", everybody, "perf_event_open @zeros 0 -1 -1 0"
    yield "keys", everybody, "keyctl 0 -3 0"
    yield "another filter", everybody, "seccomp 1 0 @zeros"
    yield "another root", everybody, "chdir =/"


# Calls that end the process.
KILLED = {
    "server-1": "execve =/bin/true @zeros @zeros",
    "server-2": "clone 17 0 0 0 0",
    "server-3": "ptrace 16 {main} 0 0",
    "server-4": "process_vm_writev {main} @zeros 1 @zeros 1 0",
    "server-5": "pidfd_getfd 3 3 0",
    "server-6": "setuid 0",
    "loader": "execve =/bin/true @zeros @zeros",
    "xfrd": "clone 17 0 0 0 0",
    "writer": "execve =/bin/true @zeros @zeros",
    "verify-server": "execve =/bin/true @zeros @zeros",
    **{role: "execve =/bin/true @zeros @zeros" for role in COLLECTOR},
}


class Taken:
    """A server whose processes can be told what to do."""

    def __init__(self, server):
        self.server = server
        self.names = {
            "folder": server.directory, "config": server.config,
            "database": server.directory / "zones.db", "log": server.log,
            "zone": server.zone_file("example"), "pidfile": server.pidfile}

    def read_pids(self):
        """Anew after each death."""
        for name, pid in self.server.roles().items():
            self.names[name.replace(" ", "-")] = pid

    def call(self, role, text):
        """"died", or (result, errno)."""
        name, _, arguments = text.format(**self.names).partition(" ")
        if name != "abort":
            name = seccomp.resolve_syscall(seccomp.Arch(), name)
        self.server.process.stdin.write(
            f"{role} {name} {arguments}".strip().encode() + b"\n")
        line = self.read_line()
        if line == "died":
            return line
        word, number = line.split()
        return (int(number), 0) if word == "done" else (-1, int(number))

    def read_line(self):
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.server.process.stdout], [], [],
                                        DEADLINE)
            assert ready, "no answer"
            octet = self.server.process.stdout.read(1)
            assert octet, "the server has ended: " + self.server.read_log()
            line += octet
        return line.decode().strip()


@pytest.fixture(params=["root", "root, workers another user", "any user"])
def taken(request, make_server, directory):
    make = Maker(make_server, directory)
    return make(request.param)


class Maker:
    def __init__(self, make_server, directory):
        self.make_server = make_server
        self.directory = directory

    def __call__(self, who, **options):
        if who != "any user":
            options["username"] = "nobody"
        if who.endswith("another user"):
            options["worker-username"] = "daemon"
        server = self.make_server(
            zones={"example": zone_text()}, updates=True, options={
                "server-count": 6, "xfrdir": f'"{self.directory}/spool"',
                "database": f'"{self.directory}/zones.db"',
                **options},
            # No receiver is there.
            extra=f"verify:\n\tenable: yes\n\tport: {free_port()}\n"
            "\tip-address: 127.0.0.1\n\tverifier: /bin/true\n"
            "dnstap:\n\tdnstap-enable: yes\n\tdnstap-socket-path: "
            f"{self.directory}/tap.sock\n"
            "\tdnstap-log-auth-query-messages: yes\n")
        server.program = BUILD / "tests/lib/nsd_taken"
        (self.directory / "spool").mkdir()  # the writer's
        # The sandbox must refuse, not the files' modes.
        self.directory.chmod(0o777)
        for path in self.directory.iterdir():
            os.chown(path, NOBODY, NOBODY)
        if who == "any user":
            server.launcher = ["setpriv", f"--reuid={NOBODY}",
                               f"--regid={NOBODY}", "--clear-groups"]
        server.start()
        made = Taken(server)
        made.read_pids()
        return made


def has_sandbox(server):
    """True with a sandbox; a build with sanitizers must log that it has
    none."""
    if is_sanitized():
        server.wait_log("sandbox: none in a build with sanitizers")
        return False
    assert "system calls are not filtered" not in server.read_log()
    return True


def state_of(files):
    """The state of each file that must not change."""
    found = {}
    for path in files:
        stat = path.stat()
        found[path] = (stat.st_ino, stat.st_mode, stat.st_nlink, stat.st_uid)
    return found


pytestmark = [pytest.mark.plain, pytest.mark.skipif(
    os.geteuid() != 0, reason="being several users needs root")]


def is_its_own(server, role, text):
    """Whether a call opens what xfrd alone has: its journal, pipes, sockets;
    or nothing."""
    number = re.search(r"=/proc/self/fd/(\d+) ", text)
    if role != "xfrd" or not number:
        return False
    link = f"/proc/{server.role('xfrd')}/fd/{number[1]}"
    what = os.readlink(link) if os.path.islink(link) else ""
    return (not what or ".journal" in what
            or what.startswith(("pipe:", "socket:", "anon_")))


def lasting(server):
    """The processes, without those that come when they are wanted."""
    return {role: pid for role, pid in server.roles().items()
            if role not in ("writer", "verifier")}


def test_nothing_comes_of_it(taken):
    server = taken.server
    if not has_sandbox(server):
        return
    files = [taken.names[name] for name in FILES]
    # xfrd makes it at its start, which may be later than the first answer.
    wait_for("the journal", lambda: any(
        name.endswith(".journal") for name in os.listdir(server.directory)))
    before, names = state_of(files), set(os.listdir(server.directory))
    contents = taken.names["zone"].read_bytes()
    pids = lasting(server)
    wrong = []
    for what, roles, text in rows():
        for role in roles:
            if is_its_own(server, role, text):
                continue
            result, error = taken.call(role, text)
            if result != -1 or error not in REFUSED:
                wrong.append((role, what, text.format(**taken.names), result,
                              errno.errorcode.get(error, error)))
    assert wrong == [], wrong
    assert lasting(server) == pids
    assert state_of(files) == before
    assert taken.names["zone"].read_bytes() == contents
    assert taken.names["database"].stat().st_size > 0
    assert set(os.listdir(server.directory)) == names
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.stop() == 0
    assert "database closed" in server.read_log()


def test_what_no_library_does_ends_the_process(taken):
    server = taken.server
    if not has_sandbox(server):
        return
    pids = {name.replace(" ", "-"): pid
            for name, pid in server.roles().items()}
    for role, text in KILLED.items():
        assert taken.call(role, text) == "died", (role, text)
        server.wait_log(r"writer \(pid \d+\) was killed by signal 31"
                        if role == "writer" else
                        # The name of a process is cut.
                        rf"\(pid {pids[role[:10]]}\) was killed by signal 31, "
                        "replacing it")
    server.wait_serving()
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.role("main") == pids["main"]


def verifier_rows():
    """Calls that a verifier may not make, though nothing confines it."""
    yield f"mprotect @store 4096 {RW}"
    yield "setuid 0"
    yield "setgid 0"
    for name in OTHERS:
        pid = f"{{{name}}}"
        yield f"ptrace 16 {pid} 0 0"
        for file in ("mem", "maps", "environ", "fd"):
            yield f"openat {AT_FDCWD} =/proc/{pid}/{file} {os.O_RDONLY}"
        yield f"openat {AT_FDCWD} =/proc/{pid}/mem {os.O_RDWR}"
        for number in range(3, 12):
            yield f"openat {AT_FDCWD} =/proc/{pid}/fd/{number} {os.O_RDWR}"


def take_descriptor(taken, number):
    """The outcome of taking one of main's. A verifier ends when it has had
    nothing to do for a while, and with it the handle."""
    while True:
        handle, _ = taken.call("verifier", "pidfd_open {main} 0")
        assert handle >= 0
        outcome = taken.call("verifier", f"pidfd_getfd {handle} {number} 0")
        if outcome != (-1, errno.EBADF):
            return outcome


def test_verifier_gets_no_further(taken):
    """A verifier may do what its user may, as its programs; but the store, and
    the memory and descriptors of others, are out of its reach."""
    server = taken.server
    if not has_sandbox(server):
        return
    wrong = []
    for text in verifier_rows():
        result, error = taken.call("verifier", text)
        if result != -1 or error not in REFUSED:
            wrong.append((text.format(**taken.names), result,
                          errno.errorcode.get(error, error)))
    assert wrong == [], wrong
    for number in range(3, 12):
        assert take_descriptor(taken, number) == (-1, errno.EPERM)
    # Neither the store nor anything else that others could see altered.
    for number in range(3, 20):
        assert taken.call("verifier", f"mmap 0 4096 {RW} {SHARED} {number} 0"
                          )[0] == -1, number
    assert server.answer("www.example", "A") == ["192.0.2.1"]


def test_abort_still_says_what_it_is(taken):
    server = taken.server
    for role in ("server-1", "loader", "xfrd"):
        assert taken.call(role, "abort") == "died"
    server.wait_log("was killed by signal 6", count=3)
    server.wait_serving()


def test_attempts_succeed_where_nothing_confines(make_server, directory):
    """Without a sandbox the attempts succeed, so the rows above are attempts
    at all."""
    taken = Maker(make_server, directory)("root", sandbox="no")
    server = taken.server
    server.wait_log("sandbox: no")
    for role in ("server-2", "loader", "xfrd", "writer"):
        for text in (
                f"openat {AT_FDCWD} ={{database}} {os.O_RDWR}",
                f"openat {AT_FDCWD} ={{zone}} {os.O_RDWR}",
                f"openat {AT_FDCWD} ={{folder}}/made"
                f" {os.O_RDWR | os.O_CREAT} 384",
                f"fchmodat {AT_FDCWD} ={{zone}} 420",
                f"kill {{main}} {CONTINUE}",
                f"tgkill {{server-1}} {{server-1}} {CONTINUE}",
                "pidfd_open {server-1} 0",
                "fcntl @log 8 {main}",
                f"socket {int(socket.AF_INET)} {int(TCP)} 0",
                f"mmap 0 4096 {RWX} {PRIVATE | ANONYMOUS} -1 0",
                "memfd_create =name 0", "lseek @log 0 0"):
            result, error = taken.call(role, text)
            assert result != -1, (role, text, os.strerror(error))
    assert taken.call("server-2", "execve =/bin/false @zeros @zeros") \
        == "died"
    # The worker ends by itself, or main notices its closed channel first.
    server.wait_log("server 2 .* (ended with status 1|was killed by signal 9)"
                    ", replacing it")
    server.wait_serving()


def test_processes_hold_no_descriptor_of_others(taken):
    """A process might have from the start a descriptor that it cannot open."""
    server = taken.server

    def has(pid, role):
        files = open_files(pid).values()
        stores = [f for f in files if "nsd-store" in f or "zones.db" in f]
        return (stores if role not in ("main", "loader") else []) + (
            [f for f in files if f == str(server.pidfile)]
            if role != "main" else [])

    # A process that has its name already may have begun just now.
    for role, pid in server.roles().items():
        wait_for(f"nothing in {role}",
                 lambda pid=pid, role=role: not has(pid, role))
