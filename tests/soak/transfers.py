#!/usr/bin/env python3
"""Zones never go back to an older version, whichever process is killed while
transfers come: not while the server runs, and not over a start, with or
without a primary to ask.

usage: tests/soak/transfers.py --build DIR [--seconds N] [--seed N] [--rate N]
                               [--zones N] [--keep DIR]

A primary in this program changes its zones --rate times a second and sends a
NOTIFY for each change; most are differences of some records, sometimes several
versions as a chain, and sometimes the whole zone comes. Zone files are written
all the while. Meanwhile roles are killed at random; after some of these the
server's life ends: main is killed, or all processes at once, or it is stopped.
Then it starts anew, mostly while the primary says nothing. All the time somebody
asks for serials. At the end, and in between, zones have what the primary has,
or had. Half of the time the zones are in memory, half in a file (`database:`).
"""
import argparse
import collections
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

import dns.exception
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.rrset
import dns.zone

HERE = pathlib.Path(__file__).resolve().parent
for folder in "blackbox", "lib":
    sys.path.insert(0, str(HERE.parent / folder))

WORKERS = 2
NAMES = 12        # of a zone, whose records change in turn
CHAIN_MAX = 30    # versions that the primary has differences of
LARGE = 0         # this zone has a file of its own in the journal
FILLING = 210     # records of 5 KB
TIMERS = "1 1 3600 300"
DAMAGE = (r"are damaged and skipped|missing or not whole|cannot be applied"
          r"|nothing that leads|not a segment|journal is lost"
          r"|cannot be used")


def zone_name(z):
    return f"z{z}.test"


def last_change(name, serial):
    """The version in which a name was changed for the last time."""
    return max(serial - (serial - name) % NAMES, 0)


def texts(serial):
    """{owner: TXT} of a version."""
    return {"v": f"v{serial}"} | {
        f"n{i}": f"x{last_change(i, serial)}" for i in range(NAMES)}


def step(serial):
    """The records that a version removes and adds."""
    name = serial % NAMES
    return ([f"v TXT v{serial - 1}",
             f"n{name} TXT x{last_change(name, serial - 1)}"],
            [f"v TXT v{serial}", f"n{name} TXT x{serial}"])


class Primary:
    """A primary whose zones change, from a thread of its own."""

    def __init__(self, args, rng):
        self.rng = rng
        self.rate = args.rate
        self.serials = [1] * args.zones
        self.sent = collections.Counter()
        self.silent = threading.Event()
        self.still = threading.Event()
        self.over = threading.Event()
        self.tell = None  # where a NOTIFY goes
        self.filling = records("z0.test.", *(
            f"f{i} TXT " + " ".join(["y" * 250] * 20)
            for i in range(FILLING)))
        self.scripted = ScriptedPrimary(self.answer)
        self.port = self.scripted.port
        self.ticker = threading.Thread(target=self.change, daemon=True)

    def answer(self, apex, rdtype, query):
        if self.silent.is_set():
            return [None]
        z = int(apex[1:].partition(".")[0])
        serial = self.serials[z]
        now = soa(apex, serial, TIMERS)
        if rdtype == "SOA":
            return [reply(query, now)]
        old = query.authority[0][0].serial if query.authority else 0
        if rdtype == "IXFR" and old >= serial:
            return [reply(query, now)]
        if rdtype == "IXFR" and serial - old <= CHAIN_MAX \
                and self.rng.random() > 0.04:
            self.sent["ixfr"] += 1
            self.sent["versions"] += serial - old
            return [reply(query, *self.differences(apex, old, serial))]
        self.sent["axfr"] += 1
        self.sent["versions"] += 1
        return self.whole(query, apex, z, serial)

    @staticmethod
    def differences(apex, old, serial):
        rrsets = [soa(apex, serial, TIMERS)]
        for version in range(old + 1, serial + 1):
            removed, added = step(version)
            rrsets += [soa(apex, version - 1, TIMERS),
                       *records(apex, *removed), soa(apex, version, TIMERS),
                       *records(apex, *added)]
        return [*rrsets, soa(apex, serial, TIMERS)]

    def whole(self, query, apex, z, serial):
        rrsets = [dns.rrset.from_text(apex, 300, "IN", "NS", f"ns.{apex}"),
                  *records(apex, "ns A 192.0.2.1", *(
                      f"{owner} TXT {text}"
                      for owner, text in texts(serial).items()))]
        if z == LARGE:
            rrsets += self.filling
        now = soa(apex, serial, TIMERS)
        return [reply(query, now), *(
            reply(query, *rrsets[i:i + 10])
            for i in range(0, len(rrsets), 10)), reply(query, now.copy())]

    def change(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            while not self.over.wait(1 / self.rate):
                if self.still.is_set():
                    continue
                z = self.rng.randrange(len(self.serials))
                self.serials[z] += self.rng.choice([1] * 9 + [5])
                message = dns.message.make_query(zone_name(z), "SOA")
                message.set_opcode(dns.opcode.NOTIFY)
                client.sendto(message.to_wire(), self.tell)

    def __enter__(self):
        self.scripted.__enter__()
        self.ticker.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.ticker.join()
        self.scripted.__exit__()


class Watch:
    """Asks for serials all the time: none may go back."""

    def __init__(self, server, zones):
        self.server = server
        self.served = [0] * zones
        self.answers = [0] * zones
        self.wrong = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def ask(self, client, z):
        query = dns.message.make_query(zone_name(z), "SOA")
        answer = None
        try:
            client.send(query.to_wire())
            while answer is None or answer.id != query.id:  # a late one
                answer = dns.message.from_wire(client.recv(4096))
        except OSError:
            time.sleep(0.01)
            return
        if answer.rcode() != dns.rcode.NOERROR or not answer.answer:
            return
        serial = answer.answer[0][0].serial
        if serial < self.served[z]:
            self.wrong.append(f"{time.time():.3f}: {zone_name(z)}: serial "
                              f"{serial} after {self.served[z]}")
        self.served[z] = serial
        self.answers[z] += 1

    def run(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect((self.server.address, self.server.port))
            client.settimeout(0.5)
            while not self.over.is_set():
                for z in range(len(self.served)):
                    self.ask(client, z)

    def wait_all(self):
        """Waits until each served zone has been answered for anew; twice, as
        an answer may have been on its way."""
        before = list(self.answers)
        for z, served in enumerate(self.served):
            if served:
                harness.wait_for(f"an answer for {zone_name(z)}", lambda z=z:
                                 self.answers[z] > before[z] + 1)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Transfers:
    def __init__(self, args, rng, directory, primary, database):
        self.args, self.rng, self.primary = args, rng, primary
        self.done = collections.Counter()
        self.wrong = []
        self.server = harness.Server(
            directory, zones={"example": harness.zone_text()}, options={
                "server-count": WORKERS, "zonefiles-write": 1,
                "verbosity": 2,
                "database": f'"{directory}/zones.db"' if database else '""'},
            extra="".join(self.configured(z) for z in range(args.zones)))
        primary.tell = (self.server.address, self.server.port)

    def configured(self, z):
        """A zone in four has no file."""
        name = zone_name(z)
        file = f"\tzonefile: {name}.zone\n" if z % 4 != 3 else ""
        return (f"zone:\n\tname: {name}\n{file}"
                f"\trequest-xfr: 127.0.0.1@{self.primary.port} NOKEY\n"
                "\tallow-notify: 127.0.0.1 NOKEY\n"
                "\tprovide-xfr: 127.0.0.1 NOKEY\n"
                "\tmin-retry-time: 1\n\tmax-retry-time: 2\n")

    # ---- what is done to it

    def kill_role(self):
        """One of a kind, for there are more workers than others."""
        kind = self.rng.choice(["server", "loader", "xfrd", "xfrd", "writer"])
        pids = [pid for role, pid in self.server.roles().items()
                if role.startswith(kind)]
        if pids:
            self.done[kind] += 1
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.rng.choice(pids), signal.SIGKILL)

    def end_main(self):
        """The workers go on until the next one takes over."""
        self.server.kill("main")
        self.server.process.wait()

    def end_all(self):
        while pids := self.server.leftovers():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        self.server.process.wait()

    def end_stop(self):
        assert self.server.stop() == 0

    def live(self, end):
        """A life of the server: roles are killed, and then it ends."""
        for _ in range(self.rng.randint(2, 7)):
            time.sleep(self.rng.random() ** 2 * 3)
            if time.monotonic() > end:
                return
            self.kill_role()
        time.sleep(self.rng.random())
        deed = self.rng.choice([self.end_main, self.end_all, self.end_all,
                                self.end_stop])
        self.done[deed.__name__] += 1
        if self.rng.random() < 0.7:
            self.primary.silent.set()
        deed()
        self.server.start(ready=False)
        self.watch.wait_all()
        if self.primary.silent.is_set() and deed != self.end_main:
            z = self.rng.randrange(self.args.zones)
            self.compare(z, self.watch.served[z])
        self.primary.silent.clear()

    # ---- what it must be like

    def fetch(self, z):
        """{owner: TXT} of what is served; and its serial."""
        name = zone_name(z)
        zone = dns.zone.from_xfr(dns.query.xfr(
            self.server.address, name, port=self.server.port,
            timeout=harness.DEADLINE, lifetime=harness.DEADLINE))
        found = {owner.to_text(): rdata.strings[0].decode()
                 for owner, _, rdata in zone.iterate_rdatas("TXT")}
        return found, zone.get_soa().serial

    def compare(self, z, serial):
        found, at = self.fetch(z)
        expected = texts(at)
        if z == LARGE:
            expected |= {f"f{i}": "y" * 250 for i in range(FILLING)}
        if at < serial:
            self.wrong.append(f"{zone_name(z)}: serial {at} after {serial}")
        if found != expected:
            differ = sorted(set(found.items()) ^ set(expected.items()))
            self.wrong.append(f"{zone_name(z)}: serial {at}, but what differs "
                              f"are {len(differ)} records: {differ[:10]}")
        self.done["zones compared"] += 1

    def settle(self):
        """The primary changes no more, and all that it has is served."""
        self.primary.still.set()
        self.primary.silent.clear()
        for z, serial in enumerate(self.primary.serials):
            harness.wait_for(
                f"serial {serial} of {zone_name(z)}",
                lambda z=z, serial=serial: self.watch.served[z] == serial)
        for z, serial in enumerate(self.primary.serials):
            self.compare(z, serial)

    def run(self, seconds):
        end = time.monotonic() + seconds
        with Watch(self.server, self.args.zones) as self.watch:
            self.server.start()
            self.settle()
            self.primary.still.clear()
            while time.monotonic() < end:
                self.live(end)
            self.settle()
            self.primary.silent.set()
            self.end_all()
            self.server.start()
            self.watch.wait_all()
            for z, serial in enumerate(self.primary.serials):
                self.compare(z, serial)
            self.primary.silent.clear()
        self.judge()

    def judge(self):
        if self.server.stop() != 0:
            self.wrong.append("the server did not end well")
        log = self.server.read_log()
        self.wrong += self.watch.wrong + re.findall(f".*(?:{DAMAGE}).*", log)
        committed = len(re.findall("committed \"", log))
        print(dict(self.done), f"{sum(self.watch.answers)} answers, "
              f"{committed} transfers committed", flush=True)
        if not self.args.seconds / 8 < committed:
            self.wrong.append(f"{committed} transfers only")


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--seconds", type=float, default=1800)
    p.add_argument("--seed", type=int, default=time.time_ns() % 1000000007)
    p.add_argument("--rate", type=float, default=30)
    p.add_argument("--zones", type=int, default=20)
    p.add_argument("--keep", help="a directory for all its files")
    return p.parse_args()


def main(args):
    print(f"seed {args.seed}", flush=True)
    rng = random.Random(args.seed)
    wrong = []
    for database in (False, True):
        name = "database" if database else "memory"
        directory = tempfile.mkdtemp(prefix="nsd-transfers-", dir=args.keep)
        with Primary(args, rng) as primary:
            soak = Transfers(args, rng, directory, primary, database)
            print(f"zones in {name}:", flush=True)
            try:
                soak.run(args.seconds / 2)
            except Exception as error:  # with what was seen until then
                soak.wrong.append(f"{type(error).__name__}: {error}")
            finally:
                soak.wrong += [f"{role} was left" for role in
                               soak.server.clean_up().values()]
            print(f"the primary sent {dict(primary.sent)}", flush=True)
        wrong += [f"{name}: {w}" for w in soak.wrong]
        if not args.keep:
            if soak.wrong:
                print(soak.server.read_log()[-4000:])
            shutil.rmtree(directory)
    for what in wrong:
        print(f"FAILED: {what}, seed {args.seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    ARGS = arguments()
    os.environ["NSD_BUILD"] = ARGS.build
    import harness  # looks for the build when imported
    from scripted_primary import ScriptedPrimary, records, reply, soa
    sys.exit(main(ARGS))
