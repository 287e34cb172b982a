"""Rules of RFC 2136, each as a message and what has to come of it.

A message is written as its records, "; " between them: the section (? is a
prerequisite, ! an update), owner, TTL if not 0, class if not IN, type, RDATA.
Names are relative to the zone. Outcomes are what update_run.py says of a server:
the RCODE, and what is different in the zone afterwards.
"""
import dataclasses

ZONE = """\
@	3600 SOA ns h 100 3600 600 86400 300
@	3600 NS ns
@	3600 NS ns2
@	3600 TXT apex
ns	3600 A 192.0.2.1
ns2	3600 A 192.0.2.2
a	3600 A 192.0.2.10
a	3600 A 192.0.2.11
a	3600 TXT one
c	3600 CNAME a
d.e	3600 A 192.0.2.20
m	3600 MX 10 a
sub	3600 NS ns.sub
ns.sub	3600 A 192.0.2.30
*.w	3600 TXT wild
u	3600 TYPE65280 \\# 2 0102
k	3600 TYPE11 \\# 9 c00002280600000040
one	3600 A 192.0.2.50
"""


@dataclasses.dataclass(frozen=True)
class Rule:
    """section: of RFC 2136. outcome: as the RFC has it; two with " or "
    between them where it leaves the choice. how: changes of the message."""
    name: str
    section: str
    message: str
    outcome: str
    how: str = ""


def _rules(section, *rows):
    return [Rule(row[0], section, *row[1:]) for row in rows]


ZONE_SECTION = _rules(
    "3.1.1",
    ("no zone", "! x 60 A 192.0.2.9", "FORMERR", "zones=0"),
    ("two zones", "! x 60 A 192.0.2.9", "FORMERR", "zones=2"),
    ("ZTYPE is not SOA", "! x 60 A 192.0.2.9", "FORMERR", "ztype=NS"),
) + _rules(
    "3.1.2",
    ("zone that is not here", "! x 60 A 192.0.2.9", "NOTAUTH",
     "zone=elsewhere.example."),
    ("a name within the zone as zone", "! a.a 60 A 192.0.2.9", "NOTAUTH",
     "zone=a"),
    ("ZCLASS is CH", "! x 60 A 192.0.2.9", "NOTAUTH", "zclass=CH"),
)

PREREQUISITES = _rules(
    "3.2.1, TTL",
    ("TTL is not 0, class ANY", "? a 1 ANY A; ! x 60 A 192.0.2.9", "FORMERR"),
    ("TTL is not 0, class NONE", "? x 1 NONE A; ! x 60 A 192.0.2.9",
     "FORMERR"),
    ("TTL is not 0, class IN", "? one 1 A 192.0.2.50; ! x 60 A 192.0.2.9",
     "FORMERR"),
) + _rules(
    "3.2.2, zone",
    ("name outside the zone, ANY", "? a.example. ANY A; ! x 60 A 192.0.2.9",
     "NOTZONE"),
    ("name outside the zone, NONE",
     "? a.example. NONE ANY; ! x 60 A 192.0.2.9", "NOTZONE"),
    ("name outside the zone, IN",
     "? a.example. A 192.0.2.1; ! x 60 A 192.0.2.9", "NOTZONE"),
) + _rules(
    "3.2.1, ANY",
    ("class ANY with RDATA", "? one ANY A 192.0.2.50; ! x 60 A 192.0.2.9",
     "FORMERR"),
    ("name is in use: it is", "? a ANY ANY; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("name is in use: it is not", "? x ANY ANY; ! x 60 A 192.0.2.9",
     "NXDOMAIN"),
    ("name is in use: the apex", "? @ ANY ANY; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("name is in use: in other case", "? A ANY ANY; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("name is in use: an empty non-terminal",
     "? e ANY ANY; ! x 60 A 192.0.2.9", "NXDOMAIN"),
    ("name is in use: only a wildcard covers it",
     "? x.w ANY ANY; ! x 60 A 192.0.2.9", "NXDOMAIN"),
    ("name is in use: glue", "? ns.sub ANY ANY; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("RRset exists: it does", "? a ANY TXT; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("RRset exists: another type", "? a ANY AAAA; ! x 60 A 192.0.2.9",
     "NXRRSET"),
    ("RRset exists: name is not there", "? x ANY A; ! x 60 A 192.0.2.9",
     "NXRRSET"),
    ("RRset exists: a CNAME is not followed",
     "? c ANY A; ! x 60 A 192.0.2.9", "NXRRSET"),
    ("RRset exists: only a wildcard covers it",
     "? x.w ANY TXT; ! x 60 A 192.0.2.9", "NXRRSET"),
    ("RRset exists: type without a name of its own",
     "? u ANY TYPE65280; ! x 60 A 192.0.2.9", "NOERROR +x 60 A 192.0.2.9"),
) + _rules(
    "3.2.2, NONE",
    ("class NONE with RDATA", "? one NONE A 192.0.2.50; ! x 60 A 192.0.2.9",
     "FORMERR"),
    ("name is not in use: it is not", "? x NONE ANY; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("name is not in use: it is", "? a NONE ANY; ! x 60 A 192.0.2.9",
     "YXDOMAIN"),
    ("name is not in use: an empty non-terminal",
     "? e NONE ANY; ! x 60 A 192.0.2.9", "NOERROR +x 60 A 192.0.2.9"),
    ("name is not in use: only a wildcard covers it",
     "? x.w NONE ANY; ! x 60 A 192.0.2.9", "NOERROR +x 60 A 192.0.2.9"),
    ("RRset does not exist: it does not", "? a NONE AAAA; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("RRset does not exist: it does", "? a NONE A; ! x 60 A 192.0.2.9",
     "YXRRSET"),
) + _rules(
    "3.2.3, IN",
    ("RRset is this: it is",
     "? a A 192.0.2.11; ? a A 192.0.2.10; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("RRset is this: it has more", "? a A 192.0.2.10; ! x 60 A 192.0.2.9",
     "NXRRSET"),
    ("RRset is this: it has less",
     "? one A 192.0.2.50; ? one A 192.0.2.51; ! x 60 A 192.0.2.9",
     "NXRRSET"),
    ("RRset is this: another value", "? one A 192.0.2.51; ! x 60 A 192.0.2.9",
     "NXRRSET"),
    ("RRset is this: name is not there", "? x A 192.0.2.9; ! x 60 A 192.0.2.9",
     "NXRRSET"),
    ("RRset is this: one record twice",
     "? one A 192.0.2.50; ? one A 192.0.2.50; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9 or NXRRSET"),
    ("RRset is this: a name in RDATA in other case",
     "? m MX 10 A; ! x 60 A 192.0.2.9", "NOERROR +x 60 A 192.0.2.9"),
    ("RRset is this: two RRsets, records mixed",
     "? a A 192.0.2.11; ? one A 192.0.2.50; ? a TXT one; ? a A 192.0.2.10; "
     "! x 60 A 192.0.2.9", "NOERROR +x 60 A 192.0.2.9"),
    ("RRset is this: the SOA", "? @ SOA ns h 100 3600 600 86400 300; "
     "! x 60 A 192.0.2.9", "NOERROR +x 60 A 192.0.2.9"),
    ("class IN, type ANY", "? a ANY/IN \\# 0; ! x 60 A 192.0.2.9",
     "FORMERR or NXRRSET"),
) + _rules(
    "3.2.5",
    ("class CH", "? a CH TXT one; ! x 60 A 192.0.2.9", "FORMERR"),
    ("the first that fails is told: NXDOMAIN before YXRRSET",
     "? x ANY ANY; ? a NONE A; ! x 60 A 192.0.2.9", "NXDOMAIN"),
    ("the first that fails is told: YXRRSET before NXDOMAIN",
     "? a NONE A; ? x ANY ANY; ! x 60 A 192.0.2.9", "YXRRSET"),
    ("a bad prerequisite behind one that fails",
     "? x ANY ANY; ? a CH TXT one; ! x 60 A 192.0.2.9",
     "NXDOMAIN or FORMERR"),
    ("RRsets with values are compared last",
     "? one A 192.0.2.51; ? x ANY ANY; ! x 60 A 192.0.2.9", "NXDOMAIN"),
    ("prerequisites come before the updates are looked at",
     "? x ANY ANY; ! a.example. 60 A 192.0.2.9", "NXDOMAIN"),
    ("prerequisites alone", "? a ANY A", "NOERROR"),
    ("nothing at all", "", "NOERROR"),
)

PRESCAN = _rules(
    "3.4.1.2",
    ("name outside the zone", "! a.example. 60 A 192.0.2.9", "NOTZONE"),
    ("name outside the zone behind a good record",
     "! x 60 A 192.0.2.9; ! a.example. 60 A 192.0.2.9", "NOTZONE"),
    ("class CH in updates", "! x 60 CH TXT one", "FORMERR"),
    ("class ANY with a TTL", "! a 60 ANY A", "FORMERR"),
    ("updates of class ANY with RDATA", "! one ANY A 192.0.2.50", "FORMERR"),
    ("class NONE with a TTL", "! one 60 NONE A 192.0.2.50", "FORMERR"),
    ("class NONE, type ANY", "! one NONE ANY/NONE \\# 0", "FORMERR"),
    ("adding type ANY", "! x 60 ANY/IN \\# 0", "FORMERR"),
    ("adding type AXFR", "! x 60 AXFR/IN \\# 0", "FORMERR"),
    ("adding type IXFR", "! x 60 IXFR/IN \\# 0", "FORMERR"),
    ("adding type OPT", "! x 60 OPT/IN \\# 0", "FORMERR"),
    ("adding type TSIG", "! x 60 TYPE250/IN \\# 0", "FORMERR"),
    ("adding type MAILB", "! x 60 MAILB/IN \\# 0", "FORMERR"),
    ("deleting type AXFR, class ANY", "! a ANY AXFR", "FORMERR"),
    ("deleting type MAILA, class NONE", "! a NONE MAILA/NONE \\# 0",
     "FORMERR"),
    ("nothing is done if the last record is bad",
     "! x 60 A 192.0.2.9; ! a ANY A; ! one NONE ANY/NONE \\# 0", "FORMERR"),
    ("adding a record without RDATA", "! x 60 A/IN \\# 0", "FORMERR"),
    ("adding an address of 5 octets", "! x 60 A/IN \\# 5 C000020900",
     "FORMERR"),
)

ADDING = _rules(
    "3.4.2.2",
    ("new name", "! x 60 A 192.0.2.9", "NOERROR +x 60 A 192.0.2.9"),
    ("new type", "! one 60 TXT two", "NOERROR +one 60 TXT \"two\""),
    ("record more, the TTL of the RRset",
     "! one 3600 A 192.0.2.9", "NOERROR +one 3600 A 192.0.2.9"),
    ("record more, with another TTL", "! one 60 A 192.0.2.9",
     "NOERROR -one 3600 A 192.0.2.50 +one 60 A 192.0.2.50 "
     "+one 60 A 192.0.2.9"),
    ("record that is there", "! one 3600 A 192.0.2.50", "NOERROR"),
    ("record that is there, with another TTL", "! one 60 A 192.0.2.50",
     "NOERROR -one 3600 A 192.0.2.50 +one 60 A 192.0.2.50"),
    ("record twice in a message", "! x 60 A 192.0.2.9; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("name of other case", "! ONE 3600 A 192.0.2.9",
     "NOERROR +one 3600 A 192.0.2.9"),
    ("record of an unknown type", "! x 60 TYPE65280 \\# 1 FF",
     "NOERROR +x 60 TYPE65280 \\# 1 ff"),
    ("wildcard", "! *.x 60 A 192.0.2.9", "NOERROR +*.x 60 A 192.0.2.9"),
    ("below an empty non-terminal", "! f.e 60 A 192.0.2.9",
     "NOERROR +f.e 60 A 192.0.2.9"),
    ("a delegation", "! s2 60 NS ns.s2; ! ns.s2 60 A 192.0.2.9",
     "NOERROR +ns.s2 60 A 192.0.2.9 +s2 60 NS ns.s2"),
    ("below a delegation", "! x.sub 60 A 192.0.2.9",
     "NOERROR +x.sub 60 A 192.0.2.9"),
    ("an NS of the apex", "! ns3 60 A 192.0.2.3; ! @ 3600 NS ns3",
     "NOERROR +@ 3600 NS ns3 +ns3 60 A 192.0.2.3"),
    ("an NS of the apex without an address", "! @ 3600 NS ns3",
     "NOERROR +@ 3600 NS ns3"),
    ("SOA with a higher serial", "! @ 3600 SOA ns h 200 3600 600 86400 300",
     "NOERROR serial 200"),
    ("SOA with a higher serial, and a record",
     "! @ 3600 SOA ns h 200 3600 600 86400 300; ! x 60 A 192.0.2.9",
     "NOERROR serial 200 +x 60 A 192.0.2.9"),
    ("SOA with a higher serial by RFC 1982 only",
     "! @ 3600 SOA ns h 2147483747 3600 600 86400 300",
     "NOERROR serial 2147483747"),
    ("SOA with a lower serial", "! @ 3600 SOA ns h 99 3600 600 86400 300",
     "NOERROR"),
    ("SOA with a lower serial, and a record",
     "! @ 3600 SOA ns h 99 3600 600 86400 300; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9"),
    ("SOA with the same serial, other timers",
     "! @ 3600 SOA ns h 100 3601 600 86400 300",
     "NOERROR or NOERROR serial 101 -@ 3600 SOA timers"),
    ("SOA that is not of the apex", "! a 60 SOA ns h 200 1 1 1 1", "NOERROR"),
    ("CNAME beside other data", "! a 60 CNAME one", "NOERROR"),
    ("other data beside a CNAME", "! c 60 A 192.0.2.9", "NOERROR"),
    ("CNAME in place of another", "! c 60 CNAME one",
     "NOERROR -c 3600 CNAME a +c 60 CNAME one"),
    ("CNAME at the apex", "! @ 60 CNAME one", "NOERROR"),
    ("CNAME and other data in one message",
     "! x 60 CNAME one; ! x 60 A 192.0.2.9", "NOERROR +x 60 CNAME one"),
    ("CNAME at a new name", "! x 60 CNAME one", "NOERROR +x 60 CNAME one"),
    ("DNAME above names", "! e 60 DNAME a",
     "NOERROR +e 60 DNAME a or REFUSED"),
    ("TTL with its highest bit", "! x 2147483649 A 192.0.2.9",
     "NOERROR +x 0 A 192.0.2.9 or FORMERR"),
    ("WKS of the same address and protocol",
     "! k 3600 WKS 192.0.2.40 6 80",
     "NOERROR -k 3600 WKS 192.0.2.40 6 25 +k 3600 WKS 192.0.2.40 6 80"),
    ("WKS of another protocol", "! k 3600 WKS 192.0.2.40 17 53",
     "NOERROR +k 3600 WKS 192.0.2.40 17 53"),
)

DELETING = _rules(
    "3.4.2.3",
    ("an RRset", "! a ANY A",
     "NOERROR -a 3600 A 192.0.2.10 -a 3600 A 192.0.2.11"),
    ("an RRset that is not there", "! a ANY AAAA", "NOERROR"),
    ("an RRset of a name that is not there", "! x ANY A", "NOERROR"),
    ("an RRset of an unknown type", "! u ANY TYPE65280",
     "NOERROR -u 3600 TYPE65280 \\# 2 0102"),
    ("the NS RRset of the apex", "! @ ANY NS", "NOERROR"),
    ("the SOA", "! @ ANY SOA", "NOERROR"),
    ("another RRset of the apex", "! @ ANY TXT",
     "NOERROR -@ 3600 TXT \"apex\""),
    ("the NS RRset of a delegation", "! sub ANY NS",
     "NOERROR -sub 3600 NS ns.sub"),
    ("a name", "! a ANY ANY", "NOERROR -a 3600 A 192.0.2.10 "
     "-a 3600 A 192.0.2.11 -a 3600 TXT \"one\""),
    ("a name that is not there", "! x ANY ANY", "NOERROR"),
    ("a name: what lies below it stays", "! e ANY ANY", "NOERROR"),
    ("the apex: SOA and NS stay", "! @ ANY ANY",
     "NOERROR -@ 3600 TXT \"apex\""),
) + _rules(
    "3.4.2.4",
    ("a record", "! a NONE A 192.0.2.10", "NOERROR -a 3600 A 192.0.2.10"),
    ("the last record of a name", "! one NONE A 192.0.2.50",
     "NOERROR -one 3600 A 192.0.2.50"),
    ("a record that is not there", "! a NONE A 192.0.2.12", "NOERROR"),
    ("a record with a name of other case in its RDATA", "! m NONE MX 10 A",
     "NOERROR -m 3600 MX 10 a"),
    ("one NS of the apex", "! @ NONE NS ns2", "NOERROR -@ 3600 NS ns2"),
    ("all NS of the apex: the last one stays",
     "! @ NONE NS ns; ! @ NONE NS ns2", "NOERROR -@ 3600 NS ns"),
    ("the SOA's record", "! @ NONE SOA ns h 100 3600 600 86400 300",
     "NOERROR"),
    ("NS of the apex replaced",
     "! @ ANY NS; ! @ 3600 NS a; ! @ NONE NS ns; ! @ NONE NS ns2",
     "NOERROR -@ 3600 NS ns -@ 3600 NS ns2 +@ 3600 NS a"),
)

ORDER = _rules(
    "3.4.2",
    ("deleted, then added: it is there",
     "! one ANY A; ! one 3600 A 192.0.2.9",
     "NOERROR -one 3600 A 192.0.2.50 +one 3600 A 192.0.2.9"),
    ("added, then deleted: it is not", "! x 60 A 192.0.2.9; ! x ANY A",
     "NOERROR"),
    ("deleted and added as it was", "! one ANY A; ! one 3600 A 192.0.2.50",
     "NOERROR"),
    ("CNAME deleted, then an address",
     "! c ANY CNAME; ! c 60 A 192.0.2.9",
     "NOERROR -c 3600 CNAME a +c 60 A 192.0.2.9"),
    ("name deleted, then a CNAME", "! one ANY ANY; ! one 60 CNAME a",
     "NOERROR -one 3600 A 192.0.2.50 +one 60 CNAME a"),
    ("CNAME first, the name deleted behind it",
     "! one 60 CNAME a; ! one ANY ANY", "NOERROR -one 3600 A 192.0.2.50"),
)

ACCESS = _rules(
    "3.3",
    ("not signed", "! x 60 A 192.0.2.9", "REFUSED", "sign=none"),
    ("signed with a key that may not", "! x 60 A 192.0.2.9", "REFUSED",
     "sign=other"),
    ("not signed, and a prerequisite that fails",
     "? x ANY ANY; ! x 60 A 192.0.2.9", "NXDOMAIN or REFUSED", "sign=none"),
    ("not signed, zone that is not here", "! x 60 A 192.0.2.9", "NOTAUTH",
     "sign=none zone=elsewhere.example."),
) + _rules(
    "8945 5.2",
    ("signed with an unknown key", "! x 60 A 192.0.2.9", "NOTAUTH BADKEY",
     "sign=unknown"),
    ("signed with a wrong secret", "! x 60 A 192.0.2.9", "NOTAUTH BADSIG",
     "sign=bad"),
    ("signed an hour ago", "! x 60 A 192.0.2.9", "NOTAUTH BADTIME",
     "sign=late"),
    ("signed in an hour", "! x 60 A 192.0.2.9", "NOTAUTH BADTIME",
     "sign=early"),
    ("signed, then changed", "! x 60 A 192.0.2.9", "NOTAUTH BADSIG",
     "sign=changed"),
    ("sent again as it was, within 300 s", "? x NONE ANY; ! x 60 A 192.0.2.9",
     "YXDOMAIN +x 60 A 192.0.2.9", "twice=1"),
    ("record behind the signature", "! x 60 A 192.0.2.9", "FORMERR",
     "sign=good behind=A"),
    ("signed twice", "! x 60 A 192.0.2.9", "FORMERR", "behind=TSIG"),
    ("signed, then sent to another zone", "! x 60 A 192.0.2.9",
     "NOTAUTH BADSIG", "moved=1"),
    ("with another ID than was signed", "! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9", "id=1"),
    ("MAC cut to its half", "! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9 or NOTAUTH BADTRUNC", "mac=16"),
    ("MAC cut to 8 octets", "! x 60 A 192.0.2.9", "FORMERR", "mac=8"),
    ("no MAC", "! x 60 A 192.0.2.9", "FORMERR", "mac=0"),
    ("TSIG of class IN", "! x 60 A 192.0.2.9", "FORMERR", "tclass=IN"),
    ("TSIG with a TTL", "! x 60 A 192.0.2.9",
     "FORMERR or NOERROR +x 60 A 192.0.2.9", "tttl=60"),
    ("key's name points at itself", "! x 60 A 192.0.2.9", "FORMERR",
     "tloop=1"),
)

MESSAGES = _rules(
    "2.2",
    ("a response is not answered", "! x 60 A 192.0.2.9", "no reply", "qr=1 udp=1"),
    ("header alone", "", "FORMERR", "sign=none zones=0"),
    ("count of updates higher than there are", "! x 60 A 192.0.2.9",
     "FORMERR", "sign=none upcount=2"),
    ("count of prerequisites higher than there are",
     "? a ANY A; ! x 60 A 192.0.2.9", "FORMERR", "sign=none prcount=3"),
    ("octets behind the last record", "! x 60 A 192.0.2.9",
     "FORMERR or REFUSED", "sign=none trailing=3"),
    ("name that points at itself", "! x 60 A 192.0.2.9", "FORMERR",
     "loop=itself"),
    ("name of a label that points back to it", "! x 60 A 192.0.2.9",
     "FORMERR", "loop=label"),
    ("names that point at each other", "! x 60 A 192.0.2.9", "FORMERR",
     "loop=each-other"),
    ("name that points forwards", "! x 60 A 192.0.2.9", "FORMERR",
     "loop=forwards"),
    ("name in RDATA that points at itself", "! x 60 A 192.0.2.9", "FORMERR",
     "loop=rdata"),
    ("zone's name points at itself", "! x 60 A 192.0.2.9", "FORMERR",
     "zloop=1"),
    ("record longer than the message", "! x 60 A 192.0.2.9", "FORMERR",
     "sign=none long=1"),
    ("60,000 octets of updates", "! big", "NOERROR +many", "big=1"),
    ("60,000 octets of prerequisites", "? one ANY A; ! x 60 A 192.0.2.9",
     "NOERROR +x 60 A 192.0.2.9", "bigpre=1"),
    ("over UDP", "! x 60 A 192.0.2.9", "NOERROR +x 60 A 192.0.2.9", "udp=1"),
)

ALL = [*ZONE_SECTION, *PREREQUISITES, *PRESCAN, *ADDING, *DELETING, *ORDER,
       *ACCESS, *MESSAGES]
