"""NOTIFY of a primary: a worker replies, and xfrd hears of it."""

import os
import signal
import socket
import struct

import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.rrset
import dns.tsig
import dns.tsigkeyring
import pytest

from harness import DEADLINE, Held, wait_for, zone_text
from scripted_primary import ScriptedPrimary, reply, soa, whole
from test_channels import Lines

SECRET = "AAAAAAAAAAAAAAAAAAAAAA=="
KEYS = dns.tsigkeyring.from_text({"k.": ("hmac-sha256", SECRET)})
EXTRA = f"""\
key:
	name: k
	algorithm: sha256
	secret: {SECRET}
pattern:
	name: secondary
	allow-notify: 127.0.0.1 NOKEY
	allow-notify: 127.0.0.1 k
	request-xfr: 127.0.0.1@1 NOKEY
"""
ZONES = ["one.test", "two.test"]
WAITING_MAX = 64  # zones of which a NOTIFY waits in a worker


def secondaries(names):
    return EXTRA + "".join(
        f"zone:\n\tname: {name}\n\tinclude-pattern: secondary\n"
        f"\tzonefile: {name}\n" for name in names)


@pytest.fixture
def server(nsd):
    return nsd(zones={"primary.test": zone_text(1)},
               options={"server-count": 2}, updates=True,
               extra=secondaries(ZONES))


def notify(zone, serial=None):
    message = dns.message.make_query(zone, "SOA")
    message.set_opcode(dns.opcode.NOTIFY)
    message.flags = (message.flags | dns.flags.AA) & ~dns.flags.RD
    if serial is not None:
        message.answer.append(dns.rrset.from_text(
            f"{zone}.", 60, "IN", "SOA", f"ns.{zone}. h.{zone}. {serial} 1 2 3 4"))
    return message


def send(server, message, tcp=False):
    ask = dns.query.tcp if tcp else dns.query.udp
    return ask(message, "127.0.0.1", port=server.port, timeout=DEADLINE)


def expect(reply, rcode="NOERROR"):
    assert dns.rcode.to_text(reply.rcode()) == rcode
    assert reply.opcode() == dns.opcode.NOTIFY
    assert reply.flags & dns.flags.AA
    assert not reply.answer


@pytest.mark.parametrize("tcp", [False, True])
def test_xfrd_hears_of_a_notify(server, tcp):
    lines = Lines(server)
    expect(send(server, notify("one.test", 7), tcp))
    lines.wait("notified 127.0.0.1 one.test. 7")
    expect(send(server, notify("two.test"), tcp))
    lines.wait("notified 127.0.0.1 two.test.")
    signed = notify("one.test", 8)
    signed.use_tsig(KEYS, "k.")
    reply = send(server, signed, tcp)
    expect(reply)
    assert reply.had_tsig
    lines.wait("notified 127.0.0.1 one.test. 8")


def rcode_of(server, message):
    """The RCODE of a reply that may be a header alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(DEADLINE)
        client.sendto(message.to_wire(), ("127.0.0.1", server.port))
        return dns.rcode.to_text(client.recv(512)[3] & 15)


def test_xfrd_hears_of_no_other(server):
    lines = Lines(server)
    assert rcode_of(server, notify("primary.test", 7)) == "REFUSED"
    assert rcode_of(server, notify("other.test", 7)) == "NXDOMAIN"
    assert rcode_of(server, notify("www.one.test", 7)) == "NXDOMAIN"
    wrong = notify("one.test", 7)
    wrong.use_tsig(dns.tsigkeyring.from_text(
        {"k.": ("hmac-sha256", SECRET.replace("A", "B", 1))}), "k.")
    assert rcode_of(server, wrong) == "NOTAUTH"
    expect(send(server, notify("two.test", 9)))
    lines.wait("notified 127.0.0.1 two.test. 9")
    assert [line for line in lines.seen if "notified" in line] == [
        "notified 127.0.0.1 two.test. 9"]


def test_notify_waits_for_the_next_xfrd(server):
    """The sender has its reply, so it is not sent again."""
    lines = Lines(server)
    old = server.kill("xfrd")
    for serial in range(20):
        expect(send(server, notify(ZONES[serial % 2], serial)))
    server.wait_replaced("xfrd", old)
    # The newest of each zone, by one worker or the other.
    for zone, serial in zip(ZONES, (18, 19)):
        wait_for("the newest", lambda z=zone, s=serial:
                 f"notified 127.0.0.1 {z}. {s}" in lines.read())


def test_flood_of_notifies_costs_no_answer(server):
    lines = Lines(server)
    for serial in range(2000):
        assert rcode_of(server, notify("one.test", serial)) == "NOERROR"
    assert server.serial("primary.test") == 1
    lines.wait("notified 127.0.0.1 one.test. 1999")


def replies(server, *messages):
    """Asks all at once on a connection: for each reply, up to that to the last
    message, the place of its message."""
    for number, message in enumerate(messages):
        message.id = number
    wires = [message.to_wire() for message in messages]
    places = []
    with socket.create_connection((server.address, server.port),
                                  DEADLINE) as client:
        client.sendall(b"".join(struct.pack("!H", len(wire)) + wire
                                for wire in wires))
        with client.makefile("rb") as stream:
            while len(messages) - 1 not in places:
                size = int.from_bytes(stream.read(2), "big")
                assert size, "the connection has ended"
                places.append(int.from_bytes(stream.read(size)[:2], "big"))
    return places


def test_notify_that_is_not_taken_has_no_reply(nsd):
    """Nor when it comes again since it has waited for the end of a transfer: its
    sender is to send it again."""
    zones = [f"z{number}.test" for number in range(WAITING_MAX + 1)]
    server = nsd(zones={"primary.test": zone_text(1)},
                 options={"server-count": 1, "replace-hung": "no"},
                 extra="\tprovide-xfr: 127.0.0.1 NOKEY\n"
                 + secondaries(zones))

    def is_taken(zone):
        return replies(server, notify(zone), dns.message.make_query(
            "primary.test", "SOA")) == [0, 1]

    xfrd = server.kill("xfrd", signal.SIGSTOP)
    left = wait_for("a NOTIFY that is not taken", lambda: next(
        (zone for zone in zones if not is_taken(zone)), None))
    assert replies(server, dns.message.make_query("primary.test", "AXFR"),
                   notify(left), dns.message.make_query("primary.test", "SOA")
                   ) == [0, 2]
    os.kill(xfrd, signal.SIGCONT)
    wait_for("a NOTIFY that is taken", lambda: is_taken(left))


def test_notify_amid_a_start_is_not_lost(make_server):
    """A worker replies before xfrd knows its zones, which xfrd.state calls fresh
    for an hour."""
    serial, timers = [1], "3600 3600 7200 300"

    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial[0], timers))]
        return [whole(query, apex, serial[0], timers=timers)]

    with ScriptedPrimary(answer) as primary:
        server = make_server(zones={"example": zone_text()}, extra=(
            f"zone:\n\tname: s.test\n\tzonefile: s.test.zone\n"
            f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n"
            "\tallow-notify: 127.0.0.1 NOKEY\n"))
        state = server.directory / "xfrd.state"

        def write_state():
            """Writes xfrd.state, which needs an xfrd that knows all zones."""
            server.start()
            server.wait_serial("s.test", 1)
            return server.stop() == 0 and "name: s.test" in state.read_text()

        wait_for("the state", write_state)
        serial[0] = 2
        more = Held(server.directory / "more.inc")
        server.write_zone("held.test", zone_text() + "$INCLUDE more.inc\n")
        server.write_config()
        server.start(ready=False)
        with more.opened():
            server.wait_answer()
            wait_for("a reply", lambda: send(server, notify("s.test")).rcode()
                     == dns.rcode.NOERROR)
            server.wait_log("notify for s.test. from 127.0.0.1")
        server.wait_serial("s.test", 2)
