"""dnssec-verify: a version from a primary is served once its signatures and its
chain of names are right."""
import copy

import dns.rdatatype
import pytest

from harness import zone_text
from signing import DAY, DENIALS, NOW, ORIGIN, Zone
from test_transferred import secondary

NAME = "example.org"
REFUSED = "its signatures or its chain of names are not right"
SERIAL = 2024010101
LINKS = (dns.rdatatype.NSEC, dns.rdatatype.NSEC3)


def copy_of(zone):
    """With the same keys."""
    other = copy.copy(zone)
    other.records = {key: (ttl, list(texts))
                     for key, (ttl, texts) in zone.records.items()}
    other.sigs = {key: list(texts) for key, texts in zone.sigs.items()}
    return other


def make_signed(denial="nsec", damage=lambda zone: None, **options):
    """A zone, with something done to it before the chain is made and the
    signatures are."""
    zone = Zone(**options)
    damage(zone)
    return zone.make(denial).sign()


def follow(zone, edit, denial, serial=SERIAL + 1):
    """The next version: with an edit, and its chain and the signatures of what
    has changed made anew."""
    after = copy_of(zone)
    soa = after.text_of("@", "SOA").split()
    soa[2] = str(serial)
    after.set("@", "SOA", " ".join(soa))
    edit(after)
    old = {key: value for key, value in after.records.items()
           if key[1] in (*LINKS, dns.rdatatype.NSEC3PARAM)}
    for key in old:
        del after.records[key]
    after.make(denial)
    for key in set(after.sigs):
        if after.records.get(key) != zone.records.get(key):
            del after.sigs[key]
    return after.sign()


def lines_of(zone):
    """As nsd_update takes them, the SOA first."""
    lines = [line.replace(" IN ", " ", 1)
             for line in zone.text().splitlines()]
    soa = next(line for line in lines if " SOA " in line
               and " RRSIG " not in line)
    return soa, [line for line in lines if line != soa]


def whole(zone):
    soa, lines = lines_of(zone)
    return "\n".join([f"whole {NAME}.", f"add {soa}",
                      *(f"add {line}" for line in lines)])


def diffs(old, new):
    soa, lines = lines_of(old)
    next_soa, next_lines = lines_of(new)
    return "\n".join([
        f"diffs {NAME}.", f"remove {soa}",
        *(f"remove {line}" for line in lines if line not in next_lines),
        f"add {next_soa}",
        *(f"add {line}" for line in next_lines if line not in lines)])


def make_server(nsd, option="yes", more=""):
    return nsd(zones={"b.test": zone_text(1)},
               extra=secondary(NAME) + f"\tdnssec-verify: {option}\n" + more,
               options={"server-count": 1, "verbosity": 5,
                        "replace-hung": "no"}, updates=True)


@pytest.fixture
def server(nsd):
    return make_server(nsd)


def add_name(zone):
    zone.add("new.b.c", "A", "192.0.2.77")


# ---- whole zones -------------------------------------------------------------

@pytest.mark.parametrize("denial", DENIALS)
def test_valid_zone_is_served(server, denial):
    assert server.update(whole(make_signed(denial)))[0] == "ok"
    assert server.serial(NAME) == SERIAL
    server.wait_log(f"zone {NAME}: serial {SERIAL}: [0-9]+ signatures are "
                    "right")


def spoil_signature(zone):
    key = zone.key("mail", "A")
    text = zone.sigs[key][0]
    zone.sigs[key] = [text[:-8] + ("AAAA" if text[-8:-4] != "AAAA"
                                   else "BBBB") + text[-4:]]


def drop_link(zone):
    """An NSEC or NSEC3 that is not at the apex."""
    owner, kind = next(key for key in zone.records
                       if key[1] in LINKS
                       and key[0] != ORIGIN)
    zone.remove(owner, kind)


FAULTS = {
    "signature": (spoil_signature, "mail.example.org"),
    "unsigned": (lambda zone: zone.unsign("mail", "A"), "mail.example.org"),
    "expired": (lambda zone: zone.resign("mail", "A", expiration=NOW - 10,
                                         inception=NOW - DAY),
                "mail.example.org"),
    "early": (lambda zone: zone.resign("mail", "A", inception=NOW + DAY),
              "mail.example.org"),
    "link": (drop_link, "NSEC"),
    "types": (lambda zone: zone.add("mail", "TXT", '"x"'),
              "mail.example.org"),
    "glue": (lambda zone: zone.unsign("secure", "DS"), "secure.example.org"),
}


@pytest.mark.parametrize("denial", ("nsec", "nsec3"))
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_keeps_the_served_version(server, fault, denial):
    """In a whole zone, and in differences."""
    spoil, text = FAULTS[fault]
    good = make_signed(denial)
    bad = copy_of(good)
    spoil(bad)
    assert server.update(whole(bad))[0] == REFUSED
    assert server.rcode(NAME, "SOA") == "SERVFAIL"
    server.wait_log(f"zone {NAME}: serial {SERIAL} is not served: .*{text}")
    assert server.update(whole(good))[0] == "ok"
    after = follow(good, add_name, denial)
    spoilt = copy_of(after)
    spoil(spoilt)
    known = len(server.read_log())
    assert server.update(diffs(good, spoilt))[0] == REFUSED
    assert f"serial {SERIAL + 1} is not served" in server.read_log()[known:]
    assert server.serial(NAME) == SERIAL
    assert server.rcode(f"new.b.c.{NAME}", "A") == "NXDOMAIN"
    assert server.update(diffs(good, after))[0] == "ok"
    assert server.serial(NAME) == SERIAL + 1


# ---- differences -------------------------------------------------------------

def signatures_of(server, serial):
    found = server.wait_log(f"zone {NAME}: serial {serial}: ([0-9]+) "
                            "signatures are right")
    return int(found[1])


@pytest.mark.parametrize("denial", DENIALS)
def test_only_what_has_changed_is_verified(server, denial):
    zone = make_signed(denial)
    assert server.update(whole(zone))[0] == "ok"
    all_of_it = signatures_of(server, SERIAL)
    after = follow(zone, add_name, denial)
    assert server.update(diffs(zone, after))[0] == "ok"
    assert signatures_of(server, SERIAL + 1) < all_of_it / 2
    # With other keys, all of it again.
    rolled = make_signed(denial, lambda z: z.set(
        "@", "SOA", z.text_of("@", "SOA").replace(
            str(SERIAL), str(SERIAL + 2))))
    assert server.update(diffs(after, rolled))[0] == "ok"
    assert signatures_of(server, SERIAL + 2) == all_of_it


EDITS = {
    "name": add_name,
    "gone": lambda zone: zone.remove("a.b.c", "A"),
    "cut": lambda zone: zone.add("b.c", "NS", "ns"),
    "joined": lambda zone: zone.remove("insecure", "NS"),
    "secured": lambda zone: zone.add(
        "other", "DS", "1 13 2 " + 32 * "ab"),
}


@pytest.mark.parametrize("denial", DENIALS)
def test_valid_differences_are_served(server, denial):
    """One edit after the other; those that hide or show names, too."""
    zone, serial = make_signed(denial), SERIAL
    assert server.update(whole(zone))[0] == "ok"
    for name, edit in EDITS.items():
        serial += 1
        def both(after):
            edit(after)
            # Signatures of what is hidden now go.
            for key in list(after.sigs):
                if key not in after.to_sign():
                    del after.sigs[key]
        after = follow(zone, both, denial, serial)
        assert (name, server.update(diffs(zone, after))[0]) == (name, "ok")
        zone = after
    assert server.serial(NAME) == serial


# ---- options -----------------------------------------------------------------

UNSIGNED = Zone()
UNSIGNED.remove("@", "DNSKEY")


@pytest.mark.parametrize("option, outcome", (
    ("no", "ok"), ("yes", REFUSED), ("if-signed", "ok")))
def test_unsigned_zone(nsd, option, outcome):
    server = make_server(nsd, option)
    assert server.update(whole(UNSIGNED))[0] == outcome
    if outcome != "ok":
        server.wait_log(f"zone {NAME}: serial {SERIAL} is not served: the "
                        "zone is not signed: no DNSKEY at its apex")


def test_zone_that_loses_its_signatures(nsd):
    """With if-signed an unsigned version is taken: say yes to refuse it."""
    server = make_server(nsd, "if-signed")
    bad = make_signed()
    spoil_signature(bad)
    assert server.update(whole(bad))[0] == REFUSED
    assert server.update(whole(make_signed()))[0] == "ok"
    assert server.update(whole(UNSIGNED))[0] == "ok"


def test_keys_signed_by_a_revoked_key_alone(nsd):
    """No DS record and no anchor leads to such a key: RFC 5011 section 2.1."""
    def revoke(zone):
        zone.ksk.flags |= 0x80
        zone.set("@", "DNSKEY", zone.ksk.text(), zone.zsk.text())
    zone = make_signed(damage=revoke)
    zone.resign("@", "DNSKEY", zone.ksk)
    server = make_server(nsd)
    assert server.update(whole(zone))[0] == REFUSED
    server.wait_log("the DNSKEY RRset is signed by revoked keys alone")


@pytest.mark.parametrize("days, outcome", ((29, "ok"), (31, REFUSED)))
def test_margin(nsd, days, outcome):
    """Signatures of the tests last thirty days."""
    server = make_server(
        nsd, more=f"\tdnssec-verify-margin: {days * DAY}\n")
    assert server.update(whole(make_signed()))[0] == outcome
