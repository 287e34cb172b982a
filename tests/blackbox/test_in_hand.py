"""The messages that a process had in hand when it died are in the log and in a
file, and status names the file (doc/decisions/0137). tests/lib/nsd_marked.c dies
of marked messages, as a server does whose bug a message finds."""
import os
import re
import signal
import socket
import stat
import struct
import subprocess

import dns.message
import dns.opcode
import pytest

import control
from harness import BUILD, DEADLINE, wait_for, zone_text
from ports import free_port
from scripted_primary import ScriptedPrimary, records, reply, soa
from test_status import troubles
from tls_client import Client, context_for

pytestmark = pytest.mark.plain

TOOL = os.path.join(os.path.dirname(__file__), "../fuzz/replay-message")
FILES = 16


@pytest.fixture
def server(make_server):
    server = make_server(zones={"example": zone_text()},
                         options={"server-count": 1})
    server.program = BUILD / "tests/lib/nsd_marked"
    return control.config(server)


def marked(name, opcode=dns.opcode.QUERY):
    message = dns.message.make_query(f"{name}.example", "A")
    message.set_opcode(opcode)
    return message.to_wire()


def send_udp(server, *messages):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", server.port))
        for message in messages:
            sock.send(message)
        return sock.getsockname()[1]


def send_tcp(server, *messages):
    with socket.create_connection(("127.0.0.1", server.port)) as sock:
        sock.sendall(b"".join(struct.pack("!H", len(m)) + m
                              for m in messages))
        sock.settimeout(DEADLINE)
        port = sock.getsockname()[1]
        try:
            while sock.recv(4096):
                pass
        except ConnectionResetError:
            pass
        return port


def files(server):
    return sorted(server.directory.rglob("*.in-hand.*"))


def wait_told(server, role="server 1", count=1, start=0):
    """The path of the file that the log names."""
    return server.wait_log(
        rf"error: {role} \(pid \d+\) had \d+ messages in hand when it died, all"
        r" of them are in (\S+);", start, count)[1]


def replay(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True,
                          text=True, timeout=DEADLINE, check=False)


def test_a_request_over_udp_is_kept_and_kills_again(server):
    server.start()
    message = marked("marked-segv")
    pid = server.role("server 1")
    port = send_udp(server, message)
    path = wait_told(server)
    log = server.read_log()
    assert f"server 1 (pid {pid}) was killed by signal 11" in log
    assert re.search(
        rf"error: in hand of server 1 \(pid {pid}\), 1 of 1: UDP request from"
        rf" 127.0.0.1@{port}, {len(message)} octets: {message.hex()}\n", log)
    mode = os.lstat(path).st_mode
    assert stat.S_ISREG(mode) and stat.S_IMODE(mode) == 0o600
    with open(path, encoding="ascii") as file:
        text = file.read()
    assert f"\nrole server 1\npid {pid}\nsignal 11\n" in text
    assert (f"\nmessages 1\nmessage UDP request from 127.0.0.1@{port} octets"
            f" {len(message)}\n{message.hex()}\n") in text
    assert any(one.startswith(f"server 1 has died of what is in {path},")
               for one in troubles(server))
    # The tool kills the next one with it.
    server.wait_serving()
    known = len(server.read_log())
    assert message.hex() in replay("-l", path).stdout
    again = replay("--timeout", "0.5", path, "127.0.0.1", server.port)
    assert again.returncode == 1, again
    second = wait_told(server, start=known)
    assert second != path
    with open(second, encoding="ascii") as file:
        assert message.hex() in file.read()


def test_all_of_a_batch_is_kept(server):
    """Any request of the batch may have killed the worker."""
    server.start()
    pid = server.role("server 1")
    os.kill(pid, signal.SIGSTOP)
    messages = [marked(f"n{i}") for i in range(20)] + [marked("marked-abort")]
    send_udp(server, *messages)
    os.kill(pid, signal.SIGCONT)
    path = wait_told(server)
    with open(path, encoding="ascii") as file:
        text = file.read()
    for message in messages:
        assert f"\n{message.hex()}\n" in text
    assert "\nsignal 6\n" in text
    # The log has the first eight.
    assert server.read_log().count("in hand of server 1") == 8
    assert "8 of 21: UDP request" in server.read_log()
    server.wait_serving()
    result = replay("--timeout", "0.2", path, "127.0.0.1", server.port)
    assert "21: UDP request" in result.stdout


def test_requests_over_tcp_are_kept(server):
    server.start()
    messages = [marked("n0"), marked("marked-segv") + bytes(30000)]
    port = send_tcp(server, *messages)
    with open(wait_told(server), encoding="ascii") as file:
        text = file.read()
    assert (f"message TCP request from 127.0.0.1@{port} octets"
            f" {len(messages[1])}\n{messages[1].hex()}\n") in text
    # The log has the first 512 octets.
    assert re.search(rf"octets: {messages[1][:512].hex()}[.]{{3}}\n",
                     server.read_log())


def test_requests_over_tls_are_kept_decrypted(server, authority):
    key, cert = authority.sign("ns.example")
    port = free_port()
    server.options.update({
        "ip-address": ["127.0.0.1", f"127.0.0.1@{port}"], "tls-port": port,
        "tls-service-key": f'"{key}"', "tls-service-pem": f'"{cert}"'})
    server.write_config()
    server.start()
    message = dns.message.make_query("marked-segv.example", "A")
    with Client(port, context_for(authority)) as client:
        client.send(message)
        path = wait_told(server)
    with open(path, encoding="ascii") as file:
        assert re.search("message TLS request from 127.0.0.1@[0-9]+ octets"
                         f" [0-9]+\n{message.to_wire().hex()}\n",
                         file.read())
    server.wait_serving()
    known = len(server.read_log())
    replay("--timeout", "2", "--tls-port", port, path, "127.0.0.1",
           server.port)
    wait_told(server, start=known)


def test_request_that_a_worker_hangs_at_is_kept(server):
    server.options["replace-hung"] = "yes"
    server.write_config()
    server.start()
    message = marked("marked-hang")
    send_udp(server, message)
    with open(wait_told(server), encoding="ascii") as file:
        text = file.read()
    assert message.hex() in text and "\nsignal 9\n" in text


def test_a_command_of_xfrd_is_kept_without_its_secret(server):
    server.start()
    control.ask(server, "zonestatus", "marked-segv")
    with open(wait_told(server, "xfrd"), encoding="ascii") as file:
        text = file.read()
    assert (f"message command from - octets 22\n"
            f"{b'zonestatus marked-segv'.hex()}\n") in text
    assert any(one.startswith("xfrd has died of what is in")
               for one in wait_for("xfrd", lambda: troubles(server)))


def test_a_reply_of_a_primary_is_kept(server):
    once = []

    def answer(apex, qtype, query):
        if once:
            return [reply(query, soa(apex, 1))]
        once.append(qtype)
        return [reply(query, soa(apex, 1), *records(
            apex, "marked-abort A 192.0.2.1"))]

    with ScriptedPrimary(answer) as primary:
        server.extra += ("zone:\n\tname: away.test\n\tzonefile: away.zone\n"
                         f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n")
        server.write_config()
        server.start()
        with open(wait_told(server, "xfrd"), encoding="ascii") as file:
            text = file.read()
    assert (f"message reply of a primary from 127.0.0.1@{primary.port} octets"
            in text)
    assert b"\x0cmarked-abort".hex() in text


def test_no_message_in_hand_leaves_no_file(server):
    """The worker is killed while it waits."""
    server.start()
    server.answer("www.example", "A")
    server.wait_replaced("server 1", server.kill("server 1", signal.SIGSEGV))
    server.wait_log("killed by signal 11")
    server.wait_serving()
    assert "in hand" not in server.read_log()
    assert not files(server)


def test_files_are_few_and_links_are_not_followed(server):
    """A new file replaces the oldest one, and a link in its place, too; nothing
    is written where the link leads."""
    victim = server.directory / "victim"
    victim.write_text("mine\n")
    server.start()
    send_udp(server, marked("marked-segv"))
    first = wait_told(server)
    stem = first.rsplit(".", 1)[0]
    for number in range(1, FILES + 1):
        path = f"{stem}.{number}"
        if number != 1:
            os.symlink(victim, path)
        os.utime(path, (number + 10, number + 10), follow_symlinks=False)
    os.symlink(victim, f"{stem}.3~")
    os.utime(f"{stem}.3", (1, 1), follow_symlinks=False)
    server.wait_serving()
    known = len(server.read_log())
    send_udp(server, marked("marked-segv"))
    assert wait_told(server, start=known) == f"{stem}.3"
    assert not os.path.islink(f"{stem}.3")
    assert victim.read_text() == "mine\n"
    assert len(files(server)) <= FILES + 1


def test_folder_that_cannot_be_written_leaves_the_log(server):
    server.start()
    send_udp(server, marked("marked-segv"))
    path = wait_told(server)
    os.unlink(path)
    os.mkdir(path)
    for number in range(2, FILES + 1):
        os.mkdir(f"{path.rsplit('.', 1)[0]}.{number}")
    os.utime(path, (1, 1))
    server.wait_serving()
    known = len(server.read_log())
    send_udp(server, marked("marked-segv"))
    server.wait_log("error: cannot write .*in-hand.1: Is a directory", known)
    server.wait_log(r"had 1 messages in hand when it died; please", known)
    assert any(one.startswith("server 1 has died of what is in the log,")
               for one in troubles(server))


def test_folder_in_the_way_blocks_no_other_file(server):
    server.start()
    stem = f"{server.directory}/xfrd.state.in-hand"
    os.mkdir(f"{stem}.1~")
    os.mkdir(f"{stem}.2")
    send_udp(server, marked("marked-segv"))
    assert wait_told(server) == f"{stem}.3"


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot is root's")
def test_path_in_a_chroot_is_that_from_outside(server):
    server.options["chroot"] = f'"{server.directory}"'
    server.write_config()
    server.start()
    send_udp(server, marked("marked-segv"))
    path = wait_told(server)
    assert path == f"{server.directory}/xfrd.state.in-hand.1"
    assert any(f"died of what is in {path}, perhaps" in one
               for one in troubles(server))


@pytest.mark.parametrize("octets, why", [
    ("00zz", "octets of a message are not in hex"),
    ("00\xff", "octets of a message are not in hex"),
    ("00", "a message is cut")])
def test_file_that_is_damaged_is_refused_in_a_line(tmp_path, octets, why):
    path = tmp_path / "file"
    path.write_text("in-hand 1\nmessage UDP request from 192.0.2.1@1 octets 2\n"
                    f"{octets}\n")
    assert replay("-l", path).stderr == f"{path}: {why}\n"
