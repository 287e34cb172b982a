"""The site of the documents, built once for the tests of this folder."""
import os
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of its pages. NSD_SITE: one that is there already."""
    if "NSD_SITE" in os.environ:
        return pathlib.Path(os.environ["NSD_SITE"])
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([TOP / "tools/site", folder], text=True,
                          capture_output=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"
