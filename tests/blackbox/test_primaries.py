"""Primaries that are wrong, slow or away harm nobody but themselves."""
import collections
import contextlib
import os
import pathlib
import re
import signal
import threading
import time

import dns.message
import dns.opcode
import dns.query
import dns.rcode
import pytest

import control
from harness import DEADLINE, wait_for, zone_text
from scripted_primary import (ScriptedPrimary, error, records, reply, soa,
                              whole)

SLOW = 60  # zones of a primary that is slow
EXPIRE = 12  # seconds: more than a busy machine takes to look at a zone


def zone(name, *primaries, more=""):
    lines = [f"zone:\n\tname: {name}\n\tzonefile: {name}.zone\n",
             "\tallow-notify: 127.0.0.1 NOKEY\n",
             "\tmin-retry-time: 1\n\tmax-retry-time: 2\n"]
    lines += [f"\trequest-xfr: 127.0.0.1@{p.port} NOKEY\n" for p in primaries]
    return "".join(lines) + more


def start(make_server, zones):
    server = make_server(zones={"example": zone_text()}, extra=zones,
                         options={"verbosity": 2})
    server.start()
    return server


def good(serial=7):
    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial))]
        return [whole(query, apex, serial, "www A 192.0.2.9")]
    return answer


def too_many(apex, rdtype, query):
    """A zone that breaks a rule of the loader: too many records of a type."""
    if rdtype == "SOA":
        return [reply(query, soa(apex, 7))]
    texts = [f"big A 10.{i >> 8}.{i & 255}.1" for i in range(12000)]
    parts = [whole(query, apex, 7)]
    end = parts[0].answer.pop()
    parts += [reply(query, *whole(query, apex, 7, *texts[i:i + 2000])
                    .answer[3:-1]) for i in range(0, len(texts), 2000)]
    return [*parts, reply(query, end)]


def test_zone_that_cannot_be_served_is_asked_of_the_next_primary(make_server):
    with ScriptedPrimary(too_many) as bad, ScriptedPrimary(good()) as other:
        server = start(make_server, zone("two.test", bad, other))
        server.wait_serial("two.test", 7)
        assert server.answer("www.two.test", "A") == ["192.0.2.9"]


@pytest.mark.parametrize("fault", ("size", "record"))
def test_failed_transfer_leaves_its_neighbours_alone(make_server, fault):
    """The transfers share a connection; the rest of the failed one comes
    between the others' messages."""
    def answer(apex, rdtype, query):
        if rdtype == "SOA" or not apex.startswith("evil"):
            return good()(apex, rdtype, query)
        first = whole(query, apex, 7)
        end = first.answer.pop()
        if fault == "record":
            first.answer += soa("else.where.", 7),
        return [first, *(reply(query, *whole(query, apex, 7, *(
            f"n{i}x{j} TXT {'x' * 200}" for j in range(100)
        )).answer[3:-1]) for i in range(40)), reply(query, end)]

    with ScriptedPrimary(answer) as primary:
        server = start(make_server, zone(
            "evil.test", primary, more="\tsize-limit-xfr: 50000\n")
            + "".join(zone(f"n{i}.test", primary) for i in range(20)))
        for i in range(20):
            server.wait_serial(f"n{i}.test", 7)
        server.wait_log("zone evil.test bad transfer 7 from 127.0.0.1@")
        assert "question" not in server.read_log()


def test_transfer_that_trickles_holds_no_neighbour_back(make_server):
    """The other zones asked on the same connection, and move to another."""
    serials = collections.defaultdict(lambda: 1)

    def answer(apex, rdtype, query):
        serial = serials[apex]
        if apex == "slow.test." and rdtype != "SOA" and serial > 1:
            yield reply(query, soa(apex, serial))
            for i in range(1200):
                yield 0.5
                yield reply(query, *records(apex, f"a{i} A 192.0.2.1"))
        yield from good(serial)(apex, rdtype, query)

    names = ["slow.test", *(f"n{i}.test" for i in range(5))]
    with ScriptedPrimary(answer) as primary:
        server = start(make_server, "".join(zone(n, primary) for n in names))
        for name in names:
            server.wait_serial(name, 1)
        for name in names:
            serials[name + "."] = 2
        for name in names[1:]:
            server.wait_serial(name, 2)


def notify(server, name):
    query = dns.message.make_query(name, "SOA")
    query.set_opcode(dns.opcode.NOTIFY)
    dns.query.udp(query, "127.0.0.1", port=server.port,
                   timeout=DEADLINE)


def test_question_avoids_a_connection_that_is_held_up(make_server):
    """With so short a time-out none moves to another: it would fail."""
    timers = "3600 3600 86400 300"
    serials = collections.defaultdict(lambda: 1)
    sent = []

    def answer(apex, rdtype, query):
        serial = serials[apex]
        if rdtype == "SOA":
            yield reply(query, soa(apex, serial, timers))
            return
        if apex == "slow.test." and serial > 1:
            yield reply(query, soa(apex, serial, timers))
            for i in range(1200):
                yield 0.5
                yield reply(query, *records(apex, f"a{i} A 192.0.2.1"))
                sent.append(i)
        yield whole(query, apex, serial, timers=timers)

    names = ["slow.test", *(f"n{i}.test" for i in range(3))]
    with ScriptedPrimary(answer) as primary:
        server = make_server(zones={"example": zone_text()},
                             extra="".join(zone(n, primary) for n in names),
                             options={"verbosity": 2, "tcp-timeout": 5})
        server.start()
        for name in names:
            server.wait_serial(name, 1)
        for name in names:
            serials[name + "."] = 2
            notify(server, name)
            if name == "slow.test":
                wait_for("three seconds of it", lambda: len(sent) > 6)
            else:
                server.wait_serial(name, 2)
        assert not re.search("zone n.*failed", server.read_log())


@pytest.mark.lasts(20)
def test_connection_that_goes_mute_is_left(make_server):
    """A connection goes mute, as if a firewall had lost its state; new ones
    work."""
    serial = [1]
    asked = collections.Counter()

    def answer(apex, rdtype, query):
        if rdtype != "SOA":
            asked[threading.get_ident()] += 1
            if asked[threading.get_ident()] > 3:
                return [600]
        return good(serial[0])(apex, rdtype, query)

    names = [f"n{i}.test" for i in range(3)]
    with ScriptedPrimary(answer) as primary:
        server = start(make_server, "".join(zone(n, primary) for n in names))
        for serial[0] in range(1, 5):
            for name in names:
                server.wait_serial(name, serial[0])
    assert len(asked) > 2


def test_slow_primary_leaves_room_for_others(make_server):
    """A slow primary has as many zones as there are connections, and more."""
    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7))]
        return [600]

    with ScriptedPrimary(answer) as slow, ScriptedPrimary(good()) as other:
        server = make_server(
            zones={"example": zone_text()},
            extra="".join(zone(f"s{i}.test", slow) for i in range(SLOW))
            + "".join(zone(f"z{i}.test", other) for i in range(3)),
            options={"verbosity": 2, "xfrd-tcp-max": SLOW // 4})
        server.start()
        for i in range(3):
            server.wait_serial(f"z{i}.test", 7)


def test_zone_that_finds_all_connections_in_use_waits_for_one(make_server):
    """The primary answers well, and the zone's SOA has a retry of an hour."""
    names = [f"p{i}.test" for i in range(6)]
    serial = [1]
    taken = threading.Event()

    def answer(apex, rdtype, query):
        now = soa(apex, serial[0], "3600 3600 86400 300")
        if rdtype == "SOA":
            return [reply(query, now)]
        if serial[0] > 1:
            taken.wait(DEADLINE)
        return [whole(query, apex, serial[0],
                      timers="3600 3600 86400 300")]

    with contextlib.ExitStack() as stack:
        primaries = [stack.enter_context(ScriptedPrimary(answer))
                     for _ in names]
        server = make_server(
            zones={"example": zone_text()},
            extra="".join(zone(n, p).replace("max-retry-time: 2",
                                             "max-retry-time: 3600")
                          for n, p in zip(names, primaries)),
            options={"verbosity": 2, "xfrd-tcp-max": 2})
        control.config(server).start()
        for name in names:
            server.wait_serial(name, 1)
        serial[0] = 2
        known = [len(p.asked) for p in primaries]
        for name in names:
            message = dns.message.make_query(name, "SOA")
            message.set_opcode(dns.opcode.NOTIFY)
            dns.query.udp(message, server.address, port=server.port,
                          timeout=DEADLINE)
        # The primaries all have a new version, and two are asked for it.
        wait_for("questions", lambda: all(
            len(p.asked) > k for p, k in zip(primaries, known)) and sum(
            kind == "IXFR" for p in primaries for _, kind in p.asked) == 2)
        wait_for("those that wait", lambda: control.ask(
            server, "zonestatus")[1].count('"waiting-for-TCP-fd"') == 4)
        taken.set()
        for name in names:
            server.wait_serial(name, 2)


@pytest.mark.lasts(15)
def test_expired_zone_stays_expired_after_a_crash(make_server):
    """Without a record of the expiry the zone would be served for another
    EXPIRE."""
    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7, f"1 1 {EXPIRE} 300"))]
        return [whole(query, apex, 7, timers=f"1 1 {EXPIRE} 300")]

    def is_expired():
        return server.rcode("short.test", "SOA") == "SERVFAIL"

    with ScriptedPrimary(answer) as primary:
        server = start(make_server, zone("short.test", primary))
        server.wait_serial("short.test", 7)
    wait_for("the end", is_expired)
    server.wait_log("zone short.test has expired")
    state = server.directory / "xfrd.state"
    wait_for("that to be written", lambda: state.exists()
             and "state: 2" in state.read_text())
    pids = server.roles().values()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    server.process.wait()
    server.start()
    # xfrd says so once it knows what has been loaded.
    wait_for("it to be expired", is_expired, EXPIRE - 2)
    for _ in range(20):
        assert is_expired()
        time.sleep(0.1)


def test_differences_that_are_too_large_are_not_kept(make_server):
    """The loader would refuse them: the whole zone is asked for instead."""
    sent = []

    def answer(apex, rdtype, query):
        serial = 1 if "first" not in sent else 2
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial))]
        if rdtype == "AXFR" or serial == 1:
            sent.append("first")
            return [whole(query, apex, serial)]
        return differences(apex, query)

    def differences(apex, query):
        yield reply(query, soa(apex, 2), soa(apex, 1), soa(apex, 2))
        sent.append("differences")
        # A single message is made, as that takes long, and others from it.
        made = reply(query, *records(apex, *(
            f"h000x{j} TXT {'x' * 250} {'x' * 250}"
            for j in range(100)))).to_wire(max_size=65535)
        assert made.count(b"h000x") == 100
        for i in range(350):
            yield made.replace(b"h000x", b"h%03dx" % i)
        yield reply(query, soa(apex, 2))

    with ScriptedPrimary(answer) as primary:
        server = start(make_server, zone("two.test", primary))
        server.wait_serial("two.test", 2)
        assert sent == ["first", "differences", "first"]
        # The loader has not tried to apply the first.
        assert "failed to apply" not in server.read_log()


def differences_in_vain(apex, query, old):
    """14 MB: one version adds records, the next one takes them away."""
    made = reply(query, *records(apex, *(
        f"h000x{j} TXT {'x' * 250} {'x' * 250}"
        for j in range(100)))).to_wire(max_size=65535)
    assert made.count(b"h000x") == 100
    parts = [made.replace(b"h000x", b"h%03dx" % i) for i in range(135)]
    yield reply(query, soa(apex, old + 2), soa(apex, old), soa(apex, old + 1))
    yield from parts
    yield reply(query, soa(apex, old + 1))
    yield from parts
    yield reply(query, soa(apex, old + 2), soa(apex, old + 2))


def test_differences_alone_do_not_fill_the_disk(make_server):
    """The zone has no file, and its primary gives it whole only once: beyond
    64 MiB of differences the journal gets what is served."""
    serial = [1]

    def answer(apex, rdtype, query):
        if rdtype == "AXFR":
            return [whole(query, apex, 1)] if serial[0] == 1 \
                else error(query, dns.rcode.REFUSED)
        if rdtype == "IXFR" and query.authority[0][0].serial + 2 == serial[0]:
            return differences_in_vain(apex, query, serial[0] - 2)
        return [reply(query, soa(apex, serial[0]))]

    def octets():
        total = 0
        for path in (server.directory / "xfrd.state.journal").iterdir():
            with contextlib.suppress(FileNotFoundError):
                total += path.stat().st_size
        return total

    with ScriptedPrimary(answer) as primary:
        server = start(make_server, zone("two.test", primary).replace(
            "\tzonefile: two.test.zone\n", ""))
        server.wait_serial("two.test", 1)
        for _ in range(7):
            serial[0] += 2
            server.wait_serial("two.test", serial[0])
        server.wait_log("zone two.test has [0-9]+ octets of differences in the"
                        " journal: it is written there whole")
        assert [rdtype for _, rdtype in primary.asked].count("AXFR") == 1
        # 100 MB have come. What goes is removed without haste.
        wait_for("old entries to go", lambda: octets() < 64 << 20)
    for pid in server.roles().values():
        os.kill(pid, signal.SIGKILL)
    server.process.wait()
    server.start()
    server.wait_serial("two.test", serial[0])
    assert server.answer("ns.two.test", "A") == ["192.0.2.1"]


def test_flood_of_notify_does_not_fill_the_log(make_server):
    def flood():
        """Again, if the machine was too slow for so many in a second."""
        for _ in range(400):
            notify(server, "one.test")
        time.sleep(1.1)
        notify(server, "one.test")
        return "more within a second" in server.read_log()

    with ScriptedPrimary(good()) as primary:
        server = start(make_server, zone("one.test", primary))
        server.wait_serial("one.test", 7)
        wait_for("the count", flood)
    seconds = collections.Counter(re.findall(
        r"\[(\S+ [\d:]+)\.\d+\] .*notify for one", server.read_log()))
    # A second of the log is none of the clock that counts.
    assert max(seconds.values()) <= 40


def test_transfer_that_found_the_disk_full_is_tried_again_soon(
        make_server, directory):
    """The journal lies in a file system of its own; the SOA says to retry
    after an hour."""
    serial = [1]

    def answer(apex, rdtype, query):
        timers = "3600 3600 86400 300"
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial[0], timers))]
        return [whole(query, apex, serial[0], *(
            f"n{i} TXT {'x' * 250}" for i in range(200)), timers=timers)]

    full = directory / "full"
    full.mkdir()
    with ScriptedPrimary(answer) as primary:
        server = make_server(
            zones={"example": zone_text()},
            extra="zone:\n\tname: f.test\n\tzonefile: f.test.zone\n"
            f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n"
            "\tallow-notify: 127.0.0.1 NOKEY\n",
            options={"verbosity": 2, "xfrdfile": f"{full}/xfrd.state",
                     "zonefiles-write": 0})
        server.launcher = [
            "unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
            f'mount -t tmpfs -o size=16m,mode=777 full {full} && exec "$@"',
            "sh"]
        server.start()
        server.wait_serial("f.test", 1)
        ballast = pathlib.Path(
            f"/proc/{server.main_pid}/root{full}/ballast")
        with contextlib.suppress(OSError), ballast.open("wb", 0) as file:
            while True:
                file.write(bytes(4096))
        serial[0] = 2
        message = dns.message.make_query("f.test", "SOA")
        message.set_opcode(dns.opcode.NOTIFY)
        dns.query.udp(message, server.address, port=server.port)
        server.wait_log("zone f.test transfer from .* failed: No space"
                        " left on device")
        assert server.serial("f.test") == 1
        ballast.unlink()
        server.wait_serial("f.test", 2)
