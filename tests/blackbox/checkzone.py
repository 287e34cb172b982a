"""Runs nsd-checkzone, and takes what it says apart."""

import os
import re
import subprocess

from harness import DEADLINE

CHECKZONE = os.path.join(os.environ.get("NSD_BUILD", "./build"),
                         "nsd-checkzone")


def run(*arguments, timeout=DEADLINE):
    return subprocess.run(
        [CHECKZONE, *arguments], capture_output=True, text=True,
        timeout=timeout, check=False)


def findings(result):
    """[(severity, text)]; that nothing else is said, and how, is checked."""
    found = []
    for line in result.stderr.splitlines():
        match = re.fullmatch(
            r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] "
            r"nsd-checkzone\[\d+\]: (error|warning): (.*)", line)
        assert match, line
        found.append((match[1], match[2]))
    return found


def check(path, *options):
    """(exit code, [(severity, text without its file)], verdict) for a file
    of the zone example.org."""
    result = run(*options, "example.org", str(path))
    found = [(severity, re.sub(r"^/\S+:\d+: ", "", text))
             for severity, text in findings(result)]
    return result.returncode, found, result.stdout


def assert_ok(path, *options):
    assert check(path, *options) == (0, [], "zone example.org is ok\n")


def assert_found(result, expected):
    """Each of the expected (severity, pattern) is there, and nothing else."""
    left = list(result)
    for severity, pattern in expected:
        match = [found for found in left if found[0] == severity
                 and re.fullmatch(pattern, found[1])]
        assert match, (severity, pattern, result)
        left.remove(match[0])
    assert not left, result
