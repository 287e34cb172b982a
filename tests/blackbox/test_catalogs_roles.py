"""Catalog zones whose role changes: consumer, producer, zone of a file."""
import pytest

import catalogs
import control
from catalogs import Primary, catalog, clause, member, members, settle
from harness import wait_for, zone_text

CAT = "cat.test"
FILE = ('zone:\n\tname: out.test\n\tzonefile: "out.zone"\n'
        "\tprovide-xfr: 127.0.0.1 NOKEY\n")
PRODUCER = ("zone:\n\tname: out.test\n\tcatalog: producer\n"
            "\tprovide-xfr: 127.0.0.1 NOKEY\npattern:\n\tname: pp\n"
            '\tzonefile: "out.zone"\n\tcatalog-producer-zone: out.test\n')


def reconfig(server, extra):
    server.extra = extra
    server.write_config()
    status, text = control.ask(server, "reconfig")
    assert status == 0, text


@pytest.mark.parametrize("own", [True, False])
def test_consumer_that_was_a_producer_for_a_moment(make_server, own):
    """The version made here, with a member or empty, does not count."""
    with Primary() as primary:
        primary.put(CAT, *catalog(member("a", "a.test"),
                                  member("b", "b.test")))
        more = catalogs.MEMBER_PATTERN \
            + ("" if own else "\tcatalog-empty: delete\n")
        pattern = ('pattern:\n\tname: pp\n\tzonefile: "shared"\n'
                   "\tcatalog-producer-zone: cat.test\n") if own else ""
        server = catalogs.consumer(make_server, primary, own=more)
        (server.directory / "shared").write_text(zone_text(3))
        server.start()
        settle(server, CAT, 1)
        wait_for("members", lambda: set(members(server)) == {"a.test",
                                                             "b.test"})
        before = server.extra
        reconfig(server, before.replace(
            clause(primary, more=more),
            f"zone:\n\tname: cat.test\n\tcatalog: producer\n{pattern}"))
        if own:
            assert control.ask(server, "addzone", "mine.test", "pp")[0] == 0
        wait_for("a version of this server",
                 lambda: server.serial(CAT) != 1)
        reconfig(server, before + pattern.replace(
            "\tcatalog-producer-zone: cat.test\n", ""))
        wait_for("the primary's version", lambda: server.serial(CAT) == 1)
        settle(server, CAT, 1)
        assert {"a.test", "b.test"} <= set(members(server))
        assert "made it as the producer" in server.read_log()
        assert "member zones: 0 added, 0 changed, 2 deleted" \
            not in server.read_log()
        assert server.stop() == 0
        server.start()
        settle(server, CAT, 1)
        assert {"a.test", "b.test"} <= set(members(server))


def test_serial_of_a_file_does_not_go_back(make_server):
    """The zone of a file becomes a producer, which has none."""
    server = control.config(make_server(extra=FILE))
    (server.directory / "out.zone").write_text(zone_text(2026112801))
    server.start()
    reconfig(server, server.extra.replace(FILE, PRODUCER))
    wait_for("the first version",
             lambda: server.serial("out.test") == 2026112802)
    assert control.ask(server, "addzone", "x.test", "pp")[0] == 0
    wait_for("the second version",
             lambda: server.serial("out.test") == 2026112803)
    assert server.stop() == 0
    server.start()
    wait_for("the catalog", lambda: server.serial("out.test") is not None)
    assert server.serial("out.test") == 2026112803
