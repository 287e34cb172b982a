"""Changes of a zone, and who takes them: this server by tests/lib/nsd_update, from
xfrd to the loader; the others as secondaries of primary.py."""
import os
import re
import shutil
import struct
import threading
import time

import primary
import servers
from update_watch import ZONE, asked_serial

SERIAL = 2025010101  # gen_zone writes it
SLOTS = 50           # pairs of delegations that are replaced in turn
SLOTS_TTL = 86400


def soa_text(serial):
    return (f"ns1.nic.net. hostmaster.nic.net. {serial} 1800 900 604800 900")


def soa_wire(serial):
    return primary.wire_record(
        ZONE, 3600, primary.SOA,
        primary.wire_name("ns1.nic.net") + primary.wire_name(
            "hostmaster.nic.net")
        + struct.pack(">IIIII", serial, 1800, 900, 604800, 900))


def delegations(n):
    """(owner, name server, address) that change n puts, n > 0."""
    for letter in "ab":
        owner = f"upd-{n % SLOTS}-{letter}.{ZONE}"
        yield (owner, f"ns{n}.{owner}",
               (192, 0, n >> 8 & 255, n & 255))


def change_text(n):
    """The text of a change for nsd_update."""
    lines = [f"zone {ZONE}.",
             f"remove @ 3600 SOA {soa_text(SERIAL + n - 1)}",
             f"add @ 3600 SOA {soa_text(SERIAL + n)}"]
    for action, k in (("remove", n - SLOTS), ("add", n)):
        if k <= 0:
            continue
        for owner, server, address in delegations(k):
            lines.append(f"{action} {owner}. {SLOTS_TTL} NS {server}.")
            lines.append(f"{action} {server}. {SLOTS_TTL} A "
                         + ".".join(map(str, address)))
    return ("\n".join(lines) + "\nsend\n").encode()


def change_wire(n):
    """The records of an IXFR."""
    records = []
    for serial, k in ((SERIAL + n - 1, n - SLOTS), (SERIAL + n, n)):
        records.append(soa_wire(serial))
        if k <= 0:
            continue
        for owner, server, address in delegations(k):
            records.append(primary.wire_record(
                owner, SLOTS_TTL, 2, primary.wire_name(server)))
            records.append(primary.wire_record(
                server, SLOTS_TTL, 1, bytes(address)))
    return records


class OurChanges:
    """Sends changes to nsd_update, and reads what came of them."""

    def __init__(self, server):
        self.server = server
        self.n = 0
        self.pipe = server.process.stdin.fileno()
        self.answers = []
        self.refused = 0
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.server.process.stdout:
            got = re.match(rb"\d+ ok .* usec (\d+)", line)
            if got:
                self.answers.append(int(got[1]) / 1000)
            else:
                self.refused += 1

    def prepare(self, count):
        self.ready = [change_text(self.n + 1 + i) for i in range(count)]

    def send(self):
        self.n += 1
        os.write(self.pipe, self.ready.pop(0))

    def applied(self):
        """True once all changes sent have been answered."""
        return len(self.answers) + self.refused >= self.n

    def remind(self):
        pass

    def stop(self):
        pass


class RivalChanges:
    def __init__(self):
        self.primary = primary.Primary(ZONE, SERIAL, soa_wire)
        self.server = None  # once it runs
        self.told, self.told_sec = SERIAL, 0
        self.n = 0

    def prepare(self, count):
        self.ready = [change_wire(self.n + 1 + i) for i in range(count)]

    def send(self):
        """NSD 4.6.1 gives up IXFR for good ("update failed, restarting
        transfer") if a transfer ends while it reloads for the one before: it
        is told of a change once it serves what it was told of last."""
        self.n += 1
        self.primary.change(self.ready.pop(0))
        self.remind()

    def applied(self):
        return asked_serial(self.server.port) == SERIAL + self.n

    def remind(self):
        if self.server.kind == "nsd" and self.told_sec + 5 > \
                time.monotonic() and \
                asked_serial(self.server.port, 0.02) != self.told:
            return
        self.told = self.primary.serial
        self.told_sec = time.monotonic()
        self.primary.notify(self.server.port)

    def stop(self):
        self.primary.stop()


def secondary_of(kind, port):
    """A function like those of servers.CONFS, for a secondary of the port."""
    def conf(work, own_port, workers, zones):
        path = os.path.join(work, "secondary.zone")
        if kind == "bind":
            shutil.copyfile(zones.zones[ZONE], path)  # named rewrites it
        else:
            os.symlink(zones.zones[ZONE], path)
        none = servers.ZoneSet(zones.name)
        name, text = servers.CONFS[kind](work, own_port, workers, none)
        return name, SECONDARIES[kind](text, path, port)
    return conf


def secondary_nsd(text, path, port):
    text = text.replace("server:\n", "server:\n\tzonefiles-write: 0\n", 1)
    return text + f"""zone:
\tname: "{ZONE}"
\tzonefile: "{path}"
\trequest-xfr: 127.0.0.1@{port} NOKEY
\tallow-notify: 127.0.0.1 NOKEY
"""


def secondary_knot(text, path, port):
    before, after = text.split("template:\n")
    return before + f"""remote:
  - id: primary
    address: 127.0.0.1@{port}
acl:
  - id: notify
    address: 127.0.0.1
    action: notify
template:
{after}zone:
  - domain: "{ZONE}"
    file: "{path}"
    master: primary
    acl: notify
"""


def secondary_named(text, path, port):
    text = text.replace("options {\n", "options {\n\tserial-query-rate 1000;"
                        "\n", 1)
    return text + f"""zone "{ZONE}" {{ type secondary; file "{path}";
\tmasterfile-format text; primaries port {port} {{ 127.0.0.1; }};
\tallow-notify {{ 127.0.0.1; }}; }};
"""


SECONDARIES = {"nsd": secondary_nsd, "knot": secondary_knot,
               "bind": secondary_named, "ours": secondary_nsd}


def rival_server(kind, program, zones, work, cpus, workers, primary_port):
    return servers.Server(kind, program, zones, work, cpus, workers,
                          conf=secondary_of(kind, primary_port))
