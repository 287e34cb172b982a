"""Work that goes on through reconfigs, all at once: a transfer that takes ten
seconds, a client that reads its answer slowly, queries, and changes of zones
that are in effect when they are answered (doc/decisions/0158, 0159)."""
import os
import re
import threading
import time

import pytest

import control
from harness import DEADLINE, wait_for, zone_text
from scripted_primary import (ScriptedPrimary, records, reply, soa, whole)
from steady import Steady

# Of a transfer; a minute shows more.
SECONDS = float(os.environ.get("NSD_TRANSFER_SECONDS", "10"))
# Timers of zones that should not be refreshed while a test lasts.
TIMERS = "3600 3600 86400 300"
RECONFIGS = 20
# Longer than what fits into buffers between xfrd and its client.
LISTED = 12000


class Slow(ScriptedPrimary):
    """A transfer takes SECONDS, and until it may end."""

    def __init__(self):
        self.may_end = threading.Event()
        self.ended = 0
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        if rdtype == "SOA":
            yield reply(query, soa(apex, 7, TIMERS))
            return
        begin = time.monotonic()
        yield reply(query, *whole(query, apex, 7, timers=TIMERS).answer[:-1])
        piece = 0
        while (not self.may_end.is_set()
               or time.monotonic() < begin + SECONDS):
            yield 0.1
            yield reply(query, *records(apex, f"p{piece} A 192.0.2.9"))
            piece += 1
        self.ended += 1
        yield reply(query, *records(apex, f"end A 192.0.2.{piece % 200}"))
        yield reply(query, soa(apex, 7, TIMERS))


class SlowClient:
    """nsd-control, whose answer is read a piece at a time."""

    def __init__(self, server, *verb):
        self.client = control.begin(server, *verb)
        self.text = self.client.stdout.read(1)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while not self.over.is_set():
            self.text += self.client.stdout.read(500)
            self.over.wait(0.1)

    def finish(self):
        """The rest of it."""
        is_under_way = self.client.poll() is None
        self.over.set()
        self.thread.join()
        self.text += self.client.stdout.read()
        assert self.client.wait(DEADLINE) == 0
        assert is_under_way, "it has ended long ago: what has it shown?"
        return self.text


@pytest.fixture
def server(make_server):
    """A server with a pattern "p" for zones added at run time."""
    made = control.config(make_server(
        zones={"example": zone_text()},
        options={"server-count": 2, "verbosity": 2,
                 "zonelistfile": '"zone.list"'}))
    made.extra += 'pattern:\n\tname: "p"\n\tzonefile: "any.zone"\n'
    made.write_zone("any", zone_text(3))
    del made.zones["any"]
    made.base = made.extra
    made.write_config()
    return made


def configure(server, number, *more):
    """Writes nsd.conf with another zone and key, and another ACL for
    example."""
    server.extra = server.base + "".join((
        *(f'key:\n\tname: "k{i}"\n\talgorithm: hmac-sha256\n'
          '\tsecret: "AAECAw=="\n' for i in range(number + 1)),
        *(f"zone:\n\tname: n{i}.test\n\tzonefile: any.zone\n"
          f"\tprovide-xfr: 127.0.0.1 k{number}\n"
          for i in range(number + 1)), *more))
    temp, config = server.directory / "nsd.conf.new", server.config
    server.config = temp
    server.write_config()
    server.config = config
    # Clients that begin at any moment read it, too.
    temp.rename(config)


def reconfig(server, number, *more):
    """The new configuration is in effect when reconfig is answered."""
    configure(server, number, *more)
    control.apply(server)
    assert server.serial(f"n{number}.test") == 3
    assert f'name: "k{number}"' in control.ask(server, "print_tsig")[1]


def test_all_goes_on_at_once(server):
    with Slow() as primary:
        server.base += ("zone:\n\tname: s.test\n\tzonefile: s.zone\n"
                        f"\trequest-xfr: AXFR 127.0.0.1@{primary.port}"
                        " NOKEY\n")
        configure(server, 0)
        server.start()
        names = {f"a-rather-long-name-{i}.test" for i in range(LISTED)}
        assert control.ask(server, "addzones", text="".join(
            f"{name} p\n" for name in names))[0] == 0
        wait_for("the transfer", lambda: ("s.test.", "AXFR")
                 in primary.asked)
        roles = server.roles()
        end = time.monotonic() + SECONDS
        with Steady(server) as steady:
            client = SlowClient(server, "zonestatus")
            number = 0
            while number < RECONFIGS or time.monotonic() < end:
                number += 1
                reconfig(server, number % 50)
            text = client.finish()
            assert primary.ended == 0
            assert server.rcode("s.test", "SOA") == "SERVFAIL"
            primary.may_end.set()
            server.wait_serial("s.test", 7)
            assert server.answer("end.s.test", "A")
        assert steady.late == []
        assert primary.asked.count(("s.test.", "AXFR")) == 1
    assert server.roles() == roles
    assert names < set(re.findall(r"^zone:\s+(\S+)", text, re.M))


def test_changes_are_true_when_they_are_answered(server):
    """Four clients, beside reconfigs."""
    configure(server, 0)
    server.start()
    roles = server.roles()
    over = threading.Event()
    wrong = []
    rounds = [0] * 4

    def change(verb, name, rcode):
        said = control.say(server, f"NSDCT1 {verb}\n".encode())
        got = server.rcode(name, "SOA"), server.rcode(name, "SOA", tcp=True)
        if (said, *got) != ("ok\n", rcode, rcode):
            wrong.append((verb, said, got))

    def client(number):
        while not over.is_set() and not wrong:
            rounds[number] += 1
            name = f"c{number}-{rounds[number] % 7}.test"
            change(f"addzone {name} p", name, "NOERROR")
            change(f"delzone {name}", name, "REFUSED")

    threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(1, RECONFIGS + 1):
            reconfig(server, number)
            wait_for("changes", lambda so_far=list(rounds): wrong or all(
                now > then for now, then in zip(rounds, so_far)))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert server.roles() == roles
