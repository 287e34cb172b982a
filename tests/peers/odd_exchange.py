"""Sends many requests to a server at once, each with an ID of its own. A usual
query follows them over the same transport (the mark): once it has its reply, a
request without one gets none."""
import contextlib
import itertools
import socket
import ssl
import struct

WINDOW = 48  # datagrams on their way at once
STREAM_WINDOW = 400
DEADLINE = 60.0
LOST_MAX = 10  # marks in all that may get no reply, for 2 s each
PASSES = 3  # until a request counts as one without reply
MARKS = range(0xf000, 0x10000)  # IDs of the marks
DROPPED, CLOSED = "no reply", "closed"

PROXY = (b"\r\n\r\n\0\r\nQUIT\n\x21" + b"\x12\0\x0c" + b"\x7f\0\0\2\x7f\0\0\1"
         + struct.pack("!HH", 4321, 53))
PROXY_STREAM = PROXY[:13] + b"\x11" + PROXY[14:]


def _mark(number):
    return struct.pack("!6H", number, 0, 1, 0, 0, 0) + b"\7example\0\0\6\0\1"


class Datagrams:
    """UDP."""

    window = WINDOW

    def __init__(self, address, head=b""):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.connect(address)
        self.sock.settimeout(2)  # a mark may be lost
        self.head = head
        self.marks = itertools.cycle(MARKS)
        self.lost = 0

    def close(self):
        self.sock.close()

    def ask(self, wires):
        """{ID: reply} of these requests, and of earlier ones whose replies were
        late; and whether the server has read all of these requests."""
        mark = next(self.marks)
        for wire in (*wires, _mark(mark)):
            self.sock.send(self.head + wire)
        replies = {}
        while self.lost < LOST_MAX:
            with contextlib.suppress(TimeoutError):
                while mark not in replies:
                    reply = self.sock.recv(65535)
                    replies[int.from_bytes(reply[:2], "big")] = reply
                return replies, True
            self.lost += 1
            self.sock.send(self.head + _mark(mark))
        raise AssertionError("no reply to queries of the usual kind")


class Stream:
    """TCP, or TLS: connect() gives a socket."""

    window = STREAM_WINDOW

    def __init__(self, connect, head=b""):
        self.connect = connect
        self.head = head
        self.sock = self.stream = None
        self.marks = itertools.cycle(MARKS)

    def close(self):
        if self.sock is not None:
            self.stream.close()
            self.sock.close()
            self.sock = None

    def _exchange(self, wires, mark, replies):
        head = b""
        if self.sock is None:
            self.sock = self.connect()
            self.sock.settimeout(DEADLINE)
            self.stream = self.sock.makefile("rb")
            head = self.head
        self.sock.sendall(head + b"".join(
            len(wire).to_bytes(2, "big") + wire for wire in wires))
        while mark not in replies:
            size = int.from_bytes(self.stream.read(2), "big")
            reply = self.stream.read(size)
            if len(reply) < max(size, 12):
                raise ConnectionError
            replies[int.from_bytes(reply[:2], "big")] = reply

    def ask(self, wires):
        mark = next(self.marks)
        replies = {}
        try:
            self._exchange([*wires, _mark(mark)], mark, replies)
            return replies, True
        except (ConnectionError, ssl.SSLError):
            self.close()
            return replies, False


class OneByOne(Stream):
    """An exchange with a server that loses messages which arrive in one TLS
    record with the one that it answers. Each request gets a reply, or the
    connection ends."""

    def ask(self, wires):
        replies = {}
        try:
            for wire in wires:
                self._exchange([wire], int.from_bytes(wire[:2], "big"),
                               replies)
            return replies, True
        except (ConnectionError, ssl.SSLError):
            self.close()
            return replies, False


def ask_all(ways, wires):
    """{ID: outcome} for {ID: request}; the requests are shared out among several
    ways to the server."""
    replies = {}
    for i, way in enumerate(ways):
        part = dict(list(wires.items())[i::len(ways)])
        if part:
            replies.update(_ask(way, part))
        way.close()
    return replies


def _ask(way, wires):
    """{ID: outcome} for {ID: request}: a reply, DROPPED, or CLOSED if the server
    ends the connection because of the request."""
    replies = {}
    for _ in range(PASSES):
        missing = [number for number in wires if number not in replies]
        todo = [missing[i:i + way.window]
                for i in range(0, len(missing), way.window)]
        while todo:
            numbers = todo.pop()
            got, whole = way.ask([wires[n] for n in numbers])
            replies.update((n, got[n]) for n in got if n in wires)
            rest = [n for n in numbers if n not in got]
            if whole or not rest:
                continue
            if len(rest) == 1 and len(numbers) == 1:
                replies[rest[0]] = CLOSED
            elif len(rest) == len(numbers):
                todo += [rest[:len(rest) // 2], rest[len(rest) // 2:]]
            else:
                todo.append(rest)
    return {number: replies.get(number, DROPPED) for number in wires}
