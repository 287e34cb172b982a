"""A primary on loopback with changes to give: SOA, NOTIFY and IXFR alone, and AXFR
of zones that only grow.

Its secondaries begin with a file of the zone. Names are ASCII without escapes;
every message is whole and small, so that serving costs next to nothing.
"""
import select
import socket
import struct
import threading

from ports import free_port

SOA, IXFR, AXFR, NOTIFY = 6, 251, 252, 4
MESSAGE_ROOM = 30000


def wire_name(name):
    labels = [l for l in name.rstrip(".").split(".") if l]
    return b"".join(bytes([len(l)]) + l.encode() for l in labels) + b"\0"


def wire_record(owner, ttl, rrtype, rdata):
    return wire_name(owner) + struct.pack(">HHIH", rrtype, 1, ttl,
                                          len(rdata)) + rdata


def read_exactly(sock, count):
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise OSError("ended")
        data += more
    return data


class Primary:
    def __init__(self, zone, serial, soa, first=None):
        """soa: a function from serial to the wire record. first: the other
        records of the first version, if changes only add some: then there is
        AXFR, too."""
        self.zone = wire_name(zone)
        self.first = self.serial = serial
        self.soa = soa
        self.records = first
        self.deltas = []  # of first + i to first + i + 1, in records
        self.port = free_port()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        self.tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.tcp.bind(("127.0.0.1", self.port))
        self.tcp.listen(64)
        self.notifier = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.notifier.bind(("127.0.0.1", 0))
        self.notifier.setblocking(False)
        self.transfers = 0
        self.ended = False
        self.connections = []
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def change(self, records):
        """Takes the next change: wire records, the two SOAs among them."""
        self.deltas.append(records)
        self.serial += 1

    def notify(self, port):
        head = struct.pack(">HHHHHH", self.serial & 0xffff,
                           NOTIFY << 11 | 0x400, 1, 1, 0, 0)
        message = head + self.zone + struct.pack(">HH", SOA, 1) + \
            self.soa(self.serial)
        try:
            while True:
                self.notifier.recv(4096)
        except OSError:
            pass
        try:
            self.notifier.sendto(message, ("127.0.0.1", port))
        except OSError:
            pass

    def answers(self, query, tcp):
        """The messages that answer one."""
        if len(query) < 12:
            return []
        ident, _, questions, _, _, _ = struct.unpack(">HHHHHH", query[:12])
        end = 12 + len(self.zone) + 4
        question = query[12:end]
        if questions != 1 or question[:len(self.zone)].lower() != self.zone:
            return []
        rrtype = struct.unpack(">H", question[-4:-2])[0]
        serial = self.serial
        sets = [[self.soa(serial)]]
        if rrtype == IXFR and tcp:
            sets = self.changes(query, end, serial)
            self.transfers += 1
        elif rrtype == AXFR and tcp and self.records is not None:
            added = (record for records in self.deltas[:serial - self.first]
                     for record in records[2:])
            sets = self.messages([self.soa(serial), *self.records, *added,
                                  self.soa(serial)])
            self.transfers += 1
        elif rrtype not in (SOA, IXFR):
            return [struct.pack(">HHHHHH", ident, 0x8405, 1, 0, 0, 0)
                    + question]
        return [struct.pack(">HHHHHH", ident, 0x8400, 1, len(records), 0, 0)
                + question + b"".join(records) for records in sets]

    def changes(self, query, at, serial):
        """Since the SOA in the authority section."""
        while query[at] and query[at] < 192:
            at += query[at] + 1
        at += 2 if query[at] else 1
        rdlen = struct.unpack(">H", query[at + 8:at + 10])[0]
        held = struct.unpack(">I", query[at + 10 + rdlen - 20:
                                         at + 10 + rdlen - 16])[0]
        soa = self.soa(serial)
        if held >= serial or held < self.first:
            return [[soa]]
        records = [soa]
        for i in range(held - self.first, serial - self.first):
            records += self.deltas[i]
        records.append(soa)
        return self.messages(records)

    def messages(self, records):
        """The records of each message."""
        sets, room = [[]], MESSAGE_ROOM
        for record in records:
            if room < len(record):
                sets.append([])
                room = MESSAGE_ROOM
            sets[-1].append(record)
            room -= len(record)
        return sets

    def serve(self):
        while not self.ended:
            try:
                ready, _, _ = select.select(
                    [self.udp, self.tcp] + self.connections, [], [], 0.2)
            except (OSError, ValueError):
                return
            for sock in ready:
                try:
                    self.serve_one(sock)
                except (OSError, IndexError, struct.error):
                    if sock in self.connections:
                        self.connections.remove(sock)
                        sock.close()

    def serve_one(self, sock):
        if sock is self.udp:
            query, address = self.udp.recvfrom(4096)
            for message in self.answers(query, False):
                self.udp.sendto(message, address)
        elif sock is self.tcp:
            connection, _ = self.tcp.accept()
            connection.settimeout(5)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(connection)
        else:
            size = struct.unpack(">H", read_exactly(sock, 2))[0]
            for message in self.answers(read_exactly(sock, size), True):
                sock.sendall(struct.pack(">H", len(message)) + message)

    def stop(self):
        self.ended = True
        self.thread.join(5)
        for sock in [self.udp, self.tcp, self.notifier] + self.connections:
            sock.close()
