"""Zones of gen_zone in other forms: the same names unsigned, or signed with NSEC
in place of NSEC3. Signatures of NSEC records are random octets, of the algorithm
and size of the zone's others."""
import base64
import random

SIGNED_TYPES = {"RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "DNSKEY", "DS"}
CHAIN_TYPES = {"NSEC3", "NSEC3PARAM"}
NSEC_TTL = 900


def fields_of(line):
    """(owner, type, the rest)"""
    owner, _, _, rrtype, rest = line.split("\t", 4)
    return owner, rrtype, rest


def unsigned(source, target):
    """Writes the zone without DNSSEC."""
    with open(source, encoding="ascii") as old, \
            open(target, "w", encoding="ascii") as new:
        new.writelines(line for line in old
                       if fields_of(line)[1] not in SIGNED_TYPES)


def signed_with_nsec(source, target):
    """Writes the zone with a chain of NSEC over apex and delegations."""
    apex, owners, signature = survey(source)
    following = dict(zip(owners, owners[1:] + owners[:1]))
    chance = random.Random(1)
    secure = delegations_with_ds(source)
    with open(source, encoding="ascii") as old, \
            open(target, "w", encoding="ascii") as new:
        for line in old:
            owner, rrtype, rest = fields_of(line)
            if rrtype in CHAIN_TYPES or rrtype == "RRSIG" and \
                    rest.split(" ", 1)[0] in CHAIN_TYPES:
                continue
            new.write(line)
            if owner in following:
                types = "NS SOA RRSIG NSEC DNSKEY" if owner == apex else \
                    "NS DS RRSIG NSEC" if owner in secure else "NS RRSIG NSEC"
                new.write(link(owner, following.pop(owner), types, apex,
                               signature, chance))


def survey(source):
    """(apex, owners of the chain in order, (algorithm, octets) of the first
    signature)"""
    owners, signature, apex = set(), None, None
    with open(source, encoding="ascii") as f:
        for line in f:
            owner, rrtype, rest = fields_of(line)
            if rrtype == "SOA":
                apex = owner
            elif rrtype == "NS":
                owners.add(owner)
            elif rrtype == "RRSIG" and signature is None:
                words = rest.split()
                signature = words[1], len(base64.b64decode(words[-1]))
    return apex, sorted(owners, key=labels_of), signature


def labels_of(name):
    """Labels from the root on: compared, these are in canonical order."""
    return name.rstrip(".").split(".")[::-1]


def delegations_with_ds(source):
    with open(source, encoding="ascii") as f:
        return {line.split("\t", 1)[0] for line in f
                if fields_of(line)[1] == "DS"}


def link(owner, following, types, apex, signature, chance):
    """An NSEC record and its signature."""
    algorithm, octets = signature
    labels = len([label for label in owner.split(".") if label])
    text = base64.b64encode(chance.randbytes(octets)).decode()
    return (f"{owner}\t{NSEC_TTL}\tIN\tNSEC\t{following} {types}\n"
            f"{owner}\t{NSEC_TTL}\tIN\tRRSIG\tNSEC {algorithm} {labels} "
            f"{NSEC_TTL} 20370101000000 20250101000000 45678 {apex} {text}\n")
