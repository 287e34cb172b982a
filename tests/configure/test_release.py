"""A release says the same of itself everywhere: its number is the same in all files that have
it, and the packages have the same paths (doc/release.md, doc/packages.md)."""

import pathlib
import re
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NUMBERS = {
    "CHANGELOG.md": r"^## (\S+) \(",
    "debian/changelog": r"\Ansd \((\S+)\)",
    "packaging/rpm/nsd.spec": r"^Version: +(\S+)$",
    "packaging/alpine/APKBUILD": r"^pkgver=(\S+)$",
    "packaging/freebsd/Makefile": r"^DISTVERSION=\s+(\S+)$",
    "README.md": r"nsd_([\d.]+)_amd64\.deb",
}
PATHS = {"configdir": "/etc/nsd", "pidfile": "/run/nsd/nsd.pid"}


def text(name):
    return (SOURCE / name).read_text()


@pytest.mark.parametrize("name", NUMBERS)
def test_number_is_that_of_configure(name):
    number = re.search(r"^AC_INIT\(\[NSD\],\[([\d.]+)\]",
                       text("configure.ac"), re.M)[1]
    assert re.search(NUMBERS[name], text(name), re.M)[1] == number


@pytest.mark.parametrize("name", [
    "debian/rules", "packaging/rpm/nsd.spec", "packaging/alpine/APKBUILD"])
def test_packages_have_the_same_paths(name):
    for option, path in PATHS.items():
        assert f"--with-{option}={path} " in text(name), option
    assert re.search(r"--with-(dbdir=/var/lib/nsd|dbfile=/var/lib/nsd/nsd.db) ",
                     text(name))


def test_unit_leaves_the_servers_folder_to_its_user():
    """systemd gives a StateDirectory to the unit's user, with all in it. The server
    changes its user by itself, so the unit has none."""
    unit = dict(re.findall(r"^(\w+)=(.*)$", text("debian/nsd.service"), re.M))
    assert "/var/lib/nsd" in unit["ReadWritePaths"].split()
    assert "User" in unit or "StateDirectory" not in unit


def test_documents_of_packages_link_to_each_other(tmp_path):
    """Pages of a package link to files that it has."""
    subprocess.run([SOURCE / "packaging/documents", tmp_path], check=True)
    said = subprocess.run([SOURCE / "tests/packages/links", tmp_path],
                          capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout
    for name in ("README.md", "doc/upgrade.md", "doc/decisions/README.md",
                 "doc/performance/overview.svg", "doc/example/nsd.conf"):
        assert (tmp_path / name).exists()
    assert (tmp_path / "README.md").read_text().endswith("see LICENSE.\n")
    for name in ("debian/rules", "packaging/rpm/nsd.spec"):
        assert re.search(r"^\s*packaging/documents \S+/usr/share/doc/nsd$",
                         text(name), re.M)


def test_each_package_has_its_command_in_the_readme():
    packages = text("README.md").split("## Packages")[1].split("\n## ")[0]
    for command in ("apt-get install ./nsd_", "dnf install ./nsd-",
                    "podman run --read-only", "apk add ", "packaging/freebsd",
                    "make install"):
        assert command in packages
