"""Clients of one network that want all TCP places keep the first of another
network waiting no longer than it takes to see who it is (fault 36,
doc/decisions/0109)."""

import contextlib
import resource
import socket
import struct
import subprocess
import sys

import pytest

import tcp_crowd
from harness import DEADLINE, Clock, zone_text
from ports import free_port
from tls_client import context_for

COUNT = 1500
PLACES = 50
# Far more than it takes to see a newcomer: another program may have the cores. Whoever
# is not seen before a place is free waits for longer.
LATE = 4
ATTEMPTS = 3
ZONE = zone_text() + "".join(f"h{i} A 192.0.2.1\n" for i in range(20000))


def ask(port, source):
    """How long it waits, by a Clock."""
    clock, answer = Clock(), b""
    with socket.create_connection(("127.0.0.1", port), DEADLINE,
                                  (source, 0)) as client:
        client.sendall(tcp_crowd.request("www.example", 1))
        client.settimeout(clock.STEP / 2)
        while len(answer) < 2 and clock.tick() < DEADLINE:
            try:
                part = client.recv(512)
            except TimeoutError:
                continue
            assert part, "it was sent away"
            answer += part
    return clock.tick()


def crowd(server, mode):
    """Starts a crowd of clients; the caller raises the limit of
    descriptors."""
    return subprocess.Popen(
        [sys.executable, tcp_crowd.__file__, mode, str(server.port),
         str(COUNT), str(DEADLINE)], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < COUNT + 100:
        pytest.skip("few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("mode", ["pipelines", "transfers"])
def test_newcomer_is_seen_behind_a_crowd(nsd, descriptors, mode, workers):
    waits = []
    for attempt in range(ATTEMPTS):
        # A server that has seen no other network.
        server = nsd(name=f"s{attempt}", zones={"example": ZONE}, options={
            "server-count": workers, "tcp-count": PLACES},
            extra="\tprovide-xfr: 127.0.0.1 NOKEY\n")
        attackers = crowd(server, mode)
        try:
            assert attackers.stdout.readline() == "ready\n"
            waits.append(ask(server.port, "127.9.9.1"))
        finally:
            attackers.kill()
            attackers.wait()
            attackers.stdout.close()
        if waits[-1] < LATE:
            return
        server.stop()
    pytest.fail(f"it waited {waits} s")


def test_proxy_waits_for_a_place_with_tls(start_tls, authority):
    """A proxied connection that waits for a place has no client yet: the
    handshake comes when it has a place (doc/decisions/0109)."""
    port = free_port()
    server = start_tls(
        {"example": ZONE}, ready=False,
        more="\tprovide-xfr: 127.0.0.1 NOKEY\n",
        **{"tls-port": port, "proxy-protocol-port": port, "tcp-count": 1,
           "ip-address": ["127.0.0.1", f"127.0.0.1@{port}"]})
    server.wait_log("nsd started")
    with socket.socket() as stays:
        stays.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stays.connect(("127.0.0.1", server.port))
        # The client reads no more of a transfer, so its place is in use for a
        # while.
        stays.sendall(tcp_crowd.request("example", 252))
        assert stays.recv(2)
        client = context_for(authority).wrap_socket(
            socket.create_connection(("127.0.0.1", port), DEADLINE),
            server_hostname="ns.example", do_handshake_on_connect=False)
        client.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            client.do_handshake()
    with client:
        client.settimeout(DEADLINE)
        client.do_handshake()
        client.sendall(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"
                       + socket.inet_aton("192.0.2.7")
                       + socket.inet_aton("127.0.0.1")
                       + struct.pack("!HH", 4321, 853)
                       + tcp_crowd.request("www.example", 1))
        assert len(client.recv(512)) > 2
