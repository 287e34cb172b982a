"""Processes as /proc shows them."""

import os
import pathlib
import re


def read_proc(pid, name):
    try:
        # Names of other programs' sockets may be any octets.
        return pathlib.Path(f"/proc/{pid}/{name}").read_text(
            errors="surrogateescape")
    except OSError:
        return ""


def process_state(pid):
    """The state as in proc(5): "T" if stopped, "Z" a zombie; "" if not
    there."""
    stat = read_proc(pid, "stat")
    return stat.rpartition(")")[2].split()[0] if stat else ""


def is_alive(pid):
    """There, and not a zombie; nor one whose first thread alone has ended,
    for the others may hold files yet."""
    if process_state(pid) not in ("", "Z"):
        return True
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def open_files(pid):
    """{descriptor: what it is}, without those that are closed meanwhile."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
    return found


def store_stat(loader):
    """Of the zone store's file; it has holes."""
    for fd, what in open_files(loader).items():
        if re.search("nsd-store|zones.db", what):
            return os.stat(f"/proc/{loader}/fd/{fd}")
    raise AssertionError("no store")


def parent_of(pid):
    """The parent's pid, or None if there is no such process."""
    found = re.search(r"^PPid:\t(\d+)$", read_proc(pid, "status"), re.M)
    return int(found[1]) if found else None


def session_of(pid):
    """0 if there is no such process."""
    try:
        return os.getsid(int(pid))
    except ProcessLookupError:
        return 0


def pids_of_session(session):
    """Tests that wait look again and again: no file of each process of the
    machine is read."""
    return [int(p) for p in os.listdir("/proc")
            if p.isdigit() and session_of(p) == session and is_alive(p)]
