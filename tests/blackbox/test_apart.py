"""Processes of one user cannot look into each other."""

import base64
import os
import re
import subprocess
import sys

import pytest

from harness import is_sanitized, zone_text

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
    """Whoever has the same user and no rights beyond: as for a server that is
    started by a user other than root."""
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


def has_in_memory(pid, octets):
    """Whether a process has them in memory that it can write, or could."""
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
                if octets in mem.read(end - first):
                    return True
            except OSError:
                pass
    return False


@pytest.mark.skipif(os.geteuid() != 0, reason="memory of others needs root")
@pytest.mark.skipif(is_sanitized(), reason="sanitizers keep what was freed")
def test_secrets_are_where_they_are_needed(nsd):
    """Those of TSIG keys; nowhere as they stand in nsd.conf."""
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
