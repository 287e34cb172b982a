"""Zones that ldns, BIND and Knot have signed, with one fault each: the zone is
damaged afterwards, with the signer's own keys where the damage is to be
signed."""
import base64
import dataclasses
import re
import time
import typing

import dns.name
import dns.rdatatype
import dns.zone
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

import signers
import signing
from signing import DAY, NOW

SERIAL = 7
PLAIN = f"""\
$TTL 3600
@ IN SOA ns host {SERIAL} 7200 3600 1209600 300
@ IN NS ns
@ IN MX 10 mail
ns IN A 192.0.2.1
mail IN A 192.0.2.2
mail IN A 192.0.2.3
www IN AAAA 2001:db8::1
*.wild IN TXT "x"
a.b.deep IN A 192.0.2.4
insecure IN NS ns.insecure
ns.insecure IN A 192.0.2.5
secure IN NS ns.elsewhere.test.
secure IN DS 12345 13 2 {32 * "ab"}
"""
NO_DIGEST = "@ IN ZONEMD {} 1 1 " + 48 * "00" + "\n"


# ---- the signers' keys

def _read_private(text):
    """A key as ldns and BIND keep it, or as Knot does."""
    if "BEGIN PRIVATE KEY" in text:
        return serialization.load_pem_private_key(text.encode(), None)
    number = re.search(r"^PrivateKey: (\S+)$", text, re.M)[1]
    return ec.derive_private_key(
        int.from_bytes(base64.b64decode(number), "big"), ec.SECP256R1())


class Key(signing.Key):
    """An ECDSA P-256 key of a signer."""

    def __init__(self, private, flags):
        super().__init__(flags)
        self.private = private
        numbers = private.public_key().public_numbers()
        self.octets = (numbers.x.to_bytes(32, "big")
                       + numbers.y.to_bytes(32, "big"))


class SignedZone(signing.Zone):
    """The records of a signed file. keys: the folder of its keys."""

    def __init__(self, name, path, keys):
        self.origin = dns.name.from_text(name)
        self.records, self.sigs = {}, {}
        zone = dns.zone.from_file(str(path), origin=self.origin,
                                  relativize=False, check_origin=False)
        for owner, ttl, rdata in zone.iterate_rdatas():
            if rdata.rdtype == dns.rdatatype.RRSIG:
                self.sigs.setdefault((owner, rdata.covers()), []).append(
                    rdata.to_text())
            else:
                self.add(owner, rdata.rdtype, rdata.to_text(), ttl)
        self._find_parameters()
        self._find_keys(keys)

    def _find_parameters(self):
        param = self.records.get(self.key("@", "NSEC3PARAM"))
        fields = param[1][0].split() if param else ["1", "0", "0", "-"]
        self.iterations, self.salt = int(fields[2]), fields[3]
        self.denial = "NSEC3" if param else "NSEC"

    def _find_keys(self, folder):
        privates = [_read_private(path.read_text())
                    for path in folder.rglob("*")
                    if path.suffix in (".private", ".pem")]
        for text in self.records[self.key("@", "DNSKEY")][1]:
            flags = int(text.split()[0])
            for private in privates:
                key = Key(private, flags)
                if key.text().split()[3] == "".join(text.split()[3:]):
                    setattr(self, "ksk" if flags & 1 else "zsk", key)
        assert self.ksk and self.zsk

    def set_digest(self, serial=SERIAL):
        """The right digest, and its signature."""
        zone = dns.zone.from_text(self.text(), origin=self.origin,
                                  relativize=False)
        fields = zone.compute_digest(1).to_text().split()
        self.set("@", "ZONEMD", " ".join([str(serial), *fields[1:]]))
        self.resign("@", "ZONEMD")

    def text(self, sig_ttl=None):
        """With times of signatures as NSD 4 reads them."""
        def date(match):
            return " ".join(time.strftime("%Y%m%d%H%M%S", time.gmtime(int(t)))
                            for t in match[0].split())
        return re.sub(r"\b1[0-9]{9} 1[0-9]{9}\b", date, super().text(sig_ttl))

    def link_of(self, owner):
        """Owner and type of the NSEC or NSEC3 of a name."""
        return (owner, "NSEC") if self.denial == "NSEC" \
            else (self.hash(owner), "NSEC3")

    def set_link(self, owner, after=None, types=None):
        """Another next name, or other types, signed."""
        place = self.link_of(owner)
        fields = self.text_of(*place).split()
        at = 0 if self.denial == "NSEC" else 4
        if after is not None:
            fields[at] = after
        if types is not None:
            fields[at + 1:] = types.split()
        self.set(*place, " ".join(fields))
        self.resign(*place)


# ---- faults

@dataclasses.dataclass(frozen=True)
class Fault:
    text: str  # of the row in doc/judging.md
    damage: typing.Callable
    has_digest: bool  # the zone has ZONEMD, which secondaries are to verify


FAULTS = {}


def fault(text, has_digest=False):
    def add(damage):
        FAULTS[damage.__name__] = Fault(text, damage, has_digest)
        return damage
    return add


@fault("a signature is missing")
def missing(z):
    z.unsign("mail", "A")


@fault("a signature is altered")
def altered(z):
    key = z.key("mail", "A")
    text = z.sigs[key][0]
    z.sigs[key] = [text[:-12] + ("AAAA" if text[-12:-8] != "AAAA"
                                 else "BBBB") + text[-8:]]


@fault("records have changed, their signature has not")
def changed(z):
    z.set("mail", "A", "192.0.2.2", "192.0.2.99")


@fault("a signature has expired")
def expired(z):
    z.resign("mail", "A", expiration=NOW - 3600, inception=NOW - DAY)


@fault("a signature is not valid yet")
def early(z):
    z.resign("mail", "A", inception=NOW + DAY)


@fault("a signature is of a key that the zone lacks")
def of_another_key(z):
    z.resign("mail", "A", signing.Key(256))


@fault("a signature is of another key, with the tag of the zone's")
def forged(z):
    z.resign("mail", "A", signing.Key(256), tag=z.zsk.tag)


@fault("a signature names another signer")
def of_another_signer(z):
    z.resign("mail", "A", signer=z.origin.parent())


@fault("a signature counts a label too few")
def few_labels(z):
    z.resign("mail", "A", labels=len(z.origin) - 1)


@fault("a signature counts a label too many")
def many_labels(z):
    z.resign("mail", "A", labels=len(z.origin) + 1)


@fault("a DS has no signature")
def unsigned_cut(z):
    z.unsign("secure", "DS")


@fault("an NSEC or NSEC3 record is missing")
def link_missing(z):
    z.remove(*z.link_of("mail"))


@fault("an NSEC or NSEC3 record leads to a wrong name")
def link_wrong(z):
    z.set_link("mail", after=f"x.{z.origin}" if z.denial == "NSEC"
               else 32 * "0")


@fault("the types of an NSEC or NSEC3 record are wrong")
def types_wrong(z):
    z.set_link("mail", types="A RRSIG TXT" + (
        " NSEC" if z.denial == "NSEC" else ""))


@fault("a signed name is in no NSEC or NSEC3 record")
def name_without_link(z):
    z.add("new", "A", "192.0.2.77")
    z.sign_one("new", "A")


@fault("the apex has no NSEC, or no NSEC3PARAM")
def no_chain(z):
    if z.denial == "NSEC":
        z.remove(*z.link_of("@"))
    else:
        z.remove("@", "NSEC3PARAM")
        z.set_link("@", types="NS SOA MX RRSIG DNSKEY")


def _keep_keys(z, wanted):
    """DNSKEY with some of its records alone, signed anew."""
    texts = [text for text in z.records[z.key("@", "DNSKEY")][1]
             if wanted(int(text.split()[0]))]
    z.set("@", "DNSKEY", *texts)
    z.resign("@", "DNSKEY")


@fault("the ZSK is gone, its signatures stay")
def zsk_gone(z):
    _keep_keys(z, lambda flags: flags & 1)


@fault("the KSK is gone, its signature stays")
def ksk_gone(z):
    _keep_keys(z, lambda flags: not flags & 1)


@fault("a new ZSK has signed, and is not in DNSKEY")
def zsk_too_early(z):
    z.zsk = signing.Key(256)
    for owner, kind in list(z.sigs):
        if kind != dns.rdatatype.DNSKEY:
            z.resign(owner, kind)


@fault("a key of another algorithm is in DNSKEY, and signs nothing")
def algorithm_too_early(z):
    texts = z.records[z.key("@", "DNSKEY")][1]
    z.set("@", "DNSKEY", *texts, "257 3 15 "
          "l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=")
    z.resign("@", "DNSKEY")


@fault("a key that signs nothing is no key of its algorithm")
def key_broken(z):
    texts = z.records[z.key("@", "DNSKEY")][1]
    octets = base64.b64encode(bytes(63) + b"\1").decode()
    z.set("@", "DNSKEY", *texts, f"256 3 13 {octets}")
    z.resign("@", "DNSKEY")


def _revoke_ksk(z):
    """RFC 5011 section 2.1: the tag is another one, too."""
    z.ksk.flags |= 0x80
    z.set("@", "DNSKEY", z.ksk.text(), z.zsk.text())
    z.resign("@", "DNSKEY", z.ksk)


@fault("the KSK is revoked, and signs DNSKEY alone")
def ksk_revoked(z):
    _revoke_ksk(z)


@fault("the KSK is revoked, and a key without the SEP flag signs DNSKEY, too")
def ksk_revoked_without_successor(z):
    _revoke_ksk(z)
    z.sign_one("@", "DNSKEY", z.zsk)


@fault("a TTL is above the original TTL of the signature")
def ttl_above(z):
    z.set("mail", "A", *z.records[z.key("mail", "A")][1], ttl=7200)


@fault("a TTL is below the original TTL of the signature")
def ttl_below(z):
    z.set("mail", "A", *z.records[z.key("mail", "A")][1], ttl=1800)


@fault("DNSKEY has no signature")
def keys_unsigned(z):
    z.unsign("@", "DNSKEY")


@fault("ZONEMD is of another content", has_digest=True)
def digest_wrong(z):
    z.set("www", "AAAA", "2001:db8::2")
    z.resign("www", "AAAA")


@fault("ZONEMD is of another serial", has_digest=True)
def digest_of_another_serial(z):
    z.set_digest(SERIAL - 1)


@fault("there are two ZONEMD records of one scheme and hash", has_digest=True)
def digest_twice(z):
    text = z.text_of("@", "ZONEMD")
    z.set("@", "ZONEMD", text, f"{SERIAL} 1 1 " + 48 * "ab")
    z.resign("@", "ZONEMD")


@fault("the hash of the only ZONEMD record is not known", has_digest=True)
def digest_unknown(z):
    z.set("@", "ZONEMD", f"{SERIAL} 1 240 " + 48 * "ab")
    z.resign("@", "ZONEMD")


@fault("ZONEMD was taken away, NSEC or NSEC3 names it", has_digest=True)
def digest_gone(z):
    z.remove("@", "ZONEMD")


@fault("ZONEMD has no signature", has_digest=True)
def digest_unsigned(z):
    z.unsign("@", "ZONEMD")


# ---- all of them

DENIALS = {"nsec": {}, "nsec3": {"iterations": 0},
           "opt-out": {"iterations": 0, "opt_out": True}}


def make(tool, denial, name, folder, has_digest):
    """Signs a zone; returns it, to be damaged."""
    place = folder / name
    place.mkdir()
    path = place / "zone"
    path.write_text(PLAIN + (NO_DIGEST.format(SERIAL) if has_digest else ""))
    how = signers.Signing(tool, "ECDSAP256SHA256", **DENIALS[denial])
    zone = SignedZone(name, signers.sign(how, name, path, place), place)
    if has_digest:
        zone.set_digest()
    return zone
