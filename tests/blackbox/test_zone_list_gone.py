"""A zone list that somebody has removed takes no zone with it."""
import control
from harness import wait_for, zone_text

HEAD = "# NSD zone list\n# name pattern\n"
LINES = {"add a.test p\n", "add b.test p\n"}


def test_list_that_is_gone_is_written_anew(make_server):
    server = make_server(zones={"example": zone_text()},
                         extra='pattern:\n\tname: p\n\tzonefile: "%s.zone"\n')
    names = ("a.test", "b.test")
    for name in names:
        server.zone_file(name).write_text(zone_text(3))
    control.config(server).start()
    for name in names:
        assert control.ask(server, "addzone", name, "p") == (0, "ok\n")
    path = server.directory / "zone.list"
    path.unlink()
    server.wait_replaced("xfrd", server.kill("xfrd"))
    wait_for("the list", path.exists)
    wait_for("its lines", lambda: set(path.read_text()[len(HEAD):].splitlines(
        keepends=True)) == LINES)
    assert [server.serial(name) for name in names] == [3, 3]
    assert "zone list" in server.read_log() and " is gone" in server.read_log()
    assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
    assert sorted(control.ask(server, "listzones")[1].splitlines()) == [
        "b.test\tp", "example"]
