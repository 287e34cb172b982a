"""Debian's NSD is swapped for this server and back amid others: BIND and Knot are
its primaries and its secondaries, clients ask all the time, and monitors read what
nsd-control says. NSD_SWAP_ZONES: how many zones (50)."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import dns.message
import dns.query
import dns.rdatatype
import dns.rrset
import pytest

import debian_machine
import monitors
import primaries
import secondaries
from debian_machine import DEBIAN, PATIENCE, wait
from servers import build_dir

pytestmark = pytest.mark.lasts(20)

ZONES = int(os.environ.get("NSD_SWAP_ZONES", "50"))
RATE = 5000
SECRET = "c3dhcHBlZCBhbmQgYmFjayBhZ2Fpbg=="
KEY = ("hmac-sha256", "swap.key", SECRET)
ZONE = """$TTL 300
@	IN SOA ns host {serial} 3600 900 1209600 300
	IN NS ns
ns	IN A 192.0.2.1
serial	IN TXT "{serial}"
"""
# A zone that is as small as its differences is transferred whole.
MORE = "".join(f"w{n}	IN A 192.0.2.{n}\n" for n in range(2, 40))
CONF = f"""\
server:
	rrl-ratelimit: 0
	zonefiles-write: 3600
key:
	name: swap.key
	algorithm: hmac-sha256
	secret: "{SECRET}"
pattern:
	name: own
	zonefile: "/var/lib/nsd/own/%s.zone"
	provide-xfr: 127.0.0.1 NOKEY
	notify: 127.0.0.1@{{bind_out}} NOKEY
	notify: 127.0.0.1@{{knot_out}} NOKEY
	zonestats: "own"
	store-ixfr: yes
	create-ixfr: yes
pattern:
	name: from-bind
	zonefile: "/var/lib/nsd/%s.zone"
	request-xfr: 127.0.0.1@{{bind_in}} swap.key
	allow-notify: 127.0.0.1 swap.key
	provide-xfr: 127.0.0.1 NOKEY
	store-ixfr: yes
pattern:
	name: from-knot
	zonefile: "/var/lib/nsd/%1/%s.zone"
	request-xfr: 127.0.0.1@{{knot_in}} NOKEY
	allow-notify: 127.0.0.1 NOKEY
"""


def write_zone(path, serial):
    """Each version is minutes older than the next: some servers compare
    seconds."""
    path.write_text(ZONE.format(serial=serial) + MORE)
    old = time.time() - 600 * (10 - serial)
    os.utime(path, (old, old))


def wait_asking(where, serial, verb):
    """Waits for a version in all zones. On a busy machine a NOTIFY or its
    acknowledgement is lost now and then: nsd-control says it again."""
    machine = getattr(where, "machine", where)
    end = time.monotonic() + PATIENCE
    asked = time.monotonic()
    while lacking := where.lacking(serial):
        assert time.monotonic() < end, (lacking, machine.output.read_text())
        if time.monotonic() > asked + 3:
            machine.control(verb)
            asked = time.monotonic()
        time.sleep(0.1)


def wait_well(machine):
    """Waits until nothing is wrong. A zone that NSD could not refresh any more, as
    its primary was slow, is told until it has been."""
    end = time.monotonic() + PATIENCE
    while "trouble" in (said := machine.control("status")[1]):
        assert time.monotonic() < end, said
        machine.control("transfer")
        time.sleep(0.5)


class Amid(debian_machine.Machine):
    """A machine whose zones are its own, BIND's or Knot's, a third each; a
    tenth of its own were added at run time."""

    def __init__(self, folder):
        super().__init__(folder)
        third = ZONES // 3
        self.own = [f"o{n}.test" for n in range(ZONES - 2 * third)]
        self.added = self.own[:max(1, len(self.own) // 3)]
        self.of = {"bind": [f"b{n}.test" for n in range(third)],
                   "knot": [f"k{n}.test" for n in range(third)]}
        self.transferred = self.of["bind"] + self.of["knot"]
        # NSD writes differences there.
        (folder / "var/own").mkdir()
        shutil.chown(folder / "var/own", "nsd", "nsd")
        for zone in self.own:
            write_zone(self.file_of(zone), 1)

    def file_of(self, zone):
        """The zone file, by the patterns above."""
        place = {"o": "own/", "b": "", "k": "k/"}[zone[0]]
        return self.folder / f"var/{place}{zone}.zone"

    def lacking(self, serial):
        """{zone: serial} of the zones that have another one."""
        found = {zone: self.serial(zone) for zone in self.zones}
        return {zone: n for zone, n in found.items() if n != serial}

    def wait_for(self, serial):
        wait_asking(self, serial, "transfer")


class Around:
    """BIND and Knot: a primary and a secondary each."""

    def __init__(self, machine, folder):
        self.machine = machine
        self.files = {}
        self.running = []
        for kind in ("bind", "knot"):
            (folder / kind).mkdir()
            self.files[kind] = {zone: folder / kind / f"{zone}.zone"
                                for zone in machine.of[kind]}
        self.write(1)
        self.primaries = [primaries.Bind(self.files["bind"]),
                          primaries.Knot(self.files["knot"])]
        self.primaries[0].key = KEY
        for primary in self.primaries:
            primary.notified = machine.port

    def write(self, serial):
        for files in self.files.values():
            for path in files.values():
                write_zone(path, serial)

    def start_primaries(self):
        for primary in self.primaries:
            self.running.append(primary)
            primary.start()

    def make_secondaries(self):
        """Makes them before the machine starts: its nsd.conf has their
        ports, which are returned."""
        class Upstream:
            port = self.machine.port
            zones = dict.fromkeys(self.machine.own)
        self.secondaries = [secondaries.Bind(Upstream),
                            secondaries.Knot(Upstream)]
        self.running += self.secondaries
        for secondary in self.secondaries:
            secondary.how = ""
        return [secondary.port for secondary in self.secondaries]

    def start_secondaries(self):
        for secondary in self.secondaries:
            secondary.start()

    def change(self, serial):
        """A new version of every zone."""
        self.write(serial)
        for primary in self.primaries:
            primary.reread()
        for zone in self.machine.own:
            write_zone(self.machine.file_of(zone), serial)
        assert self.machine.control("reload")[0] == 0

    def lacking(self, serial):
        """(port, zone) where a secondary has another version of a zone of the
        machine's."""
        found = []
        for secondary in self.secondaries:
            for zone in self.machine.own:
                reply = debian_machine.ask(secondary.port, zone)
                if not reply.answer or reply.answer[0][0].serial != serial:
                    found.append((secondary.port, zone))
        return found

    def wait_for(self, serial):
        self.machine.wait_for(serial)
        wait_asking(self, serial, "notify")

    def stop(self):
        for server in self.running:
            server.stop()


class Clients:
    """Some thousand queries a second for every zone, until they are ended."""

    def __init__(self, machine, folder):
        names = folder / "queries"
        names.write_text("".join(
            f"{zone} SOA\nserial.{zone} TXT\nnone.{zone} A\n"
            for zone in machine.zones))
        self.process = subprocess.Popen(
            ["dnsperf", "-s", "127.0.0.1", "-p", str(machine.port), "-d",
             str(names), "-Q", str(RATE), "-l", "600", "-t", "2", "-c", "4"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)

    def end(self):
        """{rcode: answers}."""
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=PATIENCE)[0]
        codes = re.search(r"Response codes: +(.*)", said)
        assert codes, said
        return {name: int(count) for name, count in re.findall(
            r"([A-Z]+) (\d+)", codes[1])}

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def amid(place):
    """(machine, around), of which the servers around it run."""
    (place / "machine").mkdir()
    (place / "machine").chmod(0o755)
    machine = Amid(place / "machine")
    around = Around(machine, place)
    try:
        around.start_primaries()
        ports = around.make_secondaries()
        conf = CONF.format(bind_in=around.primaries[0].port,
                           knot_in=around.primaries[1].port,
                           bind_out=ports[0], knot_out=ports[1])
        for zone in machine.own + machine.transferred:
            pattern = {"o": "own", "b": "from-bind", "k": "from-knot"}[zone[0]]
            if zone not in machine.added:
                conf += (f"zone:\n\tname: {zone}\n"
                         f"\tinclude-pattern: {pattern}\n")
        machine.configure(conf)
        yield machine, around
    finally:
        machine.end()
        around.stop()


def read_monitors(machine):
    """The findings of each kind of monitor."""
    text = machine.control("stats_noreset")[1]
    status = machine.control("zonestatus")[1]
    return {"fields": monitors.fields(text),
            "types": monitors.graph(text, "num.type"),
            "codes": monitors.graph(text, "num.rcode"),
            "group": monitors.graph(text, "own.num.type"),
            "zones": monitors.zones(status),
            "serials": monitors.serials(status)}


# Lines of zonestatus that are there while something is under way.
PASSING = {"notify", "transfer", "wait", "notified-serial"}


def is_primary(rows):
    return rows["state"] in ("primary", "master")


def check_monitors(before, after):
    """Monitors find again all that they found before."""
    for name in ("fields", "types", "codes", "group"):
        # A rare type or code is shown when it was seen.
        missing = {key for key in before[name].keys() - after[name].keys()
                   if before[name][key] == 0 or "server" in key}
        assert not missing, name
    assert before["zones"].keys() == after["zones"].keys()
    for zone, rows in before["zones"].items():
        lost = rows.keys() - after["zones"][zone].keys() - PASSING
        assert not lost, zone
        again = after["zones"][zone]
        assert again.get("pattern") == rows.get("pattern"), zone
        # Which state a secondary zone has is a matter of time.
        assert is_primary(again) == is_primary(rows), zone
    assert after["fields"]["num.queries"] > 0


def differences(machine, zone, serial):
    """The type and the serial of each record that IXFR brings (RFC 1995)."""
    query = dns.message.make_query(zone, "IXFR", id=7)
    query.authority.append(dns.rrset.from_text(
        f"{zone}.", 0, "IN", "SOA",
        f"ns.{zone}. host.{zone}. {serial} 1 1 1 1"))
    reply = dns.query.tcp(query, "127.0.0.1", port=machine.port,
                          timeout=PATIENCE, one_rr_per_rrset=True)
    return [(rrset.rdtype, getattr(rr, "serial", None))
            for rrset in reply.answer for rr in rrset]


def has_differences(machine, zone):
    """True if IXFR from serial 1 brings a difference and not the zone."""
    found = differences(machine, zone, 1)
    return found[1:2] == [(dns.rdatatype.SOA, 1)]


def fill(machine, around):
    """Debian's NSD has served for a while, and has all its files."""
    everything = machine.own + machine.transferred
    machine.zones = [z for z in everything if z not in machine.added]
    machine.install(DEBIAN)
    machine.start()
    lines = "".join(f"{zone} own\n" for zone in machine.added)
    assert machine.control("addzones", text=lines)[0] == 0
    machine.zones = everything
    machine.wait_for(1)
    around.start_secondaries()
    around.change(2)
    around.wait_for(2)
    assert machine.control("write")[0] == 0
    wait("zone files", lambda: all(
        path.exists() and '"2"' in path.read_text()
        for path in map(machine.file_of, machine.transferred)))
    wait("files of differences", lambda: all(
        pathlib.Path(f"{machine.file_of(zone)}.ixfr").exists()
        for zone in machine.own + machine.of["bind"]))


def look(machine):
    """Runs our nsd-checkconf, which need not be installed yet, on the
    machine."""
    shutil.copy(build_dir() / "nsd-checkconf", machine.folder / "tmp")
    done = subprocess.run(
        ["nsenter", f"--mount=/proc/{machine.process.pid}/ns/mnt", "--",
         "/tmp/nsd-checkconf", "--migrate", "/etc/nsd/nsd.conf"], text=True,
        capture_output=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout


def test_swapped_amid_others(amid, place):
    """RFC 1995, RFC 1996, RFC 5936"""
    machine, around = amid
    fill(machine, around)
    clients = Clients(machine, place)
    try:
        before = read_monitors(machine)
        code, said = look(machine)
        assert ": error: " not in said
        assert ("zone.list: taken over: "
                f"{len(machine.added)} zones") in said
        assert "xfrd.state: taken over" in said or (
            machine.state.exists() is False)
        machine.stop()
        (machine.folder / "var/nsd.db").unlink(missing_ok=True)

        machine.install(build_dir())
        machine.start()
        wait_well(machine)
        assert not machine.lacking(2)
        check_monitors(before, read_monitors(machine))
        assert [zone for zone in machine.own + machine.of["bind"]
                if not has_differences(machine, zone)] == []
        code, said = look(machine)
        assert code == 0, said
        around.change(3)
        around.wait_for(3)
        check_monitors(before, read_monitors(machine))
        assert machine.control("write")[0] == 0
        machine.stop()
        os.chown(machine.list, 0, 0)

        machine.install(DEBIAN)
        machine.start()
        assert not machine.lacking(3)
        check_monitors(before, read_monitors(machine))
        around.change(4)
        around.wait_for(4)
        codes = clients.end()
    finally:
        clients.kill()
    assert codes["NOERROR"] > codes["NXDOMAIN"] > 0
    # Zones that are not read yet.
    assert set(codes) <= {"NOERROR", "NXDOMAIN", "SERVFAIL", "REFUSED"}
    machine.stop()
