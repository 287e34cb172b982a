"""Servers for the tests of this folder: one set for each set of zones."""
import pathlib
import subprocess

import pytest

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


@pytest.fixture(scope="session",
                params=["rules", "root", "rules-nsec", "rules-nsec3"])
def peers(request, tmp_path_factory):
    """({zone: path}, {server name: running server})."""
    folder, _, kind = request.param.partition("-")
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
