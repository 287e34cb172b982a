"""Connections that are open and ask nothing cost others no answer, and not much
memory. tests/bench/idle.py has more of them, and figures."""
import pathlib
import re
import socket
import struct

import dns.message
import pytest

from certificates import Authority
from harness import DEADLINE, is_sanitized, zone_text
from ports import free_port
from steady import Steady
from tls_client import Client, context_for

COUNT = 500
SECONDS = 3
# Of private memory for one that is idle after a question: half as much again as
# it takes (doc/performance/idle.md).
TCP_OCTETS, TLS_OCTETS = 2048, 24 << 10


@pytest.fixture
def server(nsd, directory):
    authority = Authority(directory / "certificates")
    key, cert = authority.sign("ns.example")
    port = free_port()
    made = nsd(zones={"example": zone_text()}, options={
        "ip-address": ["127.0.0.1", f"127.0.0.1@{port}"], "tls-port": port,
        "tls-service-key": f'"{key}"', "tls-service-pem": f'"{cert}"',
        # From half of all places on, the time-out is shorter.
        "tcp-count": 4 * COUNT, "tcp-timeout": 600})
    made.tls_port, made.context = port, context_for(authority)
    return made


def memory(server):
    """Private, of the worker."""
    pid = server.role("server 1")
    return 1024 * sum(int(n) for n in re.findall(
        r"^Private_(?:Dirty|Clean): +(\d+)",
        pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M))


def ask(sock):
    """Whether it is answered; False if the server has closed."""
    wire = dns.message.make_query("www.example", "A").to_wire()
    try:
        sock.sendall(struct.pack("!H", len(wire)) + wire)
        with sock.makefile("rb") as stream:
            size = int.from_bytes(stream.read(2), "big")
            return size > 12 and len(stream.read(size)) == size
    except ConnectionError:
        return False


def over_tcp(server, number):
    return socket.create_connection(("127.0.0.1", server.port), DEADLINE,
                                    (f"127.0.{number // 50}.1", 0))


def over_tls(server, _):
    return Client(server.tls_port, server.context).sock


@pytest.mark.plain
def test_idle_connections_cost_others_nothing(server):
    held = []
    try:
        for connect, most in (over_tcp, TCP_OCTETS), (over_tls, TLS_OCTETS):
            before = memory(server)
            for number in range(COUNT):
                held.append(connect(server, number))
                assert ask(held[-1])
            each = (memory(server) - before) / COUNT
            print(f"{connect.__name__}: {each:.0f} octets a connection")
            assert each < most or is_sanitized()
        with Steady(server, rate=500, clients=16) as client:
            client.over.wait(SECONDS)
        assert client.late == []
        # The idle connections are still open.
        assert [ask(sock) for sock in held] == [True] * len(held)
    finally:
        for sock in held:
            sock.close()
