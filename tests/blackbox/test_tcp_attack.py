"""Clients that mean harm over TCP keep nobody else from an answer over UDP
(fault 35 and its like)."""

import pathlib
import statistics
import subprocess
import sys

import pytest

import tcp_attack
from harness import read_proc, zone_text
from steady import Steady

ATTACK = pathlib.Path(tcp_attack.__file__)
SECONDS = 2
# Of a query, with and without an attack beside it. The attackers need a core
# themselves, and the machine may be busy: what is excluded is a server that
# stands still for one of them.
MEDIAN_MSEC = 40
TIMES = 20
# For all clients that do not read, in the kernel; without a bound it is 4 MiB
# for each of the 60.
MEMORY_MIB = 64

BIG = "big TXT " + " ".join(f'"{"x" * 250}"' for _ in range(200)) + "\n"


def kernel_memory_mib():
    """Of all TCP sockets of the machine."""
    for line in read_proc("net", "sockstat").splitlines():
        if line.startswith("TCP:"):
            return int(line.split()[-1]) * 4096 / 2**20
    raise AssertionError("no TCP in /proc/net/sockstat")


def ask_beside(server, seconds=SECONDS, **options):
    """Asks at a steady rate for some seconds: the median of the waits."""
    with Steady(server, rate=500, clients=16, **options) as client:
        client.over.wait(seconds)
    assert client.late == []
    return statistics.median(client.waits)


@pytest.mark.parametrize("mode", [*tcp_attack.MODES, "comes-and-goes"])
def test_clients_over_tcp_do_not_hold_up_udp(nsd, mode):
    server = nsd(zones={"example": zone_text() + BIG},
                 options={"server-count": 1, "tcp-count": 200})
    alone = ask_beside(server, 1)
    before = kernel_memory_mib()
    attacker = subprocess.Popen(
        [sys.executable, ATTACK, mode, str(server.port), str(2 * SECONDS)],
        stdout=subprocess.PIPE, text=True)
    try:
        assert attacker.stdout.readline() == "ready\n"
        beside = ask_beside(server)
        held = kernel_memory_mib() - before
        assert attacker.poll() is None
    finally:
        attacker.kill()
        attacker.wait()
        attacker.stdout.close()
    print(f"{mode}: {alone * 1000:.2f} ms alone, {beside * 1000:.2f} beside, "
          f"{held:.0f} MiB held")
    assert beside * 1000 < max(MEDIAN_MSEC, TIMES * alone * 1000)
    if mode == "never-reads":
        assert held < MEMORY_MIB
    assert server.answer("www.example", "A") == ["192.0.2.1"]
