"""Texts of a catalog, which other people write, are no lines of an answer and
no commands of a terminal."""
import pytest

import control
from catalogs import Primary, catalog, consumer, member, settle, source

CAT = "cat.test"
# Groups, and what is shown of them.
GROUPS = {
    "a newline": (r'"x\010zone: y"', r"x\010zone: y"),
    "an escape sequence": (r'"\027[2J"', r"\027[2J"),
    "quotes": (r'"\"},{\""', '"},{"'),
    "octets that are no UTF-8": (r'"\127\155\255"', r"\127\155\255"),
    "format": ('"%s%n"', "%s%n"),
    "the longest text": ('"' + "x" * 255 + '"', "x" * 255),
    "the longest text when shown": ('"' + r"\200" * 255 + '"',
                                    r"\200" * 250),
}


@pytest.mark.parametrize("what", GROUPS)
def test_group_that_is_no_pattern(make_server, what):
    group, shown = GROUPS[what]
    with Primary() as primary:
        serial = primary.put(CAT, *catalog(
            member("a1", "a.test"), f"group.a1.zones 0 TXT {group}"))
        server = consumer(make_server, primary, own="").start()
        settle(server, CAT, serial)
        refused = source(server, CAT)["refused_members"][0]["text"]
        assert refused.startswith(f"no pattern {shown}")
        code, text = control.ask(server, "catalogs")
        assert code == 0
        assert f"a1.zones.cat.test.: no pattern {shown}" in text
        for answer in (text, control.ask(server, "zonestatus", CAT)[1]):
            assert all(" " <= c <= "~" or c in "\n\t" for c in answer)
