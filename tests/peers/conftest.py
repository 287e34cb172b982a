"""Servers for the tests of this folder: one set for each set of zones."""
import pathlib
import subprocess

import pytest

import random_zone
import servers

ZONES = pathlib.Path(__file__).parent / "zones"


def zones_of(folder):
    return {("." if path.name == "root.zone" else path.name[:-len(".zone")]):
            path for path in sorted((ZONES / folder).glob("*.zone"))}


def sign(zones, directory, arguments):
    """Signs each zone with fresh keys; returns the signed ones."""
    signed = {}
    for zone, path in zones.items():
        def run(*command):
            return subprocess.run(command, cwd=directory, check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
        keys = [run("ldns-keygen", "-a", "ECDSAP256SHA256", *kind,
                    zone).strip() for kind in ([], ["-k"])]
        out = directory / f"{path.name}.signed"
        run("ldns-signzone", *arguments, "-o", zone, "-f", str(out),
            str(path), *keys)
        signed[zone] = out
    return signed


def random_zones(directory, seeds):
    """Zones made at random; the seed stands in the name."""
    zones = {}
    for seed in seeds:
        name = f"seed{seed}.test"
        zones[name] = directory / f"{name}.zone"
        zones[name].write_text(random_zone.make(name, seed))
    return zones


@pytest.fixture(scope="session", params=["rules", "root", "random",
                                         "rules-nsec", "random-nsec",
                                         "rules-nsec3"])
def peers(request, tmp_path_factory):
    """({zone: path}, {server name: running server})."""
    folder, _, kind = request.param.partition("-")
    if folder == "random":
        zones = random_zones(tmp_path_factory.mktemp(folder),
                             range(1, 3 if kind else 5))
    else:
        zones = zones_of(folder)
    if kind:
        zones = sign(zones, tmp_path_factory.mktemp(request.param),
                     {"nsec": [], "nsec3": ["-n", "-t", "2"]}[kind])
    running = {}
    try:
        for kind in (servers.Ours, *servers.RIVALS):
            running[kind.name] = kind(zones).start()
        yield zones, running
    finally:
        for server in running.values():
            server.stop()
