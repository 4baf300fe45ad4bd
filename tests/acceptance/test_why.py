"""`timetable why` names the cause of waiting periods, and the remedies that it offers work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from synergy.model.unit_of_work import UnitState
from tests.acceptance.kit import LIMIT

YESTERDAY = f"{datetime.now(UTC) - timedelta(days=1):%Y%m%d}"
DAY = YESTERDAY + "00"
START, FAILING, AFTER, LAST = (YESTERDAY + hour for hour in ("20", "21", "22", "23"))
TODAY = f"{datetime.now(UTC):%Y%m%d}00"
FIRE = "the disk is on fire"


@pytest.fixture(scope="module")
def waiting(module_homes, tmp_path_factory):
    """Hour 21 of yesterday fails in two processes; all other periods are at rest."""
    failures = tmp_path_factory.mktemp("failures")
    for process in ("InboxHourly", "FlakyHourly"):
        (failures / f"{process}-{FAILING}").write_text(FIRE)
    home = module_homes(
        start_timeperiod=START,
        context="tests.acceptance.deployments.waiting",
        test_failures=str(failures),
    )
    home.start()
    for hour in (START, AFTER, LAST):
        home.wait_for("MailHourly", hour)
        home.wait_for("FlakyHourly", hour)
    home.until_unit("InboxHourly", UnitState.INVALID, FAILING)
    home.until_unit("ElsewhereHourly", UnitState.REQUESTED, START)
    home.failures = failures
    return home


def why(home, process, timeperiod):
    return home.ask("timetable", "why", process, timeperiod)


def leaves(cause):
    return [leaf for c in cause["causes"] for leaf in leaves(c)] or [cause]


def the_leaf(home, process, timeperiod):
    (leaf,) = leaves(why(home, process, timeperiod))
    return leaf


@pytest.mark.parametrize(
    ("process", "timeperiod", "waits_for"),
    [
        ("MailHourly", FAILING, "1 counterpart"),  # another tree
        ("InboxDaily", DAY, "1 child"),
        ("InboxHourly", FAILING, f"exit code 3: {FIRE}"),  # itself
    ],
)
def test_why_finds_a_failing_command_behind_every_period_that_waits_for_it(
    waiting, process, timeperiod, waits_for
):
    assert waits_for in why(waiting, process, timeperiod)["text"]
    leaf = the_leaf(waiting, process, timeperiod)
    unit = waiting.until_unit("InboxHourly", UnitState.INVALID, FAILING)

    assert (leaf["kind"], leaf["process"], leaf["timeperiod"]) == (
        "retrying",
        "InboxHourly",
        FAILING,
    )
    assert f"failed 1 of 3 times: CommandFailed: exit code 3: {FIRE}" in leaf["text"]
    assert f"launch.py unit retry {unit.id}" in leaf["helps"]
    assert f"launch.py unit log {unit.id}" in leaf["helps"]
    lines = waiting.ask("unit", "log", unit.id)["lines"]
    assert FIRE in [line["text"] for line in lines]


@pytest.mark.parametrize(
    ("process", "timeperiod", "kind", "text", "helps"),
    [
        ("SettlingHourly", START, "settling", "settles until ", []),
        (
            "RestingHourly",
            START,
            "switched_off",
            "the process is switched off",
            ["launch.py process on RestingHourly"],
        ),
        (
            "ElsewhereHourly",
            START,
            "waits_for_worker",
            "0 of ElsewhereHourly seen running",
            ["launch.py process start ElsewhereHourly"],
        ),
        ("InboxHourly", START, "finished", "processed at ", []),
    ],
)
def test_why_names_the_cause_and_its_remedy(waiting, process, timeperiod, kind, text, helps):
    leaf = the_leaf(waiting, process, timeperiod)

    assert (leaf["kind"], leaf["process"]) == (kind, process)
    assert text in leaf["text"]
    assert leaf["helps"] == helps


def test_why_says_until_when_a_period_is_open(waiting):
    now = datetime.now(UTC)

    cause = why(waiting, "InboxDaily", f"{now:%Y%m%d}00")

    assert cause["kind"] == "open"
    assert f"is open until {now + timedelta(days=1):%Y-%m-%d} 00:00:00 UTC" in cause["text"]


def test_a_command_that_keeps_failing_ends_failed_with_its_last_error(waiting):
    ended = waiting.ask("timetable", "wait", "FlakyHourly", FAILING, "--timeout", LIMIT, code=1)
    assert (ended["state"], ended["done"], ended["failed"]) == ("failed", False, 1)

    leaf = the_leaf(waiting, "FlakyHourly", FAILING)
    assert f"failed 3 times; last: CommandFailed: exit code 3: {FIRE}" in leaf["text"]
    assert leaf["helps"][0] == f"launch.py timetable retry FlakyHourly {FAILING}"
    (unit,) = [
        unit
        for unit in waiting.ask("unit", "list", "--process", "FlakyHourly")["items"]
        if unit["timeperiod"] == FAILING
    ]
    assert (unit["state"], unit["failures"]) == ("canceled", 3)
    lines = waiting.ask("unit", "log", unit["id"])["lines"]
    assert [line["attempt"] for line in lines if line["text"] == FIRE] == [1, 2, 3]


def test_the_remedies_that_why_offers_work(waiting):
    """Follows the advice for processes on which no other process depends."""
    (waiting.failures / f"FlakyHourly-{FAILING}").unlink(missing_ok=True)
    waiting.ask("timetable", "wait", "FlakyHourly", FAILING, "--timeout", LIMIT, code=None)
    advice = the_leaf(waiting, "FlakyHourly", FAILING)["helps"][0]

    waiting.run(*advice.split()[1:])
    waiting.wait_for("FlakyHourly", FAILING)

    waiting.run("process", "on", "RestingHourly")
    waiting.wait_for("RestingHourly", LAST)


def moved_since(home, seq, event):
    with home.store() as store:
        return {
            (entry.process, entry.first)
            for entry in store.journal.since(seq, 10_000)
            if entry.event == event
        }


def last_seq(home):
    with home.store() as store:
        return store.journal.last_seq()


def assert_as_planned(home, action, process, periods, expected):
    """Runs the action with and without `--dry-run`: both touch exactly the `expected` jobs."""
    event = {"reprocess": "job.started_over", "skip": "job.skipped"}[action]
    before, seq = home.generations(), last_seq(home)
    planned = home.ask("timetable", action, process, periods, "--dry-run")
    assert planned["dry_run"] is True
    assert {(t["process"], t["timeperiod"]) for t in planned["touched"]} == expected
    assert moved_since(home, seq, event) == set()
    assert home.started_over(before) == set()

    done = home.ask("timetable", action, process, periods, "--reason", "a test")

    assert done["touched"] == planned["touched"]
    assert moved_since(home, seq, event) == expected
    qualifiers = {name: p.qualifier for name, p in home.deployment().managed().items()}
    assert home.started_over(before) == {
        (process, qualifiers[process].parse(timeperiod))
        for process, timeperiod in expected
        if action == "reprocess"
    }


def test_a_reprocess_touches_exactly_what_its_dry_run_lists(waiting):
    expected = {(p, hour) for p in ("InboxHourly", "MailHourly") for hour in (AFTER, LAST)}

    assert_as_planned(waiting, "reprocess", "InboxHourly", f"{AFTER}..{TODAY}", expected)

    for process, timeperiod in expected:
        waiting.wait_for(process, timeperiod)
    waiting.check_journal()


def test_a_skip_and_a_reprocess_of_the_skipped_period_work(waiting):
    expected = {("InboxDaily", DAY), ("InboxHourly", FAILING), ("MailHourly", FAILING)}
    assert_as_planned(waiting, "skip", "InboxDaily", DAY, expected)
    assert "skipped at" in the_leaf(waiting, "MailHourly", FAILING)["text"]
    assert "a test" in the_leaf(waiting, "MailHourly", FAILING)["text"]

    (waiting.failures / f"InboxHourly-{FAILING}").unlink()
    assert_as_planned(waiting, "reprocess", "InboxHourly", FAILING, expected)

    for process, timeperiod in expected:
        waiting.wait_for(process, timeperiod)
    waiting.check_journal()
