"""What two of BIND, Knot and NSD load must not keep a zone from loading here
(doc/decisions/0047)."""
import re

import pytest

import strictness

CASES = strictness.make_cases()

# What two of them load and we do not, and why.
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
