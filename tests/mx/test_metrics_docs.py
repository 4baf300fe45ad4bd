"""Dashboard, alert rules and documentation name metrics that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.mx import prometheus

ROOT = Path(__file__).parents[2]
PANELS = json.loads((ROOT / "deploy" / "grafana" / "synergy.json").read_text())["panels"]
RULES = ROOT / "deploy" / "prometheus-rules.yaml"
ENDS = ("_bucket", "_sum", "_count")


@pytest.fixture
def families(world, client):
    """All metrics, after an audit and some work."""
    world.settle()
    client.get("/api/v1/audit")
    return prometheus.parse(client.get("/metrics").text)


def samples(families, ends=ENDS):
    """The names of the samples of a metric; a histogram has only suffixed ones."""
    for name, family in families.items():
        yield from (f"{name}{end}" for end in (ends if family.kind == "histogram" else ("",)))


def asked(text):
    return set(re.findall(r"\bsynergy_\w+", text))


def expressions(node):
    """All Prometheus queries in a part of the dashboard."""
    if isinstance(node, dict):
        for key, value in node.items():
            is_query = key in ("expr", "query") and isinstance(value, str)
            yield from [value] if is_query else expressions(value)
    elif isinstance(node, list):
        for item in node:
            yield from expressions(item)


def test_the_dashboard_shows_existing_metrics_only(families):
    names = asked(" ".join(expressions(PANELS)))
    assert len(names) > 20
    assert names <= set(samples(families))


def test_no_panel_of_the_dashboard_overlaps_another():
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    taken = [
        (x, y)
        for at in (panel["gridPos"] for panel in PANELS)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(taken)) == len(taken)
    assert max(x for x, _ in taken) < 24


@pytest.fixture(scope="module")
def rules():
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    assert set(group) == {"name", "rules"}
    return group["rules"]


def test_the_alert_rules_use_existing_metrics_and_labels_only(families, rules):
    names = asked(" ".join(rule["expr"] for rule in rules))
    assert len(names) > 10
    assert names <= set(samples(families, ["_count"]))
    for rule in rules:
        kept = re.search(r"by \((.*?)\)", rule["expr"])  # the labels that are left at the end
        told = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        assert told <= set(kept[1].split(", ") if kept else ["instance"]), rule["alert"]


def test_the_alert_rules_have_the_form_of_prometheus(rules):
    names = [rule["alert"] for rule in rules]
    assert len(set(names)) == len(names)
    expected = "Failed GivenUp Late NotServed ProcessDown NotWell Unexplained"
    assert {f"Synergy{name}" for name in expected.split()} <= set(names)
    for rule in rules:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}, rule["alert"]
        assert re.fullmatch(r"[0-9]+[mh]", rule.get("for", "0m")), rule["alert"]
        assert rule["expr"].count("(") == rule["expr"].count(")"), rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert rule["annotations"]["summary"]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool (package prometheus)")
def test_promtool_accepts_the_alert_rules():
    done = subprocess.run(
        ["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_documentation_names_every_metric_and_no_other(families):
    text = (ROOT / "docs" / "operations.md").read_text()
    names = {name.removeprefix("synergy_") for name in families}
    assert {name for name in names if f"`{name}`" not in text} == set()
    section = text.split("## Metrics")[1].split("\n## ")[0]
    assert asked(section) <= {*families, *samples(families)}
