"""Jobs by REST: lists, and one job with its relatives."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.model.job import JobChange, JobState
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.factories import a_unit
from tests.mx.conftest import client_of
from tests.mx.timetable_kit import NOON, START, hours_days_and_client, move, started

DAY = START


@pytest.fixture
def world(worlds):
    """A timetable of 37 hours since 17 May; nothing has run yet."""
    return started(worlds(hours_days_and_client(), now=NOON))


def named(answer):
    return ", ".join(f"{job['process']} {job['timeperiod']}" for job in answer["items"])


def listed(timeperiod, state, **fields):
    """A job as in lists."""
    known = {"process": "Hour", "timeperiod": timeperiod, "state": state, "cause": None}
    marks = {"generation": 1, "unit": None, "reason": "", "is_stale": False, "is_late": False}
    return {**known, **marks, **fields}


# Lists


def test_jobs_are_listed_by_state(world, client):
    move(world, 0, 9, JobState.PROCESSED)
    move(world, 12, 13, JobState.SKIPPED, why="lost")
    expected = [listed(f"20150517{hour}", "skipped", reason="lost") for hour in (12, 13)]
    answer = client.read("jobs?process=Hour&state=skipped")
    assert answer == {"items": expected, "next": None}


def test_stale_jobs_are_listed_by_state_and_by_mark(world, client):
    move(world, 0, 4, JobState.PROCESSED)
    move(world, 2, 2, JobState.PROCESSED, before=JobState.PROCESSED, stale=True, why="changed")
    assert len(client.read("jobs?process=Hour&state=processed")["items"]) == 5
    stale = client.read("jobs?process=Hour&stale=true")["items"]
    assert stale == [listed("2015051702", "processed", reason="changed", is_stale=True)]
    assert client.read("jobs?process=Hour&stale=true&state=embryo")["items"] == []


def test_a_job_is_late_an_hour_after_it_closed(world, client):
    """An hour closes 5 minutes after its end."""
    move(world, 0, 30, JobState.PROCESSED)
    late = client.read("jobs?process=Hour&late=true")
    assert named(late) == "Hour 2015051807, Hour 2015051808, Hour 2015051809"
    assert all(job["is_late"] for job in late["items"])
    assert client.read("jobs?process=Hour&late=true&state=processed")["items"] == []
    window = client.read("jobs?process=Hour&from=2015051806&to=2015051811")["items"]
    assert [job["is_late"] for job in window] == [False, True, True, True, False]


def test_a_window_holds_the_periods_that_overlap_it_page_by_page(client):
    query = "jobs?from=2015051723&to=2015051801&limit=4"
    first = client.read(query)
    assert named(first) == "Day 2015051700, Day 2015051800, Hour 2015051723, Hour 2015051800"
    second = client.read(f"{query}&cursor={first['next']}")
    assert named(second) == "Client 2015051700, Client 2015051800"
    assert second["next"] is None


def test_the_next_page_begins_after_the_last_although_jobs_changed(world, client):
    first = client.read("jobs?process=Hour&state=embryo&limit=3")
    assert named(first).endswith("Hour 2015051702")
    move(world, 0, 4, JobState.PROCESSED)
    second = client.read(f"jobs?process=Hour&state=embryo&limit=2&cursor={first['next']}")
    assert named(second) == "Hour 2015051705, Hour 2015051706"


def test_periods_may_be_written_as_dates(client):
    assert named(client.read("jobs?process=Hour&from=2015-05-17T23&to=2015-05-18%2001:00Z")) == (
        "Hour 2015051723, Hour 2015051800"
    )
    assert client.read("jobs/Day/2015-05-17")["job"]["timeperiod"] == "2015051700"
    assert client.read("jobs/Hour/2015-05-17T03:00Z/why")["timeperiod"] == "2015051703"
    assert "/jobs/Day/2015051800" in client.page("/jobs/Day/2015-05-17")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("jobs?process=Nobody", 404),
        ("jobs?state=done", 422),
        ("jobs?from=tomorrow", 422),
        ("jobs?from=2015051702&to=2015051702", 422),
        ("jobs?cursor=Hour.2014010100", 422),
        ("jobs?cursor=Nobody.2015051700", 422),
        ("jobs?process=Day&cursor=Hour.2015051700", 422),
        *(
            (f"jobs/{job}{end}", status)
            for end in ("", "/why")
            for job, status in (
                ("Nobody/2015051700", 404),
                ("Hour/2014010100", 404),
                ("Hour/2030010100", 404),
                ("Day/2015051703", 422),
                ("Hour/2015051799", 422),
                ("Hour/yesterday", 422),
                ("Hour/2015-05-17", 422),
                ("Day/2015-05-17T03", 422),
            )
        ),
    ],
)
def test_invalid_queries_and_unknown_jobs_are_refused(client, path, status):
    client.read(path, status)


# One job


def test_a_job_is_shown_with_its_bounds_data_units_and_journal(world, client):
    for hour in (3, 4):
        world.write("raw", f"20150517{hour:02}", 5)
    world.settle()
    found = client.read(f"jobs/Day/{DAY}")
    (unit,) = found.pop("units")
    assert unit["state"] == "processed"
    assert found["job"] == listed(DAY, "processed", process="Day", unit=unit["id"])
    shown = [found[name] for name in ("tree", "qualifier", "begins_at", "ends_at", "closes_at")]
    assert shown == [
        "site", "daily", "2015-05-17T00:00:00Z", "2015-05-18T00:00:00Z", "2015-05-18T00:05:00Z",
    ]  # fmt: skip
    span = [["2015051700", "2015051800"]]
    assert found["source"] == {"name": "hour", "ranges": span, "rows": 2}
    assert found["sink"] == {"name": "day", "ranges": span, "rows": 1}
    outlook = found["outlook"]
    assert (outlook.pop("finished"), outlook.pop("total")) == (25, 25)  # the day and its hours
    assert outlook == {"is_settled": True, "events_waiting": 0, "late_data": None}
    story = [entry["event"] for entry in found["story"]]
    assert story[0] == "job.processed"
    assert "unit.requested" in story


def test_a_job_shows_its_newest_32_units_and_that_there_are_older_ones(world, client):
    units = [a_unit("Hour", DAY, id=f"u{n}", generation=n) for n in range(1, 36)]
    world.store.units.create(units, "scheduler")
    found = client.read(f"jobs/Hour/{DAY}")
    assert [unit["id"] for unit in found["units"]] == [f"u{n}" for n in range(35, 3, -1)]
    assert found["has_older_units"] is True
    page = client.page(f"/jobs/Hour/{DAY}")
    assert '/units/u4"' in page
    assert '/units/u3"' not in page
    assert "These are the newest 32" in page


def test_the_process_that_finished_a_job_is_named_by_host_and_pid(world, client):
    who = "scheduler vm/8f1a5f6f-2e27-48f5-b15b-1588448dfb73/7610/2104194/482ea14f8e24"
    hour = HOURLY.parse(START)
    done = JobChange(
        "Hour", HOURLY, hour, hour, JobState.EMBRYO, JobState.NOOP, 1, "nothing there", who
    )
    assert not world.store.jobs.move([done], world.clock.now())
    text = client.read("jobs/Hour/2015051700/why")["text"]
    assert text == "noop at 2015-05-18 12:00:00 UTC: nothing there (scheduler on vm, pid 7610)"


def brief(related):
    return [(each["relation"], each["process"], each["first"], each["last"]) for each in related]


def test_a_job_names_its_inputs_and_outputs(world, client):
    move(world, 0, 1, JobState.PROCESSED)
    move(world, 1, 1, JobState.PROCESSED, before=JobState.PROCESSED, stale=True)
    jobs = (f"Day/{DAY}", f"Client/{DAY}", f"Hour/{DAY}")
    day, client_day, hour = (client.read(f"jobs/{job}") for job in jobs)
    assert brief(day["inputs"]) == [("child", "Hour", "2015051700", "2015051723")]
    (children,) = day["inputs"]
    assert (children["tree"], children["counts"]) == ("site", {"processed": 2, "embryo": 22})
    assert len(children["jobs"]) == 24
    shown = [(job["timeperiod"], job["state"], job["is_stale"]) for job in children["jobs"][:3]]
    assert shown == [
        ("2015051700", "processed", False),
        ("2015051701", "processed", True),
        ("2015051702", "embryo", False),
    ]
    assert brief(day["outputs"]) == [("dependant", "Client", DAY, DAY)]
    assert brief(client_day["inputs"]) == [("counterpart", "Day", DAY, DAY)]
    assert client_day["outputs"] == hour["inputs"] == []
    assert brief(hour["outputs"]) == [("parent", "Day", DAY, DAY)]


def test_relatives_outside_the_timetable_have_no_state(worlds):
    """The process reads the day before as well, and the timetable has just begun."""
    day, alert = a_process("Day", DAILY), a_process("Alert", DAILY, also_reads=(-1,))
    deployment = a_deployment({"site": [day], "alert": [alert]}, {"alert": ("site",)})
    client = client_of(started(worlds(deployment, now=datetime(2015, 5, 19, 12, tzinfo=UTC))))

    def periods(path, side):
        (related,) = client.read(f"jobs/{path}")[side]
        return [(job["timeperiod"], job["state"]) for job in related["jobs"]]

    assert periods(f"Alert/{DAY}", "inputs") == [(DAY, "embryo")]
    assert periods("Alert/2015051800", "inputs") == [(DAY, "embryo"), ("2015051800", "embryo")]
    reading = [("2015051900", "embryo"), ("2015052000", None)]  # the last has not begun
    assert periods("Day/2015051900", "outputs") == reading


def test_a_grouped_period_leads_to_its_checkpoint(worlds):
    """Every 6 hours, at 06, 12, 18 and the last, one job sums up those before."""
    day, hour = a_process("Day", DAILY), a_process("Hour", HOURLY, time_grouping=6)
    client = client_of(started(worlds(a_deployment({"site": [day, hour]}))))
    outputs = brief(client.read("jobs/Hour/2015051704")["outputs"])
    assert [each[:3] for each in outputs] == [
        ("checkpoint", "Hour", "2015051706"),
        ("parent", "Day", DAY),
    ]
