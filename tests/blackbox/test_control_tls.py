"""The control channel over TLS: keys of nsd-control-setup, and clients without
them."""
import contextlib
import socket
import ssl
import subprocess
import time
import warnings

import pytest

import control
import control_keys
from control_keys import client_context, options, setup, talk
from harness import DEADLINE, zone_text
from ports import free_port


@pytest.fixture
def keys(directory):
    return control_keys.make(directory / "keys")


@pytest.fixture
def server(make_server, keys):
    return control_keys.start(make_server(zones={"example": zone_text()}),
                              keys)


def test_tool(server):
    code, text = control.ask(server, "status")
    assert code == 0 and text.startswith("version: ")
    assert control.ask(server, "foo")[0] == 1
    assert control.ask(server, "stop") == (0, "ok\n")
    assert server.process.wait(DEADLINE) == 0


def test_server_named_on_the_command_line(server):
    code, text = control.ask(server, "-s",
                             f"127.0.0.1@{server.control_port}", "status")
    assert code == 0 and text.startswith("version: ")


def test_strict_client(server, keys):
    """A client that checks the name in the certificate, as NSD's does not."""
    context = client_context(keys)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    assert talk(server, context).startswith("version: ")


def test_tls_1_2(server, keys):
    context = client_context(keys)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert talk(server, context).startswith("version: ")


def test_old_tls_is_refused(server, keys):
    context = client_context(keys)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        talk(server, context)


def test_client_without_a_certificate(server, keys):
    with pytest.raises((ssl.SSLError, ConnectionError)):
        assert talk(server, client_context(keys, None)) == ""
        raise ConnectionError


def test_client_with_a_certificate_of_another(server, keys, directory):
    other = control_keys.make(directory / "other")
    context = client_context(keys, None)
    context.load_cert_chain(other / "nsd_control.pem",
                            other / "nsd_control.key")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        assert talk(server, context) == ""
        raise ConnectionError
    assert control.ask(server, "status")[0] == 0


def test_tool_says_that_its_certificate_has_expired(server, keys):
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=keys, check=True,
                       capture_output=True)
    openssl("req", "-new", "-key", "nsd_control.key", "-subj", "/CN=old",
            "-out", "old.csr")
    openssl("x509", "-req", "-in", "old.csr", "-CA", "nsd_server.pem",
            "-CAkey", "nsd_server.key", "-set_serial", "7", "-days", "-1",
            "-out", "nsd_control.pem")
    result = subprocess.run(control.command(server, "status"),
                            capture_output=True, text=True, timeout=DEADLINE,
                            check=False)
    assert result.returncode == 1
    assert "certificate expired" in result.stderr


def test_tool_refuses_another_server(server, directory):
    control_keys.make(directory / "other")
    config = server.config.read_text()
    for line in options(directory / "keys"):
        if "server-cert" in line:
            config = config.replace(line, line.replace("/keys/", "/other/"))
    server.config.write_text(config)
    code, text = control.ask(server, "status")
    assert (code, text) == (1, "")


@pytest.mark.parametrize("octets", [
    b"NSDCT1  status\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01" * 1000,
    b"\x16\x03\x01\xff\xff" + b"\x01" * 70000, b"\0" * 100000],
    ids=["plain", "http", "records", "long", "zeros"])
def test_what_is_no_tls(server, octets):
    with socket.create_connection(("127.0.0.1", server.control_port),
                                  timeout=DEADLINE) as plain:
        try:
            plain.sendall(octets)
            plain.shutdown(socket.SHUT_WR)
            while plain.recv(65536):
                pass
        except OSError:
            pass
    assert control.ask(server, "status")[0] == 0


def test_close_within_the_handshake(server, keys):
    octets = control_keys.read_hello(client_context(keys))
    for length in range(0, len(octets), 37):
        with socket.create_connection(("127.0.0.1", server.control_port),
                                      timeout=DEADLINE) as plain:
            plain.sendall(octets[:length])
    assert control.ask(server, "status")[0] == 0


def shake(server, source, keys, count):
    """How many of so many handshakes without a certificate the server signs
    for: TLS 1.3 has the client at the end before the server refuses."""
    context = client_context(keys, None)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    signed = 0
    for _ in range(count):
        with socket.create_connection(
                ("127.0.0.1", server.control_port), timeout=DEADLINE,
                source_address=(source, 0)) as plain:
            try:
                context.wrap_socket(plain, server_hostname="nsd").close()
                signed += 1
            except OSError:
                pass
    return signed


def test_strangers_get_few_handshakes_and_the_operator_all(server, keys):
    assert control.ask(server, "status")[0] == 0
    begun = time.monotonic()
    signed = shake(server, "127.0.2.1", keys, 60)
    # 20 at once, and 5 in a second.
    assert 20 <= signed <= 21 + 5 * (time.monotonic() - begun)
    for _ in range(60):
        assert control.ask(server, "status")[0] == 0


def test_1000_idle_connections(server):
    """Connections without a ClientHello cost no handshake, and make room."""
    with contextlib.ExitStack() as idle:
        for _ in range(1000):
            idle.enter_context(socket.create_connection(
                ("127.0.0.1", server.control_port), timeout=DEADLINE))
        begun = time.monotonic()
        assert control.ask(server, "status")[0] == 0
        assert time.monotonic() - begun < 20
        assert control.ask(server, "reload") == (0, "ok\n")


def test_next_xfrd_has_the_keys(server):
    server.wait_replaced("xfrd", server.kill("xfrd"))
    server.wait_serving()
    assert control.ask(server, "status")[0] == 0


def test_keys_are_for_xfrd_alone(server, keys):
    """The octets of the key's PEM file are in no other process's memory."""
    lines = (keys / "nsd_server.key").read_text().splitlines()
    secret = lines[2].encode() if len(lines) > 4 else lines[1].encode()
    for name, pid in server.roles().items():
        if name in ("main", "xfrd"):
            continue
        with open(f"/proc/{pid}/maps") as maps, \
                open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                span, rights = line.split()[:2]
                if not rights.startswith("r") or "[v" in line:
                    continue
                begin, end = (int(x, 16) for x in span.split("-"))
                if end - begin > 1 << 28:
                    continue
                try:
                    memory.seek(begin)
                    assert secret not in memory.read(end - begin), name
                except OSError:
                    continue


@pytest.mark.parametrize("what", ["absent", "empty", "garbage", "swapped",
                                  "other"])
def test_start_without_usable_keys(make_server, keys, directory, what):
    made = make_server(zones={})
    key = keys / "nsd_server.key"
    if what == "absent":
        key.unlink()
    elif what == "empty":
        key.write_text("")
    elif what == "garbage":
        key.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n")
    elif what == "swapped":
        key.write_text((keys / "nsd_server.pem").read_text())
    else:
        key.write_text((keys / "nsd_control.key").read_text())
    control.config(made, f"control-port: {free_port()}", *options(keys),
                   interface="127.0.0.1")
    result = made.run("-d")
    assert result.returncode == 1
    assert "server-key-file" in made.read_log(), made.read_log()


def test_setup_with_rsa(make_server, directory):
    """The default of nsd-control-setup."""
    assert setup(directory).returncode == 0
    made = make_server(zones={})
    control.config(made, f"control-port: {free_port()}", *options(directory),
                   interface="127.0.0.1").start()
    assert control.ask(made, "status")[0] == 0
    text = subprocess.run(
        ["openssl", "x509", "-noout", "-text", "-in",
         str(directory / "nsd_control.pem")], capture_output=True, text=True,
        timeout=DEADLINE, check=True).stdout
    assert "3072 bit" in text and "DNS:nsd-control" in text


def test_setup(directory):
    assert setup(directory, "-h").returncode == 1
    assert setup(directory / "absent").returncode == 1
    assert setup(directory, "-t", "ec").returncode == 0
    names = {f"nsd_{side}.{end}" for side in ("server", "control")
             for end in ("key", "pem")}
    assert {path.name for path in directory.iterdir()} == names
    before = {name: (directory / name).read_text() for name in names}
    # Existing files are not made again.
    assert setup(directory).returncode == 0
    assert before == {name: (directory / name).read_text()
                      for name in names}
    # Certificates are renewed, and keys stay.
    assert setup(directory, "-r").returncode == 0
    for name in names:
        same = before[name] == (directory / name).read_text()
        assert same == name.endswith(".key"), name
    # An empty file, as of a full disk, counts as none.
    for name in "nsd_control.key", "nsd_server.pem":
        (directory / name).write_text("")
        assert setup(directory).returncode == 0
        subprocess.run(["openssl", "verify", "-CAfile", "nsd_server.pem",
                        "nsd_control.pem"], cwd=directory, check=True,
                       capture_output=True)
    for side in ("server", "control"):
        mode = (directory / f"nsd_{side}.key").stat().st_mode
        assert mode & 0o777 == 0o600


def test_setup_finds_its_folder_whatever_cdpath_says(directory, monkeypatch):
    here, there = directory / "here/keys", directory / "there/keys"
    for folder in here, there:
        folder.mkdir(parents=True)
    monkeypatch.chdir(here.parent)
    monkeypatch.setenv("CDPATH", str(there.parent))
    assert setup("keys", "-t", "ec").returncode == 0
    assert (here / "nsd_server.key").exists()
    assert not list(there.iterdir())


def test_progress_is_asked_for_over_tls_too(server):
    with subprocess.Popen(control.command(server, "-v", "delzones"),
                          text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as client:
        line = client.stderr.readline()
        text = client.communicate("\n", timeout=DEADLINE)[0]
    assert line.startswith("delzones: begun, ")
    assert text.endswith("deleted 0 zones\n")
