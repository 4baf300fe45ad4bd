"""No failure is ever green: what fails is seen, what is made from it waits, a retry mends it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.acceptance.kit import kill
from tests.delivery.receivers import answers, receiving

TODAY = datetime.now(UTC)
MONTH = f"{TODAY.replace(day=1) - timedelta(days=1):%Y%m}0000"  # the one that is over
DAY = MONTH[:6] + "1000"
BAD = MONTH[:6] + "1005"
YESTERDAY = f"{TODAY - timedelta(days=1):%Y%m%d}00"


@pytest.fixture
def home(homes, tmp_path):
    home = homes(
        start_timeperiod=MONTH[:6] + "0100",
        context="tests.acceptance.deployments.failing",
        webhook_networks="127.0.0.0/8",
        test_failures=str(tmp_path),
    )
    home.failures = tmp_path
    home.launch("store", "init")
    return home


def write(home, collection, timeperiod, count):
    """So many rows of a period, in one document of each number."""
    with home.store() as store:
        for number in range(count):
            body = {"domain": f"d{number}", "timeperiod": timeperiod, "rows": 1}
            key = (f"d{number}", timeperiod)
            store.documents.update(collection, [key], lambda _key, _old, body=body: body)


def job(home, process, timeperiod):
    """The job as `timetable show` tells it."""
    year = int(timeperiod[:4])
    window = ["--from", f"{year}000000", "--to", f"{year + 1}000000"]
    trees = home.ask("timetable", "show", *window)["trees"]
    (level,) = [level for tree in trees for level in tree["processes"] if level["name"] == process]
    return next(job for job in level["jobs"] if job["timeperiod"] == timeperiod)


def until_in(home, state, process, timeperiod):
    home.until(lambda _: job(home, process, timeperiod)["state"] == state)


def fail(home, process, timeperiod):
    told = home.failures / f"{process}-{timeperiod}"
    told.touch()
    return told


def kill_all_but_the_supervisor(home):
    for pid in home.leaders().values():
        kill(pid)


def kill_all(home):
    kill(home.supervisor())
    kill_all_but_the_supervisor(home)
    home.start()


@pytest.mark.parametrize(
    "trouble", [lambda _home: None, kill_all], ids=["in peace", "with kill -9 of everything"]
)
def test_a_day_of_481_rows_of_which_an_hour_fails(home, trouble):
    told = fail(home, "Hour", BAD)
    for hour in range(24):
        write(home, "raw", f"{DAY[:8]}{hour:02}", 20 + (hour == 7))
    home.start()
    with receiving(answers()) as receiver:
        schedule = home.failures / "told.json"
        hook = f"http://127.0.0.1:{receiver.port}/hook"
        schedule.write_text(
            json.dumps(
                {
                    "name": "told",
                    "target": hook,
                    "payload": "${timeperiod}",
                    "trigger": {"timetable": "Day"},
                }
            )
        )
        home.ask("schedule", "add", schedule, "--enable")

        until_in(home, "failed", "Hour", BAD)
        trouble(home)
        home.wait_for("Hour", f"{DAY[:8]}23")

        ended = home.ask("timetable", "wait", "Month", MONTH, code=1)
        (leaf,) = ended["leaves"]
        assert (leaf["kind"], leaf["process"], leaf["timeperiod"]) == ("failed", "Hour", BAD)
        assert "no such disk" in leaf["text"]
        assert leaf["helps"][0] == f"launch.py timetable retry Hour {BAD}"
        assert job(home, "Day", DAY)["state"] == "embryo"
        assert home.ask("timetable", "audit", code=1)["failed"] == 1
        assert home.report("day") == []
        told.unlink()
        trouble(home)

        home.launch("timetable", "retry", "Hour", BAD, "--reason", "the disk is back")

        trouble(home)
        home.wait_for("Month", MONTH)
        assert [row["rows"] for row in home.report("day")] == [481]
        assert [row["rows"] for row in home.report("month")] == [481]
        assert home.audit()["failed"] == 0
        receiver.wait_for(1)
        runs = home.ask("schedule", "runs", "told")["items"]
        assert [run["state"] for run in runs if run["state"] != "skipped"] == ["processed"]
        assert [call.body for call in receiver.calls] == [DAY.encode()]
    home.story()


def test_a_nightly_command_that_fails_is_seen_until_somebody_decides(home):
    told = [fail(home, process, YESTERDAY) for process in ("Nightly", "Careless")]
    home.start()
    until_in(home, "failed", "Nightly", YESTERDAY)
    home.until(lambda _: job(home, "Careless", YESTERDAY)["reason"])
    assert "no such disk" in job(home, "Careless", YESTERDAY)["reason"]
    found = home.ask("timetable", "audit", code=1)
    assert (found["failed"], found["given_up"]) == (1, 1)

    home.launch("timetable", "skip", "Nightly", YESTERDAY, "--reason", "not needed")
    home.launch("timetable", "acknowledge", "Careless", YESTERDAY, code=2)
    home.launch("timetable", "acknowledge", "Careless", YESTERDAY, "--reason", "known")

    found = home.ask("timetable", "audit")
    assert (found["failed"], found["given_up"], found["acknowledged"]) == (0, 0, 1)
    assert [one["timeperiod"] for one in found["acknowledgements"]] == [YESTERDAY]
    for file in told:
        file.unlink()
    for process in ("Nightly", "Careless"):
        home.launch("timetable", "reprocess", process, YESTERDAY)
        home.wait_for(process, YESTERDAY)
    home.story()


def test_an_open_hour_that_fails_and_recovers_ends_with_all_its_rows(home):
    home.start()
    now = f"{datetime.now(UTC):%Y%m%d%H}"
    told = fail(home, "Stream", now)
    write(home, "events", now, 2)
    until_in(home, "failed", "Stream", now)
    told.unlink()
    write(home, "events", now, 3)

    home.until(lambda _: [row["rows"] for row in home.report("stream")] == [3])

    assert job(home, "Stream", now)["state"] in ("in_progress", "processed")
    home.story()


def test_a_skip_of_the_present_hour_holds_until_a_reprocess(home):
    home.start()
    now = f"{datetime.now(UTC):%Y%m%d%H}"
    day = now[:8] + "00"
    write(home, "raw", now, 1)
    home.launch("timetable", "skip", "Day", day, "--reason", "not today")
    write(home, "raw", now, 2)
    home.until(lambda _: job(home, "Hour", now)["is_stale"])
    assert job(home, "Hour", now)["state"] == job(home, "Day", day)["state"] == "skipped"
    assert home.ask("timetable", "audit", code=None)["unseen"] == 1
    assert "a reprocess brings in" in home.ask("timetable", "why", "Hour", now)["text"]
    home.launch("timetable", "reprocess", "Hour", now)
    assert job(home, "Hour", now)["state"] == job(home, "Day", day)["state"] == "embryo"
    home.story()
