"""Requests that servers answer in ways of their own: meta types, records that
no request needs, answers that are too large. Each row says what ours and the
real BIND, Knot and NSD reply, and so what the majority is.
"""
import collections
import socket
import struct

import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import pytest

import servers

TIMEOUT = 5

ZONE = """\
$ORIGIN example.
$TTL 3600
@	IN SOA ns h 1 2 3 4 300
	IN NS ns
ns	IN A 192.0.2.1
long	IN CNAME big
""" + "".join(f'big IN TXT "a-text-that-makes-it-large-enough-{i}"\n'
              for i in range(1400))


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    zone = tmp_path_factory.mktemp("requests") / "example.zone"
    zone.write_text(ZONE)
    started = {}
    try:
        for kind in (servers.Ours, *servers.RIVALS):
            started[kind.name] = kind({"example.": zone}).start()
        yield started
    finally:
        for server in started.values():
            server.stop()


def request(name="example.", rdtype="SOA", more=(), edns=True):
    """more: (type, class, RDATA) of further additional records."""
    def record(rdtype, field, rdata):
        return b"\0" + struct.pack("!HHIH", rdtype, field, 0,
                                   len(rdata)) + rdata
    records = [record(*row) for row in more]
    if edns:
        records.insert(0, record(dns.rdatatype.OPT, 1232, b""))
    if isinstance(rdtype, str):
        rdtype = dns.rdatatype.from_text(rdtype)
    return (struct.pack("!6H", 0x4711, 0x0100, 1, 0, 0, len(records))
            + dns.name.from_text(name).to_wire()
            + struct.pack("!HH", rdtype, 1) + b"".join(records))


def ask(server, wire, tcp=False):
    where = ("127.0.0.1", server.port)
    if tcp:
        with socket.create_connection(where, 60) as client:
            client.sendall(len(wire).to_bytes(2, "big") + wire)
            with client.makefile("rb") as stream:
                size = int.from_bytes(stream.read(2), "big")
                return stream.read(size)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(TIMEOUT)
        for _ in range(3):
            client.sendto(wire, where)
            try:
                return client.recv(65535)
            except TimeoutError:
                pass
    raise AssertionError(f"{server.name} does not reply")


def outcome(reply):
    """The outcome of a reply as text, such as "NOERROR AA 1": rcode, the flags
    that matter, whether there is an answer; with the code of an extended
    error, if there is one."""
    message = dns.message.from_wire(reply)
    flags, = struct.unpack("!H", reply[2:4])
    words = [dns.rcode.to_text(message.rcode())]
    words += [name for name, bit in (("AA", 0x400), ("TC", 0x200))
              if flags & bit]
    words += ["data"] * bool(message.answer)
    words += [f"EDE{int(o.code)}" for o in message.options if o.otype == 15]
    return " ".join(words)


def outcomes(running, wire, tcp=False):
    return {name: outcome(ask(server, wire, tcp))
            for name, server in running.items()}


# A signature by an unknown key, with all its fields.
SIG = struct.pack("!HBBIIIH", 0, 13, 0, 0, 0x7fffffff, 0x60000000,
                  1) + b"\3key\0" + b"s" * 64
TKEY = b"\x08gss-tsig\0" + struct.pack("!IIHHHH", 1, 2, 3, 0, 0, 0)
SIG0_RECORD = (dns.rdatatype.SIG, 255, SIG)
TKEY_RECORD = (dns.rdatatype.TKEY, 255, TKEY)
A_RECORD = (dns.rdatatype.A, 1, b"abcd")
UNKNOWN = (65280, 1, b"abcd")
ANSWERED = "NOERROR AA data"

# BIND and Knot answer as if the records were not there; NSD does not.
FURTHER = {
    "SIG(0)": [SIG0_RECORD],
    "TKEY": [TKEY_RECORD],
    "A": [A_RECORD],
    "100 A": [A_RECORD] * 100,
    "unknown type": [UNKNOWN],
}


@pytest.mark.parametrize("edns", [True, False])
@pytest.mark.parametrize("kind", FURTHER)
def test_further_additional_records_are_ignored(running, kind, edns):
    got = outcomes(running, request(more=FURTHER[kind], edns=edns))
    assert got == {"ours": ANSWERED, "bind": ANSWERED, "knot": ANSWERED,
                   "nsd": "FORMERR"}


def test_further_records_are_not_looked_into(running):
    """Two of SIG(0), and one that is cut short: what the others look into and
    dislike costs us nothing."""
    got = outcomes(running, request(more=[SIG0_RECORD] * 2))
    assert got == {"ours": ANSWERED, "bind": "SERVFAIL", "knot": ANSWERED,
                   "nsd": "FORMERR"}
    got = outcomes(running, request(more=[(dns.rdatatype.A, 1, b"ab")]))
    assert got == {"ours": ANSWERED, "bind": "FORMERR", "knot": "FORMERR",
                   "nsd": "FORMERR"}


NODATA = "NOERROR AA"
# Types whose outcome is not "no data" for each server. Ours differs from what
# most do where an RFC has a rule for the type.
OURS = {
    dns.rdatatype.from_text("TYPE128"): "FORMERR EDE30",  # RFC 9824 3.5
    dns.rdatatype.IXFR: "REFUSED EDE18",
    dns.rdatatype.AXFR: "NOTIMP EDE21",
    dns.rdatatype.MAILB: "NOTIMP EDE21",  # RFC 8906 3.1.4
    dns.rdatatype.MAILA: "NOTIMP EDE21",
    dns.rdatatype.ANY: ANSWERED,
}
BIND = dict.fromkeys([41, *range(128, 253)], "FORMERR") | {
    253: "NOTIMP", 254: "NOTIMP", 255: ANSWERED}
KNOT = {0: "NOTIMP", 251: "NOTAUTH", 252: "NOTIMP", 255: ANSWERED}
NSD = {251: "REFUSED EDE18", 252: "NOTIMP", 255: ANSWERED}


def test_meta_types(running):
    expected = {"ours": OURS, "bind": BIND, "knot": KNOT, "nsd": NSD}
    for rdtype in (0, 41, *range(127, 258), 32767, 65535):
        got = outcomes(running, request(rdtype=rdtype))
        assert got == {name: rows.get(rdtype, NODATA)
                       for name, rows in expected.items()}, rdtype
        most, count = collections.Counter(got.values()).most_common(1)[0]
        if rdtype not in OURS:
            assert count >= 3 and got["ours"] == most, rdtype


@pytest.mark.parametrize("name", ["big.example.", "long.example."])
def test_more_than_64_kib_over_tcp(running, name):
    """TC over TCP tells a resolver nothing (RFC 2181 section 9), so ours says
    SERVFAIL, as Knot does."""
    got = outcomes(running, request(name, "TXT"), tcp=True)
    assert got["ours"] == "SERVFAIL EDE0"
    assert got["knot"] == "SERVFAIL"
    assert got["nsd"] == ("NOERROR AA TC data" if name.startswith("long")
                          else "NOERROR AA TC")
    assert got["bind"] == "NOERROR AA TC"
