"""Catalogs (RFC 9432) of ours, NSD, BIND and Knot, each taken by all four:
members come, go and change their group, while processes are killed."""
import contextlib
import os
import pathlib
import random
import signal

import pytest

import catalog_producers
import catalog_servers
from catalog_servers import until

pytestmark = pytest.mark.lasts(90)

NAMES = [f"{letter}.test" for letter in "abcdefghijkl"]
ALWAYS = [f"always{i}.test" for i in range(40)]
"""Members so many that a change is sent as an IXFR."""


def usable(kinds):
    lacks = catalog_servers.nsd_lacks_catalogs()
    return [kind for kind in kinds if kind.name != "nsd" or not lacks]


@contextlib.contextmanager
def running(producer, consumers):
    """Of these classes: the producer, and [its consumers]."""
    with contextlib.ExitStack() as stack:
        made = producer()
        others = [kind(made.port) for kind in consumers]
        made.told = [other.port for other in others]
        made.members.update(dict.fromkeys(ALWAYS, "m"))
        by_verb = isinstance(made, catalog_servers.Controlled)
        if by_verb:
            made.members.clear()
        stack.enter_context(catalog_servers.servers.started(made))
        if by_verb:
            until(lambda: made.ask("status")[0] == 0, "no control channel")
            made.change(dict.fromkeys(ALWAYS, "m"))
        until(lambda: not missing(made, made.members), "no members")
        for other in others:
            stack.enter_context(catalog_servers.servers.started(other))
        yield made, others


def missing(server, names):
    return set(names) - catalog_servers.served(server, names)


def wait_for_all(producer, consumers):
    wanted = set(producer.members)
    for consumer in consumers:
        until(lambda: consumer.served([*NAMES, *ALWAYS]) == wanted, lambda:
              f"{consumer.name} of {producer.name}: lacks or has too much: "
              f"{consumer.served([*NAMES, *ALWAYS]) ^ wanted}:\n"
              f"{consumer.log_text()[-4000:]}")


def wait_for_groups(producer, consumers):
    """The patterns of members, at the consumers that tell."""
    for consumer in consumers:
        if not isinstance(consumer, catalog_servers.Controlled):
            continue
        for name, group in producer.members.items():
            if name in ALWAYS:
                continue
            until(lambda: consumer.status(name).get("pattern") == group,
                  lambda: f"{consumer.name}, {name}, {group}: "
                  f"{consumer.status(name)}\n{consumer.log_text()[-4000:]}")


def some_change(rng, members):
    adds = {name: rng.choice(("m", "other"))
            for name in rng.sample(NAMES, 3) if name not in members}
    gone = [name for name in members if name not in ALWAYS]
    return adds, rng.sample(gone, min(len(gone), rng.randrange(3)))


@pytest.mark.parametrize("kind", catalog_producers.ALL,
                         ids=lambda kind: kind.name)
def test_catalog_taken_by_all(kind):
    """RFC 9432 sections 4 and 5.4."""
    if kind.name == "nsd":
        catalog_servers.require(catalog_servers.Nsd)
    rng = random.Random(f"catalog of {kind.name}")
    with running(kind, usable((catalog_servers.Ours,
                               *catalog_servers.RIVALS))) as (made, others):
        wait_for_all(made, others)
        for _ in range(4):
            made.change(*some_change(rng, made.members))
            wait_for_all(made, others)
            wait_for_groups(made, others)


def test_between_a_catalog_and_another():
    """Ours between: what BIND's catalog brings is in a catalog of ours, too."""
    rng = random.Random("between")
    with contextlib.ExitStack() as stack:
        made = catalog_producers.Bind()
        between = catalog_producers.Between(made.port)
        made.told = [between.port]
        made.members.update(dict.fromkeys(ALWAYS, "m"))
        others = [kind(between.port, (between.own,)) for kind in
                  usable((catalog_servers.Ours, *catalog_servers.RIVALS))]
        between.told = [other.port for other in others]
        for server in (made, between, *others):
            stack.enter_context(catalog_servers.servers.started(server))
        wait_for_all(made, [between, *others])
        for _ in range(3):
            made.change(*some_change(rng, made.members))
            wait_for_all(made, [between, *others])
            wait_for_groups(made, [between, *others])


def role(process, name):
    """pid of one of our server's processes; None: not now."""
    main = process.pid
    children = pathlib.Path(f"/proc/{main}/task/{main}/children")
    for pid in map(int, children.read_text().split()):
        with contextlib.suppress(OSError):
            comm = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            if comm == f"nsd: {name}":
                return pid
    return None


def kill(process, name):
    found = []
    until(lambda: found.append(role(process, name)) or found[-1],
          f"there is no {name}")
    with contextlib.suppress(ProcessLookupError):
        os.kill(found[-1], signal.SIGKILL)


@pytest.mark.parametrize("victim", ("xfrd", "loader", "all", "primary"))
def test_kill_amid_changes(victim):
    """A catalog of ours taken by ours: whoever dies, it ends as the model."""
    rng = random.Random(f"kill {victim}")
    with running(catalog_producers.Ours,
                 [catalog_servers.Ours]) as (made, (other,)):
        for _ in range(5):
            made.change(*some_change(rng, made.members))
            if victim == "all":
                other.kill()
                other.start()
            elif victim == "primary":
                made.kill()
                made.start()
                until(lambda: made.ask("status")[0] == 0, "no control")
            else:
                kill(other.process, victim)
            if rng.random() < 0.5:
                made.change(*some_change(rng, made.members))
        wait_for_all(made, [other])
        wait_for_groups(made, [other])


def test_member_moves_between_catalogs_of_bind():
    """RFC 9432 section 4.4.1: with coo and the same label a zone moves with
    what it has; without coo it stays where it is until that one lets it go."""
    two = "two.test."
    with contextlib.ExitStack() as stack:
        made = catalog_producers.Bind(catalogs=(catalog_servers.CATALOG, two))
        other = catalog_servers.Ours(made.port, made.catalogs)
        made.told = [other.port]
        made.members = dict.fromkeys((ALWAYS[0], *NAMES[:3]), "m")
        made.at["c.test"] = [two]
        stack.enter_context(catalog_servers.servers.started(made))
        stack.enter_context(catalog_servers.servers.started(other))
        wait_for_all(made, [other])

        def wait_for(name, catalog):
            until(lambda: other.status(name).get("catalog-member-id") ==
                  f"{made.ids[name]}.zones.{catalog}",
                  lambda: f"{other.status(name)}\n{other.log_text()[-4000:]}")

        made.coos["a.test"] = two
        made.at["a.test"] = made.at["b.test"] = made.catalogs
        made.change({"d.test": "other"})
        wait_for_all(made, [other])
        wait_for("a.test", two)
        wait_for("b.test", made.catalogs[0])
        made.at["a.test"] = made.at["b.test"] = [two]
        made.change({"e.test": "other"})
        wait_for_all(made, [other])
        wait_for("b.test", two)
        wait_for("a.test", two)
        came = other.log_text().count("zone a.test. received update")
        assert came == 1, other.log_text()


def test_changezone_in_an_nsd():
    """NSD leaves the old member node of a zone that changes its pattern: a
    catalog with one name twice, which changes nothing here."""
    catalog_servers.require(catalog_servers.Nsd)
    with running(catalog_producers.Nsd,
                 [catalog_servers.Ours]) as (made, (other,)):
        made.change({"a.test": "m"})
        wait_for_all(made, [other])
        # NSD's "ok" is lost at times.
        assert made.ask("changezone", "a.test", "other")[0] == 0
        until(lambda: "catalog-invalid" in
              other.status(catalog_servers.CATALOG), "it is not told")
        assert other.served(NAMES) == {"a.test"}
        assert other.status("a.test")["pattern"] == "m"
