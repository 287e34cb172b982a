"""Board, rules and template of doc/example ask for metrics, labels and values
that the server has: a name that changes here has to change there."""
import json
import pathlib
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from test_metrics import Metrics

pytestmark = pytest.mark.plain

EXAMPLE = pathlib.Path(__file__).parents[2] / "doc/example"
SELECTOR = re.compile(r"\b(nsd_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)=~?"([^"]*)"')
# A label that Prometheus adds.
ADDED = "instance"
TROUBLE = {"nsd_zones_in_trouble", "nsd_zones_oldest_refresh_seconds",
           "nsd_trouble", "nsd_process_deaths_total", "nsd_zones_refused"}
# Metrics of groups are there where a zone is in one.
GROUP = "zone:\n name: c.test\n zonestats: c\n zonefile: a.test.zone\n"


def targets_of_board():
    board = json.loads((EXAMPLE / "nsd-dashboard.json").read_text())
    return [target for panel in board["panels"]
            for target in panel["targets"]]


def asked_by_board():
    variables = json.loads((EXAMPLE / "nsd-dashboard.json").read_text())[
        "templating"]["list"]
    return [target["expr"] for target in targets_of_board()] + [
        variable["query"]["query"] for variable in variables
        if variable["type"] == "query"]


def asked_by_rules():
    return re.findall(r"^ +expr: (.*)$",
                      (EXAMPLE / "nsd-alerts.yml").read_text(), re.M)


def asked_by_template():
    return re.findall(r"^ +- '(nsd_[^']*)'$",
                      (EXAMPLE / "nsd-zabbix.yml").read_text(), re.M)


ASKED = {"board": asked_by_board, "rules": asked_by_rules,
         "template": asked_by_template}


def shown(nsd):
    """{name: {label: values}} of all that the server has."""
    _, body = Metrics(nsd, extra=GROUP).ask()
    found = {}
    for family in text_string_to_metric_families(body):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


def faults_of(text, known):
    """Names, labels and values of an expression that nothing has."""
    for name, matchers in SELECTOR.findall(text):
        if name not in known:
            yield name
            continue
        for label, values in MATCHER.findall(matchers):
            if label == ADDED:
                continue
            for value in values.split("|"):
                if not any(re.fullmatch(value, one)
                           for one in known[name].get(label, ())):
                    yield f"{name}: {label}={value}"
        for labels in re.findall(r"by \(([^)]*)\)", text):
            for label in labels.split(", "):
                if label not in (ADDED, *known[name]):
                    yield f"{name} by {label}"


def test_faults_are_found():
    known = {"nsd_a": {"kind": {"one", "two"}}, "nsd_b": {}}
    for text, faults in (
            ('sum by (kind) (nsd_a{instance="x",kind=~"one|tw."})', []),
            ("nsd_b > nsd_c", ["nsd_c"]),
            ('nsd_a{kind=~"one|three"}', ["nsd_a: kind=three"]),
            ("sum by (kind, instance) (nsd_b)", ["nsd_b by kind"])):
        assert list(faults_of(text, known)) == faults, text


def test_examples_ask_for_what_there_is(nsd):
    known = shown(nsd)
    for what, texts in ASKED.items():
        assert len(texts()) > 6, what
        faults = [fault for text in texts()
                  for fault in faults_of(text, known)]
        assert not faults, what


def test_legends_have_labels_of_what_they_show(nsd):
    known = shown(nsd)
    for target in targets_of_board():
        name = SELECTOR.search(target["expr"])[1]
        kept = re.search(r"by \(([^)]*)\)", target["expr"])
        labels = kept[1].split(", ") if kept else [ADDED, *known[name]]
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            assert label in labels, target


def test_each_trouble_is_told_of(nsd):
    """By the board or a rule, and by the template: all, of zones each kind."""
    kinds = shown(nsd)["nsd_zones_in_trouble"]["trouble"]
    for texts in [*asked_by_board(), *asked_by_rules()], asked_by_template():
        names = {name for text in texts for name, _ in SELECTOR.findall(text)}
        assert TROUBLE <= names
    for texts in asked_by_rules(), asked_by_template():
        told = {value for text in texts for _, values in re.findall(
            r'nsd_zones_in_trouble\{(trouble)=~"([^"]*)"', text)
            for value in values.split("|")}
        assert told == kinds
