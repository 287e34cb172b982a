"""Members of catalogs (RFC 9432) come, change and go with versions of their
catalogs; no bad catalog removes any."""
import pytest

import catalogs as primaries
import control
from harness import wait_for, zone_text

PATTERNS = ('pattern:\n\tname: p\n\tzonefile: "%s.zone"\n'
            'pattern:\n\tname: q\n\tzonefile: "%s.other"\n')


def catalog_text(serial, *members, version="2"):
    """members: "LABEL NAME", perhaps with "group=G" and "coo=C" behind."""
    lines = [f"@ 60 SOA . . {serial} 60 60 3600 60", "@ 60 NS invalid."]
    if version is not None:
        lines.append(f'version 0 TXT "{version}"')
    for member in members:
        label, name, *properties = member.split()
        lines.append(f"{label}.zones 0 PTR {name}.")
        for one in properties:
            key, value = one.split("=")
            lines.append(f"group.{label}.zones 0 TXT {value}" if key == "group"
                         else f"coo.{label}.zones 0 PTR {value}.")
    return "\n".join(lines) + "\n"


def consumer(name, options="", pattern="p"):
    member = f"\tcatalog-member-pattern: {pattern}\n" if pattern else ""
    return (f"zone:\n\tname: {name}\n\tzonefile: {name}.zone\n"
            f"\tcatalog: consumer\n{member}{options}")


class Catalogs:
    """A server with catalogs from zone files."""

    def __init__(self, make_server, *names, options="", more="", pattern="p"):
        self.server = make_server(
            zones={"example": zone_text()},
            extra=PATTERNS + more + "".join(
                consumer(name, options, pattern) for name in names))
        for name in "abcde":
            self.server.zone_file(f"{name}.test").write_text(zone_text(3))
            (self.server.directory / f"{name}.test.other").write_text(
                zone_text(7))
        control.config(self.server)

    def write(self, name, *args, **more):
        self.server.zone_file(name).write_text(catalog_text(*args, **more))

    def publish(self, name, *args, **more):
        self.write(name, *args, **more)
        status, text = control.ask(self.server, "reload", name)
        assert (status, text) == (0, "ok\n"), text

    def members(self):
        """{name: (pattern, ID)} of the zone list."""
        path = self.server.directory / "zone.list"
        lines = path.read_text().splitlines() if path.exists() else []
        rows = [line.split() for line in lines]
        return {row[1]: (row[2], row[3]) for row in rows
                if len(row) == 4 and row[0] != "del" and row[0] != "#"}

    def wait_members(self, **expected):
        """Of names in .test: "PATTERN LABEL", of the first catalog."""
        wanted = {f"{name}.test": (row.split()[0],
                                   f"{row.split()[1]}.zones."
                                   f"{(row.split() + ['cat'])[2]}.")
                  for name, row in expected.items()}
        wait_for(f"members {wanted}, not {self.members()}",
                 lambda: self.members() == wanted)


@pytest.fixture
def catalogs(make_server):
    def make(*names, **more):
        return Catalogs(make_server, *(names or ("cat",)), **more)
    return make


def serves(server, name, serial):
    return server.rcode(name, "SOA") == "NOERROR" and server.serial(
        name) == serial


# ---- members come and go ----------------------------------------------------

def test_members_of_a_catalog_come_change_and_go(catalogs):
    """RFC 9432 sections 4.1 and 5.3"""
    c = catalogs()
    c.write("cat", 1, "m1 a.test", "m2 b.test group=q")
    server = c.server.start()
    c.wait_members(a="p m1", b="q m2")
    wait_for("members to be served", lambda: serves(server, "a.test", 3)
             and serves(server, "b.test", 7))
    c.publish("cat", 2, "m1 a.test group=q", "m3 c.test")
    c.wait_members(a="q m1", c="p m3")
    wait_for("members to be served", lambda: serves(server, "a.test", 7)
             and serves(server, "c.test", 3))
    assert server.rcode("b.test", "SOA") == "REFUSED"


# ---- state of members -------------------------------------------------------

def test_reset_member_is_fetched_whatever_its_serial(make_server):
    """RFC 9432 sections 5.4 and 5.6: the file of the zone, which has a higher
    serial, is state of it, too."""
    with primaries.Primary() as primary:
        primary.serials["a.test."] = 7
        primary.put("cat.test", *primaries.catalog(
            primaries.member("m1", "a.test")))
        server = primaries.consumer(make_server, primary).start()
        server.wait_serial("a.test", 7)
        assert control.ask(server, "write", "a.test") == (0, "ok\n")
        wait_for("the zone file", server.zone_file("a.test").exists)
        primary.serials["a.test."] = 3
        primary.give(server, "cat.test", *primaries.catalog(
            primaries.member("m2", "a.test")))
        server.wait_serial("a.test", 3)


# ---- the log ----------------------------------------------------------------

def test_reasons_name_the_node(catalogs):
    """NSD's texts, where it has one."""
    c = catalogs()
    c.write("cat", 1, "m1 a.test")
    server = c.server.start()
    c.wait_members(a="p m1")
    for serial, version, nodes, reason in (
            (2, None, ["m2 b.test"], "'version.cat.' TXT RRset not found"),
            (3, "3", ["m2 b.test"],
             "'version.cat.' TXT RR with value \"2\" not found"),
            (4, "2", ["m2 b.test", "m2 c.test"],
             "only a single PTR RR expected on 'm2.zones.cat.'"),
            (5, "2", ["m2 b.test coo=x coo=y"],
             "only a single PTR RR expected on 'coo.m2.zones.cat.'")):
        c.publish("cat", serial, *nodes, version=version)
        server.wait_log(
            f"error: invalid catalog consumer zone 'cat': {reason}")
        assert f"\tcatalog-invalid: {reason}" in control.ask(
            server, "zonestatus", "cat")[1]
    c.wait_members(a="p m1")
    c.publish("cat", 6, "m2 b.test")
    server.wait_log("notice: catalog cat: the version with serial 6 is valid")
    c.wait_members(b="p m2")
