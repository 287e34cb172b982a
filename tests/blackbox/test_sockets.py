"""Datagrams that nobody gets."""
import os
import signal
import socket

import dns.message

from harness import wait_for, zone_text


def xstats(server, pid, known=0):
    """The figures of a worker's latest line XSTATS."""
    line = server.wait_log(rf"\[{pid}\]: info: XSTATS \d+ \d+ (.*)", known)
    return {name: int(value) for name, value in
            (field.split("=") for field in line[1].split())}


def ask_statistics(server):
    """Where the lines of all processes begin in the log."""
    known = len(server.read_log())
    server.signal(signal.SIGUSR1)
    return known


def test_datagrams_that_the_kernel_drops_are_counted(nsd):
    server = nsd(zones={"example": zone_text()},
                 options={"receive-buffer-size": 1})
    pid = server.role("server 1")
    assert xstats(server, pid, ask_statistics(server))["RLost"] == 0
    question = dns.message.make_query("www.example", "A").to_wire()
    os.kill(pid, signal.SIGSTOP)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            for _ in range(200):
                client.sendto(question, ("127.0.0.1", server.port))
    finally:
        os.kill(pid, signal.SIGCONT)
    lost = wait_for("a count of what was lost", lambda: xstats(
        server, pid, ask_statistics(server))["RLost"])
    assert 0 < lost <= 200
    # They do not count twice.
    assert xstats(server, pid, ask_statistics(server))["RLost"] == lost
