"""The way of an UPDATE (RFC 2136) from a client to xfrd and back: over UDP, TCP
and TLS, through proxies, when xfrd dies, and beside queries."""
import base64
import collections
import contextlib
import os
import re
import select
import signal
import socket
import struct
import time

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import pytest

from harness import DEADLINE, Load, zone_text
from ports import free_port
from test_proxy import header, over_tcp, over_udp
from tls_client import Client, context_for

SECRET = base64.b64encode(b"k" * 20).decode()
WRONG = base64.b64encode(b"w" * 20).decode()
KEYS = "".join(f"key:\n\tname: {name}\n\talgorithm: sha256\n"
               f"\tsecret: {SECRET}\n" for name in ("k", "acme"))
RING = dns.tsigkeyring.from_text({
    "k": SECRET, "acme": SECRET, "unknown": SECRET})
ZONES = (
    "zone:\n\tname: taken\n\tzonefile: taken.zone\n"
    "\tallow-update: 127.0.0.0/8 k\n"
    "\tallow-update: 127.0.0.7 BLOCKED\n"
    "\tupdate-policy: acme _acme-challenge.* TXT\n"
    "zone:\n\tname: by-key\n\tzonefile: taken.zone\n"
    "\tallow-update: 127.0.0.0/8 k\n"
    "zone:\n\tname: open\n\tzonefile: taken.zone\n"
    "\tallow-update: 127.0.0.0/8 NOKEY\n"
    "\tallow-update: 192.0.2.1 NOKEY\n")
NOERROR = dns.rcode.NOERROR


def prepare(server, more=ZONES):
    server.zone_file("taken").write_text(zone_text(1))
    server.extra = KEYS + more
    server.write_config()
    return server


@pytest.fixture
def server(make_server):
    return prepare(make_server(
        zones={"example": zone_text(1)},
        options={"server-count": 1, "verbosity": 2})).start()


def change(zone="taken", name="new", key="k", data="192.0.2.9", rdtype="A",
           ring=RING):
    update = dns.update.UpdateMessage(zone)
    if key:
        update.use_tsig(ring, key)
    update.use_edns(0)
    update.add(name, 60, rdtype, data)
    return update


def send(server, update, tcp=False, **more):
    ask = dns.query.tcp if tcp else dns.query.udp
    return ask(update, server.address, port=server.port, timeout=DEADLINE,
               **more)


def framed(*messages):
    wires = [m if isinstance(m, bytes) else m.to_wire() for m in messages]
    return b"".join(struct.pack("!H", len(w)) + w for w in wires)


class Stream:
    """A connection, and the messages that come on it, by their IDs."""

    def __init__(self, server):
        self.sock = socket.create_connection((server.address, server.port),
                                             DEADLINE)
        self.octets = b""
        self.replies = {}
        self.ended = False

    def send(self, *messages):
        self.sock.sendall(framed(*messages))

    def receive(self):
        """Takes what is there; waits for something."""
        try:
            got = self.sock.recv(65536)
        except ConnectionError:
            got = b""
        self.ended = not got
        self.octets += got
        while len(self.octets) >= 2:
            size = struct.unpack("!H", self.octets[:2])[0]
            if len(self.octets) < 2 + size:
                break
            wire = self.octets[2:2 + size]
            self.replies[struct.unpack("!H", wire[:2])[0]] = wire
            self.octets = self.octets[2 + size:]

    def wait(self, count):
        while len(self.replies) < count and not self.ended:
            self.receive()
        assert len(self.replies) == count, len(self.replies)

    def wait_end(self):
        while not self.ended:
            self.receive()

    def close(self):
        self.sock.close()


def why(reply):
    """The extended error of a reply."""
    return [(int(o.code), o.text) for o in reply.options
            if isinstance(o, dns.edns.EDEOption)]


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_update_is_served(server, tcp):
    reply = send(server, change(), tcp)
    assert reply.rcode() == NOERROR
    assert reply.had_tsig
    assert reply.opcode() == dns.opcode.UPDATE
    assert str(reply.zone[0].name) == "taken."
    assert not reply.flags & dns.flags.AA
    assert server.answer("new.taken", "A") == ["192.0.2.9"]
    assert server.serial("taken") == 2


def test_update_by_policy_and_by_address(server):
    assert send(server, change(name="_acme-challenge.www", key="acme",
                               rdtype="TXT", data="token")).rcode() == NOERROR
    assert server.answer("_acme-challenge.www.taken", "TXT") == ['"token"']
    assert send(server, change("open", key=None)).rcode() == NOERROR
    assert server.answer("new.open", "A") == ["192.0.2.9"]


REFUSALS = [
    ("no element", {"zone": "by-key", "key": None}, "REFUSED",
     (18, "No element of allow-update fits"),
     "update for by-key. from 127.0.0.1 refused, no acl matches"),
    ("no signature", {"key": None}, "REFUSED",
     (18, "The update is not signed: update-policy needs a key"),
     "update for taken. from 127.0.0.1 refused: it is not signed, and"
     " update-policy needs a key"),
    ("not by this key", {"zone": "open"}, "REFUSED",
     (18, "No element of allow-update fits"),
     "update for open. from 127.0.0.1 key k. refused, no acl matches"),
    ("a policy", {"key": "acme", "rdtype": "A"}, "REFUSED",
     (18, "update-policy does not allow A of new.taken."),
     "update for taken. from 127.0.0.1 key acme. refused: update-policy does"
     " not allow"
     " A of new.taken."),
    ("not here", {"zone": "elsewhere"}, "NOTAUTH", (20, ""),
     "update for elsewhere. from 127.0.0.1 key k. refused: no such zone here"),
    ("not the apex", {"zone": "sub.taken"}, "NOTAUTH", (20, ""),
     "update for sub.taken. from 127.0.0.1 key k. refused: no such zone here"),
]


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("what, how, rcode, ede, line", REFUSALS,
                         ids=[row[0] for row in REFUSALS])
def test_update_is_refused(server, what, how, rcode, ede, line, tcp):
    update = change(**how)
    reply = send(server, update, tcp)
    assert dns.rcode.to_text(reply.rcode()) == rcode
    assert [(code, text or "") for code, text in why(reply)] == [ede]
    assert reply.had_tsig == update.had_tsig
    server.wait_log(re.escape(line))
    assert server.serial("taken") == 1


def test_blocked_client(server):
    """BLOCKED holds also for a key that update-policy lets in."""
    for update in change(), change(name="_acme-challenge", key="acme",
                                   rdtype="TXT", data="x"):
        reply = send(server, update, source="127.0.0.7")
        assert reply.rcode() == dns.rcode.REFUSED
    for key in "k", "acme":
        server.wait_log(f"update for taken. from 127.0.0.7 key {key}. refused,"
                        " BLOCKED 127.0.0.7")
    assert server.serial("taken") == 1


def raw(server, update):
    """The reply to a message as it is, its signature unchecked."""
    wire = update if isinstance(update, bytes) else update.to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(DEADLINE)
        client.connect((server.address, server.port))
        client.send(wire)
        return client.recv(65535)


def tsig_error(octets):
    """The error of the TSIG at the end of a reply, and the reply without it."""
    try:
        dns.message.from_wire(octets, keyring=RING)
        error = None
    except dns.exception.DNSException as e:
        error = type(e)
    count = struct.unpack("!H", octets[10:12])[0]
    reply = dns.message.from_wire(
        octets[:10] + struct.pack("!H", count - 1) + octets[12:],
        ignore_trailing=True)
    return reply.rcode(), error, why(reply)


def test_wrong_signatures(server):
    rcode, error, ede = tsig_error(raw(server, change(key="unknown")))
    assert (rcode, error) == (dns.rcode.NOTAUTH, dns.tsig.PeerBadKey)
    assert ede == [(18, "The key of the TSIG is not known")]
    server.wait_log("update for taken. from 127.0.0.1 refused: key unknown. is"
                    " not known")
    wrong = dns.tsigkeyring.from_text({"k": WRONG})
    rcode, error, ede = tsig_error(raw(server, change(ring=wrong)))
    assert (rcode, error) == (dns.rcode.NOTAUTH,
                             dns.tsig.PeerBadSignature)
    assert ede == [(18, "The signature of the TSIG is wrong")]
    server.wait_log("update for taken. from 127.0.0.1 refused: wrong signature"
                    " of key k.")
    assert server.serial("taken") == 1


def test_wrong_clock(server, monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 1000)
    wire = change().to_wire()
    monkeypatch.undo()
    rcode, error, ede = tsig_error(raw(server, wire))
    assert (rcode, error) == (dns.rcode.NOTAUTH, dns.tsig.PeerBadTime)
    assert [code for code, _ in ede] == [18]
    assert f"says {int(now) - 1000}, and it is" in ede[0][1]
    server.wait_log(f"refused: clocks differ: key k. has signed at"
                    f" {int(now) - 1000}, and it is {str(int(now))[:7]}")


def without_updates(server, wire):
    """The only reply that there was before servers took any."""
    flags = 0x8000 | int.from_bytes(wire[2:4], "big") & 0x7f80
    assert raw(server, wire) == (wire[:2] + struct.pack(
        "!H", flags | dns.rcode.NOTIMP) + bytes(8))


def test_zone_without_updates(server, make_server):
    """NOTIMP, in a header alone: of a zone that takes none, and of a server
    without any that does."""
    other = make_server(zones={"example": zone_text(1)}).start()
    for update in (change("example"), change("example", key=None),
                   change("example", key="unknown")):
        update.flags |= dns.flags.RD | dns.flags.AA
        wire = update.to_wire()
        without_updates(server, wire)
        without_updates(other, wire)
    without_updates(other, change("elsewhere").to_wire())
    without_updates(other, change().to_wire()[:12])
    assert server.rcode("example", "SOA") == "NOERROR"


def test_drop_updates(make_server):
    """drop-updates is about updates that no zone takes."""
    server = prepare(make_server(zones={"example": zone_text(1)}, options={
        "server-count": 1, "drop-updates": "yes"})).start()
    query = dns.message.make_query("www.example", "A")
    for zone in "example", "elsewhere", "sub.taken":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(DEADLINE)
            client.connect((server.address, server.port))
            client.send(change(zone).to_wire())
            client.send(query.to_wire())
            assert client.recv(512)[:2] == query.to_wire()[:2]
    assert send(server, change()).rcode() == NOERROR


def test_pipelined(server):
    """Updates and queries on one connection; replies in any order."""
    stream = Stream(server)
    messages = []
    for i in range(300):
        update = change("open", f"n{i}", key=None)
        update.id = i
        query = dns.message.make_query("www.example", "A", id=1000 + i)
        messages += [update, query]
    stream.send(*messages)
    stream.wait(600)
    for i in range(300):
        assert stream.replies[i][3] & 15 == NOERROR
        assert stream.replies[1000 + i][3] & 15 == NOERROR
    stream.close()
    assert server.answer("n299.open", "A") == ["192.0.2.9"]


def test_half_closed(server):
    stream = Stream(server)
    stream.send(change("open", key=None))
    stream.sock.shutdown(socket.SHUT_WR)
    stream.wait(1)
    stream.wait_end()
    stream.close()


def test_tls(start_tls):
    server = start_tls(ready=False, **{"server-count": 1})
    server.wait_serving()
    server.stop()
    prepare(server).start()
    with Client(server.tls_port, context_for()) as client:
        updates = [change("open", f"n{i}", key=None) for i in range(20)]
        client.send(*updates)
        replies = [client.receive() for _ in updates]
        assert {r.id for r in replies} == {u.id for u in updates}
        assert all(r.rcode() == NOERROR for r in replies)
        update = change()
        client.send(update)
        size = struct.unpack("!H", client.read_exactly(2))[0]
        reply = dns.message.from_wire(client.read_exactly(size), keyring=RING,
                                      request_mac=update.mac)
        assert (reply.rcode(), reply.had_tsig) == (NOERROR, True)
    assert server.answer("new.taken", "A") == ["192.0.2.9"]


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_through_a_proxy(make_server, tcp):
    port = free_port()
    server = prepare(make_server(zones={"example": zone_text(1)}, options={
        "ip-address": ["127.0.0.1", f"127.0.0.1@{port}"],
        "server-count": 1, "verbosity": 2,
        "proxy-protocol-port": port})).start()
    server.proxy_port = port

    def ask(source, update):
        head, wire = header(source), update.to_wire()
        return dns.message.from_wire(over_tcp(server, head, wire) if tcp
                                     else over_udp(server, head + wire))
    reply = ask("192.0.2.1", change("open", key=None))
    assert reply.rcode() == NOERROR
    assert server.answer("new.open", "A") == ["192.0.2.9"]
    reply = ask("192.0.2.2", change("open", "other", key=None))
    assert reply.rcode() == dns.rcode.REFUSED
    server.wait_log("update for open. from 192.0.2.2 refused, no acl matches")


@pytest.mark.parametrize("tcp, size", [
    (False, 1), (False, 30), (False, 60), (True, 1), (True, 30), (True, 60),
    (True, 900)])
def test_long_messages(server, tcp, size):
    """Messages that a message to xfrd has no room for, up to 64 KB."""
    update = dns.update.UpdateMessage("taken")
    update.use_tsig(RING, "k")
    for i in range(size):
        update.add(f"n{i}", 60, "TXT", f"{i:040}")
    reply = send(server, update, tcp)
    assert reply.rcode() == NOERROR
    assert server.answer(f"n{size - 1}.taken", "TXT") == [
        f'"{size - 1:040}"']


@pytest.mark.parametrize("octets, rcode", [(4096, NOERROR),
                                           (4097, dns.rcode.FORMERR)])
def test_longest_datagram(server, octets, rcode):
    """Longer ones go over TCP."""
    update = change("open", key=None)
    rest = octets - len(update.to_wire()) - len(b"\3pad\xc0\x0c") - 10
    update.add("pad", 60, "TYPE65280", f"\\# {rest} {'00' * rest}")
    wire = update.to_wire(max_size=65535)
    assert len(wire) == octets
    reply = dns.message.from_wire(raw(server, wire))
    assert reply.rcode() == rcode


def stop_xfrd(server):
    """Has xfrd stand still; and main, which would replace it. Returns its
    process."""
    old = server.role("xfrd")
    server.signal(signal.SIGSTOP)
    server.kill("xfrd", signal.SIGSTOP)
    return old


def end_xfrd(server):
    """Ends the xfrd that stands still, and lets main go on."""
    server.kill("xfrd")
    server.signal(signal.SIGCONT)


def test_xfrd_is_killed(server):
    """An update that it has may have been made: it gets no reply, and its
    connection closes. The next one works."""
    old = stop_xfrd(server)
    stream = Stream(server)
    idle = Stream(server)
    stream.send(change("open", "n1", key=None),
                dns.message.make_query("www.example", "A"))
    stream.wait(1)  # the query's
    idle.send(dns.message.make_query("www.example", "A"))
    idle.wait(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect((server.address, server.port))
        client.send(change("open", "n2", key=None).to_wire())
        # The worker has taken it before it answers this.
        assert server.answer("www.example", "A") == ["192.0.2.1"]
        end_xfrd(server)
        stream.wait_end()
        assert len(stream.replies) == 1
        server.wait_replaced("xfrd", old)
        assert send(server, change()).rcode() == NOERROR
        assert not select.select([client], [], [], 0)[0]
    # Another connection is not touched.
    idle.send(change("open", "n3", key=None))
    idle.wait(2)
    stream.close()
    idle.close()


def test_xfrd_is_killed_with_many(server):
    """Updates that wait for a credit go to the next xfrd, and are made once."""
    old = stop_xfrd(server)
    streams = [Stream(server) for _ in range(10)]
    for s, stream in enumerate(streams):
        for i in range(50):
            update = change("open", f"n{s}-{i}", key=None)
            update.id = i
            stream.send(update)
        stream.send(dns.message.make_query("www.example", "A", id=1000))
        stream.wait(1)
    end_xfrd(server)
    server.wait_replaced("xfrd", old)
    while sum(len(s.replies) for s in streams) < 10 + 500 - 256:
        ready, _, _ = select.select(
            [s.sock for s in streams if not s.ended], [], [], DEADLINE)
        assert ready
        for stream in streams:
            if stream.sock in ready:
                stream.receive()
    # The first 256 were xfrd's.
    for s, stream in enumerate(streams):
        for i in range(50):
            if i in stream.replies:
                assert stream.replies[i][3] & 15 == NOERROR
                assert server.answer(f"n{s}-{i}.open", "A") == ["192.0.2.9"]
            else:
                assert s * 50 + i < 256
    for stream in streams[:5]:
        stream.wait_end()
    for stream in streams[6:]:
        stream.send(dns.message.make_query("www.example", "A", id=1001))
        stream.wait(52)
    for stream in streams:
        stream.close()


def test_worker_is_killed_with_updates(server):
    """An outcome for a worker that is gone reaches nobody else."""
    xfrd = stop_xfrd(server)
    stream = Stream(server)
    stream.send(change("open", "n1", key=None),
                dns.message.make_query("www.example", "A"))
    stream.wait(1)
    worker = server.role("server 1")
    server.kill("server 1")
    server.signal(signal.SIGCONT)
    server.wait_replaced("server 1", worker)
    with contextlib.suppress(ProcessLookupError):
        os.kill(xfrd, signal.SIGCONT)  # main may have replaced it by now
    server.wait_answer()
    stream.wait_end()
    assert send(server, change()).rcode() == NOERROR
    stream.close()


def test_flood(make_server):
    """Queries lose nothing beside more updates than anybody takes."""
    server = prepare(make_server(
        zones={"example": zone_text(1)},
        options={"server-count": 1})).start()
    load = Load(server, clients=4)
    load.step_answers(100)
    wires = [change("open", f"n{i}", key=None).to_wire() for i in range(100)]
    refused = [change("taken", f"n{i}", key=None).to_wire()
               for i in range(100)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect((server.address, server.port))
        client.setblocking(False)
        for _ in range(40):
            for wire in wires + refused:
                try:
                    client.send(wire)
                except (BlockingIOError, ConnectionRefusedError):
                    pass
            load.step_answers(20)
    load.finish()
    assert load.lost == 0
    assert send(server, change()).rcode() == NOERROR


def test_refusals_are_rate_limited(make_server):
    """Datagrams with a forged address lead to few of them. Updates
    that are taken are all answered."""
    server = prepare(make_server(
        zones={"example": zone_text(1)},
        options={"server-count": 1, "rrl-ratelimit": 5, "rrl-slip": 0,
                 "rrl-whitelist-ratelimit": 5})).start()
    refused = change("taken", key=None)
    begin = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect((server.address, server.port))
        client.settimeout(DEADLINE)
        for _ in range(200):
            client.send(refused.to_wire())
        taken = [change("open", f"n{i}", key=None) for i in range(50)]
        for update in taken:
            client.send(update.to_wire())
        codes = collections.Counter()
        while codes[NOERROR] < len(taken):
            codes[client.recv(4096)[3] & 15] += 1
    limit = 2 * 5 + 5 * (time.monotonic() - begin) + 1
    assert 1 <= codes[dns.rcode.REFUSED] <= limit, codes
