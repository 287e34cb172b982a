"""Catalogs (RFC 9432) that are wrong. Each follows a good one with the members
a, b and c, lacks c and has d: whose members are served then is the answer."""
import time

import catalog_servers as catalogs

NAMES = [f"{letter}.test" for letter in "abcdefg"] + ["d.example", "fixed.test"]
GOOD = ["version TXT 2", *catalogs.members("a.test.", "b.test.", "c.test.")]
NEXT = ["version TXT 2", *catalogs.members("a.test.", "b.test.", "d.test.")]
BETWEEN = ["version TXT 2", *catalogs.members("g.test.")]
REST = NEXT[1:]


def _more(*texts):
    return [*NEXT, *texts]


def _other(*texts):
    """d's member node is another one."""
    return [*NEXT[:-1], *texts]


BAD = {
    "no version record": REST,
    "version 1": ["version TXT 1", *REST],
    "version 3": ["version TXT 3", *REST],
    "version records 1 and 2": ["version TXT 1", "version TXT 2", *REST],
    "version record with two strings": ['version TXT "2" "2"', *REST],
    "no members": ["version TXT 2"],
    "member node with two PTR records": _more("d.zones PTR e.test."),
    "two member nodes for a new name": _more("x.zones PTR d.test."),
    "two member nodes for an old name": _more("x.zones PTR a.test."),
    "member node with a property, but no PTR record":
        _more("e.zones TXT e", "group.f.zones TXT m"),
    "member node with a CNAME record": _other("d.zones CNAME d.test."),
    "PTR record two labels below zones": _other("x.d.zones PTR d.test."),
    "PTR record at zones": _more("zones PTR e.test."),
    "member that is the catalog": _more(f"e.zones PTR {catalogs.CATALOG}"),
    "member that is a zone of the configuration":
        _more("e.zones PTR fixed.test."),
    "group that nobody knows": _more("group.d.zones TXT nonsense"),
    "group with two records, both known":
        _more("group.d.zones TXT m", "group.d.zones TXT other"),
    "group with two strings": _more('group.d.zones TXT "m" "other"'),
    "coo to a catalog that nobody has": _more("coo.a.zones PTR none.test."),
    "coo with two records":
        _more("coo.a.zones PTR none.test.", "coo.a.zones PTR more.test."),
    "more members than catalog-max (ours: 5)":
        _more(*catalogs.members("e.test.", "f.test.", "g.test.")),
    "member outside catalog-allow (ours: test)": _more("e.zones PTR d.example."),
    "no NS record": NEXT,
    "transfer that is cut": NEXT,
    "serial that goes back": NEXT,
    "catalog that expires": GOOD,
}


class Run:
    """One consumer, through all of them."""

    def __init__(self, primary, consumer):
        self.primary = primary
        self.consumer = consumer
        self.serial = 10
        primary.consumers.append(consumer)

    def good(self):
        """The good catalog; all of its members are there, no others. Before
        it one without them: BIND does not find back from each state."""
        self.serial += 10
        self.primary.set(self.serial, BETWEEN)
        self.wait_for("g+fixed")
        self.serial += 10
        self.primary.set(self.serial, GOOD)
        self.wait_for("abc+fixed")

    def bad(self, name):
        how = {"no NS record": "bare",
               "transfer that is cut": "cut"}.get(name, "whole")
        serial = self.serial + (-1 if "goes back" in name else 1)
        timers = "1 1 3 0" if "expires" in name else "3600 3600 36000 0"
        self.primary.set(serial, BAD[name], timers=timers,
                         how=how)
        catalogs.until(self.primary.was_asked, "the primary is not asked")
        if "expires" in name:
            catalogs.until(
                lambda: self.consumer.serial(catalogs.CATALOG) == serial,
                "the catalog does not come")
            self.primary.drop()
            end = time.monotonic() + 5
            catalogs.until(
                lambda: self.consumer.serial(catalogs.CATALOG) is None or
                not self.consumer.expires and time.monotonic() > end,
                "the catalog does not expire")

    def members(self):
        """Letters of members that are served, and "+" names of others."""
        served = self.consumer.served(NAMES)
        letters = "".join(sorted(name[0] for name in served
                                 if name.endswith(".test") and name[1] == "."))
        serial = self.consumer.serial("fixed.test")
        own = "" if serial is None else "+fixed" if serial == 99 else "+taken"
        return letters + ("+d.example" if "d.example" in served else "") + own

    def wait_for(self, state):
        catalogs.until(lambda: self.members() == state, lambda:
                       f"{self.members()} and not {state}:\n"
                       f"{self.consumer.log_text()[-6000:]}")
