"""Where our reply to an odd request differs from that of a real server, and which
RFC decides. Each rule returns the fields of an outcome that it excuses; TABLE has
the exact number of requests that need each rule.
"""
import collections

from odd_exchange import CLOSED, DROPPED
from odd_requests import NOTIFY, QUERY

ALL = frozenset({"rcode", "flags", "sections", "opt", "tsig"})
NOTHING = frozenset()


def opcode_unknown(c):
    """RFC 1035 4.1.1 has NOTIMP for a kind of query that is not supported. The
    format behind the header of such a message is unknown, so we neither read it
    nor check its TSIG; nor does NSD. BIND and Knot read it as a query first. They
    know UPDATE (RFC 2136 3) and refuse it. The flags AA, TC, RD and RA of the
    request are in our reply, all flags in NSD's, RD in Knot's, none in BIND's."""
    return ALL if c.header.opcode not in (QUERY, NOTIFY) else NOTHING


def checking_disabled(c):
    """RFC 4035 3.1.6: an authoritative server should clear CD. BIND copies it."""
    return {"flags"} if c.theirs.flags == " ".join(
        [*c.ours.flags.split(), "CD"]) else NOTHING


def dropped(c):
    """RFC 9619 4 wants FORMERR for more than one question. Knot drops these, and
    messages whose TSIG is not the last record if there is no question."""
    if c.theirs.rcode == DROPPED and c.header.questions != 1:
        return ALL
    return NOTHING


def request_with_rcode(c):
    """RFC 1035 4.1.1: the RCODE is set as part of responses. We say FORMERR, as
    NSD does; BIND and Knot do not look at it. (A request with an RCODE, a cookie
    and no question gets our cookie; NSD says FORMERR.)"""
    return ALL if c.header.rcode != 0 else NOTHING


def no_question(c):
    """RFC 7873 5.4: a query without question is answered if it has a cookie.
    BIND answers also if the server part of the cookie is not its own, or if the
    message has a TSIG; Knot never answers; NSD answers any OPT. The others look
    at SIG(0) or the version of OPT before they count questions. To NOTIFY, UPDATE
    and so on without a question BIND says FORMERR; NSD finds no zone."""
    return ALL if c.header.questions == 0 else NOTHING


def two_questions(c):
    """RFC 9619 4: more than one question is FORMERR. BIND checks TSIG and OPT
    before it says so; NSD takes a NOTIFY with two."""
    return ALL if c.header.questions == 2 else NOTHING


def notify(c):
    """RFC 1996 3.10: a NOTIFY from others than the known primaries should be
    ignored and logged. We say REFUSED, as NSD does, since RFC 8906 3.2 wants some
    reply. BIND accepts a NOTIFY for a zone that it is primary of; Knot says
    NOTAUTH, and BADKEY for a key that is for transfers only. NSD's reply has no
    OPT."""
    return ALL if c.header.opcode == NOTIFY else NOTHING


def question_in_errors(c):
    """RFC 1035 4.1.1 leaves open whether an error has the question. Errors that
    are found before the zone have none in our replies and in NSD's."""
    if c.ours.sections == "0/0/0/0" and c.theirs.sections == "1/0/0/0":
        return {"sections"}
    return NOTHING


def opt_in_formerr(c):
    """RFC 6891 7: a reply has an OPT if the request has one. Ours has one even if
    that of the request is malformed or there are two; the others have one if they
    could read that of the request."""
    if c.ours.rcode == c.theirs.rcode == "FORMERR" and c.ours.opt:
        return {"opt"}
    return NOTHING


def mac_too_short(c):
    """RFC 8945 5.2.2.1: a MAC shorter than 10 octets or half of it is FORMERR.
    Others say BADSIG, which is for MACs of the right length, or more than
    FORMERR."""
    if c.records in ("TSIG no MAC", "TSIG no MAC, error BADKEY",
                     "TSIG MAC of 8"):
        return {"rcode", "tsig"}
    return NOTHING


def mac_of_half(c):
    """RFC 8945 5.2.2.1: half of the MAC is enough unless the local policy wants
    more. BIND says BADTRUNC; Knot and NSD compare it with the full MAC."""
    return ALL if c.records == "TSIG MAC of 16" else NOTHING


def error_in_request(c):
    """RFC 8945 5.3: the error of a reply is that of the server. NSD sends back
    what the request has in that field, without MAC; BIND has no answer then, so
    no AA."""
    if c.records.startswith("TSIG error"):
        return {"flags", "sections", "tsig"}
    return NOTHING


def not_a_tsig(c):
    """RFC 8945 4.2: the class is ANY and the TTL 0, anything else is no TSIG.
    BIND and Knot do not look at the TTL by itself, so the MAC is wrong; Knot
    not at the class."""
    if c.records in ("TSIG class IN", "TSIG TTL 1"):
        return {"rcode", "flags", "tsig"}
    return NOTHING


def badvers_is_signed(c):
    """RFC 8945 5.3: the reply to a signed request is signed. BIND and Knot say
    BADVERS before they look at the TSIG."""
    return {"tsig"} if c.records == "OPT version 1, TSIG" else NOTHING


def opt_below_root(c):
    """RFC 6891 6.1.2: the owner of OPT must be the root; Knot does not look."""
    return ALL if c.records == "OPT owner" else NOTHING


def further_records(c):
    """RFC 2931 3: a server that does not support SIG(0) may ignore it; we ignore
    any other record that no answer depends on, too. BIND wants a SIG(0) to be the
    last record, and NSD no record beside OPT and TSIG."""
    if "SIG(0)" in c.records or c.records == "OPT, A":
        return ALL
    return NOTHING


def cookie(c):
    """RFC 7873 5.2.3: a server may answer a request without a valid server cookie
    as one without any cookie, or say BADCOOKIE; Knot with its module says
    BADCOOKIE over UDP."""
    if c.theirs.rcode == "BADCOOKIE" and "COOKIE" in c.records:
        return ALL
    return NOTHING


def time_first(c):
    """RFC 8945 5.2: the key is looked at first, then the MAC, then the time, and
    (5.2.3) BADTIME is signed. NSD looks at the time before the MAC, and does not
    sign."""
    if "TSIG before" in c.records or "TSIG after" in c.records:
        return {"tsig"}
    return NOTHING


def algorithm(c):
    """RFC 8945 5.2.1: a key with another algorithm than the server has for it is
    not known: BADKEY. NSD takes it, and its reply is signed with a wrong MAC."""
    return ALL if c.records == "TSIG other algorithm" else NOTHING


def original_id(c):
    """RFC 8945 5.3: the original ID of a reply is the reply's. NSD sends that of
    the request, and signs with it."""
    return {"tsig"} if c.records == "TSIG other ID" else NOTHING


RULES = [opcode_unknown, checking_disabled, dropped, request_with_rcode,
         no_question, two_questions, notify, question_in_errors,
         opt_in_formerr, mac_too_short, mac_of_half, error_in_request,
         not_a_tsig, badvers_is_signed, opt_below_root, further_records,
         cookie, time_first, algorithm, original_id]

# How many requests need each rule, of 8544; of NSD, which sends few errors a
# second, of 1632.
TABLE = {
    "bind": {
        "opcode_unknown": 5456, "checking_disabled": 54,
        "request_with_rcode": 308, "no_question": 20, "two_questions": 144,
        "notify": 513, "question_in_errors": 208, "opt_in_formerr": 24,
        "mac_too_short": 24, "mac_of_half": 8, "error_in_request": 88,
        "not_a_tsig": 8, "badvers_is_signed": 8, "further_records": 24},
    "knot": {
        "opcode_unknown": 5560, "dropped": 300, "request_with_rcode": 158,
        "no_question": 14, "notify": 512, "question_in_errors": 200,
        "opt_in_formerr": 24, "mac_too_short": 24, "mac_of_half": 8,
        "not_a_tsig": 16, "badvers_is_signed": 8, "opt_below_root": 8,
        "cookie": 24},
    "nsd": {
        "opcode_unknown": 168, "checking_disabled": 2,
        "request_with_rcode": 108, "no_question": 90, "two_questions": 72,
        "notify": 57, "opt_in_formerr": 5, "mac_too_short": 3,
        "mac_of_half": 1, "error_in_request": 11, "further_records": 6,
        "time_first": 4, "algorithm": 1, "original_id": 1},
}


class Compared(collections.namedtuple("Compared", "case server ours theirs")):
    @property
    def header(self):
        return self.case.header

    @property
    def records(self):
        return self.case.records


def explain(compared):
    """The names of the rules that are needed, and the fields that none excuses."""
    differ = {field for field in ALL
              if getattr(compared.ours, field)
              != getattr(compared.theirs, field)}
    needed = []
    for rule in RULES:
        if differ & rule(compared):
            needed.append(rule.__name__)
            differ -= rule(compared)
    return needed, differ


def compare(cases, server, ours, theirs):
    """{rule: how often it is needed}, and a line for each difference that no rule
    explains."""
    count, lines = collections.Counter(), []
    for number, outcome in theirs.items():
        case = cases[number]
        needed, left = explain(Compared(case, server, ours[number], outcome))
        count.update(needed)
        if left:
            lines.append(f"{case}: ours {ours[number]}, {server} {outcome}")
    return dict(count), lines


def of_way(server, way, outcome, over_udp, case):
    """Whether a server may reply like this over another transport than UDP. A
    request that is dropped over UDP ends a connection; NSD has a shortest message
    for TCP, too; Knot never says BADCOOKIE over TCP."""
    if outcome == over_udp:
        return True
    if way == "proxy udp":
        return False
    if outcome.rcode == CLOSED:
        return over_udp.rcode == DROPPED or (server == "nsd"
                                             and len(case.wire) == 12)
    return server == "knot" and over_udp.rcode == "BADCOOKIE"
