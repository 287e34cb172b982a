"""Debian's NSD is swapped for this server and back, as doc/upgrade.md says:
under the restrictions of its unit, with its own folders, its keys of
nsd-control, a zone.list of root's and an xfrd.state that counts failures."""
import contextlib
import pathlib
import re
import socket
import tempfile

import dns.flags
import dns.message
import dns.rcode
import pytest

import debian_machine
from debian_machine import DEBIAN, wait
from scripted_primary import ScriptedPrimary, reply, soa, whole
from servers import build_dir

pytestmark = pytest.mark.lasts(10)

PRIMARIES, SECONDARIES, ADDED = 900, 60, 40
ZONE = """$TTL 3600
@	IN SOA ns host {serial} 7200 3600 1209600 300
	IN NS ns
ns	IN A 192.0.2.{last}
"""
CONF = """\
pattern:
	name: added
	zonefile: "zones/%s.zone"
pattern:
	name: here
	zonefile: "zones/%s.zone"
	zonestats: "here"
pattern:
	name: there
	zonefile: "/var/lib/nsd/%s.zone"
	request-xfr: 127.0.0.1@{primary} NOKEY
	allow-notify: 127.0.0.1 NOKEY
"""


class Swapped(debian_machine.Machine):
    def __init__(self, folder, primary):
        super().__init__(folder)
        self.secondaries = [f"s{n}.test" for n in range(SECONDARIES)]
        self.added = [f"a{n}.test" for n in range(ADDED)]
        self.zones = [f"p{n}.test" for n in range(PRIMARIES)] \
            + self.secondaries + self.added
        for zone in self.zones:
            self.write_zone(zone, 1)
        conf = CONF.format(primary=primary)
        for zone in self.zones[:-ADDED]:
            conf += (f"zone:\n\tname: {zone}\n\tinclude-pattern: "
                     f"{'there' if zone in self.secondaries else 'here'}\n")
        self.configure(conf)

    def write_zone(self, zone, serial):
        path = self.folder / f"etc/zones/{zone}.zone"
        path.write_text(ZONE.format(serial=serial, last=len(zone)))

    def limit(self):
        """The rate limit of the configuration, which must be in effect."""
        said = self.run("nsd-checkconf", "-o", "rrl-ratelimit",
                        "/etc/nsd/nsd.conf")[1].strip()

        # Questions go at once: a busy machine does not get so many answers a
        # second one by one.
        question = dns.message.make_query("ns.p0.test", "A").to_wire()

        def is_limited():
            with socket.socket(type=socket.SOCK_DGRAM) as sock, \
                    contextlib.suppress(OSError):
                sock.connect(("127.0.0.1", self.port))
                sock.settimeout(0.3)
                for _ in range(int(said) * 2):
                    sock.send(question)
                while not int.from_bytes(sock.recv(4096)[2:4], "big") \
                        & dns.flags.TC:
                    pass
                return True
            return False
        wait("the rate limit", is_limited)
        return said


@pytest.fixture
def upstream():
    """The primary of the secondaries. Its list has the serial."""
    serial = [1]

    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial[0], "7200 3600 90000 300"))]
        return [whole(query, apex, serial[0], timers="7200 3600 90000 300")]
    with ScriptedPrimary(answer) as primary:
        primary.serial = serial
        yield primary


@pytest.fixture
def machine(upstream):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        made = Swapped(folder, upstream.port)
        try:
            yield made
        finally:
            made.end()


def fill(machine):
    """Debian's NSD has served for a while."""
    machine.zones, zones = machine.zones[:-ADDED], machine.zones
    machine.install(DEBIAN)
    machine.start()
    machine.zones = zones
    lines = "".join(f"{zone} added\n" for zone in machine.added)
    assert machine.control("addzones", text=lines)[0] == 0
    wait("zones that were added",
         lambda: len(machine.answers()) == len(machine.zones))


def test_swapped_in_and_back(machine, upstream):
    fill(machine)
    limit = machine.limit()
    assert limit == "200"
    before, counters = machine.answers(), machine.counters()
    machine.control("write")
    wait("zone files", lambda: len(list(
        (machine.folder / "var").glob("s*.zone"))) == SECONDARIES)
    machine.stop()
    # The state says that the primaries were away for a while.
    text, count = re.subn(r"(state: 0 .*(?:\n\t.*)*?\n\tbackoff: )0",
                          r"\g<1>2", machine.state.read_text())
    assert count == SECONDARIES
    machine.state.write_text(text)

    machine.install(build_dir())
    machine.start()
    assert machine.answers() == before
    status = machine.control("status")[1]
    assert "trouble" not in status
    assert machine.limit() == limit and f"rrl-ratelimit {limit}" in (
        machine.output.read_text())
    assert set(counters) <= set(machine.counters())
    assert "error" not in machine.output.read_text()

    # Changes made here are there for NSD.
    assert machine.control("delzone", machine.added[0]) == (0, "ok\n")
    machine.zones.remove(machine.added[0])
    machine.zones.append("more.test")
    machine.write_zone("more.test", 1)
    assert machine.control("addzone", "more.test", "added") == (0, "ok\n")
    machine.write_zone("p1.test", 2)
    assert machine.control("reload")[0] == 0
    upstream.serial[0] = 2
    assert machine.control("transfer")[0] == 0
    wait("transfers", lambda: all(
        machine.serial(zone) == 2 for zone in machine.secondaries))
    assert "trouble" not in machine.control("status")[1]
    between = machine.answers()

    assert machine.control("write")[0] == 0
    machine.stop()
    assert machine.list.stat().st_uid == 0
    (machine.folder / "var/nsd.db").unlink(missing_ok=True)
    upstream.serial[0] = 3  # not asked for: they are fresh
    machine.install(DEBIAN)
    machine.start()
    assert machine.answers() == between
    assert machine.ask(machine.added[0]).rcode() == dns.rcode.REFUSED
    assert machine.limit() == limit
    assert "error" not in machine.output.read_text()
    machine.stop()
