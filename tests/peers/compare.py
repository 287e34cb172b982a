"""Answers as sets, and where two of them differ."""
import dataclasses
import functools
import socket
import struct
import time
import zlib

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype

TIMEOUT = 2.0
TRIES = 20
WINDOW = 32  # questions on their way at once
PARSED_TWICE = 50  # one reply in so many


@dataclasses.dataclass(frozen=True)
class Answer:
    """A reply without what servers may choose freely: the order of records,
    the case of names in records, and the OPT record's options."""
    rcode: str
    flags: frozenset
    answer: frozenset
    authority: frozenset
    additional: frozenset

    def text(self):
        lines = [f"{self.rcode} {' '.join(sorted(self.flags))}"]
        for section in ("answer", "authority", "additional"):
            for row in sorted(map(str, getattr(self, section))):
                lines.append(f"  {section}: {row}")
        return "\n".join(lines)


def _rows(section):
    rows = set()
    for rrset in section:
        for rdata in rrset:
            rows.add((rrset.name.to_text().lower(), rrset.ttl,
                      dns.rdatatype.to_text(rrset.rdtype),
                      rdata.to_text().lower()))
    return frozenset(rows)


@dataclasses.dataclass(frozen=True)
class How:
    """The way a question is asked."""
    dnssec: bool = False
    size: int = 1232  # 0: without EDNS
    tcp: bool = False
    recursive: bool = False

    def __str__(self):
        return (f"{'tcp' if self.tcp else 'udp'}"
                f"{f' size {self.size}' if self.size else ' no EDNS'}"
                f"{' DO' if self.dnssec else ''}")


_FLAGS = {dns.flags.AA: "AA", dns.flags.TC: "TC", dns.flags.RA: "RA",
          dns.flags.AD: "AD", dns.flags.CD: "CD", dns.flags.RD: "RD"}
NO_REPLY = Answer("no reply", frozenset(), frozenset(), frozenset(),
                  frozenset())


def make_query(number, name, rdtype, how):
    return number.to_bytes(2, "big") + _query_without_id(name, rdtype, how)


# Several servers are asked the same.
@functools.lru_cache(16384)
def _query_without_id(name, rdtype, how):
    flags = dns.flags.RD if how.recursive else 0
    query = struct.pack("!5H", flags, 1, 0, 0, 1 if how.size else 0) \
        + name.to_wire() + struct.pack("!2H", rdtype, dns.rdataclass.IN)
    if how.size:
        query += struct.pack("!B2HIH", 0, dns.rdatatype.OPT, how.size,
                             dns.flags.DO if how.dnssec else 0, 0)
    return query


def read_reply(wire):
    """Parses a whole reply; trailing octets or a broken name raise."""
    return _parse_without_id(wire[2:])


def _parse_without_id(rest):
    reply = dns.message.from_wire(b"\0\0" + rest, one_rr_per_rrset=True)
    return Answer(
        rcode=dns.rcode.to_text(reply.rcode()),
        flags=_flag_texts(reply.flags),
        answer=_rows(reply.answer), authority=_rows(reply.authority),
        additional=_rows(reply.additional))


@functools.cache
def _flag_texts(flags):
    return frozenset(text for bit, text in _FLAGS.items() if flags & bit)


# A reader with the results of dnspython's parser, and its exceptions, in a
# tenth of the time: thousands of replies have the same records, in other
# places. To be sure, the parser reads some replies as well.
#
# Octets before a name in RDATA, for the types where a reader has to expect a
# compressed one (RFC 3597 4).
_BEFORE_NAME = {dns.rdatatype.NS: 0, dns.rdatatype.CNAME: 0,
                dns.rdatatype.PTR: 0, dns.rdatatype.MX: 2,
                dns.rdatatype.SOA: 0, dns.rdatatype.MD: 0,
                dns.rdatatype.MF: 0, dns.rdatatype.MB: 0,
                dns.rdatatype.MG: 0, dns.rdatatype.MR: 0,
                dns.rdatatype.MINFO: 0, dns.rdatatype.AFSDB: 2,
                dns.rdatatype.RT: 2, dns.rdatatype.RP: 0,
                dns.rdatatype.PX: 2, dns.rdatatype.SRV: 6,
                dns.rdatatype.KX: 2, dns.rdatatype.DNAME: 0}
_TWO_NAMES = {dns.rdatatype.SOA, dns.rdatatype.MINFO, dns.rdatatype.RP,
              dns.rdatatype.PX}


class _Reader:
    """The octets of a reply from the first record on."""

    def __init__(self, wire):
        self.wire = wire
        self.at = 12

    def name(self):
        """Without compression."""
        wire, at, end, before = self.wire, self.at, None, self.at
        labels = []
        while wire[at]:
            if wire[at] < 64:
                labels.append(wire[at:at + wire[at] + 1])
                at += wire[at] + 1
                continue
            assert wire[at] >= 192, "a label of an unknown kind"
            end = end or at + 2
            at = (wire[at] & 63) << 8 | wire[at + 1]
            assert at < before, "a pointer to what follows"
            before = at
        self.at = end or at + 1
        return b"".join(labels) + b"\0"

    def rdata(self, rdtype, end):
        """Without compression."""
        first = _BEFORE_NAME.get(rdtype)
        begin = self.at
        if first is None or begin == end:
            self.at = end
            return self.wire[begin:end]
        self.at += first
        octets = self.wire[begin:self.at] + self.name()
        if rdtype in _TWO_NAMES:
            octets += self.name()
        assert self.at <= end, "a name that leaves its record"
        octets += self.wire[self.at:end]
        self.at = end
        return octets


@functools.lru_cache(65536)
def _owner_text(wire):
    return dns.name.from_wire(wire, 0)[0].to_text().lower()


@functools.lru_cache(65536)
def _rdata_text(rdclass, rdtype, octets):
    return dns.rdata.from_wire(rdclass, rdtype, octets, 0,
                               len(octets)).to_text().lower()


@functools.cache
def _type_text(rdtype):
    return dns.rdatatype.to_text(rdtype)


# Several servers answer with the same octets.
@functools.lru_cache(16384)
def _read_without_id(rest):
    reader = _Reader(b"\0\0" + rest)
    flags, questions, *counts = struct.unpack_from("!5H", rest)
    for _ in range(questions):
        _owner_text(reader.name())
        reader.at += 4
    sections = []
    options = []
    for count in counts:
        rows = set()
        for _ in range(count):
            owner = _owner_text(reader.name())
            rdtype, rdclass, ttl, length = struct.unpack_from(
                "!2HIH", reader.wire, reader.at)
            reader.at += 10
            end = reader.at + length
            assert end <= len(reader.wire), "a record that leaves the reply"
            octets = reader.rdata(rdtype, end)
            text = _rdata_text(rdclass, rdtype, octets)
            if rdtype == dns.rdatatype.OPT:
                assert owner == "." and len(sections) == 2
                options.append(ttl)
            else:
                rows.add((owner, ttl, _type_text(rdtype), text))
        sections.append(frozenset(rows))
    assert reader.at == len(reader.wire), "trailing octets"
    assert len(options) <= 1
    rcode = flags & 15 | (options[0] >> 24 << 4 if options else 0)
    answer = Answer(dns.rcode.to_text(dns.rcode.Rcode.make(rcode)),
                    _flag_texts(flags), *sections)
    if zlib.crc32(rest) % PARSED_TWICE == 0:
        assert answer == _parse_without_id(rest)
    return answer


def ask_all(server, questions, how):
    """The answers to (name, type) pairs, in order. A question with no reply
    after all tries is NO_REPLY."""
    answers = {}
    for _ in range(TRIES):
        todo = [i for i in range(len(questions)) if i not in answers]
        for start in range(0, len(todo), WINDOW):
            window = {i & 0xffff: i for i in todo[start:start + WINDOW]}
            wires = {number: make_query(number, *questions[i], how)
                     for number, i in window.items()}
            exchange = _exchange_tcp if how.tcp else _exchange_udp
            for number, wire in exchange(server, wires).items():
                answers[window[number]] = _read_without_id(wire[2:])
        if len(answers) == len(questions):
            break
    return [answers.get(i, NO_REPLY) for i in range(len(questions))]


def _exchange_udp(server, wires):
    replies = {}
    deadline = time.monotonic() + TIMEOUT
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", server.port))
        for wire in wires.values():
            sock.send(wire)
        while len(replies) < len(wires):
            sock.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                reply = sock.recv(65535)
            except OSError:
                break
            number = int.from_bytes(reply[:2], "big")
            if number in wires:
                replies[number] = reply
    return replies


def _exchange_tcp(server, wires):
    replies = {}
    try:
        with socket.create_connection(("127.0.0.1", server.port),
                                      TIMEOUT) as sock:
            sock.sendall(b"".join(len(wire).to_bytes(2, "big") + wire
                                  for wire in wires.values()))
            with sock.makefile("rb") as stream:
                while len(replies) < len(wires):
                    head = stream.read(2)
                    if len(head) < 2:
                        break
                    reply = stream.read(int.from_bytes(head, "big"))
                    replies[int.from_bytes(reply[:2], "big")] = reply
    except OSError:
        pass
    return replies
