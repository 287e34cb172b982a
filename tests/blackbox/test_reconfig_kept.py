"""nsd-control reconfig: xfrd stays, and goes on with what it has in hand
(doc/decisions/0158)."""
import os
import re
import signal
import subprocess
import threading

import dns.rcode
import dns.tsigkeyring
import pytest

import control
from harness import DEADLINE, wait_for, zone_text
from scripted_primary import (ScriptedPrimary, error, records, reply, soa,
                              whole)

# Timers of zones that should not be refreshed while a test lasts.
TIMERS = "3600 3600 86400 300"
KEY = 'key:\n\tname: "{}"\n\talgorithm: hmac-sha256\n\tsecret: "AAECAw=="\n'
PATTERN = 'pattern:\n\tname: "{}"\n\tzonefile: "%s.zone"\n'


def zone(name, *lines):
    return f"zone:\n\tname: {name}\n\tzonefile: {name}.zone\n" + "".join(
        f"\t{line}\n" for line in lines)


def secondary(name, primary, *lines):
    return zone(name, f"request-xfr: 127.0.0.1@{primary.port} NOKEY", *lines)


class Held(ScriptedPrimary):
    """A transfer of s.test waits in the middle until it may go on."""

    def __init__(self, serial=7):
        self.go_on = threading.Event()
        self.serial = serial
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        if rdtype == "SOA":
            yield reply(query, soa(apex, self.serial, TIMERS))
            return
        if apex != "s.test.":
            yield whole(query, apex, self.serial, timers=TIMERS)
            return
        yield reply(query, *whole(query, apex, self.serial,
                                  timers=TIMERS).answer[:-1])
        while not self.go_on.is_set():
            yield 0.1
            yield reply(query, *records(apex, "www A 192.0.2.9"))
        yield reply(query, soa(apex, self.serial, TIMERS))


@pytest.fixture
def server(make_server):
    """A server with a pattern "p" for zones added at run time."""
    made = control.config(make_server(
        zones={"example": zone_text()},
        options={"verbosity": 2, "zonelistfile": '"zone.list"',
                 "replace-hung": "no"}))
    made.base = made.extra + PATTERN.format("p")
    configure(made)
    return made


def configure(server, *clauses):
    server.extra = server.base + "".join(clauses)
    server.write_config()


def reconfig(server, *clauses):
    configure(server, *clauses)
    control.apply(server)


def counted(server, name):
    return int(re.search(rf"^{name}=(\d+)$", control.ask(
        server, "stats_noreset")[1], re.M)[1])


def statuses(server):
    return set(re.findall(r"^zone:\s+(\S+)", control.ask(
        server, "zonestatus")[1], re.M))


def test_transfer_goes_on(server):
    with Held() as primary:
        configure(server, secondary("s.test", primary))
        server.start()
        wait_for("the transfer", lambda: ("s.test.", "AXFR") in primary.asked)
        xfrd = server.role("xfrd")
        server.zones["new.test"] = zone_text(5)
        server.write_zone("new.test", zone_text(5))
        reconfig(server, KEY.format("k"), secondary("s.test", primary,
                 "provide-xfr: 127.0.0.1 k"))
        assert server.serial("new.test") == 5
        assert 'name: "k"' in control.ask(server, "print_tsig")[1]
        assert server.rcode("s.test", "SOA") == "SERVFAIL"
        primary.go_on.set()
        server.wait_serial("s.test", 7)
        assert primary.asked.count(("s.test.", "AXFR")) == 1
    assert server.role("xfrd") == xfrd


def test_answer_that_is_read_slowly_is_whole(server):
    server.start()
    names = [f"a-rather-long-name-{i}.test" for i in range(9000)]
    assert control.ask(server, "addzones", text="".join(
        f"{name} p\n" for name in names))[0] == 0
    with control.connect(server) as client:
        client.sendall(b"NSDCT1 zonestatus\n")
        begin = client.recv(10)
        reconfig(server, KEY.format("k"))
        text = begin.decode() + control.read_all(client)
    assert set(names) < set(re.findall(r"^zone:\s+(\S+)", text, re.M))


def test_zones_come_and_go_amid_reconfigs(server):
    server.start()
    xfrd = server.role("xfrd")
    # Clients read a copy, as the other file is being written.
    config = server.directory / "client.conf"
    config.write_text(server.config.read_text())
    over = threading.Event()
    wrong = []
    rounds = [0] * 4

    def ask(*verb):
        return subprocess.run([control.PROGRAM, "-c", config, *verb],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False,
                              text=True, timeout=DEADLINE).stdout

    def client(number):
        round_ = 0
        while not over.is_set() and not wrong:
            rounds[number] = round_
            name = f"c{number}-{round_ % 5}.test"
            for verb in (["addzone", name, "p"], ["delzone", name]):
                said = ask(*verb)
                if said != "ok\n":
                    wrong.append((verb, said))
            round_ += 1
        ask("addzone", f"last-{number}.test", "p")

    threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    try:
        for i in range(20):
            reconfig(server, KEY.format(f"k{i}"), zone(f"fixed{i}.test"))
            wait_for("changes", lambda so_far=sum(rounds):
                     sum(rounds) > so_far or wrong)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    last = {f"last-{n}.test" for n in range(4)}
    assert statuses(server) == last | {"example", "fixed19.test"}
    for name in last:
        assert server.rcode(name, "SOA") == "SERVFAIL"
    assert server.rcode("c1-1.test", "SOA") == "REFUSED"
    assert server.role("xfrd") == xfrd
    lines = (server.directory / "zone.list").read_text().splitlines()
    assert {line.split()[1] for line in lines
            if line.startswith("add ")} == last


def test_other_primary_is_asked(server):
    with Held(7) as first, Held(8) as second:
        configure(server, secondary("a.test", first))
        server.start()
        server.wait_serial("a.test", 7)
        xfrd = server.role("xfrd")
        reconfig(server, secondary("a.test", second))
        server.wait_serial("a.test", 8)
        # A reconfig of a timer leaves the zone with the new primary.
        reconfig(server, secondary("a.test", second, "max-retry-time: 900"))
        wait_for("the look", lambda: f"127.0.0.1@{second.port}" in control.ask(
            server, "zonestatus", "a.test")[1])
    assert server.role("xfrd") == xfrd


def test_zone_that_could_not_be_had_is_tried_at_once(server):
    """A zone with another key, which the primary accepts, is tried at once."""
    def say(apex, rdtype, query):
        if query.keyname.to_text() != "right.":
            return error(query, dns.rcode.REFUSED)
        return [reply(query, soa(apex, 7, TIMERS)) if rdtype == "SOA"
                else whole(query, apex, 7, timers=TIMERS)]

    with ScriptedPrimary(say, keyring=dns.tsigkeyring.from_text(
            {"wrong": "AAECAw==", "right": "AAECAw=="})) as primary:
        server.base += KEY.format("wrong") + KEY.format("right")
        request = f"request-xfr: 127.0.0.1@{primary.port} "
        configure(server, zone("a.test", request + "wrong",
                               "min-retry-time: 3600"))
        server.start()
        wait_for("failures", lambda: "REFUSED" in control.ask(
            server, "zonestatus", "a.test")[1])
        xfrd = server.role("xfrd")
        reconfig(server, zone("a.test", request + "right",
                              "min-retry-time: 3600"))
        server.wait_serial("a.test", 7)
        assert server.role("xfrd") == xfrd


def test_zones_of_nsd_conf_come_and_go(server):
    with Held() as primary:
        configure(server, secondary("a.test", primary), zone("b.test"))
        server.start()
        server.wait_serial("a.test", 7)
        xfrd = server.role("xfrd")
        reconfig(server, *(secondary(f"n{i}.test", primary)
                           for i in range(1200)))
        assert counted(server, "zone.secondary") == 1200
        assert counted(server, "zone.primary") == 1
        assert "error" in control.ask(server, "zonestatus", "a.test")[1]
        assert server.rcode("a.test", "SOA") == "REFUSED"
        assert len(statuses(server)) == 1201
        for i in (0, 777, 1199):
            server.wait_serial(f"n{i}.test", 7)
        reconfig(server, secondary("a.test", primary))
        assert statuses(server) == {"example", "a.test"}
        server.wait_serial("a.test", 7)
    assert server.role("xfrd") == xfrd


def test_statistics_are_of_what_is_new(server):
    server.start()
    before = counted(server, "size.config.mem")
    reconfig(server, PATTERN.format("q"), *(
        f"\tprovide-xfr: 192.0.2.{n % 250} NOKEY\n" for n in range(2000)))
    wait_for("octets", lambda: counted(server, "size.config.mem")
             > before + 100_000)


def test_zone_of_the_list_comes_into_nsd_conf(server):
    server.start()
    xfrd = server.role("xfrd")
    for name in ("x.test", "y.test"):
        assert control.ask(server, "addzone", name, "p") == (0, "ok\n")
    reconfig(server, zone("x.test"), PATTERN.format("q"))
    assert "defined in nsd.conf" in control.ask(server, "delzone",
                                                "x.test")[1]
    assert control.ask(server, "changezone", "y.test", "q") == (0, "ok\n")
    zone_list = server.directory / "zone.list"
    wait_for("the list", lambda: zone_list.read_text().splitlines()[2:]
             == ["add y.test q"])
    # A pattern that has no zone any more may go.
    server.base = server.base.replace('"p"', '"q"')
    reconfig(server)
    assert control.ask(server, "addzone", "z.test", "p")[1] == (
        "error pattern p does not exist\n")
    assert control.ask(server, "addzone", "z.test", "q") == (0, "ok\n")
    assert statuses(server) == {"example", "y.test", "z.test"}
    assert server.role("xfrd") == xfrd
    server.wait_replaced("xfrd", server.kill("xfrd"))
    assert statuses(server) == {"example", "y.test", "z.test"}


def test_line_of_a_zone_of_nsd_conf_goes_without_another_list(server):
    """No new list can be written, as its name is taken: as on a full disk."""
    server.start()
    for name in ("x.test", "y.test"):
        assert control.ask(server, "addzone", name, "p") == (0, "ok\n")
    taken = server.directory / "zone.list~"
    (taken / "it").mkdir(parents=True)
    reconfig(server, zone("x.test"))
    server.wait_log("cannot write .*zone.list anew")
    reconfig(server)
    assert statuses(server) == {"example", "y.test"}
    server.stop()
    taken.rename(server.directory / "away")
    server.start()
    assert statuses(server) == {"example", "y.test"}


def test_xfrd_dies_amid(server):
    """The next xfrd has the new configuration, too."""
    with Held() as primary:
        configure(server, zone("old.test"))
        server.start()
        assert control.ask(server, "addzone", "y.test", "p") == (0, "ok\n")
        xfrd, worker = server.role("xfrd"), server.role("server 1")
        os.kill(worker, signal.SIGSTOP)
        try:
            configure(server, secondary("a.test", primary))
            with control.begin(server, "reconfig") as client:
                server.wait_log("reconfig: 0 options")
                server.kill("xfrd")
                client.communicate(timeout=60)
        finally:
            os.kill(worker, signal.SIGCONT)
        server.wait_replaced("xfrd", xfrd)
        server.wait_serial("a.test", 7)
        wait_for("its zones", lambda: statuses(server)
                 == {"example", "a.test", "y.test"})
        assert control.ask(server, "delzone", "y.test") == (0, "ok\n")


@pytest.mark.parametrize("options", (
    {"zonefiles-write": 77}, {"xfrd-tcp-max": 7}, {"tcp-timeout": 9},
    {"cookie-secret-file": '"/nonexistent/cookies"'}))
def test_options_of_xfrd_are_no_reason_to_replace_it(server, options):
    server.start()
    xfrd = server.role("xfrd")
    server.options.update(options)
    reconfig(server)
    assert statuses(server) == {"example"}
    if "cookie-secret-file" in options:
        assert '"/nonexistent/cookies"' in control.ask(
            server, "add_cookie_secret", "ab" * 16)[1]
    assert server.role("xfrd") == xfrd
