"""The verify server, which answers from versions that are being judged, and
what programs that judge them have and may do."""
import ctypes
import os
import pathlib
import re
import signal
import socket
import time

import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.update
import pytest

import control

from harness import is_alive, wait_for, zone_text
from ports import free_port
from test_statistics import counted

# The name of a process is cut at 15 octets.
SERVER = "verify ser"


class Judge:
    """A program that notes what it has, and ends with the status in `word`,
    once there is one."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.path = self.folder / "judge"
        self.path.write_text(f"""#!/bin/sh
cd {self.folder}
ls /proc/self/fd >fds
grep -E 'NoNewPrivs|CapEff|SigIgn|SigBlk|^Uid' /proc/self/status >status
env >env
echo $$ >>begun
while [ ! -e word ]; do sleep 0.05; done
exit $(cat word)
""")
        self.path.chmod(0o755)

    def read(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def begun(self):
        return [int(pid) for pid in self.read("begun").split()]

    def say(self, status):
        new = self.folder / "new"
        new.write_text(str(status))
        new.rename(self.folder / "word")

    def forget(self):
        (self.folder / "word").unlink(missing_ok=True)


@pytest.fixture
def judge(directory):
    return Judge(directory / "judge")


@pytest.fixture
def server(make_server, judge):
    """With version 1 of a.test and b.test served."""
    server = make_server(
        zones={"a.test": zone_text(1), "b.test": zone_text(1)},
        options={"server-count": 2, "verbosity": 3})
    server.verify_port = free_port()
    server.extra += (f"verify:\n\tenable: yes\n\tport: {server.verify_port}\n"
                     f"\tip-address: 127.0.0.1\n\tverifier: {judge.path}\n")
    control.config(server)
    return server.start()


def judged_serial(server, zone="a.test", **more):
    reply = server.query(zone, "SOA", address="127.0.0.1",
                         port=server.verify_port, **more)
    return reply.answer[0][0].serial if reply.answer else None


def begin(server, judge, serial=2):
    """Has a version judged; returns the pid of the program."""
    known = len(judge.begun())
    server.write_zone("a.test", zone_text(serial))
    server.signal(signal.SIGHUP)
    wait_for("a program", lambda: len(judge.begun()) > known)
    return judge.begun()[-1]


def test_verify_server_answers_from_candidates(server, judge):
    begin(server, judge)
    assert judged_serial(server) == judged_serial(server, tcp=True) == 2
    assert server.serial("a.test") == 1
    assert judged_serial(server, "b.test") == server.serial("b.test") == 1
    judge.say(0)
    server.wait_serial("a.test", 2)
    assert judged_serial(server) == 2


def test_refused_versions_are_gone_from_it(server, judge):
    begin(server, judge)
    assert judged_serial(server) == 2
    judge.say(1)
    wait_for("the end", lambda: judged_serial(server) == 1)
    assert server.serial("a.test") == 1


def notify_of(zone):
    request = dns.message.make_query(zone, "SOA")
    request.set_opcode(dns.opcode.NOTIFY)
    return request


@pytest.mark.parametrize("request_of, rcode", (
    (notify_of, dns.rcode.REFUSED),
    (dns.update.UpdateMessage, dns.rcode.NOTIMP)), ids=("notify", "update"))
def test_it_takes_no_notify_and_no_update(make_server, judge, request_of,
                                          rcode):
    """The verify server has no other process to ask, and answers at once."""
    server = make_server(zones={"a.test": zone_text(1)})
    port = free_port()
    more = (f"request-xfr: 127.0.0.1@{free_port()} NOKEY\n"
            "\tallow-notify: 127.0.0.1 NOKEY" if request_of is notify_of
            else "allow-update: 127.0.0.1 NOKEY")
    server.extra += (f"verify:\n\tenable: yes\n\tport: {port}\n"
                     f"\tip-address: 127.0.0.1\n\tverifier: {judge.path}\n"
                     "zone:\n\tname: b.test\n\tzonefile: a.test.zone\n"
                     f"\t{more}\n")
    server.write_config()
    server.start()
    for ask in (dns.query.udp, dns.query.tcp):
        reply = ask(request_of("b.test"), "127.0.0.1", port=port, timeout=60)
        assert reply.rcode() == rcode
    reply = dns.query.tcp(request_of("b.test"), "127.0.0.1", port=server.port,
                          timeout=60)
    assert reply.rcode() == dns.rcode.NOERROR


def test_zonestatus_has_the_update_that_is_served(make_server, judge):
    """An update that is judged is durable, and not served yet."""
    server = make_server(zones={})
    server.zone_file("b.test").write_text(zone_text(1))
    server.extra += (f"verify:\n\tenable: yes\n\tport: {free_port()}\n"
                     f"\tverifier: {judge.path}\n"
                     "zone:\n\tname: b.test\n\tzonefile: b.test.zone\n"
                     "\tallow-update: 127.0.0.1 NOKEY\n")
    control.config(server)
    judge.say(0)
    server.start()
    judge.forget()
    update = dns.update.UpdateMessage("b.test")
    update.add("new", 60, "A", "192.0.2.9")
    known = len(judge.begun())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(60)
        client.connect(("127.0.0.1", server.port))
        client.send(update.to_wire())
        wait_for("a program", lambda: len(judge.begun()) > known)
        assert "update: " not in control.ask(server, "zonestatus")[1]
        judge.say(0)
        assert dns.message.from_wire(client.recv(512)).rcode() == 0
    assert 'update: "serial 2 from' in control.ask(server, "zonestatus")[1]


def test_its_queries_are_in_no_statistics(server):
    before = counted(server, "num.queries")
    for _ in range(7):
        assert judged_serial(server) == 1
    assert counted(server, "num.queries") == before
    assert server.serial("a.test") == 1
    assert counted(server, "num.queries") == before + 1
    _, text = control.ask(server, "stats_noreset")
    assert "server1." in text and "server2." not in text


@pytest.mark.parametrize("role", [SERVER, "server 1", "xfrd"])
def test_a_death_amid_it_changes_no_verdict(server, judge, role):
    program = begin(server, judge)
    server.wait_replaced(role, server.kill(role))
    wait_for("an answer", lambda: judged_serial(server) == 2)
    assert judge.begun() == [program] and is_alive(program)
    judge.say(0)
    server.wait_serial("a.test", 2)


@pytest.mark.parametrize("role", ["verifier", "loader", "keeper", "main"])
def test_programs_end_with_those_they_work_for(server, judge, role):
    program = begin(server, judge)
    workers = [pid for name, pid in server.roles().items()
               if name.startswith("server ")]
    server.kill(role)
    wait_for("the end of the program", lambda: not is_alive(program))
    if role == "main":
        for pid in workers:  # workers outlive main
            os.kill(pid, signal.SIGKILL)
        return
    assert server.serial("a.test") == 1
    if role == "loader":  # the next one reads the file at a reload
        server.signal(signal.SIGHUP)
    if role == "keeper":
        server.wait_log("the process that watches it was killed")
        return
    # The version is judged again.
    wait_for("another", lambda: len(judge.begun()) > 1)
    judge.say(0)
    server.wait_serial("a.test", 2)


def test_a_stop_ends_programs(server, judge):
    program = begin(server, judge)
    server.stop()
    assert not is_alive(program)


def test_a_program_has_little(server, judge):
    """No descriptors but its streams (and that of ls), signals as usual, no new
    rights; no capabilities, but as root those for files."""
    begin(server, judge)
    assert judge.read("fds").split() == ["0", "1", "2", "3"]
    status = dict(re.findall(r"(\w+):\s+(\w+)", judge.read("status")))
    assert status["NoNewPrivs"] == "1"
    assert int(status["SigBlk"], 16) == int(status["SigIgn"], 16) == 0
    assert int(status["CapEff"], 16) & ~6 == 0
    assert "VERIFY_ZONE=a.test" in judge.read("env").splitlines()


def landlock_version():
    """Of the kernel; less than 1: it has none."""
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


@pytest.mark.plain_only
@pytest.mark.skipif(landlock_version() < 6, reason="the kernel lacks it")
def test_programs_signal_nobody_else(server, judge):
    """A program that ends its verifier would hold up others. Its own children
    it may signal, and files are as they are."""
    judge.path.write_text(f"""#!/bin/sh
cd {judge.folder}
verifier=$(cut -d' ' -f4 /proc/$PPID/stat)
for pid in $PPID $verifier {server.role("main")} {server.role("loader")}; do
    kill -9 $pid && exit 1
done
sleep 1000 &
kill $! || exit 2
mkdir a b && echo >a/file && ln a/file b/file || exit 3
exit 0
""")
    before = server.roles()
    server.write_zone("a.test", zone_text(2))
    server.signal(signal.SIGHUP)
    server.wait_serial("a.test", 2)
    assert before.items() <= server.roles().items()


def test_dead_verifiers_are_replaced_soon(server, judge):
    """However many have died before: other zones wait for the next one."""
    for serial in range(2, 6):
        judge.forget()
        begin(server, judge, serial)
        for _ in range(2):  # three deaths refuse the version
            known = len(judge.begun())
            since = time.monotonic()
            server.kill("verifier")
            wait_for("another", lambda n=known: len(judge.begun()) > n)
            assert time.monotonic() - since < 25
        judge.say(0)
        server.wait_serial("a.test", serial)


def test_another_program_has_effect_at_once(server, judge):
    """A reconfig has what is being judged judged by the new one."""
    program = begin(server, judge)
    other = judge.folder / "other"
    other.write_text("#!/bin/sh\nexit 0\n")
    other.chmod(0o755)
    server.extra = server.extra.replace(str(judge.path), str(other))
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    server.wait_serial("a.test", 2)
    assert not is_alive(program) and judge.begun() == [program]


def test_without_programs_there_is_no_verifier(server):
    assert "verifier" not in server.roles() and SERVER in server.roles()
