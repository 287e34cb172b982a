"""DNS over TLS while certificates change under load."""
import pathlib
import signal

from cryptography import x509

from harness import wait_for
from tls_client import Clients, context_for

WWW = ["192.0.2.1"]


def test_certificates_are_replaced_under_load(start_tls, authority):
    """Twenty times, by renaming files: nobody fails, nobody is cut."""
    server = start_tls(**{"server-count": 2})
    pids = server.roles()
    context = context_for(authority)
    files = [pathlib.Path(server.options[option].strip('"'))
             for option in ("tls-service-key", "tls-service-pem")]
    with Clients(server.tls_port, context, WWW) as clients:
        for number in range(20):
            new = authority.sign(f"new{number}", domain="ns.example")
            serial = x509.load_pem_x509_certificate(
                new[1].read_bytes()).serial_number
            assert serial not in clients.serials
            for path, old in zip(new, files):
                path.replace(old)
            server.signal(signal.SIGHUP)
            wait_for("the new certificate", lambda wanted=serial:
                     wanted in clients.serials or clients.failures)
            assert not clients.failures
        asked = clients.asked
        wait_for("an answer", lambda: clients.asked > asked
                 or clients.failures)
    assert not clients.failures
    assert server.roles() == pids
