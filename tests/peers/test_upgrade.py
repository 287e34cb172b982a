"""The ten steps of doc/upgrade.md, and the way back: each of their commands, on a
machine that has Debian's NSD.

What is at /etc/nsd, /var/lib/nsd, /run/nsd and /usr/sbin is another folder for the
commands than for the machine, and all processes end with the shell that runs them.
Played are systemctl, and apt-get, which unpacks packages that the test makes."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

import debian_machine
from servers import build_dir

pytestmark = pytest.mark.lasts(10)

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PLACES = ("etc", "var", "run", "sbin")
ZONES = [f"z{n}.test" for n in range(20)]
ZONE = """$TTL 300
@	IN SOA ns host 7 3600 900 1209600 300
	IN NS ns
ns	IN A 192.0.2.1
"""
# The build of this test may have other paths than the package.
CONF = """\
	rrl-ratelimit: 0
	pidfile: "/run/nsd/nsd.pid"
pattern:
	name: added
	zonefile: "zones/%s.zone"
"""
CONTROL_PROGRAM = """#!/bin/sh
exec /usr/sbin/nsd-control.built -c /etc/nsd/nsd.conf "$@"
"""
CONTROL = """\
Package: nsd
Version: {version}
Architecture: all
Maintainer: nobody <nobody@example>
Description: for a test
"""
# A service manager that waits until a service is ready, or has ended.
SYSTEMCTL = """#!/bin/bash
wait_until() {
	for _ in {1..600}; do
		! "$@" >/dev/null 2>&1 || exit 0
		sleep 0.1
	done
	exit 1
}
is_gone() {
	! pgrep nsd
}
case $1 in
start)
	/usr/sbin/nsd -c /etc/nsd/nsd.conf </dev/null >>output 2>&1 || exit 1
	wait_until nsd-control status
	;;
stop)
	nsd-control stop >/dev/null
	wait_until is_gone
	;;
esac
"""
# apt-get install -y [--allow-downgrades] FILE | nsd=VERSION
APT_GET = """#!/bin/bash -e
package=${!#}
case $package in
nsd=*) package=old_${package#nsd=}.deb ;;
esac
dpkg -x "$package" unpacked
cp unpacked/usr/sbin/* /usr/sbin/
rm -r unpacked
"""
# check VERSION SERIAL ZONE... : which server runs, and what it serves.
CHECK = """
check() {
	nsd-control status | grep "^version: $1"
	! nsd-control status | grep trouble
	for zone in "${@:2}"; do
		for _ in {1..600}; do
			! dig +short +time=5 @127.0.0.1 -p $PORT "$zone" SOA |
				grep -q ' 7 3600 ' || continue 2
			sleep 0.1
		done
		echo "$zone is not served"
		exit 1
	done
}
"""


def make_package(path, programs, version):
    """A package with programs alone."""
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        root.chmod(0o755)
        (root / "usr/sbin").mkdir(parents=True)
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN/control").write_text(CONTROL.format(version=version))
        for program in programs:
            shutil.copy(program, root / "usr/sbin")
        if version.startswith("5"):
            program = root / "usr/sbin/nsd-control"
            program.rename(f"{program}.built")
            program.write_text(CONTROL_PROGRAM)
            program.chmod(0o755)
        subprocess.run(["dpkg-deb", "-Znone", "--build", root, path],
                       check=True, capture_output=True, timeout=60)


def blocks_of(page):
    """The commands of a page, a text for each block of them."""
    text = (SOURCE / "doc" / page).read_text()
    return [re.sub(f"^{indent}", "", block, flags=re.M)
            for indent, block in re.findall(
                r"^( *)```sh\n(.*?)^ *```", text, re.M | re.S)]


class Upgraded(debian_machine.Machine):
    def __init__(self, folder):
        super().__init__(folder)
        for zone in [*ZONES, "added.test", "later.test"]:
            (folder / f"etc/zones/{zone}.zone").write_text(ZONE)
        self.configure("server:\n" + CONF + "".join(
            f"zone:\n\tname: {zone}\n\tinclude-pattern: added\n"
            for zone in ZONES))
        self.install(debian_machine.DEBIAN)
        self.work = folder / "work"
        played = folder / "played"
        for made in (self.work, played):
            made.mkdir()
        for name, text in (("systemctl", SYSTEMCTL), ("apt-get", APT_GET)):
            (played / name).write_text(text)
            (played / name).chmod(0o755)
        self.path = f"{played}:/usr/sbin:/usr/bin:/sbin:/bin"

    def make_packages(self):
        version = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", "nsd"], text=True,
            capture_output=True, timeout=60, check=True).stdout
        make_package(self.work / f"old_{version}.deb",
                     [debian_machine.DEBIAN / name
                      for name in debian_machine.PROGRAMS], version)
        make_package(self.work / "nsd_5.0.0_all.deb",
                     [build_dir() / name for name in
                      (*debian_machine.PROGRAMS, "nsd-mem")], "5.0.0")

    def paste(self, script):
        """Runs commands as an operator does; returns what they print."""
        mounts = "".join(
            f"mount --bind {self.folder / name}"
            f" {debian_machine.PLACES[name]}\n" for name in PLACES)
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "--pid",
             "--fork", "--kill-child", "--mount-proc", "bash", "-euo",
             "pipefail", "-c", mounts + CHECK + script],
            cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
            timeout=5 * debian_machine.PATIENCE,
            env={**os.environ, "PATH": self.path, "PORT": str(self.port),
                 "ASAN_OPTIONS": "detect_leaks=0"})
        output = self.work / "output"
        assert done.returncode == 0, done.stdout + (
            output.read_text() if output.exists() else "")
        return done.stdout


@pytest.fixture
def machine():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        made = Upgraded(folder)
        made.make_packages()
        yield made


def test_page_has_ten_steps_and_a_way_back():
    """Each step has commands of its own."""
    text = (SOURCE / "doc/upgrade.md").read_text()
    steps = text[text.index("## Ten steps"):text.index("## The way back")]
    numbers = re.findall(r"^(\d+)\. ", steps, re.M)
    assert numbers == [str(n) for n in range(1, 11)]
    assert steps.count("```sh\n") == 10
    assert len(blocks_of("upgrade.md")) == 11


def test_steps_can_be_pasted(machine):
    *steps, back = blocks_of("upgrade.md")
    served = " ".join([*ZONES, "added.test"])
    script = f"""
systemctl start nsd
nsd-control addzone added.test added
check 4 {served}
"""
    for number, step in enumerate(steps, 1):
        # The zones of this test have no primaries.
        script += f"echo == {number}\n" + step.replace("sleep 5\n", "")
    script += f"""echo == checked
check 5 {served}
nsd-control addzone later.test added
echo == back
{back}
check 4 {served} later.test
systemctl stop nsd
"""
    said = dict(re.findall(r"^== (\w+)\n(.*?)(?=^== |\Z)",
                           machine.paste(script), re.M | re.S))
    assert "zone.list: taken over: 1 zones" in said["2"]
    assert ": error: " not in said["2"]
    assert "trouble" not in said["9"]
    assert "<" not in said["10"]
    for name in ("etc.before/nsd.conf", "lib.before", "stats.before",
                 "zones.after"):
        assert (machine.work / name).exists()
    assert "summary" in (machine.work / "memory").read_text()
