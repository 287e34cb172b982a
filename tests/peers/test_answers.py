"""Every answer equals BIND's, Knot's and NSD's as sets, but for the documented
differences of differences.py."""
import pytest

import compare
import differences
import questions

pytestmark = pytest.mark.lasts(60)

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
    report = differences.report(zones, running, asked, how)
    if report:
        pytest.fail(report, pytrace=False)
