"""Real clients of RFC 2136 change zones of our server, and of BIND."""
import time

import dns.message
import dns.query
import dns.rdatatype
import pytest

import servers
import update_clients
import update_servers

pytestmark = pytest.mark.lasts(40)

KINDS = {kind.name: kind for kind in (update_servers.Ours,
                                      update_servers.Bind)}
ZONE = "updates.test."
TEXT = """\
@	3600 SOA ns h 100 3600 600 86400 300
@	3600 NS ns
ns	3600 A 127.0.0.1
www	3600 A 192.0.2.10
a.b.c	3600 A 192.0.2.11
*.w	3600 A 192.0.2.12
"""
PATIENCE = 60


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def server(request):
    with servers.started(request.param({ZONE: TEXT})) as running:
        yield running


def require(reason):
    if reason:
        pytest.skip(reason)


def records(server, name, rdtype):
    """Texts of an RRset, in order."""
    reply = dns.query.tcp(dns.message.make_query(f"{name}.{ZONE}", rdtype),
                          "127.0.0.1", port=server.port, timeout=PATIENCE)
    kind = dns.rdatatype.from_text(rdtype)
    return sorted(str(rdata) for rrset in reply.answer
                  if rrset.rdtype == kind for rdata in rrset)


def wait_for(server, name, rdtype, wanted, said=lambda: ""):
    end = time.monotonic() + PATIENCE
    while records(server, name, rdtype) != wanted:
        assert time.monotonic() < end, said()
        time.sleep(0.05)


# ---- nsupdate and knsupdate

BY_LINES = ("nsupdate", "knsupdate")


@pytest.mark.parametrize("way", ((), ("-v",)), ids=("udp", "tcp"))
@pytest.mark.parametrize("program", BY_LINES)
def test_lines(server, program, way):
    """Records come and go; prerequisites are looked at."""
    name = f"{program}{len(way)}"
    full = f"{name}.{ZONE}"

    def send(*lines):
        return update_clients.by_lines(program, server.port,
                                       [f"zone {ZONE}", *lines], *way)

    send(f"prereq nxdomain {full}", f"update add {full} 60 A 192.0.2.1",
         f"update add {full} 60 A 192.0.2.2")
    assert records(server, name, "A") == ["192.0.2.1", "192.0.2.2"]
    send(f"prereq yxrrset {full} A", f"update delete {full} A 192.0.2.1")
    assert records(server, name, "A") == ["192.0.2.2"]
    send(f"update add {full} 60 TXT \"{'x' * 200}\" \"{'y' * 200}\"",
         f"update delete {full} A")
    assert records(server, name, "A") == []
    assert len(records(server, name, "TXT")) == 1
    with pytest.raises(AssertionError, match="YXDOMAIN"):
        send(f"prereq nxdomain {full}", f"update add {full} 60 A 192.0.2.1")
    with pytest.raises(AssertionError, match="NXRRSET"):
        send(f"prereq yxrrset {full} A", f"update delete {full}")
    send(f"update delete {full}")
    assert records(server, name, "TXT") == []


@pytest.mark.parametrize("owner", ("x", "_acme-challenge.www", "q.a.b.c",
                                   "new.b.c", "below.x.w"))
def test_zone_is_found(server, owner):
    """nsupdate without a zone asks for the SOA of the name, and takes the
    zone from what it is answered: NXDOMAIN, no data or below a wildcard."""
    update_clients.by_lines("nsupdate", server.port, [
        f"update add {owner}.{ZONE} 60 TXT found"])
    assert records(server, owner, "TXT") == ['"found"']
    update_clients.by_lines("nsupdate", server.port, [
        f"update delete {owner}.{ZONE} TXT"])


@pytest.mark.parametrize("program", BY_LINES)
def test_wrong_key(server, program):
    with pytest.raises(AssertionError, match="NOTAUTH|BADKEY|BADSIG|TSIG"):
        update_clients.run([program, "-y",
                            f"hmac-sha256:good.key:{'A' * 43}="],
                           f"server 127.0.0.1 {server.port}\nzone {ZONE}\n"
                           f"update add wrong.{ZONE} 60 A 192.0.2.1\nsend\n")
    assert records(server, "wrong", "A") == []


# ---- others

def test_certbot(server):
    """Two challenges of one name: a wildcard's and its own."""
    require(update_clients.certbot_lacks())
    name = "_acme-challenge.www"

    def change(how, value):
        update_clients.certbot(server.port, f"www.{ZONE[:-1]}",
                               f"{name}.{ZONE[:-1]}", value, how)

    change("add", "one")
    change("add", "two")
    assert records(server, name, "TXT") == ['"one"', '"two"']
    change("del", "one")
    assert records(server, name, "TXT") == ['"two"']
    change("del", "two")
    assert records(server, name, "TXT") == []


def test_lego(server, tmp_path):
    """An ACME server finds the record, and gives the certificate."""
    require(update_clients.lego_lacks())
    path = update_clients.lego(tmp_path, server.port,
                               [f"www.{ZONE[:-1]}", f"*.w.{ZONE[:-1]}"])
    assert path.read_text().startswith("-----BEGIN CERTIFICATE-----")
    for name in ("_acme-challenge.www", "_acme-challenge.w"):
        assert records(server, name, "TXT") == []


def test_octodns(server, tmp_path):
    """The zone is transferred with the key, and what differs is changed."""
    require(update_clients.octodns_lacks())
    before = "ns: {type: A, value: 127.0.0.1}\n" \
        "www: {type: A, ttl: 3600, values: [192.0.2.10]}\n"
    update_clients.octodns(
        tmp_path, server.port, ZONE, before
        + "octo: {type: A, ttl: 60, values: [192.0.2.1, 192.0.2.2]}\n"
        + "mail: {type: MX, ttl: 60, value: {preference: 10, exchange: "
        + f"www.{ZONE}}}}}\n")
    assert records(server, "octo", "A") == ["192.0.2.1", "192.0.2.2"]
    assert records(server, "mail", "MX") == [f"10 www.{ZONE}"]
    update_clients.octodns(
        tmp_path, server.port, ZONE,
        before + "octo: {type: A, ttl: 60, value: 192.0.2.3}\n")
    assert records(server, "octo", "A") == ["192.0.2.3"]
    assert records(server, "mail", "MX") == []


def test_external_dns(server):
    """Records of a service, and the TXT record that says whose they are."""
    require(update_clients.external_dns_lacks())
    owner = ['"heritage=external-dns,external-dns/owner=me"']

    def change(how, addresses, txt):
        update_clients.external_dns(server.port, ZONE, how)
        assert records(server, "svc", "A") == addresses
        assert records(server, "svc", "TXT") == txt
    change("create", ["192.0.2.50", "192.0.2.51"], owner)
    change("update", ["192.0.2.51", "192.0.2.52"], owner)
    # The provider compares its next change with what a transfer brings.
    assert "svc.updates.test A 120 192.0.2.51;192.0.2.52" \
        in update_clients.external_dns(server.port, ZONE, "list")
    change("delete", [], [])


def take_lease(server, tmp_path):
    require(update_clients.kea_lacks())
    name, address = "lease", "192.0.2.77"
    with update_clients.kea(tmp_path, server.port, ZONE) as change:
        def said():
            return (tmp_path / "kea.log").read_text()[-4000:]
        change(0, f"{name}.{ZONE}", address, "ab")
        wait_for(server, name, "A", [address], said)
        assert len(records(server, name, "DHCID")) == 1
        change(0, f"{name}.{ZONE}", "192.0.2.78", "cd")  # another client
        update_clients.wait_for_line(tmp_path / "kea.log",
                                     "DHCP_DDNS_ADD_FAILED", None)
        assert records(server, name, "A") == [address]
        change(0, f"{name}.{ZONE}", "192.0.2.79", "ab")
        wait_for(server, name, "A", ["192.0.2.79"], said)
        change(1, f"{name}.{ZONE}", "192.0.2.79", "ab")
        wait_for(server, name, "A", [], said)
        wait_for(server, name, "DHCID", [], said)


def test_dhcp(server, tmp_path):
    """RFC 4703: the name is taken if nobody has it, kept from others by its
    DHCID record, and given up with its lease."""
    take_lease(server, tmp_path)


def test_dhcp_by_policy(tmp_path):
    """The line of doc/update.md: names below the zone, no types."""
    server = update_servers.Ours({ZONE: TEXT})
    server.allows = [f"\tupdate-policy: good.key *.{ZONE}"]
    with servers.started(server):
        take_lease(server, tmp_path)
