"""The commands of doc/tutorials do what its pages say."""
import re

import pytest

from paste import SOURCE, blocks_of, end_all, paste

# Seconds for a page: some wait for servers of others, on a busy machine.
LIMIT = 600


@pytest.fixture(name="pasted")
def fixture_pasted(tmp_path):
    yield lambda name, **more: paste(f"tutorials/{name}", tmp_path, LIMIT,
                                     **more)
    end_all(tmp_path)


def lines_with(word, text):
    return [line for line in text.splitlines() if word in line]


def test_each_page_has_a_test():
    pages = {path.stem for path in (SOURCE / "doc/tutorials").glob("*.md")
             if blocks_of(f"tutorials/{path.name}")}
    tests = {name.removeprefix("test_") for name in globals()}
    assert pages <= tests


def test_tld(pasted):
    """Two primaries, RFC 5155 with opt-out, RFC 8976, RFC 4035."""
    _, served, memory, changed, other, refused, mended, end = pasted("tld.md")
    lines = lines_with("DS", served)
    assert lines[0].split()[3:8] == ["DS", "10", "13", "2", "0" * 56]
    assert "RRSIG" in served and len(lines) == 2
    for what in "(excl space for buffers)", "while the largest zone is replaced":
        assert re.search(rf"^ *[1-9][\d.]* ram usage {re.escape(what)}$", memory,
                         re.M)
    assert 'served-serial: "2 ' in changed
    assert " 3 1800 " in other
    assert "zone example: serial 4 is not served" in refused
    assert " 3 1800 900 604800 86400\n" in refused
    assert 'refused: "serial 4, by xfr-max-change: ' in refused
    assert " 5 1800 " in mended
    assert end == "ok\n"


def test_customers(pasted):
    """A thousand zones of RFC 9432; the page has a hundred thousand."""
    _, added, own, moved, back, end = pasted("customers.md", count="1000")
    assert added.count("192.0.2.80\n") == 2
    assert "1000" in added
    assert own.splitlines() == ["ok", "192.0.2.7", "192.0.2.7"]
    assert moved.splitlines() == ["ok", "ok", "192.0.2.80", "192.0.2.80"]
    assert back.splitlines() == ["ok", "ok", *["192.0.2.80"] * 3]
    assert end == "ok\n" * 3


def test_tls(pasted):
    """RFC 7858, RFC 9103"""
    made, _, asked, ours, bind, none, changed, renewed, end = pasted("tls.md")
    assert made.count(": OK\n") == 3
    assert asked.startswith("192.0.2.80\n")
    assert asked.endswith("another name is not believed\n")
    assert "state: ok" in ours
    assert bind == "192.0.2.80\n"
    assert none.lower().count("transfer failed") == 2 and none.endswith("0\n")
    assert changed == "ok\n" + "192.0.2.81\n" * 2
    assert "another certificate\n" in renewed
    assert renewed.endswith("192.0.2.81\n")
    assert end == "ok\nok\n"


def test_signer(pasted):
    """RFC 6781 section 4.1"""
    said = pasted("signer.md")
    rolled, end = said[-2:]
    assert rolled.count("; fully validated\n") == 3
    assert rolled.endswith("3\n")
    assert end.count("ok\n") == 2


def test_anycast(pasted):
    """RFC 5001, RFC 9018"""
    nodes, cookie, rolled, limited, health, end = pasted("anycast.md")
    for name in ("ams", "sin"):
        assert f'"{name}.example"\n' in nodes
        assert f'("{name}.example")' in nodes
    assert "(good)" in cookie
    assert rolled == "ok\n" * 6 + "1\n"
    found = re.search(r"with a cookie (\d+), without (\d+)\n", limited)
    assert found[1] == "0" and int(found[2]) > 0
    assert "ratelimit block www.example. type positive" in limited
    assert health.splitlines() == ["ams is announced", "ok",
                                   "ams is withdrawn", "sin is announced"]
    assert end == "ok\n"


def test_acme(pasted):
    """RFC 8555 section 8.4, RFC 2136"""
    _, _, name, gone, refused, end = pasted("acme.md")
    assert "DNS:www.example\n" in name
    lines = gone.splitlines()
    assert lines[0].startswith("ns.example. host.example. 3 ")
    assert "from 127.0.0.1 key acme-www" in lines[1]
    assert refused == "update failed: REFUSED\n" * 3 + "3\n"
    assert end == "ok\n"


def test_watching(pasted):
    _, _, log, rotated, incident, receiver = pasted("watching.md")
    lines = log.splitlines()
    assert lines[0].split() == ["3", "www.example."]
    assert lines[1] == "nothing.example. asked for by 127.0.0.1"
    assert lines[2].startswith("slowest: ")
    assert rotated == "ok\n192.0.2.2\n1\n"
    assert incident.splitlines() == ["ok", "192.0.2.3", "ok", "192.0.2.3", "1"]
    assert receiver.startswith("dnstap.dropped=0\nok\n")
    first, second = lines_with("www.example/IN/A", receiver)
    assert " AQ " in first and " AR " in second
    assert "ams.example" in receiver


def test_monitoring(pasted):
    _, served, scraped, wrong, board, zabbix, stopped, _ = pasted(
        "monitoring.md", examples=str(SOURCE / "doc/example"))
    assert int(served.splitlines()[-1]) > 20
    assert "SUCCESS" in scraped and scraped.endswith("1\n")
    assert "1 zones of 127.0.0.1:" in wrong
    assert "answer SERVFAIL: no data" in wrong
    assert "trouble: " in wrong and "example.org" in wrong
    assert re.fullmatch(r" *\d+ success\n", board)
    patterns = dict(line.rsplit(": ", 1) for line in zabbix.splitlines()
                    if ": " in line)
    assert patterns["nsd_zones_primary"] == "1"
    assert patterns['nsd_zones_in_trouble{trouble=~"not loaded|expired|'
                    'no data"}'] == "1"
    assert "NsdIsDown: " in stopped
