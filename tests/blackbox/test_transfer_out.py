"""Clients that take zones: slow ones, many at once, those who may not, and those
who were there before (faults 66 to 68 and their like)."""
import contextlib
import os
import socket
import struct
import subprocess

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

from harness import DEADLINE, is_sanitized, read_proc, wait_for

ZONE = "big.test"
RECORDS = 200_000
SLOW = 100
SLOW_SEC = 4
# Of a worker, for a client that does not read.
SLOW_KIB = 128
MORE_KIB = 8192


def zone(serial, records):
    return (f"$TTL 60\n@ SOA ns host {serial} 7200 3600 1209600 300\n"
            "@ NS ns\nns A 192.0.2.53\n"
            + "".join(f"n{i} A 192.0.2.{i % 250}\n" for i in range(records)))


def clause(name, *more):
    return "".join(line + "\n" for line in (
        "zone:", f"\tname: {name}", f"\tzonefile: {name}.zone",
        *(f"\t{one}" for one in more)))


@pytest.fixture
def start(nsd, directory):
    def make(texts, extra, updates=False, **options):
        for name, text in texts.items():
            (directory / f"{name}.zone").write_text(text)
        return nsd(zones={}, extra=extra, updates=updates, options={
            "server-count": 1, **{k.replace("_", "-"): v
                                  for k, v in options.items()}})
    return make


@pytest.fixture
def big(start):
    return start({ZONE: zone(1, RECORDS)},
                 clause(ZONE, "provide-xfr: 127.0.0.1 NOKEY"),
                 tcp_timeout=SLOW_SEC, tcp_count=2 * SLOW)


def request(name, rdtype, serial=None):
    query = dns.message.make_query(name, rdtype)
    if serial is not None:
        query.authority.append(dns.rrset.from_text(
            name + ".", 0, "IN", "SOA", f". . {serial} 0 0 0 0"))
    return query.to_wire()


class Client:
    """Asks for transfers, on a connection with little room."""

    def __init__(self, server, room=None):
        self.sock = socket.socket()
        self.sock.settimeout(DEADLINE)
        if room is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.sock.connect((server.address, server.port))
        self.file = self.sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.sock.close()

    def ask(self, *wires):
        self.sock.sendall(b"".join(struct.pack(">H", len(wire)) + wire
                                   for wire in wires))

    def message(self):
        length = self.file.read(2)
        assert len(length) == 2, "the connection has ended"
        message = self.file.read(int.from_bytes(length, "big"))
        assert message[3] & 15 == 0, dns.rcode.to_text(message[3] & 15)
        return message

    def take(self):
        """A whole zone: serials of the first and the last SOA, and the count of
        records."""
        message = self.message()
        serial = first_serial(message)
        count = 0
        while True:
            count += int.from_bytes(message[6:8], "big")
            # The last record is an SOA again, which ends in five numbers.
            if count > 1 and is_soa(message):
                return serial, int.from_bytes(message[-20:-16], "big"), count
            message = self.message()


def first_serial(message):
    """The serial of a transfer's first SOA, whose owner is a pointer."""
    at = message.index(b"\xc0\x0c\x00\x06\x00\x01") + 12
    rdlen = int.from_bytes(message[at - 2:at], "big")
    return int.from_bytes(message[at + rdlen - 20:at + rdlen - 16], "big")


def is_soa(message):
    """True if the message ends in an SOA: owner and names are pointers, or one
    label and a pointer, as in the zones above."""
    end = b"\xc0\x0c\x00\x06\x00\x01"
    at = message.rfind(end)
    if at == -1 or at < len(message) - 60:
        return False
    rdlen = int.from_bytes(message[at + 10:at + 12], "big")
    return at + 12 + rdlen == len(message)


def held_kib(server):
    status = read_proc(server.role("server 1"), "status")
    return int(next(line.split()[1] for line in status.splitlines()
                    if line.startswith("RssAnon:")))


def connections(server):
    return subprocess.run(
        ["ss", "-tnH", "state", "established", "sport", "=",
         f":{server.port}"], check=True, capture_output=True,
        text=True).stdout.count("\n")


@pytest.mark.plain
def test_clients_that_do_not_read_are_bounded(big):
    """Clients that do not read are bounded in memory and in time, and others
    are served meanwhile."""
    with Client(big) as client:
        client.ask(request(ZONE, "AXFR"))
        assert client.take() == (1, 1, RECORDS + 4)
    before = held_kib(big)
    with contextlib.ExitStack() as all_of_them:
        for _ in range(SLOW):
            client = all_of_them.enter_context(Client(big, 4096))
            client.ask(request(ZONE, "AXFR"))
        wait_for("all to be connected", lambda: connections(big) == SLOW)
        assert big.rcode(f"n1.{ZONE}", "A") == "NOERROR"
        with Client(big) as client:
            client.ask(request(ZONE, "AXFR"))
            assert client.take() == (1, 1, RECORDS + 4)
        if not is_sanitized():
            assert held_kib(big) < before + SLOW * SLOW_KIB + MORE_KIB
        wait_for("their end", lambda: connections(big) == 0)
    assert big.rcode(f"n1.{ZONE}", "A") == "NOERROR"


def test_transfer_ends_with_the_version_that_it_began_with(big):
    with Client(big, 4096) as client:
        client.ask(request(ZONE, "AXFR"))
        first = client.message()
        big.zone_file(ZONE).write_text(zone(2, RECORDS // 2))
        big.reload()
        big.wait_serial(ZONE, 2)
        count = int.from_bytes(first[6:8], "big")
        message = first
        while not (is_soa(message) and message is not first):
            message = client.message()
            count += int.from_bytes(message[6:8], "big")
        assert int.from_bytes(message[-20:-16], "big") == 1
        assert count == RECORDS + 4
    with Client(big) as client:
        client.ask(request(ZONE, "AXFR"))
        assert client.take() == (2, 2, RECORDS // 2 + 4)


def store_kib(server):
    """The memory of the store, as the system counts it."""
    folder = f"/proc/{server.main_pid}/fd"
    stats = []
    for fd in os.listdir(folder):
        # The descriptor may be closed meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if "memfd:nsd-store" in os.readlink(f"{folder}/{fd}"):
                stats.append(os.stat(f"{folder}/{fd}"))
    return sum({stat.st_ino: stat.st_blocks // 2 for stat in stats}.values())


def test_version_that_a_slow_client_takes_costs_no_more_than_itself(start):
    """A thousand versions are published meanwhile; what they replace among
    themselves is used again."""
    names, published, octets = 100, 1000, 200
    server = start({ZONE: zone(1, RECORDS // 10)},
                   clause(ZONE, "provide-xfr: 127.0.0.1 NOKEY"), updates=True)
    server.wait_serial(ZONE, 1)

    def publish(serial):
        soa = "@ 60 SOA ns host {} 7200 3600 1209600 300\n".format
        text = f"zone {ZONE}.\nremove {soa(serial)}add {soa(serial + 1)}"
        for i in range(names):
            text += (f"remove-rrset n{i} TXT\nadd n{i} 60 TXT "
                     + f"{serial:x}-{i:x}-".ljust(octets, "x") + "\n")
        server.send_update(text)
        outcome = server.read_update()[0]
        assert outcome == "ok", outcome

    publish(1)
    with Client(server, 4096) as client:
        client.ask(request(ZONE, "AXFR"))
        first = client.message()
        publish(2)
        before = store_kib(server)
        for serial in range(3, published + 3):
            publish(serial)
        # The versions all together: 20 MB.
        assert store_kib(server) < before + published * names * octets / 4096
        count, message = int.from_bytes(first[6:8], "big"), first
        while not (is_soa(message) and message is not first):
            message = client.message()
            count += int.from_bytes(message[6:8], "big")
        assert int.from_bytes(message[-20:-16], "big") == 2
        assert count == RECORDS // 10 + 4 + names
    assert server.serial(ZONE) == published + 3


def test_many_transfers_at_once(start):
    """Many connections, each with several transfers in a row."""
    server = start({ZONE: zone(1, 2000)},
                   clause(ZONE, "provide-xfr: 127.0.0.1 NOKEY"),
                   tcp_count=100)
    with contextlib.ExitStack() as all_of_them:
        clients = [all_of_them.enter_context(Client(server))
                   for _ in range(80)]
        for client in clients:
            client.ask(*[request(ZONE, "AXFR")] * 25)
        assert server.rcode(f"n1.{ZONE}", "A") == "NOERROR"
        for _ in range(25):
            for client in clients:
                assert client.take() == (1, 1, 2004)


# The request, its transport, and the reply to a client without access: nothing
# else is looked at before.
@pytest.mark.parametrize("name", ["closed.test", "empty.test"])
@pytest.mark.parametrize("tcp", [True, False])
@pytest.mark.parametrize("rdtype, serial", [
    ("AXFR", None), ("IXFR", 1), ("IXFR", 0), ("IXFR", None)])
def test_those_who_may_not_hear_nothing_else(start, name, tcp, rdtype,
                                             serial):
    server = start({"closed.test": zone(1, 1)},
                   clause("closed.test") + clause("empty.test"))
    wire = request(name, rdtype, serial)
    if tcp:
        with Client(server) as client:
            client.ask(wire)
            reply = client.file.read(2 + 12)[2:]
    else:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(DEADLINE)
            sock.sendto(wire, (server.address, server.port))
            reply = sock.recv(4096)
    wanted = "NOTIMP" if rdtype == "AXFR" and not tcp else "REFUSED"
    assert dns.rcode.to_text(reply[3] & 15) == wanted
    assert reply[6:8] == b"\0\0"


def test_differences_over_udp(start):
    """Differences over UDP are one datagram, or the SOA alone (RFC 1995
    section 2)."""
    server = start({ZONE: zone(1, 10)}, clause(
        ZONE, "provide-xfr: 127.0.0.1 NOKEY", "store-ixfr: yes",
        "create-ixfr: yes"))
    for serial, records in (2, 11), (3, 12), (4, 400):
        server.zone_file(ZONE).write_text(zone(serial, records))
        server.reload()
        server.wait_serial(ZONE, serial)

    def ask(serial):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(DEADLINE)
            sock.sendto(request(ZONE, "IXFR", serial),
                        (server.address, server.port))
            reply = sock.recv(4096)
        message = dns.message.from_wire(reply, one_rr_per_rrset=True)
        return [dns.rdatatype.to_text(rrset.rdtype)
                for rrset in message.answer]

    # Nearly 400 records have no room.
    for serial in 1, 2, 3, 4, 9:
        assert ask(serial) == ["SOA"]
    server.zone_file(ZONE).write_text(zone(5, 402))
    server.reload()
    server.wait_serial(ZONE, 5)
    assert ask(4) == ["SOA", "SOA", "SOA", "A", "A", "SOA"]
