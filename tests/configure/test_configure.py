"""The effects of configure's switches (doc/surface.md section 8).

One tree is built with a value of its own for every path and every switch
that has an effect, and installed; the programs that come out show them.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

import harness

SOURCE = pathlib.Path(__file__).resolve().parents[2]

PATHS = {
    "configdir": "/opt/n/etc",
    "nsd_conf_file": "/opt/n/conf/main.conf",
    "logfile": "/opt/n/log/n.log",
    "dbdir": "/opt/n/db",
    "pidfile": "/opt/n/run/n.pid",
    "dbfile": "/opt/n/old/nsd.db",
    "zonesdir": "/opt/n/zones",
    "xfrdfile": "/opt/n/state/xfrd",
    "zonelistfile": "/opt/n/list/zones",
    "cookiesecretsfile": "/opt/n/secret/cookies",
    "xfrdir": "/opt/n/xfr",
    "sharedfilesdir": "/opt/n/share",
    "chroot": "/opt/n",
    "user": "nobody",
    "dnstap-socket-path": "/opt/n/tap.sock",
}
SWITCHES = [
    "--disable-dependency-tracking", "--prefix=/opt/n",
    "--with-facility=LOG_LOCAL3", "--with-tcp-timeout=7",
    "--with-max-cname-chain=3", "--disable-ipv6",
    "--disable-ratelimit-default-on", "--disable-westmere",
    "--disable-haswell", "--enable-pie", "--enable-relro-now",
    "--enable-checking", "--enable-log-role", "--enable-tcp-fastopen",
    "--enable-dnstap", "--with-protobuf-c=/opt/p", "--with-libfstrm=/opt/f",
]
IN_VAIN = [
    "--enable-flto", "--disable-bind8-stats", "--disable-zone-stats",
    "--disable-nsec3", "--disable-minimal-responses",
    "--disable-radix-tree", "--disable-recvmmsg",
    "--enable-root-server", "--enable-memclean", "--enable-mmap",
    "--enable-packed", "--enable-xdp", "--disable-systemd",
    "--without-libevent", "--without-ssl",
]
AS_WE_ARE = [
    "--disable-flto", "--enable-bind8-stats", "--enable-zone-stats",
    "--enable-ratelimit", "--enable-nsec3", "--enable-minimal-responses",
    "--enable-radix-tree", "--disable-dnstap", "--enable-recvmmsg",
    "--disable-root-server", "--disable-memclean", "--disable-mmap",
    "--disable-packed", "--disable-xdp", "--enable-systemd",
    "--with-libevent", "--with-ssl", "--disable-largefile",
]


def run(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL,
                          **more)


def configure(directory, *arguments):
    result = run(SOURCE / "configure", *arguments, cwd=directory)
    # The script goes on after a command of its own that is none.
    assert "command not found" not in result.stderr
    return result


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The results of checks of the machine that do not depend on switches."""
    directory = tmp_path_factory.mktemp("known")
    result = configure(directory, "--cache-file=known", "--no-create")
    assert result.returncode == 0, result.stderr
    return directory / "known"


def header_of(directory, *arguments):
    """Configures with these, and makes only config.h of it and the sample of
    nsd.conf: what a makefile needs takes ten times as long."""
    result = configure(directory, *arguments, "--no-create")
    assert result.returncode == 0, result.stderr
    assert run("./config.status", "config.h", "nsd.conf.sample",
               cwd=directory).returncode == 0
    return (directory / "config.h").read_text()


class Tree:
    """A build with all switches, and where it is installed."""

    def __init__(self, directory):
        self.build = directory / "build"
        self.root = directory / "root"
        self.build.mkdir()
        self.arguments = SWITCHES + IN_VAIN + [
            f"--with-{name}={path}" for name, path in PATHS.items()]
        result = configure(self.build, *self.arguments,
                           "--enable-option-checking=fatal")
        assert result.returncode == 0, result.stdout + result.stderr
        self.summary = result.stdout
        for target in ("all", "install"):
            # As fast as possible: switches do the same in any such build.
            result = run("make", f"-j{os.cpu_count()}", "CFLAGS=-O0 -g0",
                         f"DESTDIR={self.root}", target, cwd=self.build)
            assert result.returncode == 0, result.stdout + result.stderr

    @property
    def nsd(self):
        return self.root / "opt/n/sbin/nsd"

    def option(self, name, *more):
        """The value that nsd-checkconf has for an option of an empty file."""
        config = self.build / "empty.conf"
        config.write_text("server:\n")
        return run(self.root / "opt/n/sbin/nsd-checkconf", "-o", name, *more,
                   config).stdout.strip()


@pytest.fixture(scope="module")
def tree():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="nsd-configure-"))
    directory.chmod(0o755)
    yield Tree(directory)
    shutil.rmtree(directory)


def test_everything_is_installed_below_destdir(tree):
    expected = {
        "sbin/nsd", "sbin/nsd-checkconf", "sbin/nsd-checkzone",
        "sbin/nsd-mem", "share/man/man8/nsd-mem.8",
        "sbin/nsd-control", "share/man/man8/nsd-control.8",
        "sbin/nsd-control-setup", "share/man/man8/nsd-control-setup.8",
        "share/bash-completion/completions/nsd-control",
        "share/zsh/site-functions/_nsd-control",
        "conf/main.conf.sample", "share/man/man8/nsd.8",
        "share/man/man8/nsd-checkconf.8", "share/man/man8/nsd-checkzone.8",
        "share/man/man5/nsd.conf.5"}
    assert {str(p.relative_to(tree.root)) for p in tree.root.rglob("*")
            if p.is_file()} == {f"opt/n/{name}" for name in expected}
    assert {str(p.relative_to(tree.root)) for p in tree.root.rglob("*")
            if p.is_dir() and not any(p.iterdir())} == {
                f"opt/n/{name}" for name in (
                    "etc", "db", "run", "zones", "state", "list", "secret",
                    "xfr")}


def test_uninstall_takes_every_file_away(tree):
    """Also the packed pages of a package of NSD, which man would show."""
    root = tree.build / "again"
    for page in "man8/nsd.8.gz", "man8/nsd-control.8.gz", "man5/nsd.conf.5.gz":
        path = root / "opt/n/share/man" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for target in ("install", "uninstall"):
        assert run("make", f"DESTDIR={root}", target,
                   cwd=tree.build).returncode == 0
    assert not [p for p in root.rglob("*") if p.is_file()]


@pytest.mark.parametrize("option,name", [
    ("pidfile", "pidfile"), ("zonesdir", "zonesdir"),
    ("xfrdfile", "xfrdfile"), ("zonelistfile", "zonelistfile"),
    ("xfrdir", "xfrdir"), ("cookie-secret-file", "cookiesecretsfile"),
    ("chroot", "chroot"), ("username", "user"),
    ("dnstap-socket-path", "dnstap-socket-path"),
])
def test_path_is_the_default_of_its_option(tree, option, name):
    assert tree.option(option).rstrip("/") == PATHS[name]


def test_paths_that_follow_from_others(tree):
    assert tree.option("server-key-file") == "/opt/n/etc/nsd_server.key"
    assert tree.option("xdp-program-path").startswith("/opt/n/share/")
    sample = (tree.root / "opt/n/conf/main.conf.sample").read_text()
    assert '# logfile: "/opt/n/log/n.log"' in sample
    assert not re.search("@[A-Z_]+@", sample)
    assert "(/opt/n/conf/main.conf)" in run(tree.nsd, "-h").stderr


@pytest.mark.parametrize("switches", [
    ["--with-dbdir=/opt/d"], ["--with-dbfile=/opt/d/nsd.db"],
    ["--with-dbfile=/opt/e/nsd.db", "--with-dbdir=/opt/d"]])
def test_dbdir_is_where_the_servers_own_files_are(tmp_path, known,
                                                    switches):
    """NSD 4.6 has the zone list beside its database, so Debian says where
    that is, and no more."""
    header = header_of(tmp_path, f"--cache-file={known}", *switches)
    for macro, name in (("XFRDFILE", "xfrd.state"),
                        ("ZONELISTFILE", "zone.list"),
                        ("COOKIESECRETSFILE", "cookiesecrets.txt")):
        assert f'#define {macro} "/opt/d/{name}"' in header


def test_values_are_the_defaults_of_their_options(tree):
    assert tree.option("tcp-timeout") == "7"
    assert tree.option("rrl-ratelimit") == "0"
    assert tree.option("rrl-whitelist-ratelimit") == "0"


@pytest.mark.parametrize("limit, switches", [
    (200, []), (200, ["--enable-ratelimit"]),
    (200, ["--disable-ratelimit-default-is-off"]),
    (0, ["--enable-ratelimit-default-is-off"]),
    (0, ["--disable-ratelimit-default-on"]),
])
def test_rate_limits_are_on_unless_switched_off(tmp_path, known, limit,
                                                switches):
    """NSD 4.6, and Debian's, has them on where nothing is said."""
    header = header_of(tmp_path, f"--cache-file={known}", *switches)
    assert f"#define RRL_RATELIMIT {limit}\n" in header
    assert f"#define RRL_WHITELIST_RATELIMIT {10 * limit}\n" in header
    assert f"# rrl-ratelimit: {limit}\n" \
        in (tmp_path / "nsd.conf.sample").read_text()


@pytest.mark.parametrize("enable, switches", [
    ("no", []), ("yes", ["--enable-control-default-on"]),
    ("no", ["--disable-control-default-on"]),
])
def test_control_channel_is_off_unless_switched_on(tmp_path, known, enable,
                                                   switches):
    """Debian's NSD has it on where nothing is said."""
    header = header_of(tmp_path, f"--cache-file={known}", *switches)
    assert f'#define CONTROL_ENABLE "{enable}"\n' in header
    assert f"# control-enable: {enable}\n" \
        in (tmp_path / "nsd.conf.sample").read_text()


def test_version_tells_how_it_was_built(tree):
    text = run(tree.nsd, "-v").stderr
    line = re.search(r"^Configure line: (.*)$", text, re.M)[1]
    for argument in tree.arguments:
        assert argument in line
    assert re.search(r"^Event loop: libevent [\d.]+.* \(uses \w+\)$", text,
                     re.M)
    assert re.search(r"^Linked with OpenSSL \d", text, re.M)
    assert re.search(r"^Built with: tcp-fastopen checking log-role seccomp"
                     " dnstap$", text, re.M)


def test_quotes_of_the_configure_line_are_kept(tmp_path):
    line = r'TEXT=a "b" \c'
    assert (r'#define CONFIGURE_LINE "--quiet TEXT=a \"b\" \\c --no-create"'
            in header_of(tmp_path, "--quiet", line))


def test_switches_in_vain_are_told(tree):
    notes = tree.summary[tree.summary.index("accepted without effect:"):]
    for argument in IN_VAIN:
        assert re.search(rf"{argument.split('=')[0]}\b.*: ", notes), argument


def test_switches_for_what_is_so_anyway_are_not(tmp_path, known):
    result = configure(tmp_path, f"--cache-file={known}", "--no-create",
                       *AS_WE_ARE, "--enable-option-checking=fatal")
    assert result.returncode == 0
    assert "without effect" not in result.stdout


def check_unfiltered(build, result):
    assert result.returncode == 0, result.stderr
    assert re.search(r"filter of system calls: +no$", result.stdout, re.M)
    assert "#define USE_SECCOMP" not in (build / "config.h").read_text()
    assert run("make", "src/process/sandbox.o", "src/process/sandbox_unfiltered.o",
               cwd=build).returncode == 0


def test_filter_of_calls_is_left_out(tmp_path, known):
    check_unfiltered(tmp_path, configure(
        tmp_path, f"--cache-file={known}", "--disable-dependency-tracking",
        "--disable-seccomp"))


def test_build_without_libseccomp_warns(tmp_path):
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for name in ("libevent", "libevent_core", "libevent_openssl", "libcrypto",
                 "libssl", "liburcu", "cmocka"):
        folder = run("pkg-config", "--variable=pcfiledir", name).stdout
        (libraries / f"{name}.pc").symlink_to(
            pathlib.Path(folder.strip()) / f"{name}.pc")
    result = configure(tmp_path, f"PKG_CONFIG_LIBDIR={libraries}",
                       "--disable-dependency-tracking")
    check_unfiltered(tmp_path, result)
    assert "WARNING: no libseccomp" in result.stderr


@pytest.mark.parametrize("argument", [
    "--disable-dnstap", "--without-libfstrm", "--without-protobuf-c"])
def test_dnstap_is_left_out(tmp_path, known, argument):
    result = configure(tmp_path, f"--cache-file={known}", "--no-create",
                       argument)
    assert result.returncode == 0, result.stderr
    assert "#define USE_DNSTAP 0" in header_of(tmp_path, argument)


def test_dnstap_that_is_wanted_has_to_be_there(tmp_path, known):
    result = configure(tmp_path, f"--cache-file={known}", "--enable-dnstap",
                       "--without-libfstrm")
    assert result.returncode != 0
    assert "libfstrm is missing" in result.stderr


@pytest.mark.parametrize("option, name", [
    ("--with-protobuf-c", "libprotobuf-c"), ("--with-libfstrm", "libfstrm")])
def test_library_is_sought_in_the_folder_that_is_named(
        tmp_path, known, option, name):
    folder = tmp_path / "lib" / "pkgconfig"
    folder.mkdir(parents=True)
    (folder / f"{name}.pc").write_text(
        f"Name: {name}\nDescription: too old\nVersion: 0.1\n")
    result = configure(tmp_path, f"--cache-file={known}", "--enable-dnstap",
                       f"{option}={tmp_path}")
    assert result.returncode != 0
    assert "protobuf-c, protoc-c or libfstrm is missing" in result.stderr


@pytest.mark.parametrize("argument", [
    "--with-facility=LOG_NONE", "--with-tcp-timeout=0",
    "--with-tcp-timeout=abc", "--with-max-cname-chain=256",
    "--with-max-cname-chain=-1", "--without-max-cname-chain",
    "--with-pidfile",
])
def test_wrong_value_is_refused(tmp_path, known, argument):
    result = configure(tmp_path, f"--cache-file={known}", argument)
    assert result.returncode != 0
    assert argument.split("=")[0].replace("without", "with") in result.stderr


def test_programs_are_hardened(tree):
    headers = run("readelf", "-hd", "-lW", tree.nsd).stdout
    assert re.search(r"Type: +DYN", headers)
    assert "GNU_RELRO" in headers
    assert re.search(r"\bNOW\b", headers)


def test_vector_code_is_left_out(tree):
    members = run("ar", "t", tree.build / "libzonefile.a").stdout.split()
    assert not [m for m in members
                if re.search("sse42|avx", m)], members


CHAIN = "$TTL 60\n@ IN SOA ns h 1 2 3 4 5\n IN NS ns\nns IN A 192.0.2.1\n" + \
    "".join(f"c{i} IN CNAME c{i + 1}\n" for i in range(8)) + \
    "c8 IN A 192.0.2.2\n"


@pytest.fixture
def server(tree, monkeypatch):
    monkeypatch.setattr(harness, "NSD", tree.nsd)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="nsd-test-"))
    directory.chmod(0o755)
    made = []

    def make(**arguments):
        options = {"chroot": '""', "verbosity": None}
        options.update(arguments.pop("options", {}))
        made.append(harness.Server(directory, zones={"example": CHAIN},
                                   options=options, **arguments))
        return made[-1]
    yield make
    for one in made:
        assert one.clean_up() == {}
    shutil.rmtree(directory)


def owners(response):
    return [str(rrset.name) for rrset in response.answer]


def test_chain_ends_where_it_was_told(server):
    one = server().start()
    assert owners(one.query("c0.example", "A")) == [
        "c0.example.", "c1.example.", "c2.example.", "c3.example."]
    assert owners(one.query("c5.example", "A")) == [
        "c5.example.", "c6.example.", "c7.example.", "c8.example."]


def test_lines_of_the_log_name_the_role(server):
    one = server().start()
    assert re.search(r"\] main\[\d+\]: notice: nsd started", one.read_log())


def test_no_socket_is_for_ipv6(server):
    one = server(options={"ip-address": ["127.0.0.1", "::1"],
                          "do-ip6": "yes"}).start()
    with pytest.raises(OSError):
        one.query("id.server", "TXT", rdclass="CH", tcp=True,
                  address="::1")


def test_fast_open_is_offered(server):
    one = server().start()
    assert fastopen_of(one) == 5


def fastopen_of(server):
    """TCP_FASTOPEN of the listening socket, asked for in its process."""
    import ctypes
    import socket
    libc = ctypes.CDLL(None, use_errno=True)
    pid = server.role("server 1")
    pidfd = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            fd = libc.syscall(438, pidfd, int(name), 0)  # pidfd_getfd
            if fd < 0:
                continue
            try:
                with socket.socket(fileno=fd) as s:
                    if s.type == socket.SOCK_STREAM and \
                            s.family == socket.AF_INET:
                        return s.getsockopt(socket.IPPROTO_TCP, 23)
            except OSError:
                os.close(fd)
    finally:
        os.close(pidfd)
    return None


def test_debug_level_raises_a_verbosity_of_0(server):
    one = server(flags=["-F", "FFFF", "-L", "1"]).start()
    one.wait_log("zone example read with success")
    assert one.stop() == 0


def test_debug_flags_are_checked_or_ignored(server):
    one = server()
    assert one.run("-F", "xyz").returncode == 1
    assert one.run("-L", "x").returncode == 1
    plain = run(harness.BUILD / "nsd", "-F", "xyz", "-L", "x", "-c",
                "/nonexistent")
    assert plain.returncode == 1
    assert "usage:" not in plain.stderr
    assert "/nonexistent" in plain.stderr
