"""Takes a zone over TCP and looks at nothing in it but the ends of messages."""
import os
import socket
import struct
import time

import servers

AXFR, SOA = 252, 6
# Octets of SOA's RDATA behind the names.
SOA_END = 20
PIECE = 4 << 20
SILENCE_SEC = 300
CLIENT_CORE = 1


class Reader:
    """Messages of a stream."""

    def __init__(self, sock):
        self.sock = sock
        self.octets = bytearray(PIECE + (1 << 17))
        self.view = memoryview(self.octets)
        self.begin = self.end = 0

    def fill(self, count):
        """At least so many octets are there; False at the end."""
        if self.end - self.begin < count and self.begin > 0:
            left = self.octets[self.begin:self.end]
            self.octets[:len(left)] = left
            self.begin, self.end = 0, len(left)
        while self.end - self.begin < count:
            got = self.sock.recv_into(self.view[self.end:])
            if got == 0:
                return False
            self.end += got
        return True

    def next(self):
        """A view of the next message, valid until the one after; None at the
        end."""
        if not self.fill(2):
            return None
        length = self.octets[self.begin] << 8 | self.octets[self.begin + 1]
        if not self.fill(2 + length):
            return None
        at = self.begin + 2
        self.begin = at + length
        return self.view[at:at + length]


def skip_name(message, at):
    while message[at] != 0:
        if message[at] & 0xc0:
            return at + 2
        at += 1 + message[at]
    return at + 1


def first_end(message, questions):
    """The fixed end of the SOA that a transfer begins with, and where it ends."""
    at = 12
    for _ in range(questions):
        at = skip_name(message, at) + 4
    at = skip_name(message, at)
    rdtype, _, _, length = struct.unpack_from(">HHIH", message, at)
    at += 10 + length
    return (bytes(message[at - SOA_END:at]) if rdtype == SOA else None), at


def read_all(sock):
    reader, ending = Reader(sock), None
    got = {"octets": 0, "messages": 0, "records": 0}
    while True:
        message = reader.next()
        if message is None:
            return {**got, "failed": "the transfer broke off"}
        _, flags, questions, answers, _, _ = struct.unpack_from(">6H", message)
        if flags & 15 or answers == 0:
            return {**got, "failed": f"a transfer with the code {flags & 15}"}
        got["octets"] += 2 + len(message)
        got["messages"] += 1
        got["records"] += answers
        begins = 0
        if ending is None:
            ending, begins = first_end(message, questions)
            if ending is None:
                return {**got, "failed": "a transfer that begins with no SOA"}
        if len(message) > begins and message[-SOA_END:] == ending:
            return got


def take(port, zone):
    """Octets, messages, records and seconds of an AXFR; failed: why not."""
    query = servers.wire_query(zone, AXFR, 1)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CLIENT_CORE})
    begin = time.monotonic()
    try:
        with socket.create_connection(("127.0.0.1", port),
                                      SILENCE_SEC) as sock:
            sock.sendall(struct.pack(">H", len(query)) + query)
            got = read_all(sock)
    except OSError as error:
        return {"failed": str(error)}
    finally:
        os.sched_setaffinity(0, before)
    return {**got, "seconds": time.monotonic() - begin}
