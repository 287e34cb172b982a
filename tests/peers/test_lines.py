"""The table "Lines of the log" of doc/messages.md has the lines that our server
and Debian's NSD log."""
import lines


def test_lines_of_the_log_are_those_of_the_table():
    made = lines.document(lines.collect())
    assert made == lines.DOCUMENT.read_text(), (
        "run tests/peers/lines.py --write and look at what has changed")
