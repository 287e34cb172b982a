"""reconfig with other files of DNS over TLS: what clients are shown, and what
is refused."""
import signal
import ssl

import dns.message
import pytest

import control
import control_keys
from certificates import Authority
from harness import wait_for, zone_text
from ports import free_port
from tls_client import Client, context_for

WWW = ["192.0.2.1"]
REFUSED = "error reconfig refused: nothing has changed\n"
READ = "the key and the certificates of TLS have been read anew\n"


@pytest.fixture
def authority(directory):
    return Authority(directory / "certificates")


def name_files(server, pair):
    for option, path in zip(("tls-service-key", "tls-service-pem"), pair):
        server.options[option] = None if path is None else f'"{path}"'


@pytest.fixture
def server(make_server, authority):
    port, auth_port = free_port(), free_port()
    server = make_server(zones={"example": zone_text()}, options={
        "ip-address": ["127.0.0.1", f"127.0.0.1@{port}",
                       f"127.0.0.1@{auth_port}"],
        "tls-port": port, "tls-auth-port": auth_port, "server-count": 2,
        "tls-cert-bundle": f'"{authority.cert}"'})
    server.tls_port, server.auth_port = port, auth_port
    name_files(server, authority.sign("ns.example"))
    return control.config(server)


def shown(server, authority):
    """The certificates that workers show."""
    def one():
        with Client(server.tls_port, context_for(authority)) as client:
            assert client.address() == WWW
            return client.serial()
    return {one() for _ in range(8)}


def test_other_files(server, authority):
    """Other files are in effect when reconfig answers, and open connections
    stay."""
    server.start()
    roles = server.roles()
    with Client(server.tls_port, context_for(authority)) as old:
        assert old.address() == WWW
        before = shown(server, authority)
        # The name stays, the files are others.
        name_files(server, authority.sign("other", "ns.example"))
        code, text = control.reconfig(server)
        assert code == 0 and READ in text, text
        assert text.endswith("reconfig completed: changes applied\nok\n")
        after = shown(server, authority)
        assert len(after) == 1 and not after & before
        assert old.address() == WWW
    for worker in "server 1", "server 2":
        assert server.role(worker) == roles[worker]
    # A later worker has the new certificates, too.
    server.wait_replaced("server 1", server.kill("server 1"))
    server.wait_serving()
    assert shown(server, authority) == after
    assert "no changes detected" in control.reconfig(server)[1]
    # Now these files are looked at.
    known = len(server.read_log())
    authority.sign("other", "ns.example")
    server.wait_log("certificates of TLS have been read anew", known)


@pytest.mark.parametrize("option, what, why", [
    ("tls-service-key", None, "error: tls-service-key: cannot read"),
    ("tls-service-key", "KEY", "error: tls-service-key is no key that can be"
     " used with tls-service-pem"),
    ("tls-service-pem", "nothing\n", "error: tls-service-pem is no"
     " certificate that can be used"),
    ("tls-service-pem", None, "error: tls-service-pem: cannot read"),
    ("tls-service-ocsp", "nothing\n", "error: tls-service-ocsp is no OCSP"
     " response"),
    ("tls-cert-bundle", "nothing\n", "error: tls-cert-bundle"),
    ("tls-cert-bundle", None, "error: tls-cert-bundle: cannot read"),
])
def test_other_files_that_cannot_be_used(server, authority, directory, option,
                                         what, why):
    server.start()
    before = shown(server, authority)
    roles = server.roles()
    bad = directory / "bad"
    if what == "KEY":
        bad.write_text(authority.sign("stranger")[0].read_text())
    elif what is not None:
        bad.write_text(what)
    server.options[option] = f'"{bad}"'
    server.options["identity"] = '"two"'
    code, text = control.reconfig(server)
    assert code == 1 and why in text and text.endswith(REFUSED), text
    assert shown(server, authority) == before
    assert roles == server.roles()
    assert b"two" not in server.query("id.server", "TXT",
                                      rdclass="CH").to_wire()


def test_other_authorities_of_clients(server, authority, directory):
    other = Authority(directory / "others", "other authority")
    clients = [(of, context_for(authority, client=of.sign("client.example")))
               for of in (authority, other)]
    server.start()

    def is_let_in(context):
        try:
            with Client(server.auth_port, context) as client:
                return client.address() == WWW
        except (OSError, EOFError, ssl.SSLError):
            return False
    assert [is_let_in(context) for _, context in clients] == [True, False]
    server.options["tls-cert-bundle"] = f'"{other.cert}"'
    code, text = control.reconfig(server)
    assert code == 0 and READ in text, text
    for _ in range(4):
        assert [is_let_in(context) for _, context in clients] == [False, True]


def test_bundle_of_clients_alone(make_server, authority, directory):
    """A bundle that xfrd alone uses."""
    server = make_server(
        zones={"example": zone_text()},
        extra="tls-auth:\n\tname: a\n\tauth-domain-name: ns.example\n",
        options={"tls-cert-bundle": f'"{authority.cert}"'})
    control.config(server).start()
    server.options["tls-cert-bundle"] = f'"{directory}/nothing"'
    code, text = control.reconfig(server)
    assert code == 1 and "error: tls-cert-bundle: cannot read" in text
    assert text.endswith(REFUSED)
    server.options["tls-cert-bundle"] = f'"{Authority(directory / "b").cert}"'
    assert control.reconfig(server)[1].endswith(
        "reconfig completed: changes applied\nok\n")


def reconfig_settled(server):
    """Runs reconfig, which must succeed and leave xfrd in place."""
    xfrd = server.role("xfrd")
    said = control.reconfig(server)
    assert said[0] == 0, said
    assert server.role("xfrd") == xfrd
    return said


def reconfig_waits(server):
    """Main keeps TLS as it is, replaces nobody, and says so."""
    roles = server.roles()
    code, text = control.reconfig(server)
    assert (code, text.splitlines()[1:]) == (0, [
        f"{server.place('tls-service-key')}server: tls-service-key has"
        " changed: that waits for a restart",
        "reconfig completed: no changes applied, all of them wait for a"
        " restart", "ok"])
    assert server.roles() == roles
    assert "tls-service-key" in control.ask(server, "status")[1]


def reconfig_changes(server):
    """Changes another option, which needs no restart."""
    server.options["identity"] = server.options.get("identity", "") + "x"
    code, text = reconfig_settled(server)
    lines = text.splitlines()
    assert (code, lines[-2:]) == (0, ["reconfig completed: changes applied",
                                      "ok"])
    assert f"{server.place('identity')}server: identity has changed" in lines
    return text


def test_tls_comes_and_goes_with_a_restart(server, authority):
    pair = authority.sign("ns.example")
    ocsp = server.directory / "ocsp"
    name_files(server, (None, None))
    server.write_config()
    server.start()
    for _ in range(2):
        name_files(server, pair)
        # Files that cannot be used are noticed at the next start.
        server.options["tls-service-ocsp"] = f'"{ocsp}"'
        for _ in range(2):
            reconfig_waits(server)
        assert "tls-service-key" in reconfig_changes(server)
        reconfig_waits(server)
        name_files(server, (None, None))
        server.options["tls-service-ocsp"] = None
        assert "no changes detected" in control.reconfig(server)[1]
        assert "trouble" not in control.ask(server, "status")[1]


def test_tls_stays_until_a_restart(server, authority):
    server.start()
    # As they are by now, not at the start.
    other = authority.sign("other", "ns.example")
    name_files(server, other)
    assert READ in reconfig_settled(server)[1]
    before = shown(server, authority)
    name_files(server, (None, None))
    for _ in range(2):
        reconfig_waits(server)
        assert "tls-service-key" in reconfig_changes(server)
        assert shown(server, authority) == before
    # The served files are watched for as long as they are served.
    known = len(server.read_log())
    authority.sign("other", "ns.example")
    server.wait_log("certificates of TLS have been read anew", known)
    for path in other:
        path.unlink()
    # Also where others of their options change.
    bundle = Authority(server.directory / "others", "others").cert
    server.options["tls-cert-bundle"] = f'"{bundle}"'
    text = reconfig_changes(server)
    assert "tls-service-key" in text and "warning" not in text
    name_files(server, authority.sign("third", "ns.example"))
    text = control.reconfig(server)[1]
    assert "restart" not in text and READ in text
    assert not shown(server, authority) & before


def has_octets(pid, secret):
    with open(f"/proc/{pid}/maps") as maps, \
            open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            begin, end = (int(x, 16) for x in span.split("-"))
            if not rights.startswith("r") or "[v" in line \
                    or end - begin > 1 << 28:
                continue
            try:
                memory.seek(begin)
                if secret in memory.read(end - begin):
                    return True
            except OSError:
                continue
    return False


def test_another_key_is_for_main_and_workers_alone(server, authority):
    """The octets of the new key's file are in main and workers alone, and main
    forgets the former key."""
    server.start()
    first, second = (authority.directory / f"{name}.key"
                     for name in ("ns.example", "other"))
    name_files(server, authority.sign("other", "ns.example"))
    assert control.reconfig(server)[0] == 0
    wait_for("the next xfrd", lambda: control.ask(server, "status")[0] == 0)
    old, new = (path.read_text().splitlines()[1].encode()
                for path in (first, second))
    main = server.role("main")
    assert has_octets(main, new) and not has_octets(main, old)
    for role in "loader", "xfrd":
        for secret in old, new:
            assert not has_octets(server.role(role), secret), role


def test_tls_auth_xfr_only_follows(server, authority):
    server.extra = ("pattern:\n\tname: p\n\tprovide-xfr: 127.0.0.1 NOKEY\n"
                    "zone:\n\tname: xfr.test\n\tinclude-pattern: p\n"
                    "\tzonefile: example.zone\n") + server.extra
    server.write_config()
    server.start()

    def is_given():
        query = dns.message.make_query("xfr.test", "AXFR")
        with Client(server.tls_port, context_for(authority)) as client:
            client.send(query)
            return bool(client.receive().answer)
    assert is_given()
    server.options["tls-auth-xfr-only"] = "yes"
    assert control.reconfig(server)[1].endswith("changes applied\nok\n")
    assert not any(is_given() for _ in range(8))


def test_long_warnings_leave_room_for_reasons_and_what_waits(make_server, directory):
    deep = directory.joinpath(*["d" * 240] * 4)
    deep.mkdir(parents=True)
    pair = [path.rename(deep / path.name) for path in
            Authority(directory / "certificates").sign("ns.example")]
    keys = control_keys.make(directory / "keys").rename(deep / "keys")
    server = make_server(zones={"example": zone_text()})
    name_files(server, pair)
    control_keys.start(server, keys)
    for path in pair[0], keys / "nsd_server.key":
        path.unlink()
    code, text = control.reconfig(server, server_count=3)
    assert code == 0
    assert [line.split(" as they are: ")[1].split(" /")[0]
            for line in text.splitlines()[1:3]] == [
                "tls-service-key: cannot read", "server-key-file: cannot read"]
    assert text.endswith(
        "\n1 more option has changed: that waits for a restart\n"
        "reconfig completed: no changes applied, all of them wait for a"
        " restart\nok\n"), text


def test_signal_says_it_once(server, authority):
    """The log has the line once, from the processes that take the
    certificates."""
    server.options["reload-config"] = "yes"
    server.write_config()
    server.start()
    name_files(server, authority.sign("other", "ns.example"))
    server.write_config()
    known = len(server.read_log())
    server.signal(signal.SIGHUP)
    server.wait_log("reconfig: done", known)
    assert server.read_log()[known:].count(READ) == 1
