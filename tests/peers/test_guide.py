"""The commands of doc/secondary.md do what they say."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from ports import free_port

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["NSD_BUILD"])
PORTS = ("5300", "5310", "5320", "5330")


def end(path):
    """The process that a pid file names, if it was left."""
    try:
        os.kill(int(path.read_text()), signal.SIGKILL)
    except (OSError, ValueError):
        pass


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    end(tmp_path / "secondary/nsd.pid")
    end(tmp_path / "primary/named.pid")


def test_guide_can_be_pasted(folder):
    text = (SOURCE / "doc/secondary.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 6
    ports = {port: str(free_port()) for port in PORTS}
    said = []
    for block in blocks:
        for port, other in ports.items():
            block = re.sub(rf"\b{port}\b", other, block)
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block], cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
            env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"
                                       ":/usr/sbin:/sbin"})
        assert result.returncode == 0, result.stdout
        said.append(result.stdout)
    _, served, changed, added, figures, stopped = said
    assert "\tstate: ok\n" in served
    assert served.endswith("192.0.2.2\n")
    assert changed.startswith("192.0.2.22\nok\n; zone example written by NSD")
    assert "; received update to serial 2 at " in changed
    assert "\tpattern: from-bind\n" in added and added.endswith("ok\n")
    assert figures.startswith("server0.queries=")
    assert "nsd_zones_secondary 1\n" in figures
    assert stopped == "ok\n"
