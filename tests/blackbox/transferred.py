"""Contents of transfers, as octets: see include/xfr/changes.h."""

import struct
import subprocess

import dns.name
import dns.rdata
import dns.rdatatype

from harness import BUILD

PROGRAM = BUILD / "tests/lib/transferred"
WHOLE, DIFFS = 3, 4
# The SOA of harness.zone_text.
SOA = "SOA ns host {} 7200 3600 1209600 300"


def record(action, line, apex):
    """line: OWNER TTL TYPE RDATA, as tests/lib/nsd_update.c takes it."""
    owner, ttl, rdtype, *rdata = line.split(None, 3)
    name = dns.name.from_text(owner, apex) if owner != "@" else apex
    data = dns.rdata.from_text("IN", rdtype, rdata[0] if rdata else "",
                               origin=apex, relativize=False).to_wire()
    return (bytes([action]) + name.to_wire()
            + struct.pack("!HIH", dns.rdatatype.from_text(rdtype), int(ttl),
                          len(data)) + data)


def soa(serial):
    return "@ 3600 " + SOA.format(serial)


def whole(name, serial, *lines):
    apex = dns.name.from_text(name)
    return bytes([WHOLE]) + apex.to_wire() + b"".join(
        record(1, line, apex) for line in (
            soa(serial), "@ 3600 NS ns", "ns 60 A 192.0.2.53", *lines))


def diffs(name, *versions):
    """Versions: from, to, lines of removals, lines of additions."""
    apex = dns.name.from_text(name)
    return bytes([DIFFS]) + apex.to_wire() + b"".join(
        record(0, soa(old), apex)
        + b"".join(record(0, line, apex) for line in removed)
        + record(1, soa(new), apex)
        + b"".join(record(1, line, apex) for line in added)
        for old, new, removed, added in versions)


def keep(server, name, start, end, octets):
    """Puts octets into the journal of a server that does not run."""
    folder = server.directory / "xfrd.state.journal"
    subprocess.run([PROGRAM, "keep", folder, name, str(start), str(end)],
                   input=octets, check=True)


def whole_of_file(name, path):
    return subprocess.run([PROGRAM, "whole", name, path], check=True,
                          capture_output=True).stdout
