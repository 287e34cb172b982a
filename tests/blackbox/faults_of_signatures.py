"""Faults of signatures, and of keys and DS records."""

import dns.name

from faults import Faults
from signing import DAY, NOW, Key

FAULTS = Faults()
fault = FAULTS.register

DS = "12345 13 2 " + "01" * 32
SIG_MAIL = r"RRSIG of mail\.example\.org\. A by key \d+, algorithm 13, "


@fault("nsec opt-out", r"mail\.example\.org\. A has no RRSIG", step="done")
def no_rrsig(z):
    """RFC 4035 section 2.2"""
    z.unsign("mail", "A")


@fault("nsec nsec3", r"secure\.example\.org\. DS has no RRSIG", step="done")
def no_rrsig_of_ds(z):
    """RFC 4035 section 2.4"""
    z.unsign("secure", "DS")


@fault("nsec", r"ns\.example\.org\. NSEC has no RRSIG", step="done")
def no_rrsig_of_nsec(z):
    z.unsign("ns", "NSEC")


@fault("nsec3", r"[0-9a-v]{32}\.example\.org\. NSEC3 has no RRSIG",
       step="done")
def no_rrsig_of_nsec3(z):
    z.unsign(z.hash("ns"), "NSEC3")


@fault("nsec", r"example\.org\. DNSKEY has no RRSIG", step="done")
def no_rrsig_of_dnskey(z):
    z.unsign("@", "DNSKEY")


@fault("nsec", SIG_MAIL + r"expired at \d{14}", step="done")
def expired(z):
    """RFC 4035 section 5.3.1"""
    z.resign("mail", "A", inception=NOW - 60 * DAY, expiration=NOW - DAY)


@fault("nsec", SIG_MAIL + r"is not valid before \d{14}", step="done")
def early(z):
    z.resign("mail", "A", inception=NOW + DAY)


@fault("nsec", SIG_MAIL + "ends before it begins", step="done")
def ends_before_it_begins(z):
    z.resign("mail", "A", inception=NOW + DAY, expiration=NOW - DAY)


@fault("nsec", SIG_MAIL + r"names example\.net\. as signer", step="done",
       peers="b")
def other_signer(z):
    z.resign("mail", "A", signer=dns.name.from_text("example.net."))


@fault("nsec", SIG_MAIL + "counts 2 labels, not 3", step="done", peers="bl")
def labels_of_a_wildcard(z):
    z.resign("mail", "A", labels=2)


@fault("nsec", SIG_MAIL + "counts 4 labels, not 3", step="done", peers="b")
def too_many_labels(z):
    z.resign("mail", "A", labels=4)


@fault("nsec", r"RRSIG of \*\.w\.example\.org\. CNAME by key \d+, "
       "algorithm 13, counts 4 labels, not 3", step="done", peers="")
def labels_with_the_asterisk(z):
    """RFC 4034 section 3.1.3"""
    z.resign("*.w", "CNAME", labels=4)


@fault("nsec", SIG_MAIL + "has no DNSKEY", step="done")
def unknown_key(z):
    z.resign("mail", "A", key=Key(256))


@fault("nsec", SIG_MAIL + "does not verify", step="done")
def other_data(z):
    z.set("mail", "A", "192.0.2.2", "192.0.2.33")


@fault("nsec", SIG_MAIL + "does not verify", step="done")
def one_record_more(z):
    z.set("mail", "A", "192.0.2.2", "192.0.2.3", "192.0.2.4")


@fault("nsec", SIG_MAIL + "does not verify", step="done")
def other_octet_in_the_signature(z):
    [text] = z.sigs[z.key("mail", "A")]
    z.sigs[z.key("mail", "A")] = [
        text[:-10] + ("A" if text[-10] != "A" else "B") + text[-9:]]


@fault("nsec", r"RRSIG of example\.org\. SOA by key \d+, algorithm 13, "
       "does not verify", step="done")
def other_serial(z):
    z.set("@", "SOA", z.text_of("@", "SOA").replace("2024010101",
                                                    "2024010102"))


# Faults that do no harm, as there is another signature.


@fault("nsec", "~" + SIG_MAIL + "has no DNSKEY", step="done", peers="")
def one_more_by_an_unknown_key(z):
    z.sign_one("mail", "A", key=Key(256))


@fault("nsec", "~" + SIG_MAIL + r"expired at \d{14}", step="done", peers="k")
def one_more_that_has_expired(z):
    z.sign_one("mail", "A", inception=NOW - 60 * DAY, expiration=NOW - DAY)


@fault("nsec", "~" + SIG_MAIL + "has original TTL 7200, the RRset has 3600",
       step="done", peers="kb")
def other_original_ttl(z):
    """RFC 4034 section 3.1.4"""
    z.resign("mail", "A", original_ttl=7200)


@fault("nsec", r"~other\.example\.org\. NS has an RRSIG but is not the "
       "zone's to sign", step="done", peers="k")
def signed_cut(z):
    """RFC 4035 section 2.2"""
    z.sign_one("other", "NS")


@fault("nsec", r"~ns\.insecure\.example\.org\. A has an RRSIG but is not "
       "the zone's to sign", step="done", peers="kl")
def signed_glue(z):
    z.sign_one("ns.insecure", "A")


@fault("nsec", r"~mail\.example\.org\. has an RRSIG over TXT, which is not "
       "there", step="done", peers="")
def rrsig_of_nothing(z):
    z.add("mail", "TXT", "x")
    z.sign_one("mail", "TXT")
    del z.records[z.key("mail", "TXT")]


# ---- keys


@fault("nsec", "the DNSKEY RRset is signed by no key with the SEP flag",
       step="done", peers="kb")
def keys_signed_by_the_zsk(z):
    z.resign("@", "DNSKEY", key=z.zsk)


@fault("nsec", r"~DNSKEY \d+ is revoked but does not sign the DNSKEY RRset",
       step="chain", peers="b")
def revoked_key_says_nothing(z):
    """RFC 5011 section 2.1"""
    z.add("@", "DNSKEY", Key(257 + 128).text())


@fault("nsec", SIG_MAIL + "is by a revoked key", step="chain", peers="")
def signed_by_a_revoked_key(z):
    key = Key(256 + 128)
    z.add("@", "DNSKEY", key.text())
    z.sign_one("@", "DNSKEY", key=key)
    z.sign_one("@", "DNSKEY")
    z.sign_one("mail", "A", key=key)


NO_KEY = r"~DNSKEY \d+ of algorithm 13 is no key of it"


def add_no_point(z):
    """A key that is no point of the curve."""
    key = Key(256)
    key.octets = bytes(63) + b"\1"
    z.add("@", "DNSKEY", key.text())
    return key


@fault("nsec", NO_KEY, step="chain", peers="k")
def key_that_is_no_point(z):
    add_no_point(z)


@fault("nsec", NO_KEY, SIG_MAIL + "does not verify", step="chain")
def signed_by_no_point(z):
    z.sign_one("mail", "A", key=add_no_point(z))


@fault("nsec", r"~algorithm 15 has a DNSKEY and does not sign the DNSKEY "
       "RRset", step="chain", peers="")
def algorithm_that_signs_nothing(z):
    """RFC 4035 section 2.2, RFC 6840 section 5.11"""
    key = Key(257, algorithm=15)
    key.octets = key.octets[:32]
    z.add("@", "DNSKEY", key.text())


@fault("nsec", "the DNSKEY RRset is signed by no key with the SEP flag",
       step="chain", peers="kb")
def keys_signed_by_the_zsk_and_a_revoked_ksk(z):
    """RFC 5011 section 2.1"""
    z.ksk.flags |= 0x80
    z.set("@", "DNSKEY", z.ksk.text(), z.zsk.text())
    z.sign_one("@", "DNSKEY", key=z.ksk)
    z.sign_one("@", "DNSKEY", key=z.zsk)


@fault("nsec", r"~mail\.example\.org\. has DNSKEY but is not the apex of the "
       "zone", step="chain", peers="kb")
def key_below_the_apex(z):
    """RFC 4035 section 2.1"""
    z.add("mail", "DNSKEY", Key(256).text())


@fault("nsec", r"^mail\.example\.org\. has DS but no NS",
       r"!mail\.example\.org\. has DS but no NS", step="chain",
       peers="")
def ds_without_ns(z):
    """RFC 4035 section 2.4"""
    z.add("mail", "DS", DS)


@fault("nsec", r"example\.org\. has DS but is the apex of the zone",
       step="chain", peers="b")
def ds_at_the_apex(z):
    z.add("@", "DS", DS)
