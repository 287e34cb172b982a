"""nsd-checkzone on large files: they are checked while they are read; if their
names are in no order, as they come out of a sorter. It says what it says of the same file from a pipe, all of which it has in
memory."""

import os
import random
import re
import subprocess
import sys

import dns.name
import pytest

import harness
from checkzone import CHECKZONE, findings, run
from signing import DENIALS, Zone
from test_checkzone_faults import FAULTS

LARGE = 8 << 20  # as in tools/checkzone/checkzone_stream.c
COMMENT = "; " + "-" * 4093 + "\n"
HEAD = ("$TTL 3600\n$ORIGIN example.org.\n"
        "@ SOA ns hostmaster 2024010101 3600 600 86400 300\n@ NS ns\n")


def run_from_pipe(path, *options):
    with open(path, encoding="ascii") as file:
        return subprocess.run(
            [CHECKZONE, *options, "example.org", "-"], input=file.read(),
            capture_output=True, text=True, timeout=harness.DEADLINE,
            check=False)


def said(result, file):
    return (result.returncode, result.stdout.replace(file, "FILE"),
            [(severity, text.replace(file, "FILE"))
             for severity, text in findings(result)])


def assert_same(path, *options):
    """Returns what is said, with FILE for the file."""
    streamed = said(run(*options, "example.org", str(path)), str(path))
    assert streamed == said(run_from_pipe(path, *options), "/dev/stdin")
    return streamed


def pad(text):
    return text + COMMENT * (LARGE // len(COMMENT) + 1)


def in_order(lines):
    """Sorts stably: the first line of an owner stays first."""
    return sorted(lines, key=lambda line: dns.name.from_text(
        line.split(maxsplit=1)[0]))


@pytest.mark.parametrize("name", FAULTS)
def test_fault_of_a_signed_zone(tmp_path, name):
    lines = FAULTS[name].zone().text().splitlines(keepends=True)
    path = tmp_path / "zone"
    path.write_text(pad("".join(in_order(lines))))
    code, verdict, found = assert_same(path)
    assert (code, verdict) == (0, "zone example.org is ok\n")
    expected = FAULTS[name].expected(strict=False,
                                     silent=["does not verify", "is no key"])
    assert len(found) == len(expected)


def hidden_names(count):
    """Below a cut of signing.ZONE: they need no signatures."""
    return [f"h{i:06}.insecure.example.org. 3600 IN AAAA 2001:db8::"
            f"{i >> 16:x}:{i & 65535:x}\n"
            for i in range(count)]


@pytest.mark.parametrize("denial", DENIALS)
def test_signed_zone_of_several_parts(tmp_path, denial):
    """With faults before and behind the place where a part ends."""
    zone = Zone().make(denial)
    zone.sign()
    zone.unsign("c.b.c", "A")
    zone.unsign("z", "TYPE65280")
    lines = zone.text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines)
              if line.startswith("ns.insecure.example.org."))
    lines[at:at] = hidden_names(150000)
    path = tmp_path / "zone"
    path.write_text("".join(lines))
    code, _, found = assert_same(path)
    assert code == 0
    assert [text.split(": ")[1] for _, text in found] == [
        "c.b.c.example.org. A has no RRSIG",
        "z.example.org. TYPE65280 has no RRSIG"]


# Names that there is something to say of; %06d is a number. With TTLs of their
# own no two NS RRsets are equal: of equal ones, which a build stores once, it
# tells of the one that a thread comes to first.
ODD = [
    "a%06d 1%06d NS ns.b%06d\n",                  # no address
    "a%06d NS ns.a%06d\nns.a%06d A 192.0.2.1\n",
    "a%06d NS ns.a%06d\n",                        # no glue
    "a%06d 2%06d NS other\n"
    "a%06d 1%06d NS other.net.\n",                # TTLs
    "a%06d A 192.0.2.1\na%06d A 192.0.2.1\n",     # duplicate
    "a%06d 1%06d NS zz\n",                        # an alias, far behind
    "a%06d 1%06d NS @\n",                         # far before
    "a%06d 1%06d NS ns.deep.zy\n",                # below a cut
    "a%06d DNAME x.net.\n",
    "x.y.a%06d TXT x\n",
]
TAIL = "deep.zy NS ns.net.\nzz CNAME a\n"


def odd_zone(count, every, odd=None):
    """One line of so many is odd."""
    lines = []
    odd = ODD + (odd or [])
    for i in range(count):
        text = (odd[i // every % len(odd)] if i % every == 0
                else "a%06d NS ns1.hoster-with-a-long-name-%06d.net.\n")
        lines.append(text.replace("%06d", f"{i:06}"))
    return HEAD + "".join(lines) + TAIL


@pytest.mark.parametrize("wildcards", [False, True])
def test_warnings_of_an_unsigned_zone(tmp_path, wildcards):
    """A wildcard may have the addresses that are not there."""
    path = tmp_path / "zone"
    path.write_text(odd_zone(160000, 400, ["*.a%06d NS ns.other.net.\n"]
                             if wildcards else []))
    code, _, found = assert_same(path)
    assert code == 0
    for text in ["has no glue address", "is a CNAME", "is left out",
                 "does not match the TTL"] + ([] if wildcards else [
                     "has no address"]):
        assert any(text in finding for _, finding in found), text


def test_records_in_no_order(tmp_path):
    lines = (odd_zone(160000, 400)[len(HEAD):]).splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    path = tmp_path / "zone"
    path.write_text(HEAD + "".join(lines))
    code, _, found = assert_same(path)
    assert code == 0
    assert any("is left out" in finding for _, finding in found)


def test_more_warnings_than_are_kept(tmp_path):
    path = tmp_path / "zone"
    path.write_text(odd_zone(160000, 1600)
                    + "".join(f"zz{i:04} A 192.0.2.1\n" * 2
                              for i in range(4000)))
    code, verdict, found = said(run("example.org", str(path)), str(path))
    assert (code, verdict) == (0, "zone example.org is ok\n")
    assert re.fullmatch(r"\d+ more warnings are not shown", found[-1][1])


@pytest.mark.parametrize("line", [
    "zzz CNAME a\nzzz A 192.0.2.1\n", "zzz A 192.0.2.999\n",
    "x.zz TXT x\nother.net. A 192.0.2.1\n", "a.deep.zy DNAME x.net.\n",
    "aaa NS ns.net.\n", "zzz NSEC3PARAM 1 0 0 -\n"])
def test_last_line_out_of_the_ordinary(tmp_path, line):
    """Warnings about earlier lines are not repeated."""
    path = tmp_path / "zone"
    path.write_text(odd_zone(160000, 4000) + line)
    assert_same(path)


# Of a child the kernel counts what its parent had, too, so this is a small one.
MEASURE = """
import os, subprocess, sys
with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL) as child:
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
print(child.returncode, usage.ru_maxrss)
"""


def peak_kib(*command):
    code, peak = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], check=True, text=True,
        stdout=subprocess.PIPE, timeout=harness.DEADLINE).stdout.split()
    assert code == "0"
    return int(peak)


@pytest.mark.plain
def test_little_memory(tmp_path):
    path = tmp_path / "zone"
    path.write_text(odd_zone(700000, 4000))
    assert os.path.getsize(path) > 32 << 20
    streamed = peak_kib(CHECKZONE, "example.org", path)
    whole = peak_kib(CHECKZONE, "-p", "example.org", path)
    print(f"{streamed} KiB, with all records {whole}")
    if not harness.is_sanitized():
        assert streamed < whole / 2
