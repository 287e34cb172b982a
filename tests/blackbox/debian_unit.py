"""Runs a program as Debian's nsd.service does: with its capabilities, its filter
of system calls, its ban on memory that is written and run, and a file system
that can be written to in some folders alone.

usage: debian_unit.py FOLDER... -- PROGRAM ARGUMENT...

Of FOLDER=PLACE the program sees the folder at that place.
"""

import ctypes
import os
import struct
import sys

import seccomp

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
CAPABILITIES_MAX = 63
# CapabilityBoundingSet: chown, setgid, setuid, net_bind_service, net_admin,
# net_raw, ipc_lock, sys_chroot.
CAPABILITIES = {0, 6, 7, 10, 12, 13, 14, 18}
# SystemCallFilter: calls of systemd's groups that this system may know.
FORBIDDEN = """
    adjtimex clock_adjtime clock_settime settimeofday
    modify_ldt
    lookup_dcookie perf_event_open pidfd_getfd ptrace
    add_key keyctl request_key
    delete_module finit_module init_module
    fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree
    pivot_root umount2
    _sysctl sysfs uselib ustat
    ioprio_set mbind migrate_pages move_pages sched_setaffinity sched_setattr
    sched_setparam sched_setscheduler set_mempolicy set_mempolicy_home_node
    setpriority setrlimit
""".split()
PROT_WRITE, PROT_EXEC = 2, 4
EPERM = 1
CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000
MOUNT_ATTR_RDONLY = 1

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def set_read_only(folder, read_only):
    flags = (MOUNT_ATTR_RDONLY, 0) if read_only else (0, MOUNT_ATTR_RDONLY)
    attributes = struct.pack("=4Q", *flags, 0, 0)
    check(libc.syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(folder),
                       AT_RECURSIVE, attributes, len(attributes)))


def protect_system(folders):
    """ProtectSystem=strict, ReadWritePaths."""
    check(libc.unshare(CLONE_NEWNS))
    check(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
    pairs = [folder.partition("=") for folder in folders]
    places = [place or folder for folder, _, place in pairs]
    for (folder, _, _), place in zip(pairs, places):
        check(libc.mount(os.fsencode(folder), os.fsencode(place), None,
                         MS_BIND | MS_REC, None))
    set_read_only("/", True)
    for place in places:
        set_read_only(place, False)


def drop_capabilities():
    for number in range(CAPABILITIES_MAX + 1):
        if number not in CAPABILITIES:
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0


def filter_calls():
    calls = seccomp.SyscallFilter(seccomp.ALLOW)
    for name in FORBIDDEN:
        try:
            calls.add_rule(seccomp.KILL_PROCESS, name)
        except RuntimeError:
            pass  # not a system call of this machine
    both = PROT_WRITE | PROT_EXEC
    calls.add_rule(seccomp.ERRNO(EPERM), "mmap",
                   seccomp.Arg(2, seccomp.MASKED_EQ, both, both))
    for name in ("mprotect", "pkey_mprotect"):
        calls.add_rule(seccomp.ERRNO(EPERM), name,
                       seccomp.Arg(2, seccomp.MASKED_EQ, PROT_EXEC,
                                   PROT_EXEC))
    calls.load()


def main():
    end = sys.argv.index("--")
    protect_system(sys.argv[1:end])
    drop_capabilities()
    filter_calls()
    os.execv(sys.argv[end + 1], sys.argv[end + 1:])


if __name__ == "__main__":
    main()
