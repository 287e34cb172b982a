"""The clause verify: in ours and in the real NSD, case by case: what the program
gets, what the log says of it, and whether the version is served.

PEERS_NSD=FOLDER has a newer NSD, as of tools/newer-nsd."""
import os
import re
import time

import dns.message
import dns.query
import dns.rdatatype
import pytest

import primaries
import servers
from catalog_servers import NSD_FOLDER, nsd_lacks_catalogs, until
from ports import free_port

ZONE = "verified.test"
SERVED, REFUSED = True, False
END = re.compile(r"verify: (verifier for zone .* exited|could not start)")

# name: (the program, options of verify:, is the version served?)
CASES = {
    "accepts": ("#!/bin/sh\nexit 0\n", "", SERVED),
    "status 1": ("#!/bin/sh\nexit 1\n", "", REFUSED),
    "status 255": ("#!/bin/sh\nexit 255\n", "", REFUSED),
    "time-out": ("#!/bin/sh\necho begun\nsleep 100\n", "verifier-timeout: 1",
                 REFUSED),
    "in time": ("#!/bin/sh\necho begun\n", "verifier-timeout: 100", SERVED),
    "not executable": (None, "", REFUSED),
    "no interpreter": ("#!/no/such/program\n", "", REFUSED),
    "two streams": ("#!/bin/sh\necho out\necho error >&2\necho\n"
                    "echo ' last' >&2\n", "", SERVED),
    "no newline": ("#!/bin/sh\nprintf 'one\\ntwo'\nexit 2\n", "", REFUSED),
    "472 octets": ("#!/bin/sh\nprintf '%0472d\\n' 7\n", "", SERVED),
    "environment": ("#!/bin/sh\nenv | grep ^VERIFY_ | sort\n", "", SERVED),
    "arguments": ('#!/bin/sh\nfor a; do echo "<$a>"; done\n', "", SERVED),
    "feed": ('#!/bin/sh\ncat >"$(dirname "$0")/fed"\n', "", SERVED),
    "feed unread": ("#!/bin/sh\nexit 0\n", "", SERVED),
    "feed closed": ("#!/bin/sh\nexec <&-\nsleep 0.2\necho still here\n", "",
                    SERVED),
    "feed in part": ("#!/bin/sh\nhead -c 10 >/dev/null\nexit 3\n", "",
                     REFUSED),
    "no feed": ("#!/bin/sh\nenv | grep STDIN\n", "verifier-feed-zone: no",
                SERVED),
    "working folder": ('#!/bin/sh\n[ "$PWD" = "$(dirname "$0")" ] || exit 1\n'
                       "umask\n", "", SERVED),
}


class _Verifying:
    """A secondary of upstream that has each version judged."""

    def __init__(self, upstream, case):
        super().__init__({})
        script, options, self.is_served = CASES[case]
        program = self.write("program", script or "")
        program.chmod(0o755 if script is not None else 0o644)
        self.verify_port = free_port()
        self.more = [
            "verify:", "\tenable: yes", f"\tport: {self.verify_port}",
            "\tip-address: 127.0.0.1", "\tip-address: ::1",
            f"\tverifier: {program} one \"two words\"", f"\t{options}",
            "zone:", f"\tname: {ZONE}", f"\tzonefile: {self.dir}/zonefile",
            f"\trequest-xfr: AXFR 127.0.0.1@{upstream.port} NOKEY"]

    def lines(self):
        """The log's lines about programs, without what differs by chance."""
        try:
            text = (self.dir / "log").read_text(errors="replace")
        except FileNotFoundError:
            return []
        lines = re.findall(r": ((?:info|error): verif(?:y|ier): .*)", text)
        return [re.sub(r"pid \d+", "pid N", line)
                .replace(str(self.verify_port), "PORT")
                .replace(str(self.dir), "DIR") for line in lines]

    def first(self):
        """The lines of the first program, in order within each level: streams
        are read in any order."""
        lines = self.lines()
        ends = [at for at, line in enumerate(lines) if END.search(line)]
        return ends and sorted(lines[:ends[0] + 1],
                               key=lambda line: line.split(":")[0])

    def serves(self):
        query = dns.message.make_query(ZONE, "SOA")
        reply = dns.query.udp(query, "127.0.0.1", port=self.port, timeout=20)
        return any(rrset.rdtype == dns.rdatatype.SOA for rrset in reply.answer)


class Ours(_Verifying, servers.Ours):
    pass


class Nsd(_Verifying, servers.Nsd):
    def command(self):
        return [f"{NSD_FOLDER}/nsd", *super().command()[1:]]


@pytest.fixture(scope="module")
def upstream(tmp_path_factory):
    path = tmp_path_factory.mktemp("verifier") / "zone"
    path.write_text(
        "$TTL 300\n@ SOA ns.x. h.x. 1 3600 600 86400 300\n@ NS ns.x.\n"
        + "".join(f"host{i} A 192.0.2.1\n TXT \"a text of some length\"\n"
                  for i in range(4000)))
    with servers.started(primaries.Ours({ZONE: path})) as server:
        yield server


def run(kind, upstream, case):
    """The lines, what was fed, and whether the version is served then."""
    with servers.started(kind(upstream, case)) as server:
        until(server.first, lambda: f"{kind.name}: {server.lines()}")
        if server.is_served:
            until(server.serves, f"{kind.name}: is not served")
        fed = server.dir / "fed"
        return (server.first(), fed.read_text() if fed.exists() else None,
                # Of NSD, processes of before the reload may answer once more.
                (kind is Nsd and server.is_served) or server.serves())


@pytest.mark.parametrize("case", CASES)
def test_verifiers_are_run_as_by_nsd(upstream, case):
    ours = run(Ours, upstream, case)
    assert ours[2] == CASES[case][2]
    lines, fed, served = run(Nsd, upstream, case)
    assert (without_output(lines), fed, served) == (
        without_output(ours[0]), *ours[1:])


def without_output(lines):
    """NSD 4.6 logs none of the output; newer ones do."""
    if not nsd_lacks_catalogs():
        return lines
    return [line for line in lines if ": verifier: " not in line]


def test_feed_is_the_zone(upstream):
    _, fed, _ = run(Ours, upstream, "feed")
    assert fed.startswith("$ORIGIN test.\nverified\t300\tIN\tSOA\t")
    assert fed.count("\n") == 8000 + 5


def test_a_killed_verifier_has_not_accepted(upstream, monkeypatch):
    """NSD up to 4.12 serves the version then."""
    monkeypatch.setitem(CASES, "killed", ("#!/bin/sh\nkill -9 $$\n", "",
                                          REFUSED))
    lines, _, served = run(Ours, upstream, "killed")
    assert lines[0].endswith("exited abnormally") and not served
    theirs, _, _ = run(Nsd, upstream, "killed")
    assert theirs == lines


def children_named(text):
    """Processes with this text in their arguments."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if text.encode() in file.read().replace(b"\0", b" "):
                    found.append(pid)
        except OSError:
            pass
    return found


@pytest.mark.parametrize("ends", ["exit 0", "sleep 100000"])
def test_nothing_is_left_of_a_program(upstream, monkeypatch, ends):
    """Not even daemons; NSD leaves them, and all children after a time-out."""
    mark = f"{70000 + time.monotonic_ns() % 9973}.{os.getpid()}"
    monkeypatch.setitem(CASES, "left", (
        f"#!/bin/sh\nsleep {mark} &\nsetsid sleep {mark} &\n"
        f"(setsid sh -c 'sleep {mark} & exit') &\nsleep 0.3\n{ends}\n",
        "verifier-timeout: 2", ends == "exit 0"))
    with servers.started(Ours(upstream, "left")) as server:
        until(server.first, lambda: server.lines())
        assert children_named(f"sleep {mark}") == []


def test_long_lines_are_cut(upstream, monkeypatch):
    """NSD loses an octet at each place where it cuts."""
    monkeypatch.setitem(CASES, "long", (
        "#!/bin/sh\nprintf '%01000d\\n' 7\n", "", SERVED))
    lines, _, _ = run(Ours, upstream, "long")
    cut = [line.split("verifier: ")[1] for line in lines
           if "verifier: " in line]
    assert cut == ["0" * 472 + " ..", ".. " + "0" * 472 + " ..",
                   ".. " + "0" * 55 + "7"]
    theirs, _, _ = run(Nsd, upstream, "long")
    assert without_output(theirs)[0] == without_output(lines)[0]
