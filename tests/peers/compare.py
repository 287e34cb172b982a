"""Answers as sets, and where two of them differ."""
import dataclasses
import functools
import socket
import time

import dns.flags
import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype

TIMEOUT = 2.0
TRIES = 20
WINDOW = 32  # questions on their way at once


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
    query = dns.message.QueryMessage(id=0)
    query.flags = dns.flags.RD if how.recursive else 0
    query.find_rrset(query.question, name, dns.rdataclass.IN, rdtype,
                     create=True, force_unique=True)
    if how.size:
        query.use_edns(0, dns.flags.DO if how.dnssec else 0, how.size)
    return query.to_wire()[2:]


def read_reply(wire):
    """Parses a whole reply; trailing octets or a broken name raise."""
    return _read_without_id(wire[2:])


# Several servers answer with the same octets; to parse them is what a comparison
# costs most.
@functools.lru_cache(16384)
def _read_without_id(rest):
    reply = dns.message.from_wire(b"\0\0" + rest, one_rr_per_rrset=True)
    return Answer(
        rcode=dns.rcode.to_text(reply.rcode()),
        flags=frozenset(text for bit, text in _FLAGS.items()
                        if reply.flags & bit),
        answer=_rows(reply.answer), authority=_rows(reply.authority),
        additional=_rows(reply.additional))


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
                answers[window[number]] = read_reply(wire)
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
