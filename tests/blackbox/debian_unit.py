"""Runs a program as Debian's nsd.service does: with its capabilities, its filter
of system calls and its ban on memory that is written and run.

usage: debian_unit.py PROGRAM ARGUMENT...
"""

import ctypes
import os
import sys

import seccomp

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
CAPABILITIES_MAX = 63
# CapabilityBoundingSet: chown, setgid, setuid, net_bind_service, net_admin,
# net_raw, ipc_lock, sys_chroot.
CAPABILITIES = {0, 6, 7, 10, 12, 13, 14, 18}
# SystemCallFilter: what systemd's groups hold that this system may know.
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


def drop_capabilities():
    libc = ctypes.CDLL(None, use_errno=True)
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


if __name__ == "__main__":
    drop_capabilities()
    filter_calls()
    os.execv(sys.argv[1], sys.argv[1:])
