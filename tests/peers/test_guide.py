"""The commands of doc/primary.md, secondary.md, guarding.md, catalogs.md,
update.md, judging.md and dnstap.md do what they say."""
import re

import pytest

from paste import end_all, paste

pytestmark = pytest.mark.lasts(20)


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    end_all(tmp_path)


def test_primary_can_be_pasted(folder):
    said = paste("primary.md", folder)
    signed, served, validated, changed, added, stopped = said
    assert signed.endswith("zone example is ok\n")
    assert served.startswith("192.0.2.2\nA 13 2 ")
    assert "; fully validated\n" in validated
    assert validated.count("; negative response, fully validated\n") == 1
    lines = changed.splitlines()
    assert lines[-3:] == ["ok", "192.0.2.22", "4"]
    assert "\tpattern: signed\n" in added
    assert added.endswith("192.0.2.22\nok\n")
    assert stopped == "ok\n"


def test_secondary_can_be_pasted(folder):
    said = paste("secondary.md", folder)
    _, served, changed, added, figures, stopped = said
    assert "\tstate: ok\n" in served
    assert served.endswith("192.0.2.2\n")
    assert changed.startswith("192.0.2.22\nok\n; zone example written by NSD")
    assert "; received update to serial 2 at " in changed
    assert "\tpattern: from-bind\n" in added and added.endswith("ok\n")
    assert figures.startswith("server0.queries=")
    assert "nsd_zones_secondary 1\n" in figures
    assert stopped == "ok\n"


def test_guarding_can_be_pasted(folder):
    said = paste("guarding.md", folder)
    over_tls, transferred, cookie, rolled, limited, stopped = said
    assert over_tls == "192.0.2.2\n"
    assert "\tstate: ok\n" in transferred
    assert transferred.endswith("192.0.2.2\n")
    assert cookie.endswith("(good)\n")
    lines = rolled.splitlines()
    assert lines[:2] == ["ok", "ok"] and lines[-2] == "ok"
    assert lines[2].startswith("source : ")
    assert [line.split(":")[0].strip() for line in lines[3:5]] == [
        "active", "staging"]
    assert lines[-1].endswith("(good)")
    lines = limited.splitlines()
    assert lines[1].endswith("server: rrl-ratelimit has changed")
    assert lines[2:4] == ["reconfig completed: changes applied", "ok"]
    assert int(lines[4]) > 0
    assert "ratelimit block www.example. type positive" in limited
    assert "target 127.0.0.0/24 query 127.0.0.1 A" in limited
    assert int(lines[-1].split("=")[1]) > 0
    assert stopped == "ok\nok\n"


def test_catalogs_can_be_pasted(folder):
    _, added, gone = paste("catalogs.md", folder)
    lines = added.splitlines()
    assert lines[:2] == ["ok", "ok"] and lines[2] == lines[3]
    assert lines[4:6] == ["zone:\tshop.example", "\tpattern: customer"]
    assert re.fullmatch(r"\tcatalog-member-id: [0-9a-z]+\.zones\.catalog"
                        r"\.example\.", lines[6])
    assert gone == "ok\n" * 4


def test_update_can_be_pasted(folder):
    """RFC 2136; one key, one type, names that begin alike."""
    _, changed, refused = paste("update.md", folder)
    assert changed.startswith('"token"\n')
    assert '\tupdate: "serial 2 from 127.0.0.1 key acme at ' in changed
    assert "update failed: REFUSED\n" in refused
    assert "update-policy does not allow A of www.example." in refused
    assert refused.endswith("ok\n")


def test_judging_can_be_pasted(folder):
    """RFC 8976, RFC 4035"""
    served, refused, accepted, repaired, judged = paste("judging.md", folder)
    lines = served.splitlines()
    record = next(line for line in lines if "\tZONEMD\t1 1 1 " in line)
    assert record.startswith("example.\t300\tIN\t")
    assert lines[-2:] == ["; zone example is ok", "192.0.2.11"]
    assert "zone example: serial 2 is not served: its ZONEMD record is for" \
        " another serial" in refused
    assert refused.splitlines()[-1].split()[2] == "1"
    lines = accepted.splitlines()
    assert lines[0].startswith('\t\trefused: "serial 2, by zonemd-verify: ')
    assert lines[1:3] == ["zone.refused=1", "ok"]
    assert lines[3].split()[2] == "2"
    assert repaired.splitlines() == ["ok", "192.0.2.13"]
    assert "verifier: ns has another address" in judged
    assert judged.splitlines()[-3:] == ["192.0.2.1", "ok", "ok"]


def test_dnstap_can_be_pasted(folder):
    asked, figures, read = paste("dnstap.md", folder)
    assert asked.endswith("192.0.2.2\n")
    assert re.fullmatch(r"dnstap.sent=[1-9]\d*\ndnstap.dropped=0\n"
                        r"dnstap.connected=1\n", figures)
    assert read.startswith("ok\n")
    first, second = read.splitlines()[-2:]
    assert " AQ 127.0.0.1:" in first and "www.example/IN/A" in first
    assert " AR 127.0.0.1:" in second and "www.example/IN/A" in second
