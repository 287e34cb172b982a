"""Every answer equals BIND's, Knot's and NSD's as sets, but for the documented
differences of differences.py."""
import collections

import pytest

import compare
import differences
import questions

SHOWN = 6  # mismatches of a kind that are printed in full
ASKED_MAX = 4000
SHARE = 3  # the first way asks everything, each other one question in so many

WAYS = [
    compare.How(size=4096),
    compare.How(size=1232, dnssec=True),
    compare.How(size=512),
    compare.How(size=0),
    compare.How(size=1232, tcp=True),
    compare.How(size=4096, tcp=True, dnssec=True),
]


@pytest.fixture(scope="session")
def asked(peers):
    zones, _ = peers
    return questions.make(zones, ASKED_MAX)


@pytest.mark.parametrize("how", WAYS, ids=str)
def test_answers_equal_those_of_peers(peers, asked, how):
    zones, running = peers
    if how != WAYS[0]:
        asked = asked[WAYS.index(how) % SHARE::SHARE]
    got = {name: compare.ask_all(server, asked, how)
           for name, server in running.items()}
    assert compare.NO_REPLY not in got["ours"]
    names = differences.Names(zones)
    report, count = [], collections.Counter()
    for i, (name, rdtype) in enumerate(asked):
        for rival in got:
            if rival == "ours":
                continue
            case = differences.Case(rival, zones, names, name, rdtype, how,
                                    got["ours"][i], got[rival][i])
            fields = differences.unexplained(case)
            if not fields:
                continue
            count[rival, tuple(sorted(fields))] += 1
            if count[rival, tuple(sorted(fields))] <= SHOWN:
                report.append(
                    f"{name} {compare.dns.rdatatype.to_text(rdtype)}: "
                    f"{', '.join(sorted(fields))} differ\n"
                    f"ours: {case.ours.text()}\n{rival}: "
                    f"{case.theirs.text()}")
    summary = "\n".join(f"{n} x {rival}: {', '.join(fields)}"
                        for (rival, fields), n in sorted(count.items()))
    if report:
        pytest.fail(summary + "\n\n" + "\n\n".join(report), pytrace=False)
