"""A start with keys and certificates of TLS: who started the server hears
whether they can be used. Those that come later: test_tls.py."""
import os

import pytest

import control
import control_keys
from harness import DEADLINE
from ports import free_port
from tls_client import Client, context_for

WWW = ["192.0.2.1"]


@pytest.mark.parametrize("option, text, expected", [
    ("tls-service-key", None, "tls-service-key: cannot read .*/bad: "
     "No such file"),
    ("tls-service-key", "nothing\n", "tls-service-key is no key that can be "
     "used with tls-service-pem"),
    ("tls-service-key", "", "tls-service-key: cannot read .*/bad: it is "
     "empty"),
    ("tls-service-pem", "nothing\n", "tls-service-pem is no certificate that "
     "can be used"),
    ("tls-service-pem", None, "tls-service-pem: cannot read .*/bad: No such"),
    ("tls-service-ocsp", "nothing\n", "tls-service-ocsp is no OCSP response"),
])
def test_files_that_cannot_be_used(start_tls, directory, option, text,
                                   expected):
    bad = directory / "bad"
    if text is not None:
        bad.write_text(text)
    server = start_tls(ready=False, **{option: f'"{bad}"'})
    assert server.process.wait(DEADLINE) == 1
    server.wait_log(expected)
    server.wait_log("could not set up TLS with tls-service-key")


def test_key_of_another_certificate(start_tls, authority):
    key, _ = authority.sign("other.example")
    server = start_tls(ready=False, **{"tls-service-key": f'"{key}"'})
    assert server.process.wait(DEADLINE) == 1
    server.wait_log("tls-service-key is no key that can be used with")


@pytest.mark.parametrize("whose", ["server", "control"])
def test_start_that_fails_in_the_background(start_tls, directory, whose):
    """The failure is reported to the caller, and no process is left."""
    server = start_tls()
    server.stop()
    bad = directory / "bad"
    bad.write_text("nothing\n")
    if whose == "server":
        server.options["tls-service-pem"] = f'"{bad}"'
        said = ("tls-service-pem is no certificate that can be used",
                "could not set up TLS with tls-service-key")
    else:
        keys = control_keys.make(directory / "keys")
        control.config(server, f"control-port: {free_port()}",
                       f"server-key-file: {bad}",
                       f"server-cert-file: {keys}/nsd_server.pem",
                       interface="127.0.0.1")
        said = ("server-key-file", "could not set up the control channel")
    server.write_config()
    known = len(server.read_log())
    result = server.run()
    assert result.returncode == 1
    log = server.read_log()[known:]
    for text in *said, "could not be started":
        assert text in result.stderr, result.stderr
        assert log.count(text) == 1
    assert "nsd started" not in log
    assert not server.pidfile.exists()
    assert server.leftovers() == []


def test_start_in_the_background(start_tls, authority):
    """The start returns when the first worker can use the keys that main has
    read. The processes have not kept the terminal."""
    server = start_tls()
    server.stop()
    server.foreground = False
    server.start()
    for name, pid in server.roles().items():
        for fd in "012":
            assert os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/null", name
    with Client(server.tls_port, context_for(authority)) as client:
        assert client.address() == WWW
