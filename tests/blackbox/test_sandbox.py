"""Each role is confined; what the kernel lacks is said once, and the rest is
used. What comes of it is shown by test_taken_over.py."""

import sys

import pytest

import less_kernel
from harness import is_sanitized, read_proc, wait_for, zone_text

pytestmark = pytest.mark.plain

ROLES = ("loader", "server 1", "server 2", "xfrd")


def filters(server):
    """{role: how many filters of system calls it has}"""
    found = {}
    for name, pid in server.roles().items():
        status = read_proc(pid, "status")
        count = status.partition("Seccomp_filters:")[2].split()
        if count:
            found[name] = int(count[0])
    return found


def expect_filters(server, main, others):
    """The server answers before its last process is there and confined."""
    expected = {"main": main, **dict.fromkeys(ROLES, others)}
    wait_for(f"{others} filters in each role",
             lambda: filters(server) == expected)


def make(make_server, *launcher, **options):
    server = make_server(zones={"example": zone_text()},
                         options={"server-count": 2, **options})
    server.launcher = [str(word) for word in launcher]
    if launcher:
        server.look_for_no_leaks()
    return server.start()


def check_serves(server):
    """The server serves after a reload and deaths, and logs nothing more of
    the sandbox."""
    known = server.read_log().count("sandbox:")
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_serial("example", 2)
    for role in ROLES:
        server.wait_replaced(role, server.kill(role))
    server.wait_serving()
    assert server.read_log().count("sandbox:") == known
    assert server.stop() == 0


def test_every_role_but_main_is_filtered(make_server):
    server = make(make_server)
    expect_filters(server, 0, 0 if is_sanitized() else 1)
    assert ("sandbox:" in server.read_log()) == is_sanitized()
    check_serves(server)


def test_no_role_is_if_so_asked(make_server):
    server = make(make_server, sandbox="no")
    expect_filters(server, 0, 0)
    assert server.read_log().count("sandbox: no") == 1
    check_serves(server)


@pytest.mark.parametrize("call,lacks,left", [
    ("seccomp", "system calls are not filtered", 0),
    ("landlock_create_ruleset", "the processes are not confined to folders",
     1),
    ("landlock_restrict_self", "the processes are not confined to folders",
     1),
])
@pytest.mark.parametrize("do", ["refuse", "kill"])
def test_what_is_missing_is_said_and_the_rest_used(make_server, do, call,
                                                   lacks, left):
    server = make(make_server, sys.executable, less_kernel.__file__, do, call)
    if is_sanitized():
        left = 0
    else:
        assert server.read_log().count(f"warning: sandbox: {lacks}") == 1
    assert server.read_log().count("sandbox:") == 1
    expect_filters(server, 1, 1 + left)  # with the test's own
    check_serves(server)
