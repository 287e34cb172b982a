"""Messages that are put together at random from the parts of a message: header
bits, counts, names and pointers, OPT and options, TSIG with the right key. No
process dies of them, and honest queries are answered."""

import hmac
import random
import socket
import struct
import time

import pytest

import harness
from harness import zone_text

SECRET = b"secret"
KEY = ("key:\n\tname: k.test\n\talgorithm: hmac-sha256\n"
       "\tsecret: c2VjcmV0\n")
NAMES = (b"\7example\0", b"\3www\7example\0", b"\0", b"\2no\3www\7example\0",
         b"\1*\7example\0", b"\xc0\x0c", b"\3www\xc0\x0c", b"\xc0\0",
         b"\xc0\xff", b"\x3fshort\0", b"\x40x\0")
TYPES = 1, 2, 6, 15, 16, 24, 41, 43, 46, 249, 250, 251, 252, 255, 128, 65280
KEYS = b"\1k\4test\0", b"\1k\4test\0", b"\5other\0", b"\xc0\x0c"
OPTIONS = 3, 5, 8, 9, 10, 10, 11, 12, 15, 19, 20, 65001
COUNT, WINDOW = 3000, 30


class Sender:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def odd(self, usual, *others):
        """The usual value in 80 % of the calls, else one of the others."""
        return usual if self.rng.random() < 0.8 else self.rng.choice(others)

    def octets(self):
        return self.rng.randbytes(self.rng.choice((0, 1, 4, 6, 8, 16, 24, 40)))

    def opt(self):
        rdata = b""
        for _ in range(self.odd(1, 0, 2, 5)):
            data = self.octets()
            length = self.odd(len(data), 0, 8, 65535)
            rdata += struct.pack("!HH", self.rng.choice(OPTIONS), length) + data
        return (self.odd(b"\0", *NAMES) + struct.pack(
            "!HHIH", 41, self.odd(1232, 0, 512, 65535),
            self.odd(0, 0x8000, 1 << 16, 1 << 24), len(rdata)) + rdata)

    def record(self):
        rdata = self.octets()
        return (self.rng.choice(NAMES) + struct.pack(
            "!HHIH", self.rng.choice(TYPES), self.odd(1, 3, 254, 255), 0,
            self.odd(len(rdata), 0, 65535)) + rdata)

    def tsig(self, before):
        """A TSIG record that signs the message before it."""
        key = self.rng.choice(KEYS)
        algorithm = self.odd(b"\13hmac-sha256\0", b"\11hmac-sha1\0", b"\0",
                             b"\xc0\x0c")
        times = struct.pack("!QH", int(time.time())
                            + self.odd(0, -1000, 1000), 300)[2:]
        rest = struct.pack("!HH", self.odd(0, 16, 17, 18, 22), 0)
        mac = hmac.digest(SECRET, before + key + b"\0\xff\0\0\0\0" + algorithm
                          + times + rest, "sha256")
        mac = mac[:self.odd(32, 0, 8, 16, 31)]
        rdata = (algorithm + times + struct.pack("!H", len(mac)) + mac
                 + before[:2] + rest)
        return key + struct.pack("!HHIH", 250, self.odd(255, 1),
                                 self.odd(0, 1), len(rdata)) + rdata

    def message(self, number):
        flags = (self.odd(0, 4, 5, self.rng.randrange(16)) << 11
                 | self.odd(0, 0x100, 0x780, 0x70)
                 | self.odd(0, 0, self.rng.randrange(16))
                 | self.odd(0, 0, 0, 0x8000))
        counts = [self.odd(1, 0, 2), self.odd(0, 1), self.odd(0, 1), 0]
        body = b"".join(self.odd(NAMES[0], *NAMES) + struct.pack(
            "!HH", self.rng.choice(TYPES), self.odd(1, 3, 255))
            for _ in range(counts[0]))
        body += b"".join(self.record() for _ in range(sum(counts[1:])))
        kinds = self.rng.choices("otr", (5, 5, 2), k=self.rng.randrange(4))
        for counts[3], kind in enumerate(kinds, 1):
            before = struct.pack("!6H", number, flags, *counts[:3],
                                 counts[3] - 1) + body
            body += (self.opt() if kind == "o" else self.record()
                     if kind == "r" else self.tsig(before))
        counts[self.rng.randrange(4)] += self.odd(0, 1, 65535)
        wire = struct.pack("!6H", number, flags,
                           *(count & 0xffff for count in counts)) + body
        return wire[:self.odd(len(wire), self.rng.randrange(len(wire) + 1))]


HONEST = struct.pack("!6H", 0xffff, 0, 1, 0, 0, 0) + b"\7example\0\0\6\0\1"


def ask(sock):
    """The reply to an honest query. The query is sent again each second, since a
    worker that dies takes the first one along."""
    sock.settimeout(1)
    end = time.monotonic() + harness.DEADLINE
    while time.monotonic() < end:
        sock.send(HONEST)
        try:
            while (reply := sock.recv(65535))[:2] != HONEST[:2]:
                pass
            return reply
        except TimeoutError:
            pass
    raise AssertionError("no reply to an honest query")


@pytest.mark.parametrize("seed", [1, 2])
def test_no_process_ends_of_messages_made_at_random(make_server, seed):
    server = make_server(zones={"example": zone_text()})
    server.extra = KEY
    server.options["answer-cookie"] = "yes"
    server.write_config()
    server.start()
    roles, sender = server.roles(), Sender(seed)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((server.address, server.port))
        for start in range(0, COUNT, WINDOW):
            for number in range(start, start + WINDOW):
                sock.send(sender.message(number))
            reply = ask(sock)
            assert server.roles() == roles, f"ended by {start}..{number}"
            assert reply[3] & 15 == 0 and reply[7] == 1
