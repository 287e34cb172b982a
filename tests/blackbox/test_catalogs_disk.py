"""A consumer of a catalog whose disk takes no lines of the zone list."""
import errno

from catalogs import Primary, catalog, consumer, member, members, settle
from harness import BUILD, wait_for
from test_disk_fails import WRITES, Disk

CAT = "cat.test"
COUNT = 60
TOLD = 20


def test_members_that_cannot_be_listed_are_told_shortly(make_server,
                                                         directory):
    """A few lines, however many members there are; they come later."""
    disk = Disk(directory / "failing")
    with Primary() as primary:
        serial = primary.put(CAT, *catalog(member("a", "a.test")))
        server = consumer(make_server, primary, options={"sandbox": "no"})
        server.program = BUILD / "tests/lib/nsd_failing"
        server.environment["NSD_FAILING"] = str(directory / "failing")
        server.start()
        settle(server, CAT, serial)
        wait_for("the first", lambda: set(members(server)) == {"a.test"})
        known = len(server.read_log())
        disk.fail(errno.ENOSPC, "zone.list", WRITES)
        primary.put(CAT, *catalog(member("a", "a.test"), *(
            member(f"m{i}", f"m{i}.test") for i in range(COUNT))))
        primary.notify(server, CAT)
        server.wait_log(f"{COUNT - TOLD} more member zones are not taken",
                        known)
        said = server.read_log()[known:]
        assert said.count("cannot be changed") == 0
        assert said.count("is not taken: ") == TOLD
        disk.mend()
        wait_for("the others", lambda: len(members(server)) == COUNT + 1)
