"""Faults of the records that deny: NSEC, NSEC3 and NSEC3PARAM."""

import dns.name
import dns.rdatatype

from faults import Faults
from signing import ORIGIN, Zone

FAULTS = Faults()
fault = FAULTS.register


# ---- NSEC


def next_of(z, owner):
    return z.text_of(owner, "NSEC").split()[0]


def set_next(z, owner, name):
    z.set(owner, "NSEC", " ".join([
        str(name), *z.text_of(owner, "NSEC").split()[1:]]))


def set_bitmap(z, owner, types):
    z.set(owner, "NSEC", f"{next_of(z, owner)} {types}")


@fault("nsec", r"mail\.example\.org\. has no NSEC")
def no_nsec(z):
    """RFC 4035 section 2.3"""
    z.remove("mail", "NSEC")


@fault("nsec", r"other\.example\.org\. has no NSEC")
def no_nsec_at_a_cut(z):
    z.remove("other", "NSEC")


@fault("nsec", r"next name of NSEC at insecure\.example\.org\. is "
       r"naptr\.example\.org\., not mail\.example\.org\.",
       r"mail\.example\.org\. has no NSEC")
def name_out_of_the_chain(z):
    set_next(z, "insecure", next_of(z, "mail"))
    z.remove("mail", "NSEC")


@fault("nsec", r"next name of NSEC at mail\.example\.org\. is "
       r"ns\.example\.org\., not naptr\.example\.org\.")
def wrong_next_name(z):
    set_next(z, "mail", "ns.example.org.")


@fault("nsec", r"next name of NSEC at z\.example\.org\. is "
       r"z\.example\.org\., not example\.org\.")
def chain_that_does_not_close(z):
    """RFC 4034 section 4.1.1"""
    set_next(z, "z", "z.example.org.")


@fault("nsec", r"type bitmap of NSEC at mail\.example\.org\. lacks A",
       peers="kb")
def bitmap_lacks_a_type(z):
    set_bitmap(z, "mail", "RRSIG NSEC")


@fault("nsec", r"type bitmap of NSEC at mail\.example\.org\. has MX, "
       "TYPE65280", peers="kb")
def bitmap_has_types_too_many(z):
    set_bitmap(z, "mail", "A MX RRSIG NSEC TYPE65280")


@fault("nsec", r"type bitmap of NSEC at secure\.example\.org\. has A",
       peers="kb")
def bitmap_of_a_cut_has_glue(z):
    """RFC 4035 section 2.3"""
    set_bitmap(z, "secure", "A NS DS RRSIG NSEC")


@fault("nsec", r"type bitmap of NSEC at secure\.example\.org\. lacks DS",
       peers="kb")
def bitmap_of_a_cut_lacks_ds(z):
    set_bitmap(z, "secure", "NS RRSIG NSEC")


@fault("nsec", r"ns\.secure\.example\.org\. has NSEC but is not the zone's")
def nsec_at_glue(z):
    z.add("ns.secure", "NSEC", "w.example.org. A RRSIG NSEC", 300)


@fault("nsec", r"w\.example\.org\. has NSEC but no other data")
def nsec_at_an_empty_name(z):
    z.add("w", "NSEC", "*.w.example.org. RRSIG NSEC", 300)


@fault("nsec", r"mail\.example\.org\. has several NSEC")
def two_nsec(z):
    text = z.text_of("mail", "NSEC")
    z.set("mail", "NSEC", text, text + " TYPE65281")


# ---- NSEC3


def set3(z, owner, **parts):
    """Changes fields of the NSEC3 of a name."""
    algorithm, flags, iterations, salt, after, *types = z.text_of(
        z.hash(owner), "NSEC3").split()
    fields = dict(algorithm=algorithm, flags=flags, iterations=iterations,
                  salt=salt, after=after, types=" ".join(types))
    fields.update(parts)
    z.set(z.hash(owner), "NSEC3", " ".join(
        str(v) for v in fields.values()))


def chain3(z):
    return sorted(str(owner).split(".")[0] for owner, kind in z.records
                  if kind == dns.rdatatype.NSEC3)


def drop3(z, owner):
    """Takes the name out of the chain, which stays closed."""
    labels = chain3(z)
    label = z.hash(owner)
    before = labels[labels.index(label) - 1]
    after = z.text_of(label, "NSEC3").split()[4]
    fields = z.text_of(before, "NSEC3").split()
    fields[4] = after
    z.set(before, "NSEC3", " ".join(fields))
    z.remove(label, "NSEC3")


@fault("nsec3 opt-out", r"mail\.example\.org\. has no NSEC3 \([0-9a-v]{32}\)")
def no_nsec3(z):
    """RFC 5155 section 7.1"""
    drop3(z, "mail")


@fault("nsec3 opt-out", r"b\.c\.example\.org\. has no NSEC3 "
       r"\([0-9a-v]{32}\)", peers="kb")
def no_nsec3_of_an_empty_name(z):
    drop3(z, "b.c")


@fault("nsec3", r"other\.example\.org\. has no NSEC3 \([0-9a-v]{32}\) and "
       "no opt-out covers it", peers="kl")
def no_nsec3_of_an_insecure_cut(z):
    drop3(z, "other")


@fault("nsec3", r"ent\.example\.org\. has no NSEC3 \([0-9a-v]{32}\) and no "
       "opt-out covers it", peers="kb")
def no_nsec3_of_an_empty_name_above_an_insecure_cut(z):
    drop3(z, "ent")


@fault("opt-out", r"secure\.example\.org\. has no NSEC3 \([0-9a-v]{32}\)")
def no_nsec3_of_a_secure_cut(z):
    drop3(z, "secure")


@fault("nsec3", r"!next hash of NSEC3 at [0-9a-v]{32}\.example\.org\. is "
       r"0{32}, not [0-9a-v]{32}", r"^the next hash of this NSEC3 record .*")
def wrong_next_hash(z):
    set3(z, "mail", after="0" * 32)


@fault("nsec3", r"type bitmap of NSEC3 of mail\.example\.org\. "
       r"\([0-9a-v]{32}\) lacks A, has TXT", peers="kb")
def wrong_bitmap_of_nsec3(z):
    set3(z, "mail", types="TXT RRSIG")


@fault("nsec3", r"type bitmap of NSEC3 of b\.c\.example\.org\. "
       r"\([0-9a-v]{32}\) has RRSIG", peers="kb")
def bitmap_of_an_empty_name(z):
    set3(z, "b.c", types="RRSIG")


@fault("nsec3", r"type bitmap of NSEC3 of other\.example\.org\. "
       r"\([0-9a-v]{32}\) has RRSIG", peers="kb")
def bitmap_of_an_insecure_cut(z):
    set3(z, "other", types="NS RRSIG")


@fault("nsec3", r"NSEC3 at [0-9a-v]{32}\.example\.org\. is of no name in "
       "the zone", step="chain", peers="bl")
def nsec3_of_a_name_that_is_not_there(z):
    z.make_nsec3 = lambda opt_out: Zone.make_nsec3(
        z, opt_out, z.with_empty(z.names())
        + [dns.name.from_text("absent", ORIGIN)])


@fault("nsec3", r"!xyz\.example\.org\. has NSEC3 but its first label is no "
       "hash", r"^NSEC3 record at xyz\.example\.org\. is not used: .*",
       peers="kl")
def nsec3_owner_is_no_hash(z):
    """RFC 5155 section 3"""
    z.add("xyz", "NSEC3", f"1 0 0 - {'0' * 32} A RRSIG", 300)


@fault("nsec3", r"NSEC3 at [0-9a-v]{32}\.example\.org\. has flags 2",
       peers="")
def unknown_flags(z):
    """RFC 5155 section 8.2"""
    set3(z, "mail", flags=2)


@fault("nsec3", r"![0-9a-v]{32}\.example\.org\. has several NSEC3 with the "
       "same parameters", "^several NSEC3 records at one name")
def two_nsec3(z):
    text = z.text_of(z.hash("mail"), "NSEC3")
    z.set(z.hash("mail"), "NSEC3", text, text + " TYPE65281")


@fault("nsec3", "~1 NSEC3 records with parameters that no NSEC3PARAM has",
       peers="kl")
def one_nsec3_of_another_chain(z):
    z.add("0" * 32, "NSEC3", f"1 0 0 ab {'0' * 32} A RRSIG", 300)


@fault("nsec3", r"~\d+ NSEC3 records with parameters that no NSEC3PARAM has",
       "!no NSEC3 has the parameters of an NSEC3PARAM",
       "^no NSEC3 record has the parameters of this NSEC3PARAM",
       peers="kb")
def nsec3param_of_no_chain(z):
    z.set("@", "NSEC3PARAM", "1 0 0 ab")


@fault("nsec3", r"!~\d+ NSEC3 records with parameters that no NSEC3PARAM has",
       "the zone has neither NSEC nor an NSEC3PARAM that can be used",
       "^NSEC3PARAM with flags 1 is not used",
       "^NSEC3 records are not used: .*", peers="")
def nsec3param_with_flags(z):
    """RFC 5155 section 4.1.2"""
    z.set("@", "NSEC3PARAM", "1 1 0 -")


@fault("nsec3", "~NSEC3PARAM has 20 iterations, which should be 0",
       peers="", iterations=20)
def iterations(_):
    """RFC 9276 section 3.1"""


@fault("nsec3", "!NSEC3PARAM has 2501 iterations: names are not hashed here, "
       "and no validator does it", "^2501 NSEC3 iterations are .*",
       peers="b",
       iterations=2501)
def too_many_iterations(_):
    """RFC 5155 section 10.3"""


@fault("nsec", "the zone has neither NSEC nor an NSEC3PARAM that can be used")
def no_chain_at_all(z):
    for owner, kind in list(z.records):
        if kind == dns.rdatatype.NSEC:
            z.remove(owner, kind)
