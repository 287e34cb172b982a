"""Rate limits and cookies, ours beside Debian's NSD: which answers count
together, what the log says of it, and what each cookie is worth."""
import contextlib
import re
import socket

import dns.edns
import dns.flags
import dns.message
import dns.query
import pytest

import servers

ZONE = """\
$TTL 3600
@	IN SOA ns host 1 7200 3600 1209600 300
	IN NS ns
	IN DNSKEY 256 3 13 AAAA
ns	IN A 192.0.2.53
alias	IN CNAME ns
loose	IN CNAME nowhere
wild	IN TXT "x"
*.wild	IN A 192.0.2.2
*.links	IN CNAME ns
sub	IN NS ns.sub
ns.sub	IN A 192.0.2.3
"""
SECRETS = "000102030405060708090a0b0c0d0e0f\nf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff\n"
COOKIE = 10

# Name and type. A kind of answer and a name that were there before are
# limited already, and make no line.
QUESTIONS = [
    ("example.test", "SOA"), ("NS.example.test", "A"),
    ("ns.example.test", "AAAA"), ("a.example.test", "A"),
    ("b.example.test", "TXT"), ("elsewhere", "A"),
    ("a.b.sub.example.test", "A"), ("ns.example.test", "ANY"),
    ("ns.example.test", "RRSIG"), ("a.wild.example.test", "A"),
    ("b.wild.example.test", "A"), ("wild.example.test", "TXT"),
    ("example.test", "DNSKEY"), ("alias.example.test", "A"),
    ("loose.example.test", "A"), ("a.links.example.test", "A"),
    ("b.links.example.test", "A"),
]


def start(server_class, directory, *options):
    zone = directory / f"{server_class.name}.zone"
    zone.write_text(ZONE)
    server = server_class({"example.test": zone})
    server.more = ["server:", *(f"\t{option}" for option in options)]
    return server.start()


@pytest.fixture
def pair(tmp_path):
    with contextlib.ExitStack() as stack:
        def make(*options):
            made = []
            for one in servers.Ours, servers.Nsd:
                made.append(start(one, tmp_path, *options))
                stack.callback(made[-1].stop)
            return made
        yield make


def ask(server, query):
    return dns.query.udp(query, "127.0.0.1", port=server.port, timeout=60,
                         ignore_unexpected=True)


def flood(server, name, rdtype):
    """Far more than the limit, all at once; every one has an answer."""
    query = dns.message.make_query(name, rdtype, use_edns=False).to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", server.port))
        client.settimeout(60)
        for _ in range(60):
            client.send(query)
        return [client.recv(4096) for _ in range(60)]


def lines(server):
    text = (server.dir / "log").read_text()
    return re.findall(r"info: (ratelimit block .*)$", text, re.M)


def test_answers_count_together_as_nsds(pair):
    both = pair("rrl-ratelimit: 2", "rrl-slip: 1")
    for name, rdtype in QUESTIONS:
        cut = []
        for server in both:
            replies = flood(server, name, rdtype)
            last = [dns.message.from_wire(reply) for reply in replies
                    if dns.message.from_wire(reply).flags & dns.flags.TC]
            cut.append(last[-1])
        # Truncated replies are the same: header, flags, code, question.
        for reply in cut:
            reply.id = 0
        assert cut[0].to_wire() == cut[1].to_wire(), (name, rdtype)
    # NSD 4.6 has no name for the type ANY.
    assert lines(both[0]) == [line.replace(" TYPE255", " ANY")
                              for line in lines(both[1])]
    assert len(lines(both[0])) >= 10


def cookie_of(server, octets):
    query = dns.message.make_query(
        "ns.example.test", "A",
        options=[dns.edns.GenericOption(COOKIE, octets)])
    reply = ask(server, query)
    back = [option.to_wire() for option in reply.options
            if option.otype == COOKIE]
    return reply.rcode(), len(reply.answer), back[0] if back else None


def test_cookies_are_worth_what_they_are_at_nsds(pair, tmp_path):
    files = tmp_path / "secrets"
    files.write_text(SECRETS)
    both = pair("answer-cookie: yes", f'cookie-secret-file: "{files}"')
    for server in both:
        rcode, answers, cookie = cookie_of(server, b"client__")
        assert (rcode, answers, len(cookie)) == (0, 1, 24)
        # A cookie of one is good for both, and comes back as it was.
        for other in both:
            assert cookie_of(other, cookie) == (0, 1, cookie)
        # One octet else, and there is another one.
        for i in range(8, 24):
            wrong = bytearray(cookie)
            wrong[i] ^= 1
            for other in both:
                rcode, answers, fresh = cookie_of(other, bytes(wrong))
                assert (rcode, answers) == (0, 1)
                assert fresh[:12] == cookie[:12] and fresh != bytes(wrong)


@pytest.mark.parametrize("length", [8, *range(16, 41)])
def test_cookies_of_other_servers(both_with_cookies, length):
    octets = bytes(range(1, length + 1))
    ours, theirs = (cookie_of(server, octets) for server in both_with_cookies)
    assert ours[:2] == theirs[:2] == (0, 1)
    assert ours[2][:12] == theirs[2][:12] and len(ours[2]) == len(theirs[2])


@pytest.fixture(scope="module")
def both_with_cookies(tmp_path_factory):
    directory = tmp_path_factory.mktemp("cookies")
    (directory / "secrets").write_text(SECRETS)
    made = [start(one, directory, "answer-cookie: yes",
                  f'cookie-secret-file: "{directory / "secrets"}"')
            for one in (servers.Ours, servers.Nsd)]
    yield made
    for server in made:
        server.stop()


# Fault 14: RFC 7873 section 5.2.2. NSD takes no notice of some.
@pytest.mark.parametrize("length", [0, *range(1, 8), *range(9, 16), 41, 100])
def test_cookies_of_no_length_that_may_be(both_with_cookies, length):
    rcode, answers, cookie = cookie_of(both_with_cookies[0], b"x" * length)
    assert (rcode, answers, cookie) == (1, 0, None)
