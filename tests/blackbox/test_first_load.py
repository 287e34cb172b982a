"""The first load of a large zone file in canonical order: what is built takes
the place of what was read, so that little else is in memory."""

import pytest

import harness
from test_replace import (check_referral, delegations, files_kib, own_kib,
                          peak_kib)

pytestmark = pytest.mark.plain

COUNT = 400000
# Peak over rest, both without the pages of files; with all records in memory
# it is over 2.5.
LIMIT = 1.5


def chain(count):
    """NSEC3 records in order, each of which leads to the next, of names that
    are not there: not a whole chain."""
    digits = "0123456789abcdefghijklmnopqrstuv"
    hashes = ["".join(digits[i >> shift & 31] for shift in (15, 10, 5, 0)) * 8
              for i in range(0, 1 << 20, (1 << 20) // count)][:count]
    return "".join(
        f"{a} NSEC3 1 1 0 - {b} NS DS\n"
        for a, b in zip(hashes, hashes[1:] + hashes[:1]))


def split(text):
    """The lines of zone_text, and those of the delegations."""
    lines = text.splitlines(keepends=True)
    own = [i for i, line in enumerate(lines) if line.startswith("old-")]
    return lines[:own[0]], lines[own[0]:]


@pytest.mark.parametrize("signed", [False, True])
def test_peak_of_memory(nsd, signed):
    head, names = split(delegations(1, "old", count=COUNT))
    apex = [line for line in head if line[0] in "$@ \t"]
    text = "".join(apex + ["@ NSEC3PARAM 1 0 0 -\n"] * signed + names)
    text += chain(COUNT // 4) if signed else ""
    server = nsd(zones={"example": text}, options={"verbosity": 2})
    loader = server.role("loader")
    rest = own_kib([loader])
    peak = peak_kib(loader) - files_kib(loader)
    print(f"loader: {rest} KiB at rest, peak {peak}: {peak / rest:.3f}")
    for i in range(0, COUNT, COUNT // 50):
        check_referral(server, "old", i)
        check_referral(server, "old", i + 1)
    if not harness.is_sanitized():
        assert rest < peak < LIMIT * rest


def large_text(more):
    head, names = split(delegations(1, "old", count=150000))
    return "".join(line for line in head if line[0] in "$@ \t") + (
        "".join(names)) + more


def test_file_that_falls_out_of_order(nsd):
    """The file is out of order at its end, so that it is read again; warnings
    are logged once."""
    text = large_text("zzz NS ns.zzz\nwww A 192.0.2.80\nwww A 192.0.2.80\n")
    server = nsd(zones={"example": text}, options={"verbosity": 2})
    assert server.query("www.example", "A").answer[0][0].to_text() == (
        "192.0.2.80")
    check_referral(server, "old", 140000)
    log = server.read_log()
    end = text.count("\n")
    assert log.count("zzz.example. NS ns.zzz.example. has no glue") == 1
    assert log.count(f"example.zone:{end}: www.example. duplicate") == 1


@pytest.mark.parametrize("more, said", [
    ("zzz CNAME a\nzzz A 192.0.2.1\n", "CNAME and other data"),
    ("zzz A 192.0.2.999\n", "expected an IPv4 address"),
    ("other. A 192.0.2.1\n", "out of zone data")])
def test_error_in_the_last_line(nsd, more, said):
    text = large_text(more)
    server = nsd(zones={"example": text}, options={"verbosity": 2})
    server.wait_log("zone example file example.zone read with 1 errors")
    log = server.read_log()
    assert log.count(said) == 1
    assert f"example.zone:{text.count(chr(10))}: " in log
    server.write_zone("example", large_text(""))
    server.reload()
    server.wait_serial("example", 1)
    check_referral(server, "old", 10)
