"""Clients of RFC 2136 that are really run: what each needs, and what it does to a
zone. Each method changes the zone of its server, and raises if its client says
that this failed."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import update_servers
from certificates import Authority
from ports import free_port

LIMIT = 120
KEY = "good.key"
ALGORITHM = "hmac-sha256"
SECRET = update_servers.secret("good")


def lacks(*programs):
    """Why a client cannot be run here; None: it can."""
    missing = [name for name in programs if not shutil.which(
        name, path=os.environ["PATH"] + ":/usr/sbin")]
    return missing and f"there is no {' and no '.join(missing)} here"


def run(command, text="", **more):
    done = subprocess.run(
        [str(word) for word in command], input=text, text=True,
        capture_output=True, timeout=LIMIT, check=False, **more)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


# ---- nsupdate and knsupdate

def by_lines(program, port, lines, *options):
    """Commands of nsupdate, signed; the zone is looked for by the client if no
    line names it."""
    return run([program, *options, "-y", f"{ALGORITHM}:{KEY}:{SECRET}"],
               "\n".join([f"server 127.0.0.1 {port}", *lines, "send", ""]))


# ---- certbot

CERTBOT = """
from certbot_dns_rfc2136._internal.dns_rfc2136 import _RFC2136Client
import inspect
import sys
port, key, secret, domain, name, value, how = sys.argv[1:]
signs = "sign_query" in inspect.signature(_RFC2136Client).parameters
client = _RFC2136Client("127.0.0.1", int(port), key, secret, "HMAC-SHA256",
                        *([True] if signs else []))
if how == "add":
    client.add_txt_record(name, value, 60)
else:
    client.del_txt_record(name, value)
"""


def has_module(python, name):
    return subprocess.run([python, "-c", f"import {name}"], check=False,
                          capture_output=True, timeout=LIMIT).returncode == 0


def certbot_lacks():
    if not has_module(sys.executable,
                      "certbot_dns_rfc2136._internal.dns_rfc2136"):
        return "there is no certbot_dns_rfc2136 here"
    return None


def certbot(port, domain, name, value, how):
    """The class that its plugin calls for each challenge: the zone is looked
    for by SOA queries, upwards."""
    run([sys.executable, "-c", CERTBOT, port, KEY, SECRET, domain, name,
         value, how])


# ---- lego, with an ACME server that asks the server for the record

def lego_lacks():
    return lacks("lego", "pebble")


@contextlib.contextmanager
def pebble(folder, port):
    """An ACME server whose validation asks 127.0.0.1 at port for names; gives
    (address of its directory, its certificate)."""
    at, other = free_port(), free_port()
    authority = Authority(folder)
    key, certificate = authority.sign("localhost")
    conf = folder / "pebble.json"
    conf.write_text(json.dumps({"pebble": {
        "listenAddress": f"127.0.0.1:{at}",
        "managementListenAddress": f"127.0.0.1:{other}",
        "certificate": str(certificate), "privateKey": str(key),
        "httpPort": free_port(), "tlsPort": free_port(),
        "ocspResponderURL": "", "externalAccountBindingRequired": False}}))
    with open(folder / "pebble.log", "wb") as log:
        process = subprocess.Popen(
            ["pebble", "-config", conf, "-dnsserver", f"127.0.0.1:{port}"],
            stdout=log, stderr=log, env={
                **os.environ, "PEBBLE_VA_NOSLEEP": "1",
                "PEBBLE_WFE_NONCEREJECT": "0"})
    try:
        wait_for_port(at, process)
        yield f"https://localhost:{at}/dir", authority.cert
    finally:
        process.terminate()
        process.wait(LIMIT)


def wait_for_port(port, process):
    end = time.monotonic() + LIMIT
    while True:
        with contextlib.suppress(OSError), \
                socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)


def lego(folder, port, names):
    """Gets a certificate for names; gives its path."""
    with pebble(folder, port) as (directory, certificate):
        run(["lego", "--accept-tos", "--email", "a@example.org", "--server",
             directory, "--path", folder / "lego", "--dns", "rfc2136",
             "--dns.resolvers", f"127.0.0.1:{port}",
             # Without it the record is looked for at port 53 of name servers.
             "--dns.disable-cp",
             *(word for name in names for word in ("--domains", name)),
             "run"], env={
                 **os.environ, "LEGO_CA_CERTIFICATES": str(certificate),
                 "RFC2136_NAMESERVER": f"127.0.0.1:{port}",
                 "RFC2136_TSIG_KEY": KEY + ".",
                 "RFC2136_TSIG_ALGORITHM": ALGORITHM + ".",
                 "RFC2136_TSIG_SECRET": SECRET,
                 "RFC2136_POLLING_INTERVAL": "1",
                 "RFC2136_SEQUENCE_INTERVAL": "1"})
    return next((folder / "lego" / "certificates").glob("*.crt"))


# ---- octodns

def octodns_sync():
    """Program of octoDNS: in PATH, or where OCTODNS says."""
    return os.environ.get("OCTODNS", "octodns-sync")


def octodns_lacks():
    return lacks(octodns_sync())


def octodns(folder, port, zone, text):
    """Has the zone be as text (YAML): transferred first, then updated."""
    (folder / "zones").mkdir(exist_ok=True)
    (folder / "zones" / f"{zone}yaml").write_text(text)
    conf = folder / "octodns.yaml"
    conf.write_text(json.dumps({
        "providers": {
            "config": {"class": "octodns.provider.yaml.YamlProvider",
                       "directory": str(folder / "zones"),
                       "enforce_order": False},
            "server": {"class": "octodns_bind.Rfc2136Provider",
                       "host": "127.0.0.1", "port": port, "key_name": KEY,
                       "key_secret": SECRET, "key_algorithm": ALGORITHM}},
        "zones": {zone: {"sources": ["config"], "targets": ["server"]}}}))
    return run([octodns_sync(), "--config-file", conf, "--doit", "--force"])


# ---- external-dns, for services of Kubernetes

def external_dns_program():
    """Program that calls its provider (external_dns/main.go): in PATH, or where
    EXTERNAL_DNS says."""
    return os.environ.get("EXTERNAL_DNS", "external_dns")


def external_dns_lacks():
    return lacks(external_dns_program())


def external_dns(port, zone, how):
    """create, update, delete or list: what is printed."""
    return run([external_dns_program(), port, zone.rstrip("."), KEY, SECRET,
                how])


# ---- a DHCP server's client (RFC 4703)

def kea_lacks():
    return lacks("kea-dhcp-ddns")


@contextlib.contextmanager
def kea(folder, port, zone):
    """The process that updates DNS for a DHCP server; gives what sends it a
    change of a lease."""
    at = free_port()
    conf = folder / "kea.json"
    conf.write_text(json.dumps({"DhcpDdns": {
        "ip-address": "127.0.0.1", "port": at, "dns-server-timeout": 5000,
        "tsig-keys": [{"name": KEY, "algorithm": "HMAC-SHA256",
                       "secret": SECRET}],
        "forward-ddns": {"ddns-domains": [{
            "name": zone, "key-name": KEY,
            "dns-servers": [{"ip-address": "127.0.0.1", "port": port}]}]},
        "reverse-ddns": {"ddns-domains": []},
        "loggers": [{"name": "kea-dhcp-ddns", "severity": "DEBUG",
                     "debuglevel": 50,
                     "output_options": [{"output": str(folder / "kea.log")}]
                     }]}}))
    with open(folder / "kea.out", "wb") as out:
        process = subprocess.Popen(
            ["/usr/sbin/kea-dhcp-ddns", "-c", conf], stdout=out, stderr=out,
            env={**os.environ, "KEA_PIDFILE_DIR": str(folder),
                 "KEA_LOCKFILE_DIR": str(folder)})

    def change(kind, name, address, ident):
        text = json.dumps({
            "change-type": kind, "forward-change": True,
            "reverse-change": False, "fqdn": name, "ip-address": address,
            "dhcid": "000101" + ident * 32, "lease-length": 1300,
            "lease-expires-on": "20351231235959",
            "use-conflict-resolution": True}).encode()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(len(text).to_bytes(2, "big") + text,
                        ("127.0.0.1", at))

    try:
        wait_for_line(folder / "kea.log", "DHCP_DDNS_QUEUE_MGR_STARTED", process)
        yield change
    finally:
        process.terminate()
        process.wait(LIMIT)


def wait_for_line(path, text, process):
    end = time.monotonic() + LIMIT
    while not (path.exists() and text in path.read_text()):
        assert (process is None or process.poll() is None) \
            and time.monotonic() < end, path.exists() and path.read_text()
        time.sleep(0.05)
