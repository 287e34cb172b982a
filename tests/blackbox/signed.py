"""Zones with NSEC or NSEC3 records made here, and which of these an answer
must have: the rules of RFC 4035 section 3.1.3 and RFC 5155 section 7.2, worked
out from the names alone. The signatures are made up."""

import base64
import bisect
import dataclasses

import dns.dnssec
import dns.name
import dns.rdatatype


@dataclasses.dataclass(frozen=True)
class Nsec3:
    iterations: int = 0
    salt: str = ""
    opt_out: bool = False

    def text(self, flags):
        return f"1 {flags} {self.iterations} {self.salt or '-'}"


class Zone:
    """rows: "owner TYPE rdata" lines, owners relative to the apex ("@")."""

    def __init__(self, apex, rows, nsec3=None, sig_len=64):
        self.apex = dns.name.from_text(apex)
        self.nsec3 = nsec3
        self.sig = base64.b64encode(bytes(sig_len)).decode()
        self.rows = ["@ SOA ns root 1 7200 3600 1209600 300", "@ NS ns",
                     "ns A 192.0.2.1", "@ DNSKEY 257 3 13 AAAA"]
        if nsec3:
            self.rows.append("@ NSEC3PARAM " + nsec3.text(0))
        self.rows += [row.strip() for row in rows.strip().splitlines()]
        self.types = {}
        for row in self.rows:
            owner, rrtype, _ = row.split(None, 2)
            self.types.setdefault(self.name(owner), set()).add(rrtype)
        self.hides = {name for name, types in self.types.items()
                      if name != self.apex and types & {"NS", "DNAME"}}
        self.cuts = {name for name in self.hides if "NS" in self.types[name]}
        seen = [name for name in self.types if not self.hider(name)]
        self.existing = self.with_those_above(seen)
        # With opt-out, names above nothing but insecure cuts have no record.
        self.secure = self.with_those_above(
            name for name in seen
            if name not in self.cuts or "DS" in self.types[name])
        self.make_chain()

    def name(self, text):
        return dns.name.from_text(text, self.apex)

    def with_those_above(self, names):
        """Names, and all between them and the apex."""
        return {dns.name.Name(name.labels[i:]) for name in names
                for i in range(len(name) - len(self.apex) + 1)}

    def hider(self, name):
        """The topmost cut or DNAME above a name."""
        above = (dns.name.Name(name.labels[i:])
                 for i in range(len(name) - 1, 0, -1))
        return next((one for one in above if one in self.hides), None)

    # ---- the chain

    def is_proven(self, name):
        """True if the name has a record of its own in the chain."""
        if name not in self.existing:
            return False
        if not self.nsec3:
            return name in self.types
        return not self.nsec3.opt_out or name in self.secure

    def key(self, name):
        """Where a name stands in the chain."""
        if not self.nsec3:
            return name
        return dns.dnssec.nsec3_hash(name, self.nsec3.salt or None,
                                     self.nsec3.iterations, 1).lower()

    def make_chain(self):
        self.chain = sorted((self.key(name), name) for name in self.existing
                            if self.is_proven(name))
        self.keys = [key for key, _ in self.chain]
        self.chained = set(self.keys)

    def match(self, name):
        assert self.key(name) in self.chained
        return self.owner(self.key(name))

    def cover(self, name):
        assert self.key(name) not in self.chained
        return self.owner(self.keys[bisect.bisect(self.keys, self.key(name))
                                    - 1])

    def owner(self, key):
        return self.name(key) if self.nsec3 else key

    def denials(self):
        """The lines of the chain's records."""
        kind = "NSEC3" if self.nsec3 else "NSEC"
        for i, (key, name) in enumerate(self.chain):
            following = self.keys[(i + 1) % len(self.keys)]
            types = set(self.types.get(name, ()))
            if name in self.cuts:
                types &= {"NS", "DS"}
            if types and not (name in self.cuts and "DS" not in types
                              and self.nsec3):
                types.add("RRSIG")
            if not self.nsec3:
                types |= {"NSEC", "RRSIG"}
            bits = " ".join(sorted(types, key=dns.rdatatype.from_text))
            rdata = f"{following} {bits}"
            if self.nsec3:
                rdata = f"{self.nsec3.text(int(self.nsec3.opt_out))} {rdata}"
            yield self.owner(key), kind, rdata

    def rrsig(self, owner, rrtype):
        labels = len(owner) - 1 - owner.is_wild()
        return (f"{owner} 300 RRSIG {rrtype} 13 {labels} 300 20400101000000 "
                f"20200101000000 1 {self.apex} {self.sig}")

    def lines(self):
        """The whole zone."""
        lines = [f"$ORIGIN {self.apex}", "$TTL 300", *self.rows]
        for name, types in self.types.items():
            if not self.hider(name):
                lines += [self.rrsig(name, rrtype) for rrtype in types
                          if name not in self.cuts or rrtype == "DS"]
        for owner, kind, rdata in self.denials():
            lines += [f"{owner} 300 {kind} {rdata}", self.rrsig(owner, kind)]
        return lines

    def text(self):
        return "\n".join(self.lines()) + "\n"

    # ---- what an answer must have

    def proof(self, name, rrtype):
        """The owners of the records that deny something in an answer: RFC
        4035 section 3.1.3, RFC 5155 section 7.2."""
        hider = self.hider(name)
        if hider:
            return (self.no_type(hider) if "DS" not in self.types[hider]
                    and hider in self.cuts else set())
        if name in self.cuts and rrtype != "DS":
            return set() if "DS" in self.types[name] else self.no_type(name)
        if name in self.existing:
            has = rrtype in self.types.get(name, ())
            return set() if has else self.no_type(name)
        encloser = name
        while encloser not in self.existing:
            closer, encloser = encloser, encloser.parent()
        wildcard = dns.name.Name((b"*",) + encloser.labels)
        closer = self.cover(closer if self.nsec3 else name)
        if wildcard not in self.existing:
            # RFC 4035 section 3.1.3.2, RFC 5155 section 7.2.2
            proof = {closer, self.cover(wildcard)}
        elif rrtype in self.types.get(wildcard, ()):
            # RFC 4035 section 3.1.3.3, RFC 5155 section 7.2.6
            return {closer}
        else:
            # RFC 4035 section 3.1.3.4, RFC 5155 section 7.2.5
            proof = {closer} | self.no_type(wildcard)
        if self.nsec3:
            provable = self.provable(encloser)
            if provable != encloser:  # RFC 5155 section 7.2.7
                below = dns.name.Name(
                    encloser.labels[-len(provable.labels) - 1:])
                proof = {self.cover(below)} | (proof - {closer})
                if wildcard not in self.existing:
                    proof = {self.cover(below), self.cover(dns.name.Name(
                        (b"*",) + provable.labels))}
            proof.add(self.match(provable))
        return proof

    def lacks_proof(self, name):
        """True for a name whose closest encloser has no record, while the
        closest ancestor with one has a wildcard: nothing tells that this
        does not answer."""
        if name in self.existing or self.hider(name):
            return False
        encloser = name
        while encloser not in self.existing:
            encloser = encloser.parent()
        provable = self.provable(encloser)
        return (provable != encloser and bool(self.nsec3) and dns.name.Name(
            (b"*",) + provable.labels) in self.existing)

    def provable(self, name):
        while not self.is_proven(name):
            name = name.parent()
        return name

    def no_type(self, name):
        """RFC 4035 section 3.1.3.1, RFC 5155 section 7.2.3, and with opt-out
        RFC 5155 section 7.2.4 and RFC 5155 section 7.2.7."""
        if self.is_proven(name):
            return {self.match(name)}
        if not self.nsec3:
            return {self.cover(name)}
        provable = self.provable(name)
        below = dns.name.Name(name.labels[-len(provable.labels) - 1:])
        return {self.match(provable), self.cover(below)}
