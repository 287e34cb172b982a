"""Our server, BIND and Knot with zones that take updates, and what becomes of a
message that is sent to one of them."""
import base64
import contextlib
import random
import re
import socket
import struct

import dns.exception
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.zone

import servers
import update_messages
import update_rules

LIMIT = 60
"""Seconds; for a machine that does much else."""


class _Taking:
    """zones: {name: text}; each has a file of its own, which the server may
    write."""

    def __init__(self, zones):
        super().__init__({})
        self.zones = {name: self.write(f"{name}zone", text)
                      for name, text in zones.items()}


def nsd_keys():
    return [line for key in ("good", "other") for line in (
        "key:", f"\tname: {key}.key", "\talgorithm: hmac-sha256",
        f'\tsecret: "{secret(key)}"')]


def secret(name):
    return base64.b64encode(update_messages.KEYS[name].secret).decode()


class Ours(_Taking, servers.Ours):
    allows = ["\tallow-update: 127.0.0.1 good.key"]

    def extra(self):
        """More lines of a zone."""
        return []

    def command(self):
        self.zone_more = [*self.allows, "\tprovide-xfr: 127.0.0.1 NOKEY",
                          "\tprovide-xfr: 127.0.0.1 good.key",
                          *self.extra()]
        self.more = nsd_keys()
        return super().command()


class Bind(_Taking, servers.Bind):
    def command(self):
        command = super().command()
        conf = self.dir / "named.conf"
        keys = "".join(
            f'key "{key}.key" {{ algorithm hmac-sha256; '
            f'secret "{secret(key)}"; }};\n' for key in ("good", "other"))
        conf.write_text(keys + conf.read_text().replace(
            "recursion no;", "recursion no; allow-transfer { any; };").replace(
                "type primary;",
                'type primary; allow-update { key "good.key"; };'))
        return command


class Knot(_Taking, servers.Knot):
    def command(self):
        command = super().command()
        conf = self.dir / "knot.conf"
        keys = "".join(
            f"  - id: {key}.key\n    algorithm: hmac-sha256\n"
            f"    secret: {secret(key)}\n" for key in ("good", "other"))
        conf.write_text(conf.read_text().replace("template:\n", (
            f"key:\n{keys}acl:\n"
            "  - id: update\n    key: good.key\n    action: update\n"
            "  - id: transfer\n    action: transfer\n"
            "template:\n")).replace(
                "    journal-content: none\n",
                "    journal-content: changes\n"
                "    acl: [update, transfer]\n"))
        return command


ALL = Ours, Bind, Knot


PEER_ERRORS = {dns.tsig.PeerBadKey: "BADKEY", dns.tsig.PeerBadTime: "BADTIME",
               dns.tsig.PeerBadSignature: "BADSIG",
               dns.tsig.PeerBadTruncation: "BADTRUNC"}


def ask(port, wire, how):
    """The reply to a message; None: there is none."""
    if "udp" in how:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(2 if "qr" in how else LIMIT)
            sock.sendto(wire, ("127.0.0.1", port))
            with contextlib.suppress(TimeoutError):
                return sock.recv(65535)
        return None
    with socket.create_connection(("127.0.0.1", port), LIMIT) as sock:
        sock.sendall(struct.pack("!H", len(wire)) + wire)
        with contextlib.suppress(ConnectionError), \
                sock.makefile("rb") as stream:
            head = stream.read(2)
            return stream.read(*struct.unpack("!H", head)) if head else None
    return None


def answer(port, wire, mac, how):
    """RCODE of the reply to a message, and the error of its TSIG."""
    reply = ask(port, wire, how)
    if reply is None:
        return "no reply"
    if reply[:2] != wire[:2] or reply[2] & 0xf8 != 0x80 | 5 << 3:
        return f"bad header {reply[:4].hex()}"
    said = dns.rcode.to_text(reply[3] & 15)
    if mac is None:
        return said
    keyring = {key.name: key for key in update_messages.KEYS.values()}
    try:
        dns.message.from_wire(reply, keyring=keyring, request_mac=mac)
    except dns.tsig.PeerError as error:
        return f"{said} {PEER_ERRORS[type(error)]}"
    except dns.exception.FormError:
        pass  # dnspython takes no ZTYPE but SOA, in a reply either
    return said


def contents(zone):
    """({records as text}, serial, SOA without it) of a dnspython zone."""
    found = set()
    for name, ttl, rdata in zone.iterate_rdatas():
        if rdata.rdtype == dns.rdatatype.SOA:
            serial, rest = rdata.serial, str(rdata.replace(serial=0))
        else:
            kind = dns.rdatatype.to_text(rdata.rdtype)
            owner = str(name).lower()  # the case is that of the last writer
            found.add(f"{owner} {ttl} {kind} {rdata}".strip())
    return found, serial, rest


def difference(apex, port):
    """Differences from update_rules.ZONE, as its outcomes say them."""
    before, number, soa = contents(dns.zone.from_text(update_rules.ZONE, apex))
    after, serial, other = contents(dns.zone.from_xfr(dns.query.xfr(
        "127.0.0.1", apex, port=port, lifetime=LIMIT)))
    changes = [f"-{text}" for text in sorted(before - after)]
    changes += [f"+{text}" for text in sorted(after - before)]
    if other != soa:
        changes.append("-@ 3600 SOA timers")
    if len(changes) > 20 and all(text[0] == "+" for text in changes):
        changes = ["+many"]
    if serial != number + bool(changes):
        changes.insert(0, f"serial {serial}")
    return changes


def outcome(rule, apex, port):
    """Outcome of a rule's message for a zone."""
    name = dns.name.from_text(apex)
    how = dict(word.partition("=")[::2] for word in rule.how.split())
    wire, mac = update_messages.make(rule.message, name, how,
                                     random.randrange(65536))
    for _ in range(2 if "twice" in how else 1):
        said = answer(port, wire, mac, how)
    return " ".join([said, *difference(name, port)])


def same(said, expected):
    """Whether an outcome is one of a rule's."""
    def parts(text):
        return sorted(re.split(r" (?=[-+]\S)", text))
    return any(parts(said) == parts(one) for one in expected.split(" or "))
