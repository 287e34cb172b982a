"""nsd-checkconf warns of lines of update-policy, and of elements of allow-update,
that can match nothing."""
import re

import pytest

import test_checkconf


@pytest.fixture
def conf(tmp_path):
    """Writes a text as `c`; returns how to check it."""
    def make(text):
        (tmp_path / "c").write_text(text)
        return lambda: test_checkconf.run(test_checkconf.OURS, "c",
                                          cwd=tmp_path)
    return make


KEYS = "".join(f"key: name: {name} algorithm: sha256 secret: aGVsbG8=\n"
               for name in ("k", "host.one.test.", "elsewhere.test"))
MATCHES_NOTHING = " matches nothing: no zone that has this line has such"


def warnings_of(check):
    """[(line of the file, text)], in order; the file has no error."""
    code, out, err = check()
    assert (code, out) == (0, ""), err
    found = [re.fullmatch(r"c:(\d+): warning: (.*)", line)
             for line in err.splitlines()]
    return [(int(match[1]), match[2]) for match in found]


def test_lines_of_update_policy_that_match_nothing(conf):
    """A pattern's line may be for one of its zones alone, and a pattern without
    zones may get some at run time."""
    assert warnings_of(conf(KEYS + """\
pattern:
	name: p
	zonefile: z
	update-policy: k www.one.test
	update-policy: k *.two.test A
	update-policy: k *.test
	update-policy: k www.three.test
	update-policy: host.one.test. self
	update-policy: elsewhere.test self
	update-policy: k _acme-challenge.* TXT
pattern:
	name: unused
	update-policy: k www.three.test
zone: name: one.test include-pattern: p
zone: name: two.test. include-pattern: p
	update-policy: k one.test
	update-policy: k TWO.test TYPE65280 TYPE4711
zone: name: three.test zonefile: z
	update-policy: k *
zone: name: xtwo.test zonefile: z
	update-policy: k www.two.test
""")) == [
        (10, f"update-policy k www.three.test{MATCHES_NOTHING} names"),
        (12, f"update-policy elsewhere.test self{MATCHES_NOTHING} a name as"
             " the key"),
        (19, f"update-policy k one.test{MATCHES_NOTHING} names"),
        (20, "update-policy k TWO.test: no type is known that has the number"
             " 4711"),
        (24, f"update-policy k www.two.test{MATCHES_NOTHING} names"),
    ]


def test_elements_of_allow_update_that_match_nothing(conf):
    """BLOCKED counts first, wherever it stands; that of one zone takes from its
    pattern what others still have."""
    blocked = ("192.0.2.7", "198.51.100.0&255.255.255.0", "2001:db8::/32",
               "203.0.113.5-203.0.113.9", "192.0.2.80@53")
    lines = [
        ("192.0.2.7 k", 0), ("192.0.2.8 k", None), ("192.0.2.6/31 k", None),
        ("198.51.100.3-198.51.100.9 k", 1), ("198.51.100.128/25 NOKEY", 1),
        ("198.51.100.3-198.51.101.9 k", None), ("2001:db8:8000::/33 k", 2),
        ("2001:db9::/33 k", None), ("203.0.113.6&255.255.255.254 k", 3),
        ("203.0.113.9 k", 3), ("203.0.113.10 k", None),
        ("192.0.2.80 k", None), ("192.0.2.80@53 k", 4)]
    text = KEYS + "pattern: name: p zonefile: z\n"
    text += "".join(f"\tallow-update: {line}\n" for line, _ in lines)
    text += "".join(f"\tallow-update: {spec} BLOCKED\n" for spec in blocked)
    text += ("zone: name: a.test include-pattern: p\n"
             "zone: name: b.test include-pattern: p"
             " allow-update: 0.0.0.0/0 BLOCKED\n")
    wanted = [(5 + at, f"allow-update {line} matches nothing: allow-update"
                       f" {blocked[by]} BLOCKED has all its addresses")
              for at, (line, by) in enumerate(lines) if by is not None]
    assert sorted(warnings_of(conf(text))) == sorted(wanted)


def test_type_that_is_none_is_an_error(conf):
    code, out, err = conf(KEYS + "zone: name: a.test zonefile: z\n"
                          "\tupdate-policy: k * A XYZ\n")()
    assert (code, out) == (2, "")
    assert "c:5: error: update-policy: unknown type 'XYZ'" in err
