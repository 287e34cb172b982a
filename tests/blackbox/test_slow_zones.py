"""Zones whose transfers are slow hold up no other (doc/decisions/0145)."""
import collections
import contextlib
import threading

import dns.message
import dns.opcode
import dns.query

from harness import DEADLINE, wait_for, zone_text
from scripted_primary import ScriptedPrimary, records, reply, soa, whole

# Timers of zones that are not asked for again after a failure while a test
# lasts.
TIMERS = "3600 3600 86400 300"
OTHERS = [f"n{i}.test" for i in range(3)]


class Dripping(ScriptedPrimary):
    """Zones that begin with s drip, from a serial on."""

    def __init__(self, since=2):
        self.serials = collections.defaultdict(lambda: 1)
        self.dripping = collections.Counter()  # messages of each zone
        self.since = since
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        serial = self.serials[apex]
        if rdtype == "SOA":
            yield reply(query, soa(apex, serial, TIMERS))
            return
        if apex.startswith("s") and serial >= self.since:
            yield reply(query, soa(apex, serial, TIMERS))
            while not self.over.is_set():
                self.dripping[apex] += 1
                yield 0.1
                yield reply(query, *records(
                    apex, f"a{self.dripping[apex]} A 192.0.2.1"))
        yield whole(query, apex, serial, timers=TIMERS)


def zone(name, primary):
    return (f"zone:\n\tname: {name}\n\tzonefile: {name}.zone\n"
            "\tallow-notify: 127.0.0.1 NOKEY\n"
            f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n")


def start(make_server, zones, **options):
    options = {name.replace("_", "-"): value
               for name, value in options.items()}
    return make_server(zones={"example": zone_text()}, extra="".join(zones),
                       options={"verbosity": 2, **options}).start()


def notify(server, names):
    for name in names:
        query = dns.message.make_query(name, "SOA")
        query.set_opcode(dns.opcode.NOTIFY)
        dns.query.udp(query, "127.0.0.1", port=server.port, timeout=DEADLINE)


def change(server, primary, slow):
    """Changes all zones at once: the slow ones drip, and the others must
    arrive."""
    for name in slow + OTHERS:
        server.wait_serial(name, 1)
        primary.serials[name + "."] = 2
    notify(server, slow + OTHERS)
    for name in OTHERS:
        server.wait_serial(name, 2)
    assert "too slow" not in server.read_log()


def test_two_that_drip_hold_up_no_other(make_server):
    slow = [f"s{i}.test" for i in range(2)]
    with Dripping() as primary:
        server = start(make_server,
                       (zone(n, primary) for n in slow + OTHERS))
        change(server, primary, slow)


def test_more_that_drip_than_connections_at_first(make_server):
    slow = [f"s{i}.test" for i in range(30)]
    with Dripping() as primary:
        server = start(make_server,
                       (zone(n, primary) for n in slow + OTHERS))
        change(server, primary, slow)
        # The slow transfers were not given up.
        wait_for("all to drip", lambda: len(primary.dripping) == len(slow))


def test_at_the_first_start(make_server):
    slow = [f"s{i}.test" for i in range(20)]
    with Dripping(since=1) as primary:
        server = start(make_server,
                       (zone(n, primary) for n in slow + OTHERS))
        for name in OTHERS:
            server.wait_serial(name, 1)
        assert "too slow" not in server.read_log()


def test_on_one_connection(make_server):
    """With a single connection the slow transfer is given up for those that
    wait."""
    with Dripping() as primary:
        server = start(make_server, (zone(n, primary)
                                     for n in ["s.test"] + OTHERS),
                       xfrd_tcp_max=1)
        for name in ["s.test"] + OTHERS:
            server.wait_serial(name, 1)
        primary.serials["s.test."] = 2
        notify(server, ["s.test"])
        wait_for("it to drip", lambda: primary.dripping["s.test."] > 0)
        for name in OTHERS:
            primary.serials[name + "."] = 2
        notify(server, OTHERS)
        for name in OTHERS:
            server.wait_serial(name, 2)


def test_dripping_primaries_have_all_places(make_server):
    with contextlib.ExitStack() as stack:
        primaries = [stack.enter_context(Dripping()) for _ in range(7)]
        names = [f"s{i}.test" for i in range(6)] + OTHERS[:1]
        server = start(make_server, map(zone, names, primaries),
                       xfrd_tcp_max=4)
        for name, primary in zip(names, primaries):
            server.wait_serial(name, 1)
            primary.serials[name + "."] = 2
        notify(server, names[:6])
        wait_for("all places to be taken", lambda: sum(
            len(p.dripping) for p in primaries) >= 4)
        notify(server, OTHERS[:1])
        server.wait_serial(OTHERS[0], 2)


def test_primary_that_has_one_connection_at_a_time(make_server):
    """The others that were opened wait for it at the primary."""
    turn = threading.Lock()
    held = {}

    class Single(Dripping):
        def send(self, connection, answer, octets):
            if held.get("by") is not connection:
                turn.acquire()
                held["by"] = connection
            super().send(connection, answer, octets)

    names = [f"n{i}.test" for i in range(6)]
    with Single() as primary:
        closing = primary.tcp.shutdown_request

        def close(request):
            if held.get("by") is request:
                held["by"] = None
                turn.release()
            closing(request)
        primary.tcp.shutdown_request = close
        server = start(make_server, (zone(n, primary) for n in names))
        for name in names:
            server.wait_serial(name, 1)
        primary.over.set()
