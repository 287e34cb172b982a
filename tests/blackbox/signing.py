"""Signs zones: with the signers that are installed, and with one of its own
that can be told to do it wrong."""
import base64
import hashlib
import os
import pathlib
import struct
import subprocess
import tempfile
import time

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.zone
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

ORIGIN = dns.name.from_text("example.org.")
NOW = int(time.time())
DAY = 86400
DENIALS = ["nsec", "nsec3", "opt-out"]

# Names of each sort: wildcard, empty non-terminals, all sorts of cuts, glue,
# upper case in names of RDATA, escapes, a type nobody knows.
ZONE = """\
$TTL 3600
$ORIGIN example.org.
@ SOA Ns hostmaster 2024010101 3600 600 86400 300
 NS ns
 MX 10 Mail
 TXT "hello world"
ns A 192.0.2.1
ns AAAA 2001:db8::1
mail A 192.0.2.2
mail A 192.0.2.3
c.b.c 7200 A 192.0.2.4
a.b.c A 192.0.2.3
_sip._tcp SRV 1 2 3 Ns
*.w CNAME ns
z TYPE65280 \\# 3 010203
d DNAME example.net.
naptr NAPTR 1 2 "u" "E2U+sip" "!a!b!" Repl.Example.
weird\\.\\001 TXT "x"
insecure NS ns.insecure
ns.insecure A 192.0.2.9
self NS self
self A 192.0.2.7
other NS ns.example.net.
deep.ent NS ns.example.net.
secure NS ns.secure
secure DS 12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
ns.secure A 192.0.2.8
ns.secure AAAA 2001:db8::8
x.y.z.below NS ns.example.net.
x.y.z.below DS 12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
"""


def run(*command, cwd, **more):
    return subprocess.run(command, cwd=cwd, check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, **more).stdout


# ---- the signers of others


def digest_by_ldns(text, apex, kind=1):
    """The RDATA of a ZONEMD record with a hash of that kind. dnspython takes
    eight times as long for a large zone."""
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        (folder / "zone").write_text(text)
        run("ldns-signzone", "-Z", "-z", f"1:{kind}", "-o", apex,
            "-f", "digested", "zone", cwd=folder)
        with (folder / "digested").open() as lines:
            return next(line.split("\tZONEMD\t")[1].strip() for line in lines
                        if "\tZONEMD\t" in line)


def sign_with_ldns(directory, text, algorithm, denial):
    keys = []
    while len(set(keys)) < 2:  # keys are named by their tags, of 16 bits
        keys = [run("ldns-keygen", "-r", "/dev/urandom", "-a", algorithm,
                    *kind, "example.org", cwd=directory).strip()
                for kind in (["-k"], [])]
    (directory / "plain").write_text(text)
    arguments = {"nsec": [], "nsec3": ["-n", "-t", "0"],
                 "opt-out": ["-n", "-t", "0", "-p", "-s", "abcd"]}[denial]
    run("ldns-signzone", *arguments, "-o", "example.org", "-f", "signed",
        "plain", *keys, cwd=directory)
    return directory / "signed"


def sign_with_bind(directory, text, algorithm, denial):
    for kind in ([], ["-f", "KSK"]):
        run("dnssec-keygen", "-q", "-a", algorithm, *kind, "example.org",
            cwd=directory)
    (directory / "plain").write_text(text)
    arguments = {"nsec": [], "nsec3": ["-3", "-"],
                 "opt-out": ["-3", "abcd", "-A"]}[denial]
    run("dnssec-signzone", "-S", "-x", *arguments, "-o", "example.org", "-f",
        "signed", "plain", cwd=directory)
    return directory / "signed"


def sign_with_knot(directory, text, algorithm, denial):
    (directory / "plain").mkdir()
    (directory / "plain" / "example.org.zone").write_text(text)
    (directory / "out").mkdir()
    (directory / "db").mkdir()
    (directory / "knot.conf").write_text(f"""\
database:
    storage: "{directory}/db"
policy:
  - id: test
    algorithm: {algorithm}
    nsec3: {"off" if denial == "nsec" else "on"}
    nsec3-opt-out: {"on" if denial == "opt-out" else "off"}
    nsec3-iterations: 0
    nsec3-salt-length: {8 if denial == "opt-out" else 0}
zone:
  - domain: example.org.
    storage: "{directory}/plain"
    file: example.org.zone
    dnssec-signing: on
    dnssec-policy: test
    zonemd-generate: zonemd-sha384
""")
    run("kzonesign", "-c", "knot.conf", "-o", "out", "example.org",
        cwd=directory)
    return directory / "out" / "example.org.zone"


# ---- one that can do it wrong


class Key:
    """An ECDSA P-256 key."""

    def __init__(self, flags, algorithm=13):
        self.private = ec.generate_private_key(ec.SECP256R1())
        numbers = self.private.public_key().public_numbers()
        self.octets = (numbers.x.to_bytes(32, "big")
                       + numbers.y.to_bytes(32, "big"))
        self.flags = flags
        self.algorithm = algorithm
        self.protocol = 3

    @property
    def rdata(self):
        return struct.pack("!HBB", self.flags, self.protocol,
                           self.algorithm) + self.octets

    @property
    def tag(self):
        total = sum(octet << (0 if i % 2 else 8)
                    for i, octet in enumerate(self.rdata))
        return (total + (total >> 16)) & 0xffff

    def text(self):
        return (f"{self.flags} {self.protocol} {self.algorithm} "
                + base64.b64encode(self.octets).decode())

    def sign(self, data):
        r, s = utils.decode_dss_signature(
            self.private.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def nsec3_hash(name, salt=b"", iterations=0):
    digest = name.canonicalize().to_wire()
    for _ in range(iterations + 1):
        digest = hashlib.sha1(digest + salt).digest()
    return base64.b32hexencode(digest).decode().lower()


def keys_with_one_tag():
    """A KSK and a ZSK. Among some hundreds of each two have the same tag."""
    made = {257: {}, 256: {}}
    while True:
        for flags, keys in made.items():
            key = Key(flags)
            keys[key.tag] = key
            if all(key.tag in found for found in made.values()):
                return made[257][key.tag], made[256][key.tag]


class Zone:
    """Records as {(owner, type): (ttl, [text of RDATA])}, and signatures as
    {(owner, covered): [text]}. The steps are taken one by one, so that
    between them things can be broken."""

    origin = ORIGIN

    def __init__(self, text=ZONE, salt="-", iterations=0, one_tag=False):
        self.records = {}
        self.sigs = {}
        self.salt = salt
        self.iterations = iterations
        self.ksk, self.zsk = keys_with_one_tag() if one_tag \
            else (Key(257), Key(256))
        while not one_tag and self.zsk.tag == self.ksk.tag:
            self.zsk = Key(256)
        zone = dns.zone.from_text(text, origin=self.origin, relativize=False,
                                  check_origin=False)
        for name, ttl, rdata in zone.iterate_rdatas():
            self.add(name, rdata.rdtype, rdata.to_text(), ttl)
        for key in (self.ksk, self.zsk):
            self.add("@", "DNSKEY", key.text())

    # ---- records

    def key(self, owner, kind):
        if isinstance(owner, str):
            owner = dns.name.from_text(owner, self.origin)
        if isinstance(kind, str):
            kind = dns.rdatatype.from_text(kind)
        return owner, kind

    def add(self, owner, kind, text, ttl=3600):
        self.records.setdefault(self.key(owner, kind),
                                (ttl, []))[1].append(text)

    def remove(self, owner, kind):
        del self.records[self.key(owner, kind)]
        self.sigs.pop(self.key(owner, kind), None)

    def set(self, owner, kind, *texts, ttl=None):
        old = self.records.get(self.key(owner, kind))
        self.records[self.key(owner, kind)] = (
            ttl if ttl is not None else old[0] if old else 3600, list(texts))

    def text_of(self, owner, kind):
        return self.records[self.key(owner, kind)][1][0]

    # ---- what there is

    def types_at(self, owner):
        return {t for name, t in self.records if name == owner}

    def is_cut(self, owner):
        return owner != self.origin and dns.rdatatype.NS in self.types_at(owner)

    def is_hidden(self, owner):
        while owner != self.origin:
            owner = owner.parent()
            if self.is_cut(owner) or \
                    dns.rdatatype.DNAME in self.types_at(owner):
                return True
        return False

    def names(self):
        """Of which the zone is the authority, cuts too; in order."""
        return sorted({name for name, t in self.records
                       if not self.is_hidden(name)
                       and t not in (dns.rdatatype.NSEC,
                                     dns.rdatatype.NSEC3)})

    def with_empty(self, names):
        """The names, and the empty non-terminals above them, sorted."""
        found = set(names)
        for name in names:
            while name != self.origin:
                name = name.parent()
                found.add(name)
        return sorted(found)

    def bitmap(self, owner, more):
        types = self.types_at(owner)
        if self.is_cut(owner):
            types &= {dns.rdatatype.NS, dns.rdatatype.DS}
        # Only a cut without DS has nothing signed but its NSEC.
        if types and (more or types != {dns.rdatatype.NS}
                      or owner == self.origin):
            types.add(dns.rdatatype.RRSIG)
        return " ".join(dns.rdatatype.to_text(t)
                        for t in sorted(types | more))

    # ---- the chains

    def make_nsec(self):
        names = self.names()
        for name, after in zip(names, names[1:] + names[:1]):
            bitmap = self.bitmap(name, {dns.rdatatype.NSEC})
            self.add(name, "NSEC", f"{after} {bitmap}", 300)
        return self

    def make_nsec3(self, opt_out=False, names=None):
        self.add("@", "NSEC3PARAM", f"1 0 {self.iterations} {self.salt}", 0)
        if names is None:
            names = [n for n in self.names() if not opt_out
                     or not self.is_cut(n)
                     or dns.rdatatype.DS in self.types_at(n)]
            names = self.with_empty(names)
        hashed = sorted((self.hash(name), name) for name in names)
        for (label, name), (after, _) in zip(hashed, hashed[1:] + hashed[:1]):
            self.add(label, "NSEC3", f"1 {int(opt_out)} {self.iterations} "
                     f"{self.salt} {after} {self.bitmap(name, set())}", 300)
        return self

    def make(self, denial):
        if denial == "nsec":
            return self.make_nsec()
        return self.make_nsec3(denial == "opt-out")

    def hash(self, name):
        if isinstance(name, str):
            name = dns.name.from_text(name, self.origin)
        salt = b"" if self.salt == "-" else bytes.fromhex(self.salt)
        return nsec3_hash(name, salt, self.iterations)

    # ---- signatures

    def sign_one(self, owner, kind, key=None, **fields):
        """Adds an RRSIG whose fields may be given."""
        owner, kind = self.key(owner, kind)
        ttl, texts = self.records[owner, kind]
        key = key or (self.ksk if kind == dns.rdatatype.DNSKEY else self.zsk)
        labels = len(owner) - 1 - owner.is_wild()
        f = {"algorithm": key.algorithm, "labels": labels,
             "original_ttl": ttl, "expiration": NOW + 30 * DAY,
             "inception": NOW - DAY, "tag": key.tag, "signer": self.origin}
        f.update(fields)
        head = struct.pack("!HBBIIIH", kind, f["algorithm"], f["labels"],
                           f["original_ttl"], f["expiration"] % 2**32,
                           f["inception"] % 2**32, f["tag"])
        head += f["signer"].canonicalize().to_wire()
        rdatas = sorted({dns.rdata.from_text(
            dns.rdataclass.IN, kind, text).to_digestable()
            for text in texts})
        data = head + b"".join(
            owner.canonicalize().to_wire() + struct.pack(
                "!HHIH", kind, 1, f["original_ttl"], len(rdata)) + rdata
            for rdata in rdatas)
        signature = base64.b64encode(key.sign(data)).decode()
        self.sigs.setdefault((owner, kind), []).append(
            f"{dns.rdatatype.to_text(kind)} {f['algorithm']} {f['labels']} "
            f"{f['original_ttl']} {f['expiration'] % 2**32} "
            f"{f['inception'] % 2**32} {f['tag']} {f['signer']} {signature}")

    def to_sign(self):
        """The RRsets that the zone signs."""
        return [(owner, kind) for owner, kind in self.records
                if kind == dns.rdatatype.NSEC3 or not (
                    self.is_hidden(owner) or self.is_cut(owner)
                    and kind not in (dns.rdatatype.DS, dns.rdatatype.NSEC))]

    def sign(self):
        for owner, kind in self.to_sign():
            if (owner, kind) not in self.sigs:
                self.sign_one(owner, kind)
        return self

    def resign(self, owner, kind, key=None, **fields):
        self.unsign(owner, kind)
        self.sign_one(owner, kind, key, **fields)

    def unsign(self, owner, kind):
        self.sigs.pop(self.key(owner, kind), None)

    # ---- text

    def text(self, sig_ttl=None):
        lines = []
        for (owner, kind), (ttl, texts) in sorted(
                self.records.items(), key=lambda r: (
                    r[0][0], r[0][1] != dns.rdatatype.SOA, r[0][1])):
            lines += [f"{owner} {ttl} IN {dns.rdatatype.to_text(kind)} {text}"
                      for text in texts]
            lines += [f"{owner} {ttl if sig_ttl is None else sig_ttl} IN "
                      f"RRSIG {text}"
                      for text in self.sigs.get((owner, kind), [])]
        # Signatures of what is not there.
        lines += [f"{owner} 3600 IN RRSIG {text}"
                  for (owner, kind), texts in self.sigs.items()
                  if (owner, kind) not in self.records for text in texts]
        return "\n".join(lines) + "\n"

    def write(self, path):
        path.write_text(self.text())
        return os.fspath(path)
