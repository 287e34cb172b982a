#!/usr/bin/env -S python3 -B
"""The table "Lines of the log" of doc/messages.md: what our server and NSD say
of the same events at verbosity 0 to 3.

usage: NSD_BUILD=DIR lines.py [--write]

Each event has a zone of its own, so that its lines are found by that name. What
differs from run to run is replaced: addresses with ports by A, times, octets.
"""
import concurrent.futures
import contextlib
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / name)
                for name in ("peers", "lib", "blackbox")]

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rrset

import servers
from ports import free_port
from scripted_primary import ScriptedPrimary, reply, soa, whole

DOCUMENT = TOP / "doc/messages.md"
HEADING = "\n## Lines of the log\n"
HEAD = ["| event | at | NSD | ours |", "|---|---|---|---|"]
ZONE = """\
$TTL 3600
@	IN SOA ns host 1 7200 3600 1209600 300
	IN NS ns
ns	IN A 192.0.2.1
"""
SHORT = "1 1 2 300"
DEADLINE = 60
VERBOSITIES = range(4)

SERVER = ""  # lines of no zone
# Zones that are transferred, and what their primary does.
EVENTS = {
    "axfr": "a first transfer",
    "ixfr": "differences",
    "fallback": "differences that the primary does not give",
    "same": "a primary with the same serial",
    "expires": "a zone that expires",
    "refused": "a primary that refuses",
    "notauth": "a primary that is not authoritative",
    "away": "a primary that does not listen",
    "garbage": "a transfer that is malformed",
    "stale": "a primary with an older serial",
    "told": "a target of NOTIFY that refuses",
    "deaf": "a target of NOTIFY that does not listen",
    "out": "a transfer that is asked for",
    "closed": "the same by one who may not have it",
    "blocked": "the same by one who is blocked",
    "shut": "a query by one who is blocked",
    "unasked": "a NOTIFY of one who may not send it",
    "barred": "a NOTIFY of one who is blocked",
    "file": "a zone file that has changed",
    "broken": "a zone file that is broken",
    SERVER: "a start, a reload, a verb of control, a stop",
}
SECONDARIES = ("axfr", "ixfr", "fallback", "same", "expires", "refused",
               "notauth", "away", "garbage", "stale", "barred")
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
# Of ours alone, or of theirs alone, and not of the event.
LEFT_OUT = re.compile(r"request \S+ zone transfer|does not exist|to disk$")
# Lines of zones before their event, and when they are written.
BEFORE = re.compile(r"serial 0 is updated to 1|received update to serial 1 "
                    r"|(writing|written to).* file|read with success")
# Of the event, beside what depends on the time that things take.
ONLY = {"axfr": "", "file": "", "expires": "expired"}
# Lines about the server itself, where others read the event.
OF_SERVER = re.compile(r"nsd starting|nsd started|listen on|SIGHUP"
                       r"|signal received|control cmd")


class Scripts:
    """The primaries: they have serial 1, then another."""

    def __init__(self):
        self.serial = 1

    def answer(self, apex, rdtype, query):
        zone = apex.split(".")[0]
        serial = self.serial if zone in ("ixfr", "fallback") else (
            2 - self.serial if zone == "stale" else 1)
        if zone == "expires":
            return self.answer_once(apex, rdtype, query)
        if zone in ("refused", "notauth"):
            message = reply(query)
            message.set_rcode(dns.rcode.REFUSED if zone == "refused"
                              else dns.rcode.NOTAUTH)
            return [message]
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial))]
        if zone == "fallback" and rdtype == "IXFR":
            message = reply(query)
            message.set_rcode(dns.rcode.NOTIMP)
            return [message]
        if zone == "garbage":
            return [whole(query, apex, 1).to_wire()[:-40]]
        if rdtype == "IXFR" and zone == "ixfr" and serial == 2:
            new = dns.rrset.from_text(f"new.{apex}", 300, "IN", "A",
                                      "192.0.2.2")
            return [reply(query, soa(apex, 2), soa(apex, 1), soa(apex, 2),
                          new, soa(apex, 2))]
        return [whole(query, apex, serial)]


    def answer_once(self, apex, rdtype, query):
        """Answers once: the primary is gone after the first transfer."""
        if self.serial > 1:
            return [None]
        return [reply(query, soa(apex, 1, SHORT)) if rdtype == "SOA"
                else whole(query, apex, 1, timers=SHORT)]


def refuse(_apex, _rdtype, query):
    message = reply(query)
    message.set_rcode(dns.rcode.REFUSED)
    return [message]


def of(kind, verbosity):
    """A server that says so much."""
    class Verbose(kind):
        def command(self):
            made = super().command()
            conf = self.dir / "nsd.conf"
            conf.write_text(conf.read_text().replace(
                "verbosity: 1", f"verbosity: {verbosity}"))
            return made
    return Verbose


def configure(server, path, primary, target, directory):
    dead = free_port()
    options = {zone: [f"request-xfr: 127.0.0.1@{primary} NOKEY",
                      "allow-notify: 127.0.0.1 NOKEY"]
               for zone in SECONDARIES}
    options["away"][0] = f"request-xfr: 127.0.0.1@{dead} NOKEY"
    options |= {
        "told": [f"notify: 127.0.0.1@{target} NOKEY", "notify-retry: 1"],
        "deaf": [f"notify: 127.0.0.1@{dead} NOKEY", "notify-retry: 1"],
        "out": ["provide-xfr: 127.0.0.1 NOKEY"], "closed": [],
        "blocked": ["provide-xfr: 127.0.0.1 BLOCKED"],
        "shut": ["allow-query: 127.0.0.1 BLOCKED"], "unasked": [],
        "file": [], "broken": []}
    options["barred"][1] = "allow-notify: 127.0.0.0/24 BLOCKED"
    for zone in ("file", "broken"):
        (directory / f"{zone}.zone").write_text(ZONE)
    own = (*SECONDARIES, "file", "broken")
    server.control = ["\tcontrol-enable: yes",
                      f"\tcontrol-interface: {server.dir}/control"]
    for zone, lines in options.items():
        file = directory / f"{zone}.zone" if zone in own else path
        server.more += ["zone:", f"\tname: {zone}.test",
                        f'\tzonefile: "{file}"',
                        *(f"\t{line}" for line in lines)]


def send(server, message):
    """The reply. NSD may lose one while it reloads."""
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.settimeout(DEADLINE / 20)
        for _ in range(20):
            client.sendto(message.to_wire(), ("127.0.0.1", server.port))
            with contextlib.suppress(TimeoutError):
                return client.recv(4096)
    raise TimeoutError("no reply")


def notify(server, zone, serial):
    message = dns.message.make_query(f"{zone}.test", "SOA")
    message.flags = message.flags & ~0x7800 | 4 << 11 | dns.flags.AA
    message.answer.append(soa(f"{zone}.test.", serial))
    send(server, message)


def transfer(server, zone):
    query = dns.message.make_query(f"{zone}.test", "AXFR")
    dns.query.tcp(query, "127.0.0.1", port=server.port, timeout=DEADLINE)


def wait(check):
    end = time.monotonic() + DEADLINE
    while not check():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def serial_of(server, zone):
    answer = dns.message.from_wire(send(server, dns.message.make_query(
        f"{zone}.test", "SOA"))).answer
    return answer[0][0].serial if answer else None


def is_of(zone, line):
    if zone == SERVER:
        return OF_SERVER.search(line)
    if f"{zone}.test" not in line or LEFT_OUT.search(line):
        return False
    return ONLY[zone] in line if zone in ONLY else not BEFORE.search(line)


def lines_of(server):
    """{zone: lines that name it}, in the order in which they came; but a NOTIFY
    comes first: whoever takes it may say so after another process has done all."""
    found = {zone: [] for zone in EVENTS}
    for line in (server.dir / "log").read_text().splitlines():
        line = re.sub(r"^\[[^]]*\] nsd\[\d+\]: ", "", line)
        for zone in EVENTS:
            if is_of(zone, line):
                line = DATE.sub("TIME", line)
                line = re.sub(r"127\.0\.0\.1@\d+", "A@P", line)
                line = re.sub(r"of \d+ bytes in \S+ seconds",
                              "of N bytes in S seconds", line)
                line = re.sub(r"\S+/(\w+\.zone)\b", r"FOLDER/\1", line)
                line = re.sub(r"\(NSD [\d.]+\)", "(NSD V)", line)
                line = re.sub(r"pid \d+", "pid N", line)
                if line not in found[zone]:
                    found[zone].append(line)
    for lines in found.values():
        lines.sort(key=lambda line: not line.startswith("info: notify for"))
    return found


def has_ended(server):
    """True once all lines that do not depend on the verbosity are in the
    log."""
    said = (server.dir / "log").read_text()
    return all(re.search(pattern, said) for pattern in (
        r"ixfr\.test serial 1 is updated to 2", r"refused\.test.* REFUSED",
        r"notauth\.test.* AUTHORITATIVE", r"away\.test: Could not",
        r"told\.test: received notify response",
        r"deaf\.test: max notify send",
        r"fallback\.test serial 1 is updated to 2",
        r"expires\.test has expired",
        r"broken\.test file .* read with"))


def change_files(server, directory):
    (directory / "file.zone").write_text(ZONE.replace("host 1", "host 2"))
    (directory / "broken.zone").write_text("nonsense\n" + ZONE)
    server.process.send_signal(signal.SIGHUP)
    program = (servers.build_dir() if server.name == "ours"
               else pathlib.Path("/usr/sbin")) / "nsd-control"
    subprocess.run([program, "-c", server.dir / "nsd.conf", "status"],
                   stdout=subprocess.DEVNULL, timeout=DEADLINE, check=True)


def run(kind, verbosity):
    """The log of a server of that kind."""
    scripts = Scripts()
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory()))
        path = directory / "zone"
        path.write_text(ZONE)
        primary = stack.enter_context(ScriptedPrimary(scripts.answer))
        target = stack.enter_context(ScriptedPrimary(refuse))
        server = of(kind, verbosity)({"p.test": path})
        configure(server, path, primary.port, target.port, directory)
        stack.callback(server.stop)
        server.start()
        wait(lambda: all(serial_of(server, zone) == 1 for zone in (
            "axfr", "ixfr", "stale", "fallback", "same", "expires")))
        scripts.serial = 2
        for zone in ("ixfr", "stale", "fallback", "same"):
            notify(server, zone, 2)
        wait(lambda: serial_of(server, "ixfr") == 2
             == serial_of(server, "fallback"))
        for zone in ("out", "closed", "blocked"):
            with contextlib.suppress(dns.exception.DNSException):
                transfer(server, zone)
        send(server, dns.message.make_query("shut.test", "A"))
        notify(server, "unasked", 2)
        notify(server, "barred", 2)
        change_files(server, directory)
        wait(lambda: serial_of(server, "file") == 2)
        wait(lambda: primary.asked.count(("garbage.test.", "AXFR")) > 1)
        wait(lambda: has_ended(server))
        if verbosity > 0:
            wait(lambda: "ignoring old serial" in
                 (server.dir / "log").read_text())
        server.end()
        return lines_of(server)


def collect():
    """[event, at, theirs, ours]: the lines, at the least verbosity."""
    # At a time: NSD waits for 15 s until it gives a target up.
    which = [(kind, v) for kind in (servers.Nsd, servers.Ours)
             for v in VERBOSITIES]
    with concurrent.futures.ThreadPoolExecutor(len(which)) as pool:
        said = dict(zip(which, pool.map(lambda one: run(*one), which)))
    rows = []
    for zone, event in EVENTS.items():
        cells = {}
        for kind in (servers.Nsd, servers.Ours):
            seen = []
            for v in VERBOSITIES:
                for line in said[kind, v][zone]:
                    if line not in seen:
                        seen.append(line)
                        cells.setdefault(v, {}).setdefault(
                            kind.name, []).append(line)
        for v in sorted(cells):
            rows.append([event, str(v), *(
                "<br>".join(f"`{line}`" for line in
                            cells[v].get(kind.name, []))
                for kind in (servers.Nsd, servers.Ours))])
    return rows


def document(rows):
    text = DOCUMENT.read_text()
    begin = text.index(HEAD[0], text.index(HEADING))
    rest = text[begin:].splitlines()
    length = next((i for i, line in enumerate(rest)
                   if not line.startswith("|")), len(rest))
    table = HEAD + ["| " + " | ".join(row) + " |" for row in rows]
    return text[:begin] + "\n".join(table + rest[length:]) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        DOCUMENT.write_text(document(collect()))
    else:
        print("\n".join("\t".join(row) for row in collect()))
