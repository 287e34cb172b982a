"""Changes that xfrd asks the loader for, and that are published in place."""

import fcntl
import os
import random
import re
import select
import signal
import struct
import termios
import threading
import time

import pytest

import harness
from harness import DEADLINE, Load, at_once, wait_for, zone_text
from test_loader_dies import Connection, settled_line


@pytest.fixture
def server(nsd):
    return nsd(zones={"example": zone_text(1), "b.test": zone_text(1)},
               options={"server-count": 2, "replace-hung": "no"},
               updates=True)


def test_change_is_seen_at_once(server):
    assert server.update("""
zone example.
remove @ 3600 SOA ns host 1 7200 3600 1209600 300
add @ 3600 SOA ns host 2 7200 3600 1209600 300
remove-rrset www A
add www 60 A 192.0.2.77
add new.sub 60 TXT "fresh"
""") == ("ok", 3, 2)
    for _ in range(20):
        assert server.serial("example") == 2
        assert server.answer("www.example", "A") == ["192.0.2.77"]
        assert server.answer("new.sub.example", "TXT") == ['"fresh"']
        assert server.rcode("sub.example", "TXT") == "NOERROR"
    assert server.serial("b.test") == 1


def test_wrong_change_changes_nothing(server):
    outcome, _, _ = server.update("""
zone example.
add new 60 TXT "fresh"
add www 60 CNAME other
""")
    assert outcome == "zone rules broken"
    assert server.rcode("new.example", "TXT") == "NXDOMAIN"
    outcome, _, _ = server.update("zone other.\nadd a 60 TXT x")
    assert outcome == "not found"
    outcome, _, _ = server.update("zone example.\nadd a.b.test. 60 TXT x")
    assert outcome != "ok"
    assert server.update("zone example.\nadd a 60 TXT x") == ("ok", 1, 0)


def test_name_beyond_the_limits_may_shrink_and_change(nsd):
    """A name may have more records in its file than the limits allow; updates
    from the primary must be able to go on."""
    text = zone_text(1) + "".join(
        f"full PTR f{i}.x.\n" for i in range(12)) + (
        "ty A 192.0.2.1\nty TXT x\nty MX 1 a.\nty HINFO a b\n"
        "ty RP a. b.\n")
    server = nsd(zones={"example": text}, options={
        "max-records-per-type": 10, "max-types-per-name": 3}, updates=True)
    server.wait_serial("example", 1)

    def update(change):
        return server.update("zone example.\n" + change)[0]

    assert update("add full 3600 PTR more.x.") != "ok"
    assert update("remove full 3600 PTR f0.x.") == "ok"
    assert update("remove full 3600 PTR f1.x.\n"
                  "add full 3600 PTR g.x.") == "ok"
    assert update("remove ty 3600 A 192.0.2.1\n"
                  "add ty 3600 A 192.0.2.2") == "ok"
    assert update("add ty 3600 AAAA ::1") != "ok"
    assert update("remove-rrset ty MX") == "ok"
    assert len(server.answer("full.example", "PTR")) == 11
    assert server.answer("ty.example", "A") == ["192.0.2.2"]
    assert server.answer("ty.example", "MX") == []


def test_limits_of_a_name(nsd):
    server = nsd(zones={"example": zone_text(1)
                        + "".join(f"big A 192.0.2.{n}\n" for n in range(9))},
                 options={"max-records-per-type": 3, "max-types-per-name": 2},
                 updates=True)
    assert len(server.answer("big.example", "A")) == 9
    added = "".join(f"add a 60 A 192.0.2.{n}\n" for n in range(4))
    assert server.update(f"zone example.\n{added}")[0] == "zone rules broken"
    server.wait_log("a.example. has 4 A records, which is more than")
    assert server.rcode("a.example", "A") == "NXDOMAIN"
    assert server.update("zone example.\nadd big 60 TXT x")[0] == "ok"
    assert server.update("zone example.\nadd big 60 HINFO x y")[0] \
        == "zone rules broken"
    assert len(server.answer("big.example", "A")) == 9


def record(action, rdtype, rdata, owner=b"\3new\7example\0"):
    return (bytes([action]) + owner + struct.pack("!HIH", rdtype, 60,
                                                  len(rdata)) + rdata).hex()


REMOVE, ADD, REMOVE_RRSET = range(3)
A, NS, SOA, OPT, ANY = 1, 2, 6, 41, 255


@pytest.mark.parametrize("octets", [
    record(ADD, NS, b"\1a" * 149 + b"\0"),  # longer than any name
    record(ADD, NS, b"\2ns"),
    record(ADD, NS, b"\2ns\xc0\0"),
    record(ADD, NS, b"\2ns\0\0"),
    record(ADD, A, b"\1\2\3"),
    record(ADD, A, b"\1\2\3\4\5"),
    record(ADD, A, b""),
    record(ADD, OPT, b""),
    record(REMOVE, NS, b"\1a" * 149 + b"\0"),
    record(REMOVE_RRSET, ANY, b"\0"),
    record(3, A, b"\1\2\3\4"),
    record(ADD, A, b"\1\2\3\4", owner=b"\1a" * 128 + b"\0"),
    record(ADD, A, b"\1\2\3\4", owner=b"\100" + b"a" * 64 + b"\0"),
    record(ADD, A, b"\1\2\3\4", owner=b"\3new\xc0\0"),
    record(ADD, A, b"\1\2\3\4")[:-2]])
def test_broken_octets_change_nothing(server, octets):
    loader = server.role("loader")
    good = record(ADD, A, b"\1\2\3\4", owner=b"\4good\7example\0")
    outcome, _, _ = server.update(
        f"zone example.\noctets {good}\noctets {octets}")
    assert outcome == "malformed wire data"
    assert server.update("zone example.\nadd a 60 TXT x") == ("ok", 1, 0)
    assert server.rcode("good.example", "A") == "NXDOMAIN"
    assert server.role("loader") == loader


def test_file_wins_over_updates(server):
    server.update("zone example.\nadd a 60 TXT x")
    assert server.rcode("a.example", "TXT") == "NOERROR"
    server.write_zone("example", zone_text(3))
    server.reload()
    server.wait_serial("example", 3)
    assert server.rcode("a.example", "TXT") == "NXDOMAIN"


def serial_change(serial):
    return (f"zone example.\n"
            f"remove @ 3600 SOA ns host {serial - 1} 7200 3600 1209600 300\n"
            f"add @ 3600 SOA ns host {serial} 7200 3600 1209600 300\n"
            f"add n{serial} 60 TXT {serial}\n"
            f"remove n{serial - 3} 60 TXT {serial - 3}\n")


def test_many_changes_under_load(server):
    """No query is lost, no connection ends, nothing grows."""
    connection = Connection(server)
    for serial in range(2, 50):
        assert server.update(serial_change(serial))[0] == "ok"
    before = settled_line(server)
    load = Load(server)
    for serial in range(50, 1050):
        server.send_update(serial_change(serial))
        if serial % 10 == 9:
            load.step(0.01)
            for _ in range(10):
                assert server.read_update()[0] == "ok"
    load.finish()
    assert server.serial("example") == 1049
    assert load.lost == 0
    assert connection.ask() == "192.0.2.1"
    assert settled_line(server)["live"] <= before["live"] + 4096
    wait_for("memory to go back", lambda: settled_line(server)["mapped"]
             <= before["mapped"] + (1 << 20))


def read_answers(server, count):
    """The next answers, as (ticket, rest of the line)."""
    fd, data = server.process.stdout.fileno(), b""
    end = time.monotonic() + DEADLINE
    while data.count(b"\n") < count:
        ready, _, _ = select.select([fd], [], [],
                                    max(end - time.monotonic(), 0))
        assert ready, f"{data.count(10)} of {count} answers"
        octets = os.read(fd, 65536)
        assert octets, "the server has ended"
        data += octets
    return [(int(a), b) for a, b in
            (line.split(" ", 1) for line in data.decode().splitlines())]


def unread(server):
    """Octets that wait in xfrd's standard input."""
    return struct.unpack("i", fcntl.ioctl(server.process.stdin, termios.FIONREAD,
                                          b"\0" * 4))[0]


BURST = 2000


def test_burst_is_applied_in_order(server):
    """A burst is larger than a channel, to a loader that does not read and an
    xfrd whose answers are not read: each change is applied, and answered."""
    loader = server.role("loader")
    text = "".join(serial_change(serial) + "send\n"
                   for serial in range(2, BURST + 2))
    os.kill(loader, signal.SIGSTOP)
    sender = threading.Thread(
        target=server.process.stdin.write, args=(text.encode(),))
    sender.start()
    wait_for("xfrd to read no more", lambda: unread(server) > 60000)
    os.kill(loader, signal.SIGCONT)
    answers = read_answers(server, BURST)
    sender.join(DEADLINE)
    assert [ticket for ticket, _ in answers] == list(range(1, BURST + 1))
    assert {rest.split(" added")[0] for _, rest in answers} == {"ok"}
    assert server.serial("example") == BURST + 1
    for serial in range(BURST - 1, BURST + 2):
        assert server.answer(f"n{serial}.example", "TXT") == [f'"{serial}"']
    assert server.rcode(f"n{BURST - 2}.example", "TXT") == "NXDOMAIN"
    assert server.role("loader") == loader
    assert "cannot send" not in server.read_log()


def test_burst_to_a_loader_that_dies_is_done_by_the_next(server):
    """Each once, and in order."""
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    server.process.stdin.write("".join(
        serial_change(serial) + "send\n" for serial in range(2, 92)).encode())
    wait_for("xfrd to have read all", lambda: unread(server) == 0)
    os.kill(loader, signal.SIGKILL)
    answers = read_answers(server, 90)
    assert [ticket for ticket, _ in answers] == list(range(1, 91))
    assert {rest.split(" added")[0] for _, rest in answers} == {"ok"}
    assert server.role("loader") != loader
    assert server.serial("example") == 91
    assert server.rcode("n88.example", "TXT") == "NXDOMAIN"
    for serial in range(89, 92):
        assert server.answer(f"n{serial}.example", "TXT") == [f'"{serial}"']


def test_update_that_loaders_die_of_is_given_up(server):
    """The other updates that came with the deadly one are done."""
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    deadly = "zone example.\nadd a 60 TXT die-before\nsend\n"
    server.process.stdin.write((
        serial_change(2) + "send\n" + deadly + "zone b.test.\n"
        "add b 60 TXT x\nsend\n" + serial_change(3) + "send\n").encode())
    wait_for("xfrd to have read all", lambda: unread(server) == 0)
    os.kill(loader, signal.SIGCONT)
    answers = read_answers(server, 4)
    assert [ticket for ticket, _ in answers] == [1, 2, 3, 4]
    assert [rest.split(" added")[0] for _, rest in answers] == [
        "ok", "given up", "ok", "ok"]
    assert server.read_log().count("was killed by signal 9") == 3
    server.wait_log("3 loaders have died with UPDATE 2 in hand")
    assert server.serial("example") == 3
    assert server.rcode("a.example", "TXT") == "NXDOMAIN"
    assert server.answer("b.b.test", "TXT") == ['"x"']


def test_change_whose_answer_is_lost_is_done(server):
    """The test has loaders die right after the change: each does it again,
    which changes nothing."""
    server.send_update(
        "zone example.\nremove a 60 TXT x\nadd b 60 TXT die-after")
    assert read_answers(server, 1)[0][1] == "given up"
    assert server.answer("b.example", "TXT") == ['"die-after"']
    assert server.update("zone example.\nremove-rrset b TXT")[0] == "ok"


@pytest.mark.parametrize("kind", [1, 2, 5])
def test_zones_come_in_no_message(server, kind):
    """xfrd could make any, and have them served, if it was taken over."""
    octets = bytes([kind]) + b"\1c\4test\0"
    for rdtype, rdata in ((SOA, b"\0\0" + bytes(20)), (NS, b"\0")):
        octets += bytes.fromhex(record(ADD, rdtype, rdata,
                                       owner=b"\1c\4test\0"))
    assert server.update("octets " + octets.hex())[0] == "malformed wire data"
    assert server.rcode("c.test", "SOA") == "REFUSED"


def test_nsd_takes_what_transfers_bring_alone(make_server):
    """An xfrd that was taken over could change any zone otherwise."""
    server = make_server(zones={"example": zone_text(1)}, updates=True)
    server.environment["NSD_TAKES_NO_CHANGES"] = "yes"
    server.start()
    change = "add a 60 TXT x"
    for kind in "zone", "whole", "diffs":
        outcome = server.update(f"{kind} example.\n{change}")[0]
        assert outcome == "not allowed", kind
    # Zones that are not configured are refused, too.
    assert server.update(f"zone other.\n{change}")[0] == "not allowed"
    assert server.rcode("a.example", "TXT") == "NXDOMAIN"
    assert server.serial("example") == 1


def large_zone(serial, count):
    return zone_text(serial) + "".join(
        f"host-{n} 60 A 192.0.2.{n % 250}\n" for n in range(count))


def test_changes_wait_while_the_file_is_compared(nsd):
    """Changes that wait are not refused, and keep their order."""
    count = 400000  # takes longer than a client on a busy machine rests
    server = nsd(zones={"example": large_zone(1, count),
                        "b.test": zone_text(1)}, updates=True)
    server.wait_serial("example", 1)
    for serial in range(2, 8):
        server.write_zone("example", large_zone(serial, count))
        server.reload()
        tickets = 0
        while server.serial("example") != serial:
            tickets += 1
            server.send_update("zone example.\n"
                               f"add c{tickets}.at{serial} 60 TXT x")
            server.send_update("zone b.test.\n"
                               f"add c{tickets}.at{serial} 60 TXT x")
            time.sleep(0.002)
        answers = read_answers(server, 2 * tickets)
        # The set is empty if the file was compared at once.
        assert {rest.split(" added")[0] for _, rest in answers} <= {"ok"}
        # Only what came before the comparing is undone by the file.
        there = [server.rcode(f"c{n}.at{serial}.example", "TXT") == "NOERROR"
                 for n in range(1, tickets + 1)]
        assert there == sorted(there)
        waited = [int(re.search(r"usec (\d+)", rest)[1]) > 20000
                  for _, rest in answers]
        if any(waited):
            return
    pytest.fail("no change came while the file was compared")


def test_changes_that_waited_come_before_later_ones(nsd):
    """Changes of a zone are applied in order, though the waiting ones take
    many turns and more come meanwhile; another zone's do not wait."""
    server = nsd(zones={"example": large_zone(1, 2000),
                        "b.test": zone_text(1)}, updates=True)
    more = harness.Held(server.directory / "more.inc")
    server.write_zone("example",
                      large_zone(1000, 2000) + "$INCLUDE more.inc\n")
    server.reload()
    text = "".join(serial_change(serial) + "send\n"
                   for serial in range(1001, 1001 + BURST))
    sender = threading.Thread(
        target=server.process.stdin.write, args=(text.encode(),))
    with more.opened() as f:  # the file is being compared now
        assert server.update("zone b.test.\nadd c 60 TXT x") == ("ok", 1, 0)
        sender.start()
        wait_for("xfrd to read no more", lambda: unread(server) > 60000)
        f.write("more A 192.0.2.7\n")
    answers = read_answers(server, BURST)
    sender.join(DEADLINE)
    assert [ticket for ticket, _ in answers] == list(range(2, BURST + 2))
    assert {rest.split(" added")[0] for _, rest in answers} == {"ok"}
    assert server.serial("example") == 1000 + BURST
    assert server.answer("more.example", "A") == ["192.0.2.7"]


def test_loader_dies_between_changes(make_server):
    """A change is applied as a whole or not at all; the sender goes on."""
    at_once(kill_between_changes, [make_server(
        f"nsd{i}", zones={"example": zone_text(1)}, updates=True,
        options={"server-count": 2}).start() for i in range(3)])


def kill_between_changes(server, number):
    rng = random.Random(7 + number)
    load = Load(server)
    serial = 1
    for _ in range(4):
        loader = server.role("loader")
        count = rng.randrange(1, 20)
        for ahead in range(count):
            server.send_update(serial_change(serial + 1 + ahead))
        load.step(rng.random() * 0.004)
        os.kill(loader, signal.SIGKILL)
        wait_for("another loader", lambda o=loader: load.step(0.02)
                 or server.roles().get("loader", o) != o)
        # Done by either loader, each once.
        assert {rest.split(" added")[0] for _, rest in
                read_answers(server, count)} == {"ok"}
        serial += count
        assert server.serial("example") == serial
        assert server.answer(f"n{serial}.example", "TXT") == [f'"{serial}"']
        assert server.rcode(f"n{serial - 3}.example", "TXT") == "NXDOMAIN"
    load.finish()
    assert load.lost == 0
    assert "damaged" not in server.read_log()


def test_memory_of_what_is_removed_goes_back(nsd):
    """Most names of many small zones are removed; when the loader is idle the
    rest is put together, and the answers are as before."""
    zones = {f"z{z}.test": zone_text(1) + "".join(
        f"n{n} TXT {n:0200}\n" for n in range(60)) for z in range(100)}
    server = nsd(zones=zones, options={"server-count": 1}, updates=True)
    before = settled_line(server)
    for z in range(100):
        removed = "".join(f"remove-rrset n{n} TXT\n" for n in range(60)
                          if n % 10 != z % 10)
        assert server.update(f"zone z{z}.test.\n{removed}")[0] == "ok"
    wait_for("memory to go back",
             lambda: is_compact(settled_line(server), before))
    for z in range(0, 100, 9):
        assert server.answer(f"n{z % 10}.z{z}.test", "TXT") == [
            f'"{z % 10:0200}"']
        assert server.rcode(f"n{(z + 1) % 10}.z{z}.test", "TXT") == "NXDOMAIN"


def is_compact(store, before):
    return (store["live"] < before["live"] / 2
            and store["mapped"] < before["mapped"] / 3)
