"""Processes of one user cannot look into each other."""

import base64
import os
import re
import subprocess
import sys

import pytest

import control
from harness import wait_for, zone_text

pytestmark = pytest.mark.plain

NOBODY = 65534

# Tries what a process that was taken over would: prints what it could do.
PEEK = """
import os, sys
for pid in sys.argv[1:]:
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            os.open(f"/proc/{pid}/fd/{name}", os.O_RDWR)
            print(f"{pid}: opened {name}")
    except OSError:
        pass
    for name in ("mem", "maps", "environ"):
        try:
            os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
            open(f"/proc/{pid}/{name}").read(1)
            print(f"{pid}: read {name}")
        except OSError:
            pass
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="being another user needs root")
def test_same_user_cannot_open_what_another_process_has(make_server,
                                                        directory):
    """A process of the same user without further rights: as for a server that
    is started by a user other than root."""
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
              "--clear-groups"]
    directory.chmod(0o777)
    server = make_server(zones={"example": zone_text()}, options={
        "server-count": 2, "database": f'"{directory}/zones.db"'})
    server.launcher = become
    server.start()
    pids = list(server.roles().values())
    assert len(pids) == 5
    done = subprocess.run([*become, sys.executable, "-c", PEEK,
                           *map(str, pids)], capture_output=True, text=True,
                          check=True)
    assert done.stdout == ""
    # The test can see it: the same for a process that lets others look.
    with subprocess.Popen([*become, "sleep", "60"],
                          stdin=subprocess.PIPE) as other:
        done = subprocess.run([*become, sys.executable, "-c", PEEK,
                               str(other.pid)], capture_output=True,
                              text=True, check=True)
        other.kill()
    assert f"{other.pid}: read maps" in done.stdout
    assert server.answer("www.example", "A") == ["192.0.2.1"]


def found_in_memory(pid, *wanted):
    """The wanted octets that are in memory that a process can write, or could.
    Memory is read once."""
    found = set()
    with open(f"/proc/{pid}/maps") as f:
        areas = [line.split() for line in f]
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for area in areas:
            if not re.match("r.-p|rw|r--s", area[1]) or "[v" in area[-1]:
                continue
            first, end = (int(n, 16) for n in area[0].split("-"))
            if end - first > 256 << 20:
                continue  # of the store, or of addresses kept free
            try:
                mem.seek(first)
                octets = mem.read(end - first)
            except OSError:
                continue
            found.update(one for one in wanted if one in octets)
    return [one for one in wanted if one in found]


def has_in_memory(pid, octets):
    return found_in_memory(pid, octets) == [octets]


@pytest.mark.skipif(os.geteuid() != 0, reason="memory of others needs root")
@pytest.mark.plain_only  # sanitizers keep what was freed
def test_secrets_that_were_printed_are_wiped(make_server):
    text = base64.b64encode(os.urandom(40)).decode()
    server = control.config(make_server(
        zones={"example": zone_text()}, extra="key:\n\tname: shared\n"
        f'\talgorithm: hmac-sha256\n\tsecret: "{text}"\n')).start()
    xfrd = server.role("xfrd")
    # Memory that is given back has other octets at its begin.
    tail = text[24:].encode()
    assert not has_in_memory(xfrd, tail)
    assert text in control.ask(server, "print_tsig")[1]
    wait_for("the text to be wiped",
             lambda: not has_in_memory(xfrd, tail))


@pytest.mark.skipif(os.geteuid() != 0, reason="memory of others needs root")
@pytest.mark.plain_only  # sanitizers keep what was freed
def test_secrets_are_where_they_are_needed(nsd):
    """Secrets of TSIG keys, which are nowhere as nsd.conf has them."""
    secret = os.urandom(40)
    text = base64.b64encode(secret).decode()
    server = nsd(zones={"example": zone_text()}, extra=f"""\
key:
\tname: shared
\talgorithm: hmac-sha256
\tsecret: "{text}"
""")
    roles = server.roles()
    assert {role for role, pid in roles.items()
            if has_in_memory(pid, secret)} \
        == {role for role in roles if role != "loader"}
    assert [role for role, pid in roles.items()
            if has_in_memory(pid, text.encode())] == []


def test_calls_are_bound_before_secrets_are_read(make_server):
    """Lazy binding leaves copies of registers on the stack: parts of the
    secret in use."""
    server = make_server(zones={"example": zone_text()})
    done = subprocess.run(["readelf", "-d", server.program],
                          capture_output=True, text=True, check=True)
    assert re.search(r"\bNOW\b", done.stdout)


@pytest.mark.skipif(os.geteuid() != 0, reason="memory of others needs root")
def test_what_is_in_hand_is_of_one_process_and_main(nsd):
    """A process that is forked from main later gets no page of those before,
    and main only reads them. "dc": the kernel does not copy it."""
    server = nsd(zones={"example": zone_text()},
                 options={"server-count": 2})
    count = 0
    with open(f"/proc/{server.role('main')}/smaps",
              encoding="ascii") as file:
        for line in file:
            if re.match("[0-9a-f]+-", line):
                is_hand = "/dev/zero" in line
                assert not is_hand or " r--s " in line
            elif line.startswith("VmFlags:") and is_hand:
                assert "dc" in line.split()
                count += 1
    assert count == len(server.roles()) - 1
