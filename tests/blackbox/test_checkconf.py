"""nsd-checkconf as operators and their scripts use it, beside NSD's own.

NSD_BUILD names the build directory (./build). The comparison wants NSD 4.6.1
as Debian has it (`apt-get install nsd`); NSD_PEER_CHECKCONF names its program.
Where we differ on purpose stands in DIFFERENT, with the reason.
"""
import os
import pathlib
import re
import resource
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve()
OURS = BUILD / "nsd-checkconf"
PEER = pathlib.Path(os.environ.get("NSD_PEER_CHECKCONF",
                                   "/usr/sbin/nsd-checkconf"))


def run(program, *arguments, cwd=None):
    done = subprocess.run([str(program), *map(str, arguments)], cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60)
    return (done.returncode, done.stdout.decode("latin-1"),
            done.stderr.decode("latin-1"))


@pytest.fixture
def conf(tmp_path):
    """Writes text as `c` in a directory of its own; returns how to check it."""
    def make(text, name="c"):
        (tmp_path / name).write_bytes(
            text if isinstance(text, bytes) else text.encode())

        def check(*arguments, program=OURS):
            return run(program, *arguments, name, cwd=tmp_path)
        return check
    return make


RICH = """
server:
	ip-address: 192.0.2.1@5353 servers="1 3-5" setfib=3
	ip-address: 2001:db8::1
	identity: "a\\"b" version: foo\\ bar nsid: ascii_ns1
	server-count: 4 cpu-affinity: 0 1 server-1-cpu-affinity: 0
	xfrd-cpu-affinity: 1
	hide-version: yes do-ip6: no verbosity: 2 tcp-count: 50
	logfile: "/var/log/x y" pidfile: "" username: "" zonesdir: /tmp
	xfrdfile: "/x" zonelistfile: "/l" xfrdir: "/d" database: ""
	rrl-ratelimit: 17 rrl-whitelist-ratelimit: 18 zonefiles-write: 19
	tls-service-key: "k" cookie-secret-file: "/cs"
	cookie-secret: 000102030405060708090a0b0c0d0e0f
remote-control:
	control-enable: yes control-interface: 192.0.2.1
	control-interface: /run/x.ctl control-port: 8953
	server-key-file: a server-cert-file: b
	control-key-file: c control-cert-file: d
verify:
	enable: yes ip-address: 192.0.2.1@53 ip-address: ::1
	verifier: foo "bar baz" verifier-timeout: 3
dnstap:
	dnstap-enable: yes dnstap-socket-path: "/s" dnstap-identity: "me"
key:
	name: k1. algorithm: hmac-sha256 secret: "aGVsbG8="
key:
	name: b1 algorithm: md5 secret: aGVsbG8=
tls-auth:
	name: ta auth-domain-name: foo.example.
pattern:
	name: p2
	zonefile: "%s.zone"
	allow-query: 10.0.0.0/8@53 NOKEY
	allow-query: 10.0.0.0&255.255.0.0 k1.
	allow-query: ::1-::5 BLOCKED
	request-xfr: AXFR 10.0.0.1@54 k1. ta
	request-xfr: UDP ::1 NOKEY
	provide-xfr: 10.0.0.1 NOKEY
	outgoing-interface: 192.0.2.4
	allow-notify: ::/0 BLOCKED
	notify: 192.0.2.4 NOKEY notify: ::1@5300 b1
	notify-retry: 7 zonestats: "%s" max-refresh-time: 5 min-retry-time: 6
	size-limit-xfr: 100 store-ixfr: yes ixfr-number: 3 create-ixfr: yes
	rrl-whitelist: nxdomain rrl-whitelist: any
	verifier: "x" y
	allow-axfr-fallback: no
pattern:
	name: a1
	min-expire-time: refresh+retry+1
zone: name: b.example. include-pattern: p2 zonefile: foo
zone: name: Example.com zonefile: x include-pattern: a1
	rrl-whitelist: all multi-master-check: yes
zone: name: a.b.example zonefile: y
"""


# ---- our own ------------------------------------------------------------------


def test_good_configuration_is_silent(conf):
    text = ("server: port: 5353 verbosity: 2\npattern: name: p zonefile: %s\n"
            "zone: name: x include-pattern: p allow-query: ::1 NOKEY\n")
    assert conf(text)() == (0, "", "")


def test_options_without_effect_are_warnings(conf):
    check = conf("server:\n port: 5353\n xdp-force-copy: yes\n"
                 "zone:\n name: x\n zonefile: x\n"
                 "server:\n xdp-program-load: no\n")
    warnings = ("c:8: warning: server: xdp-program-load has no effect in this "
                "program\n"
                "c:3: warning: server: xdp-force-copy has no effect in this "
                "program\n")
    assert check() == (0, "", warnings)
    code, out, err = check("-v")
    assert (code, err) == (0, warnings)
    assert "xdp-force-copy: yes" in out
    # With a value asked for, nothing else is printed.
    assert check("-o", "xdp-force-copy") == (0, "yes\n", "")
    assert check("-z", "x", "-o", "zonefile") == (0, "x\n", "")


@pytest.mark.parametrize("arguments", [["-h"], ["-x"], [], ["a", "b"],
                                       ["-o"]])
def test_usage_on_stderr_is_exit_1(arguments):
    code, out, err = run(OURS, *arguments)
    assert code == 1
    assert out == ""
    assert "usage: nsd-checkconf" in err


def test_errors_are_exit_2_on_stderr(conf):
    code, out, err = conf("server:\n port: x\n foo: y\n bar: z\n")()
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "c:2: error: expected a number for port, got 'x'",
        "c:3: at 'foo:': error: syntax error, expected a clause or an option "
        "of server:",
        "c:4: at 'bar:': error: syntax error, expected a clause or an option "
        "of server:",
        "read c failed: 3 errors in configuration file"]


def test_absent_file_is_exit_2(conf, tmp_path):
    assert run(OURS, tmp_path / "none") == (
        2, "", f"Could not open {tmp_path}/none: No such file or directory\n")


def test_semantic_errors_are_counted(conf):
    code, out, err = conf("zone: name: x\nzone: name: y zonefile: y\n"
                          "allow-notify: ::1 NOKEY\nserver: port: 0\n"
                          "key: name: k secret: aGVs\n")("-o", "port")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "c:1: error: zone x is a primary zone but has no zonefile. "
        "Where can the data come from?",
        "c:3: error: zone y has allow-notify but no request-xfr items. "
        "Where can it get a zone transfer when a notify is received?",
        "c:4: error: port number '0' is not a positive number.",
        "c: 3 semantic errors in 2 zones, 1 keys, 0 tls-auth."]


def test_port_out_of_range_is_an_error(conf):
    code, _, err = conf("server:\n\tport: 99999\n")()
    assert code == 2
    assert err.startswith("c:2: error: port: '99999' is out of range")


def test_nul_is_an_error(conf):
    code, _, err = conf(b"server:\n\tport: 5\0\n")()
    assert code == 2
    assert err.startswith("c:2: error: NUL octet")


def test_include_loop_is_an_error(conf):
    code, _, err = conf("include: c\n")()
    assert code == 2
    assert err.startswith("c:1: error: include loop")


def test_provide_xfr_with_tls_auth_but_no_port_warns(conf):
    code, _, err = conf("tls-auth: name: t auth-domain-name: a\n"
                        "zone: name: x zonefile: x\n"
                        "provide-xfr: ::1 NOKEY t\n")("-o", "port")
    assert code == 0
    assert err == ("c:3: warning: zone x has provide-xfr with tls-auth t but "
                   "there is no tls-auth-port\n")


def test_v_prints_what_can_be_read_again(conf):
    _, first, _ = conf(RICH)("-v")
    code, second, err = conf(first)("-v")
    assert (code, "error" in err) == (0, False)
    assert first == second


def test_v_starts_with_the_counts(conf):
    _, out, _ = conf(RICH)("-v")
    assert out.splitlines()[0] == ("# Read file c: 5 patterns, 3 fixed-zones, "
                                   "2 keys, 1 tls-auth.")


@pytest.mark.parametrize("option, value", [
    ("zones", "Example.com\nb.example.\na.b.example\n"),
    ("patterns", "_implicit_Example.com\n_implicit_a.b.example\n"
                 "_implicit_b.example.\na1\np2\n"),
    ("tcp-count", "50\n"), ("tcp_count", "50\n"),
    ("cpu-affinity", "0 1\n"), ("server-1-cpu-affinity", "0\n"),
    ("server_2_cpu_affinity", "\n"), ("xfrd-cpu-affinity", "1\n"),
    ("verifier", "foo bar baz\n"), ("nsid", "6e7331\n"),
    ("metrics-path", "/metrics\n"), ("database", "\n")])
def test_o_prints_server_options(conf, option, value):
    assert conf(RICH)("-o", option) == (0, value, "")


@pytest.mark.parametrize("option, value", [
    ("pattern", "_implicit_b.example.\n"), ("part_of_config", "yes\n"),
    ("part-of-config", "yes\n"), ("name", "b.example.\n"),
    ("zonefile", "foo\n"), ("notify-retry", "7\n"),
    ("notify", "192.0.2.4 NOKEY\n::1@5300 b1\n"),
    ("rrl-whitelist", "nxdomain\nany\n"), ("verify-zone", "yes\n"),
    ("verifier-timeout", "3\n"),
    ("verifier", "x y\n")])
def test_o_prints_zone_options(conf, option, value):
    check = conf(RICH)
    assert check("-z", "B.example", "-o", option) == (0, value, "")


def test_o_of_what_is_not_there_is_exit_1(conf):
    check = conf(RICH)
    assert check("-o", "foo-bar") == (
        1, "Server option not handled: foo_bar\n", "")
    assert check("-z", "nope", "-o", "zonefile") == (
        1, "Zone does not exist: nope\n", "")
    assert check("-z", "b.example", "-o", "port") == (
        1, "Zone option not handled: b.example port\n", "")
    assert check("-p", "nope", "-o", "zonefile") == (
        1, "Pattern does not exist: nope\n", "")
    assert check("-p", "p2", "-o", "pattern") == (
        1, "Pattern option not handled: p2 pattern\n", "")


def test_keys_that_are_not_there_are_exit_0(conf):
    check = conf(RICH)
    assert check("-s", "k1.") == (0, "aGVsbG8=\n", "")
    assert check("-a", "b1") == (0, "md5\n", "")
    assert check("-t", "ta") == (0, "foo.example.\n", "")
    assert check("-s", "x") == (0, "Could not find key x\n", "")
    assert check("-a", "x") == (0, "Could not find key x\n", "")
    assert check("-t", "x") == (0, "Could not find tls-auth x\n", "")


def test_f_puts_the_chroot_in_front(conf):
    check = conf("server: chroot: /c zonesdir: /c/z pidfile: run/p\n"
                 "xfrdfile: /c/x zonelistfile: /c/l xfrdir: /c/t\n"
                 "zone: name: r zonefile: rel\nzone: name: a zonefile: /c/a\n")
    assert check("-o", "pidfile") == (0, "run/p\n", "")
    assert check("-f", "-o", "pidfile") == (0, "/c/run/p\n", "")
    assert check("-f", "-o", "xfrdfile") == (0, "/c/x\n", "")
    assert check("-f", "-z", "r", "-o", "zonefile") == (0, "/c/rel\n", "")
    assert check("-f", "-z", "a", "-o", "zonefile") == (0, "/c/a\n", "")


def test_hundred_thousand_zones_take_time_in_proportion(conf):
    """Fault 74: ten times the zones take less than 30 times the time, that
    of the processor, for others may be busy."""
    def seconds(count):
        check = conf("pattern: name: p zonefile: %s\n" + "".join(
            f"zone: name: z{i * 7919 % count}.example include-pattern: p\n"
            for i in range(count)))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert check() == (0, "", "")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime
                + after.ru_stime - before.ru_stime)
    seconds(10000)
    assert seconds(100000) < 30 * max(min(seconds(10000), seconds(10000)),
                                      0.02)


# ---- the sample ---------------------------------------------------------------


def sample():
    return (BUILD / "nsd.conf.sample").read_text()


def test_sample_is_accepted(conf):
    assert conf(sample())() == (0, "", "")


def uncommented(text):
    """Each `# name: value` line as it would be without its mark."""
    return re.sub(r"(?m)^([ \t]*)# ?([a-z0-9-]+:( |$))", r"\1\2", text)


def test_sample_without_its_comment_marks_is_accepted(conf, tmp_path):
    text = uncommented(sample())
    assert len(re.findall(r"(?m)^\s*[a-z0-9-]+:", text)) > 130
    code, _, err = conf(text)()
    assert code == 0
    assert [line for line in err.splitlines()
            if "has no effect" not in line] == []


def test_example_is_accepted_as_it_stands():
    """The folder is where quickstart starts the server, too."""
    assert run(OURS, "nsd.conf", cwd=TOP / "doc/example") == (0, "", "")


def option_names():
    """The names in the table of options."""
    table = (TOP / "src/conf/option.c").read_text()
    names = set(re.findall(
        r'^\t(?:SERVER(?:_NOW)?|DNSTAP|CONTROL|VERIFY|KEY|TLSAUTH|PATTERN)\("([^"]+)"',
        table, re.M))
    assert len(names) > 130
    return names


def test_sample_has_every_option():
    text = sample()
    absent = {name for name in option_names()
              if not re.search(rf"(?m)^\s*#? ?{name.replace('-N-', '-1-')}:",
                               text)}
    # difffile and use-systemd are only swallowed, the others are other
    # spellings of what the sample shows
    assert absent == {"difffile", "use-systemd", "interface",
                      "multi-master-check", "ip4-only", "ip6-only"}


def test_manual_page_has_every_option():
    page = (TOP / "doc/nsd.conf.5.in").read_text().replace("\\-", "-")
    absent = {name for name in option_names() if f"{name}:" not in page}
    assert absent == set()


# ---- beside NSD 4.6.1 -----------------------------------------------------------

# Options that 4.6.1 has not, or does not print: left out of our output.
NEW = ["reload-config", "log-time-iso", "tls-auth-port", "tls-auth-xfr-only",
       "proxy-protocol-port", "allow-proxy", "metrics-enable",
       "metrics-interface", "metrics-port", "metrics-path", "xdp-interface",
       "xdp-program-path", "xdp-program-load", "xdp-bpffs-path",
       "xdp-force-copy", "dnstap-ip", "dnstap-tls", "dnstap-tls-server-name",
       "dnstap-tls-cert-bundle", "dnstap-tls-client-key-file",
       "dnstap-tls-client-cert-file", "tcp-listen-queue",
       # not printed by 4.6.1, though it reads them
       "client-cert", "client-key", "client-key-pw"]

# Options whose default is another one: by 4.15 (write every hour, sizes of
# buffers), by what Debian configured (paths, control on), or ours (database).
DEFAULTS = ["zonefiles-write", "send-buffer-size", "receive-buffer-size",
            "database", "pidfile", "xfrdfile", "zonelistfile", "xfrdir",
            "zonesdir", "username", "cookie-secret-file", "control-enable",
            "dnstap-socket-path", "server-key-file", "server-cert-file",
            "control-key-file", "control-cert-file"]


@pytest.fixture
def peer():
    assert PEER.exists(), f"{PEER} is needed to compare with (NSD 4.6.1)"
    assert "Version 4.6.1" in run(PEER, "-h")[2], f"{PEER} is not NSD 4.6.1"
    return PEER


def normalize(output, text):
    lines = []
    for line in output.splitlines():
        # 4.6.1 prints a name that it can't read itself; the other one is
        # the older spelling.
        line = line.replace("\tallow_query:", "\tallow-query:")
        line = line.replace("\tmulti-master-check:", "\tmulti-primary-check:")
        name = re.match(r"\t#?([a-z0-9-]+):", line)
        if name and name[1] in NEW:
            continue
        if name and name[1] in DEFAULTS and f"{name[1]}:" not in text:
            continue
        lines.append(line)
    return lines


def is_said(line, ours):
    """A line of NSD's stderr is the beginning of one of ours. Ours tell the
    option's line, and at a syntax error the option's name, where NSD has
    what it had come to; doc/messages.md has them side by side."""
    line = line.replace("is a master zone", "is a primary zone")
    line = re.sub(r"^(read c failed): .*", r"\1", line)

    def reduce(text):
        text = re.sub(r"^c(:\d+)?: ", "c: ", text)
        return re.sub(r"^(c: )(?:at '.*?': )?(?:error: )?", r"\1", text)
    return any(reduce(text).startswith(reduce(line)) for text in ours)


def compare(conf, peer, text, *arguments):
    check = conf(text)
    ours = check(*arguments)
    theirs = check(*arguments, program=peer)
    assert ours[0] == theirs[0], (ours, theirs)
    assert normalize(ours[1], text) == normalize(theirs[1], text)
    said = [line for line in ours[2].splitlines()
            if "has no effect" not in line]
    assert bool(said) == bool(theirs[2]), (ours, theirs)
    for line in theirs[2].splitlines():
        assert is_said(line, said), (ours, theirs)


SAME = [
    # names in any case, values as they stand
    "SERVER:\n Port: 3\n", "server:\n Hide-Version: YES\n",
    "Zone: Name: X ZONEFILE: Z request-xfr: axfr 127.0.0.1 NOKEY\n"
    " REQUEST-XFR: Udp 127.0.0.1 nokey allow-notify: ::1 Blocked\n",
    "server:\n ip-address: ::1 SERVERS=1 BindToDevice=no SetFib=2\n",
    "server:\n ip-address: ::1 Servers=\"1\" bindtodevice=YES\n",
    "server:\n foo: 3\n", "foo\n", "server:\n port\n", "server:\n port:\n",
    "server:\n port:", "server:\n port: port: 3\n", "server:\n port: 3 4\n",
    "server:\n port: abc\n", "server:\n port: 0\n", "server:\n port: -1\n",
    "server:\n server-count: 0\n", "server:\n tcp-count: -4\n",
    "server:\n tcp-count: 0\n", "server:\n rrl-size: 0\n",
    "server:\n zonefile: x\n", "zone:\n port: 3\n", "zone:\n name: x\n",
    "zone:\n zonefile: x\n", "zone:\n name: x\n name: y\n zonefile: z\n",
    "zone:\n name: x zonefile: z\nzone: name: X. zonefile: y\n",
    "pattern: name: x\npattern: name: x\n", "pattern: zonefile: x\n",
    "pattern: name: x include-pattern: x\n",
    "pattern: name: x include-pattern: y\npattern: name: y "
    "include-pattern: x\n",
    "key: name: x secret: aGVs\nkey: name: x secret: aGVs\n",
    "key: name: x\n", 'key: name: x secret: "%%%%"\n',
    "key: name: x algorithm: foo secret: aGVs\n",
    "key: algorithm: md5 secret: aGVs\n", "tls-auth: name: x\n",
    "tls-auth: auth-domain-name: x\n",
    "tls-auth: name: x auth-domain-name: y\n"
    "tls-auth: name: x auth-domain-name: z\n",
    "zone: name: x zonefile: x allow-query: 1.2.3.4 foo\n",
    "zone: name: x zonefile: x allow-query: 1.2.3.4\n",
    "zone: name: x zonefile: x allow-query: 1.2.3 NOKEY\n",
    "zone: name: x zonefile: x allow-query: 1.2.3.4/33 NOKEY\n",
    "zone: name: x zonefile: x allow-query: 1.2.3.4/x NOKEY\n",
    "zone: name: x zonefile: x allow-query: 1.2.3.4&1.2 NOKEY\n",
    "zone: name: x zonefile: x allow-query: 1.2.3.4@x NOKEY\n",
    "zone: name: x zonefile: x allow-query: 1.2.3.4@0 NOKEY\n",
    'zone: name: x zonefile: x allow-query: "" NOKEY\n',
    "zone: name: x zonefile: x request-xfr: 1.2.3.4/24 NOKEY\n",
    "zone: name: x zonefile: x request-xfr: 1.2.3.4 BLOCKED\n",
    "zone: name: x zonefile: x notify: 1.2.3.4/24 NOKEY\n",
    "zone: name: x zonefile: x notify: 1.2.3.4 BLOCKED\n",
    "zone: name: x zonefile: x outgoing-interface: foo\n",
    "zone: name: x zonefile: x request-xfr: UDP 1.2.3.4 nok\n",
    "zone: name: x zonefile: x allow-notify: 1.2.3.4 NOKEY\n",
    "server:\n server-0-cpu-affinity: 2\n",
    "server:\n server-x-cpu-affinity: 1\n",
    "server:\n cpu-affinity: 0\n",
    "server:\n nsid: abc\n", "server:\n nsid: abcx\n",
    'server:\n nsid: ""\n', 'server:\n nsid: "ascii_foo"\n',
    "server:\n ip-address: foo\n",
    "server:\n ip-address: 1.2.3.4 servers=3-1\n",
    "server:\n ip-address: 1.2.3.4 servers=x\n",
    "server:\n ip-address: 1.2.3.4 servers=1 servers=3\n",
    'server:\n ip-address: 1.2.3.4 servers="1,2"\n',
    'server:\n ip-address: 1.2.3.4 servers="1 2 3 - 4"\n',
    "server:\n ip-address: 1.2.3.4 foo=x\n",
    "server:\n ip-address: 1.2.3.4 setfib=-1\n",
    "server:\n ip-address: 1.2.3.4 bindtodevice=maybe\n",
    "server:\n statistics: 5\n", "server:\n xfrd-reload-timeout: -1\n",
    "server:\n identity: foo#bar # x\n",
    'server:\n identity: "foo\nbar"\n version: x y\n',
    "server: identity: port: 3\n", "server: identity: foo: port:4\n",
    "server: port:4\n", "server: port :4\n", "server: port : 4\n",
    "server: #x\n#port: 3\n port: 4#foo\n", "server:\r\n port: 4\r\n",
    "server:\n identity: 'foo bar'\n", "server:\n identity: foo\\ bar\n",
    'server:\n identity: "\\""\n', 'server:\n identity: \\"foo\n',
    "server:\n include: /nonexistent\n",
    'server:\n include: "/nonexistent"\n', "server:\n include:\n",
    'server:\n include: "x y" z\n', 'server:\n include: foo"bar"\n',
    "server: port: 5 server: port: 6\n", "server:\n key-file: foo\n",
    "verify:\n enable: yes ip-address: foo port: 3 verifier: a b c "
    '"d e"\n verifier-timeout: -1', "verify:\n verifier: \n",
    "dnstap:\n dnstap-enable: x\n", 'pattern:\n name: "a b"\n',
    "zone: name: x zonefile: y include-pattern: foo\n",
    "zone: name: x zonefile: y min-expire-time: refresh+retry+1\n",
    "zone: name: x zonefile: y min-expire-time: foo\n",
    "zone: name: x zonefile: y min-expire-time: -1\n",
    "zone: name: x zonefile: y max-refresh-time: -1\n",
    'server: identity: ""\n', 'server: logfile: ""\n chroot: ""',
    "server: identity: " + "a" * 255, "server: identity: " + "a" * 256,
    "server: version: " + "a" * 300,
    'server: chroot: /foo zonesdir: bar pidfile: foo xfrdfile: "" '
    'zonelistfile: "x" xfrdir: "" database: ""',
]


@pytest.mark.parametrize("text", [RICH, *SAME])
def test_same_as_nsd(conf, peer, text):
    compare(conf, peer, text, "-v")


def test_acl_comments_are_the_same(conf, peer):
    compare(conf, peer, RICH, "-vv")


DIFFERENT = [
    # All errors of the file are told, NSD stops at the first.
    ("server:\n foo 3\n port: 4\n bar\n",
     ["c:2: at 'foo': error: syntax error, expected a clause or an option of "
      "server:",
      "c:4: at 'bar': error: syntax error, expected nothing more behind "
      "port:"]),
    # Numbers out of range are refused; NSD cuts them to 32 bits, or takes
    # a port that no socket has.
    ("server:\n port: 99999\n",
     ["c:2: error: port: '99999' is out of range [0..65535]"]),
    ("server:\n server-count: 99999999999\n",
     ["c:2: error: server-count: '99999999999' is out of range [1..65535]"]),
    ("server:\n ip-address: 1.2.3.4@99999\n",
     ["c:2: error: port number 99999 is out of range [1..65535]"]),
    ("zone: name: x zonefile: x allow-query: 1.2.3.4@99999 NOKEY\n",
     ["c:1: error: port number 99999 is out of range [1..65535]"]),
    ("server:\n ip-address: 1.2.3.4 servers=0\n",
     ["c:2: error: invalid server range '0', expected such as 1-3"]),
    ("server:\n xfrd-tcp-pipeline: 65537\n",
     ["c:2: error: xfrd-tcp-pipeline: '65537' is out of range [0..65536]"]),
    # One text for all numbers out of range.
    ("server:\n rrl-ipv4-prefix-length: 33\n",
     ["c:2: error: rrl-ipv4-prefix-length: '33' is out of range [0..32]"]),
    ("remote-control:\n control-port: 0\n",
     ["c:2: error: expected a number greater than zero for control-port, got "
      "'0'"]),
    ("server:\n cpu-affinity: a\n",
     ["c:2: error: expected a number for cpu-affinity, got 'a'"]),
    # An empty secret protects nothing.
    ('key: name: x secret: ""\n',
     ["c:1: error: tsig key x has no secret blob"]),
    # Faults of a name are told; NSD calls a zone name that it can't parse a
    # duplicate.
    ("zone: name: a..b zonefile: x\n",
     ["c:1: error: cannot parse zone name 'a..b': "
      "expected a name without empty labels"]),
    ('key: name: "x..y" secret: aGVs\n',
     ["c:1: error: bad tsig key name x..y: "
      "expected a name without empty labels"]),
    # An IPv6 element is one wherever its colon stands.
    ("zone: name: x zonefile: x allow-query: 1.2.3.4-:: NOKEY\n",
     ["c:1: error: Bad ip6 address '1.2.3.4', expected an IPv4 or IPv6 "
      "address"]),
    # A source address is a single one; NSD takes what it can't use.
    ("zone: name: x zonefile: x outgoing-interface: 1.2.3.4/24\n",
     ["c:1: error: address range used for outgoing-interface, expected one "
      "address, got '1.2.3.4/24'"]),
    # tls-auth of provide-xfr came after 4.6.1.
    ("zone: name: x zonefile: x provide-xfr: 1.2.3.4 NOKEY nota\n",
     ["c:1: error: tls-auth nota in pattern _implicit_x could not be found"]),
    # NSD would start with a secret that it can't use.
    ("server:\n cookie-secret: foo\n",
     ["c:2: error: cookie-secret must be 32 hex digits, got 1 and something "
      "else behind them"]),
    # The string's first line; NSD names the last and its scanner dies.
    ('server:\n identity: "foo\n',
     ["c:2: error: EOF inside quoted string, expected a '\"' behind "
      "'foo...'"]),
    ("server:\n identity: a\\\nb\n",
     ["c:2: error: backslash at the end of the line, expected a character "
      "behind it",
      "c:3: at 'b': error: syntax error, expected nothing more behind "
      "identity:"]),
    # NSD opens it until it has no more descriptors.
    ("server:\n include: c\n",
     ["c:2: error: include loop: 'c' is being read already"]),
]


@pytest.mark.parametrize("text, lines", DIFFERENT)
def test_different_from_nsd(conf, peer, text, lines):
    check = conf(text)
    code, out, err = check()
    count = f"read c failed: {len(lines)} errors in configuration file"
    assert (code, out, err.splitlines()) == (2, "", [*lines, count])
    # If NSD comes to say the same, the row belongs to SAME.
    assert (code, err) != check(program=peer)[::2]


@pytest.mark.parametrize("word", ["foo", "ALL", "nxdomain,error"])
def test_word_that_nsd_ignores(conf, peer, word):
    check = conf(f"zone: name: x zonefile: x rrl-whitelist: {word}\n")
    assert check() == (0, "", (
        f"c:1: warning: unknown rrl-whitelist type '{word}' has no effect,"
        " expected nxdomain, error, referral, any, rrsig, wildcard, nodata,"
        " dnskey, positive or all\n"))
    words = ("-z", "x", "-o", "rrl-whitelist")
    assert check(program=peer) == (0, "", "")
    assert check(*words)[1] == check(*words, program=peer)[1]


@pytest.mark.parametrize("text", [
    # as in 4.15: a glob without a match is no error; a new option
    "server:\n include: /nonexistent/*\n port: 9\n",
    "server:\n tcp-listen-queue: -4\n"])
def test_refused_by_nsd_but_fine(conf, peer, text):
    check = conf(text)
    assert check() == (0, "", "")
    assert check(program=peer)[0] == 2


SERVER_OPTIONS = [
    "ip-address", "ip-transparent", "ip-freebind", "reuseport", "debug-mode",
    "do-ip4", "do-ip6", "hide-version", "hide-identity", "identity",
    "version", "nsid", "drop-updates", "logfile", "log-only-syslog",
    "log-time-ascii", "verbosity", "server-count", "tcp-count",
    "tcp-reject-overflow", "tcp-query-count", "tcp-timeout", "tcp-mss",
    "outgoing-tcp-mss", "xfrd-tcp-max", "xfrd-tcp-pipeline",
    "ipv4-edns-size", "ipv6-edns-size", "pidfile", "port", "statistics",
    "chroot", "username", "zonesdir", "zonelistfile", "xfrdfile", "xfrdir",
    "xfrd-reload-timeout", "zonefiles-check", "zonefiles-write",
    "round-robin", "minimal-responses", "refuse-any", "confine-to-zone",
    "rrl-size", "rrl-ratelimit", "rrl-slip", "rrl-ipv4-prefix-length",
    "rrl-ipv6-prefix-length", "rrl-whitelist-ratelimit", "tls-service-key",
    "tls-service-pem", "tls-port", "cookie-secret", "cookie-secret-file",
    "answer-cookie", "database",
    "control-enable", "control-interface", "control-port",
    "server-key-file", "server-cert-file", "control-key-file",
    "control-cert-file", "dnstap-enable", "dnstap-socket-path",
    "dnstap-send-identity", "dnstap-identity", "zones", "patterns", "foo",
    "difffile", "ip4-only", "zonefile", "name"]

ZONE_OPTIONS = [
    "name", "zonefile", "allow-query", "allow-notify", "request-xfr",
    "notify", "provide-xfr", "outgoing-interface", "allow-axfr-fallback",
    "zonestats", "multi-master-check", "max-refresh-time",
    "min-refresh-time", "max-retry-time", "min-retry-time",
    "size-limit-xfr", "store-ixfr", "ixfr-number", "ixfr-size",
    "create-ixfr", "include-pattern", "foo", "port", "rrl-whitelist"]


@pytest.mark.parametrize("option", SERVER_OPTIONS)
def test_o_is_the_same_for_the_server(conf, peer, option):
    compare(conf, peer, RICH, "-o", option)
    compare(conf, peer, RICH, "-o", option.replace("-", "_"))


def test_o_tells_the_size_of_buffers_as_later_versions_do(conf):
    """4.6.1 prints 0."""
    check = conf("server:\n")
    assert check("-o", "send-buffer-size")[1] == "4194304\n"
    assert check("-o", "receive-buffer-size")[1] == "1048576\n"


@pytest.mark.parametrize("option", ZONE_OPTIONS)
def test_o_is_the_same_for_zones_and_patterns(conf, peer, option):
    for zone in ("b.example", "example.com.", "a.b.example", "none"):
        compare(conf, peer, RICH, "-z", zone, "-o", option)
    for pattern in ("p2", "a1", "none", "_implicit_b.example."):
        compare(conf, peer, RICH, "-p", pattern, "-o", option)


def test_min_expire_and_notify_retry_are_right_here(conf, peer):
    """4.6.1 prints 0 for refresh+retry+1 and a yes or no for notify-retry."""
    check = conf(RICH)
    arguments = ("-z", "example.com", "-o", "min-expire-time")
    assert check(*arguments) == (0, "refresh+retry+1\n", "")
    assert check(*arguments, program=peer) == (0, "0\n", "")
    arguments = ("-z", "b.example", "-o", "notify-retry")
    assert check(*arguments) == (0, "7\n", "")
    assert check(*arguments, program=peer) == (0, "yes\n", "")


def test_verify_options_come_with_the_pattern(conf, peer):
    """4.6.1 forgets verify-zone and verifier-feed-zone of a pattern."""
    check = conf("pattern: name: p zonefile: z verify-zone: no "
                 "verifier-feed-zone: no\nzone: name: x include-pattern: p\n")
    lines = ["\tverify-zone: no", "\tverifier-feed-zone: no"]
    assert check("-v")[1].splitlines()[-2:] == lines
    assert check("-v", program=peer)[1].splitlines()[-2:] != lines


def test_xfrd_cpu_affinity_is_printed(conf, peer):
    """4.6.1 leaves it out without cpu-affinity."""
    check = conf("server: xfrd-cpu-affinity: 2\n")
    assert "\txfrd-cpu-affinity: 2\n" in check("-v")[1]
    assert "xfrd-cpu-affinity" not in check("-v", program=peer)[1]


@pytest.mark.parametrize("arguments", [
    ["-s", "k1."], ["-s", "x"], ["-a", "b1"], ["-a", "x"], ["-t", "ta"],
    ["-t", "x"], ["-z", "b.example"], ["-z", "b.example", "-o", "pattern"],
    ["-z", "b.example", "-o", "part_of_config"], ["-v", "-o", "port"],
    ["-f", "-o", "pidfile"], ["-z", "none", "-o", "pattern"]])
def test_flags_are_the_same(conf, peer, arguments):
    compare(conf, peer, RICH, *arguments)


@pytest.mark.parametrize("option", ["pidfile", "xfrdfile", "zonelistfile",
                                    "logfile", "zonesdir", "chroot"])
def test_f_is_the_same(conf, peer, option):
    text = ("server: chroot: /foo zonesdir: /foo/zones pidfile: run/pid\n"
            "xfrdfile: /foo/db/x zonelistfile: zl xfrdir: /foo/tmp\n"
            'logfile: log database: ""\n')
    compare(conf, peer, text, "-o", option)
    compare(conf, peer, text, "-f", "-o", option)
