"""Odd requests: each header that no client sends, combined with each additional
record that few clients send; and the outcome of a reply to one of them."""
import base64
import dataclasses
import hmac
import itertools
import struct
import time
import typing

import dns.rcode

ZONE = b"\7example\0"
KEY, OTHER_KEY = b"\3key\0", b"\5other\0"
SECRET, OTHER_SECRET = bytes(range(1, 33)), bytes(range(2, 34))
ENCODED = base64.b64encode(SECRET).decode()
SHA256, SHA512 = b"\13hmac-sha256\0", b"\13hmac-sha512\0"

QUERY, IQUERY, STATUS, NOTIFY, UPDATE, DSO = 0, 1, 2, 4, 5, 6
OPCODES = {QUERY: "QUERY", IQUERY: "IQUERY", STATUS: "STATUS",
           NOTIFY: "NOTIFY", UPDATE: "UPDATE", DSO: "DSO"}
FLAGS = {"QR": 0x8000, "AA": 0x400, "TC": 0x200, "RD": 0x100, "RA": 0x80,
         "Z": 0x40, "AD": 0x20, "CD": 0x10}
SOA, NS, OPT, TSIG = 6, 2, 41, 250
NONE = "none"  # no flag, no additional record


@dataclasses.dataclass(frozen=True)
class Header:
    opcode: int = QUERY
    rcode: int = 0
    questions: int = 1
    flag: str = NONE

    def __str__(self):
        words = [OPCODES.get(self.opcode, f"opcode {self.opcode}")]
        words += [f"RCODE {self.rcode}"] * (self.rcode != 0)
        words += [f"QDCOUNT {self.questions}"] * (self.questions != 1)
        words += [self.flag] * (self.flag != NONE)
        return " ".join(words)


def rows():
    """(header, its additional records): a header without a flag has each of
    them; one with a flag has each for some opcodes, and none for the others."""
    for opcode, rcode, questions, flag in itertools.product(
            range(16), (0, 9), (0, 1, 2), (NONE, *FLAGS)):
        whole = flag == NONE or (
            opcode in (QUERY, NOTIFY, UPDATE) and rcode == 0
            and questions == 1)
        yield (Header(opcode, rcode, questions, flag),
               RECORDS if whole else [NONE])


# ---- additional records: functions that take the message before the record and
# return the record, and its MAC if the key has made it.

def plain(rdtype, rrclass, rdata, ttl=0, owner=b"\0"):
    record = owner + struct.pack("!HHIH", rdtype, rrclass, ttl,
                                 len(rdata)) + rdata
    return lambda wire: (record, None)


def opt(*options, version=0, owner=b"\0"):
    rdata = b"".join(struct.pack("!HH", code, len(data)) + data
                     for code, data in options)
    return plain(OPT, 1232, rdata, version << 16, owner)


def tsig(key=KEY, secret=SECRET, algorithm=SHA256, late=0, error=0, other=b"",
         size=32, rrclass=255, ttl=0, alias=0):
    """A TSIG. late: seconds from now to the time signed; size: octets of the MAC;
    rrclass, ttl: where a TSIG has ANY and 0; alias: added to the original ID."""
    variables = (key + struct.pack("!HI", 255, 0) + algorithm)
    head = key + struct.pack("!HHIH", TSIG, rrclass, ttl,
                             len(algorithm) + 16 + size + len(other))

    def make(wire):
        number = (int.from_bytes(wire[:2], "big") + alias) & 0xffff
        times = struct.pack("!QH", int(time.time()) + late, 300)[2:]
        rest = struct.pack("!HH", error, len(other)) + other
        number = struct.pack("!H", number)
        mac = hmac.digest(secret, number + wire[2:] + variables + times + rest,
                          algorithm[1:12].decode().removeprefix("hmac-"))
        mac = mac[:size]
        return (head + algorithm + times + struct.pack("!H", size) + mac
                + number + rest, mac)
    return make


SIG_0 = plain(24, 255, struct.pack("!HBBIIIH", 0, 13, 0, 0, 0x7fffffff,
                                   0x60000000, 1) + b"\3key\0" + b"s" * 64)
A = plain(1, 1, b"abcd")
BADSIG, BADKEY, BADTIME, BADMODE, BADNAME, BADALG, BADTRUNC = range(16, 23)
ERRORS = {code: dns.rcode.Rcode(code).name if code < 16 else name
          for code, name in [(5, ""), (9, ""), (16, "BADSIG"), (17, "BADKEY"),
                             (18, "BADTIME"), (19, "BADMODE"),
                             (20, "BADNAME"), (21, "BADALG"),
                             (22, "BADTRUNC"), (65535, "65535")]}
OPTIONS = {
    "NSID": (3, b""), "CLIENT-SUBNET": (8, b"\0\1\30\0\300\0\2"),
    "EXPIRE": (9, b""), "COOKIE": (10, b"c" * 8),
    "COOKIE full": (10, b"c" * 8 + b"\1\0\0\0" + b"s" * 12),
    "COOKIE short": (10, b"c" * 7), "COOKIE long": (10, b"c" * 41),
    "keepalive": (11, b""), "keepalive 1": (11, b"\0\1"),
    "padding": (12, bytes(20)), "EDE": (15, b"\0\1text"),
    "ZONEVERSION": (19, b""), "unknown": (65001, b"abcd"),
}
RECORDS = {
    NONE: [], "OPT": [opt()], "OPT version 1": [opt(version=1)],
    **{f"OPT {name}": [opt(option)] for name, option in OPTIONS.items()},
    "OPT NSID NSID": [opt((3, b""), (3, b""))],
    "OPT cut": [plain(OPT, 1232, b"\0\3\0\4ab")],
    "OPT owner": [opt(owner=ZONE)],
    "TSIG": [tsig()], "TSIG unknown key": [tsig(OTHER_KEY)],
    "TSIG wrong secret": [tsig(secret=OTHER_SECRET)],
    "TSIG other algorithm": [tsig(algorithm=SHA512, size=64)],
    "TSIG before": [tsig(late=-1000)], "TSIG after": [tsig(late=1000)],
    "TSIG before, wrong secret": [tsig(secret=OTHER_SECRET, late=-1000)],
    **{f"TSIG error {name}": [tsig(error=code)]
       for code, name in ERRORS.items()},
    "TSIG error BADTIME, time": [tsig(error=BADTIME, other=bytes(6))],
    "TSIG other data": [tsig(other=b"abcd")],
    "TSIG no MAC": [tsig(size=0)],
    "TSIG no MAC, unknown key": [tsig(OTHER_KEY, size=0)],
    "TSIG no MAC, error BADKEY": [tsig(size=0, error=BADKEY)],
    "TSIG MAC of 8": [tsig(size=8)], "TSIG MAC of 16": [tsig(size=16)],
    "TSIG other ID": [tsig(alias=1)],
    "TSIG class IN": [tsig(rrclass=1)], "TSIG TTL 1": [tsig(ttl=1)],
    "SIG(0)": [SIG_0], "OPT, OPT": [opt(), opt()],
    "TSIG, TSIG": [tsig(), tsig()], "SIG(0), SIG(0)": [SIG_0, SIG_0],
    "OPT, A": [opt(), A], "TSIG, A": [tsig(), A], "SIG(0), A": [SIG_0, A],
    "OPT, TSIG": [opt(), tsig()], "TSIG, OPT": [tsig(), opt()],
    "TSIG unknown key, OPT": [tsig(OTHER_KEY), opt()],
    "OPT, TSIG unknown key": [opt(), tsig(OTHER_KEY)],
    "OPT, TSIG wrong secret": [opt(), tsig(secret=OTHER_SECRET)],
    "OPT, TSIG after": [opt(), tsig(late=1000)],
    "OPT version 1, TSIG": [opt(version=1), tsig()],
    "OPT COOKIE, TSIG": [opt(OPTIONS["COOKIE"]), tsig()],
    "OPT, OPT, TSIG": [opt(), opt(), tsig()],
    "OPT, SIG(0)": [opt(), SIG_0], "SIG(0), TSIG": [SIG_0, tsig()],
    "TSIG, SIG(0)": [tsig(), SIG_0],
}


@dataclasses.dataclass(frozen=True)
class Case:
    header: Header
    records: str
    wire: bytes
    mac: bytes  # of the last record, by the key, or None

    def __str__(self):
        return f"{self.header} + {self.records}"


def make(number, header, records):
    flags = (header.opcode << 11 | header.rcode
             | FLAGS.get(header.flag, 0))
    first = ZONE + struct.pack("!HH", SOA, 1)
    second = ZONE + struct.pack("!HH", NS, 1)
    body = b"".join((first, second)[:header.questions])
    mac = None
    for count, add in enumerate(RECORDS[records]):
        record, mac = add(struct.pack("!6H", number, flags, header.questions,
                                      0, 0, count) + body)
        body += record
    return Case(header, records, struct.pack(
        "!6H", number, flags, header.questions, 0, 0,
        len(RECORDS[records])) + body, mac)


# ---- replies

def _skip_name(wire, at):
    while wire[at] != 0:
        if wire[at] >= 0xc0:
            return at + 2
        at += 1 + wire[at]
    return at + 1


def _records(wire):
    """(offset of the owner, of the type) of each additional record."""
    questions, *counts = struct.unpack("!4H", wire[4:12])
    at, found = 12, []
    for _ in range(questions):
        at = _skip_name(wire, at) + 4
    for section, count in enumerate(counts):
        for _ in range(count):
            fixed = _skip_name(wire, at)
            if section == 2:
                found.append((at, fixed))
            at = fixed + 10 + int.from_bytes(wire[fixed + 8:fixed + 10], "big")
    if at != len(wire):
        raise ValueError(f"reply of {len(wire)} octets, {at} by its counts")
    return found


def _tsig(wire, at, fixed, request_mac):
    """The TSIG of a reply in words: error, ID, and whether its MAC is right."""
    rdata = fixed + 10
    times = _skip_name(wire, rdata)
    size = int.from_bytes(wire[times + 8:times + 10], "big")
    mac, rest = wire[times + 10:times + 10 + size], wire[times + 10 + size:]
    number, error, _ = struct.unpack("!HHH", rest[:6])
    words = ["TSIG"] + [ERRORS.get(error, str(error))] * (error != 0)
    if number != int.from_bytes(wire[:2], "big"):
        words.append("with another ID")
    if size == 0:
        return " ".join(words + ["without MAC"])
    count = int.from_bytes(wire[10:12], "big") - 1
    data = (len(request_mac or b"").to_bytes(2, "big") + (request_mac or b"")
            + wire[:10] + count.to_bytes(2, "big") + wire[12:at]
            + wire[at:fixed] + wire[fixed + 2:fixed + 8] + wire[rdata:times]
            + wire[times:times + 8] + rest[2:])
    if mac != hmac.digest(SECRET, data, "sha256")[:size]:
        words.append("wrong")
    return " ".join(words)


class Outcome(typing.NamedTuple):
    """A reply in words: the extended RCODE, the flags but QR, the number of
    records in each section without OPT and TSIG, the OPT and the TSIG."""
    rcode: str
    flags: str = ""
    sections: str = ""
    opt: str = ""
    tsig: str = ""

    def __str__(self):
        return " ".join(word for word in self if word)


def outcome(case, wire):
    if isinstance(wire, str):
        return Outcome(wire)
    _, flags, *counts = struct.unpack("!6H", wire[:12])
    rcode, opt, tsig = flags & 15, [], []
    assert flags & 0x8000, f"{case}: no reply, but a request"
    opcode = flags >> 11 & 15
    for at, fixed in _records(wire):
        rdtype = int.from_bytes(wire[fixed:fixed + 2], "big")
        if rdtype == OPT:
            rcode |= wire[fixed + 4] << 4
            opt.append("OPT")
        elif rdtype == TSIG:
            tsig.append(_tsig(wire, at, fixed, case.mac))
        else:
            continue
        counts[3] -= 1
    return Outcome(
        dns.rcode.to_text(rcode)
        + f" opcode {opcode}" * (opcode != case.header.opcode),
        " ".join(name for name, bit in FLAGS.items()
                 if flags & bit and name != "QR"),
        "/".join(map(str, counts)), " ".join(opt), " ".join(tsig))


def cases():
    """{ID: case}"""
    made = [(header, name) for header, names in rows() for name in names]
    return {number: make(number, *what) for number, what in enumerate(made)}


def few(case, stream):
    """Whether a case is one of those for a server that sends few errors a second.
    Over streams: each record with the usual headers, and each header without a
    flag or record. Over UDP: each header without a record, and each record with
    headers of the two usual opcodes without a flag."""
    header = case.header
    if stream:
        return header in (Header(), Header(NOTIFY)) or (
            case.records == NONE and header.flag == NONE)
    return case.records == NONE or (
        header.flag == NONE and header.opcode in (QUERY, NOTIFY))


def asked(made, way, slow):
    """The cases of {ID: case} for a transport. Over streams only one case has QR
    set: servers end the connection of such a message."""
    stream = "udp" not in way
    return {number: case for number, case in made.items()
            if (not stream or case.header.flag != "QR" or (
                case.header == Header(flag="QR") and case.records == NONE
                and not slow))
            and (not slow or few(case, stream))}
