"""Bad catalogs (RFC 9432) given to our server, BIND, Knot and NSD: the table of
doc/catalogs.md, row by row."""
import concurrent.futures
import contextlib
import pathlib
import re
import time

import pytest

import bad_catalogs
import catalog_servers

pytestmark = pytest.mark.lasts(120)

PAGE = pathlib.Path(__file__).parents[2] / "doc" / "catalogs.md"
COLUMNS = {"ours": catalog_servers.Ours, "nsd": catalog_servers.Nsd,
           "bind": catalog_servers.Bind, "knot": catalog_servers.Knot}


def rows():
    """{what is bad: {server: members}} of the page."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 1 + len(COLUMNS) and "`" in cells[1]:
            found[cells[0]] = {
                name: re.search("`(.*?)`", cell)[1].replace("none", "")
                for name, cell in zip(COLUMNS, cells[1:])}
    return found


ROWS = rows()


def state(text):
    """The members of a row as bad_catalogs.Run says them."""
    letters, *others = text.split()
    return "+".join([letters if letters != "-" else "", *others, "fixed"])


@contextlib.contextmanager
def running(kind):
    with catalog_servers.Primary() as primary:
        primary.set(1, bad_catalogs.GOOD)
        consumer = kind(primary.port)
        if kind is catalog_servers.Ours:
            consumer.more_of_catalog = ["\tcatalog-max: 5",
                                        "\tcatalog-allow: test"]
        with catalog_servers.servers.started(consumer):
            yield bad_catalogs.Run(primary, consumer)


@pytest.fixture(scope="module")
def ours():
    """One server for all rows: none does harm to those behind."""
    with running(catalog_servers.Ours) as run:
        yield run


def check(run, name, expected):
    run.good()
    run.bad(name)
    run.wait_for(expected)
    time.sleep(catalog_servers.REST)
    assert run.members() == expected


def test_all_are_on_the_page():
    """RFC 9432 sections 4 and 5: no row is without its test."""
    assert list(ROWS) == list(bad_catalogs.BAD)


@pytest.mark.parametrize("name", bad_catalogs.BAD)
def test_ours(ours, name):
    """RFC 9432 section 5.1: a bad version changes nothing."""
    check(ours, name, state(ROWS[name]["ours"]))


@pytest.mark.parametrize("name", bad_catalogs.BAD)
def test_rivals(name):
    """The row of the three others: each with a new server, as a bad version
    harms BIND and Knot for longer."""
    def one(kind):
        with running(kind) as run:
            check(run, name, state(ROWS[name][kind.name]))

    kinds = [kind for kind in catalog_servers.RIVALS
             if kind is not catalog_servers.Nsd
             or not catalog_servers.nsd_lacks_catalogs()]
    with concurrent.futures.ThreadPoolExecutor(len(kinds)) as pool:
        for _ in pool.map(one, kinds):
            pass


def test_nsd_is_there():
    """The column of NSD is tested if there is an NSD with catalogs."""
    catalog_servers.require(catalog_servers.Nsd)
