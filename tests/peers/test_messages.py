"""doc/messages.md says what the tools say about faulty files: ours, and NSD's
if it is the version that the document names."""
import pytest

import messages

CASES = [pytest.param(section, path, id=f"{section.folder.name}-{path.name}")
         for section in messages.SECTIONS for path in section.files()]


@pytest.mark.parametrize("section", messages.SECTIONS,
                         ids=lambda section: section.folder.name)
def test_table_has_a_row_for_each_file_and_no_other(section):
    assert list(section.rows()) == [path.name for path in section.files()]


@pytest.mark.parametrize("section, path", CASES)
def test_row_is_what_the_tools_say(section, path):
    before = section.rows().get(path.name)
    assert before == section.row(path, before), (
        "run tests/peers/messages.py --write and look at what has changed")
