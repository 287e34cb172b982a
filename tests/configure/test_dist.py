"""A tarball that builds: make dist takes everything along, and makes the same
octets each time; make distcheck passes in a path with a space in it, and what
was unpacked elsewhere builds in its own tree by the line that Debian configures
NSD with, without flex, bison and autoconf, and leaves nothing behind when it is
uninstalled."""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# Switches that debhelper passes, and those that debian/rules of Debian's
# package adds.
DEBIAN = [
    "--build=x86_64-linux-gnu", "--prefix=/usr",
    "--includedir=${prefix}/include", "--mandir=${prefix}/share/man",
    "--infodir=${prefix}/share/info", "--sysconfdir=/etc",
    "--localstatedir=/var", "--disable-option-checking",
    "--disable-silent-rules", "--libdir=${prefix}/lib/x86_64-linux-gnu",
    "--runstatedir=/run", "--disable-maintainer-mode",
    "--disable-dependency-tracking", "--with-configdir=/etc/nsd",
    "--with-nsd_conf_file=/etc/nsd/nsd.conf",
    "--with-pidfile=/run/nsd/nsd.pid", "--with-dbfile=/var/lib/nsd/nsd.db",
    "--with-zonesdir=/etc/nsd", "--with-xfrdfile=/var/lib/nsd/xfrd.state",
    "--with-user=nsd",
    "--enable-ratelimit", "--enable-dnstap", "--enable-systemd",
]
# Made by autoreconf, flex and bison, so that nobody else needs them.
GENERATED = re.compile(
    r"build-aux/.*|configure|aclocal\.m4|config\.h\.in|Makefile\.in"
    r"|src/conf/(grammar\.[ch]|lexer\.c)")


def run(*command, cwd, **more):
    """Runs it to the end; what it said is shown if it failed."""
    result = subprocess.run([str(c) for c in command], cwd=cwd, text=True,
                            stdin=subprocess.DEVNULL, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            **more)
    assert result.returncode == 0, (
        f"{' '.join(map(str, command))}\n" + result.stdout[-6000:])
    return result.stdout


def in_tree():
    """The files that belong to the tree: all that git does not ignore."""
    if not (SOURCE / ".git").exists():
        pytest.fail("needs a clone: what belongs to the tree is asked of git")
    listed = run("git", "ls-files", "-z", "--cached", "--others",
                 "--exclude-standard", cwd=SOURCE)
    return [name for name in listed.split("\0")
            if name and (SOURCE / name).is_file()]


@pytest.fixture(scope="module")
def clone():
    """A copy of the tree, in a path with a space, configured in the tree."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="nsd dist "))
    directory.chmod(0o755)
    top = directory / "the tree"
    for name in in_tree():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(SOURCE / name, top / name)
    (top / "build-aux").mkdir()
    run("autoreconf", "-fi", cwd=top)
    run("./configure", "--disable-dependency-tracking", cwd=top)
    yield top
    subprocess.run(["chmod", "-R", "u+w", directory], check=False)
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def tarball(clone):
    run("make", "dist", cwd=clone)
    return next(clone.glob("nsd-*.tar.gz"))


def test_tarball_has_the_whole_tree_and_no_more(tarball):
    with tarfile.open(tarball) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()
                 if not archive.getmember(name).isdir()}
    tree = set(in_tree())
    assert sorted(tree - names) == []
    assert [n for n in sorted(names - tree)
            if not GENERATED.fullmatch(n)] == []


def test_tarball_is_the_same_elsewhere_later_and_by_another(clone, tarball):
    """Octet by octet: made in another place, from files with another time and
    other modes, with other settings of whoever makes it."""
    with tarfile.open(tarball) as archive:
        times = {member.mtime for member in archive}
    assert len(times) == 1
    with tempfile.TemporaryDirectory(prefix="nsd-elsewhere-") as directory:
        top = pathlib.Path(directory) / "copy"
        shutil.copytree(clone, top, symlinks=True,
                        ignore=shutil.ignore_patterns("nsd-*.tar.gz"))
        run("chmod", "-R", "go-rwx", top, cwd=directory)
        run("find", ".", "-exec", "touch", "-h", "-d", "2 hours ago", "{}", "+",
            cwd=top)
        (top / "debian/files").touch()
        run("make", "dist", cwd=top, umask=0o077, env={
            **os.environ, "TZ": "Pacific/Auckland", "LC_ALL": "C",
            "SOURCE_DATE_EPOCH": str(times.pop())})
        again = (top / tarball.name).read_bytes()
    assert again == tarball.read_bytes()


def test_tarball_builds_in_its_tree_as_debian_builds_nsd(tarball):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="nsd unpacked "))
    try:
        with tarfile.open(tarball) as archive:
            archive.extractall(directory)
        top = next(directory.glob("nsd-*"))
        tools = {name: "false" for name in
                 ("YACC", "LEX", "AUTOCONF", "AUTOMAKE", "ACLOCAL")}
        run("./configure", *DEBIAN, cwd=top, env={**os.environ, **tools})
        run("make", f"-j{os.cpu_count()}", "CFLAGS=-O0 -g0", cwd=top)
        root = directory / "the root"
        run("make", f"DESTDIR={root}", "install", cwd=top)
        for program in ("nsd", "nsd-checkconf", "nsd-checkzone"):
            assert (root / "usr/sbin" / program).exists()
        assert (root / "etc/nsd/nsd.conf.sample").exists()
        assert "zonesdir" in run(root / "usr/sbin/nsd-checkconf", "-v",
                                 root / "etc/nsd/nsd.conf.sample", cwd=top)
        run("make", f"DESTDIR={root}", "uninstall", cwd=top)
        left = [str(p.relative_to(root)) for p in sorted(root.rglob("*"))
                if not p.is_dir() or p.name == "nsd"]
        assert left == []
    finally:
        shutil.rmtree(directory)


def readers_of_the_tree():
    """A test knows where the source tree is by TESTS_DIR only, and a corpus is
    replayed from there."""
    for path in sorted((SOURCE / "tests").rglob("test_*.c")):
        if re.search(r"\bTESTS_DIR\b|rdata_rows\.h", path.read_text()):
            yield str(path.relative_to(SOURCE))[:-2]
    for path in sorted((SOURCE / "tests/fuzz/corpus").iterdir()):
        yield f"tests/fuzz/fuzz_{path.name}"


def test_distcheck_passes_in_a_path_with_a_space(clone, tarball):
    """distcheck builds outside of the tree, which it may not write; builds and
    runs the tests that could miss a file of the tarball (make check of the
    tree, which has the same files, builds and runs all); installs, uninstalls
    and cleans, and checks that nothing is left."""
    tests = list(readers_of_the_tree())
    assert len(tests) > 20
    said = run("make", f"-j{os.cpu_count()}", "distcheck",
               f"TESTS={' '.join(tests)}",
               f"check_PROGRAMS={' '.join(tests)}",
               "DISTCHECK_CONFIGURE_FLAGS=--disable-dependency-tracking"
               " CFLAGS='-O0 -g0'", cwd=clone)
    assert re.search(rf"^# PASS: +{len(tests)}$", said, re.M)
    assert f"{tarball.name[:-7]} archives ready for distribution" in said
