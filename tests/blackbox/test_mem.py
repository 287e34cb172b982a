"""nsd-mem: how much memory the server will take (doc/surface.md 2.5)."""

import re
import subprocess

import control

import pytest
from harness import (BUILD, DEADLINE, is_sanitized, read_proc, wait_for,
                     zone_text)

pytestmark = pytest.mark.plain

PROGRAM = BUILD / "nsd-mem"


def run(*arguments, cwd=None):
    return subprocess.run([str(PROGRAM), *map(str, arguments)], cwd=cwd,
                          capture_output=True, text=True, timeout=DEADLINE,
                          check=False, stdin=subprocess.DEVNULL)


def numbers(text):
    """{what: octets}, of the last part that has it."""
    return {what: int(number.replace(".", "")) for number, what in
            re.findall(r"^ *([\d.]+) (\S.*)$", text, re.M)}


def big_zone(names):
    return zone_text() + "".join(
        f"name-{i}\tIN A 10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}\n"
        for i in range(names))


def test_zones_then_total_then_summary(make_server):
    server = make_server(zones={"a.test": zone_text(),
                                "b.test": big_zone(3000)})
    result = run("-c", server.config)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "zone a.test"
    assert re.fullmatch(r" {8,}[\d.]{1,7} zone data", lines[1])
    assert lines[2] == "zone b.test"
    assert re.fullmatch(r"[ \d.]{15} zone data", lines[3])
    assert lines[4] == "" and lines[5] == "total"
    at = lines.index("summary")
    assert lines[at - 1] == ""
    assert all(re.fullmatch(r" *\d{1,3}(\.\d{3})* \S.*", line)
               and len(line.lstrip().split()[0]) <= 15
               for line in lines[6:at - 1] + lines[at + 1:])
    found = numbers(result.stdout)
    total = found["ram usage (excl space for buffers)"]
    assert found["data of all zones"] < total
    assert found["RRL table, once many clients have asked"] == 8000000
    assert found["ram usage while the largest zone is replaced"] >= total


def at_rest(server):
    """Octets of all processes, a shared page once."""
    return 1024 * sum(
        int(re.search(r"^Pss:\s+(\d+)", read_proc(pid, "smaps_rollup"),
                      re.M)[1]) for pid in server.roles().values())


def check_said(server):
    said = numbers(run("-c", server.config).stdout)
    server.start()

    def mapped():
        _, text = control.ask(server, "stats_more")
        return int(re.search(r"store.mapped=(\d+)", text)[1])
    image = said["size of a database: image"]
    wait_for("the store", lambda: 0.9 < mapped() / image < 1.1)
    if not is_sanitized():
        total = said["ram usage (excl space for buffers)"]
        # Pages of the program count for less while other servers have them.
        wait_for("the memory", lambda: 0.85 < at_rest(server) / total < 1.1)
    return said


def test_the_server_takes_what_was_said(make_server):
    said = check_said(control.config(make_server(
        zones={"a.test": big_zone(60000), **{
            f"z{i}.test": zone_text() for i in range(200)}},
        options={"server-count": 3})))
    # The zone is built beside itself.
    assert (said["ram usage while the largest zone is replaced"]
            > said["ram usage (excl space for buffers)"]
            + said["data of all zones"] / 2)


def test_many_zones_take_what_was_said(make_server):
    check_said(control.config(make_server(
        zones={f"zone-{i:05}.test": zone_text() for i in range(10000)})))


def test_a_zone_file_alone(directory):
    (directory / "z").write_text(big_zone(100))
    result = run("example", "z", cwd=directory)
    assert result.returncode == 0
    assert result.stdout.startswith("zone example\n")
    assert numbers(result.stdout)["data of all zones"] > 4000


def test_bad_zone_files_are_told_and_no_failure(make_server):
    server = make_server(zones={"a.test": zone_text(), "b.test": None,
                                "c.test": "what\n"})
    result = run("-c", server.config)
    assert result.returncode == 0
    assert result.stdout.count("zone data (not loaded)") == 2
    assert "b.test.zone does not exist" in result.stderr
    assert "c.test.zone" in result.stderr
    assert "summary" in result.stdout


def test_wrong_use(make_server, directory):
    server = make_server(zones={})
    server.config.write_text("server: port: x\n")
    result = run("-c", server.config)
    assert result.returncode == 1
    assert "expected a number" in result.stderr
    assert run("-c", directory / "absent").returncode == 1
    assert run("one").returncode == 1
    assert run("-x").returncode == 1
    result = run("-h")
    assert result.returncode == 0 and result.stdout.startswith("Usage: ")


def test_no_zones(make_server):
    result = run("-c", make_server(zones={}).config)
    assert result.returncode == 0
    assert numbers(result.stdout)["data of all zones"] == 0
