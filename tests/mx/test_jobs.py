"""Jobs: found, looked at, explained, started over and skipped."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.model.job import JobMove, JobState
from synergy.model.process import Blocking
from synergy.mx.api import jobs as module
from synergy.names import TIMETABLE_START
from synergy.timeperiod import Qualifier
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.factories import a_unit
from tests.mx.conftest import client_of
from tests.service.scheduler_harness import OPERATOR

FIRST = Qualifier.HOURLY.parse("2015051700")
DAY = "2015051700"


def a_deployment_with_data(**hourly):
    """Hours of a source are summed up by days; another tree reads the days."""
    day = a_process("Day", DAILY, source="hour", sink="day")
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", **hourly)
    client = a_process("Client", DAILY, source="day", sink="client", blocking=Blocking.DEPENDENCIES)
    return a_deployment({"site": [day, hour], "client": [client]}, {"client": ("site",)})


@pytest.fixture
def world(worlds):
    """It begins on 17 May; now is 12:00 on the 18th. Nothing has run yet."""
    world = worlds(a_deployment_with_data(), now=datetime(2015, 5, 18, 12, 0, tzinfo=UTC))
    world.store.facts.set(TIMETABLE_START, DAY)
    return world


def move(world, first, last, after, *, before=JobState.EMBRYO, why="", **fields):
    """Moves hours, numbered from the timetable's start."""
    moves = [
        JobMove("Hour", HOURLY, FIRST + first, FIRST + last, before, after, 1, why, "t", **fields)
    ]
    assert not world.store.jobs.move(moves, world.clock.now())


def get(client, path, status=200):
    answer = client.get(f"/api/v1/{path}")
    assert answer.status_code == status, answer.text
    return answer.json()


def post(client, path, body, status=200):
    answer = client.post(f"/api/v1/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def named(answer):
    return [f"{job['process']} {job['timeperiod']}" for job in answer["items"]]


# Lists


def test_jobs_are_found_by_state(world, client):
    move(world, 0, 9, JobState.PROCESSED)
    move(world, 12, 13, JobState.SKIPPED, why="lost")
    found = get(client, "jobs?process=Hour&state=skipped")
    assert found == {
        "items": [
            {
                "process": "Hour",
                "timeperiod": timeperiod,
                "state": "skipped",
                "cause": None,
                "generation": 1,
                "unit": None,
                "reason": "lost",
                "is_stale": False,
                "is_late": False,
            }
            for timeperiod in ("2015051712", "2015051713")
        ],
        "next": None,
    }


def test_a_stale_job_is_found_by_its_state_and_by_its_mark(world, client):
    move(world, 0, 4, JobState.PROCESSED)
    move(world, 2, 2, JobState.PROCESSED, before=JobState.PROCESSED, stale=True, why="changed")
    assert len(get(client, "jobs?process=Hour&state=processed")["items"]) == 5
    (stale,) = get(client, "jobs?process=Hour&stale=true")["items"]
    assert (stale["timeperiod"], stale["is_stale"], stale["reason"]) == (
        "2015051702",
        True,
        "changed",
    )
    assert get(client, "jobs?process=Hour&stale=true&state=embryo")["items"] == []


def test_late_jobs_are_those_that_closed_more_than_an_hour_ago(world, client):
    """An hour closes 5 minutes after its end."""
    move(world, 0, 30, JobState.PROCESSED)
    late = get(client, "jobs?process=Hour&late=true")
    assert named(late) == ["Hour 2015051807", "Hour 2015051808", "Hour 2015051809"]
    assert all(job["is_late"] for job in late["items"])
    assert get(client, "jobs?process=Hour&late=true&state=processed")["items"] == []
    listed = get(client, "jobs?process=Hour&from=2015051806&to=2015051811")["items"]
    assert [job["is_late"] for job in listed] == [False, True, True, True, False]


def test_a_window_picks_the_periods_that_overlap_it(client):
    found = get(client, "jobs?from=2015051723&to=2015051801")
    assert named(found) == [
        "Day 2015051700",
        "Day 2015051800",
        "Hour 2015051723",
        "Hour 2015051800",
        "Client 2015051700",
        "Client 2015051800",
    ]


def test_lists_come_in_pages(client):
    query = "jobs?from=2015051723&to=2015051801&limit=4"
    first = get(client, query)
    assert named(first) == [
        "Day 2015051700",
        "Day 2015051800",
        "Hour 2015051723",
        "Hour 2015051800",
    ]
    second = get(client, f"{query}&cursor={first['next']}")
    assert named(second) == ["Client 2015051700", "Client 2015051800"]
    assert second["next"] is None


def test_a_page_goes_on_where_the_one_before_ended_though_jobs_changed(world, client):
    first = get(client, "jobs?process=Hour&state=embryo&limit=3")
    assert named(first)[-1] == "Hour 2015051702"
    move(world, 0, 4, JobState.PROCESSED)
    second = get(client, f"jobs?process=Hour&state=embryo&limit=2&cursor={first['next']}")
    assert named(second) == ["Hour 2015051705", "Hour 2015051706"]


def test_the_newest_unit_of_each_job_is_named(world, client):
    world.write("raw", "2015051703", 5)
    world.settle()
    jobs = get(client, "jobs?process=Hour&from=2015051703&to=2015051704")["items"]
    (unit,) = world.units("Hour", "2015051703")
    assert [(job["state"], job["unit"]) for job in jobs] == [("processed", unit.id)]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("process=Nobody", 404),
        ("state=done", 422),
        ("from=tomorrow", 422),
        ("from=2015051702&to=2015051702", 422),
        ("limit=0", 422),
        ("limit=1001", 422),
        ("cursor=7", 422),
        ("cursor=Hour.2014010100", 422),
        ("cursor=Nobody.2015051700", 422),
        ("process=Day&cursor=Hour.2015051700", 422),
    ],
)
def test_what_cannot_be_listed_is_said(client, query, status):
    get(client, f"jobs?{query}", status)


# One job


def test_a_job_is_shown_with_all_that_belongs_to_it(world, client):
    for hour in (3, 4):
        world.write("raw", f"20150517{hour:02}", 5)
    world.settle()
    found = get(client, f"jobs/Day/{DAY}")
    assert found["job"] == {
        "process": "Day",
        "timeperiod": DAY,
        "state": "processed",
        "cause": None,
        "generation": 1,
        "unit": world.units("Day", DAY)[0].id,
        "reason": "",
        "is_stale": False,
        "is_late": False,
    }
    assert (found["tree"], found["qualifier"]) == ("site", "daily")
    assert found["begins_at"] == "2015-05-17T00:00:00Z"
    assert found["ends_at"] == "2015-05-18T00:00:00Z"
    assert found["closes_at"] == "2015-05-18T00:05:00Z"
    span = [["2015051700", "2015051800"]]
    assert found["source"] == {"name": "hour", "ranges": span, "rows": 2}
    assert found["sink"] == {"name": "day", "ranges": span, "rows": 1}
    assert found["outlook"] == {
        "is_settled": True,
        "finished": 25,  # the day and its 24 hours
        "total": 25,
        "events_waiting": 0,
        "late_data": None,
    }
    assert [unit["state"] for unit in found["units"]] == ["processed"]
    story = [entry["event"] for entry in found["story"]]
    assert story[0] == "job.processed"
    assert "unit.requested" in story


def test_of_many_units_a_job_shows_the_newest_and_says_that_there_are_others(world, client):
    units = [a_unit("Hour", DAY, id=f"u{n}", generation=n) for n in range(1, 36)]
    world.store.units.create(units, "scheduler")
    found = get(client, f"jobs/Hour/{DAY}")
    assert [unit["id"] for unit in found["units"]] == [f"u{n}" for n in range(35, 3, -1)]
    assert found["has_older_units"] is True
    page = client.get(f"/jobs/Hour/{DAY}").text
    assert '/units/u4"' in page
    assert '/units/u3"' not in page
    assert "the newest 32 are shown" in page


def test_who_finished_a_job_is_named_by_host_and_pid(world, client):
    who = "scheduler vm/8f1a5f6f-2e27-48f5-b15b-1588448dfb73/7610/2104194/482ea14f8e24"
    done = JobMove(
        "Hour", HOURLY, FIRST, FIRST, JobState.EMBRYO, JobState.NOOP, 1, "nothing there", who
    )
    assert not world.store.jobs.move([done], world.clock.now())
    text = get(client, "jobs/Hour/2015051700/why")["text"]
    assert text == "noop at 2015-05-18 12:00:00 UTC: nothing there (scheduler on vm, pid 7610)"


def test_a_job_names_what_it_is_made_from_and_what_is_made_from_it(world, client):
    move(world, 0, 1, JobState.PROCESSED)
    move(world, 1, 1, JobState.PROCESSED, before=JobState.PROCESSED, stale=True)
    day, client_day, hour = (
        get(client, f"jobs/{name}") for name in (f"Day/{DAY}", f"Client/{DAY}", f"Hour/{DAY}")
    )
    (children,) = day["inputs"]
    shown = children.pop("jobs")
    assert children == {
        "relation": "child",
        "process": "Hour",
        "tree": "site",
        "first": "2015051700",
        "last": "2015051723",
        "counts": {"processed": 2, "embryo": 22},
    }
    assert len(shown) == 24
    assert [(job["timeperiod"], job["state"], job["is_stale"]) for job in shown[:3]] == [
        ("2015051700", "processed", False),
        ("2015051701", "processed", True),
        ("2015051702", "embryo", False),
    ]

    def brief(related):
        return [(r["relation"], r["process"], r["first"], r["last"]) for r in related]

    assert brief(day["outputs"]) == [("dependant", "Client", DAY, DAY)]
    assert brief(client_day["inputs"]) == [("counterpart", "Day", DAY, DAY)]
    assert client_day["outputs"] == []
    assert hour["inputs"] == []
    assert brief(hour["outputs"]) == [("parent", "Day", DAY, DAY)]


def test_an_input_that_there_is_not_has_no_state(worlds):
    """A process that reads the week before as well, at the timetable's beginning."""
    day = a_process("Day", DAILY)
    alert = a_process("Alert", DAILY, also_reads=(-1,))
    world = worlds(
        a_deployment({"site": [day], "alert": [alert]}, {"alert": ("site",)}),
        now=datetime(2015, 5, 19, 12, 0, tzinfo=UTC),
    )
    world.store.facts.set(TIMETABLE_START, DAY)
    with client_of(world) as client:
        (first,) = get(client, f"jobs/Alert/{DAY}")["inputs"]
        (second,) = get(client, "jobs/Alert/2015051800")["inputs"]
        outputs = get(client, "jobs/Day/2015051900")["outputs"]
    # What lies before the timetable's start is not asked for.
    assert [job["timeperiod"] for job in first["jobs"]] == [DAY]
    assert [job["timeperiod"] for job in second["jobs"]] == [DAY, "2015051800"]
    # Of what reads the newest day, the job of the day after has not begun.
    assert [(job["timeperiod"], job["state"]) for job in outputs[0]["jobs"]] == [
        ("2015051900", "embryo"),
        ("2015052000", None),
    ]


def test_periods_of_a_group_go_to_their_checkpoint(worlds):
    """Every 6 hours, at 06, 12, 18 and the last, one job sums up those before."""
    day, hour = a_process("Day", DAILY), a_process("Hour", HOURLY, time_grouping=6)
    world = worlds(a_deployment({"site": [day, hour]}))
    world.store.facts.set(TIMETABLE_START, DAY)
    with client_of(world) as client:
        outputs = get(client, "jobs/Hour/2015051704")["outputs"]
    assert [(r["relation"], r["process"], r["first"]) for r in outputs] == [
        ("checkpoint", "Hour", "2015051706"),
        ("parent", "Day", DAY),
    ]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("Nobody/2015051700", 404),
        ("Hour/2014010100", 404),
        ("Hour/2030010100", 404),
        ("Day/2015051703", 422),
        ("Hour/2015051799", 422),
        ("Hour/yesterday", 422),
    ],
)
def test_a_job_that_there_is_not_is_said(client, path, status):
    get(client, f"jobs/{path}", status)
    get(client, f"jobs/{path}/why", status)


# Why


def leaf_of(cause):
    while cause["causes"]:
        cause = cause["causes"][0]
    return cause


def test_why_goes_down_to_the_leaf_and_offers_what_helps(world, client):
    world.process_commands.switch("Hour", False, OPERATOR, world.clock.now())
    world.schedule()
    cause = get(client, f"jobs/Client/{DAY}/why")
    assert (cause["kind"], cause["process"], cause["state"]) == ("blocked", "Client", "embryo")
    assert cause["helps"] == []
    assert cause["causes"][0]["process"] == "Day"
    leaf = leaf_of(cause)
    assert (leaf["kind"], leaf["process"]) == ("switched_off", "Hour")
    assert leaf["helps"] == [
        {
            "command": "launch.py process on Hour",
            "label": "Switch the process on",
            "method": "PATCH",
            "path": "/api/v1/processes/Hour",
            "body": {"is_on": True},
        }
    ]


def test_without_a_scheduler_only_commands_help(client):
    leaf = leaf_of(get(client, "jobs/Hour/2015051700/why"))
    assert leaf["kind"] == "no_scheduler"
    assert [(h["command"], h["method"], h["path"]) for h in leaf["helps"]] == [
        ("launch.py supervisor status", None, None),
        ("launch.py supervisor start", None, None),
    ]


def test_of_a_unit_that_failed_the_log_is_shown_and_it_is_tried_again_or_skipped(world, client):
    def fails(_task):
        raise ValueError("broken")

    world.write("raw", "2015051700", 1)
    world.schedule()
    world.work("Hour", work=fails)
    world.schedule()
    (unit,) = world.units("Hour", "2015051700")
    cause = get(client, "jobs/Hour/2015051700/why")
    assert cause["kind"] == "retrying"
    assert [(h["command"], h["method"], h["path"], h["body"]) for h in cause["helps"]] == [
        (f"launch.py unit log {unit.id}", "GET", f"/api/v1/units/{unit.id}/log", None),
        (f"launch.py unit retry {unit.id}", "POST", f"/api/v1/units/{unit.id}/retry", {}),
        (
            "launch.py timetable skip Hour 2015051700",
            "POST",
            "/api/v1/jobs/skip",
            {"process": "Hour", "from": "2015051700"},
        ),
    ]


def test_a_worker_is_started_on_a_box_where_it_is_switched_off(world, client):
    now = world.clock.now()
    world.write("raw", "2015051700", 1)
    world.schedule()
    (help_,) = get(client, "jobs/Hour/2015051700/why")["helps"]
    assert help_["command"] == "launch.py process start Hour"
    assert help_["method"] is None  # it is assigned to no box
    world.store.boxes.assign("box a", ["Hour", "Day"])
    world.store.boxes.switch("box a", "Hour", False, "t", now)
    world.store.boxes.report("box a", [], now)
    (help_,) = get(client, "jobs/Hour/2015051700/why")["helps"]
    assert (help_["command"], help_["method"], help_["path"], help_["body"]) == (
        "launch.py process start Hour",
        "PUT",
        "/api/v1/boxes/box%20a/processes/Hour",
        {"is_on": True},
    )


def test_what_was_skipped_can_be_started_over(world, client):
    move(world, 0, 0, JobState.SKIPPED, why="lost")
    (help_,) = get(client, "jobs/Hour/2015051700/why")["helps"]
    assert (help_["method"], help_["path"], help_["body"]) == (
        "POST",
        "/api/v1/jobs/reprocess",
        {"process": "Hour", "from": "2015051700"},
    )
    answer = client.request(help_["method"], help_["path"], json=help_["body"])
    assert answer.status_code == 200
    assert world.state("Hour", "2015051700") is JobState.EMBRYO


# Reprocess and skip


def touched(answer):
    return [(job["process"], job["timeperiod"]) for job in answer["touched"]]


@pytest.fixture
def done(world):
    """All 37 hours that there are, the first day, and what was made from it, are done."""
    world.clock.advance(2 * 3600)
    world.settle()
    assert world.state("Client", DAY) is JobState.NOOP
    return world


def test_a_dry_run_says_what_would_be_touched_and_touches_nothing(done, client):
    before = done.store.journal.last_seq()
    answer = post(
        client, "jobs/reprocess", {"process": "Hour", "from": "2015051703", "dry_run": True}
    )
    job = {"before": "noop", "after": "embryo", "generation": 2}
    assert answer == {
        "dry_run": True,
        "count": 3,
        "processes": {"Hour": 1, "Day": 1, "Client": 1},
        "touched": [
            {"process": "Hour", "timeperiod": "2015051703", **job},
            {"process": "Day", "timeperiod": DAY, **job},
            {"process": "Client", "timeperiod": DAY, **job},
        ],
    }
    assert done.store.journal.last_seq() == before


def test_a_range_is_started_over_without_its_end(done, client):
    body = {"process": "Hour", "from": "2015051703", "to": "2015051706", "reason": "again"}
    answer = post(client, "jobs/reprocess", body)
    assert (answer["dry_run"], answer["count"]) == (False, 5)
    assert set(touched(answer)) == {
        *(("Hour", f"20150517{hour:02}") for hour in (3, 4, 5)),
        ("Day", DAY),
        ("Client", DAY),
    }
    generations = [done.generation("Hour", f"20150517{hour:02}") for hour in range(2, 7)]
    assert generations == [1, 2, 2, 2, 1]
    entry = done.store.journal.of_job("Hour", "2015051703")[0]
    assert (entry.event, entry.why, entry.who) == ("job.started_over", "again", "local (mx)")


def test_jobs_are_named_one_by_one_as_well(done, client):
    jobs = [
        {"process": "Hour", "timeperiod": "2015051703"},
        {"process": "Client", "timeperiod": DAY},
        {"process": "Hour", "timeperiod": "2015051703"},
    ]
    answer = post(client, "jobs/reprocess", {"jobs": jobs})
    assert set(touched(answer)) == {("Hour", "2015051703"), ("Day", DAY), ("Client", DAY)}
    assert answer["count"] == 3


def test_a_skip_takes_what_is_not_finished(world, client):
    move(world, 0, 20, JobState.PROCESSED)
    answer = post(client, "jobs/skip", {"process": "Day", "from": DAY, "reason": "lost"})
    assert set(touched(answer)) == {
        ("Day", DAY),
        ("Client", DAY),
        *(("Hour", f"20150517{hour:02}") for hour in (21, 22, 23)),
    }
    assert {job["after"] for job in answer["touched"]} == {"skipped"}
    assert world.state("Day", DAY) is JobState.SKIPPED
    assert world.state("Hour", "2015051720") is JobState.PROCESSED


def test_of_very_many_jobs_the_first_are_named_and_all_are_counted(done, client, monkeypatch):
    monkeypatch.setattr(module, "NAMED", 2)
    body = {"process": "Hour", "from": "2015051700", "to": "2015051800"}
    answer = post(client, "jobs/reprocess", {**body, "dry_run": True})
    assert (answer["count"], len(answer["touched"])) == (26, 2)
    assert answer["processes"] == {"Hour": 24, "Day": 1, "Client": 1}
    answer = post(client, "jobs/reprocess", body)
    assert (answer["count"], len(answer["touched"])) == (26, 2)
    assert answer["processes"] == {"Hour": 24, "Day": 1, "Client": 1}


def test_what_is_started_over_already_is_not_touched_again(done, client):
    body = {"process": "Hour", "from": "2015051703"}
    assert post(client, "jobs/reprocess", body)["count"] == 3
    assert post(client, "jobs/reprocess", body)["count"] == 0


@pytest.mark.parametrize("verb", ["reprocess", "skip", "retry"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"process": "Hour"}, 422),
        ({"process": "Hour", "from": "2015051703", "to": "2015051703"}, 422),
        ({"process": "Hour", "from": "2015051703", "to": "2015051702"}, 422),
        ({"process": "Day", "from": "2015051703"}, 422),
        ({"process": "Day", "from": "2015051700", "to": "2015051803"}, 422),
        ({"process": "Hour", "from": 2015051703}, 422),
        ({"process": "Hour", "from": "2015051703", "jobs": []}, 422),
        ({"process": "Hour", "from": "2015051703", "dry_run": "yes"}, 422),
        ({"process": "Hour", "from": "2015051703", "why": "typo"}, 422),
        ({"jobs": []}, 422),
        ({"jobs": [{"process": "Hour"}]}, 422),
        ({"jobs": [{"process": "Nobody", "timeperiod": "2015051703"}]}, 404),
        ({"process": "Nobody", "from": "2015051703"}, 404),
        ({"process": "Nobody", "from": "2015051703", "to": "2015051704"}, 404),
        ({"process": "Hour", "from": "2014051703"}, 404),
        ({"process": "Hour", "from": "2015051703", "to": "2030010100"}, 404),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_done(done, client, verb, body, status):
    before = done.store.journal.last_seq()
    post(client, f"jobs/{verb}", body, status)
    assert done.store.journal.last_seq() == before


# The first hour


def test_the_timetable_is_extended(done, client):
    body = {"from": "2015051600", "reason": "older data"}
    expected = [{"before": DAY, "after": "2015051600"}]
    dry = post(client, "timetable/extend", {**body, "dry_run": True})
    assert dry == {"dry_run": True, "count": 1, "touched": expected}
    assert done.timetable().start == DAY
    answer = post(client, "timetable/extend", body)
    assert answer == {"dry_run": False, "count": 1, "touched": expected}
    assert get(client, "trees/site")["processes"][1]["first"] == "2015051600"


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 422), ({"from": "2015051601"}, 200), ({"from": DAY}, 409), ({"from": "nine"}, 422)],
)
def test_only_to_an_earlier_hour(done, client, body, status):
    post(client, "timetable/extend", body, status)
