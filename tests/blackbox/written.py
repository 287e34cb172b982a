"""Secondary zones whose files are written: a primary, options, and what stands in
the files."""
from control import config
from harness import wait_for, zone_text
from scripted_primary import ScriptedPrimary, records, reply, soa, whole


class Primary(ScriptedPrimary):
    """A primary of every zone, with one serial, and records as a test says."""

    def __init__(self):
        self.serial = 1
        self.records = ["www A 192.0.2.9"]
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, self.serial))]
        parts = [whole(query, apex, self.serial)]
        end = parts[0].answer.pop()
        parts += [reply(query, *records(apex, *self.records[i:i + 200]))
                  for i in range(0, len(self.records), 200)]
        return [*parts, reply(query, end)]


def secondary(primary, name="s.test", file="s.test.zone"):
    zonefile = f"\tzonefile: {file}\n" if file else ""
    return (f"zone:\n\tname: {name}\n{zonefile}"
            f"\trequest-xfr: AXFR 127.0.0.1@{primary.port} NOKEY\n"
            "\tallow-notify: 127.0.0.1 NOKEY\n"
            "\tmin-retry-time: 1\n\tmax-retry-time: 2\n")


def start_controlled(make_server, primary, zones=None, **options):
    """A server that writes zone files on command only. A process that a test
    stops stays."""
    server = make_server(
        zones={"example": zone_text()},
        extra=zones or secondary(primary),
        options={"verbosity": 3, "zonefiles-write": 0,
                 "replace-hung": "no", **options})
    config(server).start()
    return server


def read(path):
    return path.read_text() if path.exists() else ""


def wait_file(path, serial, name="s.test"):
    """Waits until the file has a serial; returns its text."""
    comment = f"; received update to serial {serial} at "
    wait_for(f"serial {serial} in {path}", lambda: comment in read(path))
    text = read(path)
    assert text.startswith(f"; zone {name} written by NSD ")
    return text
