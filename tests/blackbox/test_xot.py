"""Zone transfers over TLS (RFC 9103) from primaries: the right certificate, and
the wrong ones."""
import contextlib
import pathlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import threading

import pytest

import control
from certificates import Authority
from harness import DEADLINE, wait_for, zone_text
from ports import free_port

pytestmark = pytest.mark.plain

WWW = ["192.0.2.1"]
FAILED = (r"error: example: Could not tcp connect to 127.0.0.1@\d+ with"
          " tls-auth up: ")


@pytest.fixture
def primary(make_server, authority):
    """Starts a primary with TLS; with mutual it wants a certificate."""
    def run(mutual=False):
        key, cert = authority.sign("ns.example")
        port = free_port()
        server = make_server(name="primary", zones={"example": zone_text()},
                             options={
            "tls-service-key": f'"{key}"', "tls-service-pem": f'"{cert}"',
            "tls-cert-bundle": f'"{authority.cert}"',
            ("tls-auth-port" if mutual else "tls-port"): port})
        server.options["ip-address"] = ["127.0.0.1", f"127.0.0.1@{port}"]
        server.write_config()
        with server.config.open("a") as file:
            file.write("\tprovide-xfr: 127.0.0.1 NOKEY\n")
        server.tls_port = port
        return server.start()
    return run


@pytest.fixture
def secondary(make_server, authority):
    """Starts a secondary that asks over TLS; auth: more of the tls-auth."""
    def run(primary, domain="ns.example", auth="", bundle=None, ready=True,
            options=None):
        server = make_server(name="secondary", zones={"example": None},
                             options={
            "tls-cert-bundle": f'"{bundle or authority.cert}"',
            "verbosity": 2, **(options or {})})
        text = server.config.read_text().replace("zone:\n", (
            "remote-control:\n\tcontrol-enable: yes\n"
            f"\tcontrol-interface: {server.directory}/control.sock\n"
            f"tls-auth:\n\tname: up\n\tauth-domain-name: \"{domain}\"\n"
            f"{auth}zone:\n"))
        text += (f"\trequest-xfr: 127.0.0.1@{primary.tls_port} NOKEY up\n"
                 "\tmin-retry-time: 1\n\tmax-retry-time: 1\n")
        server.config.write_text(text)
        return server.start(ready)
    return run


def wait_address(server, address):
    def same():
        reply = server.query("www.example", "A")
        return [str(r) for rrset in reply.answer for r in rrset] == [address]
    wait_for("the zone", same)


def test_transfer(primary, secondary):
    up = primary()
    down = secondary(up)
    wait_address(down, "192.0.2.1")


def test_clauses_come_by_a_reconfig(primary, secondary):
    """A new clause may come before the old ones in the order of names."""
    up = primary()
    down = secondary(up, options={"reload-config": "yes"})
    wait_address(down, "192.0.2.1")
    xfrd = down.role("xfrd")
    down.config.write_text(down.config.read_text().replace(
        "tls-auth:\n", "tls-auth:\n\tname: another\n\tauth-domain-name: "
        '"ns2.example"\ntls-auth:\n', 1)
        + "\tmin-refresh-time: 1\n\tmax-refresh-time: 1\n")
    down.signal(signal.SIGHUP)
    down.wait_log("reconfig: done")
    assert down.role("xfrd") == xfrd
    up.write_zone("example", zone_text(2, "192.0.2.7"))
    up.signal(signal.SIGHUP)
    wait_address(down, "192.0.2.7")
    assert "was killed by signal" not in down.read_log()


def reconfig(server, text, done="reconfig: done"):
    """Returns once that is in the log: the next one finds a whole file."""
    known = len(server.read_log())
    server.config.write_text(text)
    server.signal(signal.SIGHUP)
    server.wait_log(done, known)


def test_first_clause_comes_by_a_reconfig(primary, secondary):
    """A reconfig adds the first clause, then another one, then corrects its
    domain name."""
    up = primary()
    down = secondary(up, "ns.wrong", ready=False,
                     options={"reload-config": "yes"})
    down.wait_log("nsd started")
    text = down.config.read_text()
    reconfig(down, text[:text.index("tls-auth:")])
    xfrd = down.role("xfrd")
    known = len(down.read_log())
    reconfig(down, text)
    down.wait_log("tls-auth up: TLS: certificate: hostname mismatch", known)
    reconfig(down, text.replace("ns.wrong", "ns.example"))
    wait_address(down, "192.0.2.1")
    assert down.role("xfrd") == xfrd


def test_files_that_cannot_be_read_by_a_reconfig(primary, secondary,
                                                 authority, directory):
    """Files that only root may read stay as they were read."""
    up = primary(mutual=True)
    key, cert = authority.sign("secondary.example")
    bundle = directory / "bundle.pem"
    bundle.write_text(authority.cert.read_text())
    down = secondary(up, bundle=bundle, options={"reload-config": "yes"},
                     auth=(f'\tclient-cert: "{cert}"\n\tclient-key: '
                           f'"{key}"\n'))
    wait_address(down, "192.0.2.1")
    xfrd = down.role("xfrd")
    for path in (key, cert, bundle):
        pathlib.Path(path).unlink()
    down.config.write_text(down.config.read_text()
                           + "\tmin-refresh-time: 1\n"
                             "\tmax-refresh-time: 1\n")
    down.signal(signal.SIGHUP)
    down.wait_log("reconfig: done")
    assert down.role("xfrd") == xfrd
    # The next one has it from main.
    down.wait_replaced("xfrd", down.kill("xfrd"))
    up.write_zone("example", zone_text(2, "192.0.2.7"))
    up.signal(signal.SIGHUP)
    wait_address(down, "192.0.2.7")


def test_own_certificate(primary, secondary, authority):
    up = primary(mutual=True)
    key, cert = authority.sign("secondary.example", key_options=(
        "-passout", "pass:sesame"))
    down = secondary(up, auth=(f'\tclient-cert: "{cert}"\n\tclient-key: '
                               f'"{key}"\n\tclient-key-pw: "sesame"\n'))
    wait_address(down, "192.0.2.1")


def test_without_the_certificate_that_is_wanted(primary, secondary):
    down = secondary(primary(mutual=True))
    down.wait_log(FAILED + "TLS: ")


@pytest.mark.parametrize("auth", ["", "\tclient-key-pw: \"guess\"\n"])
def test_wrong_password(primary, secondary, authority, auth):
    key, cert = authority.sign("secondary.example", key_options=(
        "-passout", "pass:sesame"))
    down = secondary(primary(), auth=(f'\tclient-cert: "{cert}"\n'
                                      f'\tclient-key: "{key}"\n{auth}'))
    down.wait_log("tls-auth up: client-key is no key that can be used with "
                  "client-cert and client-key-pw")
    down.wait_log(FAILED + "tls-auth up cannot be used")


def test_wrong_name(primary, secondary):
    down = secondary(primary(), domain="other.example")
    down.wait_log(FAILED + "TLS: certificate: hostname mismatch")
    wait_for("the status", lambda: re.search(
        r'last-error: "TLS: certificate: hostname mismatch from 127.0.0.1@\d+'
        r' with tls-auth up, \d+ sec ago"\n',
        control.ask(down, "zonestatus", "example")[1]))


def test_wrong_authority(primary, secondary, directory):
    other = Authority(directory / "other", "stranger")
    down = secondary(primary(), bundle=other.cert)
    down.wait_log(FAILED + "TLS: certificate: unable to get local issuer "
                  "certificate")


def test_primary_that_speaks_no_tls(primary, secondary):
    up = primary()
    with socket.create_server(("127.0.0.1", 0)) as server:
        def talk():
            with contextlib.suppress(OSError):
                while True:
                    with server.accept()[0] as client:
                        client.sendall(b"220 mail.example ESMTP\r\n")
                        client.recv(4096)
        threading.Thread(target=talk, daemon=True).start()
        up.tls_port = server.getsockname()[1]
        down = secondary(up)
        down.wait_log(FAILED + "TLS: ")
        server.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def ending(authority, end):
    """A primary that takes requests over TLS, and then ends the connection.
    Yields its port."""
    key, cert = authority.sign("ns.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(cert), str(key))
    context.set_alpn_protocols(["dot"])
    with socket.create_server(("127.0.0.1", 0)) as server:
        def talk():
            with contextlib.suppress(OSError):
                while True:
                    with context.wrap_socket(server.accept()[0],
                                             server_side=True) as client:
                        client.recv(1)
                        end(client)
        threading.Thread(target=talk, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def relay(authority, port, alpn=("dot",), version=None, days=30):
    """A primary that has TLS as is said here, and a server at a port behind it.
    Yields its own port, and what the clients that came had agreed upon."""
    key, cert = authority.sign("relay", domain="ns.example", days=days)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(cert), str(key))
    if version is not None:
        context.maximum_version = version
    if alpn:
        context.set_alpn_protocols(list(alpn))
    agreed = []

    def pass_on(client):
        with contextlib.suppress(OSError), context.wrap_socket(
                client, server_side=True) as inside:
            agreed.append((inside.version(),
                           inside.selected_alpn_protocol()))
            while True:
                request = read_message(inside)
                with socket.create_connection(("127.0.0.1", port),
                                              DEADLINE) as server:
                    server.sendall(request)
                    server.shutdown(socket.SHUT_WR)
                    while octets := server.recv(65536):
                        inside.sendall(octets)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=pass_on, daemon=True, args=(
                        listener.accept()[0],)).start()
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1], agreed
        listener.shutdown(socket.SHUT_RDWR)


def read_message(client):
    """Reads a message with its length."""
    octets, size = b"", 2
    while len(octets) < size:
        more = client.recv(size - len(octets))
        if not more:
            raise OSError("it has ended")
        octets += more
        if len(octets) == 2:
            size = 2 + struct.unpack("!H", octets)[0]
    return octets


@pytest.mark.parametrize("alpn, chosen", [
    (("dot",), "dot"),
    (("h2", "dot"), "dot"),
    # Python chooses none then, as the NSD of Debian never does.
    (("h2",), None),
    ((), None),
])
def test_protocols_of_a_primary(primary, secondary, authority, alpn, chosen):
    up = primary()
    with relay(authority, up.port, alpn=alpn) as (up.tls_port, agreed):
        wait_address(secondary(up), "192.0.2.1")
        assert set(agreed) == {("TLSv1.3", chosen)}


def test_primary_without_tls_1_3(primary, secondary, authority):
    """RFC 9103: no question goes over older versions of TLS."""
    up = primary()
    with relay(authority, up.port, version=ssl.TLSVersion.TLSv1_2) as (
            up.tls_port, agreed):
        down = secondary(up)
        down.wait_log(FAILED + "TLS: tlsv1 alert protocol version")
        assert not agreed


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), DEADLINE).close()
    except ConnectionRefusedError:
        return False
    return True


def test_primary_of_another_protocol(primary, secondary, authority):
    """The primary rejects the ALPN "dot"."""
    key, cert = authority.sign("ns.example")
    up = primary()
    up.tls_port = free_port()
    other = subprocess.Popen(
        ["openssl", "s_server", "-accept", f"127.0.0.1:{up.tls_port}", "-key",
         str(key), "-cert", str(cert), "-alpn", "h2", "-quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        wait_for("s_server", lambda: answers(up.tls_port))
        down = secondary(up)
        down.wait_log(FAILED + "TLS: tlsv1 alert no application protocol")
    finally:
        other.kill()
        other.communicate()


def test_expired_certificate(primary, secondary, authority):
    up = primary()
    with relay(authority, up.port, days=0) as (up.tls_port, agreed):
        down = secondary(up)
        down.wait_log(FAILED + "TLS: certificate: certificate has expired")


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                      struct.pack("ii", 1, 0))


@pytest.mark.parametrize("end, expected", [
    (reset, "Connection reset by peer"),
    (lambda client: client.shutdown(socket.SHUT_WR),
     "the connection was closed too early"),
])
def test_primary_that_ends_the_connection(primary, secondary, authority, end,
                                          expected):
    """The message is that of plain TCP."""
    up = primary()
    with ending(authority, end) as up.tls_port:
        down = secondary(up)
        down.wait_log(f"error: xfrd: failed reading tcp {expected}: zone"
                      " example, from .* with tls-auth up")


def test_certificates_of_a_secondary_are_replaced(primary, secondary,
                                                   authority, directory):
    """The bundle is wrong at first."""
    other = Authority(directory / "other", "stranger")
    bundle = directory / "bundle.pem"
    bundle.write_text(other.cert.read_text())
    down = secondary(primary(), bundle=bundle)
    down.wait_log("unable to get local issuer certificate")
    bundle.write_text(authority.cert.read_text())
    down.signal(signal.SIGHUP)
    down.wait_log("certificates for primaries have been read anew")
    wait_address(down, "192.0.2.1")
