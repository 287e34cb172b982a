"""Questions for a set of zones: every owner, below, above and beside it, with
each type that matters."""
import functools
import random

import dns.name
import dns.rdatatype
import dns.zone

# Asked at every name; the types the zones use at a name are added to it.
COMMON_TYPES = ["A", "AAAA", "NS", "SOA", "MX", "TXT", "CNAME", "DS", "SRV"]
# Asked at a few names only.
RARE_TYPES = ["DNAME", "DNSKEY", "PTR", "RRSIG", "NSEC", "NSEC3",
              "NSEC3PARAM", "HTTPS", "HINFO", "CAA", "TYPE65280", "KX",
              "AFSDB", "ANY"]

HASH_TYPES = {dns.rdatatype.NSEC3, dns.rdatatype.RRSIG}


@functools.cache
def read_zone(name, path):
    """{owner: {types}} of a zone file, which no test changes, without any check
    of its contents. What is given stays as it is."""
    owners = {}
    origin = dns.name.from_text(name)
    zone = dns.zone.from_file(str(path), origin, relativize=False,
                              check_origin=False)
    for owner, node in zone.nodes.items():
        owners[owner] = {rdataset.rdtype for rdataset in node.rdatasets}
    return owners


def _child(label, name):
    try:
        return dns.name.Name((label,) + name.labels)
    except dns.exception.DNSException:
        return None


def names_around(owner):
    """The owner and names below, above and beside it."""
    names = [owner, _child(b"below", owner), _child(b"*", owner)]
    deeper = _child(b"below", owner)
    if deeper is not None:
        names.append(_child(b"deeper", deeper))
    if len(owner.labels) > 1:
        first, rest = owner.labels[0], dns.name.Name(owner.labels[1:])
        names.append(rest)
        for beside in (first + b"-", b"0" + first, first[:-1]):
            if beside and len(beside) < 64:
                names.append(_child(beside, rest))
        if rest != dns.name.root:
            names.append(_child(b"zz", rest))
    return [name for name in names if name is not None]


def make(zones, most=None, seed=1):
    """(name, type) pairs for {zone: path}, in a fixed order; of more than
    `most` a part."""
    rng = random.Random(seed)
    asked = {}
    for zone, path in zones.items():
        owners = dict(read_zone(zone, path))
        for owner in [owner for owner, types in owners.items()
                      if types <= HASH_TYPES][1:]:
            del owners[owner]  # a single one shows how all are answered
        for owner, types in owners.items():
            for name in names_around(owner):
                if not name.is_subdomain(dns.name.from_text(zone)):
                    continue
                row = asked.setdefault(name, set())
                row.update(dns.rdatatype.from_text(t) for t in COMMON_TYPES)
                if name == owner:
                    row.update(types)
                row.update(dns.rdatatype.from_text(t)
                           for t in rng.sample(RARE_TYPES, 3))
    made = [(name, rdtype) for name in sorted(asked)
            for rdtype in sorted(asked[name])]
    if most is not None and len(made) > most:
        made = [made[i] for i in sorted(rng.sample(range(len(made)), most))]
    return made
