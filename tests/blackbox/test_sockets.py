"""Datagrams: the process that gets each, and those that no process gets."""
import contextlib
import json
import os
import re
import signal
import socket
import urllib.request

import dns.message

import control

import pytest
from harness import wait_for, zone_text
from ports import free_port

pytestmark = pytest.mark.plain


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


def shown_as_lost(server, port):
    """By stats_more, as text and as JSON, and by the metrics; None while these
    differ."""
    text = control.ask(server, "stats_more")[1]
    found = {int(re.search(r"^server0\.lost=(\d+)$", text, re.M)[1]),
             json.loads(control.ask(server, "-j", "stats_more")[1])[
                 "server0.lost"]}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        found.add(int(re.search(r"^nsd_queries_lost_total (\d+)$",
                                reply.read().decode(), re.M)[1]))
    return found.pop() if len(found) == 1 else None


def test_datagrams_that_the_kernel_drops_are_counted(make_server):
    port = free_port()
    server = control.config(make_server(
        zones={"example": zone_text()}, options={
            "receive-buffer-size": 1, "replace-hung": "no",
            "metrics-enable": "yes", "metrics-interface": "127.0.0.1",
            "metrics-port": port})).start()
    pid = server.role("server 1")
    assert shown_as_lost(server, port) == 0
    question = dns.message.make_query("www.example", "A").to_wire()
    os.kill(pid, signal.SIGSTOP)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            for _ in range(200):
                client.sendto(question, ("127.0.0.1", server.port))
    finally:
        os.kill(pid, signal.SIGCONT)
    lost = wait_for("a count of what was lost",
                    lambda: shown_as_lost(server, port))
    assert 0 < lost <= 200
    # Lost datagrams do not count twice.
    assert xstats(server, pid, ask_statistics(server))["RLost"] == lost


def test_reuseport_by_cpu_needs_a_processor_for_each_server(nsd):
    server = nsd(zones={"example": zone_text()},
                 options={"server-count": 2, "reuseport-by-cpu": "yes"})
    assert re.search(r"warning: reuseport-by-cpu has no effect on "
                     r"127\.0\.0\.1@\d+: not every server there has a "
                     r"server-N-cpu-affinity of its own", server.read_log())
    assert server.answer("www.example", "A") == ["192.0.2.1"]


def test_reuseport_by_cpu_leads_to_the_server_of_the_processor(nsd):
    """On the loopback interface the client's processor decides."""
    here = os.sched_getaffinity(0)
    cpus = (sorted(here) * 2)[:2]  # one twice: then it has no effect
    server = nsd(zones={"example": zone_text()}, options={
        "server-count": 2, "reuseport-by-cpu": "yes",
        "cpu-affinity": " ".join(map(str, sorted(set(cpus)))),
        "server-1-cpu-affinity": cpus[0], "server-2-cpu-affinity": cpus[1]})
    pids = [server.role(f"server {i}") for i in (1, 2)]
    assert (("reuseport-by-cpu has no effect" in server.read_log())
            == (cpus[0] == cpus[1]))
    for turn, cpu in enumerate(cpus):
        before = ask_statistics(server)
        before = [xstats(server, pid, before)["RQ"] for pid in pids]
        os.sched_setaffinity(0, {cpu})
        try:
            for _ in range(40):
                server.query("www.example", "A")
            for _ in range(10):
                server.query("www.example", "A", tcp=True)
        finally:
            os.sched_setaffinity(0, here)
        after = ask_statistics(server)
        after = [xstats(server, pid, after)["RQ"] for pid in pids]
        grown = [b - a for a, b in zip(before, after)]
        assert sum(grown) == 50
        if cpus[0] != cpus[1]:
            assert grown[turn] == 50


def test_addresses_with_a_scope_are_listened_on(nsd):
    """Addresses with a scope, as written for link-local ones."""
    port, metrics = free_port(), free_port()
    server = nsd(zones={"example": zone_text()}, options={
        "ip-address": ["127.0.0.1", f"::1%lo@{port}"],
        "metrics-enable": "yes", "metrics-interface": "::1%lo",
        "metrics-port": metrics})
    for tcp in (False, True):
        assert server.answer("www.example", "A", address="::1", port=port,
                             tcp=tcp) == ["192.0.2.1"]
    with urllib.request.urlopen(f"http://[::1]:{metrics}/metrics") as reply:
        assert b"nsd_queries_total" in reply.read()


def test_without_a_family_both_are_served(nsd):
    """One warning says so, also of a verify server."""
    server = nsd(zones={"example": zone_text()}, options={
        "ip-address": ["127.0.0.1", "::1"], "do-ip4": "no", "do-ip6": "no"},
        extra=f"verify:\n\tenable: yes\n\tport: {free_port()}\n")
    for address in "127.0.0.1", "::1":
        assert server.answer("www.example", "A", address=address) == [
            "192.0.2.1"]
    assert server.read_log().count(
        "warning: do-ip4 and do-ip6 are both no") == 1


@pytest.mark.parametrize("families", ["", "4", "6", "46"])
def test_metrics_are_on_loopback_of_each_family(make_server, families):
    """Without metrics-interface. With neither family NSD 4.12 has none, too,
    while it answers queries on both."""
    port = free_port()
    server = make_server(zones={"example": zone_text()}, options={
        "ip-address": "127.0.0.1" if families != "6" else "::1",
        "do-ip4": "yes" if "4" in families else "no",
        "do-ip6": "yes" if "6" in families else "no",
        "metrics-enable": "yes", "metrics-port": port})
    if families == "6":
        server.address = "::1"
    server.start()
    for family, address in ("4", "127.0.0.1"), ("6", "::1"):
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection((address, port)).close()
            assert family in families
            continue
        assert family not in families
    assert ("metrics are nowhere" in server.read_log()) == (not families)


def test_a_scope_that_is_not_there_is_named(make_server):
    server = make_server(zones={"example": zone_text()},
                         options={"ip-address": "fe80::1%nosuch"})
    assert server.run().returncode == 1
    assert ("cannot parse address 'fe80::1%nosuch': there is no such network"
            " interface") in server.read_log()
