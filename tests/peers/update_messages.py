"""Messages of RFC 2136, made octet by octet: as clients send them, and as none
should."""
import struct
import time

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rdtypes.ANY.TSIG
import dns.tsig

CLASSES = {"IN": 1, "CH": 3, "NONE": 254, "ANY": 255}
KEYS = {name: dns.tsig.Key(f"{name}.key.", secret, "hmac-sha256")
        for name, secret in (
            ("good", "c2VjcmV0IG9mIHRoZSB1cGRhdGVzIGhlcmU="),
            ("other", "YW5vdGhlciBzZWNyZXQgb2Ygbm9ib2R5IQ=="),
            ("unknown", "bm8gc2VydmVyIGhhcyB0aGlzIGtleSBoZXJl"))}
WRONG = dns.tsig.Key("good.key.", "dGhpcyBpcyBub3QgdGhlIHNlY3JldCE=",
                     "hmac-sha256")
UPDATE = 5
BIG = 60000


def record(text, zone):
    """One record in wire format, of OWNER [TTL] [CLASS] TYPE[/CLASS] [RDATA].
    """
    owner, *words = text.split(" ")
    ttl = int(words.pop(0)) if words[0].isdigit() else 0
    rdclass = words.pop(0) if words[0] in CLASSES else "IN"
    rdtype, _, other = words.pop(0).partition("/")
    number = dns.rdatatype.from_text(rdtype)
    rdata = b""
    if words and words[0] == "\\#":
        rdata = bytes.fromhex("".join(words[2:]))
    elif words:
        rdata = dns.rdata.from_text(dns.rdataclass.IN, number,
                                    " ".join(words), zone,
                                    relativize=False).to_wire()
    return (dns.name.from_text(owner, zone).to_wire() + struct.pack(
        "!HHIH", number, CLASSES[other or rdclass], ttl, len(rdata)) + rdata)


def sections(message, zone):
    """[prerequisites], [updates] of a message as update_rules.py has them."""
    found = {"?": [], "!": []}
    for text in message.split("; "):
        if text:
            found[text[0]].append(text[2:])
    return [[record(text, zone) for text in found[mark]] for mark in "?!"]


def big(zone):
    made, size = [], 0
    while size < BIG:
        made.append(record(f"b{len(made)} 60 TXT {'x' * 180}", zone))
        size += len(made[-1])
    return made


def signed(wire, key, at=None, name=None):
    """The message with a TSIG record; and its MAC."""
    template = dns.rdtypes.ANY.TSIG.TSIG(
        dns.rdataclass.ANY, dns.rdatatype.TSIG, key.algorithm, 0, 300, b"",
        struct.unpack("!H", wire[:2])[0], 0, b"")
    tsig, _ = dns.tsig.sign(wire, key, template,
                            time=int(time.time() if at is None else at))
    rdata = tsig.to_wire()
    count = struct.unpack("!H", wire[10:12])[0]
    return (wire[:10] + struct.pack("!H", count + 1) + wire[12:]
            + (name or key.name).to_wire()
            + struct.pack("!HHIH", dns.rdatatype.TSIG, 255, 0, len(rdata))
            + rdata, tsig.mac)


def long(message, zone, how):
    """(prerequisites, updates) that fill a message."""
    if "big" in how:
        return [], big(zone)
    pre, updates = sections(message, zone)
    return pre * (BIG // len(pre[0])), updates


def looping(how, updates, at):
    """Updates with a name that has no end, or points forwards; at: where the
    first one begins."""
    record = updates[0]
    rest = record[record.index(b"\0") + 1:]
    pointer = struct.pack("!H", 0xc000 | at)
    if how["loop"] == "itself":
        return [pointer + rest]
    if how["loop"] == "label":
        return [b"\1x" + pointer + rest]
    if how["loop"] == "each-other":
        second = struct.pack("!H", 0xc000 | at + 2 + len(rest))
        return [second + rest, pointer + rest]
    if how["loop"] == "forwards":
        return [struct.pack("!H", 0xc000 | at + 2 + len(rest)) + rest, record]
    assert how["loop"] == "rdata"
    owner = record[:record.index(b"\0") + 1]
    inner = struct.pack("!H", 0xc000 | at + len(owner) + 12)
    return [owner + struct.pack("!HHIHH", dns.rdatatype.MX, 1, 60, 4, 10)
            + inner]


def make(message, zone, how, number):
    """(wire, MAC or None) of a message for a zone; how: {word: value}."""
    pre, updates = long(message, zone, how) if "big" in how \
        or "bigpre" in how else sections(message, zone)
    zones = int(how.get("zones", 1))
    apex = dns.name.from_text(how["zone"], zone) if "zone" in how else zone
    question = apex.to_wire() + struct.pack(
        "!HH", dns.rdatatype.from_text(how.get("ztype", "SOA")),
        CLASSES[how.get("zclass", "IN")])
    if "zloop" in how:
        question = struct.pack("!H", 0xc000 | 12) + question[-4:]
    if "loop" in how:
        updates = looping(how, updates, 12 + len(question))
    if "long" in how:
        updates = [updates[0][:-6] + struct.pack("!H", 400) + updates[0][-4:]]
    flags = UPDATE << 11 | (0x8000 if "qr" in how else 0)
    wire = struct.pack("!HHHHHH", number, flags, zones,
                       int(how.get("prcount", len(pre))),
                       int(how.get("upcount", len(updates))), 0)
    wire += question * zones + b"".join(pre) + b"".join(updates)
    wire += bytes(int(how.get("trailing", 0)))
    return _sign(wire, how, zone)


def _sign(wire, how, zone):
    sign = how.get("sign", "good")
    if sign == "none":
        return wire, None
    at = time.time() + {"late": -3600, "early": 3600}.get(sign, 0)
    key = WRONG if sign == "bad" else KEYS.get(sign, KEYS["good"])
    made, mac = signed(wire, key, at)
    if sign == "changed":
        last = len(wire) - 1
        made = made[:last] + bytes([made[last] ^ 1]) + made[last + 1:]
    if "moved" in how:
        at = 12 + wire[12]
        made = made[:at] + bytes([made[at] ^ 1]) + made[at + 1:]
    if "id" in how:
        made = bytes([made[0] ^ 1]) + made[1:]
    if "mac" in how or "tclass" in how or "tttl" in how or "tloop" in how:
        made = _other_tsig(made, len(wire), how)
        mac = mac[:int(how.get("mac", len(mac)))]
    if how.get("behind") == "TSIG":
        made, mac = signed(made, key, at)
    elif "behind" in how:
        made = (made[:10] + struct.pack("!H", 2) + made[12:]
                + record(f"x 0 {how['behind']} 192.0.2.1", zone))
    return made, mac


def _other_tsig(made, at, how):
    """The message with another TSIG, which begins at an index."""
    head, record = made[:at], made[at:]
    name_end = record.index(b"\0") + 1
    name, fixed = record[:name_end], record[name_end:name_end + 10]
    rdata = record[name_end + 10:]
    rdtype, rdclass, ttl, _ = struct.unpack("!HHIH", fixed)
    if "tloop" in how:
        name = struct.pack("!H", 0xc000 | at)
    if "mac" in how:
        mac_at = rdata.index(b"\0") + 1 + 6 + 2
        size = struct.unpack("!H", rdata[mac_at:mac_at + 2])[0]
        kept = int(how["mac"])
        rdata = (rdata[:mac_at] + struct.pack("!H", kept)
                 + rdata[mac_at + 2:mac_at + 2 + kept]
                 + rdata[mac_at + 2 + size:])
    return head + name + struct.pack(
        "!HHIH", rdtype, CLASSES[how.get("tclass", "ANY")] if "tclass" in how
        else rdclass, int(how.get("tttl", ttl)), len(rdata)) + rdata
