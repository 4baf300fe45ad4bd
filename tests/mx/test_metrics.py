"""Metrics: format, values and bounded labels."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.errors import MessagingUnavailable
from synergy.model.box import ObservedProcess
from synergy.model.process import DaemonProcess, OnFailure
from synergy.names import process_memory
from synergy.runtime.process_memory import written
from tests.deployments import HOURLY, a_deployment, a_process, site_and_client
from tests.mx import prometheus
from tests.mx.conftest import client_of
from tests.mx.timetable_kit import started
from tests.service.scheduler_harness import OPERATOR

EARLY = datetime(2015, 5, 17, 5, 30, tzinfo=UTC)


def failing(_):
    raise OSError("the disk is gone")


def read(client, path="/metrics"):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return prometheus.parse(answer.text)


@pytest.mark.parametrize("path", ["/metrics", "/api/v1/metrics"])
def test_metrics_have_the_form_of_prometheus(world, client, path):
    world.schedule()
    world.work()
    client.get("/api/v1/audit")
    found = read(client, path)
    assert len(found) > 30
    assert all(name.startswith("synergy_") for name in found)


def test_before_the_first_start_there_are_no_jobs(client):
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
    """A world with an hourly process since midnight, at 05:30, with no job done."""
    deployment = a_deployment({"site": [a_process("Hours", HOURLY, resubmit_after=3600.0)]})
    return started(worlds(deployment, now=EARLY))


def test_jobs_are_counted_by_state_and_lateness(behind):
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


def test_failed_and_given_up_jobs_are_counted_apart(worlds):
    """A job that failed is not late as well, and one that is acknowledged is skipped."""
    fields = {"max_attempts": 1, "source": None}
    deployment = a_deployment(
        {
            "a": [a_process("Blocks", HOURLY, **fields)],
            "b": [a_process("Skips", HOURLY, on_failure=OnFailure.SKIP, **fields)],
        }
    )
    world = started(worlds(deployment, now=EARLY))
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
    """The metrics of jobs with problems, by metric and process."""
    found = read(client)
    names = ("jobs_failed", "jobs_given_up", "jobs_skipped_unseen", "jobs_late")
    return {
        name: {
            dict(labels)["process"]: number
            for (_, labels), number in found[f"synergy_{name}"].samples.items()
        }
        for name in names
    }


def test_a_skipped_period_with_later_changes_is_counted(worlds):
    deployment = a_deployment({"site": [a_process("Hours", HOURLY, source="visits")]})
    world = started(worlds(deployment, now=EARLY))
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


def test_units_queues_and_leaders_are_counted(worlds):
    world = worlds(site_and_client(source=None))
    world.schedule()
    with client_of(world) as client:
        found = read(client)
    for state, count in (("requested", 8), ("in_progress", 0)):
        assert found["synergy_units"].value(process="Sitehourly", state=state) == count
    assert found["synergy_queue_messages"].value(queue="Sitehourly") == 8
    for part in ("tree site", "collector"):
        assert found["synergy_part_led"].value(part=part) == 1


def test_a_silent_box_runs_no_process(world, client):
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


def test_a_process_that_is_off_or_elsewhere_is_not_expected_to_run(worlds):
    """A daemon that is switched off, and a process that was moved to another box."""
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


def test_without_a_bus_the_other_metrics_are_there(world, client, monkeypatch):
    def away(*_):
        raise MessagingUnavailable("the broker is away")

    world.schedule()
    monkeypatch.setattr(world.bus, "depths", away)
    found = read(client)
    assert "synergy_jobs" in found
    assert not found["synergy_queue_messages"].samples


def test_the_last_audit_is_counted(world, client):
    world.schedule()
    client.get("/api/v1/audit")
    found = read(client)
    periods = found["synergy_audit_periods"]
    for result, count in (("accounted", 89), ("unfinished", 89), ("unexplained", 0)):
        assert periods.value(result=result) == count
    assert found["synergy_audit_timestamp_seconds"].value() == world.clock.now().timestamp()


def test_requests_are_counted_by_method_and_status(client):
    client.get("/livez")
    client.get("/api/v1/processes/Nobody")
    client.request("BREW", "/livez")
    found = read(client)["synergy_mx_requests_total"]
    for method, status in (("GET", "200"), ("GET", "404"), ("other", "405")):
        assert found.value(method=method, status=status) == 1
