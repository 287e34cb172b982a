"""Zones made at random of what makes denials hard: names of all octets and of
all lengths, wildcards, empty non-terminals and cuts at every level."""

import dns.exception
import dns.name

LABELS = [b"a", b"b", b"*", b"\0", b"a\0", b"\0a", b"a.b", b"\xff", b"x" * 63,
          b"*a", b"A", b"-", b"~"]
NAME_MAX = 255


def child(name, *labels):
    """A name with more labels in front; None if it is too long."""
    try:
        return dns.name.Name(labels + name.labels)
    except dns.exception.DNSException:
        return None


def longest(apex):
    """A name with no room for a wildcard below it."""
    name, room = apex, NAME_MAX - len(apex.to_wire())
    while room > 1:
        name = child(name, b"l" * min(63, room - 1))
        room = NAME_MAX - len(name.to_wire())
    return name


def make_kinds(rng, apex):
    """{owner: what it is}, with nothing below a DNAME."""
    labels = rng.sample(LABELS, rng.randint(3, len(LABELS))) + [b"*"]
    depth = rng.choice([2, 3, 4, 6, 12])
    kinds = {longest(apex): rng.choice(["data", "cut"])}
    for _ in range(rng.choice([0, 1, 5, 12, 30])):
        owner = child(apex, *rng.choices(labels, k=rng.randint(1, depth)))
        if owner is not None:
            kinds[owner] = rng.choice(["data", "mx", "cut", "cut", "secure",
                                       "dname"])
            # RFC 4592 sections 4.2 and 4.4 leave these open.
            if b"*" in owner.labels and kinds[owner] != "mx":
                kinds[owner] = "data"
    for dname in [name for name, kind in kinds.items() if kind == "dname"]:
        kinds = {name: kind for name, kind in kinds.items()
                 if name == dname or not name.is_subdomain(dname)}
    return kinds


ROWS = {
    "data": "{} TXT x",
    "mx": "{} MX 1 ns",
    "cut": "{} NS ns",
    "secure": "{0} NS ns\n{0} DS 1 13 2 " + "00" * 32,
    "dname": "{} DNAME nowhere.else.",
}


def make_rows(rng, apex):
    """Rows for signed.Zone."""
    return "\n".join(ROWS[kind].format(owner.to_text()) for owner, kind
                     in make_kinds(rng, dns.name.from_text(apex)).items())


def names_around(rng, zone, most):
    """Names of the zone, below and beside them, but for those a DNAME
    leads away from."""
    names = set(zone.existing) | set(zone.types)
    for name in list(names):
        for label in (*rng.sample(LABELS, 3), b"*", b"\0", b"\xff"):
            names |= {child(name, label), child(name, b"*", label),
                      child(name, rng.choice(LABELS), label)}
    names = sorted(name for name in names - {None}
                   if zone.hider(name) is None
                   or zone.hider(name) in zone.cuts)
    return rng.sample(names, min(most, len(names)))
