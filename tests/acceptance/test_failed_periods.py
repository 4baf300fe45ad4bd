"""Failed periods are visible, periods that depend on them wait, and a retry repairs them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from synergy.model.schedule import RunState
from tests.acceptance import inside
from tests.acceptance.kit import kill
from tests.delivery.receivers import answers, receiving

TODAY = datetime.now(UTC)
LAST = TODAY.replace(day=1) - timedelta(days=1)
MONTH = f"{LAST:%Y%m}0000"  # the previous month
FIRST_DAY, LAST_DAY = (f"{LAST - timedelta(days=days):%Y%m%d}00" for days in (1, 0))
YESTERDAY = f"{TODAY - timedelta(days=1):%Y%m%d}00"


def a_home(make, failures, start, context="failing"):
    """A home that is not started yet; periods fail while their file exists."""
    home = make(
        start_timeperiod=start,
        context=f"tests.acceptance.deployments.{context}",
        webhook_networks="127.0.0.0/8",
        test_failures=str(failures),
        test_short_limits="1",
    )
    home.failures = failures
    inside.run(home, "store", "init")
    return home


@pytest.fixture(scope="module")
def home(module_homes, tmp_path_factory):
    """A running home with yesterday, whose nightly commands fail, and today."""
    home = a_home(module_homes, tmp_path_factory.mktemp("failures"), YESTERDAY)
    home.nightly = [fail(home, process, YESTERDAY) for process in ("Nightly", "Careless")]
    home.start()
    return home


def write(home, collection, timeperiod, count):
    """Writes `count` rows of a period, each with its own key."""
    keys = [(f"d{number}", timeperiod) for number in range(count)]
    with home.store() as store:
        store.documents.update(
            collection,
            keys,
            lambda domain, _old: {"domain": domain, "timeperiod": timeperiod, "rows": 1},
        )
        with home.bus(store) as bus:
            bus.notify("scheduler")


def job(home, process, timeperiod):
    """The job in the output of `timetable show`."""
    year = int(timeperiod[:4])
    window = ["--from", f"{year}000000", "--to", f"{year + 1}000000"]
    trees = inside.ask(home, "timetable", "show", *window)["trees"]
    (level,) = [level for tree in trees for level in tree["processes"] if level["name"] == process]
    return next(job for job in level["jobs"] if job["timeperiod"] == timeperiod)


def until_in(home, state, process, timeperiod):
    home.until(lambda _: job(home, process, timeperiod)["state"] == state)


def fail(home, process, timeperiod):
    """Lets the period fail while the file that this returns exists."""
    file = home.failures / f"{process}-{timeperiod}"
    file.touch()
    return file


def kill_all(home):
    """kill -9 of all processes, then a new start."""
    for pid in (home.supervisor(), *home.leaders().values()):
        kill(pid)
    home.start()


def kill_each(home, *processes):
    """kill -9 of these processes, which the supervisor restarts."""
    slots = [f"{process}/1" for process in processes]
    leaders = home.until_all_run(*slots)
    for slot in slots:
        kill(leaders[slot])


def test_failed_hours_hold_back_days_and_a_retry_completes_them(homes, tmp_path):
    """One day is repaired undisturbed, the other with kill -9 of all processes at each step."""
    home = a_home(homes, tmp_path, FIRST_DAY, "summing")
    bad = {day: f"{day[:8]}05" for day in (FIRST_DAY, LAST_DAY)}
    failures = {day: fail(home, "Hour", hour) for day, hour in bad.items()}
    for day in bad:
        for hour in range(24):
            write(home, "raw", f"{day[:8]}{hour:02}", 20 + (hour == 7))
    home.start()
    with receiving(answers()) as receiver:
        add_hook(home, receiver)
        for day, hour in bad.items():
            until_in(home, "failed", "Hour", hour)
            inside.wait_for(home, "Hour", f"{day[:8]}23")
        assert_fails(home, FIRST_DAY, bad[FIRST_DAY])
        assert {leaf["timeperiod"] for leaf in leaves(home, "Month", MONTH)} == set(bad.values())
        assert inside.ask(home, "timetable", "audit", code=1)["failed"] == 2
        assert sums(home, "day") == {}

        failures[FIRST_DAY].unlink()
        inside.run(
            home, "timetable", "retry", "Hour", bad[FIRST_DAY], "--reason", "the disk is back"
        )
        inside.wait_for(home, "Day", FIRST_DAY)
        home.until(lambda store: notified_days(store) == 1)

        kill_all(home)
        assert_fails(home, LAST_DAY, bad[LAST_DAY])
        assert [leaf["timeperiod"] for leaf in leaves(home, "Month", MONTH)] == [bad[LAST_DAY]]
        assert inside.ask(home, "timetable", "audit", code=1)["failed"] == 1
        assert sums(home, "day") == {FIRST_DAY: 481}

        failures[LAST_DAY].unlink()
        inside.run(
            home, "timetable", "retry", "Hour", bad[LAST_DAY], "--reason", "the disk is back"
        )
        kill_all(home)
        inside.wait_for(home, "Month", MONTH)
        assert sums(home, "day") == {FIRST_DAY: 481, LAST_DAY: 481}
        assert sums(home, "month") == {MONTH: 962}
        assert home.audit()["failed"] == 0
        home.until(lambda store: notified_days(store) == 2)
        calls = {(call.headers["idempotency-key"], call.body) for call in receiver.calls}
        assert sorted(body for _, body in calls) == [FIRST_DAY.encode(), LAST_DAY.encode()]
    home.check_journal()


def add_hook(home, receiver):
    """Adds a schedule that calls the receiver for each processed day."""
    hook = {
        "name": "told",
        "target": f"http://127.0.0.1:{receiver.port}/hook",
        "payload": "${timeperiod}",
        "trigger": {"timetable": "Day"},
    }
    file = home.failures / "told.json"
    file.write_text(json.dumps(hook))
    inside.run(home, "schedule", "add", file, "--enable")


def leaves(home, process, timeperiod):
    """The causes for which the job cannot be done."""
    return inside.wait_for(home, process, timeperiod, code=1)["leaves"]


def notified_days(store):
    """The number of processed runs of the schedule; None while one is unfinished."""
    runs, _ = store.runs.find(schedule="told", limit=1000)
    states = Counter(run.state for run in runs)
    done, skipped = states[RunState.PROCESSED], states[RunState.SKIPPED]
    return done if done + skipped == len(runs) else None


def assert_fails(home, day, hour):
    """The day waits for its failed hour, and the cause names the remedy."""
    (leaf,) = leaves(home, "Day", day)
    assert (leaf["kind"], leaf["process"], leaf["timeperiod"]) == ("failed", "Hour", hour)
    assert "no such disk" in leaf["text"]
    assert leaf["helps"][0] == f"launch.py timetable retry Hour {hour}"
    assert job(home, "Day", day)["state"] == "embryo"


def sums(home, collection):
    with home.store() as store:
        rows = list(store.documents.read(collection, "", ""))
    return {row["timeperiod"]: row["rows"] for row in rows}


def test_a_failed_nightly_command_stays_visible_until_a_decision(home):
    until_in(home, "failed", "Nightly", YESTERDAY)
    home.until(lambda _: job(home, "Careless", YESTERDAY)["reason"])
    assert "no such disk" in job(home, "Careless", YESTERDAY)["reason"]
    found = inside.ask(home, "timetable", "audit", code=1)
    assert (found["failed"], found["given_up"]) == (1, 1)

    inside.run(home, "timetable", "skip", "Nightly", YESTERDAY, "--reason", "not needed")
    inside.run(home, "timetable", "acknowledge", "Careless", YESTERDAY, code=2)
    acknowledge = ("timetable", "acknowledge", "Careless", YESTERDAY, "--reason", "known")
    inside.run(home, *acknowledge)

    found = inside.ask(home, "timetable", "audit")
    assert (found["failed"], found["given_up"], found["acknowledged"]) == (0, 0, 1)
    assert [one["timeperiod"] for one in found["acknowledgements"]] == [YESTERDAY]
    for file in home.nightly:
        file.unlink()
    for process in ("Nightly", "Careless"):
        inside.run(home, "timetable", "reprocess", process, YESTERDAY)
        inside.wait_for(home, process, YESTERDAY)
    home.check_journal()


def test_an_open_hour_that_fails_and_recovers_ends_with_all_its_rows(home):
    now = f"{datetime.now(UTC):%Y%m%d%H}"
    failure = fail(home, "Stream", now)
    write(home, "events", now, 2)
    until_in(home, "failed", "Stream", now)
    kill_each(home, "Scheduler", "Stream")
    failure.unlink()
    write(home, "events", now, 3)
    kill_each(home, "Scheduler")

    home.until(lambda _: sums(home, "stream") == {now: 3})

    assert job(home, "Stream", now)["state"] in ("in_progress", "processed")
    home.check_journal()


def test_a_skip_of_the_current_hour_holds_until_a_reprocess(home):
    now = f"{datetime.now(UTC):%Y%m%d%H}"
    day = now[:8] + "00"
    write(home, "raw", now, 1)
    inside.run(home, "timetable", "skip", "Day", day, "--reason", "not today")
    kill_each(home, "Scheduler", "Hour")
    write(home, "raw", now, 2)
    home.until(lambda _: job(home, "Hour", now)["is_stale"])
    assert job(home, "Hour", now)["state"] == job(home, "Day", day)["state"] == "skipped"
    assert inside.ask(home, "timetable", "audit", code=None)["unseen"] == 1
    assert "a reprocess brings in" in inside.ask(home, "timetable", "why", "Hour", now)["text"]
    inside.run(home, "timetable", "reprocess", "Hour", now)
    assert job(home, "Hour", now)["state"] == job(home, "Day", day)["state"] == "embryo"
    home.check_journal()
