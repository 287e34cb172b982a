"""The control channel over TLS: keys of nsd-control-setup, and a client that has
them."""

import contextlib
import socket
import ssl
import subprocess

import control
from harness import DEADLINE
from ports import free_port

SETUP = control.BUILD / "nsd-control-setup"


def setup(directory, *more):
    return subprocess.run([str(SETUP), "-d", str(directory), *more],
                          capture_output=True, text=True, timeout=DEADLINE,
                          check=False)


def make(directory):
    """A new folder with all that both sides need."""
    directory.mkdir()
    assert setup(directory, "-t", "ec").returncode == 0
    return directory


def options(keys):
    return [f"{side}-{what}-file: {keys}/nsd_{side}.{end}"
            for side in ("server", "control")
            for what, end in (("key", "key"), ("cert", "pem"))]


def start(server, keys):
    """With the control channel over TLS, at server.control_port."""
    server.control_port = free_port()
    control.config(server, f"control-port: {server.control_port}",
                   *options(keys), interface="127.0.0.1")
    return server.start()


def client_context(keys, side="control"):
    context = ssl.create_default_context(cafile=str(keys / "nsd_server.pem"))
    if side is not None:
        context.load_cert_chain(keys / f"nsd_{side}.pem",
                                keys / f"nsd_{side}.key")
    return context


def talk(server, context, octets=b"NSDCT1  status\n"):
    with socket.create_connection(("127.0.0.1", server.control_port),
                                  timeout=DEADLINE) as plain:
        with context.wrap_socket(plain, server_hostname="nsd") as client:
            client.sendall(octets)
            return control.read_all(client)


def read_hello(context):
    """The octets of its ClientHello."""
    hello = ssl.MemoryBIO()
    state = context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="nsd")
    with contextlib.suppress(ssl.SSLWantReadError):
        state.do_handshake()
    return hello.read()
