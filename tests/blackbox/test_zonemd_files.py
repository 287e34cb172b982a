"""zonemd-verify of zone files: what a file has is served once its digest fits
(RFC 8976); and the records that nsd-checkzone --zonemd prints."""
import functools
import json
import subprocess

import dns.zone
import pytest

import control
from harness import BUILD, zone_text
from signing import DENIALS, Zone, digest_by_ldns
from test_zonemd import spoilt

SOA = "@ 3600 IN SOA ns host {} 7200 3600 1209600 300"
REST = ["@ 3600 IN NS ns", "ns 60 IN A 192.0.2.53"]
OTHER = "its ZONEMD digest is of another content"
LARGE = 1 << 20  # octets


def zone_of(serial, *lines):
    """The text of a zone, without a digest."""
    return "\n".join(["$ORIGIN example.", SOA.format(serial), *REST, *lines,
                      ""])


@functools.cache
def record(text, hashes=(1,), apex="example"):
    """The ZONEMD records of a zone, one a line."""
    if len(text) < LARGE:
        zone = dns.zone.from_text(text, origin=apex, relativize=False)
        digests = [zone.compute_digest(kind).to_text() for kind in hashes]
    else:
        digests = [digest_by_ldns(text, apex, kind) for kind in hashes]
    return "".join(f"{apex}. 3600 IN ZONEMD {one}\n" for one in digests)


def digested(serial, *lines):
    text = zone_of(serial, *lines)
    return text + record(text)


def many(count, text="t"):
    return [f"n{i:06} 60 IN TXT {text}{i}" for i in range(count)]


@pytest.fixture
def server(make_server):
    server = make_server(
        zones={"b.test": zone_text(1)},
        extra="zone:\n\tname: example\n\tzonefile: example.zone\n"
              "\tzonemd-verify: yes\n",
        options={"server-count": 1, "verbosity": 3})
    return control.config(server)


def write(server, text):
    server.zone_file("example").write_text(text)


def reload(server):
    return control.ask(server, "reload", "example")[1]


def start(server, text):
    write(server, text)
    server.start()


def refusal(server, serial, why):
    return (f"zone example file {server.zone_file('example').name}: serial "
            f"{serial} is not served: {why}")


# ---- a start

LONG = 42000  # with LONG_TEXT: a file of more than 8 MiB, read by threads
LONG_TEXT = 200 * "x"


@pytest.mark.lasts(25)
@pytest.mark.parametrize("lines", ([], many(1500), many(LONG, LONG_TEXT)),
                         ids=("small", "middle", "large"))
def test_start_serves_what_fits(server, lines):
    start(server, digested(5, *lines))
    assert server.serial("example") == 5
    assert "zone example: serial 5: its ZONEMD digest is right" \
        in server.read_log()


@pytest.mark.lasts(25)
@pytest.mark.parametrize("lines", ([], many(LONG, LONG_TEXT)),
                         ids=("small", "large"))
def test_start_serves_no_file_whose_digest_is_wrong(server, lines):
    """A reload names the file, too, and serves it once it is right."""
    text = digested(5, *lines)
    start(server, spoilt(text))
    assert server.rcode("example", "SOA") == "SERVFAIL"
    assert server.answer("www.b.test", "A") == ["192.0.2.1"]
    why = refusal(server, 5, OTHER)
    server.wait_log(why)
    server.wait_log("zone example file example.zone read with 1 errors")
    assert why in reload(server)
    write(server, text)
    assert reload(server) == "ok\n"
    assert server.serial("example") == 5


def test_start_serves_a_file_without_a_digest(server):
    start(server, zone_of(5))
    assert server.serial("example") == 5
    server.wait_log("zone example: serial 5: it has no ZONEMD record")


# ---- a reload

@pytest.mark.parametrize("count", (0, 1500))
@pytest.mark.parametrize("changed", (1, 1200))
def test_reload_keeps_the_served_version(server, count, changed):
    """Small zones are built anew; of larger ones the differences are applied,
    few by the loop and many by a thread."""
    lines = many(count)
    start(server, digested(1, *lines))
    more = [f"m{i} 60 IN A 192.0.2.1" for i in range(changed)]
    after = digested(2, *lines, *more)
    write(server, spoilt(after))
    assert refusal(server, 2, OTHER) in reload(server)
    assert server.serial("example") == 1
    assert server.rcode("m0.example", "A") == "NXDOMAIN"
    status, = json.loads(control.ask(server, "-j", "zonestatus",
                                     "example")[1])
    assert status["last_read"] == "failed"
    write(server, after)
    assert reload(server) == "ok\n"
    assert server.serial("example") == 2
    assert server.answer("m0.example", "A") == ["192.0.2.1"]


@pytest.mark.parametrize("count", (0, 1500))
def test_file_is_judged_once_that_is_wanted(server, count):
    """The served version stays, and the next reading says that the file is
    wrong."""
    text = spoilt(digested(1, *many(count)))
    server.extra = server.extra.replace("verify: yes", "verify: no")
    server.write_config()
    start(server, text)
    assert server.serial("example") == 1
    server.extra = server.extra.replace("verify: no", "verify: yes")
    server.write_config()
    assert control.ask(server, "reconfig")[1].endswith("ok\n")
    write(server, text + "\n")
    assert refusal(server, 1, OTHER) in reload(server)
    assert server.serial("example") == 1


# ---- records that count, and others

def test_records_of_the_same_hash(server):
    """RFC 8976 section 4 step 4"""
    text = digested(5)
    start(server, text + spoilt(record(zone_of(5))))
    assert server.rcode("example", "SOA") == "SERVFAIL"
    server.wait_log(refusal(
        server, 5, "it has several ZONEMD records of one scheme and hash"))


@pytest.mark.parametrize("more, why", (
    ("@ 3600 IN ZONEMD 5 1 240 " + 12 * "ab", None),
    ("@ 3600 IN ZONEMD 5 241 1 " + 48 * "ab", None),
    ("@ 3600 IN ZONEMD 4 1 2 " + 64 * "ab", None),
    ("@ 3600 IN ZONEMD 5 1 2 " + 48 * "ab", None)))
def test_records_beside_one_that_is_right(server, more, why):
    """RFC 8976 section 4 step 5: one record that is right is enough."""
    start(server, digested(5) + more + "\n")
    assert server.serial("example") == 5


@pytest.mark.parametrize("line, why", (
    ("@ 3600 IN ZONEMD 5 1 240 " + 12 * "ab",
     "the scheme or hash of its ZONEMD record is not known"),
    ("@ 3600 IN ZONEMD 5 241 1 " + 48 * "ab",
     "the scheme or hash of its ZONEMD record is not known"),
    ("@ 3600 IN ZONEMD 4 1 1 " + 48 * "ab",
     "its ZONEMD record is for another serial"),
    ("@ 3600 IN ZONEMD 5 1 2 " + 48 * "ab",
     "its ZONEMD digest has a wrong length")))
def test_records_of_which_none_can_be_used(server, line, why):
    """RFC 8976 section 4 steps 5a to 5d"""
    start(server, zone_of(5, line))
    assert server.rcode("example", "SOA") == "SERVFAIL"
    server.wait_log(refusal(server, 5, why))


# ---- nsd-checkzone --zonemd

def checkzone(path, *options, apex="example"):
    run = subprocess.run([BUILD / "nsd-checkzone", *options, apex, path],
                         capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def printed(text, hashes=(1,)):
    return record(text, hashes).replace(" ", "\t", 3).replace(
        "ZONEMD ", "ZONEMD\t", 1) if len(hashes) == 1 else "".join(
            printed(text, (h,)) for h in hashes)


OK = "; zone example is ok\n"


@pytest.mark.lasts(25)
@pytest.mark.parametrize("lines", ([], many(LONG, LONG_TEXT)),
                         ids=("whole", "stream"))
def test_checkzone_prints_the_record(tmp_path, lines):
    """RFC 8976 section 3: the printed record completes the zone."""
    text = zone_of(5, *lines)
    path = tmp_path / "example.zone"
    path.write_text(text)
    assert checkzone(path, "--zonemd") == (0, printed(text) + OK, "")
    assert checkzone(path, "--zonemd=sha512") == (
        0, printed(text, (2,)) + OK, "")
    code, said, _ = checkzone(path, "--zonemd=sha512,sha384")
    assert (code, said) == (0, printed(text, (1, 2)) + OK)
    path.write_text(text + said)
    assert checkzone(path, "--zonemd") == (0, printed(text) + OK, "")
    path.write_text(text + said.replace("ZONEMD\t5", "ZONEMD\t4"))
    code, said, errors = checkzone(path, "--zonemd")
    assert (code, said) == (2, printed(text) + OK)
    assert "warning" in errors and "for another serial" in errors
    assert checkzone(path)[:2] == (0, "zone example is ok\n")


def test_checkzone_prints_no_record_of_a_zone_with_errors(tmp_path):
    path = tmp_path / "example.zone"
    path.write_text(zone_of(5, "www 60 IN A 1.2.3.999"))
    code, said, _ = checkzone(path, "--zonemd")
    assert code == 1 and "ZONEMD" not in said
    path.write_text(zone_of(5, "www 60 IN CNAME a", "www 60 IN A 192.0.2.1"))
    code, said, _ = checkzone(path, "--zonemd")
    assert code == 1 and "ZONEMD" not in said
    path.write_text(spoilt(digested(5)))
    code, said, _ = checkzone(path, "--zonemd", "-D")
    assert code == 1


@pytest.mark.parametrize("value", ("", "sha1", "sha384,", "sha38", "sha384 "))
def test_checkzone_refuses_other_hashes(tmp_path, value):
    path = tmp_path / "example.zone"
    path.write_text(zone_of(5))
    code, said, errors = checkzone(path, f"--zonemd={value}")
    assert (code, said) == (1, "")
    assert "is not sha384, sha512 or both" in errors


@pytest.mark.parametrize("denial", DENIALS)
def test_checkzone_completes_a_signed_zone(tmp_path, denial):
    """RFC 8976 sections 3.1 and 3.5: with a placeholder the chain is right, and
    the record is signed when its digest is in it."""
    zone = Zone()
    serial = zone.text_of("@", "SOA").split()[2]
    zone.add("@", "ZONEMD", f"{serial} 1 1 " + 48 * "00")
    zone.make(denial).sign()
    path = tmp_path / "zone"
    zone.write(path)
    code, said, _ = checkzone(path, "--zonemd", apex="example.org")
    assert code == 2
    zone.set("@", "ZONEMD", said.split("ZONEMD\t")[1].split("\n")[0])
    zone.resign("@", "ZONEMD")
    zone.write(path)
    assert checkzone(path, "-D", apex="example.org")[:2] == (
        0, "zone example.org is ok\n")
    if denial != "opt-out":  # of which ldns 1.8.3 comes to no end
        assert subprocess.run(["ldns-verify-zone", "-Z", path], timeout=60,
                              capture_output=True).returncode == 0
