"""Servers for the tests of this folder: one set for each set of zones."""
import pathlib

import pytest

import random_zone
import servers
import signers

ZONES = pathlib.Path(__file__).parent / "zones"


def pytest_collection_modifyitems(items):
    """The files that last longest come first. xdist is to give each file to one
    process, so that the servers that its tests share are started once."""
    def seconds(item):
        marker = item.get_closest_marker("lasts")
        return marker.args[0] if marker else 0
    items.sort(key=seconds, reverse=True)


def zones_of(folder):
    return {("." if path.name == "root.zone" else path.name[:-len(".zone")]):
            path for path in sorted((ZONES / folder).glob("*.zone"))}


def random_zones(directory, seeds):
    """Zones made at random; the seed stands in the name."""
    zones = {}
    for seed in seeds:
        name = f"seed{seed}.test"
        zones[name] = directory / f"{name}.zone"
        zones[name].write_text(random_zone.make(name, seed))
    return zones


def signed_zones(directory):
    """A random zone for each way to sign one."""
    zones = {}
    for seed, signing in enumerate(signers.SIGNINGS, 100):
        name = f"{signing.tool}{seed}.test"
        path = directory / f"{name}.zone"
        path.write_text(random_zone.make(name, seed, 24))
        zones[name] = signers.sign(signing, name, path, directory)
    return zones


SIGNINGS = {
    "nsec": signers.Signing("ldns", "ECDSAP256SHA256"),
    "nsec3": signers.Signing("ldns", "ECDSAP256SHA256", iterations=2),
    "optout": signers.Signing("bind", "ECDSAP256SHA256", iterations=0,
                              opt_out=True),
}
SIGNED_SETS = ["rules-nsec", "rules-nsec3", "random-optout", "signed"]


@pytest.fixture(scope="session",
                params=["rules", "root", "random", *SIGNED_SETS])
def peers(request, tmp_path_factory):
    """({zone: path}, {server name: running server})."""
    folder, _, kind = request.param.partition("-")
    directory = tmp_path_factory.mktemp(request.param)
    if folder == "random":
        zones = random_zones(directory, range(1, 2 if kind else 5))
    elif folder == "signed":
        zones = signed_zones(directory)
    else:
        zones = zones_of(folder)
    if kind:
        zones = {zone: signers.sign(SIGNINGS[kind], zone, path, directory)
                 for zone, path in zones.items()}
    running = {}
    try:
        for kind in (servers.Ours, *servers.RIVALS):
            running[kind.name] = kind(zones).start()
        yield zones, running
    finally:
        for server in running.values():
            server.stop()
