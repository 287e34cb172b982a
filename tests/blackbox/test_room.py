"""Zones without room are refused, and the message names the cause. The rest is
served, and no process ends of it."""

import re
import resource

import pytest

import harness
from harness import store_stat, wait_for, zone_text

pytestmark = pytest.mark.plain

LARGE = "".join(f"h{i} TXT some-more-text-for-memory-{i}\n"
                for i in range(200000))


@pytest.mark.parametrize("in_file", [False, True])
def test_store_that_may_not_grow(nsd, directory, in_file):
    options = {"database": f'"{directory}/zones.db"'} if in_file else {}
    server = nsd(zones={"example": zone_text(1), "other": zone_text(1)},
                 options=options)
    roles = server.roles()
    loader = roles["loader"]
    before = resource.prlimit(loader, resource.RLIMIT_FSIZE)
    limit = store_stat(loader).st_size + (4 << 20)
    resource.prlimit(loader, resource.RLIMIT_FSIZE, (limit, before[1]))
    server.write_zone("example", zone_text(2) + LARGE)
    server.reload()
    server.wait_log("zone example file example.zone read with")
    assert re.search(r"zone example: no room: the zone store is a file, and may"
                     rf" not be larger than {limit >> 20} MiB, holes included"
                     r" \(RLIMIT_FSIZE: ulimit -f, LimitFSIZE=\)",
                     server.read_log())
    assert server.serial("example") == 1
    # Other zones change meanwhile.
    server.write_zone("other", zone_text(2))
    server.reload()
    server.wait_serial("other", 2)
    # With more room it is read, though it has not changed since.
    resource.prlimit(loader, resource.RLIMIT_FSIZE, before)
    server.reload()
    server.wait_serial("example", 2)
    assert server.answer("www.other", "A") == ["192.0.2.1"]
    assert server.roles() == roles


@pytest.mark.parametrize("in_file", [False, True])
def test_first_load_that_does_not_fit(make_server, directory, in_file):
    """The zones that fit are served from the start."""
    options = {"database": f'"{directory}/zones.db"'} if in_file else {}
    server = make_server(zones={"example": zone_text(1) + LARGE,
                                "other": zone_text(1)}, options=options)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The bitmaps of all the spans that there may be come first.
    resource.setrlimit(resource.RLIMIT_FSIZE, ((514 << 20) + (4 << 20), hard))
    try:
        server.start(ready=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    server.wait_log("2 zones: 1 read, 1 failed")
    assert "zone example: no room: the zone store" in server.read_log()
    assert server.answer("www.other", "A") == ["192.0.2.1"]
    assert server.rcode("www.example", "A") == "SERVFAIL"
    assert "died" not in server.read_log()


# ---- two versions in one store -------------------------------------------------------

def start_with_little_room(server):
    """A store of 128 MiB: half of what the system has of addresses."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (250 << 20, before[1]))
    try:
        server.start(ready=False)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    server.wait_log(r"\d+ zones: \d+ read, 0 failed")
    server.wait_serving()


def half_of_it(serial, names=12000):
    """A zone in canonical order that takes 6 KB a name: 72 MB."""
    strings = "".join(f" {serial:04}{'x' * 246}" for _ in range(23))
    return zone_text(serial) + "".join(
        f"z{i:05} TXT {i} {serial}{strings}\n" for i in range(names))


@pytest.fixture
def crowded(make_server):
    server = make_server(zones={"example": half_of_it(1), "other": zone_text(1)},
                         options={"server-count": 2})
    start_with_little_room(server)
    return server


def workers_of(server):
    return {p for r, p in server.roles().items() if r.startswith("server")}


@pytest.mark.plain_only  # a sanitizer has more room than any limit
def test_version_without_room_beside_the_old_one(crowded):
    """Another store is filled for a version without room, and replaces the
    full one."""
    server = crowded
    workers = workers_of(server)
    server.write_zone("example", half_of_it(2))
    server.write_zone("other", zone_text(2))
    server.reload()
    server.wait_log("zone example: no room: the zone store is full: the system"
                    " gave it 128 MiB of addresses")
    server.wait_log("another zone store is filled from zone files")
    server.wait_serial("example", 2)
    assert server.serial("other") == 2
    wait_for("new workers", lambda: len(workers_of(server) - workers) == 2)
    # And so once more, as often as it takes.
    server.write_zone("example", half_of_it(3))
    server.reload()
    server.wait_serial("example", 3)
    # A version that fits beside the old one needs no other store.
    known = len(server.read_log())
    server.write_zone("other", zone_text(3))
    server.reload()
    server.wait_serial("other", 3)
    assert "another zone store" not in server.read_log()[known:]


def kill_who_fills(server):
    """Kills a loader while it fills another store. On a busy machine it may be
    done before that: then tries again."""
    for serial in range(2, 12):
        known = len(server.read_log())
        served, workers = server.serial("example"), workers_of(server)
        loader = server.role("loader")
        server.write_zone("example", half_of_it(serial))
        server.reload()
        server.wait_log("another zone store is filled from zone files", known)
        # Main ends the old one.
        wait_for("the next loader", lambda: server.roles().get(
            "loader", loader) != loader)
        server.kill("loader")
        wait_for("its end", lambda: "the one that is served stays"
                 in server.read_log()[known:]
                 or server.serial("example") != served)
        if server.serial("example") == served:
            return served, workers
        wait_for("new workers",
                 lambda: len(workers_of(server) - workers) == 2)
    raise AssertionError("each loader was done before it was killed")


@pytest.mark.plain_only  # a sanitizer has more room than any limit
@pytest.mark.parametrize("fault", ["too large", "another zone", "death"])
def test_other_store_that_lacks_a_zone_is_not_served(crowded, fault):
    """The served store stays, and the workers are not replaced."""
    server = crowded
    served, workers = 1, workers_of(server)
    if fault == "death":
        served, workers = kill_who_fills(server)
    else:
        if fault == "another zone":
            server.write_zone("other", zone_text(2) + "x A 300.0.0.1\n")
        server.write_zone("example", half_of_it(
            2, 24000 if fault == "too large" else 12000))
        server.reload()
    server.wait_log("another zone store is filled from zone files")
    server.wait_log("the one that is served stays")
    server.wait_log("the loader takes over")
    wait_for("a loader", lambda: server.roles().get("loader"))
    assert workers_of(server) == workers
    assert server.serial("example") == served
    assert server.serial("other") == 1
    # The served store takes changes as before.
    server.write_zone("other", zone_text(20))
    server.write_zone("example", half_of_it(20, 10))
    server.reload()
    server.wait_serial("other", 20)
    server.wait_serial("example", 20)


@pytest.mark.plain_only  # a sanitizer has more room than any limit
def test_updates_are_in_no_zone_file(make_server):
    """No other store is filled, as it would lose the updates."""
    server = make_server(zones={"example": half_of_it(1), "other": zone_text(1)},
                         updates=True)
    start_with_little_room(server)
    assert server.update("zone other.\nadd new 60 TXT \"fresh\"\n") \
        == ("ok", 1, 0)
    roles = server.roles()
    server.write_zone("example", half_of_it(2))
    server.reload()
    server.wait_log("no other zone store is filled: updates have changed zones")
    assert server.answer("new.other", "TXT") == ['"fresh"']
    assert server.serial("example") == 1
    assert server.roles() == roles
