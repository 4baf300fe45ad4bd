"""Declarations in `context.py` are loaded with their defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from synergy.model.process import (
    Blocking,
    DaemonProcess,
    LateData,
    ManagedProcess,
    OnFailure,
    StateMachine,
)
from synergy.timeperiod import Qualifier
from tests.unit.config.kit import HEAD, WORKER, checked, daemon, load, managed, one, process, write


def test_the_documented_example_loads_unchanged(project: Path) -> None:
    (project / "context.py").write_text(
        HEAD
        + """
TREE_SITE_VERTICAL = "site"
PROCESS_SITE_YEARLY, PROCESS_SITE_MONTHLY = "SiteYearlyAggregator", "SiteMonthlyAggregator"
PROCESS_SITE_DAILY, PROCESS_SITE_HOURLY = "SiteDailyAggregator", "SiteHourlyAggregator"
TOKEN_SITE, MX_PAGE_TRAFFIC = "site", "traffic"
COLLECTION_SINGLE_SESSION, COLLECTION_SITE_HOURLY = "single_session", "site_hourly"

def coarser(name, qualifier):
    return managed_context_entry(
        process_name=name, classname="a.b.C.start", time_qualifier=qualifier,
        present_on_boxes=["dev.*"])

timetable_context = {
TREE_SITE_VERTICAL: timetable_tree_entry(
    tree_name=TREE_SITE_VERTICAL,
    enclosed_processes=[
        PROCESS_SITE_YEARLY, PROCESS_SITE_MONTHLY, PROCESS_SITE_DAILY, PROCESS_SITE_HOURLY],
    dependent_on=[],
    mx_name=TOKEN_SITE,
    mx_page=MX_PAGE_TRAFFIC),
}
process_context = {
PROCESS_SITE_YEARLY: coarser(PROCESS_SITE_YEARLY, QUALIFIER_YEARLY),
PROCESS_SITE_MONTHLY: coarser(PROCESS_SITE_MONTHLY, QUALIFIER_MONTHLY),
PROCESS_SITE_DAILY: coarser(PROCESS_SITE_DAILY, QUALIFIER_DAILY),
PROCESS_SITE_HOURLY: managed_context_entry(
    process_name=PROCESS_SITE_HOURLY,
    classname='workers.site_hourly_aggregator.SiteHourlyAggregator.start',
    token=TOKEN_SITE,
    time_qualifier=QUALIFIER_HOURLY,
    source=COLLECTION_SINGLE_SESSION,
    sink=COLLECTION_SITE_HOURLY,
    state_machine_name=STATE_MACHINE_CONTINUOUS,
    blocking_type=BLOCKING_NORMAL,
    trigger_frequency='every 600',
    present_on_boxes=['dev.*']),
}
"""
    )
    deployment = load(project)
    assert deployment.processes["SiteHourlyAggregator"] == ManagedProcess(
        name="SiteHourlyAggregator",
        classname="workers.site_hourly_aggregator.SiteHourlyAggregator.start",
        token="site",
        present_on_boxes=("dev.*",),
        qualifier=Qualifier.HOURLY,
        source="single_session",
        sink="site_hourly",
        state_machine=StateMachine.CONTINUOUS,
        blocking=Blocking.NORMAL,
        trigger_frequency="every 600",
    )
    site = deployment.trees["site"]
    assert site.processes[0] == "SiteYearlyAggregator"
    assert (site.mx_name, site.mx_page) == ("site", "traffic")


def test_a_managed_process_has_the_documented_defaults(project: Path) -> None:
    one(project, managed("p", "hourly"))
    found = process(project)
    assert (found.time_grouping, found.arguments, found.settle) == (1, {}, 300)
    assert (found.max_active, found.instances, found.max_attempts) == (8, 1, 3)
    assert (found.retry_backoff, found.heartbeat_timeout) == (60, 60)
    assert (found.resubmit_after, found.life_support) == (3600, 48 * 3600)
    assert found.timeout is None
    assert found.late_data is LateData.REPROCESS
    assert (found.on_failure, found.retry_failed, found.refresh) == (OnFailure.BLOCK, None, 10)
    assert found.is_on is True
    assert found.command is None
    assert found.token == "p"


def test_every_optional_field_is_loaded(project: Path) -> None:
    one(
        project,
        managed(
            "p",
            "daily",
            classname=...,
            command=["run", "--for", "${timeperiod}", "${start}-${end}", "${attempt}", "${site}"],
            arguments={"site": "x"},
            environment=["AWS_PROFILE"],
            token="tok",
            time_grouping=7,
            settle=0,
            max_active=1,
            instances=2,
            max_attempts=1,
            retry_backoff="90s",
            heartbeat_timeout=0.5,
            resubmit_after="2h",
            life_support="7d",
            timeout="20s",
            late_data="mark",
            on_failure="block",
            retry_failed="30m",
            refresh="1m",
            is_on=False,
            state_machine_name="discrete",
            blocking_type="children",
            trigger_frequency="at  5-8:00",
        ),
    )
    assert checked(project).mistakes == ()
    found = process(project)
    assert found.command == (
        "run", "--for", "${timeperiod}", "${start}-${end}", "${attempt}", "${site}",
    )  # fmt: skip
    assert found.environment == ("AWS_PROFILE",)
    assert (found.classname, found.arguments) == (None, {"site": "x"})
    assert (found.time_grouping, found.settle, found.max_active, found.instances) == (7, 0, 1, 2)
    assert (found.max_attempts, found.retry_backoff, found.heartbeat_timeout) == (1, 90, 0.5)
    assert (found.resubmit_after, found.life_support) == (7200, 7 * 86_400)
    assert found.timeout == 20
    assert (found.late_data, found.is_on) == (LateData.MARK, False)
    assert (found.on_failure, found.retry_failed, found.refresh) == (OnFailure.BLOCK, 1800, 60)
    assert found.blocking is Blocking.CHILDREN
    assert found.trigger_frequency == "at 5-08:00"


def test_interim_runs_may_follow_the_trigger(project: Path) -> None:
    one(project, managed("p", "hourly", refresh="trigger"))
    assert process(project).refresh is None


def test_a_daemon_is_loaded_with_its_fields(project: Path) -> None:
    write(project, {"d": daemon("d", instances=2, arguments={"a": 1})}, {})
    assert load(project).processes["d"] == DaemonProcess(
        name="d",
        classname=WORKER,
        token="d",
        present_on_boxes=(".*",),
        instances=2,
        arguments={"a": 1},
    )


@pytest.mark.parametrize(("setting", "is_on"), [("on", True), ("off", False)])
def test_a_process_may_be_on_together_with_the_demo_stream(
    project: Path, setting: str, is_on: bool
) -> None:
    write(project, {"d": daemon("d", is_on="demo_stream")}, {})
    found = checked(project, SYNERGY_DEMO_STREAM=setting)
    assert found.mistakes == ()
    assert found.deployment.processes["d"].is_on is is_on


def test_also_reads_is_loaded_in_order(project: Path) -> None:
    one(project, managed("p", "daily", also_reads=[-1, -7]))
    assert process(project).also_reads == (-7, -1)


def test_a_process_may_skip_failed_periods(project: Path) -> None:
    one(project, managed("p", "hourly", on_failure="skip"))
    assert process(project).on_failure is OnFailure.SKIP


def test_what_a_context_prints_is_not_the_output_of_a_command(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, {"a": daemon("a")}, {}, 'print("a remark")\n')
    assert "a" in load(project).processes
    assert capsys.readouterr() == ("", "a remark\n")
