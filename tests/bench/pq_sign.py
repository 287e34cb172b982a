"""Real signatures and keys in place of those that gen_zone makes up: ECDSA and
RSA by the package cryptography, post-quantum ones by the package pqcrypto, where
it is there."""
import base64
import importlib
import importlib.metadata
import struct
import time

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype

from pq_algorithms import ALGORITHMS


class Missing(ImportError):
    """A library makes others."""


# ---- keys: public as DNSKEY has it, sign(octets), verify(octets, signature)

class EcdsaKey:
    def __init__(self):
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        self.utils, self.how = utils, ec.ECDSA(hashes.SHA256())
        self.key = ec.generate_private_key(ec.SECP256R1())
        numbers = self.key.public_key().public_numbers()
        self.public = numbers.x.to_bytes(32, "big") \
            + numbers.y.to_bytes(32, "big")

    def sign(self, octets):
        r, s = self.utils.decode_dss_signature(self.key.sign(octets, self.how))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def verify(self, octets, signature):
        self.key.public_key().verify(self.utils.encode_dss_signature(
            int.from_bytes(signature[:32], "big"),
            int.from_bytes(signature[32:], "big")), octets, self.how)
        return True


class RsaKey:
    def __init__(self):
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
        self.how = (padding.PKCS1v15(), hashes.SHA256())
        self.key = rsa.generate_private_key(65537, 2048)
        number = self.key.public_key().public_numbers().n
        self.public = b"\3\1\0\1" + number.to_bytes(256, "big")

    def sign(self, octets):
        return self.key.sign(octets, *self.how)

    def verify(self, octets, signature):
        self.key.public_key().verify(signature, octets, *self.how)
        return True


class ModuleKey:
    """Of pqcrypto: version 1 has other names than those before, and no
    Falcon."""

    def __init__(self, module):
        self.module = importlib.import_module(module)
        make = getattr(self.module, "keygen", None) \
            or self.module.generate_keypair
        self.public, self.secret = make()

    def sign(self, octets):
        return self.module.sign(self.secret, octets)

    def verify(self, octets, signature):
        return self.module.verify(self.public, octets, signature) is not False


def new_key(algorithm):
    """A key; ImportError if nothing makes it, or makes it in another size."""
    _, signature_len, key_len, module = ALGORITHMS[algorithm]
    key = ModuleKey(module) if module else \
        RsaKey() if algorithm == "RSA-2048" else EcdsaKey()
    if len(key.public) != key_len or len(key.sign(b"")) != signature_len:
        raise Missing(f"{algorithm} has other sizes there")
    return key


def maker(algorithm):
    """The library that makes such signatures, with its version."""
    package = "pqcrypto" if ALGORITHMS[algorithm][3] else "cryptography"
    return f"{package} {importlib.metadata.version(package)}"


# ---- a zone: lines "owner TTL IN type RDATA", as gen_zone makes them

def read_zone(path):
    """Lines, each as a list of its five fields."""
    with open(path, encoding="ascii") as f:
        return [line.rstrip("\n").split("\t", 4) for line in f]


def rdata_of(line):
    return dns.rdata.from_text(dns.rdataclass.IN, line[3], line[4],
                               origin=dns.name.root, relativize=False)


def put_keys(lines, keys):
    """Puts the public keys there: keys are by flags. Returns key tags."""
    tags = {}
    for line in lines:
        if line[3] != "DNSKEY":
            continue
        flags, protocol, number, _ = line[4].split(" ", 3)
        line[4] = " ".join([flags, protocol, number, base64.b64encode(
            keys[int(flags)].public).decode()])
        tags[int(flags)] = key_tag(rdata_of(line).to_digestable())
    return tags


def key_tag(rdata):
    """RFC 4034, appendix B."""
    total = sum(octet if place & 1 else octet << 8
                for place, octet in enumerate(rdata))
    return (total + (total >> 16)) & 0xffff


def signed_octets(owner, fields, rdatas):
    """The octets that a signature is over (RFC 4034, section 3.1.8.1)."""
    covered, number, labels, ttl, end, begin, tag, signer = fields
    rrsig = rdata_of([owner, "0", "IN", "RRSIG", " ".join(
        [covered, number, labels, ttl, end, begin, tag, signer, "AAAA"])])
    head = rrsig.to_digestable()[:-3]
    name = dns.name.from_text(owner).to_digestable()
    fixed = name + struct.pack(">HHI", dns.rdatatype.from_text(covered), 1,
                               int(ttl))
    return head + b"".join(
        fixed + struct.pack(">H", len(rdata)) + rdata
        for rdata in sorted(rdata.to_digestable() for rdata in rdatas))


def sign_zone(path, algorithm, limit_sec):
    """Signs a zone of gen_zone anew, in its place, until the time is over: what
    is left stays made up. Each signature is verified. Returns (signed, all);
    ImportError if nothing makes such signatures."""
    keys = {flags: new_key(algorithm) for flags in (256, 257)}
    lines, end = read_zone(path), time.monotonic() + limit_sec
    tags, sets = put_keys(lines, keys), {}
    for line in lines:
        sets.setdefault((line[0], line[3]), []).append(line)
    signed = [line for line in lines if line[3] == "RRSIG"]
    done = 0
    for line in signed:
        fields = line[4].split(" ")[:8]
        flags = 257 if fields[0] == "DNSKEY" else 256
        fields[6] = str(tags[flags])
        made_up = line[4].split(" ")[8]
        if time.monotonic() < end:
            octets = signed_octets(line[0], fields, [
                rdata_of(one) for one in sets[line[0], fields[0]]])
            signature = keys[flags].sign(octets)
            if not keys[flags].verify(octets, signature):
                raise ValueError(f"{line[0]} {fields[0]}: a bad signature")
            made_up = base64.b64encode(signature).decode()
            done += 1
        line[4] = " ".join([*fields, made_up])
    with open(path, "w", encoding="ascii") as f:
        f.writelines("\t".join(line) + "\n" for line in lines)
    return done, len(signed)
