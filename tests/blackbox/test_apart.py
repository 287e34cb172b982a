"""Processes of one user cannot look into each other."""

import os
import subprocess
import sys

import pytest

from harness import zone_text

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
