"""A process dies amid an IXFR of many versions, or amid the replay of the
journal at the next start: served zones stay served, and never become older."""

import os
import signal
import struct
import threading
import time

import dns.name
import dns.rdatatype
import pytest

import transferred
from harness import is_alive, wait_for, zone_text
from scripted_primary import ScriptedPrimary, records, reply, soa, whole
from test_versions import answers, clause, text_of

APEX = dns.name.from_text("example.")
LAST = 400  # of the IXFR
NAMES = 3000  # changed by each version
VERSIONS = 240  # with these, a replay takes half a second of the processor
OTHERS = 100000  # names of the file: reading takes longer than to find who does
STEP = 0.005  # seconds that the loader runs at a time
BUNDLE = 40  # versions of an entry of the journal


def addresses(action, number):
    """The records of all names, with an address of that number."""
    return b"".join(
        bytes([action]) + dns.name.from_text(f"n{i}.sub", APEX).to_wire()
        + struct.pack("!HIH4B", dns.rdatatype.A, 300, 4, 192, 0, 2, number)
        for i in range(NAMES))


def keep_many(server):
    """From 1 to VERSIONS + 1: each gives all names another address."""
    removed = [addresses(0, number) for number in range(2)]
    added = [addresses(1, number) for number in range(2)]
    for first in range(1, VERSIONS, BUNDLE):
        octets = transferred.diffs("example.")
        for old in range(first, first + BUNDLE):
            octets += (
                transferred.record(0, transferred.soa(old), APEX)
                + removed[old % 2]
                + transferred.record(1, transferred.soa(old + 1), APEX)
                + added[(old + 1) % 2])
        transferred.keep(server, "example", first, first + BUNDLE, octets)


def text_of_first():
    return "\n".join((transferred.soa(1), "@ 300 NS ns", "ns 300 A 192.0.2.1",
                      *(f"n{i}.sub 300 A 192.0.2.1" for i in range(NAMES)),
                      *(f"o{i} 300 A 192.0.2.1" for i in range(OTHERS)))
                     ) + "\n"


def kill_all(server):
    for pid in server.processes().values():
        os.kill(pid, signal.SIGKILL)
    server.process.wait()
    wait_for("the end of all", lambda: not server.leftovers())


def kill_loader_amid_replay(server):
    """Kills the loader amid the replay. Returns its pid; None: the replay was
    done already."""
    known = len(server.read_log())
    server.start(ready=False)
    old = server.role("loader")

    def step():
        """True if its file would be served, but for what the journal has."""
        os.kill(old, signal.SIGCONT)
        time.sleep(STEP)
        os.kill(old, signal.SIGSTOP)
        return "zone example read with success" in server.read_log()[known:]

    wait_for("the file to be read", step)
    is_amid = "by the journal" not in server.read_log()[known:]
    os.kill(old, signal.SIGKILL)
    wait_for("its end", lambda: not is_alive(old))
    return old if is_amid else None


def test_loader_that_dies_amid_a_replay(make_server, directory):
    """The primary is not there to help."""
    (directory / "example.zone").write_text(text_of_first())
    server = make_server(zones={"b.test": zone_text(1)}, extra=clause(1),
                         options={"server-count": 1, "verbosity": 2})
    keep_many(server)
    for _ in range(20):
        old = kill_loader_amid_replay(server)
        if old is not None:
            break
        assert server.serial("example") == VERSIONS + 1
        kill_all(server)
    assert old is not None, "it was always too fast"
    server.wait_replaced("loader", old)
    wait_for("an answer",
             lambda: server.rcode("example", "SOA") == "NOERROR")
    assert server.serial("example") == VERSIONS + 1
    assert server.answer("n1.sub.example", "A") == [
        f"192.0.2.{(VERSIONS + 1) % 2}"]


class Watch(threading.Thread):
    """Notes what is said of a zone, again and again."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.said = []
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.01):
            reply_ = self.server.query("example", "SOA")
            self.said.append(reply_.answer[0][0].serial if reply_.answer
                             else reply_.rcode())

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


@pytest.fixture
def primary():
    """The primary of example, whose version LAST is reached in one IXFR; and
    of another zone, which changes at the same moment."""
    versions = answers("sub 300 NS ns", LAST)
    changed = threading.Event()

    def answer(apex, rdtype, query):
        serial = 2 if changed.is_set() else 1
        if apex != "example.":
            if rdtype == "IXFR" and serial == 2:
                return [reply(query, soa(apex, 2), soa(apex, 1), soa(apex, 2),
                              *records(apex, "new A 192.0.2.2"),
                              soa(apex, 2))]
            return [reply(query, soa(apex, serial)) if rdtype == "SOA"
                    else whole(query, apex, serial)]
        if not changed.is_set():
            return [reply(query, soa(apex, 1))]
        return versions(apex, rdtype, query)

    with ScriptedPrimary(answer) as one:
        one.changed = changed
        yield one


def prepare(make_server, directory, primary):
    (directory / "example.zone").write_text(
        text_of("@ 300 SOA ns h 1 1 1 3600 300", ""))
    server = make_server(
        zones={"b.test": zone_text(1)},
        extra=clause(primary.port) + clause(primary.port).replace(
            "example", "other.test"),
        options={"server-count": 1, "verbosity": 2})
    server.start()
    server.wait_serial("example", 1)
    server.wait_serial("other.test", 1)
    return server


@pytest.mark.parametrize("moment", ("asked", "kept", "served"))
def test_loader_that_dies_amid_many_versions(make_server, directory, primary,
                                             moment):
    server = prepare(make_server, directory, primary)
    with Watch(server) as watch:
        primary.changed.set()
        if moment == "asked":
            wait_for("a question",
                     lambda: ("example.", "IXFR") in primary.asked)
        elif moment == "kept":
            wait_for("the journal", lambda: any(
                path.stat().st_size > LAST for path in
                (directory / "xfrd.state.journal").glob("*.seg")))
        else:
            server.wait_serial("example", LAST)
        server.wait_replaced("loader", server.kill("loader"))
        server.wait_serial("example", LAST)
        server.wait_serial("other.test", 2)
        server.reload()
    assert set(watch.said) <= {1, LAST} and watch.said == sorted(watch.said)


def test_server_that_dies_after_many_versions(make_server, directory, primary):
    """The primary is gone at the next start."""
    server = prepare(make_server, directory, primary)
    primary.changed.set()
    server.wait_serial("example", LAST)
    kill_all(server)
    primary.__exit__()
    server.start()
    server.wait_serial("example", LAST)
