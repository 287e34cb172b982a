"""Bad catalogs lose nothing (RFC 9432 section 5.1)."""
import re
import socket
import threading

import pytest

import control
from catalogs import (MEMBER_PATTERN, Primary, catalog, consumer, member,
                      members, serves, settle, source, status, wait_gone,
                      wait_members, wait_served)
from harness import wait_for
from scripted_primary import reply, soa

CAT = "cat.test"
A, B, C = (member(f"{i}1", f"{i}.test") for i in "abc")
BOTH = {"a.test": "member", "b.test": "member"}


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


@pytest.fixture
def start(make_server, primary):
    """A consumer that serves a.test and b.test."""
    def run(**arguments):
        serial = primary.put(CAT, *catalog(A, B))
        server = consumer(make_server, primary, **arguments).start()
        settle(server, CAT, serial)
        wait_served(server, "a.test", "b.test")
        return server
    return run


# Lines of a version, and the text that is told of it.
BAD = {
    # RFC 9432 section 4.3.1
    "no version": (catalog(C, version=()), "version"),
    "version 1": (catalog(C, version=("1",)), "version"),
    "version 3": (catalog(C, version=("3",)), "version"),
    "two versions": (catalog(C, version=("1", "2")), "version"),
    "another version, too": (catalog(C, version=("2", "3")), "version"),
    "two strings": (catalog(C, 'version 0 TXT "2" "2"', version=()),
                    "version"),
    "an empty version": (catalog(C, 'version 0 TXT ""', version=()),
                         "version"),
    "a version of another type": (catalog(C, "version 0 A 192.0.2.2",
                                          version=()), "version"),
    # RFC 9432 section 4.1
    "two names for a node": (catalog(C, "c1.zones 0 PTR d.test."), "PTR"),
    "two nodes for a name": (catalog(C, member("c2", "c.test")), "c.test|name"),
    "a second node for a name that is there": (
        catalog(A, B, member("a2", "a.test")), "a.test|name"),
    "a second node for a name, in capitals": (
        catalog(A, B, member("a2", "A.Test")), "a.test|name"),
    # RFC 9432 section 4.4.1
    "two coo properties": (catalog(A, B, "coo.a1.zones 0 PTR x.test.",
                                   "coo.a1.zones 0 PTR y.test."), "coo"),
    # Ours
    "no members": (catalog(), "empty|no member"),
}


@pytest.mark.parametrize("way", ("IXFR", "AXFR"))
@pytest.mark.parametrize("what", BAD)
def test_bad_version_changes_nothing(start, primary, what, way):
    """The log has it once; a good version that follows counts."""
    lines, reason = BAD[what]
    server = start()
    primary.no_ixfr = way == "AXFR"
    known = len(server.read_log())
    primary.give(server, CAT, *lines)
    assert members(server) == BOTH
    told = status(server, CAT)["catalog-invalid"]
    assert re.search(reason, told), told
    found = source(server, CAT)
    assert found["members"] == 2
    assert found["invalid"]["text"] in told
    # The next one is as bad.
    primary.give(server, CAT, *lines, "more 0 TXT x")
    assert members(server) == BOTH
    assert serves(server, "a.test") and serves(server, "b.test")
    log = server.read_log()[known:]
    assert len(re.findall("error: .*catalog", log)) == 1, log
    primary.give(server, CAT, *catalog(B, C))
    assert set(members(server)) == {"b.test", "c.test"}
    wait_served(server, "c.test")
    wait_gone(server, "a.test")
    assert "catalog-invalid" not in status(server, CAT)
    assert source(server, CAT)["invalid"] is None


@pytest.mark.parametrize("what", [w for w in BAD if w != "no members"])
def test_first_version_that_is_bad_brings_nothing(make_server, primary, what):
    primary.put(CAT, *BAD[what][0])
    server = consumer(make_server, primary).start()
    settle(server, CAT, 1)
    assert members(server) == {}
    assert "catalog-invalid" in status(server, CAT)
    primary.give(server, CAT, *catalog(A))
    assert members(server) == {"a.test": "member"}


def test_bad_version_survives_a_restart(start, primary):
    """The members of before the start are those of the zone list."""
    server = start()
    primary.give(server, CAT, *catalog(C, version=("3",)))
    assert server.stop() == 0
    server.start()
    settle(server, CAT, 2)
    assert members(server) == BOTH
    wait_served(server, "a.test", "b.test")
    assert "catalog-invalid" in status(server, CAT)


def test_empty_catalog_deletes_if_it_may(start, primary):
    server = start(own=MEMBER_PATTERN + "\tcatalog-empty: delete\n")
    primary.give(server, CAT, *catalog())
    assert members(server) == {}
    wait_gone(server, "a.test", "b.test")
    assert "catalog-invalid" not in status(server, CAT)


def test_empty_catalog_is_no_fault_if_there_was_nothing(make_server, primary):
    primary.put(CAT, *catalog())
    server = consumer(make_server, primary).start()
    settle(server, CAT, 1)
    assert "catalog-invalid" not in status(server, CAT)
    primary.give(server, CAT, *catalog(A))
    assert members(server) == {"a.test": "member"}


def test_too_many_members(start, primary):
    server = start(own=MEMBER_PATTERN + "\tcatalog-max: 2\n")
    primary.give(server, CAT, *catalog(A, B, C))
    assert members(server) == BOTH
    assert "catalog-max" in status(server, CAT)["catalog-invalid"]
    primary.give(server, CAT, *catalog(B, C))
    assert set(members(server)) == {"b.test", "c.test"}
    primary.give(server, CAT, *catalog(A, B, C))
    assert set(members(server)) == {"b.test", "c.test"}
    # Another limit is looked at when it comes.
    server.extra = server.extra.replace("catalog-max: 2", "catalog-max: 3")
    control.apply(server)
    wait_members(server, {**BOTH, "c.test": "member"})


# ---- what does not come, or goes --------------------------------------------

def test_transfer_that_is_cut(start, primary):
    server = start()
    primary.no_ixfr = True
    primary.cut.add("cat.test.")
    serial = primary.put(CAT, *catalog(C))
    primary.notify(server, CAT)
    wait_for("a cut transfer", lambda: [a for a, _ in primary.transfers]
             .count("cat.test.") >= 2)
    server.wait_log("cat.test")
    assert members(server) == BOTH
    primary.cut.clear()
    primary.notify(server, CAT)
    settle(server, CAT, serial)
    assert members(server) == {"c.test": "member"}


def test_catalog_that_expires(start, primary):
    """RFC 9432 section 5.1: the last good state stays, also over a
    restart."""
    primary.timers["cat.test."] = "1 1 2 60"
    server = start(own=MEMBER_PATTERN + "\tmin-expire-time: 2\n")
    primary.refused.add("cat.test.")
    wait_for("the end of the catalog",
             lambda: server.rcode(CAT, "SOA") == "SERVFAIL")
    assert members(server) == BOTH
    assert serves(server, "a.test")
    assert server.stop() == 0
    server.start()
    wait_served(server, "a.test", "b.test")
    assert members(server) == BOTH
    primary.refused.clear()
    primary.give(server, CAT, *catalog(B, C))
    assert set(members(server)) == {"b.test", "c.test"}


def test_serial_that_goes_back_is_no_version(start, primary):
    server = start()
    primary.put(CAT, *catalog(C), serial=7)
    primary.notify(server, CAT)
    settle(server, CAT, 7)
    primary.put(CAT, *catalog(A, B), serial=5)
    primary.notify(server, CAT)
    primary.versions["cat.test."].append((8, sorted(catalog(A, C))))
    primary.notify(server, CAT)
    settle(server, CAT, 8)
    assert set(members(server)) == {"a.test", "c.test"}


# ---- members that are broken ------------------------------------------------

def test_broken_members_hold_nobody_back(start, primary):
    """Primaries refuse, or send octets that are no zone."""
    server = start()
    answer = primary.on_member

    def broken(apex, rdtype, query):
        if apex == "torn.test." and rdtype != "SOA":
            return [reply(query, soa(apex, 1)), None]
        if apex == "odd.test." and rdtype != "SOA":
            return [b"\0\1\2"]
        return answer(apex, rdtype, query)

    primary.on_member = broken
    primary.refused.add("refused.test.")
    names = ("torn.test", "odd.test", "refused.test")
    nodes = [member(f"x{i}", name) for i, name in enumerate(names)]
    primary.give(server, CAT, *catalog(A, B, C, *nodes))
    wait_served(server, "c.test")
    assert set(members(server)) == {"a.test", "b.test", "c.test", *names}
    for name in names:
        assert server.rcode(name, "SOA") == "SERVFAIL"
    primary.give(server, CAT, *catalog(B, C))
    wait_gone(server, *names)
    assert set(members(server)) == {"b.test", "c.test"}


def test_catalog_goes_amid_transfers_of_its_members(start, primary):
    """Transfers that are held up end with the zones."""
    server = start()
    answer = primary.on_member
    held, go_on = threading.Event(), threading.Event()

    def slow(apex, rdtype, query):
        if apex != "slow.test." or rdtype == "SOA":
            yield from answer(apex, rdtype, query)
            return
        yield reply(query, soa(apex, 1))
        held.set()
        while not go_on.is_set():
            yield 0.05

    primary.on_member = slow
    primary.give(server, CAT, *catalog(A, B, member("s", "slow.test")))
    wait_for("the transfer", held.is_set)
    primary.give(server, CAT, *catalog(A, B))
    assert members(server) == BOTH
    wait_gone(server, "slow.test")
    go_on.set()
    assert serves(server, "a.test")


def test_metrics(start, primary):
    server = start(options={"metrics-enable": "yes",
                            "metrics-interface": "127.0.0.1",
                            "metrics-port": (port := free_metrics_port())})
    assert 'nsd_catalog_members{catalog="cat.test"} 2\n' in page(port)
    assert 'nsd_catalog_invalid{catalog="cat.test"} 0\n' in page(port)
    primary.give(server, CAT, *catalog(A, version=()))
    assert 'nsd_catalog_invalid{catalog="cat.test"} 1\n' in page(port)
    code, text = control.ask(server, "status")
    assert re.search(r"^trouble: catalog cat\.test .*version", text, re.M)
    primary.give(server, CAT, *catalog(A, member("x", CAT)))
    text = page(port)
    assert 'nsd_catalog_members{catalog="cat.test"} 1\n' in text
    assert 'nsd_catalog_invalid{catalog="cat.test"} 0\n' in text
    assert 'nsd_catalog_refused{catalog="cat.test"} 1\n' in text
    assert "catalog" not in control.ask(server, "status")[1]


def free_metrics_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def page(port):
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        with sock.makefile("rb") as f:
            return f.read().decode()
