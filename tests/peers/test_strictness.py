"""A zone that two of BIND, Knot and NSD load must load here, too
(doc/decisions/0047)."""
import re
import subprocess

import dns.zone
import pytest

import strictness

pytestmark = pytest.mark.lasts(40)

CASES = strictness.make_cases()

# Records that two of them load and we do not, and why.
REFUSED = [
    (r".*\\256", "NSD makes it the digits 256 and Knot the octet 0"),
    (r".* a\\$", "NSD puts a newline into the name, Knot reads the next line"),
    (r'(SVCB|HTTPS) 1 "a\.?"$',
     "dots in a quoted name part labels for BIND and not for NSD"),
    (r"SVCB 1 \. key0?1=x$",
     "NSD makes a list of protocols of it, Knot takes the octet as it is"),
    (r"TXT \\# 2 0261$", "no RDATA of the type: the string is cut"),
    (r"TXT \\# x$", "BIND reads two strings, NSD nothing at all"),
]


def is_excused(case):
    return any(re.match(pattern, case) for pattern, _ in REFUSED)


@pytest.mark.parametrize("rrtype", CASES)
def test_what_two_others_load_is_loaded(rrtype, tmp_path):
    texts = CASES[rrtype]
    ours = strictness.Ours(tmp_path).loads(rrtype, texts)
    theirs = {peer.name: peer(tmp_path).loads(rrtype, texts)
              for peer in strictness.PEERS}
    wrong = []
    for i, text in enumerate(texts):
        takers = [name for name, loads in theirs.items() if loads[i]]
        case = f"{rrtype} {text}"
        if len(takers) > 1 and not ours[i] and not is_excused(case):
            wrong.append(f"{case[:200]}: {' and '.join(takers)} load it")
    assert not wrong, "\n".join(wrong)


def test_there_are_cases_of_every_type():
    rows = (strictness.TOP / "src/dns/rrtype_list.h").read_text()
    types = re.findall(r"\tX\(\d+, \w+, \"([A-Z0-9-]+)\", (?!META)", rows)
    assert len(types) > 80
    assert set(types) - set(CASES) == set()


def read(command, path):
    """The zone as a checker prints it."""
    done = subprocess.run([*command, "example", path], timeout=60,
                          stdout=subprocess.PIPE, text=True, check=True)
    lines = [line for line in done.stdout.splitlines(keepends=True)
             if not line.startswith(("zone ", "OK"))]
    return dns.zone.from_text("".join(lines), "example.")


OURS = [strictness.OURS, "-p"]
NSD = ["/usr/sbin/nsd-checkzone", "-p"]
BIND = ["named-checkzone", "-i", "none", "-o", "-"]


@pytest.mark.parametrize("text", [
    # no TTL is stated anywhere (RFC 2308 section 4)
    "@ SOA a. b. 1 2 3 4 77\n@ NS a.\nx A 192.0.2.1\n",
    "$TTL 5\n@ SOA a. b. 1 2 3 4 77\n@ NS a.\nx 7 A 192.0.2.1\ny A 192.0.2.1\n",
], ids=["none", "default"])
def test_a_record_without_ttl_has_that_of_nsd(text, tmp_path):
    (tmp_path / "zone").write_text(text)
    ours, theirs = (
        {(name, rdataset.rdtype): rdataset.ttl for name, rdataset
         in read(command, tmp_path / "zone").iterate_rdatasets()}
        for command in (OURS, NSD))
    assert ours == theirs


@pytest.mark.parametrize("peer", [NSD, BIND], ids=["nsd", "bind"])
def test_quotes_make_the_same_words(peer, tmp_path):
    texts = ['p="y"', 'p==="y z"', '="y"', '"a"="b"', '"a"b', 'a"b"c',
             'a\\="b"', 'p="y"z="w"', '"a""b"', 'p=""', 'v=DKIM1\\;p="A B"',
             '(p="a;b"\n) c="d"', 'p="a\\"b"', 'p=\\"a']
    (tmp_path / "zone").write_text(
        "$TTL 60\n@ SOA a. b. 1 2 3 4 5\n@ NS a.\n"
        + "".join(f"t{i} TXT {text}\n" for i, text in enumerate(texts))
        + 's SVCB 1 . alpn="h2,h3" key667="a b"\n')
    assert read(OURS, tmp_path / "zone") == read(peer, tmp_path / "zone")


@pytest.mark.parametrize("peer", [strictness.Bind, strictness.Knot],
                         ids=["bind", "knot"])
def test_the_same_soa_twice_is_loaded(peer, tmp_path):
    """A file in which a transfer was saved has it at both ends."""
    head = ["$TTL 60", "@ SOA ns h 1 2 3 4 5", "@ NS ns", "ns A 192.0.2.1"]
    for program in strictness.Ours, peer:
        code, said = program(tmp_path).run(head + head[1:2])
        assert code == 0, said
    assert strictness.Ours(tmp_path).run(
        head + ["@ SOA ns h 2 2 3 4 5"])[0] != 0


@pytest.mark.parametrize("peer", [NSD, BIND], ids=["nsd", "bind"])
def test_owners_in_quotes_are_those_of_others(peer, tmp_path):
    (tmp_path / "zone").write_text(
        "$TTL 60\n@ SOA a. b. 1 2 3 4 5\n@ NS a.\n"
        '"q" A 192.0.2.1\n A 192.0.2.2\n"a b" TXT x\n"a;(b" TXT x\n'
        '"*" A 192.0.2.1\n"a\\"b" TXT x\n')
    assert read(OURS, tmp_path / "zone") == read(peer, tmp_path / "zone")
