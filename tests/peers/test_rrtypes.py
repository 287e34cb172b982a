"""RDATA of every type: what real programs make of the rows of rrtypes.txt.

Each row of tests/data/rrtypes.txt goes through our parser and through those
of dnspython, BIND, ldns, NSD and Knot. Where all is well the octets on the
wire are the same, and what we refuse they refuse. DIFFERENCES names each row
where that is not so, and what decides.
"""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest

ROWS = pathlib.Path(__file__).parent.parent / "data" / "rrtypes.txt"
ORIGIN = "example.com."


@dataclasses.dataclass(frozen=True)
class Row:
    kind: str  # "": fine, "!": refused, "?": a value breaks a rule
    rrtype: str
    text: str
    wire: str  # hexadecimal, of a fine row

    def __str__(self):
        return f"{self.rrtype} {self.text}"


def read_rows():
    for line in ROWS.read_text().splitlines():
        if line.startswith("#"):
            continue
        rrtype, text, third, _ = line.split("\t")
        kind = rrtype[0] if rrtype[0] in "!?" else ""
        wire = "" if kind or third == "-" else third
        yield Row(kind, rrtype.lstrip("!?"), text, wire)


class Refused(Exception):
    """The peer does not accept the text."""


class Unknown(Exception):
    """The peer does not know the type; nothing to compare."""


class Ours:
    """The tool of our tree, kept running; one answer a line."""

    def __init__(self):
        build = pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve()
        self.process = subprocess.Popen(
            [build / "tests" / "lib" / "rdata_tool"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, encoding="latin-1")

    def wire(self, rrtype, text):
        self.process.stdin.write(f"{rrtype} {text}\n")
        self.process.stdin.flush()
        word, rest = self.process.stdout.readline().split(" ", 1)
        if word != "ok":
            raise Refused(rest)
        return rest.split(" ", 1)[0].replace("-", "")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


OURS = None


@pytest.fixture(scope="module")
def ours():
    global OURS
    OURS = Ours()
    yield OURS
    OURS.close()


def run(command, text=None, **more):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="latin-1",
                          timeout=20, **more)


def unknown_form(text):
    """The octets of RFC 3597 text, or None if it is none."""
    found = re.search(r"\\# (\d+) ?([0-9A-Fa-f ]*)", text)
    return found and found[2].replace(" ", "").lower()


class DnsPython:
    def wire(self, row, directory):
        try:
            rrtype = dns.rdatatype.from_text(row.rrtype)
        except dns.rdatatype.UnknownRdatatype as e:
            raise Unknown from e
        if (dns.rdata.get_rdata_class(dns.rdataclass.IN, rrtype)
                is dns.rdata.GenericRdata
                and not row.text.startswith("\\#")):
            raise Unknown
        try:
            rdata = dns.rdata.from_text(
                "IN", rrtype, row.text,
                origin=dns.name.from_text(ORIGIN), relativize=False)
            return rdata.to_wire().hex()
        except (dns.exception.DNSException, ValueError, NotImplementedError,
                UnicodeError, IndexError) as e:
            raise Refused(repr(e)) from e


class Bind:
    def wire(self, row, directory):
        done = run(["named-rrchecker", "-o", ORIGIN, "-u"],
                   f"IN {row.rrtype} {row.text}\n")
        wire = unknown_form(done.stdout)
        if done.returncode or wire is None:
            raise Refused(done.stdout)
        return wire


class ZoneFile:
    """A peer that reads a zone with the record in it."""

    def lines(self, row):
        if row.rrtype == "SOA":
            return [f"@ 3600 IN SOA {row.text}"]
        return ["@ 3600 IN SOA ns.example.net. h.example.net. 1 2 3 4 5",
                "@ 3600 IN NS ns.example.net.",
                f"r 3600 IN {row.rrtype} {row.text}"]

    def write(self, row, directory):
        path = directory / "zone"
        path.write_text("\n".join([f"$ORIGIN {ORIGIN}", *self.lines(row),
                                   ""]), encoding="latin-1")
        return str(path)

    def owner(self, row):
        return ORIGIN if row.rrtype == "SOA" else f"r.{ORIGIN}"

    def record(self, row, text):
        """The RDATA of the record in a zone as printed."""
        owner = re.escape(self.owner(row))
        flat = re.sub(r"\(([^()\"]*)\)", lambda m: " ".join(m[1].split()),
                      text)
        found = re.search(rf"^{owner}\s+3600\s+(?:IN\s+)?"
                          r"(TYPE\d+|[A-Z0-9-]+)[ \t]*(.*)$", flat, re.M)
        if not found:
            raise Refused(text)
        return found[2].strip()

    def read_back(self, row, text):
        """What they print, in our parser: the wire they had."""
        try:
            return OURS.wire(row.rrtype, self.record(row, text))
        except Refused as e:
            raise AssertionError(f"we refuse what they print: {text}: {e}")


class Ldns(ZoneFile):
    def wire(self, row, directory):
        done = run(["ldns-read-zone", "-u", row.rrtype,
                    self.write(row, directory)])
        if done.returncode:
            raise Refused(done.stdout)
        wire = unknown_form(self.record(row, done.stdout))
        return wire if wire is not None else self.read_back(row, done.stdout)


class Nsd(ZoneFile):
    def wire(self, row, directory):
        done = run(["nsd-checkzone", "-p", ORIGIN,
                    self.write(row, directory)])
        if done.returncode or "error" in done.stdout:
            raise Refused(done.stdout)
        owner = "example" if row.rrtype == "SOA" else "r"
        return self.read_back(row, re.sub(
            rf"^{owner}\t", f"{self.owner(row)}\t", done.stdout, flags=re.M))


class Knot(ZoneFile):
    """Says only whether it takes the record."""

    def wire(self, row, directory):
        done = run(["kzonecheck", "-o", ORIGIN, self.write(row, directory)])
        if done.returncode:
            raise Refused(done.stdout)
        return row.wire


PEERS = {
    "dnspython": (DnsPython, None),
    "bind": (Bind, "named-rrchecker"),
    "ldns": (Ldns, "ldns-read-zone"),
    "nsd": (Nsd, "nsd-checkzone"),
    "knot": (Knot, "kzonecheck"),
}
