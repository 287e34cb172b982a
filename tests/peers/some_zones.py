"""Zones to be transferred: made at random, and signed in all ways."""
import random_zone
import signers


def make(directory, signings=tuple(enumerate(signers.SIGNINGS))):
    """{name: path of its file}"""
    found = {}
    for seed in range(4):
        name = f"random-{seed}.test."
        found[name] = directory / f"random-{seed}.zone"
        found[name].write_text(random_zone.make(name, seed))
    for i, signing in signings:
        name = f"signed-{i}.test."
        path = directory / f"signed-{i}.zone"
        path.write_text(random_zone.make(name, i + 100, count=40))
        place = directory / str(i)
        place.mkdir()
        found[name] = signers.sign(signing, name, path, place)
    return found
