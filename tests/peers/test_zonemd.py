"""Digests of zones (RFC 8976) that the tools of ldns and Knot have made: ours
agrees with them, and with what they say of a zone that was altered."""
import subprocess

import pytest

import primaries
import servers
from servers import started
from test_secondary import Secondary, equal

ZONE = "digest.test."
TEXT = f"""$ORIGIN {ZONE}
$TTL 3600
@ IN SOA ns Host 7 3600 900 86400 300
@ IN NS ns
@ IN NS NS2.Sub
@ IN MX 10 Mail
ns IN A 192.0.2.1
ns IN AAAA 2001:db8::1
ns2.sub IN A 192.0.2.2
sub IN NS ns2.sub
sub IN NS ns.elsewhere.test.
MAIL 60 IN A 192.0.2.3
* IN TXT "a" "b" "c"
deep.er.and.deeper IN SRV 1 2 3 Target
x IN TYPE65400 \\# 3 010203
alias IN CNAME NS
"""


def signed(directory, *options, denial=True):
    path = directory / "digest.zone"
    path.write_text(TEXT)
    keys = [subprocess.run(
        ["ldns-keygen", "-a", "ECDSAP256SHA256", *flag, ZONE], cwd=directory,
        check=True, capture_output=True, text=True).stdout.strip()
        for flag in ((), ("-k",))] if denial is not None else []
    subprocess.run(
        ["ldns-signzone", *options, *(("-n",) if denial else ()), "-f",
         "signed", path, *keys], cwd=directory, check=True)
    return directory / "signed"


def check(path, *options):
    run = subprocess.run([servers.build_dir() / "nsd-checkzone", *options,
                          ZONE, path], capture_output=True, text=True)
    return run.returncode, "ZONEMD" in run.stdout + run.stderr


@pytest.fixture(params=(
    ("-z", "1:1"), ("-z", "1:2"), ("-z", "1:1", "-z", "1:2")),
    ids=("sha384", "sha512", "both"))
def zone(request, tmp_path):
    return signed(tmp_path, *request.param)


def test_ours_agrees_with_ldns(zone):
    verify = ["ldns-verify-zone", "-Z", zone]
    assert subprocess.run(verify, capture_output=True).returncode == 0
    assert check(zone) == (0, False)
    zone.write_text(zone.read_text().replace("192.0.2.3", "192.0.2.4"))
    assert subprocess.run(verify, capture_output=True).returncode != 0
    assert check(zone) == (0, True)
    assert check(zone, "-D")[0] == 1


class Verifying(Secondary):
    def command(self):
        command = super().command()
        conf = self.dir / "nsd.conf"
        conf.write_text(conf.read_text().replace(
            "\trequest-xfr:", "\tzonemd-verify: yes\n\trequest-xfr:"))
        return command


@pytest.mark.parametrize("kind", primaries.ALL)
def test_zone_comes_from_a_primary_with_its_digest(tmp_path, kind):
    path = signed(tmp_path, "-z", "1:1")
    primary = kind({ZONE: path})
    secondary = Verifying(primary)
    with started(primary), started(secondary):
        secondary.wait_serial(ZONE, 7)
        equal(secondary, ZONE, path)
        log = (secondary.dir / "log").read_text()
        assert "no ZONEMD" not in log and "not served" not in log
