"""Processes die amid updates, and so does the whole server: no answered update
is lost, and none that was refused is there. SEED: of the run; ROUNDS: deaths
in it."""
import base64
import errno
import os
import random
import signal
import threading
import time

import dns.exception
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsigkeyring
import dns.update
import pytest

import control
from harness import BUILD, DEADLINE, wait_for, zone_text
from test_disk_fails import FLUSHES, WRITES, Disk

SECRET = base64.b64encode(b"k" * 20).decode()
RING = dns.tsigkeyring.from_text({"k": SECRET})
EXTRA = (f"key:\n\tname: k\n\talgorithm: sha256\n\tsecret: {SECRET}\n" + "".join(
    f"zone:\n\tname: {zone}\n\tzonefile: {zone}.zone\n"
    "\tallow-update: 127.0.0.1 k\n\tprovide-xfr: 127.0.0.1 NOKEY\n"
    for zone in ("a.test", "b.test")))
ZONES = ("a.test", "b.test")
CLIENTS = 4
NAMES = 6  # of each client
ROUNDS = int(os.environ.get("ROUNDS", 8))


class Client:
    """Updates names of its own, one at a time, and knows what they may be. An
    update without an answer may still be made behind a later one, which another
    worker had: each keeps its own while there is no xfrd."""

    def __init__(self, server, number, chance):
        self.server, self.number, self.chance = server, number, chance
        self.may_be = {(zone, f"c{number}n{n}"): {None}
                       for zone in ZONES for n in range(NAMES)}
        self.unanswered = {key: set() for key in self.may_be}
        self.count = self.done = self.refused = self.unknown = 0
        self.is_over = False
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.is_over:
            self.step()

    def send(self, update):
        """Sends an update. Returns the RCODE; None: what became of it is not
        known."""
        ask = dns.query.tcp if self.chance.random() < 0.3 else dns.query.udp
        try:
            reply = ask(update, self.server.address, port=self.server.port,
                        timeout=2)
        except (OSError, EOFError, dns.exception.DNSException):
            time.sleep(0.02)
            return None
        return reply.rcode()

    def step(self):
        zone, name = key = self.chance.choice(list(self.may_be))
        self.count += 1
        value = None
        update = dns.update.UpdateMessage(zone, keyring=RING, keyname="k")
        is_wrong = self.chance.random() < 0.1
        if is_wrong:
            update.absent("ns")
        update.delete(name, "TXT")
        if is_wrong or self.chance.random() < 0.8:
            value = f"{self.number}-{self.count}"
            update.add(name, 60, "TXT", value)
        rcode = self.send(update)
        if rcode is None:
            self.unknown += 1
            if not is_wrong:
                self.may_be[key].add(value)
                self.unanswered[key].add(value)
        elif rcode == dns.rcode.NOERROR:
            assert not is_wrong
            self.done += 1
            self.may_be[key] = {value} | self.unanswered[key]
        else:
            self.refused += 1


def transfer(server, zone):
    """({name: TXT}, serial) of AXFR."""
    found, serial = {}, None
    for message in dns.query.xfr(server.address, zone, port=server.port,
                                 relativize=True, timeout=DEADLINE):
        for rrset in message.answer:
            if rrset.rdtype == dns.rdatatype.SOA:
                serial = rrset[0].serial
            elif str(rrset.name).startswith("c"):
                assert len(rrset) == 1, rrset
                found[str(rrset.name)] = rrset[0].strings[0].decode()
    return found, serial


class Story:
    def __init__(self, server, seed):
        self.server, self.seed = server, seed
        self.chance = random.Random(seed)
        self.clients = []
        self.serials = dict.fromkeys(ZONES, 1)
        self.may_be = {}

    def await_updates(self):
        def count():
            return sum(client.done for client in self.clients)
        start = count()
        wait_for("updates", lambda: count() > start + 20)

    def work(self, *events):
        """Clients send updates for a while, and events happen meanwhile."""
        self.clients = [Client(self.server, n,
                               random.Random(self.chance.random()))
                        for n in range(CLIENTS)]
        for client in self.clients:
            client.may_be |= {key: value for key, value in self.may_be.items()
                              if key in client.may_be}
            client.thread.start()
        try:
            for event in events:
                self.await_updates()
                event()
            self.await_updates()
        finally:
            for client in self.clients:
                client.is_over = True
            for client in self.clients:
                client.thread.join()
        for client in self.clients:
            self.may_be |= client.may_be

    def check(self):
        for zone in ZONES:
            wait_for("the zone", lambda z=zone: self.server.serial(z))
            found, serial = transfer(self.server, zone)
            assert (serial - self.serials[zone]) % 2**32 < 2**31, (
                f"{zone}: serial {serial} after {self.serials[zone]}")
            self.serials[zone] = serial
            for (of, name), values in self.may_be.items():
                if of != zone:
                    continue
                assert found.get(name) in values, (
                    f"SEED {self.seed}: {name}.{zone} is {found.get(name)},"
                    f" not one of {values}")
                answer = self.server.query(f"{name}.{zone}", "TXT").answer
                assert [rr.to_text() for rr in answer[0]] \
                    == [f'"{found[name]}"'] if name in found else not answer
            assert not set(found) - {name for of, name in self.may_be
                                     if of == zone}


def story_of(make_server, program=None, environment=(), **options):
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    print("SEED", seed)
    server = control.config(make_server(
        extra=EXTRA, options={"server-count": 2, "verbosity": 2, **options}))
    if program is not None:
        server.program = program
    server.environment |= dict(environment)
    for zone in ZONES:
        server.zone_file(zone).write_text(zone_text(1))
    return Story(server.start(), seed)


@pytest.fixture
def story(make_server):
    return story_of(make_server)


def kill_all(server):
    """As kill -9 of all processes of the server, at once."""
    for session in server.sessions:
        try:
            os.killpg(session, signal.SIGKILL)
        except ProcessLookupError:
            pass
    server.process.wait(DEADLINE)
    wait_for("the end of all", lambda: not server.leftovers())
    server.sessions.clear()


@pytest.mark.lasts(20)
def test_deaths_of_processes(story):
    def die(role):
        return lambda: story.server.wait_replaced(role,
                                                  story.server.kill(role))

    def write():
        assert control.ask(story.server, "write")[0] in (0, 1)

    for _ in range(max(ROUNDS // 4, 1)):
        roles = [die(story.chance.choice(("loader", "xfrd", "server 1")))
                 for _ in range(3)] + [write]
        story.chance.shuffle(roles)
        story.work(*roles)
        story.check()
    assert story.server.stop() == 0
    story.server.start()
    story.check()


@pytest.mark.lasts(20)
def test_death_of_the_server(story):
    for _ in range(max(ROUNDS // 2, 1)):
        events = [lambda: control.ask(story.server, "write")] \
            if story.chance.random() < 0.4 else []
        story.work(*events, lambda: kill_and_start(story.server))
        story.check()
    kill_all(story.server)
    story.server.start()
    story.check()


def kill_and_start(server):
    kill_all(server)
    server.start()


@pytest.mark.lasts(20)
def test_full_disk(make_server, directory):
    """Updates are refused, and never come; others do when there is room."""
    disk = Disk(directory / "failing")
    story = story_of(make_server, BUILD / "tests/lib/nsd_failing",
                     {"NSD_FAILING": str(directory / "failing")}, sandbox="no")
    story.work()
    for error, calls in ((errno.ENOSPC, WRITES), (errno.EIO, FLUSHES),
                         (errno.ENOSPC, WRITES | FLUSHES)):
        disk.fail(error, "journal", calls)
        client = Client(story.server, 9, story.chance)
        for _ in range(20):
            client.step()
        # Deletion of a name that is not there changes nothing.
        assert client.refused >= 10
        assert client.unknown > 0 or all(
            values == {None} for values in client.may_be.values())
        story.may_be |= client.may_be
        story.check()
        disk.mend()
        story.work()
        story.check()
    kill_all(story.server)
    story.server.start()
    story.check()
