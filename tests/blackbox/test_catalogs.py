"""Member zones come, go and change as a catalog says (RFC 9432, consumer)."""
import re

import pytest

import control
from catalogs import (MEMBER_PATTERN, Primary, catalog, clause, consumer,
                      member, members, pattern, serves, settle, source,
                      status, wait_gone, wait_members, wait_served)
from harness import wait_for, zone_text

CAT = "cat.test"


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


@pytest.fixture
def start(make_server, primary):
    """A consumer that has looked at the first version."""
    def run(*nodes, **arguments):
        serial = primary.put(CAT, *catalog(*nodes))
        server = consumer(make_server, primary, **arguments).start()
        settle(server, CAT, serial)
        return server
    return run


A, B, C = (member(f"{i}1", f"{i}.test") for i in "abc")


# ---- members ----------------------------------------------------------------

def test_members_come_and_go(start, primary):
    """RFC 9432 section 4.1, RFC 9432 section 5.3: by AXFR, then by IXFR."""
    server = start(A, B)
    assert members(server) == {"a.test": "member", "b.test": "member"}
    wait_served(server, "a.test", "b.test")
    primary.give(server, CAT, *catalog(B, C))
    assert members(server) == {"b.test": "member", "c.test": "member"}
    wait_served(server, "c.test")
    wait_gone(server, "a.test")
    assert [t for a, t in primary.transfers if a == "cat.test."][-1] == "IXFR"


def test_catalog_that_comes_whole_is_compared(start, primary):
    """RFC 9432 section 5.1: zones that stay in it are not transferred
    again."""
    server = start(A, B)
    wait_served(server, "a.test", "b.test")
    primary.no_ixfr = True
    primary.give(server, CAT, *catalog(B, C))
    wait_served(server, "c.test")
    wait_gone(server, "a.test")
    assert [a for a, _ in primary.transfers].count("b.test.") == 1


def test_several_versions_of_one_transfer(start, primary):
    """Members that come and go within it are never there; those that go and
    come are there in the end."""
    server = start(A, B)
    wait_served(server, "a.test", "b.test")
    primary.put(CAT, *catalog(B, C))
    primary.put(CAT, *catalog(C))
    primary.put(CAT, *catalog(A, C))
    primary.give(server, CAT, *catalog(A, B))
    assert members(server) == {"a.test": "member", "b.test": "member"}
    wait_served(server, "a.test", "b.test")
    assert "c.test." not in [a for a, _ in primary.transfers]


def test_catalog_of_a_zone_file(make_server, primary):
    """A catalog may come any way (RFC 9432 section 5.1)."""
    text = ("$ORIGIN cat.test.\n@ 0 SOA invalid. invalid. {} 60 60 600 60\n"
            "@ 0 NS invalid.\nversion 0 TXT \"2\"\n{}\n")
    server = consumer(make_server, primary)
    server.extra = server.extra.replace(
        f"\tallow-notify: 127.0.0.1 NOKEY\n\trequest-xfr: 127.0.0.1@"
        f"{primary.port} NOKEY\n\tcatalog-member", "\tcatalog-member")
    server.write_config()
    server.zone_file(CAT).write_text(text.format(1, "\n".join(A)))
    server.start()
    settle(server, CAT, 1)
    assert members(server) == {"a.test": "member"}
    server.zone_file(CAT).write_text(text.format(2, "\n".join(A + C)))
    assert control.ask(server, "reload", CAT) == (0, "ok\n")
    settle(server, CAT, 2)
    assert set(members(server)) == {"a.test", "c.test"}


def test_zone_list_has_the_members(start):
    server = start(A)
    text = (server.directory / "zone.list").read_text()
    assert "a.test member a1.zones.cat.test." in text


def test_restart_has_the_members_without_the_primary(start, primary):
    server = start(A, B)
    wait_served(server, "a.test", "b.test")
    primary.refused |= {"cat.test.", "a.test.", "b.test."}
    assert server.stop() == 0
    server.start()
    settle(server, CAT, 1)
    assert set(members(server)) == {"a.test", "b.test"}
    wait_served(server, "a.test", "b.test")


def test_restart_does_what_the_catalog_says(start, primary):
    """Members of the zone list are compared with the catalog that is there
    after the start."""
    server = start(A, B)
    assert server.stop() == 0
    serial = primary.put(CAT, *catalog(B, C))
    server.start()
    primary.notify(server, CAT)
    settle(server, CAT, serial)
    assert set(members(server)) == {"b.test", "c.test"}


# ---- names ------------------------------------------------------------------

def test_names_of_all_sorts(start, primary):
    """RFC 9432 section 4.1: the label may be any; so may the name. A member
    below another one is a zone of its own."""
    label = "x" * 63
    nodes = [member(label, "long.test"), member("1", "below.a.test"),
             member("UPPER", "Upper.Test"), member(r"\000\.\"", "odd.test"),
             member("2", r"o\032dd.test"), member("3", r"\.\./up.test"), A]
    server = start(*nodes)
    names = {"long.test", "below.a.test", "upper.test", "odd.test",
             r"o\032dd.test", r"\.\./up.test", "a.test"}
    wait_served(server, *names)
    assert {name.lower() for name in members(server)} == names
    # Names lead to no files elsewhere.
    assert control.ask(server, "write")[0] == 0
    assert not (server.directory.parent / "up.test.zone").exists()
    assert (server.directory / r"\.\.\047up.test.zone").exists()
    primary.give(server, CAT, *catalog(A))
    assert set(members(server)) == {"a.test"}
    wait_gone(server, "long.test", "odd.test")
    wait_for("below.a.test to be no zone",
             lambda: server.rcode("www.below.a.test", "A") == "NXDOMAIN")


def test_case_does_not_matter(start, primary):
    server = start(A)
    wait_served(server, "a.test")
    primary.give(server, CAT, *catalog(member("A1", "A.TEST")))
    assert [name.lower() for name in members(server)] == ["a.test"]
    assert [a for a, _ in primary.transfers].count("a.test.") == 1


IGNORED = {
    "another type at a member node": ["a2.zones 0 A 192.0.2.1"],
    "a name below a member node": ["x.a1.zones 0 PTR x.test."],
    "a name below that is no member node": ["x.y.zones 0 PTR x.test."],
    "a name elsewhere": ["x.zonez 0 PTR x.test.", "zones 0 PTR y.test."],
    "an unknown property": ["nosuch 0 TXT x", "nosuch.a1.zones 0 TXT x"],
    "a custom property": ["p.ext 0 TXT x", "p.ext.a1.zones 0 TXT x"],
    "a version of a member": ["version.a1.zones 0 TXT 3"],
    "CNAME": ["c1.zones 0 CNAME a1.zones.cat.test."],
    "a delegation": ["sub 0 NS ns.test.", "q.zones.sub 0 PTR x.test."],
}


@pytest.mark.parametrize("what", IGNORED)
def test_what_is_ignored(start, primary, what):
    """RFC 9432 section 4, RFC 9432 section 4.2, RFC 9432 section 4.5."""
    server = start(A, IGNORED[what])
    assert members(server) == {"a.test": "member"}
    assert source(server, CAT)["invalid"] is None
    primary.give(server, CAT, *catalog(A, C, IGNORED[what]))
    assert set(members(server)) == {"a.test", "c.test"}
    primary.give(server, CAT, *catalog(A, C))
    assert set(members(server)) == {"a.test", "c.test"}


def test_ttl_does_not_matter(start, primary):
    """RFC 9432 section 4: TTLs have no meaning."""
    server = start(A)
    wait_served(server, "a.test")
    primary.give(server, CAT, *(line.replace(" 0 ", " 77 ")
                                for line in catalog(A)))
    assert members(server) == {"a.test": "member"}
    assert [a for a, _ in primary.transfers].count("a.test.") == 1


# ---- patterns ---------------------------------------------------------------

def groups(server):
    return {name: value for name, value in members(server).items()}


def test_group_is_a_pattern(start, primary):
    """RFC 9432 section 4.4.2: the first group that is known; without one
    the catalog's own pattern; a member may get another one."""
    server = start(member("a1", "a.test", ["other"]),
                   member("b1", "b.test", ["nosuch", "other"]),
                   member("c1", "c.test", ["nosuch"]),
                   patterns=("member", "other"))
    assert groups(server)["a.test"] == "other"
    assert groups(server)["b.test"] == "other"
    assert groups(server)["c.test"] == "member"
    wait_served(server, "a.test", "b.test", "c.test")
    primary.refused.add("a.test.")
    primary.give(server, CAT, *catalog(A, B, C))
    assert set(groups(server).values()) == {"member"}
    assert serves(server, "a.test")


def test_no_pattern_refuses_the_member(start, primary):
    """Without a known group, or a pattern of the catalog; the others come."""
    server = start(A, member("b1", "b.test", ["other"]),
                   member("c1", "c.test", ["nosuch"]),
                   patterns=("other",), own="")
    assert members(server) == {"b.test": "other"}
    found = source(server, CAT)
    assert found["refused"] == 2
    assert {r["zone"] for r in found["refused_members"]} == {
        "a.test", "c.test"}


def test_pattern_that_comes_frees_the_member(start, primary):
    server = start(A, own="\tcatalog-member-pattern: later\n")
    assert members(server) == {}
    server.extra += pattern("later", primary)
    control.apply(server)
    wait_members(server, {"a.test": "later"})
    wait_served(server, "a.test")


def test_pattern_of_a_member_cannot_go(start, primary):
    """Reconfig refuses: the zone would be without options."""
    server = start(A, member("b1", "b.test", ["other"]),
                   patterns=("member", "other"))
    wait_served(server, "a.test", "b.test")
    server.extra = server.extra.replace(pattern("other", primary), "")
    code, text = control.reconfig(server)
    assert code == 1
    assert "\npattern does not exist for zone b.test pattern other\n" in text
    assert serves(server, "b.test")
    primary.give(server, CAT, *catalog(A, B))
    control.apply(server)
    assert members(server) == {"a.test": "member", "b.test": "member"}
    # A group that is no pattern any more is as one that never was.
    primary.give(server, CAT, *catalog(A, member("b1", "b.test", ["other"])))
    assert members(server) == {"a.test": "member", "b.test": "member"}
    assert serves(server, "b.test")


def test_member_stays_if_its_pattern_is_not_known(start, primary):
    """Another group in the catalog, which no pattern has: the zone is as it
    was, and the member is told of."""
    server = start(member("b1", "b.test", ["other"]), patterns=("other",),
                   own="")
    wait_served(server, "b.test")
    primary.give(server, CAT, *catalog(member("b1", "b.test", ["nosuch"]), A))
    assert members(server) == {"b.test": "other"}
    assert serves(server, "b.test")
    assert source(server, CAT)["refused"] == 2


# ---- names that are taken ---------------------------------------------------

def test_zone_of_nsd_conf_is_not_touched(start, primary):
    """RFC 9432 section 5.2."""
    server = start(A, member("x", "example"),
                   zones={"example": zone_text(5)})
    assert members(server) == {"a.test": "member"}
    assert [r["zone"] for r in source(server, CAT)["refused_members"]] == [
        "example"]
    assert server.serial("example") == 5
    primary.give(server, CAT, *catalog(A))
    assert server.serial("example") == 5
    assert source(server, CAT)["refused"] == 0


def test_zone_added_by_hand_is_not_touched(start, primary):
    """RFC 9432 section 5.2; the member comes when the name is free."""
    server = start(A, more=pattern("own", zonefile="%s.own"))
    (server.directory / "b.test.own").write_text(zone_text(5))
    assert control.ask(server, "addzone", "b.test", "own") == (0, "ok\n")
    primary.give(server, CAT, *catalog(A, B))
    assert members(server) == {"a.test": "member", "b.test": "own"}
    assert server.serial("b.test") == 5
    primary.give(server, CAT, *catalog(A))
    assert server.serial("b.test") == 5
    primary.give(server, CAT, *catalog(A, B))
    assert source(server, CAT)["refused"] == 1
    assert control.ask(server, "delzone", "b.test") == (0, "ok\n")
    wait_members(server, {"a.test": "member", "b.test": "member"})
    server.wait_serial("b.test", 1)
    assert source(server, CAT)["refused"] == 0


def test_catalog_is_no_member_of_itself(start, primary):
    server = start(A, member("x", CAT))
    assert members(server) == {"a.test": "member"}
    assert source(server, CAT)["refused"] == 1
    primary.give(server, CAT, *catalog(A))
    assert server.serial(CAT) == 2


def test_names_outside_catalog_allow(start, primary):
    server = start(A, member("x", "com"), member("y", "xallowed.org"),
                   member("z", "x.allowed.org"), member("w", "allowed.org"),
                   own=MEMBER_PATTERN + "\tcatalog-allow: TEST.\n"
                   "\tcatalog-allow: allowed.org\n")
    assert set(members(server)) == {"a.test", "x.allowed.org", "allowed.org"}
    found = source(server, CAT)
    assert {r["zone"] for r in found["refused_members"]} == {
        "com", "xallowed.org"}
    assert server.rcode("com", "SOA") == "REFUSED"
    # The operator may take a name away from the catalog.
    server.extra = server.extra.replace("\tcatalog-allow: TEST.\n", "")
    control.apply(server)
    wait_gone(server, "a.test")
    wait_for("three refused", lambda: source(server, CAT)["refused"] == 3)


# ---- verbs ------------------------------------------------------------------

def test_members_are_not_changed_by_hand(start):
    server = start(A, patterns=("member", "other"))
    wait_served(server, "a.test")
    text = ("Error: Zone is a catalog consumer member zone with id "
            "a1.zones.cat.test.\n")
    assert control.ask(server, "delzone", "a.test") == (
        1, text + "Remove the member id from the catalog to delete this"
        " zone.\n")
    assert control.ask(server, "changezone", "a.test", "other") == (
        1, text + "Repattern in the catalog with a group property.\n")
    assert control.ask(server, "addzone", "a.test", "other") == (
        0, "zone a.test already exists\nok\n")
    assert members(server) == {"a.test": "member"}
    assert serves(server, "a.test")


def test_zonestatus(start, primary):
    server = start(A, B)
    assert status(server, CAT)["catalog"] == (
        "consumer (serial: 1, # members: 2)")
    assert "catalog-invalid" not in status(server, CAT)
    assert status(server, "a.test")["catalog-member-id"] == (
        "a1.zones.cat.test.")
    primary.give(server, CAT, *catalog(A, version=()))
    found = status(server, CAT)
    assert found["catalog"] == "consumer (serial: 1, # members: 2)"
    assert "version" in found["catalog-invalid"]


def test_verb_catalogs(start, primary):
    server = start(A, member("x", "example"), zones={"example": zone_text()})
    code, text = control.ask(server, "catalogs")
    lines = [line.strip() for line in text.splitlines()]
    assert (code, lines[0]) == (0, "catalog:\tcat.test")
    assert lines[1:6] == ["role: consumer", "state: idle", "serial: 1",
                          "members: 1", "refused: 1"]
    assert lines[6].startswith("refused-member: example x.zones.cat.test.: ")
    assert len(lines) == 7
    code, text = control.ask(server, "catalogs", CAT)
    assert code == 0
    assert "\tmember: a.test member a1.zones.cat.test.\n" in text
    assert control.ask(server, "catalogs", "nosuch") == (
        1, "error zone nosuch not configured\n")
    assert control.ask(server, "catalogs", "example") == (
        1, "error zone example is no catalog\n")
    primary.give(server, CAT, *catalog(A, version=("3",)))
    code, text = control.ask(server, "catalogs")
    assert "\tinvalid: serial 2: " in text


def test_members_of_a_producer(make_server, primary):
    """A server in the middle: members of a catalog are those of another."""
    primary.put(CAT, *catalog(A))
    server = consumer(
        make_server, primary, patterns=(), zones={"example": zone_text()},
        more=pattern("member", primary,
                     more="\tcatalog-producer-zone: out.test\n")
        + "zone:\n\tname: out.test\n\tcatalog: producer\n").start()
    settle(server, CAT, 1)
    assert control.ask(server, "addzone", "x.test", "member")[0] == 0

    def look():
        text = control.ask(server, "catalogs", "out.test")[1]
        found = re.findall(r"\tmember: (\S+) member (\S+)\n", text)
        return "state: idle" in text and len(found) == 2 and dict(found)
    ids = wait_for("two members", look)
    assert set(ids) == {"a.test", "x.test"}
    for name, owner in ids.items():
        wait_for(f"the node of {name}",
                 lambda o=owner, n=name: server.query(o, "PTR").answer
                 and server.answer(o, "PTR") == [f"{n}."])
    found = source(server, "out.test")
    assert (found["role"], found["serial"], found["members"]) == (
        "producer", server.serial("out.test"), 2)
    assert status(server, "out.test")["catalog"] == (
        f"producer (serial: {found['serial']}, # members: 2)")
    assert status(server, "x.test")["catalog-member-id"] == ids["x.test"]
    assert status(server, "a.test")["catalog-member-id"] == (
        "a1.zones.cat.test.")
    assert source(server, CAT)["role"] == "consumer"


def test_folder_is_a_source(make_server):
    server = control.config(make_server(
        extra='pattern:\n\tname: p\n\tzone-directory: "served"\n'))
    folder = server.directory / "served"
    folder.mkdir()
    for name in "a.test", "b.test":
        (folder / f"{name}.zone").write_text(zone_text(3))
    server.start()
    wait_members(server, {"a.test": "p", "b.test": "p"})
    code, text = control.ask(server, "catalogs")
    path = text.partition("zone-directory:\t")[2].partition("\n")[0]
    assert (code, path.rpartition("/")[2]) == (0, "served")
    wait_for("an idle folder", lambda: control.ask(server, "catalogs") == (
        0, f"zone-directory:\t{path}\n\tstate: idle\n\tmembers: 2\n"))
    assert source(server, path)["role"] == "zone-directory"
    text = control.ask(server, "catalogs", path)[1]
    assert "\tmember: a.test p zone-directory.\n" in text
    assert status(server, "a.test")["zone-directory"] == path
    folder.rename(server.directory / "gone")
    wait_for("the fault", lambda: source(server, path)["invalid"])
    assert "serial" not in control.ask(server, "catalogs", path)[1]
    assert re.search(r"^trouble: zone-directory .*served ",
                     control.ask(server, "status")[1], re.M)
    assert set(members(server)) == {"a.test", "b.test"}


def test_queries_of_a_catalog(start):
    """A catalog is a zone as others, for those who may ask (RFC 9432 section
    7)."""
    server = start(A)
    assert server.answer("version.cat.test", "TXT") == ['"2"']
    assert server.answer("a1.zones.cat.test", "PTR") == ["a.test."]


def test_queries_obey_allow_query(start):
    """RFC 9432 section 7."""
    server = start(A, own=MEMBER_PATTERN
                   + "\tallow-query: 192.0.2.1 NOKEY\n")
    assert server.rcode("version.cat.test", "TXT") == "REFUSED"
    assert server.rcode("cat.test", "SOA") == "REFUSED"
    wait_served(server, "a.test")


# ---- reconfig ---------------------------------------------------------------

def test_catalog_that_comes_by_reconfig(make_server, primary):
    primary.put(CAT, *catalog(A))
    server = consumer(make_server, primary)
    own = clause(primary)
    server.extra = server.extra.replace(own, "")
    server.write_config()
    server.start()
    server.extra += own
    control.apply(server)
    settle(server, CAT, 1)
    wait_served(server, "a.test")


def test_catalog_that_goes_leaves_its_members(start, primary):
    """Members stay, as zones that an operator may change; the catalog takes
    them up again when it comes back."""
    server = start(A, B)
    wait_served(server, "a.test", "b.test")
    own = clause(primary)
    server.extra = server.extra.replace(own, "")
    control.apply(server)
    assert source(server, CAT) is None
    assert set(members(server)) == {"a.test", "b.test"}
    assert serves(server, "a.test")
    assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
    server.extra += own
    control.apply(server)
    settle(server, CAT, 1)
    assert set(members(server)) == {"a.test", "b.test"}
    wait_served(server, "a.test", "b.test")
