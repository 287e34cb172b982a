"""Catalog zones (RFC 9432), and a primary that has them and their members.

    with Primary() as primary:
        serial = primary.put("cat.test", *catalog(member("a1", "a.test")))
        server = consumer(make_server, primary).start()
        settle(server, "cat.test", serial)
        assert members(server) == {"a.test": "member"}

A version is a set of lines OWNER TTL TYPE RDATA, with owners relative to the
catalog. The primary has all versions, and answers IXFR with the differences.
Names that it has no version of are member zones with one address.
"""
import json

import dns.message
import dns.name
import dns.opcode
import dns.query
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rdtypes.ANY.PTR
import dns.rrset

import control
from harness import DEADLINE, wait_for
from scripted_primary import (ScriptedPrimary, error, reply, soa, whole)

TIMERS = "3600 3600 86400 300"
# Records of a message of a transfer.
MESSAGE = 400
PATTERN = """pattern:
	name: {name}
	zonefile: "{zonefile}"
{primary}{more}"""
CATALOG = """zone:
	name: {name}
	zonefile: "{name}.zone"
	catalog: consumer
	allow-notify: 127.0.0.1 NOKEY
	request-xfr: 127.0.0.1@{port} NOKEY
{more}"""
MEMBER_PATTERN = "\tcatalog-member-pattern: member\n"


def member(label, name, groups=(), coo=None):
    """The lines of a member node."""
    return [f"{label}.zones 0 PTR {name}.",
            *(f'group.{label}.zones 0 TXT "{g}"' for g in groups),
            *([f"coo.{label}.zones 0 PTR {coo}."] if coo else [])]


def catalog(*nodes, version=("2",)):
    """The lines of a version: lists of lines, or lines. version: its version
    properties."""
    lines = ["@ 0 NS invalid.", *(f'version 0 TXT "{v}"' for v in version)]
    for node in nodes:
        lines += [node] if isinstance(node, str) else node
    return lines


def rrset(apex, line):
    owner, ttl, rdtype, rdata = line.split(maxsplit=3)
    name = apex if owner == "@" else f"{owner}.{apex}"
    if rdtype != "PTR":
        return dns.rrset.from_text(name, int(ttl), "IN", rdtype, rdata)
    # The reader of texts takes escapes away before it reads a name.
    target = dns.rdtypes.ANY.PTR.PTR(dns.rdataclass.IN, dns.rdatatype.PTR,
                                     dns.name.from_text(rdata))
    return dns.rrset.from_rdata(name, int(ttl), target)


class Primary(ScriptedPrimary):
    def __init__(self):
        super().__init__(self.on_query)
        self.versions = {}   # apex: [(serial, lines)]
        self.timers = {}     # apex: timers of the SOA
        self.serials = {}    # of member zones, if not 1
        self.refused = set()  # apexes of zones that are not to be had
        self.cut = set()     # apexes whose transfers break off
        self.no_ixfr = False
        self.transfers = []  # (apex, type) of those that were answered

    def put(self, name, *lines, serial=None):
        """Makes a version; returns its serial."""
        versions = self.versions.setdefault(name + ".", [])
        serial = serial or (versions[-1][0] + 1 if versions else 1)
        # A version is whole before it can be seen.
        versions.append((serial, sorted(set(lines))))
        return serial

    def soa(self, apex, serial):
        return soa(apex, serial, self.timers.get(apex, TIMERS))

    def on_query(self, apex, rdtype, query):
        if apex in self.refused:
            return error(query, dns.rcode.REFUSED)
        versions = list(self.versions.get(apex, []))
        if not versions:
            return self.on_member(apex, rdtype, query)
        if rdtype == "SOA":
            return [reply(query, self.soa(apex, versions[-1][0]))]
        self.transfers.append((apex, rdtype))
        sent = self.messages(query, self.difference(apex, versions, query)
                             if rdtype == "IXFR" and not self.no_ixfr
                             else self.all(apex, versions[-1]))
        return [*sent[:-1], None] if apex in self.cut else sent

    def on_member(self, apex, rdtype, query):
        serial = self.serials.get(apex, 1)
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial, TIMERS))]
        self.transfers.append((apex, rdtype))
        return [whole(query, apex, serial, "www A 192.0.2.1", timers=TIMERS)]

    def all(self, apex, version):
        serial, lines = version
        return [self.soa(apex, serial), *(rrset(apex, i) for i in lines),
                self.soa(apex, serial)]

    def difference(self, apex, versions, query):
        """The versions from that of the query on; else all (RFC 1995 section
        4)."""
        known = query.authority[0][0].serial
        steps = [i for i, (serial, _) in enumerate(versions)
                 if serial == known]
        last = self.soa(apex, versions[-1][0])
        if not steps:
            return self.all(apex, versions[-1])
        if steps[-1] == len(versions) - 1:
            return [last]
        records = [last]
        for old, new in zip(versions[steps[-1]:], versions[steps[-1] + 1:]):
            records += [self.soa(apex, old[0]),
                        *(rrset(apex, i) for i in
                          sorted(set(old[1]) - set(new[1]))),
                        self.soa(apex, new[0]),
                        *(rrset(apex, i) for i in
                          sorted(set(new[1]) - set(old[1])))]
        return [*records, last]

    def messages(self, query, records):
        """At least two, so that a transfer can be cut."""
        size = min(MESSAGE, max(len(records) - 1, 1))
        return [reply(query, *records[i:i + size])
                for i in range(0, len(records), size)]

    def notify(self, server, name):
        query = dns.message.make_query(name, "SOA")
        query.set_opcode(dns.opcode.NOTIFY)
        dns.query.udp(query, server.address, port=server.port,
                      timeout=DEADLINE)

    def give(self, server, name, *lines, **more):
        """Makes a version, has it fetched, and waits until the server has
        done what it says."""
        serial = self.put(name, *lines, **more)
        self.notify(server, name)
        settle(server, name, serial)
        return serial


# ---- the consumer

def pattern(name, primary=None, zonefile="%s.zone", more=""):
    """A pattern of secondaries; without a primary, of zones with a file."""
    lines = "" if primary is None else (
        "\tallow-notify: 127.0.0.1 NOKEY\n"
        f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n")
    return PATTERN.format(name=name, zonefile=zonefile, primary=lines,
                          more=more)


def clause(primary, name="cat.test", more=MEMBER_PATTERN):
    return CATALOG.format(name=name, port=primary.port, more=more)


def consumer(make_server, primary, *names, patterns=("member",), more="",
             own=MEMBER_PATTERN, **arguments):
    """A server that is not started. names: of its catalogs; own: their
    options; more: clauses."""
    extra = "".join(pattern(p, primary) for p in patterns) + "".join(
        clause(primary, name, own) for name in names or ("cat.test",)) + more
    return control.config(make_server(extra=extra, **arguments))


def source(server, name):
    """The object of the verb catalogs for a source; None: there is none."""
    code, text = control.ask(server, "-j", "catalogs")
    assert code == 0, text
    return next((s for s in json.loads(text) if s["source"] == name), None)


def settle(server, name, serial):
    """Waits until a version was looked at, and what it says is done."""
    def look():
        found = source(server, name)
        if found is None or found["state"] == "busy":
            return None
        invalid = found["invalid"]
        return serial in (found["serial"], invalid and invalid["serial"]
                          ) and found
    return wait_for(f"version {serial} of {name}", look)


def members(server):
    """{name: pattern} of zones that are not in nsd.conf."""
    code, text = control.ask(server, "listzones")
    assert code == 0, text
    return dict(line.split("\t") for line in text.splitlines()
                if "\t" in line)


def wait_members(server, expected):
    wait_for(f"the members {expected}",
             lambda: members(server) == expected)


def status(server, name):
    """The lines of zonestatus as a dictionary."""
    code, text = control.ask(server, "zonestatus", name)
    assert code == 0, text
    return dict(line.strip().split(":", 1)[0:1]
                + [line.split(":", 1)[1].strip()]
                for line in text.splitlines())


def serves(server, name):
    return server.rcode(f"www.{name}", "A") == "NOERROR"


def wait_served(server, *names):
    for name in names:
        wait_for(f"{name} to be served", lambda n=name: serves(server, n))


def wait_gone(server, *names):
    for name in names:
        wait_for(f"the end of {name}",
                 lambda n=name: server.rcode(n, "SOA") == "REFUSED")
