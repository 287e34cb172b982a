"""The way of an UPDATE (RFC 2136) from a client to xfrd and back: over UDP, TCP
and TLS, through proxies, when xfrd dies, and beside queries."""
import base64
import socket
import struct
import time

import dns.edns
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import pytest

from harness import DEADLINE, wait_for, zone_text

SECRET = base64.b64encode(b"k" * 20).decode()
KEYS = ("key:\n\tname: k\n\talgorithm: sha256\n\tsecret: " + SECRET + "\n"
        "key:\n\tname: acme\n\talgorithm: sha256\n\tsecret: " + SECRET + "\n")
RING = dns.tsigkeyring.from_text({"k": SECRET, "acme": SECRET})
ZONES = (
    "zone:\n\tname: taken\n\tzonefile: taken.zone\n"
    "\tallow-update: 127.0.0.0/8 k\n"
    "\tupdate-policy: acme _acme-challenge.* TXT\n"
    "zone:\n\tname: open\n\tzonefile: taken.zone\n"
    "\tallow-update: 127.0.0.0/8 NOKEY\n"
    "\tallow-update: 192.0.2.1 NOKEY\n"
    "\tallow-update: 127.0.0.7 BLOCKED\n")


@pytest.fixture
def server(make_server):
    return make(make_server).start()


def make(make_server, more="", **options):
    server = make_server(
        zones={"example": zone_text(1)},
        options={"server-count": 1, "verbosity": 2, **options})
    server.zone_file("taken").write_text(zone_text(1))
    server.extra = KEYS + ZONES + more
    server.write_config()
    return server


def change(zone="taken", name="new", key="k", data="192.0.2.9", rdtype="A"):
    update = dns.update.UpdateMessage(zone, keyring=RING if key else None,
                                      keyname=key)
    update.use_edns(0)
    update.add(name, 60, rdtype, data)
    return update


def send(server, update, tcp=False, timeout=DEADLINE, **more):
    ask = dns.query.tcp if tcp else dns.query.udp
    return ask(update, server.address, port=server.port, timeout=timeout,
               **more)


def why(reply):
    """The text of the extended error."""
    return [(int(o.code), o.text) for o in reply.options
            if isinstance(o, dns.edns.EDEOption)]


@pytest.mark.parametrize("tcp", [False, True])
def test_update_is_served(server, tcp):
    reply = send(server, change(), tcp)
    assert reply.rcode() == dns.rcode.NOERROR
    assert reply.had_tsig
    assert reply.opcode() == dns.opcode.UPDATE
    assert str(reply.zone[0].name) == "taken."
    assert not reply.flags & dns.flags.AA
    assert server.answer("new.taken", "A") == ["192.0.2.9"]
    assert server.serial("taken") == 2
