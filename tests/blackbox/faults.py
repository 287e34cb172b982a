"""Faults of signed zones: a registry of changes to a zone, and what is said of
each."""

import dataclasses
import typing

from signing import Zone


@dataclasses.dataclass(frozen=True)
class Fault:
    """A change of the zone. denial: "nsec", "nsec3" or "opt-out". found: what
    is said of it; in front "~": a warning even with -D, "!": only with -D,
    "^": a warning that the server would give as well. step: made before the
    chain is, before the zone is signed, or after ("chain", "sign", "done").
    peers: those of kzonecheck, BIND's verifier and ldns that find fault with
    it too. more: arguments of the zone."""

    change: typing.Callable
    denial: str
    found: tuple
    step: str
    peers: str
    more: dict

    def zone(self):
        zone = Zone(**self.more)
        if self.step == "chain":
            self.change(zone)
        zone.make(self.denial)
        if self.step == "sign":
            self.change(zone)
        zone.sign()
        if self.step == "done":
            self.change(zone)
        return zone

    def expected(self, strict, silent=()):
        """[(severity, pattern)], with -D if strict; but those silent."""
        expected = []
        for text in self.found:
            pattern = text.lstrip("~!^")
            marks = set(text[:len(text) - len(pattern)])
            if any(words in pattern for words in silent):
                continue
            if strict or "!" not in marks:
                error = strict and not marks & set("~^")
                expected.append(("error" if error else "warning", pattern))
        return expected


class Faults(dict):
    """{name: fault}; each is registered by the function that makes it."""

    def register(self, denials, *found, step="sign", peers="kbl", **more):
        def add(change):
            for denial in denials.split():
                self[f"{change.__name__}[{denial}]"] = Fault(
                    change, denial, found, step, peers, more)
            return change
        return add
