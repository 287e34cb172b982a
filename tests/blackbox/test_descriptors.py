"""Fault 42: xfrd without descriptors waits until there are some, and works on."""
import contextlib
import os
import pathlib
import resource
import time

import pytest

import control
from harness import DEADLINE, open_files, wait_for, zone_text
from scripted_primary import ScriptedPrimary, reply, soa, whole

pytestmark = pytest.mark.plain

ZONES = [f"n{i}.test" for i in range(10)]
TICKS = os.sysconf("SC_CLK_TCK")
WATCHED = 3  # seconds
BUSY = 0.1  # of a processor: what has nothing to do takes far less


def lasting_descriptors(pid):
    """The descriptors that stay open: not those of queries and transfers,
    which are made each second."""
    used = {int(n) for n in open_files(pid)}
    for _ in range(40):
        time.sleep(0.05)
        used &= {int(n) for n in open_files(pid)}
    return used


@contextlib.contextmanager
def spare_descriptors(pid, count):
    """The process can open so many more, and not one beyond."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used, limit, left = lasting_descriptors(pid), 0, count
    while limit in used or left > 0:
        left -= limit not in used
        limit += 1
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
    yield
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1]
    return sum(map(int, fields.split()[11:13])) / TICKS


def assert_rests(pid):
    """The process does not spin. On a busy machine it gets less of the
    processor, and never more."""
    before, since = cpu_of(pid), time.monotonic()
    time.sleep(WATCHED)
    used = (cpu_of(pid) - before) / (time.monotonic() - since)
    assert used < BUSY, f"{used} of a processor"


@pytest.fixture
def primary():
    """All zones have the same serial."""
    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, primary.serial))]
        # Too large to be received in memory.
        return [whole(query, apex, primary.serial, *(
            f"n{i} TXT {'x' * 250}" for i in range(150)))]

    with ScriptedPrimary(answer) as primary:
        primary.serial = 1
        yield primary


def start(make_server, primary):
    server = make_server(zones={"example": zone_text()}, extra="".join(
        f"zone:\n\tname: {name}\n\tzonefile: {name}.zone\n"
        f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n"
        "\tmin-retry-time: 1\n\tmax-retry-time: 1\n\tmax-refresh-time: 1\n"
        for name in ZONES), options={"verbosity": 1})
    return control.config(server).start()


@pytest.mark.parametrize("spare", (0, 1, 2, 3, 5))
def test_transfers_go_on_when_there_are_some_again(make_server, primary,
                                                   spare):
    server = start(make_server, primary)
    for name in ZONES:
        server.wait_serial(name, 1)
    xfrd = server.role("xfrd")
    with spare_descriptors(xfrd, spare):
        primary.serial = 2
        if spare == 0:
            server.wait_log(": Too many open files")
        assert_rests(xfrd)
        assert server.answer("www.example", "A") == ["192.0.2.1"]
        assert server.serial(ZONES[0]) in (1, 2)
    for name in ZONES:
        server.wait_serial(name, 2)
    assert server.role("xfrd") == xfrd
    # Each zone has said so once for each way in which it failed.
    assert server.read_log().count(": Too many open files") \
        <= 4 * len(ZONES)


def test_commands_wait_for_a_descriptor(make_server, primary):
    server = start(make_server, primary)
    for name in ZONES:
        server.wait_serial(name, 1)
    xfrd = server.role("xfrd")
    with spare_descriptors(xfrd, 0):
        asked = [control.begin(server, "zonestatus", ZONES[0])
                 for _ in range(5)]
        assert_rests(xfrd)
        assert all(one.poll() is None for one in asked)
    for one in asked:
        text = one.communicate(timeout=60)[0]
        assert one.returncode == 0 and text.startswith("zone:\tn0.test\n")
    primary.serial = 2
    for name in ZONES:
        server.wait_serial(name, 2)
    assert server.role("xfrd") == xfrd


@pytest.mark.parametrize("spare", (1, 2))
def test_xfrd_that_cannot_hear_of_the_writer_is_replaced(make_server, primary,
                                                         spare):
    """An xfrd that cannot receive the writer's channel would wait for ever."""
    server = start(make_server, primary)
    for name in ZONES:
        server.wait_serial(name, 1)
    xfrd = server.role("xfrd")
    # The command takes one.
    with spare_descriptors(xfrd, spare):
        asked = control.begin(server, "write")
        server.wait_replaced("xfrd", xfrd)
    assert asked.wait(DEADLINE) == 1
    asked.communicate()
    server.wait_log("(no descriptor is left for a message from main|there is"
                    " no memory or descriptor): ending")
    wait_for("a write", lambda: control.ask(server, "write") == (0, "ok\n"))
    assert all("serial 1" in server.zone_file(name).read_text()
               for name in ZONES)
    primary.serial = 2
    for name in ZONES:
        server.wait_serial(name, 2)


def test_xfrd_that_cannot_hear_of_the_loader_is_replaced(make_server, primary):
    """An xfrd that cannot receive the loader's channel could publish
    nothing."""
    server = start(make_server, primary)
    for name in ZONES:
        server.wait_serial(name, 1)
    xfrd, end = server.role("xfrd"), time.monotonic() + DEADLINE
    # If a socket of a check closes meanwhile, there is a descriptor after all.
    while pathlib.Path(f"/proc/{xfrd}").exists():
        assert time.monotonic() < end
        with spare_descriptors(xfrd, 0):
            server.wait_replaced("loader", server.kill("loader"))
            time.sleep(1)
    server.wait_replaced("xfrd", xfrd)
    primary.serial = 2
    for name in ZONES:
        server.wait_serial(name, 2)
