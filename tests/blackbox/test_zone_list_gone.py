"""A zone list that somebody has removed takes no zone with it."""
import control
from harness import wait_for, zone_text

HEAD = "# NSD zone list\n# name pattern\n"
LINES = {"add a.test p\n", "add b.test p\n"}


def read(path):
    return set(path.read_text()[len(HEAD):].splitlines(keepends=True))


def test_list_that_goes_while_it_is_written_to(make_server):
    server = make_server(zones={"example": zone_text()},
                         extra='pattern:\n\tname: p\n\tzonefile: "%s.zone"\n')
    for name in "abcd":
        server.zone_file(f"{name}.test").write_text(zone_text(3))
    control.config(server).start()
    path = server.directory / "zone.list"
    for name in "ab":
        assert control.ask(server, "addzone", f"{name}.test", "p")[0] == 0
    path.unlink()
    assert control.ask(server, "addzone", "c.test", "p") == (0, "ok\n")
    # What was told ok is there, and so is all that was there before.
    assert read(path) == LINES | {"add c.test p\n"}
    path.unlink()
    assert control.ask(server, "delzone", "a.test") == (0, "ok\n")
    assert "add b.test p\n" in read(path)
    assert "add a.test p\n" not in read(path)
    # Another one in its place is none that we have written.
    (server.directory / "other").write_text(HEAD)
    (server.directory / "other").rename(path)
    assert control.ask(server, "addzone", "d.test", "p") == (0, "ok\n")
    server.wait_replaced("xfrd", server.kill("xfrd"))
    wait_for("control", lambda: control.ask(server, "status")[0] == 0)
    for name in "bcd":
        assert server.serial(f"{name}.test") == 3
        assert f"add {name}.test p\n" in read(path)


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
