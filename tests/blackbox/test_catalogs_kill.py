"""Processes that die amid a change of 2,000 members: the next ones end with
what the catalog says."""
import random
import time

import pytest

from catalogs import (Primary, catalog, consumer, member, members, pattern,
                      settle)
from harness import wait_for, zone_text

CAT = "cat.test"
MANY = 2000
ROUNDS = 4


def model(rng, names):
    """Another set of members: half of them go, and others come, with other
    labels too."""
    kept = rng.sample(sorted(names.items()), len(names) // 2)
    found = dict(kept)
    for name, _ in kept[:50]:
        found[name] = f"n{rng.randrange(10**9)}"
    while len(found) < MANY:
        name = f"m{rng.randrange(10**6)}.test"
        found.setdefault(name, f"n{rng.randrange(10**9)}")
    return found


def lines(names):
    return catalog(*(member(label, name) for name, label in names.items()))


def ids(server):
    """{name: ID} of the zone list, as the last line of each says."""
    found = {}
    path = server.directory / "zone.list"
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] in ("add", "cat", "mem"):
            found[words[1]] = words[3]
    return found


@pytest.mark.parametrize("role", ("xfrd", "loader", "server 1"))
def test_kill_amid_a_change(make_server, role):
    rng = random.Random(f"kill {role}")
    names = {f"m{i}.test": f"n{i}" for i in range(MANY)}
    with Primary() as primary:
        serial = primary.put(CAT, *lines(names))
        server = consumer(make_server, primary, patterns=(), more=pattern(
            "member", zonefile="shared"))
        (server.directory / "shared").write_text(zone_text(3))
        server.start()
        for _ in range(ROUNDS):
            settle(server, CAT, serial)
            names = model(rng, names)
            serial = primary.put(CAT, *lines(names))
            known = (server.directory / "zone.list").read_bytes()
            old = server.role(role)
            primary.notify(server, CAT)
            if rng.random() < 0.7:
                wait_for("the first change", lambda k=known: k != (
                    server.directory / "zone.list").read_bytes())
            time.sleep(rng.uniform(0, 0.05))  # anywhere in the change
            server.kill(role)
            server.wait_replaced(role, old)
            wait_for("another answer", server.wait_answer)
            primary.notify(server, CAT)
            settle(server, CAT, serial)
            assert set(members(server)) == set(names)
            assert ids(server) == {
                name: f"{label}.zones.cat.test."
                for name, label in names.items()}
            for name in rng.sample(sorted(names), 20):
                server.wait_serial(name, 3)
        gone = {f"m{i}.test" for i in range(MANY)} - set(names)
        for name in rng.sample(sorted(gone), 20):
            assert server.rcode(name, "SOA") == "REFUSED"
