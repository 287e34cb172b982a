"""Names in the RDATA of later types that a primary sends compressed (RFC 3597
section 4 forbids it; products do it): taken, and never sent so."""
import socket
import struct

import dns.message
import dns.name
import dns.rdatatype

import scripted_primary
from harness import DEADLINE, zone_text
from scripted_primary import ScriptedPrimary, reply

APEX = dns.name.from_text("s.test")
TO_APEX = b"\xc0\x0c"  # of the question
ZONE = """\
zone:
	name: s.test
	zonefile: s.test.zone
	request-xfr: 127.0.0.1@{} NOKEY
	provide-xfr: 127.0.0.1 NOKEY
"""
SIG = (struct.pack("!HBBIIIH", 1, 13, 3, 300, 2**31 - 1, 0, 77) + TO_APEX
       + b"signature")
# Owner, type, RDATA as it is sent.
RECORDS = [
    ("d", "DNAME", b"\1x" + TO_APEX),
    ("k", "KX", b"\0\1\1x" + TO_APEX),
    ("n", "NSEC", TO_APEX + b"\0\1\x40"),
    ("a", "RRSIG", SIG),
    ("v", "SVCB", b"\0\1\1x" + TO_APEX),
    ("h", "HTTPS", b"\0\1\1x" + TO_APEX + b"\0\3\0\2\1\xbb"),
    ("l", "LP", b"\0\1\1x" + TO_APEX),
    ("i", "IPSECKEY", b"\1\3\2\1x" + TO_APEX + b"key"),
    ("t", "TALINK", b"\1x" + TO_APEX + TO_APEX),
    ("p", "NSAP-PTR", b"\1x" + TO_APEX),
    ("r", "AMTRELAY", b"\1\3\1x" + TO_APEX),
    ("c", "HIP", b"\1\2\0\1hk\1x" + TO_APEX + TO_APEX),
]
TYPES = {"TALINK": 58, "NSAP-PTR": 23, "LP": 107}


def number(rdtype):
    return TYPES.get(rdtype) or int(dns.rdatatype.from_text(rdtype))


def record(owner, rdtype, rdata):
    owner = (bytes([len(owner)]) + owner.encode() if owner else b"") + TO_APEX
    return owner + struct.pack("!HHIH", number(rdtype), 1, 300,
                               len(rdata)) + rdata


def soa(serial):
    return record("", "SOA", TO_APEX + TO_APEX + struct.pack(
        "!IIIII", serial, 1, 1, 3600, 300))


def primary_of(serial):
    """IXFR takes all of RECORDS away."""
    def answer(apex, qtype, query):
        rows = [record(*row) for row in RECORDS]
        current = serial[0]
        if qtype == "SOA":
            return [reply(query, scripted_primary.soa(apex, current))]
        if qtype == "IXFR" and current > 1:
            rows = [soa(current), soa(1), *rows, soa(current), soa(current)]
        else:
            rows = [soa(current), record("", "NS", b"\2ns" + TO_APEX),
                    record("ns", "A", bytes([192, 0, 2, 1])), *rows,
                    record("a", "A", bytes([192, 0, 2, 7])), soa(current)]
        return [struct.pack("!HHHHHH", query.id, 0x8400, 1, len(rows), 0, 0)
                + APEX.to_wire() + struct.pack("!HH", number(qtype), 1)
                + b"".join(rows)]
    return answer


def has(reply, rdtype, rdata):
    return struct.pack("!HHIH", number(rdtype), 1, 300,
                       len(rdata)) + rdata in reply


def ask(server, owner, rdtype):
    query = dns.message.make_query(f"{owner}.s.test", number(rdtype))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(DEADLINE)
        sock.sendto(query.to_wire(), (server.address, server.port))
        return sock.recv(65535)


def test_names_of_later_types_are_expanded(nsd):
    serial = [1]
    with ScriptedPrimary(primary_of(serial)) as primary:
        server = nsd(zones={"example": zone_text()},
                     extra=ZONE.format(primary.port))
        server.wait_serial("s.test", 1)
        for owner, rdtype, rdata in RECORDS:
            whole = rdata.replace(TO_APEX, APEX.to_wire())
            assert has(ask(server, owner, rdtype), rdtype, whole), rdtype
        serial[0] = 2
        server.wait_serial("s.test", 2)
        assert ("s.test.", "IXFR") in primary.asked
        for owner, rdtype, _ in RECORDS:
            rcode = server.rcode(f"{owner}.s.test", number(rdtype))
            assert rcode == ("NOERROR" if owner == "a" else "NXDOMAIN")
        assert server.answer("a.s.test", "A") == ["192.0.2.7"]
