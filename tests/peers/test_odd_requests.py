"""All odd requests over each transport: our server replies the same over all of
them, and its replies differ from those of the real BIND, Knot and NSD only where
odd_differences.py says so."""
import pathlib

import pytest

import odd_differences
import odd_exchange
import odd_requests
import odd_servers
import servers
from certificates import Authority

pytestmark = pytest.mark.lasts(20)


def children(server):
    main = server.process.pid
    return pathlib.Path(f"/proc/{main}/task/{main}/children").read_text()


@pytest.fixture(scope="module")
def cases():
    return odd_requests.cases()


@pytest.fixture(scope="module")
def replies(cases, tmp_path_factory):
    """{(server, transport): {ID: outcome}}"""
    directory = tmp_path_factory.mktemp("odd")
    zone = directory / "example.zone"
    zone.write_text(odd_servers.TEXT)
    authority = Authority(directory / "certificates")
    authority.sign(odd_servers.DOMAIN)
    found = {}
    for kind in odd_servers.ALL:
        made = odd_servers.make(kind, zone, authority)
        with servers.started(made) as server:
            before = children(server)
            for way, ways in odd_servers.ways(server).items():
                asked = odd_requests.asked(cases, way, server.name == "nsd")
                wires = {number: case.wire for number, case in asked.items()}
                found[server.name, way] = {
                    number: odd_requests.outcome(cases[number], wire)
                    for number, wire
                    in odd_exchange.ask_all(ways, wires).items()}
            assert children(server) == before, f"{server.name} has lost one"
    return found


@pytest.mark.parametrize("server", odd_differences.TABLE)
def test_differences_are_those_that_are_known(cases, replies, server):
    count, lines = odd_differences.compare(
        cases, server, replies["ours", "udp"], replies[server, "udp"])
    assert not lines, "\n".join(lines[:40])
    assert count == odd_differences.TABLE[server]


def test_every_rule_is_needed():
    assert {name for row in odd_differences.TABLE.values() for name in row} \
        == {rule.__name__ for rule in odd_differences.RULES}


@pytest.mark.parametrize("way", ["tcp", "tls", "proxy udp", "proxy tcp"])
def test_ours_replies_the_same_over_each_way(cases, replies, way):
    over_udp = replies["ours", "udp"]
    assert not [f"{cases[number]}: {outcome}, over UDP {over_udp[number]}"
                for number, outcome in replies["ours", way].items()
                if outcome != over_udp[number]][:40]


def test_others_reply_the_same_over_each_way_as_far_as_is_known(cases,
                                                                replies):
    assert not [
        f"{server}: {cases[number]}: {outcome}, over UDP {over_udp[number]}"
        for (server, way), outcomes in replies.items()
        for over_udp in [replies[server, "udp"]]
        for number, outcome in outcomes.items()
        if number in over_udp and not odd_differences.of_way(
            server, way, outcome, over_udp[number], cases[number])][:40]
