"""nsd-checkzone on signed zones: nothing is found in those of real signers,
each fault gives its finding, and other programs think the same of it."""

import re
import subprocess
import time

import dns.name
import pytest

import signing
from signing import DAY, NOW, ORIGIN, Key, Zone
from test_checkzone import CHECKZONE

DENIALS = ["nsec", "nsec3", "opt-out"]
DS = "12345 13 2 " + "01" * 32


def check(path, *options, timeout=60):
    """(exit code, [(severity, text without its file)], verdict)"""
    result = subprocess.run(
        [CHECKZONE, *options, "example.org", str(path)],
        capture_output=True, text=True, timeout=timeout, check=False)
    found = []
    for line in result.stderr.splitlines():
        match = re.fullmatch(
            r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] "
            r"nsd-checkzone\[\d+\]: (error|warning): (.*)", line)
        assert match, line
        found.append((match[1], re.sub(r"^/\S+:\d+: ", "", match[2])))
    return result.returncode, found, result.stdout


def assert_ok(path, *options):
    assert check(path, *options) == (0, [], "zone example.org is ok\n")


# ---- zones without fault


def signers():
    for denial in DENIALS:
        yield signing.sign_with_ldns, "ECDSAP256SHA256", denial
        yield signing.sign_with_ldns, "RSASHA256", denial
        for name in ("RSASHA1", "NSEC3RSASHA1", "RSASHA256", "RSASHA512",
                     "ECDSAP256SHA256", "ECDSAP384SHA384", "ED25519",
                     "ED448"):
            # Algorithm 5 says that there is no NSEC3 (RFC 5155 section 2).
            if name != "RSASHA1" or denial == "nsec":
                yield signing.sign_with_bind, name, denial
        for name in ("rsasha256", "ecdsap384sha384", "ed448"):
            yield signing.sign_with_knot, name, denial


@pytest.mark.parametrize("signer, algorithm, denial", signers(),
                         ids=lambda v: getattr(v, "__name__", v))
def test_zone_of_a_real_signer_has_no_findings(tmp_path, signer, algorithm,
                                               denial):
    path = signer(tmp_path, signing.ZONE, algorithm, denial)
    assert_ok(path, "-D")
    assert_ok(path)


@pytest.mark.parametrize("denial", DENIALS)
@pytest.mark.parametrize("salt, iterations", [("-", 0), ("abcdef01", 0)])
def test_own_zone_has_no_findings(tmp_path, denial, salt, iterations):
    """The zone that the faults below are made in."""
    zone = Zone(salt=salt, iterations=iterations).make(denial).sign()
    assert_ok(zone.write(tmp_path / "zone"), "-D")


def test_keys_with_one_tag_are_told_apart(tmp_path):
    """RFC 4034 section 5.4: a tag does not identify a key."""
    zone = Zone(one_tag=True).make("nsec").sign()
    path = zone.write(tmp_path / "zone")
    assert_ok(path, "-D")
    assert_ok(path)


def test_unsigned_zone_is_an_error_only_if_dnssec_is_asked_for(tmp_path):
    path = tmp_path / "zone"
    path.write_text(signing.ZONE)
    assert_ok(path)
    code, found, verdict = check(path, "-D")
    assert (code, found) == (1, [(
        "error", "the zone is not signed: no DNSKEY at its apex")])
    assert verdict == f"zone example.org file {path} has 1 errors\n"


def test_zone_is_printed_only_if_it_verifies(tmp_path):
    zone = Zone().make("nsec").sign()
    path = zone.write(tmp_path / "zone")
    assert "$ORIGIN org.\n" in check(path, "-D", "-p")[2]
    zone.unsign("mail", "A")
    zone.write(tmp_path / "zone")
    assert "ORIGIN" not in check(path, "-D", "-p")[2]
    assert "$ORIGIN org.\n" in check(path, "-p")[2]


# ---- faults: what is done before the signatures, and after

FAULTS = {}


def fault(denial, *found, step="sign", peers="kbl", **more):
    """Registers a change of the zone. found: what is said of it; in front
    "~": a warning even with -D, "!": only with -D, "^": a warning that the
    server would give as well. step: made before the chain is, before the
    zone is signed, or after. peers: those of kzonecheck, BIND's verifier and
    ldns that find fault with it too."""
    def register(change):
        for kind in denial.split():
            FAULTS[f"{change.__name__}[{kind}]"] = (
                change, kind, found, step, peers, more)
        return change
    return register


def make(change, denial, step, more):
    zone = Zone(**more)
    if step == "chain":
        change(zone)
    zone.make(denial)
    if step == "sign":
        change(zone)
    zone.sign()
    if step == "done":
        change(zone)
    return zone


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


# What does no harm, for there is another signature.


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


@fault("nsec", r"DNSKEY \d+ of algorithm 13 is no key of it", step="chain")
def key_that_is_no_point(z):
    z.remove("@", "DNSKEY")
    z.zsk.octets = bytes(63) + b"\1"
    z.set("@", "DNSKEY", z.ksk.text(), z.zsk.text())


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


def name3(z, owner):
    return f"{z.hash(owner)}.example.org."


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


# ---- each is found, alone


def expect(found, strict):
    expected = []
    for text in found:
        marks = text[:len(text) - len(text.lstrip("~!^"))]
        if strict or "!" not in marks:
            expected.append((
                "error" if strict and not set("~^") & set(marks)
                else "warning", text[len(marks):]))
    return expected


def assert_found(result, expected):
    left = list(result)
    for severity, pattern in expected:
        match = [found for found in left if found[0] == severity
                 and re.fullmatch(pattern, found[1])]
        assert match, (severity, pattern, result)
        left.remove(match[0])
    assert not left, result


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(tmp_path, name):
    change, denial, found, step, _, more = FAULTS[name]
    path = make(change, denial, step, more).write(tmp_path / "zone")
    code, result, verdict = check(path, "-D")
    expected = expect(found, True)
    assert_found(result, expected)
    errors = len([s for s, _ in expected if s == "error"])
    assert code == (1 if errors else 0)
    if errors:
        assert verdict.endswith(f"has {errors} errors\n")


# Only verifying shows these.
SILENT = ["does not verify", "is no key of it"]


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_a_warning_by_default(tmp_path, name):
    change, denial, found, step, _, more = FAULTS[name]
    path = make(change, denial, step, more).write(tmp_path / "zone")
    code, result, verdict = check(path)
    expected = expect([f for f in found
                       if not any(s in f for s in SILENT)], False)
    assert (code, verdict) == (0, "zone example.org is ok\n")
    assert_found(result, expected)


# ---- what others say


def verdicts(path):
    """The letters of the programs that find fault with the zone."""
    commands = {
        "k": ["kzonecheck", "-d", "on", "-o", "example.org", str(path)],
        "b": ["dnssec-verify", "-x", "-o", "example.org", str(path)],
        "l": ["ldns-verify-zone", str(path)],
    }
    return "".join(
        letter for letter, command in commands.items()
        if subprocess.run(command, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=60,
                          check=False).returncode != 0)


@pytest.mark.parametrize("denial", DENIALS)
def test_others_find_no_fault_either(tmp_path, denial):
    """Else what they say of the faults would mean nothing."""
    path = Zone().make(denial).sign().write(tmp_path / "zone")
    assert verdicts(path) == ""


@pytest.mark.parametrize("name", FAULTS)
def test_others_say_what_is_written_down(tmp_path, name):
    """Where they differ from us: ldns compares no bitmaps and no signers;
    all but BIND let an RRSIG count too many labels, and all count the
    asterisk (RFC 4034 section 3.1.3). BIND lets insecure cuts lack their
    NSEC3. None knows revoked keys (RFC 5011 section 2.1), unknown flags of
    NSEC3 and NSEC3PARAM (RFC 5155 sections 4.1.2, 8.2), nor DS without NS.
    What is a warning to us, for no validator fails, is a fault to some."""
    change, denial, _, step, peers, more = FAULTS[name]
    path = make(change, denial, step, more).write(tmp_path / "zone")
    assert verdicts(path) == peers


# ---- several algorithms


class OtherKey(Key):
    """Of another algorithm by its number alone."""

    def __init__(self, flags, algorithm):
        super().__init__(flags, algorithm)
        self.octets += b"\1"


def with_second_algorithm(algorithm):
    """Keys of it are there; the zone is signed by the others alone."""
    zone = Zone()
    keys = OtherKey(257, algorithm), OtherKey(256, algorithm)
    for key in keys:
        zone.add("@", "DNSKEY", key.text())
    return zone.make("nsec").sign(), *keys


def sign_all(zone, ksk, zsk, but=()):
    for owner, kind in list(zone.sigs):
        if (owner, kind) not in but:
            zone.sign_one(owner, kind, key=ksk
                          if kind == dns.rdatatype.DNSKEY else zsk)


def test_each_rrset_needs_a_signature_of_each_algorithm(tmp_path):
    """RFC 4035 section 2.2"""
    zone, ksk, zsk = with_second_algorithm(251)
    sign_all(zone, ksk, zsk, but=[zone.key("mail", "A")])
    code, found, _ = check(zone.write(tmp_path / "zone"))
    assert (code, found) == (0, [(
        "warning", "mail.example.org. A has no RRSIG of algorithm 251")])


def test_algorithm_that_is_not_known_is_told_once(tmp_path):
    zone, ksk, zsk = with_second_algorithm(251)
    sign_all(zone, ksk, zsk)
    path = zone.write(tmp_path / "zone")
    assert_ok(path)
    code, found, _ = check(path, "-D")
    assert (code, found) == (0, [(
        "warning", "signatures of algorithm 251 cannot be verified here")])


def test_key_of_wrong_length_is_no_key(tmp_path):
    zone, ksk, zsk = with_second_algorithm(14)
    sign_all(zone, ksk, zsk)
    path = zone.write(tmp_path / "zone")
    assert_ok(path)
    code, found, _ = check(path, "-D")
    assert code == 1
    assert_found(found, [("error", r"DNSKEY \d+ of algorithm 14 is no key "
                          "of it")] * 2)


# ---- keys and signatures of malice

RSA_KEYS = {
    "no modulus": b"\1\3",
    "exponent longer than the key": b"\xff\3" + b"\xff" * 64,
    "long form, no length": b"\0",
    "long form, exponent of 65535": b"\0\xff\xff" + b"\xff" * 64,
    "exponent of no octets": b"\0\0\0" + b"\xff" * 128,
    "exponent 0": b"\1\0" + b"\xff" * 128,
    "exponent 1": b"\1\1" + b"\xff" * 128,
    "even exponent": b"\1\2" + b"\xff" * 128,
    "even modulus": b"\1\3" + b"\xfe" * 128,
    "modulus 0": b"\1\3" + bytes(128),
    "modulus of 65531 octets": b"\1\3" + b"\xff" * 65000,
    "exponent as long as the modulus": b"\x80" + b"\xff" * 256,
    "exponent of 60000 octets": b"\0\xea\x60" + b"\xff" * 60300,
}


@pytest.mark.parametrize("octets", RSA_KEYS.values(), ids=RSA_KEYS)
def test_rsa_key_of_malice_is_told(tmp_path, octets):
    zone = Zone()
    key = Key(256, 8)
    key.octets = octets
    zone.add("@", "DNSKEY", "\\# %d %s" % (len(key.rdata), key.rdata.hex()))
    zone.make("nsec").sign()
    zone.sign_one("mail", "A", key=key)
    path = zone.write(tmp_path / "zone")
    code, found, _ = check(path, "-D")
    assert code == 1
    assert any("of algorithm 8 is no key of it" in text
               for _, text in found), found


def test_long_keys_of_sound_form_only_fail_to_verify(tmp_path):
    """The bounds of RFC 3110 section 2: 4096 bits."""
    for octets in (b"\1\3" + b"\xff" * 512,
                   b"\x40" + b"\x7f" * 64 + b"\xff" * 256):
        zone = Zone()
        key = Key(256, 8)
        key.octets = octets
        zone.add("@", "DNSKEY", key.text())
        zone.make("nsec").sign()
        zone.sign_one("mail", "A", key=key)
        found = check(zone.write(tmp_path / "zone"), "-D")[1]
        assert not any("no key" in text for _, text in found)
        assert any("does not verify" in text for _, text in found)


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 63, 65, 66, 128, 65000])
@pytest.mark.parametrize("algorithm", [8, 13, 14, 15, 16])
def test_signature_of_any_length_only_fails(tmp_path, length, algorithm):
    zone = Zone().make("nsec").sign()
    owner = zone.key("mail", "A")
    head = zone.sigs[owner][0].split()[:-1]
    head[1] = str(algorithm)
    if algorithm == 13:
        tag = zone.zsk.tag
    else:
        key = Key(256, algorithm)
        key.octets = {8: b"\1\3" + b"\xff" * 256, 14: bytes(96),
                      15: bytes(31) + b"\1", 16: bytes(57)}[algorithm]
        zone.add("@", "DNSKEY", key.text())
        zone.resign("@", "DNSKEY")
        tag = key.tag
    head[6] = str(tag)
    rdata = dns.rdata.from_text("IN", "RRSIG", " ".join(head) + " AAAA")
    wire = rdata.to_wire()[:-3] + b"\x01" * length
    text = f"\\# {len(wire)} {wire.hex()}"
    lines = [line for line in zone.text().splitlines()
             if not line.startswith("mail.example.org. 3600 IN RRSIG A ")]
    path = tmp_path / "zone"
    path.write_text("\n".join(
        lines + [f"mail.example.org. 3600 IN RRSIG {text}", ""]))
    code, found, _ = check(path, "-D")
    assert code == 1 and found


# ---- time


def test_time_may_be_given(tmp_path):
    path = Zone().make("nsec").sign().write(tmp_path / "zone")
    date = time.strftime("%Y%m%d%H%M%S", time.gmtime(NOW + 29 * DAY))
    for ok in ("+0", "+29d", "-20h", "+3w", "-60m", "+3600", "+3600s",
               str(NOW), str(NOW + 29 * DAY), date):
        assert_ok(path, "-t", ok)
    for late in ("+31d", "+5w", str(NOW + 31 * DAY), "20901231235959"):
        code, found, _ = check(path, "-D", "-t", late)
        assert code == 1 and all("expired at" in text or "RRSIGs" in text
                                 for _, text in found), found
    for early in ("-2d", "-1w", str(NOW - 2 * DAY), "20100101000000"):
        code, found, _ = check(path, "-D", "-t", early)
        assert code == 1 and all("not valid" in text for _, text in found)


def test_time_wraps_as_serial_numbers_do(tmp_path):
    """RFC 4034 section 3.1.5: a signature over the end of 32 bits."""
    zone = Zone().make("nsec")
    for owner, kind in zone.to_sign():
        zone.sign_one(owner, kind, inception=2**32 - DAY,
                      expiration=2**32 + DAY)
    path = zone.write(tmp_path / "zone")
    assert_ok(path, "-D", "-t", str(2**32 - 60))
    assert_ok(path, "-D", "-t", str(2**32 + 60))
    assert check(path, "-D", "-t", str(2**32 + 2 * DAY))[0] == 1
    assert check(path, "-D", "-t", str(2**32 - 2 * DAY))[0] == 1


@pytest.mark.parametrize("text", [
    "", "x", "+", "-", "+1x", "+1dd", "1d", "2026010100000", "99999999999999",
    "20261301000000", "20260101000000x", "+99999999999", "0x10", "1.5"])
def test_time_that_is_none_is_refused(tmp_path, text):
    path = Zone().make("nsec").sign().write(tmp_path / "zone")
    result = subprocess.run(
        [CHECKZONE, "-t", text, "example.org", path], capture_output=True,
        text=True, timeout=20, check=False)
    if text == "2026010100000":
        assert result.returncode == 0  # seconds, far away
        return
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"nsd-checkzone: -t: '{text}' is no time\n"


# ---- places and bounds


def test_lines_are_those_of_the_records(tmp_path):
    zone = Zone().make("nsec").sign()
    zone.resign("mail", "A", labels=2)
    zone.unsign("ns", "AAAA")
    zone.remove("z", "NSEC")
    set_bitmap(zone, "*.w", "RRSIG NSEC")
    path = zone.write(tmp_path / "zone")
    lines = zone.text().splitlines()

    def line(start):
        return [i for i, text in enumerate(lines, 1)
                if text.lower().startswith(start)][0]
    result = subprocess.run([CHECKZONE, "example.org", path], timeout=20,
                            capture_output=True, text=True, check=False)
    found = re.findall(r"warning: (\S+):(\d+): (.*)", result.stderr)
    assert [(file, int(number), text.split(" ")[0])
            for file, number, text in found] == sorted([
        (path, line("mail.example.org. 3600 in rrsig a "), "RRSIG"),
        (path, line("ns.example.org. 3600 in aaaa "), "ns.example.org."),
        (path, line("z.example.org. 3600 in type65280 "), "z.example.org."),
        (path, line("*.w.example.org. 300 in nsec "), "type"),
    ])


def test_of_each_kind_the_first_are_told_and_the_rest_counted(tmp_path):
    """Whatever the number of threads."""
    zone = Zone()
    for i in range(200):
        zone.add(f"h{i:04}", "A", "192.0.2.1")
    zone.make("nsec")
    zone.sign_one("@", "DNSKEY")
    zone.sign_one("@", "SOA")
    path = zone.write(tmp_path / "zone")
    code, found, verdict = check(path)
    assert (code, verdict) == (0, "zone example.org is ok\n")
    total = len(zone.to_sign()) - 2
    assert len(found) == 21
    assert found[0] == ("warning", "example.org. NS has no RRSIG")
    assert found[-1] == ("warning", f"{total - 20} more RRsets without RRSIG "
                         "are not shown")
    code, again, verdict = check(path, "-D")
    assert code == 1 and verdict.endswith("has 21 errors\n")
    assert [text for _, text in again] == [text for _, text in found]
