"""Members of a version of a catalog come and go in one publish."""
import time

import pytest

from catalogs import (Primary, catalog, consumer, member, pattern, settle,
                      wait_served)
from harness import DEADLINE, zone_text

CAT = "cat.test"
# Not more than xfrd looks at in a turn: they are a batch of changes then,
# however busy the machine is.
COUNT = 120
ROUNDS = 5
# Members that stay, so many that the zone list is not written anew meanwhile, which ends a batch.
STAY = 600


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


def names(turn):
    return [f"n{turn}x{i}.test" for i in range(COUNT)]


def nodes(turn):
    """Labels of the turns are mixed, as they are looked at in their order."""
    return [member(f"{i:03}x{turn}", name)
            for i, name in enumerate(names(turn))] + [
                member(f"s{i}", f"s{i}.test") for i in range(STAY)]


def rcodes(server, all_names):
    return {server.rcode(name, "SOA") for name in all_names}


def wait_first(server, name):
    """Without a pause, in which others would come."""
    end = time.monotonic() + DEADLINE
    while server.rcode(name, "SOA") != "NOERROR":
        assert time.monotonic() < end


def test_members_come_and_go_together(make_server, primary):
    primary.put(CAT, *catalog(*nodes(0)))
    server = consumer(make_server, primary, CAT, patterns=(),
                      more=pattern("member", zonefile="some.zone"))
    (server.directory / "some.zone").write_text(zone_text(3))
    server.start()
    settle(server, CAT, 1)
    wait_served(server, *names(0))
    for turn in range(1, ROUNDS + 1):
        serial = primary.put(CAT, *catalog(*nodes(turn)))
        primary.notify(server, CAT)
        wait_first(server, names(turn)[0])
        assert rcodes(server, names(turn)[::-1]) == {"NOERROR"}
        assert rcodes(server, names(turn - 1)[::-1]) == {"REFUSED"}
        settle(server, CAT, serial)
