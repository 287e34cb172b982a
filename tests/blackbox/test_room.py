"""What has no room is refused, and called by its name. The rest is served, and no
process ends of it."""

import os
import pathlib
import re
import resource

import pytest

from harness import zone_text

LARGE = "".join(f"h{i} TXT some-more-text-for-memory-{i}\n"
                for i in range(200000))


def store_size(loader):
    """Octets of the store's file, holes included."""
    for fd in pathlib.Path(f"/proc/{loader}/fd").iterdir():
        if re.search("nsd-store|zones.db", os.readlink(fd)):
            return fd.stat().st_size
    raise AssertionError("no store")


@pytest.mark.parametrize("in_file", [False, True])
def test_store_that_may_not_grow(nsd, directory, in_file):
    options = {"database": f'"{directory}/zones.db"'} if in_file else {}
    server = nsd(zones={"example": zone_text(1), "other": zone_text(1)},
                 options=options)
    roles = server.roles()
    loader = roles["loader"]
    before = resource.prlimit(loader, resource.RLIMIT_FSIZE)
    limit = store_size(loader) + (4 << 20)
    resource.prlimit(loader, resource.RLIMIT_FSIZE, (limit, before[1]))
    server.write_zone("example", zone_text(2) + LARGE)
    server.reload()
    server.wait_log("zone example file example.zone read with")
    assert re.search(r"zone example: no room: the zone store is a file, and may"
                     rf" not be larger than {limit >> 20} MiB, holes included"
                     r" \(RLIMIT_FSIZE: ulimit -f, LimitFSIZE=\)",
                     server.read_log())
    assert server.serial("example") == 1
    # Others come and go meanwhile.
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
    """From the start: what fits is served."""
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
