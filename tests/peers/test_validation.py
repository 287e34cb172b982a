"""Every answer from a signed zone validates: a real validating resolver, which
asks our server, gives the same answer and vouches for it."""
import collections

import dns.name
import dns.rdatatype as T
import pytest

import compare
import conftest
import differences
import questions
import servers

pytestmark = pytest.mark.lasts(30)

SHOWN = 12
ASKED_MAX = 2000
# A resolver makes up its own answers to these, or does not validate them.
NOT_ASKED = {T.ANY, T.RRSIG}


def is_whole(case):
    """True if all of the answer is from zones that are served: no referral,
    no chain that leaves them or has no end."""
    last = case.last_name().to_text().lower()
    rows = [row for row in case.ours.answer if row[0] == last]
    if case.ours.answer and case.rdtype != T.CNAME:
        if any(row[2] == "CNAME" for row in rows):
            return False
        if not rows and not any(row[2] == "SOA"
                                for row in case.ours.authority):
            return False
    refers = any(row[2] == "NS" and row[0] not in case.apexes
                 for row in case.ours.authority)
    return ("AA" in case.ours.flags and not refers
            and case.ours.rcode in ("NOERROR", "NXDOMAIN"))


def is_resolved_otherwise(case):
    """A resolver asks the parent for DS at an apex, and here that may not be
    served; where a wildcard that is an empty non-terminal has none, unbound
    says NXDOMAIN. For NSEC it follows a CNAME that it knows of. A CNAME or
    DNAME that it finds behind a DNAME it does not take for the answer. An asterisk that
    the question begins with it takes for that of a wildcard, so that it looks
    for the wrong next closer name. What can't be proven it does not accept."""
    last = case.last_name()
    if case.lacks_proof():
        return True
    if last.is_wild() and case.find_wildcard() is not None:
        return True
    if case.rdtype in (T.CNAME, T.DNAME) and any(
            row[2] == "DNAME" and row[0] != last.to_text().lower()
            for row in case.ours.answer):
        return True
    if case.rdtype == T.DS:
        wildcard = case.find_wildcard()
        if wildcard is not None and wildcard not in case.owners:
            return True
        return last in case.zones and case.zone_of(last.parent()) is None
    return case.rdtype == T.NSEC and any(
        row[2] in differences.PROOFS and "cname" in row[3].split()
        for row in case.ours.answer | case.ours.authority)


def may_be_insecure(case):
    """RFC 5155 9.2, 12.2: within a span of opt-out nothing is vouched for."""
    return any(row[2] == "NSEC3" and row[3].split()[1] == "1"
               for row in case.ours.authority)


@pytest.fixture(scope="module")
def resolver(peers):
    zones, running = peers
    server = servers.Unbound(zones, running["ours"]).start()
    yield server
    server.stop()


@pytest.mark.parametrize("peers", conftest.SIGNED_SETS, indirect=True)
def test_answers_validate(peers, resolver):
    zones, running = peers
    how = compare.How(size=4096, dnssec=True, tcp=True)
    asked = [q for q in questions.make(zones, ASKED_MAX)
             if q[1] not in NOT_ASKED]
    names = differences.Names(zones)
    ours = compare.ask_all(running["ours"], asked, how)
    cases = []
    for (name, rdtype), answer in zip(asked, ours):
        case = differences.Case("unbound", names, name, rdtype, how, answer,
                                answer)
        if is_whole(case) and not is_resolved_otherwise(case):
            cases.append(case)
    assert len(cases) > len(asked) / 3
    got = compare.ask_all(resolver, [(c.name, c.rdtype) for c in cases],
                          compare.How(size=4096, dnssec=True,
                                      recursive=True))
    wrong = collections.defaultdict(list)
    vouched = 0
    for case, answer in zip(cases, got):
        vouched += "AD" in answer.flags
        if answer.rcode != case.ours.rcode:
            wrong[f"{answer.rcode} for {case.ours.rcode}"].append(case)
        elif "AD" not in answer.flags and not may_be_insecure(case):
            wrong["not vouched for"].append(case)
    assert vouched > len(cases) / 10
    if wrong:
        pytest.fail("\n\n".join(
            f"{len(found)} x {why}\n" + "\n".join(
                f"{c.name} {T.to_text(c.rdtype)}: {c.ours.text()}"
                for c in found[:SHOWN]) for why, found in wrong.items()),
            pytrace=False)
