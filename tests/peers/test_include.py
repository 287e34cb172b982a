"""Places where our nsd-checkzone and other checkers look for an included
file."""
import os
import pathlib
import shutil
import subprocess

import pytest

OURS = pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve() \
    / "nsd-checkzone"
ZONE = "@ 3600 IN SOA a. b. 1 2 3 4 5\n@ 3600 IN NS a.\n$INCLUDE more\n"
CHECKS = {
    "ours": ([OURS, "-p", "example"], "folder/zone"),
    "nsd": (["/usr/sbin/nsd-checkzone", "-p", "example"], "folder/zone"),
    "bind": (["named-checkzone", "-i", "none", "-o", "-", "example"],
             "folder/zone"),
}
# The file included if there is one in both places, and if there is one beside
# the zone alone.
TAKEN = {"ours": ("here", "beside"), "nsd": ("here", None),
         "bind": ("here", None)}


@pytest.mark.parametrize("name", CHECKS)
def test_included_file_is_looked_for_in_the_working_directory(name, tmp_path):
    command, zone = CHECKS[name]
    assert shutil.which(command[0]), f"{command[0]} is not installed"
    (tmp_path / "folder").mkdir()
    (tmp_path / zone).write_text(ZONE)
    (tmp_path / "folder/more").write_text("beside 3600 IN TXT x\n")
    (tmp_path / "more").write_text("here 3600 IN TXT x\n")

    def taken():
        done = subprocess.run([*command, zone], cwd=tmp_path, timeout=60,
                              capture_output=True, text=True, check=False)
        found = [word for word in ("here", "beside")
                 if f"\n{word}" in done.stdout]
        assert (done.returncode == 0) == bool(found), done
        return found[0] if found else None

    both = taken()
    (tmp_path / "more").unlink()
    assert (both, taken()) == TAKEN[name]
