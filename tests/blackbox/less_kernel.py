"""Runs a program as in a kernel that lacks a part of what confines processes,
or in one whose owner forbids it.

usage: less_kernel.py refuse|kill CALL PROGRAM ARGUMENT...
"""

import errno
import os
import sys

import seccomp

SET_MODE_FILTER = 1
DO = {"refuse": seccomp.ERRNO(errno.ENOSYS), "kill": seccomp.KILL_PROCESS}

if __name__ == "__main__":
    do, name, *program = sys.argv[1:]
    calls = seccomp.SyscallFilter(seccomp.ALLOW)
    if name == "seccomp":  # queries of its features
        calls.add_rule(DO[do], name, seccomp.Arg(0, seccomp.EQ,
                                                 SET_MODE_FILTER))
    else:
        calls.add_rule(DO[do], name)
    calls.load()
    os.execv(program[0], program)
