"""A zone made at random, valid for all servers, dense with special cases:
wildcards, empty non-terminals, CNAME and DNAME chains, cuts with and without
glue, names below them."""
import random

LABELS = ["a", "b", "c", "www", "*", "x-1", "_tcp", "mail"]


def _owner(rng, depth_max=4):
    return ".".join(rng.choice(LABELS)
                    for _ in range(rng.randint(1, depth_max)))


def _is_below(name, above):
    return name.endswith("." + above)


def make(apex, seed, count=120):
    """The text of the zone."""
    rng = random.Random(seed)
    origin = apex.rstrip(".") + "."
    kinds = {}  # by owner
    for _ in range(count):
        kinds.setdefault(_owner(rng), rng.choice(
            ["data"] * 5 + ["cname", "cname", "cut", "dname"]))
    # Only glue may be below a cut, and no name below a DNAME; a wildcard is
    # neither (RFC 4592 sections 4.2 and 4.4).
    for owner in [o for o, kind in kinds.items() if kind in ("cut", "dname")]:
        if "*" in owner.split("."):
            kinds[owner] = "data"
    for owner, kind in list(kinds.items()):
        if kind not in ("cut", "dname"):
            continue
        for other in list(kinds):
            if _is_below(other, owner):
                del kinds[other]
    names = sorted(kinds) + ["nowhere", "ns.else.test."]
    lines = [f"$ORIGIN {origin}", "$TTL 3600",
             f"@ SOA ns root {seed} 7200 3600 1209600 300",
             "@ NS ns", "ns A 192.0.2.1", "ns AAAA 2001:db8::1"]

    def target():
        name = rng.choice(names)
        if rng.random() < 0.3 and not name.endswith("."):
            name = f"{rng.choice(LABELS[:4])}.{name}"
        return name

    for owner in sorted(kinds):
        kind = kinds[owner]
        if owner == "ns":
            continue
        if kind == "cname":
            lines.append(f"{owner} CNAME {target()}")
        elif kind == "dname":
            # Not below itself: such a chain has no end.
            to = target()
            if to == owner or _is_below(to, owner):
                to = "nowhere"
            lines.append(f"{owner} DNAME {to}")
            if rng.random() < 0.5:
                lines.append(f"{owner} TXT \"beside\"")
        elif kind == "cut":
            lines.append(f"{owner} NS ns.{owner}")
            lines.append(f"ns.{owner} A 192.0.2.{rng.randint(2, 250)}")
            if rng.random() < 0.5:
                lines.append(f"{owner} NS ns")
            if rng.random() < 0.3:
                lines.append(f"{owner} DS {rng.randint(1, 65535)} 13 2 "
                             + rng.randbytes(32).hex())
        else:
            lines.append(f"{owner} A 192.0.2.{rng.randint(2, 250)}")
            for text in ("AAAA 2001:db8::2", 'TXT "text"',
                         "MX 10 " + target(), "SRV 1 2 3 " + target()):
                if rng.random() < 0.4:
                    lines.append(f"{owner} {text}")
    return "\n".join(lines) + "\n"
