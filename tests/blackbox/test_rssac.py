"""The figures of RSSAC002 in the log."""
import os
import re
import signal
import subprocess
import time

import control
from harness import wait_for, zone_text

DAY = 86400
# A library that gives a program another date.
CLOCK = """
#include <stdlib.h>
#include <time.h>

time_t
time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec += atoll(getenv("TEST_CLOCK_AHEAD"));
	if (out != NULL)
		*out = now.tv_sec;
	return now.tv_sec;
}
"""


def figures(server, metric, known=0):
    """The fields of the first line of a metric behind known."""
    line = server.wait_log(rf"info: RSSAC002 \d+ \d+ {metric}(.*)", known)
    return {name: int(value) for name, value in
            (field.split("=") for field in line[1].split())}


def ask_figures(server):
    known = len(server.read_log())
    os.kill(server.main_pid, signal.SIGUSR1)
    return known


def day_of(server, known):
    return server.wait_log(r"info: RSSAC002 \d+ (\d+) unique", known)[1]


def test_figures_are_those_of_all_servers(nsd):
    server = nsd(zones={"example": zone_text()},
                 options={"server-count": 2, "rssac002": "yes"})
    while not ask_and_look(server):
        pass  # the day ended meanwhile


def ask_and_look(server):
    """False if another period began."""
    known = ask_figures(server)
    day = day_of(server, known)
    before = {metric: figures(server, metric, known) for metric in
              ("traffic-volume", "udp-request-sizes", "udp-response-sizes",
               "tcp-request-sizes", "rcode-volume")}
    for _ in range(20):
        server.query("www.example", "A")  # 29 octets; 78 with NS and address
    for _ in range(3):
        server.query("nx.example", "A", tcp=True)
    known = ask_figures(server)
    if day_of(server, known) != day:
        return False

    def grown(metric, field):
        return (figures(server, metric, known).get(field, 0)
                - before.get(metric, {}).get(field, 0))

    assert grown("traffic-volume", "dns-udp-queries-received-ipv4") == 20
    assert grown("traffic-volume", "dns-udp-responses-sent-ipv4") == 20
    assert grown("traffic-volume", "dns-tcp-queries-received-ipv4") == 3
    assert grown("traffic-volume", "dns-tcp-responses-sent-ipv4") == 3
    assert figures(server, "traffic-volume",
                   known)["dns-udp-queries-received-ipv6"] == 0
    assert grown("udp-request-sizes", "16-31") == 20
    sizes = figures(server, "udp-response-sizes", known)
    assert max(value - before["udp-response-sizes"].get(name, 0)
               for name, value in sizes.items()) == 20
    assert grown("tcp-request-sizes", "16-31") == 3
    assert sum(figures(server, "tcp-response-sizes", known).values()) == 3
    assert grown("rcode-volume", "0") == 20
    assert grown("rcode-volume", "3") == 3
    assert figures(server, "unique-sources", known) == {
        "num-sources-ipv4": 1, "num-sources-ipv6": 0,
        "num-sources-ipv6-aggregate": 0}
    return True


def test_load_times_are_told(nsd):
    server = nsd(zones={"example": zone_text(1)},
                 options={"rssac002": "yes"})
    server.wait_log(r"RSSAC002 load-time zone=example serial=1 msec=\d+\n")
    server.write_zone("example", zone_text(2))
    server.reload()
    server.wait_log(r"RSSAC002 load-time zone=example serial=2 msec=\d+\n")


def test_nothing_is_told_without_the_option(nsd):
    server = nsd(zones={"example": zone_text()})
    server.signal(signal.SIGUSR1)
    server.wait_log("XSTATS")
    assert not re.search("RSSAC002", server.read_log())


def make_clock(directory):
    source = directory / "clock.c"
    source.write_text(CLOCK)
    library = directory / "clock.so"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o",
                    library, source], check=True)
    return library


def day_ends(server, library, wait):
    """Starts a server some seconds before midnight. False if it took longer
    than that."""
    ahead = DAY - wait - int(time.time()) % DAY
    server.environment.update(LD_PRELOAD=str(library),
                              TEST_CLOCK_AHEAD=str(ahead))
    server.environment["ASAN_OPTIONS"] += ":verify_asan_link_order=0"
    known = len(server.read_log())
    server.start()
    for _ in range(3):
        server.query("www.example", "A")
    if (time.time() + ahead) % DAY < wait:
        server.stop()
        return False
    pattern = r"RSSAC002 (\d+) (\d+) unique"
    end, since = map(int, wait_for("the end of the day", lambda: re.search(
        pattern, server.read_log()[known:]), 2 * wait + 20).groups())
    assert since // DAY + 1 == end // DAY
    assert figures(server, "traffic-volume",
                   known)["dns-udp-queries-received-ipv4"] >= 3
    # The next period begins where this one ended, with nothing in it.
    known = ask_figures(server)
    assert int(day_of(server, known)) == end
    assert figures(server, "unique-sources", known)["num-sources-ipv4"] == 0
    return True


def test_figures_are_written_at_midnight(make_server):
    server = make_server(zones={"example": zone_text()},
                         options={"rssac002": "yes"})
    library = make_clock(server.directory)
    assert any(day_ends(server, library, wait) for wait in (5, 20, 60))


def has_figures(server):
    """Whether main logs some. It does so when it has told the others, so the
    loader may be first: what it says when it is told again is behind that."""
    known = ask_figures(server)
    for _ in range(2):
        server.wait_log("STORE", ask_figures(server))
    return "RSSAC002 " in server.read_log()[known:]


def test_figures_begin_and_end_with_a_reconfig(make_server):
    server = make_server(zones={"example": zone_text()},
                         options={"server-count": 2})
    control.config(server).start()
    workers = [server.role("server 1"), server.role("server 2")]
    for _ in range(5):
        server.query("www.example", "A")
    assert not has_figures(server)
    for _ in range(2):
        known = len(server.read_log())
        control.apply(server, rssac002="yes")
        while not ask_and_look(server):
            pass  # the day ended meanwhile
        # Queries from before the option was set are not counted.
        begun = ask_figures(server)
        assert figures(server, "udp-request-sizes", begun).get(
            "16-31", 0) <= 20
        assert figures(server, "traffic-volume", begun)[
            "dns-udp-queries-received-ipv4"] <= 20
        known = len(server.read_log())
        control.apply(server, rssac002="no")
        # Of a day that is not over.
        assert day_of(server, known)
        server.query("www.example", "A")
        assert not has_figures(server)
    assert workers == [server.role("server 1"), server.role("server 2")]


def test_counters_are_logged_as_often_as_a_reconfig_says(make_server):
    server = make_server(zones={"example": zone_text()})
    control.config(server).start()
    assert "NSTATS" not in server.read_log()
    control.apply(server, statistics=1)
    server.wait_log("NSTATS", count=2)
    # Statistics go on at other reconfigs.
    control.apply(server, identity='"x"')
    server.wait_log("NSTATS", len(server.read_log()), count=2)
    control.apply(server, statistics=0)
    known = len(server.read_log())
    time.sleep(2.5)
    assert "NSTATS" not in server.read_log()[known:]
    control.apply(server, statistics=1)
    server.wait_log("NSTATS", known)
