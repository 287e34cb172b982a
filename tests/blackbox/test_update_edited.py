"""Zone files that were edited while clients updated the zone: each is kept."""
import control
from harness import wait_for, zone_text
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


def test_last_kept_file_is_replaced_if_all_names_are_taken(served):
    path = served.zone_file("example")
    for name in KEPT:
        path.with_name(name).write_text(name)
    edited = edit(served, "own TXT mine")
    write(served)
    served.wait_log("it is kept as .*example.zone.edited.9 in place of an older"
                    " one, as all such names are taken,")
    assert kept(served) == KEPT[:-1] + [edited]
    assert serial_of(path) == 4


def test_link_that_leads_nowhere_is_a_name_that_is_taken(served):
    first = served.zone_file("example").with_name(KEPT[0])
    first.symlink_to("nowhere")
    edited = edit(served, "own TXT mine")
    write(served)
    assert first.is_symlink()
    assert first.with_name(KEPT[1]).read_text() == edited


def test_edit_that_comes_while_the_zone_is_written(served):
    """Whenever it comes, it is the zone's file or kept."""
    path = served.zone_file("example")
    write_file(served, 10, *(f"n{i} TXT long-enough" for i in range(20000)))
    assert control.ask(served, "reload", "example")[0] == 0
    served.wait_serial("example", 10)
    for i in range(6):
        assert send(served, f"u{i}") == "NOERROR"
        edited = path.with_name("own")
        edited.write_text(zone_text(3) + f"own{i} TXT mine\n")
        writing = control.begin(served, "write", "example")
        wait_for("the new file", lambda w=writing: w.poll() is not None
                 or path.with_name("example.zone~").exists())
        edited.rename(path)
        assert writing.wait() == 0
        files = [path.read_text(), *kept(served)]
        assert any(f"own{i} TXT mine" in text for text in files)
        write(served)
