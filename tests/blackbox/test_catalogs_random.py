"""Versions of a catalog at random, good and bad: the members are always those
of the last good one (RFC 9432 section 5.1)."""
import os
import random

import pytest

import control
from catalogs import (Primary, catalog, consumer, member, pattern, settle,
                      source)
from harness import zone_text

CAT = "cat.test"
VERSIONS = 60
NAMES = [f"m{i}.test" for i in range(12)]
LABELS = [f"n{i}" for i in range(15)]


class Model:
    def __init__(self, rng):
        self.rng = rng
        self.nodes = {}    # label: name, group; as the catalog has them now
        self.members = {}  # name: label, group; as the server has them

    def step(self):
        """Changes some nodes, so that no name is there twice."""
        rng = self.rng
        for _ in range(rng.randint(0, 5)):
            taken = {name for name, _ in self.nodes.values()}
            what = rng.random()
            if what < 0.5 and len(self.nodes) < len(NAMES):
                self.nodes[rng.choice([i for i in LABELS
                                       if i not in self.nodes])] = (
                    rng.choice([n for n in NAMES if n not in taken]),
                    rng.choice((None, "other", "nosuch")))
            elif what < 0.7 and len(self.nodes) > 1:
                one, two = rng.sample(sorted(self.nodes), 2)
                self.nodes[one], self.nodes[two] = (self.nodes[two],
                                                    self.nodes[one])
            elif self.nodes:
                del self.nodes[rng.choice(sorted(self.nodes))]
        if rng.random() < 0.1:
            self.nodes.clear()

    def lines(self):
        """A version, and whether it is good."""
        nodes = [member(label, name, [group] if group else [])
                 for label, (name, group) in self.nodes.items()]
        version = ("2",)
        fault = self.rng.choice((None, None, None, "version", "none", "ptr",
                                 "twice"))
        if fault == "version":
            version = ("2", "3")
        elif fault == "none":
            version = ()
        elif fault == "ptr" and self.nodes:
            nodes.append(f"{min(self.nodes)}.zones 0 PTR else.test.")
        elif fault == "twice" and self.nodes:
            name = min(self.nodes.values())[0]
            nodes.append(member("dup", name.upper()))
        else:
            fault = None
        return catalog(*nodes, version=version), fault is None

    def take(self):
        """The server has got the version, which is good."""
        if self.nodes:
            self.members = {
                name: (label, "other" if group == "other" else "member")
                for label, (name, group) in self.nodes.items()}


def found(server):
    code, text = control.ask(server, "catalogs", CAT)
    assert code == 0, text
    lines = [line.split() for line in text.splitlines()
             if line.startswith("\tmember: ")]
    return {name: (owner.partition(".")[0], kind)
            for _, name, kind, owner in lines}


@pytest.mark.parametrize("number", range(3))
def test_versions_at_random(make_server, number):
    seed = f"{os.environ.get('NSD_SEED', '')} {number}"
    rng = random.Random(seed)
    model = Model(rng)
    kills = rng.sample(range(VERSIONS), 2)
    with Primary() as primary:
        primary.put(CAT, *catalog())
        server = consumer(make_server, primary, patterns=(), more="".join(
            pattern(p, zonefile="shared") for p in ("member", "other")))
        (server.directory / "shared").write_text(zone_text(3))
        server.start()
        settle(server, CAT, 1)
        for step in range(VERSIONS):
            primary.no_ixfr = rng.random() < 0.3
            for _ in range(rng.choice((1, 1, 1, 3))):
                model.step()
                lines, is_good = model.lines()
                serial = primary.put(CAT, *lines)
            primary.notify(server, CAT)
            settle(server, CAT, serial)
            if is_good:
                model.take()
            assert found(server) == model.members, (seed, step)
            told = source(server, CAT)
            assert told["members"] == len(model.members), (seed, step)
            assert (told["invalid"] is None) == (is_good and (
                bool(model.nodes) or not model.members)), (seed, step)
            # More of them would be waited for, longer each time.
            if step in kills:
                server.wait_replaced("xfrd", server.kill("xfrd"))
        for name in NAMES:
            assert server.rcode(name, "SOA") == (
                "NOERROR" if name in model.members else "REFUSED"), seed
