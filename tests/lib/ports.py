"""Ports for servers under test."""

import collections
import fcntl
import os
import random
import socket

# Below those that the kernel gives to outgoing connections, so that none of
# them takes the port before the server does.
FIRST, LAST = 10240, 32000

ALL = ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"))


def is_free(port):
    """For UDP and TCP, on all addresses, IPv4 and IPv6."""
    sockets = []
    try:
        for family, address in ALL:
            for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                s = socket.socket(family, kind)
                sockets.append(s)
                if family == socket.AF_INET6:
                    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                s.bind((address, port))
        return True
    except OSError:
        return False
    finally:
        for s in sockets:
            s.close()


# The newest ports stay ours for a while: what is free may be given to two test
# runs before the server of either has it, and these might even share it. Their
# descriptors are out of the way of tests that leave few to a server.
RESERVED_MAX, LOWEST = 64, 256
reserved = collections.deque()


def reserve(port):
    """Whether no other test run has it; by a name that goes with the process."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        try:
            s.bind(f"\0nsd-test-port-{port}")
        except OSError:
            return False
        reserved.append(fcntl.fcntl(s, fcntl.F_DUPFD_CLOEXEC, LOWEST))
    if len(reserved) > RESERVED_MAX:
        os.close(reserved.popleft())
    return True


def free_port():
    for _ in range(100):
        port = random.randrange(FIRST, LAST)
        if is_free(port) and reserve(port):
            return port
    raise AssertionError("no free port")
