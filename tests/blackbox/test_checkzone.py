"""nsd-checkzone: texts, exit codes, and the zone it prints (surface 2.4)."""

import os
import re
import subprocess
import time

import pytest

from checkzone import CHECKZONE, findings, run
from harness import DEADLINE

GOOD = """\
$TTL 3600
$ORIGIN example.org.
@ SOA ns hostmaster 2024010101 3600 600 86400 300
 NS ns
 MX 10 mail
 TXT "hello world" "x;y" a\\"b
ns A 192.0.2.1
ns AAAA 2001:db8::1
c.b.c 7200 A 192.0.2.4
a.b.c A 192.0.2.3
_sip._tcp SRV 1 2 3 ns
*.w CNAME ns
z TYPE65280 \\# 3 010203
"""

GOOD_PRINTED = """\
$ORIGIN org.
example\t3600\tIN\tSOA\tns.example.org. hostmaster.example.org. (
\t\t2024010101 3600 600 86400 300 )
\t3600\tIN\tNS\tns.example.org.
\t3600\tIN\tMX\t10 mail.example.org.
\t3600\tIN\tTXT\t"hello world" "x;y" "a\\"b"
$ORIGIN _tcp.example.org.
_sip\t3600\tIN\tSRV\t1 2 3 ns.example.org.
$ORIGIN b.c.example.org.
a\t3600\tIN\tA\t192.0.2.3
c\t7200\tIN\tA\t192.0.2.4
$ORIGIN example.org.
ns\t3600\tIN\tA\t192.0.2.1
\t3600\tIN\tAAAA\t2001:db8::1
$ORIGIN w.example.org.
*\t3600\tIN\tCNAME\tns.example.org.
$ORIGIN example.org.
z\t3600\tIN\tTYPE65280\t\\# 3 010203
; zone example.org is ok
"""


@pytest.fixture
def zone_dir(tmp_path):
    """A directory in which zone files are written by name."""

    def write(name, text):
        data = text.encode() if isinstance(text, str) else text
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    write.path = tmp_path
    return write


def errors_of(result):
    """The error lines, without time and process id."""
    return [text for severity, text in findings(result)
            if severity == "error"]


def test_good_zone_is_ok(zone_dir):
    result = run("example.org", zone_dir("zone", GOOD))
    assert (result.returncode, result.stdout, result.stderr) == (
        0, "zone example.org is ok\n", "")


def test_zone_name_is_shown_as_given(zone_dir):
    result = run("Example.ORG.", zone_dir("zone", GOOD))
    assert result.stdout == "zone Example.ORG. is ok\n"
    assert result.returncode == 0


def test_print_writes_the_zone_in_canonical_order(zone_dir):
    result = run("-p", "example.org", zone_dir("zone", GOOD))
    assert result.stdout == GOOD_PRINTED
    assert (result.returncode, result.stderr) == (0, "")


def test_records_of_an_rrset_are_printed_in_canonical_order(zone_dir):
    path = zone_dir("zone", GOOD + "m A 192.0.2.10\nm A 192.0.2.9\n"
                    "n NS z\nn NS a.z\n")
    printed = run("-p", "example.org", path).stdout
    assert "m\t3600\tIN\tA\t192.0.2.9\n\t3600\tIN\tA\t192.0.2.10\n" \
        in printed
    assert re.search(r"NS\ta\.z\.example.org\.\n.*NS\tz\.example\.org", printed)


def test_printed_zone_prints_the_same_again(zone_dir):
    result = run("-p", "example.org", zone_dir("zone", GOOD_PRINTED))
    assert result.stdout == GOOD_PRINTED


def test_errors_are_told_with_file_and_line_and_counted(zone_dir):
    path = zone_dir("zone", GOOD + "\n".join([
        "x A 192.0.2", "$TTL x", "y CH A 192.0.2.1", "z..z A 192.0.2.1",
        "z X 1", "z TXT \"open\n"]))
    result = run("example.org", path)
    assert result.returncode == 1
    assert result.stdout == f"zone example.org file {path} has 6 errors\n"
    assert errors_of(result) == [
        f"{path}:14: Invalid rdata in A: '192.0.2': expected an IPv4 address"
        " (column 5)",
        f"{path}:15: Invalid ttl in $TTL: 'x': expected seconds or a period "
        "such as 1h30m (column 6)",
        f"{path}:16: only class IN is supported: 'CH' (column 3)",
        f"{path}:17: Invalid OWNER in RR: 'z..z': expected a name without "
        "empty labels (column 1)",
        f"{path}:18: Invalid type in RR: 'X': expected an RR type "
        "(column 3)",
        f"{path}:19: quoted string is not closed (column 7)",
    ]


def test_print_shows_no_zone_with_errors(zone_dir):
    path = zone_dir("zone", GOOD + "x A 192.0.2\n")
    result = run("-p", "example.org", path)
    assert result.stdout == f"zone example.org file {path} has 1 errors\n"
    assert result.returncode == 1


@pytest.mark.parametrize("text", [
    "", "; nothing\n\n", "$TTL 1\n", "@ 1 NS ns\nns 1 A 192.0.2.1\n"])
def test_zone_without_soa_is_an_error(zone_dir, text):
    """Fault 43."""
    path = zone_dir("zone", text)
    result = run("example.org", path)
    assert result.returncode == 1
    assert re.fullmatch(r"zone example\.org file .* has \d+ errors\n",
                        result.stdout)
    assert any("has no SOA record" in line for line in errors_of(result))


@pytest.mark.parametrize("line", [
    "@ SOA ns hostmaster 7 7 7 7 7",            # two SOAs, fault 43
    "sub SOA ns hostmaster 7 7 7 7 7",          # below the apex, fault 43
    "elsewhere.example. A 192.0.2.1",           # out of the zone
    "z CNAME ns",                               # beside other data, fault 47
])
def test_rules_of_zones_are_checked(zone_dir, line):
    path = zone_dir("zone", GOOD + line + "\n")
    result = run("example.org", path)
    assert result.returncode == 1
    assert any(f"{path}:14:" in error for error in errors_of(result)), \
        result.stderr


def test_wrong_zone_name_is_an_error(zone_dir):
    result = run("example.net", zone_dir("zone", GOOD))
    assert result.returncode == 1
    assert any("out of zone" in line for line in errors_of(result))


@pytest.mark.parametrize("name", ["absent", "."])
def test_unreadable_file_is_one_error(zone_dir, name):
    path = str(zone_dir.path / name)
    result = run("example.org", path)
    assert result.returncode == 1
    assert result.stdout == f"zone example.org file {path} has 1 errors\n"
    assert errors_of(result)[0].startswith(f"cannot open '{path}': ")


def test_includes_are_followed_and_their_errors_placed(zone_dir):
    inner = zone_dir("inner", "a A 192.0.2.1\nb A x\n")
    path = zone_dir("zone", GOOD + "$INCLUDE inner sub\n$INCLUDE none\n"
                    "$INCLUDE zone\n")
    result = run("example.org", path)
    assert errors_of(result) == [
        f"{inner}:2: Invalid rdata in A: 'x': expected an IPv4 address "
        "(column 5)",
        f"{path}:15: Cannot open include file 'none': No such file or "
        f"directory, and there is no {zone_dir.path}/none (column 10)",
        f"{path}:16: $INCLUDE loop: file {path} includes itself "
        "(column 10)",
    ]
    zone_dir("inner", "a A 192.0.2.1\n")
    path = zone_dir("zone", GOOD + "$INCLUDE inner sub\n")
    result = run("-p", "example.org", path)
    assert "$ORIGIN sub.example.org.\na\t3600\tIN\tA\t192.0.2.1\n" \
        in result.stdout


def test_includes_are_relative_to_the_working_directory_first(zone_dir):
    folder = zone_dir.path / "folder"
    folder.mkdir()
    zone_dir("folder/more", "beside A 192.0.2.1\n")
    path = zone_dir("folder/zone", GOOD + "$INCLUDE more\n")

    def names():
        return re.findall(r"^(beside|here)\t", subprocess.run(
            [os.path.abspath(CHECKZONE), "-p", "example.org", path],
            cwd=zone_dir.path, capture_output=True, text=True,
            timeout=DEADLINE, check=True).stdout, re.M)
    assert names() == ["beside"]
    zone_dir("more", "here A 192.0.2.1\n")
    assert names() == ["here"]


def test_nul_and_carriage_return_and_mark(zone_dir):
    """Fault 45."""
    text = GOOD.replace("\n", "\r\n")
    path = zone_dir("zone", b"\xef\xbb\xbf" + text.encode()[:-2])
    assert run("-p", "example.org", path).stdout == GOOD_PRINTED
    path = zone_dir("zone", GOOD.replace("\n", "\r"))
    assert run("-p", "example.org", path).stdout == GOOD_PRINTED
    path = zone_dir("zone", GOOD + "x A 192.0.2.1\ry A 192.0.2.2\nz A x\n")
    assert findings(run("example.org", path)) == [
        ("warning", f"{path}:14: carriage return without a newline, taken as "
         "the end of the line (column 14)"),
        ("error", f"{path}:15: Invalid rdata in A: 'x': expected an IPv4 "
         "address (column 5)")]
    path = zone_dir("zone", GOOD + "x A \0\n")
    assert errors_of(run("example.org", path)) == [
        f"{path}:14: NUL octet in zone file (column 5)"]


def test_at_most_fifty_errors_of_text_are_told(zone_dir):
    path = zone_dir("zone", GOOD + "x X\n" * 1000)
    result = run("example.org", path)
    assert len(errors_of(result)) == 50
    assert result.stdout == f"zone example.org file {path} has 50 errors\n"
    assert ("warning", f"{path}: the rest is not read") in findings(result)
    # The rest of the file is not mentioned if it is read.
    path = zone_dir("zone", "x X\n" * 50 + GOOD)
    assert len(errors_of(run("example.org", path))) == 50


@pytest.mark.parametrize("line, why", [
    ("x TXT ( a", "parenthesis is not closed (column 7)"),
    ('x TXT "a', "quoted string is not closed (column 7)"),
])
def test_what_is_not_closed_hides_no_other_errors(zone_dir, line, why):
    path = zone_dir("zone", GOOD + line + "\ny TXT b\ny A x\nz CNAME y\n")
    assert errors_of(run("example.org", path)) == [
        f"{path}:14: {why}",
        f"{path}:16: Invalid rdata in A: 'x': expected an IPv4 address "
        "(column 5)",
        f"{path}:17: CNAME and other data at the same name"]


def test_zone_is_read_from_a_pipe():
    result = subprocess.run(
        [CHECKZONE, "example.org", "/dev/stdin"], input=GOOD,
        capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert result.stdout == "zone example.org is ok\n"


def test_a_large_zone_is_read_in_pieces(zone_dir):
    lines = [f"h{i}.x{i % 7} A 192.0.2.{i % 256}" for i in range(150000)]
    lines[140000] += " x"
    path = zone_dir("zone", GOOD + "\n".join(lines) + "\n")
    result = run("example.org", path)
    assert result.returncode == 1
    assert [line.split(":")[1] for line in errors_of(result)] == ["140014"]
    lines[140000] = lines[140000][:-2]
    path = zone_dir("zone", GOOD + "\n".join(lines) + "\n")
    printed = run("-p", "example.org", path).stdout
    assert printed.count("\tIN\tA\t192.0.2.") == 150003


def test_a_file_that_grows_is_read_again(zone_dir):
    """Fault 49: never half a file; it is read anew, or told of."""
    # A kernel writes page by page, with a pause between two: each line lies in
    # one page.
    path = zone_dir("zone", GOOD + ";" * (31 - len(GOOD) % 32) + "\n")
    with open(path, "a", encoding="ascii") as file:
        check = subprocess.Popen(
            [CHECKZONE, "example.org", path], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + DEADLINE
        lines = 0
        while check.poll() is None and time.monotonic() < deadline:
            file.write(f"h{lines} A 192.0.2.1".ljust(31) + "\n")
            file.flush()
            lines += 1
        stdout, stderr = check.communicate(timeout=DEADLINE)
    if check.returncode == 0:
        assert stdout == "zone example.org is ok\n"
    else:
        assert "the file changed while it was read" in stderr


@pytest.mark.parametrize("args", [
    [], ["example.org"], ["example.org", "a", "b"], ["-x", "a", "b"],
    ["-i"], ["a..b", "zone"], ["x" * 64, "zone"]])
def test_wrong_use_exits_with_one(args):
    result = run(*args)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr != ""


def test_help_exits_with_zero():
    result = run("-h")
    assert result.returncode == 0
    assert result.stderr.startswith("Usage: nsd-checkzone")


@pytest.mark.parametrize("option", ["-n", "-s"])
def test_numbers_of_ixfr_are_numbers(zone_dir, option):
    result = run(option, "x", "example.org", zone_dir("zone", GOOD))
    assert (result.returncode, result.stdout) == (1, "")
    assert "is no number" in result.stderr


def test_full_output_is_an_error(zone_dir):
    path = zone_dir("zone", GOOD)
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run(
            [CHECKZONE, "-p", "example.org", path], stdout=full,
            stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
    assert result.returncode == 1
