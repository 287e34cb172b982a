"""Workers that keep old versions of zones in the store, and so what updates
replace, are told to let go; a worker that does not was taken over, and is
replaced (doc/decisions/0148). tests/lib/nsd_holding.c has such workers."""

import contextlib
import re
import signal

import pytest

import control
import harness
from harness import wait_for
from test_loader_dies import Connection
from test_transfer_out import (Client, clause, is_soa, request, store_kib,
                               zone)

ZONE = "big.test"
MIB = 1 << 20
NAMES, OCTETS = 400, 240
# Of what waits for a reader, before it is told to let go: so much that there
# are many updates until then.
BOUND = 4 * MIB
TOLD = (r"notice: server (\d) \(pid (\d+)\) has kept (\d+) octets of old"
        r" versions for \d+ s; telling it to let go of them")
KILLED = (r"error: server (\d) \(pid (\d+)\) keeps (\d+) octets of old versions"
          r" and does not let go of them; killing it")
ENDED = (rf"warning: transfer of {ZONE}\.? to 127\.0\.0\.1 ended: it has kept"
         " too much of old versions, or for too long")


@pytest.fixture
def start(make_server, directory):
    def make(records=2000, octets=BOUND, msec=None, **options):
        (directory / f"{ZONE}.zone").write_text(zone(1, records))
        server = make_server(zones={}, updates=True, extra=clause(
            ZONE, "provide-xfr: 127.0.0.1 NOKEY"), options={
                "server-count": 2, **options})
        control.config(server)
        server.program = harness.BUILD / "tests/lib/nsd_holding"
        for name, value in (("OCTETS", octets), ("MSEC", msec)):
            if value is not None:
                server.environment[f"HOLDING_{name}"] = str(value)
        server.start()
        server.wait_serial(ZONE, 1)
        return Published(server)
    return make


class Published:
    """A server, and the versions of its zone."""

    def __init__(self, server):
        self.server = server
        self.serial = 1

    def publish(self):
        """All TXT records of some names are other ones."""
        soa = "@ 60 SOA ns host {} 7200 3600 1209600 300\n".format
        text = (f"zone {ZONE}.\nremove {soa(self.serial)}"
                f"add {soa(self.serial + 1)}")
        for i in range(NAMES):
            text += (f"remove-rrset n{i} TXT\nadd n{i} 60 TXT "
                     + f"{self.serial:x}-{i:x}-".ljust(OCTETS, "x") + "\n")
        self.server.send_update(text)
        outcome = self.server.read_update()[0]
        assert outcome == "ok", outcome
        self.serial += 1

    def publish_until(self, pattern):
        """Publishes until the log has a line. Returns the most that the store
        had, in KiB."""
        most = 0

        def look():
            nonlocal most
            self.publish()
            most = max(most, store_kib(self.server))
            return re.search(pattern, self.server.read_log())
        wait_for(f"{pattern!r} in the log", look)
        return most

    def replace_all(self, records):
        """A version that has nothing of the one before."""
        self.serial += 1
        text = zone(self.serial, records).replace(
            "192.0.2.", f"198.51.{98 + self.serial}.")
        path = self.server.directory / f"{ZONE}.zone"
        temp = path.with_suffix(".new")
        temp.write_text(text)
        temp.rename(path)
        self.server.signal(signal.SIGHUP)
        self.server.wait_serial(ZONE, self.serial)


@pytest.mark.parametrize("how", ["keep-seen", "keep-pin"])
def test_worker_that_keeps_old_versions_for_ever_is_replaced(start, how):
    """Otherwise the store would grow with each update."""
    published = start()
    server = published.server
    roles = server.roles()
    published.publish()
    before = store_kib(server)
    server.query(f"{how}.{ZONE}", "A")
    published.publish_until(KILLED)
    number, pid, octets = re.search(KILLED, server.read_log()).groups()
    name = f"server {number}"
    assert roles[name] == int(pid)
    assert int(octets) > BOUND
    server.wait_log(rf"{name} \(pid {pid}\) was killed by signal 9,"
                    " replacing it")
    server.wait_replaced(name, int(pid))
    server.wait_serving()
    assert {r: p for r, p in server.roles().items() if r != name} == {
        r: p for r, p in roles.items() if r != name}
    # The memory that the worker kept is used again.
    wait_for("the memory", lambda: published.publish() or
             store_kib(server) < before + BOUND // 1024)
    assert server.serial(ZONE) == published.serial


def test_worker_that_keeps_one_for_too_long_is_replaced(start):
    """However little that is."""
    published = start(octets=1 << 40, msec=2000)
    server = published.server
    server.query(f"keep-pin.{ZONE}", "A")
    published.publish_until(KILLED)
    pid = int(re.search(KILLED, server.read_log())[2])
    server.wait_log(rf"server \d \(pid {pid}\) was killed by signal 9")
    server.wait_serving()


def test_worker_is_left_alone_if_it_is_not_to_be_replaced(start):
    published = start(**{"replace-hung": "no"})
    server = published.server
    roles = server.roles()
    server.query(f"keep-pin.{ZONE}", "A")
    published.publish_until(KILLED.replace("; killing it", "\n"))
    for _ in range(10):
        published.publish()
    assert server.roles() == roles
    assert server.read_log().count("does not let go of them") == 1


RECORDS = 200_000


@pytest.mark.parametrize("bounds", [{}, {"octets": 1 << 40, "msec": 2000}])
def test_transfer_that_keeps_too_much_is_ended_and_no_other(start, bounds):
    """The transfer's worker stays, with all its other connections."""
    published = start(records=RECORDS, **{"server-count": 1}, **bounds)
    server = published.server
    roles = server.roles()
    with contextlib.closing(Connection(server).socket) as sock, \
            Client(server, 4096) as slow:
        other = Connection.__new__(Connection)
        other.socket = sock
        assert other.ask(f"n7.{ZONE}") == "192.0.2.7"
        slow.ask(request(ZONE, "AXFR"))
        slow.message()
        published.replace_all(RECORDS)
        published.publish_until(ENDED)
        with pytest.raises((ConnectionError, AssertionError, OSError)):
            while True:
                slow.message()
        assert other.ask(f"n7.{ZONE}") == "198.51.100.7"
        # And so may its client, again.
        with Client(server) as again:
            again.ask(request(ZONE, "AXFR"))
            assert again.take()[:2] == (published.serial, published.serial)
    assert server.roles() == roles
    assert "does not let go" not in server.read_log()


def said(server, pattern):
    """The numbers that the loader has logged now, or none."""
    known = len(server.read_log())
    server.signal(signal.SIGUSR1)
    server.wait_log(r"info: STORE live=\d+", known)
    found = re.search(pattern, server.read_log()[known:])
    return [int(number) for number in found.groups()] if found else []


def kept(server):
    """Octets, by the worker."""
    return sum(said(server, r'HOLDER name="server 1" .* octets=(\d+)'))


def wait_retired(server):
    """Waits until the store has one version, and otherwise only what is kept
    of others. A pin taken before holds the rest of an older one, too."""
    def look():
        live, retired = said(server, r"STORE live=(\d+) .* retired=(\d+)")
        return live - retired < 8 * MIB  # a version has 7.5 MB
    wait_for("the end of older versions", look)


def test_transfer_beside_versions_that_come_anew_goes_on(start):
    """A transfer keeps its own version and no later one, though no epoch ends
    between its beginning and the next version."""
    published = start(records=RECORDS, octets=12 * MIB,
                      **{"server-count": 1})
    server = published.server
    published.replace_all(RECORDS)
    wait_retired(server)
    with Client(server, 4096) as slow:
        slow.ask(request(ZONE, "AXFR"))
        slow.message()
        for _ in range(3):
            published.replace_all(RECORDS)
            wait_for("what it keeps", lambda: kept(server) > 5 * MIB
                     or re.search(TOLD, server.read_log()))
            assert not re.search(TOLD, server.read_log())
        while not is_soa(slow.message()):
            pass


def test_transfers_that_need_not_go_stay(start):
    """A worker ends just the transfers of the oldest version when it keeps too
    much, if that is enough. Two versions have 15 MB."""
    published = start(records=RECORDS, octets=11 * MIB,
                      **{"server-count": 1})
    server = published.server

    def begin(stack):
        client = stack.enter_context(Client(server, 4096))
        client.ask(request(ZONE, "AXFR"))
        client.message()
        return client
    with contextlib.ExitStack() as stack:
        old = [begin(stack) for _ in range(2)]
        published.replace_all(RECORDS)
        wait_retired(server)
        wait_for("what is kept", lambda: kept(server) > 4 * MIB)
        assert not re.search(TOLD, server.read_log())
        young = [begin(stack) for _ in range(2)]
        published.replace_all(RECORDS)
        wait_for("the end of the old ones", lambda: len(re.findall(
            ENDED, server.read_log())) >= len(old))
        for client in old:
            with pytest.raises((ConnectionError, AssertionError, OSError)):
                while True:
                    client.message()
        for client in young:
            while not is_soa(client.message()):
                pass
    assert len(re.findall(ENDED, server.read_log())) == len(old)


def test_dump_that_keeps_too_much_is_broken_off(start):
    """The dump is broken off, and xfrd stays."""
    published = start(records=RECORDS)
    server = published.server
    roles = server.roles()
    with control.connect(server) as client:
        client.sendall(f"NSDCT1 dumpzone {ZONE}\n".encode())
        text = client.recv(100)
        published.replace_all(RECORDS)
        published.publish_until(r"notice: xfrd \(pid \d+\) has kept \d+ octets"
                                " of old versions")
        while octets := client.recv(65536):
            text += octets
    assert text.endswith(b"\nerror the zone is read too slowly: old versions fill"
                         b" the store\n")
    assert server.roles() == roles
