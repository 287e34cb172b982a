"""nsd-checkzone on signed zones: nothing is found in those of real signers;
the time that signatures are judged by; where findings are, and how many."""

import re
import time

import pytest

import checkzone
import signing
from checkzone import assert_ok, check
from faults_of_chains import set_bitmap
from signing import DAY, DENIALS, NOW, Zone

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


@pytest.mark.parametrize("denial", DENIALS)
def test_another_error_in_a_sound_zone_is_told_alone(tmp_path, denial):
    path = Zone().make(denial).sign().write(tmp_path / "zone")
    with open(path, "a") as file:
        file.write("other.example. 300 TXT x\n")
    assert check(path) == (1, [(
        "error", "out of zone data: other.example. is outside the zone for "
        "fqdn example.org.")], f"zone example.org file {path} has 1 errors\n")


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
    result = checkzone.run("-t", text, "example.org", path)
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
    result = checkzone.run("example.org", path)
    found = re.findall(r"warning: (\S+):(\d+): (.*)", result.stderr)
    assert [(file, int(number), text.split(" ")[0])
            for file, number, text in found] == sorted([
        (path, line("mail.example.org. 3600 in rrsig a "), "RRSIG"),
        (path, line("ns.example.org. 3600 in aaaa "), "ns.example.org."),
        (path, line("z.example.org. 3600 in type65280 "), "z.example.org."),
        (path, line("*.w.example.org. 300 in nsec "), "type"),
    ])


def test_of_each_kind_the_first_are_told_and_the_rest_counted(tmp_path):
    """The output does not depend on the number of threads."""
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
