"""Ports for servers under test."""

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


def free_port():
    for _ in range(100):
        port = random.randrange(FIRST, LAST)
        if is_free(port):
            return port
    raise AssertionError("no free port")
