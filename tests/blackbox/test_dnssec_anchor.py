"""dnssec-verify-anchor, and algorithms that cannot be verified."""
import base64
import hashlib
import re
import subprocess

import dns.rdatatype
import pytest

import control
from harness import BUILD, zone_text
from signing import ORIGIN, Key, Zone
from test_dnssec_verify import (NAME, REFUSED, SERIAL, UNSIGNED, add_name,
                                diffs, follow, make_signed, whole)
from test_transferred import secondary

OTHER = ("other.test. DS 1 13 2 " + 32 * "ab" + "\n"
         "other.test. 3600 IN DNSKEY 257 3 13 " + 86 * "A" + "==\n")


def ds(key, kind=2):
    digest = {2: hashlib.sha256, 4: hashlib.sha384}[kind]
    return (f"{key.tag} {key.algorithm} {kind} "
            + digest(ORIGIN.to_wire() + key.rdata).hexdigest())


def anchor(zone, kind="DS", text=None):
    return f"{NAME}. IN {kind} {text or ds(zone.ksk)}\n"


def make_server(nsd, tmp_path, text, option="yes"):
    """A server whose file of anchors has a text; None: there is no file."""
    if text is not None:
        (tmp_path / "anchors").write_text(text)
    return nsd(zones={"b.test": zone_text(1)},
               extra=secondary(NAME) + f"\tdnssec-verify: {option}\n"
               f"\tdnssec-verify-anchor: {tmp_path}/anchors\n",
               options={"server-count": 1, "verbosity": 5,
                        "replace-hung": "no"}, updates=True)


def assert_refused(server, zone, why):
    known = len(server.read_log())
    assert server.update(whole(zone))[0] == REFUSED
    server.wait_log(f"serial {SERIAL} is not served: {why}", known)


# ---- anchors that fit, or do not ---------------------------------------------

def with_sep(zone):
    """The key without the SEP flag, which does not matter."""
    key = zone.ksk
    return f"{NAME}. DNSKEY 256 3 13 {base64.b64encode(key.octets).decode()}\n"


GOOD = {
    "ds": anchor,
    "sha384": lambda zone: anchor(zone, text=ds(zone.ksk, 4)),
    "dnskey": lambda zone: anchor(zone, "DNSKEY", zone.ksk.text()),
    "flags": with_sep,
    "others": lambda zone: OTHER + anchor(zone),
    # The former key, and a digest that nobody knows.
    "several": lambda zone: anchor(zone, text=ds(Key(257))) + anchor(
        zone, text=f"{zone.ksk.tag} 13 99 00") + anchor(zone),
    "form": lambda zone: f"$ORIGIN org.\n; of 2026\nexample 3600 IN DS (\n"
            f" {ds(zone.ksk)} )\n",
}


@pytest.mark.parametrize("form", GOOD)
def test_key_of_an_anchor(nsd, tmp_path, form):
    zone = make_signed()
    server = make_server(nsd, tmp_path, GOOD[form](zone))
    assert server.update(whole(zone))[0] == "ok"
    after = follow(zone, add_name, "nsec")
    assert server.update(diffs(zone, after))[0] == "ok"
    assert server.serial(NAME) == SERIAL + 1


def test_key_of_no_anchor(nsd, tmp_path):
    zone = make_signed()
    server = make_server(nsd, tmp_path, anchor(make_signed()))
    assert_refused(server, zone,
                   "no trust anchor names one of the DNSKEY records")
    # An anchor with another digest.
    text = ds(zone.ksk)
    (tmp_path / "anchors").write_text(anchor(
        zone, text=text[:-1] + ("1" if text[-1] == "0" else "0")))
    server.update(whole(zone))
    assert server.rcode(NAME, "SOA") == "SERVFAIL"
    # The file is read anew each time.
    (tmp_path / "anchors").write_text(anchor(zone))
    assert server.update(whole(zone))[0] == "ok"


def test_key_that_does_not_sign_the_keys(nsd, tmp_path):
    """The anchor names the key that signs all else."""
    zone = make_signed()
    server = make_server(nsd, tmp_path, anchor(zone, text=ds(zone.zsk)))
    assert_refused(server, zone, "the DNSKEY RRset is signed by no key that a "
                                 "trust anchor names")


def test_key_that_is_revoked(nsd, tmp_path):
    """A revoked key counts no longer: RFC 5011 section 2.1."""
    after = Key(257)

    def revoke(zone):
        zone.ksk.flags |= 0x80
        zone.set("@", "DNSKEY", zone.ksk.text(), zone.zsk.text(),
                 after.text())
    zone = make_signed(damage=revoke)
    zone.resign("@", "DNSKEY", zone.ksk)
    zone.sign_one("@", "DNSKEY", after)
    server = make_server(nsd, tmp_path, anchor(zone))
    assert_refused(server, zone, "the DNSKEY RRset is signed by no key that a "
                                 "trust anchor names")


def test_keys_with_one_tag(nsd, tmp_path):
    """RFC 4035 section 5.3.1"""
    zone = make_signed(one_tag=True)
    server = make_server(nsd, tmp_path, anchor(zone))
    assert server.update(whole(zone))[0] == "ok"


@pytest.mark.parametrize("option", ("yes", "if-signed"))
def test_unsigned_zone_with_an_anchor(nsd, tmp_path, option):
    """A validator with the anchor would not believe it."""
    server = make_server(nsd, tmp_path, anchor(make_signed()), option)
    assert_refused(server, UNSIGNED, "the zone is not signed")


# ---- files that are missing or broken ----------------------------------------

BROKEN = {
    "none": (None, "No such file or directory"),
    "empty": ("; nothing\n", "it has no trust anchor"),
    "other zones": (OTHER, f"it has no trust anchor of {NAME}"),
    "syntax": (f"{NAME}. DS what\n", ""),
    "type": (f"{NAME}. A 192.0.2.1\n", "a trust anchor is DS or DNSKEY, not A"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_file(nsd, tmp_path, fault):
    text, why = BROKEN[fault]
    server = make_server(nsd, tmp_path, text)
    zone = make_signed()
    assert_refused(server, zone, f"dnssec-verify-anchor {tmp_path}/anchors: "
                                 f".*{why}")
    checked = subprocess.run([BUILD / "nsd-checkconf", server.config],
                             capture_output=True, text=True, check=False)
    # The zone that the file lacks shows when it comes.
    assert (checked.returncode == 0) == (fault == "other zones"), checked
    if fault != "other zones":
        assert f"{tmp_path}/anchors" in checked.stderr
        server.wait_log(f"warning: dnssec-verify-anchor {tmp_path}/anchors: ")
    (tmp_path / "anchors").write_text(anchor(zone))
    assert server.update(whole(zone))[0] == "ok"


def test_reconfig_tells_of_a_broken_file(make_server, tmp_path):
    server = control.config(make_server(zones={"b.test": zone_text(1)}))
    server.start()
    server.extra += (f"pattern:\n\tname: p\n\tdnssec-verify: yes\n"
                     f"\tdnssec-verify-anchor: {tmp_path}/none\n")
    server.write_config()
    code, text = control.ask(server, "reconfig")
    assert code == 0
    assert re.search(rf"dnssec-verify-anchor {tmp_path}/none: .*No such file or "
                     "directory; nothing is accepted that it would judge", text)


PLACES = {
    "relative": ("zones", "", "anchors", ""),
    "relative to a relative zonesdir": (None, "", "anchors", ""),
    "of the chroot": ("zones", "root", "/zones/anchors", ""),
    "with the chroot": ("zones", "root", "{root}/zones/anchors", ""),
    "no zonesdir": ("absent", "", "anchors", "anchors: .*zonesdir .*/absent"),
    "beside zonesdir": ("zones", "", "../anchors",
                        "../anchors:1: error: Missing type"),
}


@pytest.mark.parametrize("how", [(), ("--migrate",)])
@pytest.mark.parametrize("place", PLACES)
def test_checkconf_reads_the_file_that_the_server_reads(tmp_path, place, how):
    zonesdir, root, path, why = PLACES[place]
    root = tmp_path / root
    (root / "zones").mkdir(parents=True)
    (root / "zones/anchors").write_text(OTHER)
    # A file of the folder that nsd-checkconf is called in is another.
    (tmp_path / "anchors").write_text("faulty\n")
    chroot = f"\tchroot: {root}\n" if root != tmp_path else ""
    (tmp_path / "c").write_text(
        f"server:\n\tzonesdir: {root / zonesdir if zonesdir else 'zones'}\n"
        f"{chroot}\tpidfile: \"\"\n\tdatabase: \"\"\n"
        f"\txfrdfile: {root}/s\n\tzonelistfile: {root}/l\n"
        f"\txfrdir: {root}\n"
        f"pattern:\n\tname: p\n\tdnssec-verify: yes\n"
        f"\tdnssec-verify-anchor: {path.format(root=root)}\n")
    checked = subprocess.run([BUILD / "nsd-checkconf", *how, "c"],
                             cwd=tmp_path, capture_output=True, text=True,
                             check=False)
    said = checked.stdout + checked.stderr
    assert bool(re.search("anchors(:1)?: ", said)) == bool(why), said
    assert re.search(why, said), said
    if not how:
        assert checked.returncode == (2 if why else 0), said


# ---- algorithms --------------------------------------------------------------

def unknown(algorithm):
    def change(zone):
        for key in (zone.ksk, zone.zsk):
            key.algorithm = algorithm
        zone.set("@", "DNSKEY", zone.ksk.text(), zone.zsk.text())
    return change


def make_plain(nsd, option):
    return nsd(zones={"b.test": zone_text(1)},
               extra=secondary(NAME) + f"\tdnssec-verify: {option}\n",
               options={"server-count": 1, "verbosity": 5,
                        "replace-hung": "no"}, updates=True)


# ML-DSA-44 (18) is known where OpenSSL has it; these keys are none of it.
@pytest.mark.parametrize("algorithm", (17, 200))
def test_algorithm_that_is_unknown(nsd, algorithm):
    """RFC 4035 section 5.2: as if the zone were not signed."""
    why = f"signatures of algorithm {algorithm} cannot be verified here"
    zone = make_signed(damage=unknown(algorithm))
    server = make_plain(nsd, "yes")
    assert_refused(server, zone, why)
    server = make_plain(nsd, "if-signed")
    assert server.update(whole(zone))[0] == "ok"
    server.wait_log(f"serial {SERIAL} is taken as unsigned: {why}")
    # The next one is looked at as a whole again.
    after = follow(zone, add_name, "nsec")
    assert server.update(diffs(zone, after))[0] == "ok"
    server.wait_log(f"serial {SERIAL + 1} is taken as unsigned: {why}")


def test_algorithm_that_is_unknown_with_an_anchor(nsd, tmp_path):
    zone = make_signed(damage=unknown(200))
    server = make_server(nsd, tmp_path, anchor(zone), "if-signed")
    assert_refused(server, zone, "signatures of algorithm 200 cannot be "
                                 "verified here")


def test_several_algorithms(nsd):
    """An algorithm is verified, and one beside it that signs DNSKEY has to sign
    all as well (RFC 4035 section 2.2)."""
    second = Key(257, algorithm=200)
    zone = Zone()
    zone.add("@", "DNSKEY", second.text())
    zone.make("nsec").sign()
    zone.sign_one("@", "DNSKEY", second)
    server = make_plain(nsd, "yes")
    assert_refused(server, zone, ".* has no RRSIG of algorithm 200")
    for owner, kind in zone.to_sign():
        if kind != dns.rdatatype.DNSKEY:
            zone.sign_one(owner, kind, second)
    assert server.update(whole(zone))[0] == "ok"
    server.wait_log(f"serial {SERIAL}: [0-9]+ signatures are right; signatures "
                    "of algorithm 200 cannot be verified here")


def test_algorithm_that_signs_nothing(nsd):
    """Validators must not insist on it (RFC 6840 section 5.11). Once it signs
    DNSKEY, all of the zone is looked at again, and it has to sign all."""
    second = Key(257, algorithm=200)
    zone = Zone()
    zone.add("@", "DNSKEY", second.text())
    zone.make("nsec").sign()
    server = make_plain(nsd, "yes")
    assert server.update(whole(zone))[0] == "ok"
    server.wait_log(f"serial {SERIAL} is taken though algorithm 200 has a "
                    "DNSKEY and does not sign the DNSKEY RRset")
    after = follow(zone, lambda z: z.sign_one("@", "DNSKEY", second), "nsec")
    assert server.update(diffs(zone, after))[0] == REFUSED
    server.wait_log("has no RRSIG of algorithm 200")


def test_number_of_signatures_is_bounded(nsd):
    """A key and a tag may cost many operations (CVE-2023-50387)."""
    zone = make_signed()
    key = zone.key("mail", "A")
    good = zone.sigs[key][0]
    head = good.rpartition(" ")[0]
    wrong = [f"{head} " + base64.b64encode(
        bytes([0, i]) + bytes(62)).decode() for i in range(40)]
    server = make_plain(nsd, "yes")
    zone.sigs[key] = [*wrong[:20], good]
    assert server.update(whole(zone))[0] == "ok"
    after = follow(zone, lambda z: z.add("mail", "A", "192.0.2.99"), "nsec")
    good = after.sigs[key][0]
    after.sigs[key] = [*wrong, good]
    assert server.update(diffs(zone, after))[0] == REFUSED
    server.wait_log("RRSIG of mail.example.org. A by key .* does not verify")
