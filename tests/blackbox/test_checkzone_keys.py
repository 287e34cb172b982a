"""nsd-checkzone on zones with keys of several algorithms, and with keys and
signatures that somebody made to do harm."""

import dns.rdata
import dns.rdatatype
import pytest

from checkzone import assert_found, assert_ok, check
from signing import Key, Zone


# ---- several algorithms


class OtherKey(Key):
    """A key whose algorithm is another one by its number alone."""

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
    warnings = [entry for entry in found if entry[0] == "warning"]
    assert_found(warnings, [("warning", r"DNSKEY \d+ of algorithm 14 is no key "
                             "of it")] * 2)
    assert any(severity == "error" and text.startswith(
        "RRSIG of example.org. DNSKEY by key ") and text.endswith(
            ", algorithm 14, does not verify") for severity, text in found)


# ---- keys and signatures of malice

RSA_KEYS = {
    "no modulus": b"\1\3",
    "exponent longer than the key": b"\xff\3" + b"\xff" * 64,
    "long form, no length": b"\0",
    "long form, exponent of 65535": b"\0\xff\xff" + b"\xff" * 64,
    "exponent of no octets": b"\0\0\0" + b"\xff" * 128,
    "exponent 0": b"\1\0" + b"\xff" * 128,
    "exponent 1": b"\1\1" + b"\xff" * 128,
    "exponent of 65 bits": b"\x09\1" + b"\xff" * 8 + b"\xff" * 128,
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
    found = check(path, "-D")[1]
    assert ("warning", f"DNSKEY {key.tag} of algorithm 8 is no key of it"
            ) in found


def test_long_keys_of_sound_form_only_fail_to_verify(tmp_path):
    """A modulus of 4096 bits (RFC 3110 section 2), an exponent of 63."""
    for octets in (b"\1\3" + b"\xff" * 512,
                   b"\x08" + b"\x7f" * 8 + b"\xff" * 256):
        zone = Zone()
        key = Key(256, 8)
        key.octets = octets
        zone.add("@", "DNSKEY", key.text())
        zone.make("nsec").sign()
        zone.sign_one("mail", "A", key=key)
        found = check(zone.write(tmp_path / "zone"), "-D")[1]
        assert not any("no key" in text for _, text in found)
        assert any("does not verify" in text for _, text in found)


@pytest.mark.one_of_each("algorithm")
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
