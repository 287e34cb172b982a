"""A receiver of dnstap: Frame Streams over a socket, and Protocol Buffers in
its frames. It can behave badly, too."""
import contextlib
import ipaddress
import os
import socket
import struct
import threading

import dns.message

from harness import wait_for

ACCEPT, START, STOP, READY, FINISH = 1, 2, 3, 4, 5
CONTENT = b"protobuf:dnstap.Dnstap"

# Numbers of dnstap's specification.
TYPES = {1: "AUTH_QUERY", 2: "AUTH_RESPONSE", 13: "UPDATE_QUERY",
         14: "UPDATE_RESPONSE"}
FAMILIES = {1: "INET", 2: "INET6"}
PROTOCOLS = {1: "UDP", 2: "TCP", 3: "DOT"}
OUTER = {1: "identity", 2: "version", 14: "message", 15: "type"}
INNER = {1: "type", 2: "family", 3: "protocol", 4: "query_address",
         5: "response_address", 6: "query_port", 7: "response_port",
         8: "query_sec", 9: "query_nsec", 10: "query_message",
         11: "query_zone", 12: "response_sec", 13: "response_nsec",
         14: "response_message"}


def varint(data, at):
    value = shift = 0
    while True:
        octet = data[at]
        value |= (octet & 127) << shift
        shift += 7
        at += 1
        if octet < 128:
            return value, at


def fields(data, names):
    """The fields of a message of Protocol Buffers by their names."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        else:
            assert tag & 7 == 5
            value, at = struct.unpack("<I", data[at:at + 4])[0], at + 4
        assert names[tag >> 3] not in found
        found[names[tag >> 3]] = value
    return found


def decode(frame):
    """A frame as a flat dict."""
    outer = fields(frame, OUTER)
    assert outer.pop("type") == 1
    inner = fields(outer.pop("message"), INNER)
    found = {**outer, **inner}
    found["type"] = TYPES[found["type"]]
    found["family"] = FAMILIES[found["family"]]
    found["protocol"] = PROTOCOLS[found["protocol"]]
    for name in "query_address", "response_address":
        if name in found:
            found[name] = str(ipaddress.ip_address(found[name]))
    for name in "query", "response":
        if f"{name}_sec" in found:
            found[f"{name}_time"] = (found.pop(f"{name}_sec")
                                     + found.pop(f"{name}_nsec") / 1e9)
    return found


def control(kind, with_type=True):
    body = struct.pack("!I", kind)
    if with_type:
        body += struct.pack("!II", 1, len(CONTENT)) + CONTENT
    return struct.pack("!II", 0, len(body)) + body


class Receiver:
    """Listens at a path, or at a port of 127.0.0.1; a context of ssl: over
    TLS. The arguments say how it misbehaves:
    stalls: reads nothing once it has accepted; cuts: closes after so many
    octets of frames; refuses: says ACCEPT for another type."""

    def __init__(self, place, context=None, stalls=False, cuts=None,
                 refuses=False):
        self.context = context
        self.stalls, self.cuts, self.refuses = stalls, cuts, refuses
        self.frames, self.connections, self.stopped = [], 0, 0
        self.failures = []
        self.open = []
        self.closed = False
        self.path = place if not isinstance(place, int) else None
        if self.path:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path)
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(str(self.path))
            self.listener.listen()
        else:
            self.listener = socket.create_server(("127.0.0.1", place))
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """The receiver is gone, and its connections are."""
        self.closed = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        if self.path:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path)

    def _accept(self):
        while not self.closed:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,),
                             daemon=True).start()

    def _serve(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection,
                                                      server_side=True)
            self.open.append(connection)
            self._talk(connection)
        except (OSError, EOFError, AssertionError) as error:
            self.failures.append(error)
        finally:
            connection.close()

    def _talk(self, connection):
        stream = connection.makefile("rb")
        assert self._read_control(stream) == READY
        answer = control(ACCEPT)
        if self.refuses:
            answer = answer.replace(b"dnstap.", b"other_.")
        connection.sendall(answer)
        assert self._read_control(stream) == START
        self.connections += 1
        if self.stalls:
            while not self.closed and self.stalls:
                threading.Event().wait(0.05)
        left = self.cuts
        while True:
            size = int.from_bytes(self._read(stream, 4), "big")
            if left is not None and left < size:
                self._read(stream, left)
                return
            if size == 0:
                assert self._read_control_body(stream) == STOP
                self.stopped += 1
                connection.sendall(control(FINISH, with_type=False))
                return
            self.frames.append(decode(self._read(stream, size)))
            if left is not None:
                left -= size

    @staticmethod
    def _read(stream, size):
        data = stream.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def _read_control(self, stream):
        assert self._read(stream, 4) == b"\0\0\0\0"
        return self._read_control_body(stream)

    def _read_control_body(self, stream):
        body = self._read(stream, int.from_bytes(self._read(stream, 4),
                                                 "big"))
        kind = int.from_bytes(body[:4], "big")
        assert kind == STOP or CONTENT in body
        return kind

    def wait_connected(self, count=1):
        wait_for("a connection", lambda: self.connections >= count)

    def wait_frames(self, count):
        wait_for(f"{count} frames", lambda: len(self.frames) >= count)
        return self.frames[:count]

    def about(self, identifier):
        """Frames of messages with this number, in the order of coming."""
        return [f for f in list(self.frames)
                if identifier == int.from_bytes(octets_of(f)[:2], "big")]

    def wait_about(self, identifier, count=2):
        return wait_for(f"{count} frames about {identifier}",
                        lambda: (len(found := self.about(identifier)) >= count
                                 and found))


def octets_of(frame):
    return frame.get("query_message", frame.get("response_message"))


def message_of(frame):
    return dns.message.from_wire(octets_of(frame), one_rr_per_rrset=True)
