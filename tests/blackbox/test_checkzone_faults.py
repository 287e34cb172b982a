"""nsd-checkzone on zones with a fault: each gives its finding, alone, and what
other programs say of it is written down."""

import subprocess

import pytest

import faults_of_chains
import faults_of_signatures
from checkzone import assert_found, check
from signing import DENIALS, Zone

FAULTS = faults_of_signatures.FAULTS | faults_of_chains.FAULTS

# Only verifying shows these.
SILENT = ["does not verify", "is no key of it"]


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(tmp_path, name):
    path = FAULTS[name].zone().write(tmp_path / "zone")
    code, result, verdict = check(path, "-D")
    expected = FAULTS[name].expected(strict=True)
    assert_found(result, expected)
    errors = len([s for s, _ in expected if s == "error"])
    assert code == (1 if errors else 0)
    if errors:
        assert verdict.endswith(f"has {errors} errors\n")


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_a_warning_by_default(tmp_path, name):
    path = FAULTS[name].zone().write(tmp_path / "zone")
    code, result, verdict = check(path)
    assert (code, verdict) == (0, "zone example.org is ok\n")
    assert_found(result, FAULTS[name].expected(strict=False, silent=SILENT))


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
    """Other validators accept the zone without a fault, or their verdicts on
    the faults would mean nothing."""
    path = Zone().make(denial).sign().write(tmp_path / "zone")
    assert verdicts(path) == ""


@pytest.mark.parametrize("name", FAULTS)
def test_others_say_what_is_written_down(tmp_path, name):
    """Other validators report what the table says. They differ from us: ldns
    compares no bitmaps and no signers; all but BIND let an RRSIG count too
    many labels, and all count the asterisk (RFC 4034 section 3.1.3). BIND lets
    insecure cuts lack their NSEC3. None knows revoked keys (RFC 5011 section
    2.1), unknown flags of NSEC3 and NSEC3PARAM (RFC 5155 sections 4.1.2, 8.2),
    nor DS without NS. A warning of ours, as no validator fails, is a fault to
    some."""
    path = FAULTS[name].zone().write(tmp_path / "zone")
    assert verdicts(path) == FAULTS[name].peers
