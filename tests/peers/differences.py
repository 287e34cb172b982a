"""Differences between our answers and those of a real server, and what decides.

Each rule says which fields of an answer it excuses for one question. A field
that differs and that no rule excuses is a failure.
"""
import collections

import dns.dnssec
import dns.name
import dns.rdatatype as T

import compare
import questions

SHOWN = 6  # mismatches of a kind that are printed in full

ALL = frozenset({"rcode", "flags", "answer", "authority", "additional"})
NONE = frozenset()
PROOFS = ("NSEC", "NSEC3")

# Types that stand beside a CNAME: a question for them is not led on by it.
BESIDE_CNAME = {T.RRSIG, T.NSEC, T.KEY, T.NXT}


class Names:
    """The names of some zones: {zone name: path}."""

    def __init__(self, zones):
        self.zones = [dns.name.from_text(zone) for zone in zones]
        self.apexes = {zone.to_text() for zone in self.zones}
        self.owners = set()
        self.existing = {}  # of each zone, with its empty non-terminals
        for zone, path in zones.items():
            owners = {owner for owner, types in
                      questions.read_zone(zone, path).items()
                      if not types <= questions.HASH_TYPES}
            apex = dns.name.from_text(zone)
            self.owners |= owners
            self.existing[apex] = {
                dns.name.Name(owner.labels[i:]) for owner in owners
                for i in range(len(owner.labels) - len(apex.labels) + 1)}


class Case:
    """One question with both answers."""

    def __init__(self, server, names, name, rdtype, how, ours, theirs):
        self.server = server
        self.owners = names.owners  # every owner name of the zones
        self.existing = names.existing
        self.zones = names.zones
        self.apexes = names.apexes
        self.name = name
        self.rdtype = rdtype
        self.how = how
        self.ours = ours
        self.theirs = theirs

    def zone_of(self, name):
        """The closest zone that is served and encloses the name."""
        enclosing = [z for z in self.zones if name.is_subdomain(z)]
        return max(enclosing, key=len, default=None)

    def leaves_zone(self):
        """True if our answer follows a CNAME or DNAME into another zone."""
        home = self.zone_of(self.name)
        for _, _, rrtype, rdata in self.ours.answer:
            if rrtype == "CNAME":
                if self.zone_of(dns.name.from_text(rdata)) != home:
                    return True
        return False

    def last_name(self):
        """The name that our answer's chain of links ends at."""
        links = {row[0]: dns.name.from_text(row[3])
                 for row in self.ours.answer if row[2] == "CNAME"}
        name = self.name
        while name.to_text().lower() in links:
            name = links.pop(name.to_text().lower())
        return name

    def lacks_proof(self):
        """True for a name whose closest encloser has no NSEC3 record, as it is
        there for unsigned delegations alone, while the closest ancestor with
        one has a wildcard: to who sees only the records, that would answer."""
        name = self.last_name()
        existing = self.existing.get(self.zone_of(name), set())
        above = [dns.name.Name(name.labels[i:])
                 for i in range(1, len(name.labels))]
        above = [ancestor for ancestor in above if ancestor in existing]
        return (self.ours.rcode == "NXDOMAIN"
                and any(row[2] == "NSEC3" and row[3].split()[1] == "1"
                        for row in self.ours.authority)
                and any(dns.name.Name((b"*",) + ancestor.labels) in existing
                        for ancestor in above[1:]))

    def find_wildcard(self):
        """The wildcard that answers for the last name, if one does."""
        encloser = self.last_name()
        zone = self.zone_of(encloser)
        if self.rdtype == T.DS and zone == encloser:
            zone = self.zone_of(zone.parent())
        existing = self.existing.get(zone, {encloser})
        if encloser in existing:
            return None
        while encloser not in existing:
            encloser = encloser.parent()
        wildcard = dns.name.Name((b"*",) + encloser.labels)
        return wildcard if wildcard in existing else None


def _without_ttl(rows):
    return {(owner, rrtype, rdata) for owner, _, rrtype, rdata in rows}


def soa_query_ttl(c):
    """RFC 2308 3: the TTL of the SOA in a negative answer is the lesser of its
    TTL and its MINIMUM. BIND sends 0 where the question was for SOA."""
    if (c.server == "bind" and c.rdtype == T.SOA
            and _without_ttl(c.ours.authority)
            == _without_ttl(c.theirs.authority)):
        return {"authority"}
    return NONE


def _is_of(row, types):
    """True if a row is a record of one of the types, or its signature."""
    return row[2] in types or (row[2] == "RRSIG"
                               and row[3].split()[0].upper() in types)


def _without(rows, *types):
    return {row for row in rows if not _is_of(row, types)}


def authority_of_positive_answers(c):
    """RFC 1034 3.7, RFC 9499: the NS RRset beside a positive answer is
    optional. We send it as NSD does, Knot never; with it go the addresses of
    the name servers. What BIND adds for ANY and NS is its choice too."""
    rest = _without(c.ours.authority, "NS")
    if (c.server in ("knot", "bind") and c.ours.answer
            and rest == _without(c.theirs.authority, "NS")
            and all(_is_of(row, PROOFS) for row in rest)):
        return {"authority", "additional"}
    return NONE


def _lacks_proofs(fewer, more):
    """True if what the one authority section lacks is of proofs alone. TTLs
    are not looked at: BIND sends SOA with 0 where SOA was the question."""
    fewer, more = ({(row[0], 0, *row[2:]) for row in rows}
                   for rows in (fewer, more))
    return fewer < more and all(_is_of(row, PROOFS) for row in more - fewer)


def proof_behind_dname(c):
    """RFC 4035 3.1.3: NSEC records cover the name at the chain's end. NSD
    takes the DNAME's target in its place."""
    if (c.server == "nsd" and "NSEC" in {row[2] for row in c.ours.authority}
            and any(row[2] == "DNAME" for row in c.ours.answer)
            and _without(c.ours.authority, *PROOFS)
            == _without(c.theirs.authority, *PROOFS)):
        return {"authority"}
    return NONE


def empty_wildcard(c):
    """RFC 4035 3.1.3.4: where a wildcard has no records of the type, one NSEC
    proves it, and one that no closer name exists. If the wildcard is an empty
    non-terminal the first is the one that covers it; BIND and Knot leave that
    out, NSD sends it."""
    wildcard = c.find_wildcard()
    if (c.server in ("bind", "knot") and c.ours.rcode == "NOERROR"
            and wildcard is not None and wildcard not in c.owners
            and _lacks_proofs(c.theirs.authority, c.ours.authority)):
        return {"authority"}
    return NONE


def wildcard_without_all(c):
    """RFC 4035 3.1.3.4, RFC 5155 7.2.5: no data at a wildcard takes a proof of
    that, of no closer name, and with NSEC3 of the closest encloser. NSD leaves
    out the first for DS, and sometimes the last."""
    if (c.server == "nsd" and c.ours.rcode == "NOERROR"
            and c.find_wildcard() is not None
            and _lacks_proofs(c.theirs.authority, c.ours.authority)):
        return {"authority"}
    return NONE


def no_proof_below_opt_out(c):
    """RFC 5155 7.2.7: see Case.lacks_proof. We send what there is, as BIND
    and NSD do; Knot sends neither SOA nor AA."""
    if (c.server == "knot" and c.lacks_proof() and "AA" not in c.theirs.flags
            and c.ours.rcode == c.theirs.rcode):
        return {"flags", "authority"}
    return NONE


def encloser_without_record(c):
    """RFC 5155 7.2.1 and 7.2.7: with opt-out a closest encloser may have no
    record, and the proof is that of its closest ancestor that has one. NSD
    sends other records."""
    name = c.last_name()
    existing = c.existing.get(c.zone_of(name), set())
    if c.server != "nsd" or c.ours.answer != c.theirs.answer:
        return NONE
    while name not in existing and name != dns.name.root:
        name = name.parent()
    records = [row for row in c.ours.authority if row[2] == "NSEC3"]
    hashes = {row[0].split(".")[0] for row in records}
    for row in records:
        _, flags, iterations, salt = row[3].split()[:4]
        if flags == "1" and dns.dnssec.nsec3_hash(
                name, "" if salt == "-" else salt, int(iterations),
                1).lower() not in hashes:
            return {"authority"}
    return NONE


def smaller_without_all(c):
    """RFC 2181 9: our answer is too large for UDP, in these cases, by a proof
    that the others leave out, or an answer that they do not give (see
    expansion_without_proof, below_nsec3_owner and types_beside_cname)."""
    if (c.server in ("knot", "nsd") and not c.how.tcp
            and c.ours.flags == c.theirs.flags | {"TC"}
            and (c.last_name().is_wild() or _is_below_hash(c.name)
                 or c.rdtype in BESIDE_CNAME | {T.NSEC3})):
        return ALL
    return NONE


def expansion_without_proof(c):
    """RFC 4035 3.1.3.3 and 3.1.3.4, RFC 5155 7.2.5 and 7.2.6: what a wildcard
    answers for needs a proof that no closer name exists. Knot leaves it out
    where the name in question begins with an asterisk itself, and where it is
    NSEC that is expanded: but that proves nothing (RFC 4035 5.4)."""
    if (c.server == "knot"
            and (c.last_name().is_wild()
                 or (c.rdtype == T.NSEC and c.ours.answer))
            and c.find_wildcard() is not None
            and _lacks_proofs(_without(c.theirs.authority, "NS"),
                              _without(c.ours.authority, "NS"))):
        return {"authority", "additional"}
    return NONE


def asterisk_asked_for(c):
    """RFC 5155 7.2.3: no data at a name that exists takes the record of that
    name alone. NSD adds the closest encloser where the name is a wildcard."""
    if (c.server == "nsd" and c.last_name().is_wild()
            and _lacks_proofs(c.ours.authority, c.theirs.authority)):
        return {"authority"}
    return NONE


def any_is_one_rrset(c):
    """RFC 8482 4.1: one RRset answers ANY; which one is the server's choice."""
    if c.rdtype != T.ANY:
        return NONE
    types = {row[2] for row in c.ours.answer} - {"RRSIG", "CNAME", "DNAME"}
    if len(types) > 1:
        return NONE
    if c.server != "bind":
        fields = {"answer", "authority", "additional"}
    elif c.theirs.answer <= c.ours.answer and any(
            row[2] == "DNAME" for row in c.ours.answer):
        # BIND holds the CNAME made from a DNAME to answer ANY.
        fields = {"rcode", "answer", "authority", "additional"}
        return fields | (c.ours.flags & {"TC"} and {"flags"})
    elif (_without_ttl(c.ours.answer) <= _without_ttl(c.theirs.answer)
          or c.leaves_zone() or "TC" in c.theirs.flags):
        fields = {"answer", "authority", "additional"}
    else:
        return NONE
    if "TC" in c.theirs.flags | c.ours.flags:  # one reply was too large
        fields = fields | {"flags"}
    return fields if c.ours.rcode == c.theirs.rcode else NONE


def chain_into_another_zone(c):
    """RFC 1034 3.6.2 leaves it open whether a server follows a CNAME into
    another of its zones. We do, as NSD does; BIND without recursion and Knot
    stop at the border, so they send a part of our answer, and by RFC 6604 the
    RCODE is that of the last name reached."""
    if (c.server in ("bind", "knot") and c.leaves_zone()
            and c.theirs.answer <= c.ours.answer):
        return {"rcode", "answer", "authority", "additional"}
    return NONE


def loops(c):
    """A CNAME or DNAME loop has no RCODE of its own (RFC 1034 3.6.2 wants it
    told as an error to the resolver's user); BIND says SERVFAIL. We send the
    links and NOERROR, as NSD and Knot do."""
    if (c.server == "bind" and c.theirs.rcode == "SERVFAIL"
            and c.ours.rcode == "NOERROR" and c.ours.answer
            and c.ours.answer == c.theirs.answer):
        return {"rcode", "authority", "additional"}
    return NONE


def endless_chain(c):
    """A DNAME that leads below itself makes names without end (RFC 6672 2.2);
    where to stop is each server's choice. We follow 18 links, as NSD does for
    CNAMEs; the others stop sooner."""
    if (sum(row[2] == "CNAME" for row in c.ours.answer) > 8
            and c.theirs.answer <= c.ours.answer):
        return ALL
    return NONE


def wildcard_under_another_name(c):
    """RFC 1034 4.3.3: addresses that a wildcard has for a target go out under
    the target's name. NSD sometimes leaves a label of that out: it sends those
    for c.nowhere as of c, which has others."""
    ours = c.ours.additional - c.theirs.additional
    theirs = c.theirs.additional - c.ours.additional
    if (c.server == "nsd" and {row[1:] for row in ours}
            == {row[1:] for row in theirs}
            and all(_is_of(row, ("A", "AAAA"))
                    and dns.name.from_text(row[0]) not in c.owners
                    for row in ours)):
        return {"additional"}
    return NONE


def _all_but_flags(c):
    """Ignores all fields, and TC with them: the longer of two different
    answers may be the one that does not fit."""
    if c.ours.flags ^ c.theirs.flags <= {"TC"}:
        return ALL
    return ALL - {"flags"}


def types_beside_cname(c):
    """RFC 4035 2.5, RFC 2181 10.1: RRSIG and NSEC stand beside a CNAME, so a
    question for them is answered at the CNAME itself; NSD follows it. NSEC3
    never stands there, so a question for it follows the CNAME as any other
    does (RFC 1034 4.3.2 3a); NSD does not."""
    if c.server != "nsd":
        return NONE
    led_on = c.theirs if c.rdtype in BESIDE_CNAME else c.ours
    if (c.rdtype in BESIDE_CNAME | {T.NSEC3}
            and any(row[2] == "CNAME" for row in led_on.answer)):
        return _all_but_flags(c)
    return NONE


def one_rrsig(c):
    """RFC 8482 4.1 lets a server answer RRSIG as it answers ANY, with a part;
    Knot does. We send all that stand at the name, as BIND and NSD do."""
    if (c.server == "knot" and c.rdtype == T.RRSIG
            and c.theirs.answer <= c.ours.answer
            and c.ours.rcode == c.theirs.rcode):
        return {"flags", "answer", "authority", "additional"}
    return NONE


def nsec_at_a_cut(c):
    """RFC 1034 4.3.2 step 3b refers every type at a cut to the child; RFC 4035
    3.1.4.1 exempts only DS. BIND answers NSEC from the parent as well; Knot
    and NSD refer, as we do."""
    if (c.server == "bind" and c.rdtype == T.NSEC
            and "AA" not in c.ours.flags and not c.ours.answer
            and any(row[2] == "NS" for row in c.ours.authority)):
        return ALL - {"rcode"}
    return NONE


def _is_below_hash(name):
    """True below a name that may be an NSEC3 record's."""
    return any(len(label) == 32 and
               set(label.decode("latin-1").lower()) <= set(
                   "0123456789abcdefghijklmnopqrstuv-*")
               for label in name.labels[1:])


def below_nsec3_owner(c):
    """RFC 5155 7.2.8: the owner name of an NSEC3 record alone does not exist,
    nor does it make names below it special: a wildcard above covers them. NSD
    says NXDOMAIN there, and takes it for a closest encloser."""
    if c.server == "nsd" and _is_below_hash(c.name):
        if c.ours.rcode == c.theirs.rcode and c.ours.answer == c.theirs.answer:
            return {"authority"}
        if c.theirs.rcode == "NXDOMAIN" and c.ours.rcode == "NOERROR":
            return _all_but_flags(c)
    return NONE


def additional_is_optional(c):
    """RFC 1034 4.3.2 step 6, RFC 9471: only in-domain glue of a referral must
    be there; anything else in the additional section is a server's choice."""
    if c.server == "nsd":
        return NONE
    cuts = {dns.name.from_text(row[0]) for row in c.ours.authority
            if row[2] == "NS"}
    if c.ours.answer or not cuts:
        return {"additional"}
    missing = {row for row in c.theirs.additional - c.ours.additional
               if row[2] in ("A", "AAAA")
               and any(dns.name.from_text(row[0]).is_subdomain(cut)
                       for cut in cuts)}
    return NONE if missing else {"additional"}


def addresses_for_more_types(c):
    """RFC 9460 4.1 and RFC 1183 1 ask for the addresses of the target of SVCB,
    HTTPS and AFSDB; NSD leaves them out."""
    if (c.server == "nsd" and c.rdtype in (T.SVCB, T.HTTPS, T.AFSDB)
            and c.theirs.additional <= c.ours.additional):
        return {"additional"}
    return NONE


def truncated(c):
    """RFC 2181 9: the records of a truncated reply are ignored by its reader."""
    if "TC" in c.ours.flags and "TC" in c.theirs.flags:
        return {"answer", "authority", "additional"}
    return NONE


def fits_when_compressed(c):
    """RFC 1035 4.1.4: names may be compressed against any earlier one. NSD and
    BIND leave some room unused and truncate where our whole answer fits."""
    if ("TC" in c.theirs.flags and "TC" not in c.ours.flags
            and c.ours.flags | {"TC"} == c.theirs.flags
            and c.theirs.answer <= c.ours.answer):
        return {"flags", "answer", "authority", "additional"}
    return NONE


def what_fits(c):
    """RFC 2181 9: a server may choose the optional parts that it leaves out
    when room is short, and where it stops."""
    large = (len(c.ours.answer) >= 10
             or sum(len(row[3]) for row in c.ours.answer) > 1000)
    if c.how.tcp or (c.how.size > 1232 and not large):
        return NONE
    if c.ours.answer == c.theirs.answer and c.ours.answer:
        return {"authority", "additional"}
    return NONE


RULES = [soa_query_ttl, authority_of_positive_answers, proof_behind_dname,
         empty_wildcard, wildcard_without_all, no_proof_below_opt_out,
         encloser_without_record, smaller_without_all,
         expansion_without_proof, asterisk_asked_for, any_is_one_rrset,
         chain_into_another_zone, loops, endless_chain, types_beside_cname,
         wildcard_under_another_name,
         one_rrsig, nsec_at_a_cut, below_nsec3_owner,
         additional_is_optional, addresses_for_more_types, truncated,
         fits_when_compressed, what_fits]


def unexplained(case):
    """The fields that differ without a rule to excuse them."""
    differ = {field for field in ALL
              if getattr(case.ours, field) != getattr(case.theirs, field)}
    for rule in RULES:
        if not differ:
            break
        differ -= rule(case)
    return differ


def report(zones, running, asked, how):
    """Asks all servers; returns how our answers differ from others without a
    rule; empty: nowhere."""
    got = {name: compare.ask_all(server, asked, how)
           for name, server in running.items()}
    assert compare.NO_REPLY not in got["ours"]
    names, rivals = Names(zones), [name for name in got if name != "ours"]
    shown, count = [], collections.Counter()
    for i, (name, rdtype) in enumerate(asked):
        for rival in rivals:
            case = Case(rival, names, name, rdtype, how,
                        got["ours"][i], got[rival][i])
            fields = tuple(sorted(unexplained(case)))
            if not fields:
                continue
            count[rival, fields] += 1
            if count[rival, fields] <= SHOWN:
                shown.append(f"{name} {T.to_text(rdtype)}: "
                             f"{', '.join(fields)} differ\n"
                             f"ours: {case.ours.text()}\n"
                             f"{rival}: {case.theirs.text()}")
    counted = "\n".join(f"{n} x {rival}: {', '.join(fields)}"
                        for (rival, fields), n in sorted(count.items()))
    return "\n\n".join([counted, *shown]) if shown else ""
