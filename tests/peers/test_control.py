"""nsd-control: our program and Debian's, each with our server and Debian's; and
the texts of both servers compared."""
import pathlib
import re
import socket
import subprocess

import pytest

import servers
from ports import free_port

pytestmark = pytest.mark.lasts(10)

ZONE = """\
$TTL 3600
@	IN SOA ns host 1 7200 3600 1209600 300
	IN NS ns
ns	IN A 192.0.2.53
"""
MORE = """\
key:
	name: k1
	algorithm: hmac-sha256
	secret: K2tf3TRjvQkVCmJF3/Z9vA==
zone:
	name: away.test
	zonefile: away.test.zone
	request-xfr: 127.0.0.1@{dead} NOKEY
zone:
	name: broken.test
	zonefile: broken.test.zone
"""
OURS, DEBIAN = (lambda name: str(servers.build_dir() / name),
                lambda name: f"/usr/sbin/{name}")


def run(command, **more):
    result = subprocess.run(command, capture_output=True, text=True,
                            timeout=servers.START_DEADLINE, check=False,
                            input="", **more)
    return result.returncode, result.stdout


def start(server_class, directory, setup, tls):
    keys = pathlib.Path(directory)
    zone = keys / "example.test.zone"
    zone.write_text(ZONE)
    server = server_class({"example.test": zone})
    (server.dir / "broken.test.zone").write_text(ZONE + "x\tIN A 1\n")
    server.more = [MORE.format(dead=free_port())]
    server.control = ["\tcontrol-enable: yes"]
    if tls:
        assert run([setup("nsd-control-setup"), "-d", str(keys)])[0] == 0
        server.control += [
            "\tcontrol-interface: 127.0.0.1",
            f"\tcontrol-port: {free_port()}",
            *(f'\t{side}-{what}-file: "{keys}/nsd_{side}.{end}"'
              for side in ("server", "control")
              for what, end in (("key", "key"), ("cert", "pem")))]
    else:
        server.control.append(f"\tcontrol-interface: {keys}/control.sock")
    return server.start()


def ask(server, program, *words):
    return run([program("nsd-control"), "-c", str(server.dir / "nsd.conf"),
                *words])


@pytest.mark.parametrize("setup", [OURS, DEBIAN], ids=["ours", "debian"])
@pytest.mark.parametrize("program, server_class", [
    (OURS, servers.Ours), (OURS, servers.Nsd), (DEBIAN, servers.Ours),
    (DEBIAN, servers.Nsd)], ids=["ours-ours", "ours-debian", "debian-ours",
                                 "debian-debian"])
def test_crosswise_over_tls(program, server_class, setup, tmp_path):
    server = start(server_class, tmp_path, setup, True)
    try:
        code, text = ask(server, program, "status")
        assert code == 0 and re.match(r"version: \S+\nverbosity: 1\n", text)
        assert ask(server, program, "reload", "example.test") == (0, "ok\n")
        code, text = ask(server, program, "zonestatus", "nope.test")
        assert (code, text) == (1, "error zone nope.test not configured\n")
        code, text = ask(server, program, "zonestatus")
        assert code == 0 and text.startswith("zone:\taway.test\n")
        assert ask(server, program, "stop") == (0, "ok\n")
        server.process.wait(servers.START_DEADLINE)
        assert ask(server, program, "status")[0] == 3
    finally:
        server.stop()


# Commands, and what is different on purpose in our answer: (pattern of theirs,
# ours). What is not here is equal.
COMMANDS = [
    "verbosity", "verbosity 2", "verbosity", "verbosity x", "log_reopen",
    "print_tsig", "print_tsig k1", "print_tsig k2", "foo", "reload",
    "reload example.test", "reload broken.test", "reload nope.test",
    "reload a..b", "notify example.test", "notify", "transfer example.test",
    "transfer", "transfer away.test", "force_transfer away.test",
    "zonestatus example.test", "zonestatus away.test", "zonestatus nope.test",
    "zonestatus a..b",
    "update_tsig", "update_tsig k1", "update_tsig k2 AAAA",
    "update_tsig k1 %%", "update_tsig k1 AAAA", "print_tsig k1",
    "add_tsig", "add_tsig n", "add_tsig n %%", "add_tsig n AAAA sha3",
    "add_tsig a..b AAAA", "add_tsig n AAAA hmac-sha512", "add_tsig n AAAA",
    "assoc_tsig", "assoc_tsig away.test", "assoc_tsig away.test k2",
    "assoc_tsig nope.test n", "assoc_tsig a..b n", "assoc_tsig away.test n",
    "print_tsig", "del_tsig", "del_tsig n", "del_tsig k2",
    "assoc_tsig away.test k1", "del_tsig n", "print_tsig",
    "write", "write example.test", "write nope.test", "write a..b",
    "zonestatus", "addzone", "addzone x", "addzone x nope", "addzone a..b p",
    "delzone", "delzone nope.test", "delzone example.test", "delzone a..b",
    "changezone", "changezone x", "changezone example.test p",
]


def ours_of(text):
    """Our output in the words of NSD 4.6, without lines that only ours has."""
    text = re.sub(r"^\t\t.*\n", "", text, flags=re.M)
    text = text.replace("to be deleted\nok\n", "to be deleted\n")
    text = re.sub(r'wait: "\d+ sec', 'wait: "N sec', text)
    return text


def theirs_of(text):
    """In the words of NSD 4.15."""
    text = text.replace("state: master", "state: primary")
    text = text.replace("zone not slave", "zone not secondary")
    return re.sub(r'wait: "\d+ sec', 'wait: "N sec', text)


# Commands of NSD that are answered before anything is done.
FAILED = {
    "reload broken.test":
        r"error 1 zone cannot be read:\nbroken\.test\.zone:5: ",
    "transfer": r"error 1 of 1 zones failed:\nzone away\.test: ",
    "transfer away.test": "error zone away.test: ",
    "force_transfer away.test": "error zone away.test: ",
    # As NSD 4.15; 4.6 says ok.
    "notify example.test": "error zone does not have notify\n",
}
# And these are ok, with more in front of it.
WARNED = {
    "reload": r"warning 1 zone cannot be read, as before:\n"
              r"broken\.test\.zone:5: (.*\n)+ok\n$",
}


def test_texts(tmp_path):
    both = []
    try:
        for server_class in (servers.Ours, servers.Nsd):
            folder = tmp_path / server_class.name
            folder.mkdir()
            both.append(start(server_class, folder, OURS, False))
        for command in COMMANDS:
            ours, theirs = (ask(server, OURS, *command.split())
                            for server in both)
            if command in FAILED or command in WARNED:
                assert theirs[0] == 0 and theirs[1].startswith("ok"), command
                assert ours[0] == (command in FAILED), command
                assert re.match({**FAILED, **WARNED}[command], ours[1]), ours
                continue
            assert ours[0] == theirs[0], (command, ours, theirs)
            assert ours_of(ours[1]) == theirs_of(theirs[1]), command
    finally:
        for server in both:
            server.stop()


WHOLE = """\
pattern:
	name: p
	zonefile: "%s.zone"
server:
	cookie-secret-file: "{0}"
"""


def test_their_answers_are_whole(tmp_path):
    """Both programs say so of each, also where it does not end in ok."""
    answers = []
    for number, program in enumerate((OURS, DEBIAN)):
        folder = tmp_path / str(number)
        folder.mkdir()
        zone = folder / "example.test.zone"
        zone.write_text(ZONE)
        server = servers.Nsd({"example.test": zone})
        server.control = ["\tcontrol-enable: yes",
                          f"\tcontrol-interface: {folder}/control.sock"]
        # A folder is no file that could be written.
        server.more = [WHOLE.format(tmp_path)]
        server.start()
        try:
            answers.append([
                ask(server, program, *command.split())
                for command in ("changezone new.test p", "del_tsig nope",
                                "add_cookie_secret 12",
                                f"add_cookie_secret {'z' * 32}",
                                f"add_cookie_secret {'1' * 32}")])
        finally:
            server.stop()
    (*ours, ours_failed), (*theirs, theirs_failed) = answers
    assert ours == theirs
    assert "error: " in ours_failed[1] and ours_failed[0] == 1
    assert ours_failed[1] == theirs_failed[1]


@pytest.mark.parametrize("octets", [
    b"NSDCT1 status\n", b"NSDCT1 \n", b"NSDCT0  status\n",
    b"NSDCT2 status\n", b"NSDCT1  verbosity    \n"])
def test_octets(octets, tmp_path):
    answers = []
    for server_class in (servers.Ours, servers.Nsd):
        folder = tmp_path / server_class.name
        folder.mkdir()
        server = start(server_class, folder, OURS, False)
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(servers.START_DEADLINE)
                client.connect(str(folder / "control.sock"))
                client.sendall(octets)
                text = b""
                while part := client.recv(65536):
                    text += part
            answers.append(re.sub(
                rb"^version:.*|^(ratelimit|trouble):.*\n", b"",
                text, flags=re.M))
        finally:
            server.stop()
    assert answers[0] == answers[1]
