"""Clients of one network that want all TCP places keep the first of another
network waiting no longer than it takes to see who it is (fault 36,
doc/decisions/0109)."""

import resource
import socket
import subprocess
import sys

import pytest

import tcp_crowd
from harness import DEADLINE, Clock, zone_text

COUNT = 1500
PLACES = 50
# It would be six seconds at least until newcomers are looked at. Another program
# may have the cores meanwhile.
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
    """Whoever makes it gives it room for its sockets."""
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
        # One that knows no other network.
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
