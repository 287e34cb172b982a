"""Without xfrdfile nothing of a secondary zone is kept over a restart: the journal
lies in a folder of its own below xfrdir, which goes with the server."""
import pytest

from harness import wait_for, zone_text
from written import Primary, secondary


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


def private_folders(xfrdir):
    return sorted(path for path in xfrdir.iterdir()
                  if path.name.startswith("nsd-xfr-"))


def test_two_servers_in_one_folder_transfer(make_server, primary, directory):
    xfrdir = directory / "xfr"
    xfrdir.mkdir()
    servers = []
    for name in "one", "two":
        server = make_server(name, zones={"example": zone_text()},
                             extra=secondary(primary, file=None), options={
                                 "xfrdfile": '""', "zonelistfile": '""',
                                 "zonesdir": f'"{directory}/one"',
                                 "xfrdir": f'"{xfrdir}"'})
        server.write_zone("example", zone_text())
        servers.append(server.start())
    for server in servers:
        server.wait_serial("s.test", 1)
    folders = private_folders(xfrdir)
    assert len(folders) == 2
    for folder in folders:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert list(folder.glob("*.seg"))
    # The folder is there for the next xfrd.
    primary.serial = 2
    servers[0].wait_replaced("xfrd", servers[0].kill("xfrd"))
    servers[0].wait_serial("s.test", 2)
    assert private_folders(xfrdir) == folders
    for server in servers:
        assert server.stop() == 0
    assert private_folders(xfrdir) == []
    assert not (directory / "one" / ".journal").exists()
    # The next one asks anew.
    primary.serial = 1
    servers[0].start()
    wait_for("the zone", lambda: servers[0].rcode("s.test", "SOA")
             == "NOERROR")
    assert servers[0].serial("s.test") == 1


def test_folder_that_cannot_be_made_is_told(make_server, primary, directory):
    server = make_server(zones={"example": zone_text()},
                         extra=secondary(primary, file=None), options={
                             "xfrdfile": '""',
                             "xfrdir": f'"{directory}/none"'}).start()
    server.wait_log("cannot make a folder in xfrdir .*/none: No such file")
    server.wait_log("so no zone can be transferred")
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.stop() == 0
