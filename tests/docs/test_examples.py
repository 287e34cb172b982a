"""The rules for Prometheus fire when they should, Prometheus understands what the
board of Grafana asks, and the board and the template for Zabbix are what these
programs take. (tests/blackbox/test_metrics_asked.py: the server has all metrics
that they ask for.)"""
import itertools
import json
import pathlib
import re
import subprocess

import pytest
import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = TOP / "doc/example"


def promtool(*arguments):
    return subprocess.run(["promtool", *arguments], text=True,
                          capture_output=True, timeout=120, check=False)


# ---- rules of Prometheus -----------------------------------------------------

def test_rules_fire_when_they_should(tmp_path):
    """Series over time, and the alerts that follow: alerts.yml."""
    text = (pathlib.Path(__file__).parent / "alerts.yml").read_text()
    cases = tmp_path / "alerts.yml"
    cases.write_text(text.replace("RULES", str(EXAMPLE / "nsd-alerts.yml")))
    done = promtool("test", "rules", cases)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_rule_has_a_case():
    rules = set(re.findall(r"alert: (\w+)",
                           (EXAMPLE / "nsd-alerts.yml").read_text()))
    cases = (pathlib.Path(__file__).parent / "alerts.yml").read_text()
    assert rules == set(re.findall(r"alertname: (\w+)", cases))


def check_rules(folder, rules):
    """(true if Prometheus takes the rules, what it says)"""
    path = folder / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "a", "rules": rules}]}))
    done = promtool("check", "rules", path)
    return done.returncode == 0, done.stdout + done.stderr


def test_rules_are_valid():
    done = promtool("check", "rules", EXAMPLE / "nsd-alerts.yml")
    assert done.returncode == 0, done.stdout + done.stderr


# ---- the board of Grafana ----------------------------------------------------

# Types of panels and units that the board uses, as Grafana 10 names them.
PANELS = {"stat", "timeseries"}
UNITS = {"bytes", "reqps", "s", "short"}
# Grafana's own variables, and a value of each.
OWN = {"$__rate_interval": "1m"}
COLUMNS = 24
# The schema of Grafana 10.0; a later one turns it into its own.
SCHEMA = 38


@pytest.fixture(name="board", scope="module")
def fixture_board():
    return json.loads((EXAMPLE / "nsd-dashboard.json").read_text())


def test_prometheus_understands_the_board(board, tmp_path):
    """Each expression as a rule that records."""
    texts = [target["expr"] for panel in board["panels"]
             for target in panel["targets"]]
    values = OWN | {f"${variable['name']}": ".*"
                    for variable in board["templating"]["list"]}
    rules = []
    for number, text in enumerate(texts):
        for name, value in values.items():
            text = text.replace(name, value)
        assert "$" not in text
        rules.append({"record": f"board_{number}", "expr": text})
    is_taken, said = check_rules(tmp_path, rules)
    assert is_taken and f"{len(texts)} rules found" in said, said
    is_taken, said = check_rules(tmp_path, [
        *rules, {"record": "wrong", "expr": "sum by (rate(a[1m]))"}])
    assert not is_taken and "could not parse expression" in said


def test_board_is_of_a_schema(board):
    assert board["schemaVersion"] == SCHEMA
    assert board["title"] and "id" not in board
    assert {"from", "to"} == set(board["time"])


def test_board_asks_for_its_data_source(board):
    """No data source of somebody's Grafana, and each panel has one."""
    source = {"type": "prometheus", "uid": "${datasource}"}
    variables = {row["name"]: row for row in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    others = [row for row in variables.values() if row["type"] == "query"]
    assert others
    for asking in [*others, *board["panels"],
                   *(target for panel in board["panels"]
                     for target in panel["targets"])]:
        assert asking["datasource"] == source, asking
    text = json.dumps(board)
    names = set(re.findall(r"\$\{?(\w+)", text)) - {"__all"}
    assert names == {*variables, *(name[1:] for name in OWN)}


def cells_of(panel):
    """The cells of the board's grid that a panel covers."""
    place = panel["gridPos"]
    assert place["x"] + place["w"] <= COLUMNS
    return set(itertools.product(
        range(place["x"], place["x"] + place["w"]),
        range(place["y"], place["y"] + place["h"])))


def test_panels_have_places_and_units(board):
    panels = board["panels"]
    ids = [panel["id"] for panel in panels]
    assert len(set(ids)) == len(ids) > 10
    covered = set()
    for panel in panels:
        assert panel["type"] in PANELS, panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        names = [target["refId"] for target in panel["targets"]]
        assert len(set(names)) == len(names) > 0
        assert not covered & cells_of(panel), panel["title"]
        covered |= cells_of(panel)


# ---- the template for Zabbix -------------------------------------------------

# Words of Zabbix 6.0 (manual, "Templates" in "Configuration export/import").
ITEM_WORDS = {
    "uuid", "name", "type", "key", "delay", "history", "trends", "value_type",
    "units", "description", "preprocessing", "master_item", "tags", "triggers",
    "url", "timeout"}
TRIGGER_WORDS = {"uuid", "expression", "name", "priority", "description"}
PRIORITIES = {"INFO", "WARNING", "AVERAGE", "HIGH", "DISASTER"}
VALUE_TYPES = {"FLOAT", "CHAR", "LOG", "UNSIGNED", "TEXT"}
# Steps, and how many parameters each has.
STEPS = {"PROMETHEUS_PATTERN": 3, "CHANGE_PER_SECOND": 1}
PATTERN = re.compile(r'nsd_\w+(?:\{\w+=~?"[^"]+"\})?')
EXPRESSION = re.compile(
    r"(?:last|change|(?:min|nodata))\(/([^/]+)/([\w.]+)(?:,\d+m)?\)"
    r"[=>](?:\d+|(\{\$[A-Z.]+\}))")


@pytest.fixture(name="export", scope="module")
def fixture_export():
    text = (EXAMPLE / "nsd-zabbix.yml").read_text()
    return yaml.safe_load(text)["zabbix_export"]


@pytest.fixture(name="template", scope="module")
def fixture_template(export):
    assert len(export["templates"]) == 1
    return export["templates"][0]


def test_template_is_of_a_version(export, template):
    assert export["version"] == "6.0"
    assert set(export) == {"version", "date", "groups", "templates"}
    assert set(template) == {"uuid", "template", "name", "description",
                             "groups", "items", "macros"}
    groups = [group["name"] for group in export["groups"]]
    assert [group["name"] for group in template["groups"]] == groups


def test_items_come_from_one_request(template):
    items = template["items"]
    for what in "key", "name":
        names = [item[what] for item in items]
        assert len(set(names)) == len(names)
    assert items[0]["type"] == "HTTP_AGENT" and "url" in items[0]
    for item in items:
        assert set(item) <= ITEM_WORDS, item["key"]
        assert item.get("value_type", "UNSIGNED") in VALUE_TYPES
    for item in items[1:]:
        assert item["type"] == "DEPENDENT"
        assert item["master_item"]["key"] == items[0]["key"]
        assert item["delay"] == "0"


def test_steps_have_their_parameters(template):
    for item in template["items"][1:]:
        steps = item["preprocessing"]
        assert steps[0]["type"] == "PROMETHEUS_PATTERN"
        for step in steps:
            assert len(step["parameters"]) == STEPS[step["type"]], item["key"]
        pattern, output, detail = steps[0]["parameters"]
        assert PATTERN.fullmatch(pattern), pattern
        assert (output, detail) in {("value", ""), ("function", "sum")}
        # Metrics that are zero may be left out.
        assert steps[0]["error_handler"] == "CUSTOM_VALUE"
        if len(steps) > 1:
            assert item["value_type"] == "FLOAT", "a rate is no whole number"


def test_triggers_look_at_what_is_kept(template):
    """Zabbix evaluates none whose item has no history."""
    items = {item["key"]: item for item in template["items"]}
    macros = {macro["macro"] for macro in template["macros"]}
    triggers = [trigger for item in items.values()
                for trigger in item.get("triggers", [])]
    names = [trigger["name"] for trigger in triggers]
    assert len(set(names)) == len(names) > 5
    for trigger in triggers:
        assert set(trigger) <= TRIGGER_WORDS
        assert trigger["priority"] in PRIORITIES
        host, key, macro = EXPRESSION.fullmatch(trigger["expression"]).groups()
        assert host == template["template"]
        assert items[key].get("history") != "0", trigger["name"]
        assert macro is None or macro in macros


def test_macros_are_there(export, template):
    used = set(re.findall(r"\{\$[A-Z.]+\}", json.dumps(export)))
    assert used == {macro["macro"] for macro in template["macros"]}
    url = set(re.findall(r"\{\$[A-Z.]+\}", template["items"][0]["url"]))
    assert url < used


def test_ids_of_the_template_are_versions_4():
    """RFC 4122 section 4.4: Zabbix refuses others."""
    ids = re.findall(r"uuid: (\S+)", (EXAMPLE / "nsd-zabbix.yml").read_text())
    assert len(ids) == len(set(ids)) > 20
    for name in ids:
        assert re.fullmatch(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}",
                            name), name
