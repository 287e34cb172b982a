"""Starting and stopping: flags, exit codes, pid file, privileges, log."""

import contextlib
import os
import pathlib
import re
import resource
import signal
import socket
import stat
import subprocess

import pytest

import control
import harness
from harness import NSD, wait_for, zone_text

pytestmark = pytest.mark.plain

VERSION = re.search(r'#define PACKAGE_VERSION "([^"]*)"',
                    (harness.BUILD / "config.h").read_text())[1]
LINE = (r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] nsd\[\d+\]: "
        r"(error|warning|notice|info): .*")


def nsd_alone(*arguments):
    return subprocess.run([str(NSD), *arguments], capture_output=True,
                          text=True, timeout=harness.DEADLINE, check=False,
                          stdin=subprocess.DEVNULL)


# ---- flags (doc/surface.md 2.1) ---------------------------------------------------

def test_help_goes_to_stderr_and_exits_0():
    result = nsd_alone("-h")
    assert result.returncode == 0
    assert result.stdout == ""
    for flag in "46acdfhiIlNnPpstuVv":
        assert re.search(rf"^ +-{flag}\b", result.stderr, re.M), flag


def test_version_goes_to_stderr_and_exits_0():
    result = nsd_alone("-v")
    assert result.returncode == 0
    assert result.stdout == ""
    assert result.stderr.startswith(f"NSD version {VERSION}\n")


@pytest.mark.parametrize("arguments", [
    ["-X"], ["-Z"], ["-p", "dns"], ["-p", "0"], ["-p", "65536"],
    ["-p", "53x"], ["-N", "0"], ["-N", "x"], ["-n", "0"], ["-n", "-1"],
    ["-V", "x"], ["-s", "x"], ["-c"], ["leftover"], ["-d", "leftover"],
])
def test_wrong_flag_exits_1_and_says_why(arguments):
    result = nsd_alone(*arguments)
    assert result.returncode == 1
    assert result.stderr != ""


def test_absent_configuration_exits_1():
    result = nsd_alone("-c", "/nonexistent/nsd.conf")
    assert result.returncode == 1
    assert "/nonexistent/nsd.conf" in result.stderr


@pytest.mark.parametrize("options, expected", [
    ({"server-count": "many"}, "expected a number"),
    ({"no-such-option": "yes"}, "syntax error"),
])
def test_broken_configuration_exits_1_with_its_line(make_server, options,
                                                    expected):
    server = make_server(options=options)
    result = server.run()
    assert result.returncode == 1
    assert re.search(r"nsd\.conf:\d+: .*" + expected, result.stderr)
    assert result.stderr.endswith(
        f"error: could not read config: {server.config}\n")


@pytest.mark.parametrize("option", ["identity", "version"])
def test_text_that_no_txt_record_holds_exits_1(make_server, option):
    result = make_server(options={option: '"' + "a" * 256 + '"'}).run()
    assert result.returncode == 1
    assert re.search(rf"nsd\.conf:\d+: error: server {option} too long \(256 "
                     "char", result.stderr)


@pytest.mark.parametrize("options, expected", [
    # NSD's texts
    ({"username": "no-such-user-here"},
     "error: user 'no-such-user-here' does not exist."),
    ({"zonesdir": '"/nonexistent"'}, "error: cannot chdir to '/nonexistent': "
     "No such file or directory"),
    ({"chroot": '"/nonexistent"'}, "error: unable to chroot: "
     "No such file or directory (/nonexistent)"),
    ({"cpu-affinity": "1023"},
     "error: invalid cpu 1023 specified in cpu-affinity"),
    ({"cpu-affinity": "0", "server-1-cpu-affinity": "1"}, "cpu-affinity"),
    ({"cpu-affinity": "0", "xfrd-cpu-affinity": "1"}, "cpu-affinity"),
    ({"ip-address": "192.0.2.1@5300"}, "error: can't bind udp socket "
     "192.0.2.1@5300: Cannot assign requested address"),
    ({"ip-address": "no-such-device"},
     "error: cannot parse address 'no-such-device': "),
    ({"ip-address": '127.0.0.1 servers="3"', "server-count": 2},
     "error: server 3 specified for ip-address 127.0.0.1 exceeds number of "
     "servers configured in server-count"),
])
def test_start_that_cannot_be_exits_1_on_stderr(make_server, options,
                                                expected):
    server = make_server(options=options, foreground=False)
    result = server.run()
    assert result.returncode == 1
    assert expected in result.stderr
    assert result.stderr.endswith(
        "error: server initialization failed, nsd could not be started\n")
    assert not server.pidfile.exists()


def test_pid_file_that_cannot_be_written_does_not_fail_the_start(nsd):
    """Fault 50: a full disk under /run is no reason to serve nobody."""
    server = nsd(zones={"example": zone_text()}, foreground=True,
                 options={"pidfile": '"/nonexistent/pid"'})
    assert "cannot overwrite the pidfile /nonexistent/pid" in server.read_log()
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.stop() == 0


def test_soft_limit_of_files_is_not_too_low_for_the_sockets(make_server):
    """Fault 42: addresses times workers."""
    server = make_server(zones={"example": zone_text()}, options={
        "server-count": 3,
        "ip-address": [f"127.0.0.{i + 1}" for i in range(10)]})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (50, hard))
    try:
        server.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.answer("www.example", "A",
                         address="127.0.0.10") == ["192.0.2.1"]


def with_open_files(count):
    """Runs a program with a limit that not even root's can raise."""
    return ["prlimit", f"--nofile={count}", *(
        ["setpriv", "--bounding-set=-sys_resource"] if os.geteuid() == 0
        else [])]


def processes_in(folder):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/cwd") == str(folder):
                found.append(int(pid))
    return found


@pytest.mark.parametrize("workers", [1, 3])
def test_start_without_descriptors_exits_1(make_server, workers):
    """Fault 42: it would try for ever to start somebody who serves. With as
    many as it asks for, all are there; with less, somebody is."""
    server = make_server(zones={"example": zone_text()},
                         options={"server-count": workers}, foreground=False)
    few, least = 14 + 5 * workers, None
    while least is None or few < least:
        server.launcher = with_open_files(few)
        result = server.run()
        assert result.returncode == 1
        said = re.search(rf"error: {few} open files are too few, at least"
                         r" (\d+) are needed \(RLIMIT_NOFILE", result.stderr)
        assert said, result.stderr
        # The parent has returned, and main still has its lifeline: the next
        # start would have none, and count one descriptor less.
        wait_for("its end", lambda: not processes_in(server.directory))
        needed = int(said[1])
        # The other processes: xfrd, and all workers but one.
        least = needed - 1 - 2 * workers
        assert not server.pidfile.exists()
        few = max(few + 1, least - 1)
    for count in least, needed:
        known = len(server.read_log())
        server.launcher = with_open_files(count)
        server.start(ready=count == needed)
        server.wait_answer()
        assert server.answer("www.example", "A") == ["192.0.2.1"]
        assert ("open files are too few" in server.read_log()[known:]) \
            == (count < needed)
        server.stop()


@pytest.mark.parametrize("workers", [1, 2])
def test_port_in_use_exits_1(make_server, nsd, workers):
    """Several workers share a port; with another server it is not shared."""
    running = nsd(zones={"example": zone_text()},
                  options={"server-count": workers})
    second = make_server("second", options={"server-count": workers})
    second.options["port"] = running.port
    second.write_config()
    result = second.run()
    assert result.returncode == 1
    address = f"127.0.0.1@{running.port}"
    assert [line.split("error: ")[1] for line in result.stderr.splitlines()
            ] == [
        f"can't bind udp socket {address}: Address already in use",
        "server initialization failed, nsd could not be started"]
    assert running.answer("www.example", "A") == ["192.0.2.1"]


@pytest.mark.parametrize("where", ["path", "address"])
def test_control_interface_in_use_exits_1(make_server, where):
    address = f"127.0.0.1@{harness.free_port()}"
    running = control.config(make_server(zones={"example": zone_text()}),
                             f"control-interface: {address}")
    running.start()
    interface = running.control if where == "path" else address
    second = control.config(make_server("second"),
                            f"control-interface: {interface}")
    result = second.run()
    assert result.returncode == 1
    assert [line.split("error: ")[1] for line in result.stderr.splitlines()
            if "error: " in line][0].endswith(
        f"socket {interface}: Address already in use")
    assert control.ask(running, "status")[0] == 0


def test_start_waits_for_the_control_socket_of_who_is_just_ending(make_server):
    """As after kill -9 of all processes: the last may take a moment."""
    server = control.config(make_server(zones={"example": zone_text()}))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(server.control)
        listener.listen()
        listener.settimeout(harness.DEADLINE)
        server.start(ready=False)
        listener.accept()[0].close()  # the start looks for an old main
    server.wait_serving()
    assert control.ask(server, "status")[0] == 0


def test_broken_zone_file_does_not_fail_the_start(make_server):
    server = make_server(zones={"example": "@ IN SOA broken\n"},
                         foreground=False)
    server.start()
    assert server.rcode("www.example", "A") == "SERVFAIL"


def test_flags_win_over_the_configuration(make_server, directory):
    port = harness.free_port()
    server = make_server(
        zones={"example": zone_text()},
        options={"server-count": 1, "identity": "file", "nsid": "aabb"},
        flags=["-p", str(port), "-N", "2", "-i", "flag", "-P",
               str(directory / "other.pid"), "-l",
               str(directory / "other.log"), "-u", "", "-V", "2", "-n",
               "50", "-I", "ascii_here", "-f", "ignored", "-4", "-s", "0"])
    server.port = port
    server.options["server-count"] = 2  # for the harness; not written
    server.log = directory / "other.log"
    server.pidfile = directory / "other.pid"
    server.start()
    wait_for("two servers", lambda: {"server 1", "server 2"}
             <= set(server.roles()))
    assert server.answer("id.server", "TXT", rdclass="CH") == ['"flag"']
    assert server.read_pid() == server.main_pid
    assert not (directory / "nsd.log").exists()
    response = server.query("www.example", "A", edns=0, options=[
        harness.dns.edns.GenericOption(3, b"")])
    nsid = [o for o in response.options if o.otype == 3]
    assert nsid and b"here" in nsid[0].to_wire()


def test_address_flags_add_to_those_of_the_file(make_server):
    port = harness.free_port()
    server = make_server(zones={"example": zone_text()},
                         flags=["-a", f"::1@{port}", "-a", "127.0.0.2"])
    server.start()
    for address, at in (("127.0.0.1", server.port), ("::1", port),
                        ("127.0.0.2", server.port)):
        for tcp in (False, True):
            assert server.answer("www.example", "A", address=address,
                                 port=at, tcp=tcp) == ["192.0.2.1"]


@pytest.mark.parametrize("flag, there, absent", [
    ("-4", "127.0.0.1", "::1"), ("-6", "::1", "127.0.0.1")])
def test_family_flag_leaves_the_other_alone(make_server, flag, there, absent):
    server = make_server(zones={"example": zone_text()}, flags=[flag],
                         options={"ip-address": ["127.0.0.1", "::1"]},
                         address=there)
    server.options["ip-address"] = ["127.0.0.1", "::1"]
    server.write_config()
    server.start()
    assert server.answer("www.example", "A", tcp=True) == ["192.0.2.1"]
    family = socket.AF_INET6 if ":" in absent else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as s:
        with pytest.raises(ConnectionRefusedError):
            s.connect((absent, server.port))


# ---- daemon and pid file (doc/surface.md 6) ----------------------------------------

def test_daemon_leaves_the_terminal_and_its_pid(make_server):
    server = make_server(zones={"example": zone_text()}, foreground=False)
    server.start()
    pid = server.read_pid()
    assert server.pidfile.read_text() == f"{pid}\n"
    assert harness.read_proc(pid, "comm") == "nsd: main\n"
    assert harness.session_of(pid) == pid
    for fd in "012":
        assert os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/null"
    assert stat.S_IMODE(server.pidfile.stat().st_mode) == 0o644
    server.stop()
    assert not server.pidfile.exists()
    assert server.leftovers() == []


def test_pid_file_does_not_follow_a_symbolic_link(make_server, directory):
    """faults 50, CVE-2020-28935"""
    target = directory / "precious"
    target.write_text("keep me")
    server = make_server(zones={"example": zone_text()}, foreground=False)
    server.pidfile.symlink_to(target)
    server.start()
    assert target.read_text() == "keep me"
    assert not server.pidfile.is_symlink()
    server.stop()
    assert target.read_text() == "keep me"
    assert not server.pidfile.exists()
    assert [p.name for p in directory.iterdir() if "nsd.pid" in p.name] == []


def test_stale_pid_file_is_reported_only(make_server):
    process = subprocess.Popen(["true"])
    process.wait()
    server = make_server(zones={"example": zone_text()})
    server.pidfile.write_text(f"{process.pid}\n")
    server.start()
    server.wait_log(rf"\.\.\.stale pid file from process {process.pid}")
    assert server.read_pid() == server.main_pid


def test_live_pid_file_is_reported_only(make_server):
    server = make_server(zones={"example": zone_text()})
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            server.pidfile.write_text(f"{other.pid}\n")
            server.start()
            server.wait_log(f"nsd is already running as {other.pid}, "
                            "continuing")
        finally:
            other.kill()


@pytest.mark.parametrize("text", ["", "x\n", "-1\n", "0\n", "1x\n",
                                  "99999999999999999999\n", "\0\0\0"])
def test_pid_file_with_garbage_does_not_matter(make_server, text):
    server = make_server(zones={"example": zone_text()})
    server.pidfile.write_text(text)
    server.start()
    assert server.read_pid() == server.main_pid


def test_pid_file_of_another_is_not_removed(nsd):
    server = nsd(zones={"example": zone_text()})
    server.pidfile.unlink()
    server.pidfile.write_text("1\n")
    assert server.stop() == 0
    assert server.pidfile.read_text() == "1\n"


def test_no_pid_file_if_none_is_wanted(nsd):
    server = nsd(zones={"example": zone_text()}, options={"pidfile": '""'})
    assert not server.pidfile.exists()


# ---- stop -------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_ends_all_and_exits_0(nsd, number):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    server.signal(number)
    assert server.process.wait(harness.DEADLINE) == 0
    assert "signal received, shutting down..." in server.read_log()
    assert not server.pidfile.exists()
    assert server.leftovers() == []


def test_stop_at_once_after_start(make_server):
    """faults 72: while zones are being read."""
    server = make_server(zones={f"z{i}.example": zone_text()
                                for i in range(200)})
    server.start(ready=False)
    server.wait_log("nsd started")
    assert server.stop() == 0
    assert server.leftovers() == []


def test_stop_while_a_child_hangs(nsd):
    server = nsd(zones={"example": zone_text()})
    os.kill(server.role("xfrd"), signal.SIGSTOP)
    assert server.stop() == 0
    assert server.leftovers() == []


# ---- log (doc/surface.md 9) ---------------------------------------------------------

def test_log_of_a_start(nsd):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    log = server.read_log()
    assert f"nsd starting (NSD {VERSION}), rrl-ratelimit 0\n" in log
    assert f"nsd started (NSD {VERSION}), pid {server.main_pid}" in log
    for kind in ("udp", "tcp"):
        assert (f"listen on ip-address 127.0.0.1@{server.port} ({kind}) "
                "with server(s): *") in log
    server.wait_log("zone example read with success")
    for line in server.read_log().splitlines():
        assert re.fullmatch(LINE, line), line


def test_log_names_the_servers_of_an_address(nsd):
    server = nsd(zones={"example": zone_text()},
                 options={"server-count": 4, "ip-address": [
                     "127.0.0.1", '127.0.0.2 servers="1 3-4"']})
    assert (f"listen on ip-address 127.0.0.2@{server.port} (udp) "
            "with server(s): 1 3-4") in server.read_log()
    assert server.answer("www.example", "A", address="127.0.0.2") == [
        "192.0.2.1"]


@pytest.mark.parametrize("options, line", [
    ({"log-time-iso": "yes"},
     r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d nsd\[\d+\]: "
     r"[a-z]+: .*"),
    ({"log-time-ascii": "no"}, r"\[\d{10}\] nsd\[\d+\]: [a-z]+: .*"),
])
def test_log_time_formats(nsd, options, line):
    server = nsd(zones={"example": zone_text()}, options=options)
    lines = server.read_log().splitlines()
    assert lines
    for text in lines:
        assert re.fullmatch(line, text), text


def test_log_without_a_file_goes_to_stderr(make_server):
    server = make_server(zones={"example": zone_text()},
                         options={"logfile": None})
    server.start(ready=False)
    server.wait_serving()
    assert server.stop() == 0
    assert re.search(LINE, server.output)
    assert "nsd started" in server.output
    assert "signal received, shutting down..." in server.output


# ---- privileges --------------------------------------------------------------

needs_root = pytest.mark.skipif(os.geteuid() != 0,
                                reason="changing users needs root")


def proc_ids(pid, field):
    text = harness.read_proc(pid, "status")
    return re.search(rf"^{field}:[ \t]*(.*)$", text, re.M)[1].split()


@needs_root
def test_user_is_given_up_for_good_by_all_roles(make_server, directory):
    os.chown(directory, 65534, 65534)
    server = make_server(zones={"example": zone_text()},
                         options={"username": "nobody"})
    server.extra_groups = [0, 4]
    server.start()
    for name, pid in server.roles().items():
        assert proc_ids(pid, "Uid") == ["65534"] * 4, name
        assert proc_ids(pid, "Gid") == ["65534"] * 4, name
        assert proc_ids(pid, "Groups") == ["65534"], name
        assert proc_ids(pid, "CapEff") == ["0" * 16], name
        assert proc_ids(pid, "NoNewPrivs") == ["1"], name
    # The server's user must not choose which process root signals.
    assert server.pidfile.stat().st_uid == 0
    assert server.log.stat().st_uid == 65534
    server.stop()
    assert not server.pidfile.exists()


@needs_root
def test_user_by_number(make_server, directory):
    os.chown(directory, 12345, 23456)
    server = make_server(zones={"example": zone_text()},
                         options={"username": "12345.23456"})
    server.extra_groups = [0, 4]
    server.start()
    for pid in server.roles().values():
        assert proc_ids(pid, "Uid") == ["12345"] * 4
        assert proc_ids(pid, "Gid") == ["23456"] * 4
        assert proc_ids(pid, "Groups") == []


@needs_root
def test_pid_file_in_a_directory_of_root_is_emptied(make_server, directory):
    own = directory / "zones"
    own.mkdir()
    os.chown(own, 65534, 65534)
    server = make_server(zones={"example": zone_text()},
                         options={"username": "nobody"})
    server.start()
    assert server.stop() == 0
    assert server.pidfile.read_text() == ""


def chroot_server(make_server, directory, extra="", **options):
    server = make_server(zones={"example": zone_text()}, extra=extra,
                         options={"username": "nobody",
                                  "chroot": f'"{directory}"', **options})
    os.chown(directory, 65534, 65534)
    if harness.is_sanitized():
        # The leak check needs /proc, which is not in there.
        server.look_for_no_leaks()
    return server.start()


@needs_root
@pytest.mark.parametrize("root", ["", "{root}"])
def test_trust_anchors_of_a_chroot_are_looked_at(make_server, directory, root):
    """The server reads them before it enters the chroot."""
    (directory / "zones").mkdir()
    anchors = directory / "zones/anchors"
    anchors.write_text("faulty\n")
    server = chroot_server(
        make_server, directory, f"\tdnssec-verify-anchor:"
        f" {root.format(root=directory)}/zones/anchors\n")
    server.wait_log(r"dnssec-verify-anchor \S*/zones/anchors: line 1: Missing")
    server.stop()
    known = len(server.read_log())
    anchors.write_text("other.test. DS 1 13 2 " + 32 * "ab" + "\n")
    server.start()
    assert "dnssec-verify-anchor" not in server.read_log()[known:]


@needs_root
def test_chroot_holds_all_roles_and_reload_works(make_server, directory):
    server = chroot_server(make_server, directory)
    for name, pid in server.roles().items():
        assert os.readlink(f"/proc/{pid}/root") == str(directory), name
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    server.log.rename(directory / "old.log")
    server.write_zone("example", zone_text(2, "192.0.2.2"))
    server.signal(signal.SIGHUP)
    server.wait_serial("example", 2)
    server.wait_log("zone example serial 1 is updated to 2")
    assert server.stop() == 0
    assert not server.pidfile.exists()


@needs_root
def test_secrets_of_cookies_outside_of_the_chroot_stay(make_server, directory,
                                                       tmp_path):
    """Secrets outside of the chroot stay until a restart: no process can read
    the file."""
    path = tmp_path / "cookies"
    path.write_text("0123456789abcdef0123456789abcdef\n")
    server = make_server(zones={"example": zone_text()}, options={
        "username": "nobody", "chroot": f'"{directory}"',
        "answer-cookie": "yes", "cookie-secret-file": f'"{path}"'})
    os.chown(directory, 65534, 65534)
    if harness.is_sanitized():
        server.look_for_no_leaks()
    control.config(server).start()
    before = control.ask(server, "print_cookie_secrets")
    assert "0123456789abcdef0123456789abcdef" in before[1]
    code, text = control.ask(server, "reconfig")
    assert code == 0 and text.endswith(
        "\nreconfig completed: no changes detected\nok\n"), text
    assert control.ask(server, "print_cookie_secrets") == before


@needs_root
def test_chroot_without_a_pid_file(make_server, directory):
    server = chroot_server(make_server, directory, pidfile='""')
    assert server.answer("www.example", "A") == ["192.0.2.1"]


@needs_root
def test_chroot_without_proc_survives_its_loader(make_server, directory):
    server = chroot_server(make_server, directory)
    worker = server.role("server 1")
    old = server.kill("loader")
    server.wait_replaced("loader", old)
    server.wait_log("1 zones: 0 read, 0 failed")
    assert server.role("server 1") == worker
    server.write_zone("example", zone_text(2, "192.0.2.2"))
    server.signal(signal.SIGHUP)
    server.wait_serial("example", 2)


# ---- what is inherited ---------------------------------------------------------

def test_inherited_signal_mask_does_not_matter(make_server):
    server = make_server(zones={"example": zone_text()})
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        server.start()
        pid = server.kill("server 1", signal.SIGTERM)
        server.wait_replaced("server 1", pid)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])


def test_directory_of_the_start_does_not_matter(make_server, monkeypatch):
    server = make_server(zones={"example": zone_text()},
                         options={"pidfile": "nsd.pid", "logfile": "nsd.log"})
    monkeypatch.chdir("/")
    server.start()
    assert server.read_pid() == server.main_pid
    assert pathlib.Path(server.log).exists()
