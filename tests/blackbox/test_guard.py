"""Rate limits and cookies of the real server (fault 76)."""

import binascii
import os
import re
import signal
import socket
import subprocess
import sys
import time

import dns.edns
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rrset
import pytest

import control
from harness import DEADLINE, wait_for, zone_text

SECRET = "000102030405060708090a0b0c0d0e0f"
OTHER = "f00102030405060708090a0b0c0d0e0f"
COOKIE = 10


def flood(server, names, sockets=10, sources=None):
    """Sends a question for each name, all of them at once, from so many ports,
    or one of each source. With rrl-slip: 1 each is answered: how many whole, how
    many cut short."""
    sources = sources or ["127.0.0.1"] * sockets
    sockets = len(sources)
    clients = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
               for _ in range(sockets)]
    whole = cut = 0
    try:
        for client, source in zip(clients, sources):
            client.bind((source, 0))
            client.connect(("127.0.0.1", server.port))
            client.settimeout(DEADLINE)
        for i, name in enumerate(names):
            query = dns.message.make_query(name, "A", use_edns=False)
            clients[i % sockets].send(query.to_wire())
        for i in range(len(names)):
            reply = dns.message.from_wire(clients[i % sockets].recv(4096))
            is_cut = bool(reply.flags & dns.flags.TC)
            assert not (is_cut and reply.answer)
            cut += is_cut
            whole += not is_cut
    finally:
        for client in clients:
            client.close()
    return whole, cut


def limited(make_server, zones=("example",), extra="", **options):
    server = make_server(
        zones={zone: zone_text() for zone in zones}, extra=extra,
        options={"rrl-ratelimit": 5, "rrl-slip": 1, "reload-config": "yes",
                 "verbosity": 1, **{name.replace("_", "-"): value
                                    for name, value in options.items()}})
    return control.config(server)


def random_names(count, zone="example"):
    return [f"x{i}.{zone}" for i in range(count)]


def test_all_processes_have_one_limit(make_server):
    """At once twice the limit, and then the limit in each second."""
    server = limited(make_server, server_count=3, reuseport="yes").start()
    begin = time.monotonic()
    whole, cut = flood(server, random_names(600), sockets=30)
    passed = time.monotonic() - begin
    assert 10 <= whole <= 10 + 5 * passed + 1
    assert whole + cut == 600
    # The line is in the log once, whoever has come upon it.
    server.wait_log(r"info: ratelimit block example\. type nxdomain target "
                    r"127\.0\.0\.0/24 query 127\.0\.0\.1 A$")
    # Another kind of answer is not held back.
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    # Nor is who comes over TCP.
    assert len(server.query("x.example", "A", tcp=True).authority) == 1
    # The limit ends after some three seconds, with the next question.
    wait_for("whole answers", lambda: time.sleep(1)
             or flood(server, ["x.example"])[0])
    # The end is logged once the rate is well below the limit, with the next
    # question.
    wait_for("the word of it", lambda: time.sleep(1)
             or flood(server, ["x.example"])[0]
             and "info: ratelimit unblock example. type nxdomain target "
             in server.read_log())


def test_who_spreads_over_many_netblocks(make_server):
    """A /20 may get four times the limit, of one netblock in it."""
    spread = [f"127.0.{i}.2" for i in range(16)]
    server = limited(make_server, rrl_ipv4_wider="20 4").start()
    begin = time.monotonic()
    whole, cut = flood(server, random_names(16 * 8), sources=spread)
    passed = time.monotonic() - begin
    assert whole + cut == 16 * 8
    assert 40 <= whole <= 40 + 20 * passed + 1
    server.wait_log(r"info: ratelimit block example\. type nxdomain target "
                    r"127\.0\.0\.0/20 query 127\.0\.[0-9]+\.2 A$")
    # Beside it is another one, and one netblock has no more than before.
    assert flood(server, random_names(8), sources=["127.0.16.2"]) == (8, 0)
    begin = time.monotonic()
    whole, _ = flood(server, random_names(100), sources=["127.0.32.2"])
    assert whole <= 10 + 5 * (time.monotonic() - begin) + 1
    del server.options["rrl-ipv4-wider"]
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    # Twice a second of each of 16 netblocks is too much for a wider one.
    wait_for("no wider one", lambda: time.sleep(1) or flood(
        server, random_names(16 * 2), sources=spread) == (16 * 2, 0))


# Asks so often, and prints the flags and the length of each reply.
ASK = """
import socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(int(sys.argv[1]))
client.connect(("127.0.0.1", int(sys.argv[2])))
for _ in range(int(sys.argv[4])):
    client.send(bytes.fromhex(sys.argv[3]))
for _ in range(int(sys.argv[4])):
    reply = client.recv(4096)
    print(reply[2], len(reply))
"""


@pytest.mark.parametrize("size", [1232, 4096])
def test_limits_where_the_interface_is_narrow(make_server, size):
    """Fault 41, CVE-2021-25218: answers that the link cannot carry in one piece,
    and that are cut short at the same time."""
    server = limited(make_server, ipv4_edns_size=size)
    server.write_zone("example", zone_text() + "big TXT" + f" {'x' * 250}" * 4
                      + "\n")
    root = os.geteuid() == 0
    server.launcher = ["unshare", "-n" if root else "-rn", "sh", "-c",
                       'ip link set lo mtu 576 up && exec "$@"', "sh"]
    server.start(ready=False)
    server.wait_log("nsd started")
    query = dns.message.make_query("big.example", "TXT", use_edns=0,
                                   payload=size).to_wire()
    enter = [] if root else ["-U", "--preserve-credentials"]
    for _ in range(2):
        text = subprocess.run(
            ["nsenter", "-t", str(server.main_pid), "-n", *enter,
             sys.executable, "-c", ASK, str(DEADLINE), str(server.port),
             query.hex(), "50"], check=True, capture_output=True, text=True,
            timeout=2 * DEADLINE).stdout
        replies = [tuple(map(int, line.split()))
                   for line in text.splitlines()]
        whole = [length for flags, length in replies if not flags & 2]
        assert len(replies) == 50
        assert all(length > 1000 for length in whole)
        assert all(length < 100 for flags, length in replies if flags & 2)
        assert len(whole) < 40
    assert server.stop() == 0


def test_reconfig_changes_limits(make_server):
    server = limited(make_server).start()
    assert flood(server, random_names(300))[1] > 200
    for options, least in (({"rrl-ratelimit": 0}, 300),
                           ({"rrl-ratelimit": 10000}, 300),
                           ({"rrl-ratelimit": 1, "rrl-slip": 0}, 0)):
        server.options.update(options)
        server.write_config()
        assert control.ask(server, "reconfig")[0] == 0
        if least:
            wait_for("no limit", lambda: flood(
                server, random_names(300))[0] == 300)
    control.ask(server, "stats")
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with client:
        client.connect(("127.0.0.1", server.port))
        for name in random_names(300):
            client.send(dns.message.make_query(name, "A").to_wire())
    wait_for("drops", lambda: re.search(
        r"^num.dropped=(2[5-9][0-9]|300)$",
        control.ask(server, "stats_noreset")[1], re.M))
    assert "ratelimit: 1\n" in control.ask(server, "status")[1]


def test_table_of_another_size(make_server):
    """In a small table most netblocks have lost their place by the time they
    ask again."""
    server = limited(make_server, server_count=2, rrl_size=1,
                     rrl_ratelimit=1).start()
    workers = server.role("server 1"), server.role("server 2")
    sources = [f"127.0.{i}.1" for i in range(1, 65)]

    def is_large():
        cut = sum(flood(server, random_names(8 * 64), sources=sources)[1]
                  for _ in range(5))
        # Of 40 for each: those of the 8 that have a place, or of them all.
        return cut > 10 * 64

    assert not is_large()
    for size, large in (100000, True), (1, False), (2_000_000, True):
        control.apply(server, rrl_size=size)
        assert is_large() == large
    assert workers == (server.role("server 1"), server.role("server 2"))
    # A later worker has the same.
    for name in "server 1", "server 2":
        server.wait_replaced(name, server.kill(name))
    server.wait_serving()
    assert is_large()


def test_table_that_has_no_room_waits_for_a_restart(make_server):
    server = limited(make_server, rrl_size=1).start()
    for _ in range(2):
        code, text = control.reconfig(server, rrl_size=2**31 - 1)
        assert (code, text.splitlines()[1:]) == (0, [
            f"{server.place('rrl-size')}server: rrl-size has changed:"
            " that waits for a restart",
            "reconfig completed: no changes applied, all of them wait for a"
            " restart", "ok"])
    control.apply(server, rrl_size=2**24)
    assert "trouble" not in control.ask(server, "status")[1]


def test_whitelist_of_a_zone(make_server):
    server = limited(
        make_server, rrl_whitelist_ratelimit=10000,
        extra="zone:\n\tname: free.test\n\tzonefile: example.zone\n"
        "\trrl-whitelist: nxdomain\n\trrl-whitelist: error\n").start()
    assert flood(server, random_names(300))[1] > 200
    assert flood(server, random_names(300, "free.test")) == (300, 0)
    server.options["rrl-whitelist-ratelimit"] = 2
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    assert flood(server, random_names(300, "free.test"))[1] > 200
    server.wait_log(r"ratelimit block free\.test\. type nxdomain"
                    r"\(whitelisted\) target")


def test_lines_about_limits_are_bounded(make_server):
    """Each of 200 names is limited, and that at once."""
    server = limited(make_server, zones=["example"],
                     rrl_ratelimit=1).start()
    names = [f"a{i}.test" for i in range(200) for _ in range(4)]
    flood(server, names)
    flood(server, [f"{i}.example" for i in range(4)])
    lines = re.findall("ratelimit block", server.read_log())
    assert 0 < len(lines) <= 60


@pytest.mark.parametrize("serial", [0, 1])
def test_differences_over_udp_are_limited(make_server, serial):
    """A secondary's address can be forged, too."""
    server = limited(make_server, rrl_ratelimit=1,
                     extra="\tprovide-xfr: 127.0.0.1 NOKEY\n").start()
    query = dns.message.make_query("example", "IXFR", use_edns=False)
    query.authority.append(dns.rrset.from_text(
        "example.", 0, "IN", "SOA", f". . {serial} 0 0 0 0"))
    whole = cut = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(DEADLINE)
        for _ in range(50):
            client.sendto(query.to_wire(), ("127.0.0.1", server.port))
            reply = dns.message.from_wire(client.recv(4096))
            is_cut = bool(reply.flags & dns.flags.TC)
            cut += is_cut
            whole += not is_cut
            assert bool(reply.answer) != is_cut
    assert whole and cut > whole


def test_any_table_is_survived_by_a_small_one(make_server):
    server = limited(make_server, rrl_size=1).start()
    whole, cut = flood(server, random_names(100))
    assert whole + cut == 100 and cut > 50


# ---- cookies ---------------------------------------------------------------


@pytest.fixture
def cookies(make_server, tmp_path):
    server = make_server(
        zones={"example": zone_text()},
        options={"answer-cookie": "yes", "server-count": 2,
                 "reload-config": "yes", "verbosity": 2,
                 "cookie-secret-file": f'"{tmp_path / "secrets"}"'})
    server.secrets = tmp_path / "secrets"
    return control.config(server)


def ask_cookie(server, cookie=b"client__"):
    """The cookie that comes back."""
    query = dns.message.make_query(
        "www.example", "A",
        options=[dns.edns.GenericOption(COOKIE, cookie)])
    reply = dns.query.udp(query, "127.0.0.1", port=server.port,
                          timeout=DEADLINE)
    assert reply.rcode() == dns.rcode.NOERROR and reply.answer
    back = [option for option in reply.options if option.otype == COOKIE]
    return back[0].to_wire() if back else None


def is_taken(server, cookie):
    return ask_cookie(server, cookie) == cookie


def test_secrets_roll_over(cookies):
    cookies.write_config()
    server = cookies.start()
    random = ask_cookie(server)
    assert is_taken(server, random)
    text = control.ask(server, "print_cookie_secrets")[1]
    assert re.fullmatch("source : random generated\n"
                        "active : [0-9a-f]{32}\n", text)
    for verb, error in (("activate", "no staging cookie secret to activate"),
                        ("drop", "can not drop the currently active cookie "
                                 "secret")):
        assert control.ask(server, f"{verb}_cookie_secret") == (
            1, f"error: {error}\n")
    assert control.ask(server, "add_cookie_secret", SECRET) == (0, "ok\n")
    assert not is_taken(server, random)
    first = ask_cookie(server)
    assert control.ask(server, "add_cookie_secret", OTHER) == (0, "ok\n")
    assert is_taken(server, first)
    assert control.ask(server, "print_cookie_secrets")[1] == (
        f'source : "{server.secrets}"\nactive : {SECRET}\n'
        f"staging: {OTHER}\n")
    assert control.ask(server, "activate_cookie_secret") == (0, "ok\n")
    second = ask_cookie(server, first)
    assert second != first and is_taken(server, second)
    assert server.secrets.read_text() == f"{OTHER}\n{SECRET}\n"
    assert server.secrets.stat().st_mode & 0o777 == 0o600
    # An answered change survives the death of any process, and a restart.
    for role in "server 1", "server 2", "xfrd", "loader":
        server.wait_replaced(role, server.kill(role))
    assert is_taken(server, second)
    server.stop()
    server.start()
    assert is_taken(server, second)
    assert control.ask(server, "drop_cookie_secret") == (0, "ok\n")
    assert control.ask(server, "print_cookie_secrets")[1] == (
        f'source : "{server.secrets}"\nactive : {OTHER}\n')
    assert SECRET not in server.read_log() and OTHER not in server.read_log()


@pytest.mark.parametrize("words, text", [
    ([], "error: missing argument (cookie_secret)\n"),
    (["12"], "invalid cookie secret: invalid argument length\n"
             "please provide a 128bit hex encoded secret\n"
             "error no secret was added\n"),
    (["g" * 32], "invalid cookie secret: parse error\n"
                 "please provide a 128bit hex encoded secret\n"
                 "error no secret was added\n")])
def test_secrets_that_are_none(cookies, words, text):
    cookies.write_config()
    server = cookies.start()
    assert control.ask(server, "add_cookie_secret", *words) == (1, text)


def test_without_a_file(cookies):
    cookies.options["cookie-secret-file"] = '""'
    cookies.write_config()
    server = cookies.start()
    assert control.ask(server, "add_cookie_secret", SECRET) == (
        1, "error: empty cookie-secret-file\n")
    cookie = ask_cookie(server)
    assert is_taken(server, cookie)
    # A reconfig makes no other one.
    server.options["identity"] = "x"
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    assert is_taken(server, cookie)


def test_a_file_that_cannot_be_written(cookies, tmp_path):
    cookies.options["cookie-secret-file"] = f'"{tmp_path / "no" / "secrets"}"'
    cookies.write_config()
    server = cookies.start()
    cookie = ask_cookie(server)
    code, text = control.ask(server, "add_cookie_secret", SECRET)
    assert code == 1 and text == (
        'error: writing to cookie secret file: '
        f'"{tmp_path / "no" / "secrets"}": No such file or directory\n')
    assert is_taken(server, cookie)


def test_secrets_of_nsd_conf(cookies):
    cookies.secrets.write_text(OTHER + "\n")
    cookies.options["cookie-secret"] = SECRET
    cookies.write_config()
    server = cookies.start()
    first = ask_cookie(server)
    assert control.ask(server, "print_cookie_secrets")[1] == (
        f"source : configuration\nactive : {SECRET}\n")
    for words in (["add_cookie_secret", OTHER], ["activate_cookie_secret"],
                  ["drop_cookie_secret"]):
        code, text = control.ask(server, *words)
        assert code == 1
        assert text.startswith("error: cookie secrets are already configured")
    server.options["cookie-secret"] = OTHER
    server.options["cookie-staging-secret"] = SECRET
    server.write_config()
    assert "changes applied" in control.ask(server, "reconfig")[1]
    wait_for("xfrd", lambda: control.ask(server, "status")[0] == 0)
    assert control.ask(server, "print_cookie_secrets")[1] == (
        f"source : configuration\nactive : {OTHER}\nstaging: {SECRET}\n")
    # Staged by now: taken, and replaced by another.
    assert not is_taken(server, first)
    assert "no changes" in control.ask(server, "reconfig")[1]
    del server.options["cookie-secret"]
    del server.options["cookie-staging-secret"]
    server.write_config()
    assert "changes applied" in control.ask(server, "reconfig")[1]
    wait_for("xfrd", lambda: control.ask(server, "status")[0] == 0)
    assert control.ask(server, "print_cookie_secrets")[1] == (
        f'source : "{server.secrets}"\nactive : {OTHER}\n')


# Fault 51.
@pytest.mark.parametrize("text", [
    "", "\n", "x", SECRET[:31] + "\n", SECRET + "0\n", SECRET + " x\n",
    f"{SECRET}\n{OTHER}\n{SECRET}\n", "\0" * 40, SECRET + "\n" * 2000])
def test_a_file_with_faults_is_ignored(cookies, text):
    cookies.secrets.write_text(text)
    cookies.write_config()
    server = cookies.start()
    server.wait_log(f"error: cookie secret file {server.secrets} corrupt or "
                    "not readable: ")
    assert is_taken(server, ask_cookie(server))
    assert cookies.secrets.read_text() == text


def test_cookies_are_off_by_default(cookies):
    del cookies.options["answer-cookie"]
    cookies.secrets.write_text("x")
    cookies.write_config()
    server = cookies.start()
    assert ask_cookie(server) is None
    assert "corrupt" not in server.read_log()
    server.options["answer-cookie"] = "yes"
    server.write_config()
    server.signal(signal.SIGHUP)
    wait_for("cookies", lambda: ask_cookie(server) is not None)


def test_servers_of_one_address_share_a_secret(cookies, make_server):
    """RFC 9018: the cookie of one is good for the other; it is that of the
    address, which is the same here."""
    cookies.secrets.write_text(SECRET)
    cookies.write_config()
    server = cookies.start()
    other = make_server(
        zones={"example": zone_text()},
        options={"answer-cookie": "yes", "cookie-secret": SECRET}).start()
    cookie = ask_cookie(server)
    assert binascii.hexlify(cookie[8:12]) == b"01000000"
    assert is_taken(other, cookie)


def test_clients_with_a_cookie_are_not_limited(cookies):
    cookies.options.update({"rrl-ratelimit": 1, "rrl-slip": 0})
    cookies.write_config()
    server = cookies.start()
    cookie = ask_cookie(server)
    for _ in range(50):
        assert is_taken(server, cookie)
