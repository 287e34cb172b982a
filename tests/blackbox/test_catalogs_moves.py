"""Members that move between catalogs and member nodes (RFC 9432 sections 5.2
to 5.6)."""
import pytest

import control
from catalogs import (Primary, catalog, consumer, member, members, pattern,
                      serves, settle, source, status, wait_gone, wait_members,
                      wait_served)
from harness import wait_for, zone_text

ONE, TWO = "one.test", "two.test"


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


def id_of(server, name="a.test"):
    return status(server, name)["catalog-member-id"]


@pytest.fixture
def start(make_server, primary):
    """A consumer of two catalogs, the first of which has a.test. Its primary
    does not give a.test any more: a zone that is reset is seen."""
    def run(label="a1", coo=None, **arguments):
        primary.put(ONE, *catalog(member(label, "a.test", coo=coo)))
        primary.put(TWO, *catalog(member("z", "z.test")))
        server = consumer(make_server, primary, ONE, TWO, **arguments)
        server.start()
        for name in ONE, TWO:
            settle(server, name, 1)
        wait_served(server, "a.test", "z.test")
        primary.refused.add("a.test.")
        return server
    return run


Z = member("z", "z.test")


# ---- change of ownership ----------------------------------------------------

def test_same_label_keeps_the_zone(start, primary):
    """RFC 9432 section 4.4.1, RFC 9432 section 5.5."""
    server = start(coo=TWO)
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test")))
    assert serves(server, "a.test")
    assert id_of(server) == "a1.zones.two.test."
    primary.give(server, ONE, *catalog("x 0 TXT x"))
    assert serves(server, "a.test")
    assert set(members(server)) == {"a.test", "z.test"}
    assert source(server, TWO)["members"] == 2
    assert source(server, ONE)["members"] == 0
    assert source(server, ONE)["invalid"] is None


def test_another_label_resets_the_zone(start, primary):
    """RFC 9432 section 4.4.1, RFC 9432 section 5.5, RFC 9432 section 5.6."""
    server = start(coo=TWO)
    primary.give(server, TWO, *catalog(Z, member("b9", "a.test")))
    wait_for("the zone of the other catalog",
             lambda: id_of(server) == "b9.zones.two.test.")
    wait_for("the zone to be anew",
             lambda: server.rcode("a.test", "SOA") == "SERVFAIL")
    primary.refused.clear()
    primary.notify(server, "a.test")
    wait_served(server, "a.test")


def test_without_coo_the_zone_stays(start, primary):
    """RFC 9432 section 5.2; it moves when the first catalog lets go."""
    server = start()
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test")))
    assert id_of(server) == "a1.zones.one.test."
    assert [r["zone"] for r in source(server, TWO)["refused_members"]] == [
        "a.test"]
    assert serves(server, "a.test")
    primary.give(server, ONE, *catalog(member("c1", "c.test")))
    wait_members(server, dict.fromkeys(("a.test", "c.test", "z.test"),
                                       "member"))
    wait_for("the zone of the other catalog",
             lambda: id_of(server) == "a1.zones.two.test.")
    assert source(server, TWO)["refused"] == 0


def test_coo_to_another_catalog_does_not_count(start, primary):
    """RFC 9432 section 4.4.1."""
    server = start(coo="three.test")
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test")))
    assert id_of(server) == "a1.zones.one.test."
    assert serves(server, "a.test")
    assert source(server, TWO)["refused"] == 1


def test_coo_of_the_new_catalog_does_not_count(start, primary):
    """The property of the old one is asked for (RFC 9432 section 4.4.1)."""
    server = start()
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test", coo=TWO)))
    assert id_of(server) == "a1.zones.one.test."
    assert source(server, TWO)["refused"] == 1


def test_coo_alone_moves_nothing(start, primary):
    """RFC 9432 section 4.4.1: the zone is still the first catalog's."""
    server = start(coo=TWO)
    primary.give(server, TWO, *catalog(Z))
    assert id_of(server) == "a1.zones.one.test."
    assert serves(server, "a.test")


def test_coo_that_comes_later(start, primary):
    """The zone moves when both say so, whoever was first."""
    server = start()
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test")))
    assert id_of(server) == "a1.zones.one.test."
    primary.give(server, ONE, *catalog(member("a1", "a.test", coo=TWO)))
    wait_for("the zone of the other catalog",
             lambda: id_of(server) == "a1.zones.two.test.")
    assert serves(server, "a.test")


def test_move_and_back(start, primary):
    c = member("c1", "c.test")
    server = start(coo=TWO)
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test")))
    primary.give(server, ONE, *catalog(c))
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test", coo=ONE)))
    assert id_of(server) == "a1.zones.two.test."
    primary.give(server, ONE, *catalog(c, member("a1", "a.test")))
    wait_for("the zone of the first catalog",
             lambda: id_of(server) == "a1.zones.one.test.")
    assert serves(server, "a.test")


@pytest.mark.parametrize("label", ("a1", "b9"))
def test_old_catalog_counts_no_zone_that_moved(start, primary, label):
    """The old catalog still lists it, counts as it does after a restart, and
    has the zone again when the new one gives it up."""
    server = start(coo=TWO)

    def look():
        one = source(server, ONE)
        return one["state"] == "idle" and (one["members"], one["refused"])
    primary.give(server, TWO, *catalog(Z, member(label, "a.test")))
    wait_for("the count of the old catalog", lambda: look() == (0, 1))
    assert source(server, TWO)["members"] == 2
    assert "has moved" in str(source(server, ONE)["refused_members"])
    assert server.stop() == 0
    server.start()
    for name, serial in (ONE, 1), (TWO, 2):
        settle(server, name, serial)
    wait_for("the same count", lambda: look() == (0, 1))
    primary.give(server, TWO, *catalog(Z, member(label, "a.test", coo=ONE)))
    primary.give(server, TWO, *catalog(Z))
    wait_for("the zone of the old catalog",
             lambda: id_of(server) == "a1.zones.one.test.")
    wait_for("its count", lambda: look() == (1, 0))


def test_zone_that_moved_is_given_back(start, primary):
    server = start(coo=TWO)
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test")))
    primary.give(server, TWO, *catalog(Z))
    wait_for("the zone of the old catalog",
             lambda: source(server, ONE)["members"] == 1
             and "a.test" in members(server)
             and id_of(server) == "a1.zones.one.test.")


def test_move_gives_the_pattern_of_the_new_catalog(start, primary):
    server = start(coo=TWO, patterns=("member", "other"))
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test", ["other"])))
    assert members(server)["a.test"] == "other"
    assert serves(server, "a.test")


def test_move_survives_a_restart(start, primary):
    server = start(coo=TWO)
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test")))
    assert server.stop() == 0
    server.start()
    for name, serial in (ONE, 1), (TWO, 2):
        settle(server, name, serial)
    assert id_of(server) == "a1.zones.two.test."
    wait_served(server, "a.test")


# ---- the same catalog -------------------------------------------------------

@pytest.mark.parametrize("way", ("IXFR", "AXFR"))
def test_change_of_the_label_resets_the_zone(start, primary, way):
    """RFC 9432 section 5.4, RFC 9432 section 5.6."""
    server = start()
    primary.no_ixfr = way == "AXFR"
    primary.give(server, ONE, *catalog(member("a2", "a.test")))
    assert id_of(server) == "a2.zones.one.test."
    wait_for("the zone to be anew",
             lambda: server.rcode("a.test", "SOA") == "SERVFAIL")
    primary.refused.clear()
    primary.notify(server, "a.test")
    wait_served(server, "a.test")


@pytest.mark.parametrize("way", ("IXFR", "AXFR"))
def test_change_of_the_name_of_a_node(start, primary, way):
    """RFC 9432 section 5.3: the old zone goes."""
    server = start()
    primary.no_ixfr = way == "AXFR"
    primary.give(server, ONE, *catalog(member("a1", "b.test")))
    wait_served(server, "b.test")
    wait_gone(server, "a.test")
    assert set(members(server)) == {"b.test", "z.test"}


@pytest.mark.parametrize("way", ("IXFR", "AXFR"))
def test_two_nodes_change_their_names(start, primary, way):
    """RFC 9432 section 5.4: each name has another label."""
    server = start()
    primary.give(server, ONE, *catalog(member("a1", "a.test"),
                                       member("b1", "b.test")))
    wait_served(server, "b.test")
    primary.no_ixfr = way == "AXFR"
    primary.give(server, ONE, *catalog(member("b1", "a.test"),
                                       member("a1", "b.test")))
    assert id_of(server) == "b1.zones.one.test."
    assert id_of(server, "b.test") == "a1.zones.one.test."
    wait_served(server, "b.test")
    assert server.rcode("a.test", "SOA") == "SERVFAIL"


def test_removed_zone_leaves_nothing(start, primary):
    """RFC 9432 section 5.3, RFC 9432 section 5.6: one that comes again is
    new."""
    server = start()
    primary.give(server, ONE, *catalog(member("c1", "c.test")))
    wait_gone(server, "a.test")
    primary.give(server, ONE, *catalog(member("a1", "a.test")))
    assert server.rcode("a.test", "SOA") == "SERVFAIL"


def test_catalogs_are_apart(start, primary):
    """Catalogs say nothing to each other (RFC 9432 section 5.1)."""
    server = start()
    primary.give(server, TWO, *catalog(member("y", "y.test")))
    assert set(members(server)) == {"a.test", "y.test"}
    primary.give(server, TWO, *catalog(version=()))
    assert set(members(server)) == {"a.test", "y.test"}
    assert source(server, ONE)["invalid"] is None
    assert serves(server, "a.test")


def test_catalog_that_is_a_member(make_server, primary):
    """A catalog may bring another one, by a pattern."""
    primary.put(ONE, *catalog(member("t", TWO, ["catalog"])))
    primary.put(TWO, *catalog(Z))
    server = consumer(
        make_server, primary, ONE, more="pattern:\n\tname: catalog\n"
        "\tcatalog: consumer\n\tcatalog-member-pattern: member\n"
        "\tallow-notify: 127.0.0.1 NOKEY\n"
        f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n").start()
    settle(server, ONE, 1)
    settle(server, TWO, 1)
    wait_served(server, "z.test")
    assert control.ask(server, "catalogs", TWO)[0] == 0
    primary.give(server, ONE, *catalog(member("c1", "c.test")))
    wait_gone(server, TWO)
    assert "c.test" in members(server) and "z.test" in members(server)


@pytest.mark.parametrize("who", ("nsd.conf", "hand"))
def test_catalogs_that_name_each_other_rest(make_server, primary, who):
    """Both refuse a zone that is neither's, and that is all."""
    primary.put(ONE, *catalog(member("a1", "a.test", coo=TWO)))
    primary.put(TWO, *catalog(member("a1", "a.test", coo=ONE)))
    more = pattern("own", zonefile="%s.own")
    if who == "nsd.conf":
        more += "zone:\n\tname: a.test\n\tzonefile: a.test.own\n"
    server = consumer(make_server, primary, ONE, TWO, more=more)
    (server.directory / "a.test.own").write_text(zone_text(5))
    if who == "hand":
        (server.directory / "zone.list").write_text(
            "# NSD zone list\n# name pattern\nadd a.test own\n")
    server.start()
    for name in ONE, TWO:
        assert settle(server, name, 1)["refused"] == 1
    assert server.serial("a.test") == 5
    assert server.read_log().count("a.test is not taken") <= 4


def test_members_that_name_each_other_rest(start, primary):
    """The zone is one catalog's, in the end."""
    server = start(coo=TWO)
    primary.give(server, TWO, *catalog(Z, member("a1", "a.test", coo=ONE)))
    settle(server, ONE, 1)
    assert id_of(server) in ("a1.zones.one.test.", "a1.zones.two.test.")
    assert serves(server, "a.test")
    assert server.read_log().count("a.test") < 50


def test_member_that_stays_out_is_told_of_once(start, primary):
    """Versions that do not touch its node say no more."""
    server = start()
    two = [Z, member("a1", "a.test")]
    primary.give(server, TWO, *catalog(*two))
    for i in range(3):
        primary.give(server, TWO, *catalog(*two, member(f"y{i}", "y.test")))
    assert server.read_log().count("member zone a.test is not taken") == 1


@pytest.mark.parametrize("where", ("the same catalog", "another"))
def test_reset_takes_a_lower_serial(start, primary, where):
    """The old zone counts for nothing, nor does its file (RFC 9432 section
    5.6)."""
    server = start(coo=TWO)
    primary.refused.clear()
    primary.serials["a.test."] = 9
    primary.notify(server, "a.test")
    server.wait_serial("a.test", 9)
    assert control.ask(server, "write", "a.test")[0] == 0
    primary.serials["a.test."] = 2
    again = member("b9", "a.test")
    if where == "another":
        primary.give(server, TWO, *catalog(Z, again))
    else:
        primary.give(server, ONE, *catalog(again))
    server.wait_serial("a.test", 2)


@pytest.mark.parametrize("how", ("again", "xfrd died", "the same"))
def test_member_that_comes_again_takes_a_lower_serial(start, primary, how):
    """The file may be that of another zone; also if xfrd has died after the
    old zone had gone, and before the new one came (RFC 9432 section 5.6)."""
    server = start()
    primary.refused.clear()
    primary.serials["a.test."] = 9
    primary.notify(server, "a.test")
    server.wait_serial("a.test", 9)
    assert control.ask(server, "write", "a.test")[0] == 0
    primary.serials["a.test."] = 2
    node = member("b9" if how == "again" else "a1", "a.test")
    if how == "xfrd died":
        assert server.stop() == 0
        path = server.directory / "zone.list"
        text = path.read_text()
        assert "mem a.test " in text
        path.write_text("".join(line for line in text.splitlines(True)
                                if not line.startswith("mem a.test ")))
        server.start()
    else:
        primary.give(server, ONE, *catalog(member("c1", "c.test")))
        wait_gone(server, "a.test")
        primary.give(server, ONE, *catalog(node))
    server.wait_serial("a.test", 2)
