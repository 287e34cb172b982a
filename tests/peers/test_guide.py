"""The commands of doc/primary.md, secondary.md, guarding.md, catalogs.md and
update.md do what they say."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from ports import free_port

pytestmark = pytest.mark.lasts(20)

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["NSD_BUILD"])
PORTS = ("5300", "5301", "5302", "5310", "5320", "5330", "5853")


def end(path):
    """The process that a pid file names, if it was left."""
    try:
        os.kill(int(path.read_text()), signal.SIGKILL)
    except (OSError, ValueError):
        pass


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    for name in ("primary/nsd.pid", "secondary/nsd.pid", "primary/named.pid",
                 "first/nsd.pid", "second/nsd.pid", "one/nsd.pid",
                 "two/nsd.pid", "nsd.pid"):
        end(tmp_path / name)


def paste(name, folder):
    """Runs each block of commands of a page; returns their output."""
    text = (SOURCE / "doc" / name).read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
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
    return said


def test_primary_can_be_pasted(folder):
    said = paste("primary.md", folder)
    signed, served, validated, changed, added, stopped = said
    assert signed.endswith("zone example is ok\n")
    assert served.startswith("192.0.2.2\nA 13 2 ")
    assert "; fully validated\n" in validated
    assert validated.count("; negative response, fully validated\n") == 1
    lines = changed.splitlines()
    assert lines[-3:] == ["ok", "192.0.2.22", "4"]
    assert "\tpattern: signed\n" in added
    assert added.endswith("192.0.2.22\nok\n")
    assert stopped == "ok\n"


def test_secondary_can_be_pasted(folder):
    said = paste("secondary.md", folder)
    _, served, changed, added, figures, stopped = said
    assert "\tstate: ok\n" in served
    assert served.endswith("192.0.2.2\n")
    assert changed.startswith("192.0.2.22\nok\n; zone example written by NSD")
    assert "; received update to serial 2 at " in changed
    assert "\tpattern: from-bind\n" in added and added.endswith("ok\n")
    assert figures.startswith("server0.queries=")
    assert "nsd_zones_secondary 1\n" in figures
    assert stopped == "ok\n"


def test_guarding_can_be_pasted(folder):
    said = paste("guarding.md", folder)
    over_tls, transferred, cookie, rolled, limited, stopped = said
    assert over_tls == "192.0.2.2\n"
    assert "\tstate: ok\n" in transferred
    assert transferred.endswith("192.0.2.2\n")
    assert cookie.endswith("(good)\n")
    lines = rolled.splitlines()
    assert lines[:2] == ["ok", "ok"] and lines[-2] == "ok"
    assert lines[2].startswith("source : ")
    assert [line.split(":")[0].strip() for line in lines[3:5]] == [
        "active", "staging"]
    assert lines[-1].endswith("(good)")
    lines = limited.splitlines()
    assert lines[1].endswith("server: rrl-ratelimit has changed")
    assert lines[2:4] == ["reconfig completed: changes applied", "ok"]
    assert int(lines[4]) > 0
    assert "ratelimit block www.example. type positive" in limited
    assert "target 127.0.0.0/24 query 127.0.0.1 A" in limited
    assert int(lines[-1].split("=")[1]) > 0
    assert stopped == "ok\nok\n"


def test_catalogs_can_be_pasted(folder):
    _, added, gone = paste("catalogs.md", folder)
    lines = added.splitlines()
    assert lines[:2] == ["ok", "ok"] and lines[2] == lines[3]
    assert lines[4:6] == ["zone:\tshop.example", "\tpattern: customer"]
    assert re.fullmatch(r"\tcatalog-member-id: [0-9a-z]+\.zones\.catalog"
                        r"\.example\.", lines[6])
    assert gone == "ok\n" * 4


def test_update_can_be_pasted(folder):
    """RFC 2136; one key, one type, names that begin alike."""
    _, changed, refused = paste("update.md", folder)
    assert changed.startswith('"token"\n')
    assert '\tupdate: "serial 2 from 127.0.0.1 key acme at ' in changed
    assert "update failed: REFUSED\n" in refused
    assert "update-policy does not allow A of www.example." in refused
    assert refused.endswith("ok\n")
