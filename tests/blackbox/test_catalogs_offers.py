"""Offers of members (coo) that come before the other catalog can be believed,
along a row of catalogs, and after a zone has moved on (RFC 9432 sections 4.4.1,
5.1 and 5.5)."""
import pytest

from catalogs import (Primary, catalog, consumer, member, pattern, settle,
                      source, status)
from harness import wait_for, zone_text

ONE, TWO, THREE = "one.test", "two.test", "three.test"
# Members that no other catalog wants.
OWN = {name: member("own", f"own.{name}") for name in (ONE, TWO, THREE)}
LABELS = (("a1", "a1", "a1"), ("a1", "b1", "c1"))


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


@pytest.fixture
def start(make_server, primary):
    def run(first, **arguments):
        for name, lines in first.items():
            primary.put(name, *catalog(OWN[name], *lines))
        server = consumer(make_server, primary, *first, **arguments)
        if "more" in arguments:
            (server.directory / "shared").write_text(zone_text(3))
        server.start()
        for name in first:
            settle(server, name, 1)
        return server
    return run


@pytest.fixture
def give(primary):
    def run(server, name, *lines, **arguments):
        primary.give(server, name, *catalog(OWN[name], *lines, **arguments))
    return run


def owner(server):
    return status(server, "a.test").get("catalog-member-id")


def wait_owner(server, wanted):
    wait_for(f"{wanted} is the ID of a.test",
             lambda: owner(server) == wanted or None)


@pytest.mark.parametrize("is_ixfr", (True, False))
def test_offer_counts_once_its_catalog_is_valid_again(start, give, primary,
                                                      is_ixfr):
    primary.no_ixfr = not is_ixfr
    offer = member("a1", "a.test", coo=TWO)
    server = start({ONE: [offer], TWO: []})
    give(server, ONE, offer, version=())
    give(server, TWO, member("a1", "a.test"))
    assert owner(server) == "a1.zones.one.test."
    give(server, ONE, offer)
    wait_owner(server, "a1.zones.two.test.")


@pytest.mark.parametrize("labels", LABELS)
def test_zone_goes_along_a_row_of_catalogs(start, give, labels):
    one, two, three = labels
    server = start({ONE: [member(one, "a.test")], TWO: [], THREE: []})
    give(server, THREE, member(three, "a.test"))
    give(server, TWO, member(two, "a.test", coo=THREE))
    give(server, ONE, member(one, "a.test", coo=TWO))
    wait_owner(server, f"{three}.zones.three.test.")


@pytest.mark.parametrize("labels", LABELS)
def test_zone_that_has_moved_on_comes_back(start, give, labels):
    one, two, three = labels
    back = member(two, "a.test", coo=THREE)
    server = start({TWO: [back], ONE: [], THREE: []})
    give(server, THREE, member(three, "a.test"))
    wait_owner(server, f"{three}.zones.three.test.")
    give(server, ONE, member(one, "a.test"))
    give(server, THREE, member(three, "a.test", coo=ONE))
    wait_owner(server, f"{one}.zones.one.test.")
    give(server, THREE)
    give(server, ONE, member(one, "a.test", coo=TWO))
    wait_owner(server, f"{two}.zones.two.test.")


@pytest.mark.parametrize("how", ("stop", "xfrd"))
@pytest.mark.parametrize("order", ((ONE, TWO), (TWO, ONE)))
def test_version_that_was_not_checked_offers_nothing(start, give, order, how):
    """The fault is at the end of a large catalog: the other one's turn is over
    before it is found."""
    first = {ONE: [member("a1", "a.test")], TWO: []}
    many = [member(f"k{n}", f"k{n}.test") for n in range(12000)]
    server = start({name: first[name] for name in order}, patterns=(),
                   more=pattern("member", zonefile="shared"))
    give(server, TWO, member("a1", "a.test"))
    give(server, ONE, member("a1", "a.test", coo=TWO), *many,
         member("zz", "k0.test"))
    assert owner(server) == "a1.zones.one.test."
    if how == "stop":
        server.stop()
        server.start()
    else:
        server.wait_replaced(how, server.kill(how))
    wait_for("the version is not valid",
             lambda: (source(server, ONE) or {}).get("invalid"))
    assert owner(server) == "a1.zones.one.test."
