"""A zone list that root owns, as with NSD in Debian's unit: it is opened before
root is given up."""
import os
import pwd

import control
from harness import open_files, wait_for, zone_text


def start(make_server, spoil=lambda path: None):
    server = make_server(zones={"example": zone_text()}, extra=(
        "pattern:\n\tname: p\n\tzonefile: %s.zone\n"),
        options={"username": "nobody"})
    path = server.directory / "zone.list"
    server.options["zonelistfile"] = path
    server.write_config()
    control.config(server)
    path.write_text("# NSD zone list\n# name pattern\n")
    os.chmod(path, 0o644)
    (server.directory / "more.test.zone").write_text(zone_text())
    nobody = pwd.getpwnam("nobody")
    os.chown(server.directory, nobody.pw_uid, nobody.pw_gid)
    spoil(path)
    return server.start()


def test_zones_are_added_to_a_list_of_root(make_server):
    server = start(make_server)
    path = server.directory / "zone.list"
    assert control.ask(server, "addzone", "more.test", "p") == (0, "ok\n")
    assert server.answer("www.more.test", "A") == ["192.0.2.1"]
    assert path.read_text().endswith("add more.test p\n")
    assert path.stat().st_uid == 0
    assert "trouble" not in control.ask(server, "status")[1]
    # Only xfrd and main have it open.
    for role, pid in server.roles().items():
        has = str(path) in open_files(pid).values()
        assert has == (role in ("xfrd", "main")), role
    # The next xfrd has it, too.
    old = server.kill("xfrd")
    server.wait_replaced("xfrd", old)
    wait_for("its answer", lambda: control.ask(
        server, "delzone", "more.test") == (0, "ok\n"))


def test_list_that_cannot_be_opened_is_trouble(make_server):
    server = start(make_server, lambda path: path.unlink()
                   or path.symlink_to("elsewhere"))
    reason = f"zone list {server.directory}/zone.list: "
    text = control.ask(server, "status")[1]
    assert f"trouble: zones cannot be added or deleted: {reason}" in text
    code, text = control.ask(server, "addzone", "more.test", "p")
    assert code == 1 and reason in text
