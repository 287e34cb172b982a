"""Zone files that were edited while clients updated the zone: each is kept."""
import control
from test_update_files import (send, serial_of, server,  # noqa: F401
                               served, write, write_file)

KEPT = ["example.zone.edited"] + [f"example.zone.edited.{i}"
                                  for i in range(1, 10)]


def edit(server, line):
    """An update comes, and the file is edited by somebody who knows nothing
    of it."""
    assert send(server, line.split()[0] + "-u") == "NOERROR"
    write_file(server, 3, line)
    return server.zone_file("example").read_text()


def kept(server):
    return [path.read_text() for path in map(
        server.zone_file("example").with_name, KEPT) if path.exists()]


def test_kept_files_are_not_replaced(served):
    first = edit(served, "first TXT mine")
    write(served)
    assert kept(served) == [first]
    second = edit(served, "second TXT mine")
    write(served)
    assert kept(served) == [first, second]
    served.wait_log("it is kept as .*example.zone.edited.1,")
    assert serial_of(served.zone_file("example")) == 5


def test_zone_is_not_written_while_too_many_are_kept(served):
    """Neither the edited file nor those that are kept go."""
    path = served.zone_file("example")
    for name in KEPT:
        path.with_name(name).write_text(name)
    edited = edit(served, "own TXT mine")
    code, text = control.ask(served, "write", "example")
    assert code == 1 and "File exists" in text, text
    served.wait_log("10 files are kept already, up to .*example.zone.edited.9:"
                   " remove those that are not needed")
    assert kept(served) == KEPT
    assert path.read_text() == edited
    path.with_name(KEPT[3]).unlink()
    write(served)
    assert path.with_name(KEPT[3]).read_text() == edited
    assert serial_of(path) == 4
