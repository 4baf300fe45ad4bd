"""Metrics: in a form that Prometheus reads, true, and bounded."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from prometheus_client import generate_latest

from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.errors import MessagingUnavailable
from synergy.model.box import ObservedProcess
from synergy.model.process import DaemonProcess, OnFailure
from synergy.model.unit_of_work import UnitState
from synergy.names import TIMETABLE_START, process_memory
from synergy.queries.metrics import activity
from synergy.queries.metrics.activity import Activity
from synergy.queries.metrics.work import WorkMetrics
from synergy.runtime.process_memory import written
from tests.deployments import HOURLY, a_deployment, a_process, site_and_client
from tests.factories import NOW, a_unit, an_entry
from tests.mx import prometheus
from tests.mx.conftest import client_of
from tests.service.scheduler_harness import OPERATOR

DOCS = Path(__file__).parents[2] / "docs"
DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = DEPLOY / "grafana" / "synergy.json"
RULES = DEPLOY / "prometheus-rules.yaml"
OPERATIONS = DOCS / "operations.md"


# Metrics of the verdict, which `synergy.queries` tells of besides those of this module.
OF_THE_VERDICT = {
    "synergy_verdict_well", "synergy_verdict_findings", "synergy_units_not_served",
}  # fmt: skip


def failing(_):
    raise OSError("the disk is gone")


def read(client, path="/metrics"):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return prometheus.parse(answer.text)


def counted(meter):
    return prometheus.parse(generate_latest(meter.registry).decode())


@pytest.mark.parametrize("path", ["/metrics", "/api/v1/metrics"])
def test_all_of_it_is_as_prometheus_wants_it(world, client, path):
    world.schedule()
    world.work()
    client.get("/api/v1/audit")
    found = read(client, path)
    assert len(found) > 30
    assert all(name.startswith("synergy_") for name in found)


def test_before_the_first_start_there_is_little_to_tell(client):
    found = read(client)
    assert "synergy_jobs" not in found
    assert found["synergy_build_info"].kind == "gauge"


def test_no_label_is_a_timeperiod_or_a_unit(world, client):
    world.settle()
    client.get("/metrics")
    world.advance(3600)
    world.settle()
    for name, family in read(client).items():
        for _, labels in family.samples:
            for label, value in labels:
                if label != "le":
                    assert not re.fullmatch(r"[0-9]{10}|[0-9a-f]{24}", value), (name, label, value)


@pytest.fixture
def behind(worlds):
    """An hourly process since midnight of 17 May 2015; it is 05:30, and nothing was done."""
    deployment = a_deployment({"site": [a_process("Hours", HOURLY, resubmit_after=3600.0)]})
    world = worlds(deployment, now=datetime(2015, 5, 17, 5, 30, tzinfo=UTC))
    world.store.facts.set(TIMETABLE_START, "2015051700")
    return world


def test_jobs_are_counted_and_the_late_ones_too(behind):
    with client_of(behind) as client:
        found = read(client)
        # 00 to 05; those to 04 have closed, that of 04 half an hour ago and settled since
        assert found["synergy_jobs"].value(process="Hours", state="embryo") == 6
        assert found["synergy_jobs_late"].value(process="Hours") == 4
        midnight = datetime(2015, 5, 17, tzinfo=UTC).timestamp()
        oldest = found["synergy_oldest_unfinished_timestamp_seconds"]
        assert oldest.value(process="Hours") == midnight
        behind.settle()
        behind.skip("Hours", ("2015051700", "2015051704"), OPERATOR, behind.clock.now())
        found = read(client)
        assert found["synergy_jobs"].value(process="Hours", state="skipped") == 5
        assert found["synergy_jobs_late"].value(process="Hours") == 0
        assert found["synergy_oldest_unfinished_timestamp_seconds"].samples == {}


def test_what_failed_and_what_was_given_up_is_counted_apart(worlds):
    """A job that failed is not late as well, and one that is acknowledged is skipped."""
    fields = {"max_attempts": 1, "source": None}
    deployment = a_deployment(
        {
            "a": [a_process("Blocks", HOURLY, **fields)],
            "b": [a_process("Skips", HOURLY, on_failure=OnFailure.SKIP, **fields)],
        }
    )
    world = worlds(deployment, now=datetime(2015, 5, 17, 5, 30, tzinfo=UTC))
    world.store.facts.set(TIMETABLE_START, "2015051700")
    world.schedule()
    world.work(work=failing)
    world.advance(90)
    with client_of(world) as client:
        assert bad_news(client) == {
            "jobs_failed": {"Blocks": 5, "Skips": 0},
            "jobs_given_up": {"Blocks": 0, "Skips": 5},
            "jobs_skipped_unseen": {"Blocks": 0, "Skips": 0},
            "jobs_late": {"Blocks": 0, "Skips": 0},
        }
        assert read(client)["synergy_jobs"].value(process="Skips", state="given_up") == 5
        client.get("/api/v1/audit")
        periods = read(client)["synergy_audit_periods"]
        assert [periods.value(result=name) for name in ("failed", "given_up")] == [5, 5]
        hours = (Range("Skips", "2015051700", "2015051702"),)
        world.bulk.act(BulkRequest(BulkVerb.ACKNOWLEDGE, hours), OPERATOR, world.clock.now())
        found = bad_news(client)
        assert (found["jobs_failed"]["Blocks"], found["jobs_given_up"]["Skips"]) == (5, 2)
        assert read(client)["synergy_jobs"].value(process="Skips", state="skipped") == 3


def bad_news(client):
    """What is counted of jobs that are not well, by metric and process."""
    found = read(client)
    names = ("jobs_failed", "jobs_given_up", "jobs_skipped_unseen", "jobs_late")
    return {
        name: {
            dict(labels)["process"]: number
            for (_, labels), number in found[f"synergy_{name}"].samples.items()
        }
        for name in names
    }


def test_a_skipped_period_that_got_data_since_is_counted(worlds):
    deployment = a_deployment({"site": [a_process("Hours", HOURLY, source="visits")]})
    world = worlds(deployment, now=datetime(2015, 5, 17, 5, 30, tzinfo=UTC))
    world.store.facts.set(TIMETABLE_START, "2015051700")
    world.settle()
    with client_of(world) as client:
        hour = ("2015051705", "2015051705")
        world.skip("Hours", hour, OPERATOR, world.clock.now())
        world.schedule()
        assert bad_news(client)["jobs_skipped_unseen"] == {"Hours": 0}
        world.write("visits", "2015051705", 1)
        world.advance(60)
        assert bad_news(client)["jobs_skipped_unseen"] == {"Hours": 1}
        world.reprocess("Hours", hour, OPERATOR, world.clock.now())
        assert bad_news(client)["jobs_skipped_unseen"] == {"Hours": 0}


def test_units_queues_and_leaders_are_told(worlds):
    world = worlds(site_and_client(source=None))
    world.schedule()
    with client_of(world) as client:
        found = read(client)
    assert found["synergy_units"].value(process="Sitehourly", state="requested") == 8
    assert found["synergy_units"].value(process="Sitehourly", state="in_progress") == 0
    assert found["synergy_queue_messages"].value(queue="Sitehourly") == 8
    assert found["synergy_part_led"].value(part="tree site") == 1
    assert found["synergy_part_led"].value(part="collector") == 1


def test_processes_of_a_box_are_told_and_a_silent_box_runs_nothing(world, client):
    now = world.clock.now()
    world.store.boxes.assign("b", ["Sitehourly", "Sitedaily"])
    seen = ObservedProcess("b", "Sitehourly", 1, "running", pid=7, since=now, restarts=2)
    world.store.boxes.report("b", [seen], now)
    world.store.facts.set(process_memory("b"), written({("Sitehourly", 1): 4096}))

    def of(name, process):
        return read(client)[f"synergy_process_{name}"].value(box="b", process=process)

    assert [of(name, "Sitehourly") for name in ("up", "wanted", "memory_bytes", "restarts")] == [
        1, 1, 4096, 2,
    ]  # fmt: skip
    assert [of(name, "Sitedaily") for name in ("up", "wanted", "memory_bytes")] == [0, 1, 0]
    world.clock.advance(3600)
    assert [of(name, "Sitehourly") for name in ("up", "wanted", "memory_bytes")] == [0, 1, 0]
    box = read(client)["synergy_box_seen_timestamp_seconds"]
    assert box.value(box="b") == now.timestamp()


def test_what_shall_not_run_on_a_box_is_not_wanted(worlds):
    """A daemon that is switched off, and what was moved to another box."""
    daemon = DaemonProcess(name="Watch", classname="x", token="w", present_on_boxes=(".*",))
    deployment = a_deployment({"site": [a_process("Hours", HOURLY, present_on_boxes=("other",))]})
    world = worlds(replace(deployment, processes={**deployment.processes, "Watch": daemon}))
    world.store.boxes.assign("b", ["Watch", "Hours"])
    world.store.boxes.report("b", [], world.clock.now())
    client = client_of(world)

    def wanted():
        family = read(client)["synergy_process_wanted"]
        return [family.value(box="b", process=name) for name in ("Watch", "Hours")]

    assert wanted() == [1, 0]
    world.store.controls.set_on("Watch", False, "me", "", world.clock.now())
    assert wanted() == [0, 0]


def test_without_a_bus_all_else_is_told(world, client, monkeypatch):
    def away(*_):
        raise MessagingUnavailable("the broker is away")

    world.schedule()
    monkeypatch.setattr(world.bus, "depths", away)
    found = read(client)
    assert "synergy_jobs" in found
    assert not found["synergy_queue_messages"].samples


def test_the_newest_audit_is_told(world, client):
    world.schedule()
    client.get("/api/v1/audit")
    found = read(client)
    periods = found["synergy_audit_periods"]
    assert periods.value(result="accounted") == 89
    assert periods.value(result="unfinished") == 89
    assert periods.value(result="unexplained") == 0
    assert found["synergy_audit_timestamp_seconds"].value() == world.clock.now().timestamp()


def test_requests_are_counted_by_method_and_status(client):
    client.get("/livez")
    client.get("/api/v1/processes/Nobody")
    client.request("BREW", "/livez")
    found = read(client)["synergy_mx_requests_total"]
    assert found.value(method="GET", status="200") == 1
    assert found.value(method="GET", status="404") == 1
    assert found.value(method="other", status="405") == 1


# What the journal tells


def at(seconds):
    return NOW + timedelta(seconds=seconds)


def a_life(meter, *steps, process="P", unit="u"):
    """Entries given as (seconds, event)."""
    for seconds, event in steps:
        meter.add(
            an_entry(
                event, process=process, unit=unit, at=at(seconds), after=event.partition(".")[2]
            )
        )


def test_the_life_of_a_unit_is_told_by_durations():
    meter = WorkMetrics({"P"})
    a_life(
        meter, (0, "unit.requested"), (2, "unit.in_progress"), (12, "unit.processed"),
        (12.5, "job.processed"),
    )  # fmt: skip
    found = counted(meter)
    assert found["synergy_dispatch_latency_seconds"].value("_sum", process="P") == 2
    duration = found["synergy_unit_duration_seconds"]
    assert duration.value("_sum", process="P", outcome="processed") == 10
    assert duration.value("_bucket", process="P", outcome="processed", le="5.0") == 0
    assert duration.value("_bucket", process="P", outcome="processed", le="10.0") == 1
    assert found["synergy_wakeup_latency_seconds"].value("_sum", process="P") == 0.5
    entries = found["synergy_journal_entries_total"]
    assert entries.value(event="job.processed", process="P") == 1


def test_each_attempt_of_a_unit_has_its_own_end():
    meter = WorkMetrics({"P"})
    a_life(
        meter,
        (0, "unit.requested"), (1, "unit.in_progress"), (4, "unit.invalid"),
        (60, "unit.requested"), (61, "unit.in_progress"),
        (90, "unit.requested"),  # it was taken from its worker
        (91, "unit.in_progress"), (92, "unit.canceled"),
    )  # fmt: skip
    found = counted(meter)["synergy_unit_duration_seconds"]
    assert found.value("_sum", process="P", outcome="invalid") == 3
    assert found.value("_sum", process="P", outcome="lost") == 29
    assert found.value("_sum", process="P", outcome="canceled") == 1
    dispatch = counted(meter)["synergy_dispatch_latency_seconds"]
    assert dispatch.value("_count", process="P") == 3


def test_a_clock_that_is_behind_makes_no_negative_duration():
    meter = WorkMetrics({"P"})
    a_life(meter, (5, "unit.requested"), (0, "unit.in_progress"))
    assert counted(meter)["synergy_dispatch_latency_seconds"].value("_sum", process="P") == 0


def test_units_that_were_under_way_before_are_known():
    meter = WorkMetrics({"P"})
    meter.begin(
        [
            a_unit("P", id="a", created_at=at(0)),
            a_unit("P", id="b", state=UnitState.IN_PROGRESS, started_at=at(0)),
        ]
    )
    a_life(meter, (3, "unit.in_progress"), unit="a")
    a_life(meter, (7, "unit.noop"), unit="b")
    found = counted(meter)
    assert found["synergy_dispatch_latency_seconds"].value("_sum", process="P") == 3
    duration = found["synergy_unit_duration_seconds"]
    assert duration.value("_sum", process="P", outcome="noop") == 7


def test_what_is_not_declared_is_counted_without_its_name():
    meter = WorkMetrics({"P"})
    for name in ("nightly-1", "nightly-2"):
        meter.add(an_entry("run.launched", process=name))
    entries = counted(meter)["synergy_journal_entries_total"]
    assert entries.value(event="run.launched", process="") == 2


def test_what_the_collector_did_is_counted():
    meter = WorkMetrics(())
    for why in ("hand out 2, forgotten 500", "publish 4, hand out 1", "nothing to do", "odd"):
        meter.add(an_entry("gc.run", why=why))
    actions = counted(meter)["synergy_collector_actions_total"]
    assert actions.value(action="hand out") == 3
    assert actions.value(action="forgotten") == 500
    assert actions.value(action="publish") == 4


def test_a_look_costs_what_is_new_and_no_more_than_so_much(world, monkeypatch):
    monkeypatch.setattr(activity, "PAGE", 3)
    monkeypatch.setattr(activity, "PAGES", 2)
    seen = Activity(world.store, world.deployment, world.clock)

    def entries():
        found = prometheus.parse(generate_latest(seen).decode())[
            "synergy_journal_entries_total"
        ].samples
        return sum(found.values())

    def write(number):
        world.store.journal.append(
            [an_entry("job.noop", process="Sitehourly", at=world.clock.now())] * number
        )

    write(2)
    assert entries() == 0  # what was before is not counted
    write(8)
    assert entries() == 6
    assert entries() == 8
    assert entries() == 8
    assert seen.throughput().jobs[-1] == 10


def test_throughput_is_counted_by_minute_also_before_the_first_look(world):
    def write(event, first="2015051700", last="2015051700"):
        world.store.journal.append(
            [an_entry(event, process="Sitehourly", first=first, last=last, at=world.clock.now())]
        )

    write("job.noop")
    world.clock.advance(61 * 60)  # that was more than an hour ago
    write("unit.processed")
    write("job.skipped", "2015051700", "2015051802")  # 27 hours in one step
    world.clock.advance(60)
    seen = Activity(world.store, world.deployment, world.clock)
    write("unit.noop")
    write("unit.invalid")
    write("job.in_progress")
    found = seen.throughput()
    assert (len(found.units), len(found.jobs)) == (60, 60)
    assert found.units[-2:] == (1, 1)
    assert found.jobs[-2:] == (27, 0)
    assert sum(found.jobs) == 27
    assert found.since == world.clock.now() - timedelta(minutes=60)


def test_it_says_since_when_it_has_counted_where_too_much_happened(world, monkeypatch):
    monkeypatch.setattr(activity, "PAGE", 2)
    monkeypatch.setattr(activity, "PAGES", 2)
    for _ in range(6):
        world.store.journal.append(
            [an_entry("unit.noop", process="Sitehourly", at=world.clock.now())]
        )
        world.clock.advance(60)
    found = Activity(world.store, world.deployment, world.clock).throughput()
    assert sum(found.units) == 4
    assert found.since == world.clock.now() - timedelta(minutes=4)


# The dashboard


def test_the_dashboard_shows_only_metrics_that_there_are(world, client):
    world.settle()
    client.get("/api/v1/audit")
    families = read(client)
    names = {
        f"{name}{suffix}"
        for name, family in families.items()
        for suffix in (("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",))
    }
    asked = re.findall(r"\bsynergy_\w+", " ".join(expressions(json.loads(DASHBOARD.read_text()))))
    assert len(set(asked)) > 20
    assert set(asked) - names - OF_THE_VERDICT == set()


def test_no_panel_of_the_dashboard_lies_over_another():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(taken)) == len(taken)
    assert max(x for x, _ in taken) < 24


def test_the_alert_rules_ask_only_for_metrics_that_there_are(world, client):
    world.settle()
    client.get("/api/v1/audit")
    families = read(client)
    names = {f"{name}{'_count' if f.kind == 'histogram' else ''}" for name, f in families.items()}
    rules = alert_rules()
    asked = set(re.findall(r"\bsynergy_\w+", " ".join(rule["expr"] for rule in rules)))
    assert len(asked) > 10
    assert asked - names - OF_THE_VERDICT == set()
    for rule in rules:
        kept = re.search(r"by \((.*?)\)", rule["expr"])  # the labels that are left at the end
        told = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        assert told <= set(kept[1].split(", ") if kept else ["instance"]), rule["alert"]


def test_the_alert_rules_are_as_prometheus_reads_them():
    rules = alert_rules()
    names = [rule["alert"] for rule in rules]
    assert len(set(names)) == len(names)
    assert {
        "SynergyFailed", "SynergyGivenUp", "SynergyLate", "SynergyNotServed", "SynergyProcessDown",
        "SynergyNotWell", "SynergyUnexplained",
    } <= set(names)  # fmt: skip
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


def alert_rules():
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    assert set(group) == {"name", "rules"}
    return group["rules"]


def expressions(node):
    """All that a dashboard asks Prometheus for."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("expr", "query") and isinstance(value, str):
                yield value
            else:
                yield from expressions(value)
    elif isinstance(node, list):
        for item in node:
            yield from expressions(item)


def test_the_documentation_names_every_metric_and_none_that_is_not_there(world, client):
    world.settle()
    client.get("/api/v1/audit")
    names = {name.removeprefix("synergy_") for name in read(client)}
    text = OPERATIONS.read_text()
    assert {name for name in names if f"`{name}`" not in text} == set()
    asked = set(re.findall(r"\bsynergy_(\w+)", text.split("## Metrics")[1].split("\n## ")[0]))
    histograms = {f"{name}{end}" for name in names for end in ("_bucket", "_sum", "_count")}
    assert asked - names - histograms == set()
