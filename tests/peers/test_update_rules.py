"""Rules of RFC 2136 in our server, BIND and Knot: the table of doc/update.md, row
by row."""
import functools
import pathlib

import pytest

import servers
import update_rules
import update_servers

pytestmark = pytest.mark.lasts(20)

PAGE = pathlib.Path(__file__).parents[2] / "doc" / "update.md"
COLUMNS = {kind.name: kind for kind in update_servers.ALL}
AS_IT_IS = "yes"


def cell(text):
    return f"`{text}`" if text else ""


def row(rule, said):
    """A row of the page; said: {server: outcome}."""
    return "| " + " | ".join([
        rule.name, rule.section, cell(rule.message.replace("; ", " ; ")),
        rule.how and cell(rule.how), cell(rule.outcome),
        *(AS_IT_IS if update_servers.same(said[name], rule.outcome)
          else cell(said[name]) for name in COLUMNS)]) + " |"


def rows():
    """{rule: {server: outcome}} of the page."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [each.strip() for each in line.split("|")[1:-1]]
        if len(cells) != 5 + len(COLUMNS) or "`" not in cells[4]:
            continue
        outcome = cells[4].strip("`")
        found[cells[0]] = {
            name: outcome if said == AS_IT_IS else said.strip("`")
            for name, said in zip(COLUMNS, cells[5:])}
    return found


ROWS = rows()


@functools.cache
def zone_of(rule):
    return f"r{update_rules.ALL.index(rule)}.test."


@pytest.fixture(scope="module", params=COLUMNS.values(), ids=COLUMNS)
def server(request):
    """A zone for each rule, so that none depends on those before it."""
    zones = {zone_of(rule): update_rules.ZONE for rule in update_rules.ALL}
    with servers.started(request.param(zones)) as running:
        yield running


def test_all_are_on_the_page():
    """No row without a rule, no rule without its row."""
    assert list(ROWS) == [rule.name for rule in update_rules.ALL]


@pytest.mark.parametrize("rule", update_rules.ALL,
                         ids=lambda rule: rule.name.replace(" ", "-"))
def test_rule(server, rule):
    """RFC 2136 sections 3.1 to 3.4, RFC 8945 section 5.2."""
    said = update_servers.outcome(rule, zone_of(rule), server.port)
    expected = ROWS.get(rule.name, {}).get(server.name, "no row")
    assert update_servers.same(said, expected), row(
        rule, {**ROWS.get(rule.name, {}), server.name: said})
