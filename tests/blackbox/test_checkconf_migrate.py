"""nsd-checkconf --migrate: what becomes of a configuration of NSD 4 and of the
files around it, line by line."""
import json
import os
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve()
PEER = pathlib.Path("/usr/sbin/nsd-checkconf")
DATABASE = b"\0b0vbdu\0" + bytes(56)
STATE = """NSDXFRD2
filetime: 1700000000	# x
numzones: 1
zone: 	name: s.test
	state: 0 # OK
	master: 0
	next_master: -1
	round_num: -1
	next_timeout: 1
	backoff: 0
	soa_nsd_acquired: 0
	soa_disk_acquired: 0
	soa_notify_acquired: 0
NSDXFRD2
"""
ZONE = """$TTL 300
@ SOA ns host 1 3600 900 90000 300
@ NS ns
ns A 192.0.2.1
"""


class Old:
    """The folder of an NSD 4, with its nsd.conf."""

    def __init__(self, folder):
        self.folder = folder
        self.conf = folder / "nsd.conf"
        self.head = ("remote-control:\n\tcontrol-enable: no\n"
                     f'server:\n\tzonesdir: "{folder}"\n\trrl-ratelimit: 7\n'
                     "\tzonefiles-write: 60\n"
                     f'\tzonelistfile: "{folder}/zone.list"\n'
                     f'\txfrdfile: "{folder}/xfrd.state"\n')
        self.lines = self.head.count("\n")

    def run(self, text, *words):
        """Runs it for nsd.conf, the head with text behind it."""
        self.conf.write_text(self.head + text)
        return self.run_file(self.conf, *words)

    def run_file(self, path, *words):
        return subprocess.run(
            [BUILD / "nsd-checkconf", "--migrate", *words, path], text=True,
            capture_output=True, timeout=60, check=False, cwd=self.folder)

    def said(self, text):
        """(exit code, lines without their file; the first line behind the
        head is 1)."""
        done = self.run(text)
        assert done.stderr == ""
        *lines, last = done.stdout.splitlines()
        assert last.startswith(f"{self.conf}: ")
        return done.returncode, [
            re.sub(r"^\S+/nsd\.conf:(\d+)",
                   lambda m: str(int(m[1]) - self.lines), line).replace(
                       f"{self.folder}/", "") for line in lines]


@pytest.fixture
def old(tmp_path):
    return Old(tmp_path)


def test_nothing_to_say(old):
    (old.folder / "a.zone").write_text(ZONE)
    done = old.run("\tport: 5300\n\tip-transparent: yes\n"
                   "key:\n\tname: k\n\tsecret: aGVsbG8=\n"
                   "pattern:\n\tname: p\n\tzonefile: %s.zone\n"
                   "zone:\n\tname: a\n\tinclude-pattern: p\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "a.zone: taken over: zone a: the zone file is read; nsd-mem -c FILE "
        "says what is wrong with it\n"
        f"{old.conf}: 0 to do, 0 differs, 0 no effect, 0 only here, "
        "1 taken over\n")


LINES = [
    ("database: /x/nsd.db", "differs"), ('database: ""', None),
    ("difffile: x", "no effect"), ("use-systemd: yes", "no effect"),
    ("xfrd-reload-timeout: 10", "no effect"),
    ("reuseport: yes", "no effect"), ("server-count: 2 reuseport: no",
                                      "differs"),
    ("server-count: 2 reuseport: yes", None), ('pidfile: ""', None),
    ("pidfile: /run/nsd.pid", "differs"), ("zonefiles-check: no", "differs"),
    ("zonefiles-check: yes", None), ("xfrdir: /tmp", "differs"),
    ("reload-config: yes", "differs"), ("log-only-syslog: yes", "differs"),
    ("statistics: 10", "differs"), ("statistics: 0", None),
    ("confine-to-zone: no", "differs"), ("xdp-interface: eth0", "to do"),
    ("do-ip4: no do-ip6: no", None), ("do-ip4: yes do-ip6: no", None),
    ("metrics-enable: yes metrics-interface: /x/socket", None),
    ("metrics-enable: no metrics-interface: /x/socket", None),
    ("xdp-force-copy: yes", "no effect"), ("ip-transparent: yes", None),
    ("sandbox: yes", "only here"),
    ("verify: enable: yes", "differs"), ("verify: port: 5347", None),
    ("verify: verifier-feed-zone: no", "differs"),
    ("pattern: name: p verifier-feed-zone: no", "differs"),
    ("pattern: name: p verifier-feed-zone: yes", None),
    ("pattern: name: p allow-query: 192.0.2.1-192.0.2.9 NOKEY", "differs"),
    ("pattern: name: p allow-query: 192.0.2.0/24 NOKEY", None),
    ("pattern: name: p allow-notify: 192.0.2.1-192.0.2.9 NOKEY", "differs"),
    ("pattern: name: p provide-xfr: ::1-::2 NOKEY", "differs"),
    ("pattern: name: p allow-axfr-fallback: no", "differs"),
    ("pattern: name: p size-limit-xfr: 100", "differs"),
    ("pattern: name: p multi-master-check: yes", "differs"),
    ("pattern: name: p multi-primary-check: no", None),
    ("pattern: name: p ixfr-number: 5000", "differs"),
    ("pattern: name: p ixfr-number: 50", None),
    ("pattern: name: p store-ixfr: yes create-ixfr: yes", "differs"),
    ("pattern: name: p catalog: consumer", "differs"),
    ("pattern: name: p catalog: producer", None),
    ("pattern: name: p dnssec-verify: yes", "only here"),
    ("pattern: name: p zonestats: %s rrl-whitelist: nxdomain", None),
]


@pytest.mark.parametrize("line, kind", LINES)
def test_line(old, line, kind):
    code, said = old.said(f"\t{line}\n")
    assert code == (3 if kind == "to do" else 0)
    option = next(word for word in reversed(line.split())
                  if word.endswith(":"))
    if kind is None:
        assert said == []
    else:
        assert len(said) == 1
        assert said[0].startswith(f"1: {kind}: {option} ")


def test_lines_of_included_files_and_patterns(old):
    """Each file and line, in the order of reading."""
    (old.folder / "zones.conf").write_text(
        "zone:\n\tname: a.test\n\tzonefile: a\n\n\tsize-limit-xfr: 5\n"
        "zone:\n\tname: b.test\n\tzonefile: b\n\tsize-limit-xfr: 6\n")
    for name in "ab":
        (old.folder / name).write_text(ZONE)
    code, said = old.said("pattern:\n\tname: p\n\tallow-axfr-fallback: no\n"
                          f'include: "{old.folder}/*s.conf"\n'
                          "server:\n\treload-config: yes\n")
    assert code == 0
    assert [line.split(": ")[:3] for line in said[:3]] == [
        ["3", "differs", "allow-axfr-fallback"],
        ["zones.conf:5", "differs", "size-limit-xfr"],
        ["6", "differs", "reload-config"]]
    assert said[1].endswith(" (and 1 more)")


def test_limit_that_is_not_set(old):
    old.head = old.head.replace("\trrl-ratelimit: 7\n", "")
    code, said = old.said("")
    assert code == 0
    if said:  # not in a build without rate limits
        assert said[0].split(": ")[1:3] == ["differs", "rrl-ratelimit"]


def test_period_of_writing_that_is_not_set(old):
    """NSD before 4.8 writes nothing by itself where it has a database."""
    old.head = old.head.replace("\tzonefiles-write: 60\n", "")
    (old.folder / "s").write_text(ZONE)
    zone = "zone:\n\tname: s.test\n\tzonefile: s\n" + SECONDARY
    code, said = old.said(zone)
    assert code == 0
    assert said[0].split(": ")[1:3] == ["differs", "zonefiles-write"]
    assert "not set, which is 3600 here and in NSD since 4.8, and 0 in older " \
        "ones with a database" in said[0]
    code, said = old.said('\tdatabase: ""\n' + zone)
    assert code == 0 and "zonefiles-write" not in "".join(said)


def test_value_in_force(old):
    """A later line has the value: the first one does nothing."""
    code, said = old.said("\txdp-interface: eth0\n\tdatabase: x\n"
                          "pattern:\n\tname: p\nserver:\n"
                          '\txdp-interface: ""\n\tdatabase: ""\n')
    assert code == 0
    assert [line.split(": ")[:3] for line in said] == [
        ["1", "no effect", "xdp-interface"]]
    assert said[0].endswith(" (and 1 more)")


def test_control_channel_that_is_not_set(old):
    """Debian's NSD has one then."""
    old.head = old.head.replace("\tcontrol-enable: no\n", "")
    code, said = old.said("")
    printed = subprocess.run(
        [BUILD / "nsd-checkconf", "-o", "control-enable", old.conf],
        capture_output=True, text=True, timeout=60, check=True).stdout
    if printed == "no\n":
        assert code == 3 and len(said) == 1
        assert said[0].split(": ")[1:3] == ["to do", "control-enable"]


def test_errors(old):
    """Exit 2, beside what can be said."""
    done = old.run("\tdifffile: x\n\tport: x\n")
    assert (done.returncode, done.stderr) == (2, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{old.conf}:{old.lines + 2}: error: expected a " \
        "number for port, got 'x'"
    assert lines[-2].startswith(
        f"{old.conf}:{old.lines + 1}: no effect: difffile: ")
    assert lines[-1].startswith(f"{old.conf}: 1 errors, 0 to do, ")
    assert old.run_file(old.folder / "absent").returncode == 2


def test_wrong_use(old):
    program = BUILD / "nsd-checkconf"
    for words in (["--json", "x"], ["--migrate"], ["--migrate", "-v", "x"],
                  ["--migrate", "-o", "port", "x"], ["--other", "x"]):
        done = subprocess.run([program, *words], capture_output=True,
                              text=True, timeout=60, check=False)
        assert done.returncode == 1 and "usage: " in done.stderr


def test_json(old):
    """RFC 8259. The same notes, with an odd name of a file."""
    name = 'a"\\\n\u00e9'
    (old.folder / name).write_text("\txdp-interface: eth0\n")
    done = old.run("\tdifffile: x\n\tverbosity: 1\ninclude: a*\n"
                   "zone: name: s.test request-xfr: 192.0.2.1 NOKEY\n",
                   "--json")
    assert (done.returncode, done.stderr) == (3, "")
    report = json.loads(done.stdout)
    assert report["file"] == str(old.conf) and report["exit"] == 3
    first, second, third, *_ = report["notes"]
    assert first["kind"] == "no effect" and first["line"] == old.lines + 1
    assert (first["file"], first["option"]) == (str(old.conf), "difffile")
    # Octets that are no ASCII are as in ISO 8859-1.
    assert second["file"].encode("latin-1").decode() == name
    assert second["line"] == 1 and second["kind"] == "to do"
    assert third["zone"] == "s.test" and third["more"] == 0
    assert sum(report["counts"].values()) == len(report["notes"])
    assert all(note["text"] for note in report["notes"])
    done = old.run("port: x", "--json")
    assert json.loads(done.stdout)["exit"] == done.returncode == 2


SECONDARY = ("\trequest-xfr: 192.0.2.1 NOKEY\n"
             "remote-control: control-enable: yes control-interface: /x\n")


def test_secondary_zones(old):
    zone = "zone:\n\tname: s.test\n"
    code, said = old.said(zone + SECONDARY)
    assert code == 3 and len(said) == 1
    assert said[0].startswith("1: to do: zone s.test: a secondary zone "
                              "without zonefile: ")
    code, said = old.said(zone + "\tzonefile: s\n" + SECONDARY)
    assert code == 3
    assert said == ["s: to do: zone s.test: there is no such zone file: have "
                    "NSD write it (nsd-control write), or the zone is "
                    "transferred anew"]
    (old.folder / "s").write_text(ZONE)
    code, said = old.said(zone + "\tzonefile: s\n" + SECONDARY)
    assert code == 0 and len(said) == 1
    code, said = old.said(zone + "\tzonefile: s\n"
                          + SECONDARY.split("remote")[0])
    assert code == 3
    assert said[0].split(": ")[1:3] == ["to do", "control-enable"]


def test_files_around(old):
    """The list of added zones, timers, differences, a database."""
    for name in ("a", "old", "s.test", "added.test"):
        (old.folder / name).write_text(ZONE)
    for name in ("old", "s.test"):
        (old.folder / f"{name}.ixfr").write_text("; IXFR data file\n")
    os.replace(old.folder / "old", old.folder / "x")
    (old.folder / "old").write_text(ZONE)  # later than its differences
    (old.folder / "zone.list").write_text(
        "# NSD zone list\n# name pattern\nadd added.test p\n"
        "del goner.test p\nadd lost.test gone\n")
    (old.folder / "xfrd.state").write_text(STATE)
    (old.folder / "nsd.db").write_bytes(DATABASE)
    code, said = old.said(
        "pattern:\n\tname: p\n\tzonefile: %s\n\tstore-ixfr: yes\n"
        "zone: name: a include-pattern: p\n"
        "zone: name: old include-pattern: p\n"
        "zone: name: absent.test include-pattern: p\n"
        "zone:\n\tname: s.test\n\tinclude-pattern: p\n" + SECONDARY)
    assert code == 3
    assert [line.split(": ")[:2] + [line.split(": ")[2].split(" ")[0]]
            for line in said] == [
        ["zone.list:5", "to do", "pattern"],
        ["zone.list", "taken over", "1"],
        ["a", "taken over", "zone"],
        ["absent.test", "to do", "zone"],
        ["s.test.ixfr", "taken over", "zone"],
        ["old.ixfr", "differs", "zone"],
        ["xfrd.state", "taken over", "the"],
        ["nsd.db", "to do", "the"]]
    assert said[2].endswith(" (and 3 more)")
    (old.folder / "xfrd.state").write_text(STATE[:-3])
    (old.folder / "nsd.db").write_bytes(b"NSDstore" + bytes(56))
    (old.folder / "absent.test").write_text(ZONE)
    (old.folder / "zone.list").write_text("# NSD zone list\n# name pattern\n")
    code, said = old.said(
        "zone:\n\tname: s.test\n\tzonefile: s.test\n" + SECONDARY)
    assert code == 0 and said[-1].startswith("xfrd.state: differs: ")


def test_keys_of_the_control_channel(old):
    conf = "remote-control:\n\tcontrol-enable: yes\n"
    names = ("server-key-file", "server-cert-file", "control-key-file",
             "control-cert-file")
    for name in names:
        conf += f'\t{name}: "{old.folder}/{name}"\n'
        (old.folder / name).write_text("")
    assert old.said(conf) == (0, [])
    (old.folder / names[2]).unlink()
    code, said = old.said(conf)
    assert code == 3 and len(said) == 1
    assert said[0].startswith("control-key-file: to do: ")


def test_files_in_a_chroot(old):
    """Files with the chroot in front and without it are the same."""
    root = old.folder / "root"
    (root / "zones").mkdir(parents=True)
    for name in ("a", "b", "c"):
        (root / "zones" / name).write_text(ZONE)
    (root / "zones" / "c.ixfr").write_text("; IXFR data file\n")
    (root / "xfrd.state").write_text(STATE)
    (root / "nsd.db").write_bytes(DATABASE)
    old.head = re.sub(r'"[^"\n]*"', "", old.head)
    old.head = re.sub(r"\t(zonesdir|zonelistfile|xfrdfile): \n", "", old.head)
    old.lines = old.head.count("\n")
    code, said = old.said(
        f'\tchroot: "{root}/"\n\tzonesdir: "{root}/zones"\n'
        f'\tpidfile: ""\n\txfrdir: "{root}/tmp"\n'
        f'\tzonelistfile: "{root}/zone.list"\n'
        f'\txfrdfile: "{root}/xfrd.state"\n'
        f"zone: name: a zonefile: {root}/zones/a\n"
        "zone: name: b zonefile: /zones/b\n"
        "zone: name: s.test zonefile: c store-ixfr: yes\n"
        "zone: name: d zonefile: /zones/d\n"
        "\trequest-xfr: 192.0.2.1 NOKEY\n"
        "remote-control: control-enable: yes control-interface: /x\n")
    assert code == 3
    said = [line for line in said if not line.startswith(("4:", "3:"))]
    assert [":".join(line.split(": ")[:2]) for line in said] == [
        "root/zones/a:taken over", "root/zones/d:to do",
        "c.ixfr:taken over", "root/xfrd.state:taken over",
        "root/nsd.db:to do"]
    assert "(and 2 more)" in said[0]


def test_folder_that_is_not_there(old):
    code, said = old.said('\tzonesdir: "/nonexistent/zones"\n')
    assert code == 3
    assert said[-1].startswith("/nonexistent/zones: to do: ")


def test_options_that_only_this_server_has():
    """The table of options knows them as doc/surface.md does."""
    flagged = set(re.findall(r'^\t[A-Z_]+\("([\w-]+)",.*\bOURS\)$',
                             (TOP / "src/conf/option.c").read_text(), re.M))
    marked = set()
    for names, default, meaning in re.findall(
            r"^\| ([a-z0-9, -]+) \| (.*?) \| (.*) \|$",
            (TOP / "doc/surface.md").read_text(), re.M):
        if "(ours)" in default or re.match(r"ours[:,]", meaning):
            marked |= set(names.split(", "))
    assert flagged - marked == set()
    options = set(re.findall(r'^\t[A-Z_]+\("([\w-]+)",', (
        TOP / "src/conf/option.c").read_text(), re.M))
    assert (marked & options) - flagged == {"database"}


@pytest.mark.skipif(not PEER.exists(), reason="wants Debian's nsd")
def test_all_that_nsd_prints_is_read(old):
    """Each option that NSD 4.6 knows of, as it prints them itself."""
    old.conf.write_text(
        old.head + "key: name: k algorithm: hmac-sha256 secret: aGVsbG8=\n"
        "tls-auth: name: t auth-domain-name: x.test\n"
        "pattern: name: p request-xfr: 192.0.2.1 k t zonefile: %s\n"
        "zone: name: s.test include-pattern: p\n")
    printed = subprocess.run([PEER, "-v", old.conf], capture_output=True,
                             text=True, timeout=60, check=True).stdout
    assert printed.count("\n") > 100
    # Unset ones are comments.
    old.conf.write_text(re.sub(r'^\t#((?!chroot)[a-z-]+:)$',
                               r'\t\1 "ascii_x"', printed, flags=re.M))
    done = old.run_file(old.conf)
    lines = done.stdout.splitlines()
    assert done.returncode == 3, done.stdout
    assert [line for line in lines if ": error: " in line] == []
