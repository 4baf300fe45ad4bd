"""What people write about schedules, and what it is understood as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from time import tzset

import pytest

from synergy.errors import InvalidValue
from synergy.schedule import trigger
from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    AtMost,
    CatchUp,
    Concurrency,
    Constraint,
    Definition,
    Delay,
    DeliveryProgram,
    Elapsed,
    EventTrigger,
    EventType,
    FirstRun,
    Generations,
    Load,
    LoadOf,
    Once,
    Partition,
    PeriodFinished,
    ProgramEnded,
    Scope,
    SinceLastRun,
    TimeoutPolicy,
    Times,
    TimeWindow,
    Trigger,
    WhenUnmet,
    WorkerProgram,
)
from synergy.schedule.format import literals
from synergy.schedule.format.read import (
    InvalidDefinition,
    Known,
    StoredDelivery,
    read,
    read_enabled,
    warnings,
    write,
)
from synergy.schedule.format.summary import summarize

ANY = Known()
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
EVERY_MINUTE = Times(trigger.parse("every 60"))
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def with_trigger(value: object) -> Trigger:
    return read({"name": "s", "process": "P", "trigger": value}, ANY).trigger


def with_constraint(value: object, **more: object) -> Constraint:
    data = {"name": "s", "process": "P", "trigger": "every 60", "group": "g", **more}
    (constraint,) = read({**data, "constraints": [value]}, ANY).constraints
    return constraint


def hook(**fields: object) -> Definition:
    return read({"name": "s", "target": "https://a.b/c", "trigger": "every 60", **fields}, ANY)


def payload(value: object) -> str:
    program = hook(payload=value).program
    assert isinstance(program, DeliveryProgram)
    return program.payload


def test_the_least_that_can_be_said_gets_the_defaults_of_the_rules() -> None:
    assert read({"name": "s", "process": "P", "trigger": "every 60"}, ANY) == Definition(
        name="s",
        program=WorkerProgram("P", {}),
        trigger=EVERY_MINUTE,
        constraints=(),
        timeout=timedelta(hours=24),
        timeout_policy=TimeoutPolicy.DISCARD,
        priority=0,
        group="",
        properties={},
        zone="UTC",
        template_zone="America/Los_Angeles",
        catchup=CatchUp.ALL,
        catchup_max=60,
        first_run=FirstRun.ON_SCHEDULE,
        start=None,
        budget=timedelta(minutes=5),
        external_id="",
        by="",
    )


def test_what_has_its_default_is_not_written() -> None:
    data = {"name": "s", "process": "P", "trigger": "every 60"}
    assert write(read({**data, "priority": 0, "timeout": 86_400, "group": None}, ANY)) == data
    assert write(read({**data, "priority": 1, "timeout": "1h"}, ANY)) == {
        **data,
        "priority": 1,
        "timeout": "1h",
    }


def test_every_field_arrives() -> None:
    assert read(
        {
            "name": "a.b-c_D9",
            "process": "P",
            "arguments": {"a": [1, 2.5, None, True, {"b": "c"}]},
            "trigger": "every 60",
            "timeout": "90m",
            "timeout_policy": "force",
            "priority": -7,
            "group": "exports",
            "properties": {"owner": "ops", "empty": ""},
            "zone": "Europe/Berlin",
            "template_zone": "UTC",
            "catchup": "latest",
            "catchup_max": 1,
            "first_run": "immediately",
            "from": "2026-11-22T13:00+01:00",
            "budget": 30,
            "external_id": "x" * 256,
            "by": "é" * 256,
            "enabled": False,
        },
        ANY,
    ) == Definition(
        name="a.b-c_D9",
        program=WorkerProgram("P", {"a": [1, 2.5, None, True, {"b": "c"}]}),
        trigger=EVERY_MINUTE,
        timeout=timedelta(minutes=90),
        timeout_policy=TimeoutPolicy.FORCE,
        priority=-7,
        group="exports",
        properties={"owner": "ops", "empty": ""},
        zone="Europe/Berlin",
        template_zone="UTC",
        catchup=CatchUp.LATEST,
        catchup_max=1,
        first_run=FirstRun.IMMEDIATELY,
        start=NOON,
        budget=timedelta(seconds=30),
        external_id="x" * 256,
        by="é" * 256,
    )


def test_what_is_null_was_not_said() -> None:
    data = dict.fromkeys(("payload", "cron", "group", "zone", "constraints", "enabled", "by"))
    assert read({**data, "name": "s", "process": "P", "trigger": "every 60"}, ANY).zone == "UTC"


def test_schedule_name_is_another_word_for_name() -> None:
    data = {"process": "P", "trigger": "every 60"}
    assert read({**data, "schedule_name": "s"}, ANY).name == "s"
    assert read({**data, "schedule_name": "s", "name": "s"}, ANY).name == "s"
    with pytest.raises(InvalidDefinition, match="their values differ"):
        read({**data, "schedule_name": "s", "name": "t"}, ANY)


# Triggers


def times(text: str) -> Times:
    return Times(trigger.parse(text))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("cron 0 2 * * *", times("cron 0 2 * * *")),
        ({"cron": "0 2 * * *"}, times("cron 0 2 * * *")),
        ({"cron": ["0 2 * * *"]}, times("cron 0 2 * * *")),
        ({"cron": ["0 2 * * *", "0  2 * * *"]}, times("cron 0 2 * * *")),
        (
            {"cron": ["0 2 * * *", "0 0 3 ? * MON"]},
            AnyOf((times("cron 0 2 * * *"), times("cron 0 0 3 ? * MON"))),
        ),
        ({"every": 60}, EVERY_MINUTE),
        ({"every": "60"}, EVERY_MINUTE),
        ({"at": "5-18:30, 12:00"}, times("at 12:00, 5-18:30")),
        ({"once": "2026-11-22T12:00:00Z"}, Once(NOON)),
        ({"once": "2026-11-22 12:00"}, Once(NOON)),
        ({"elapsed": "1h"}, Elapsed(HOUR)),
        ({"elapsed": {"duration": 1}}, Elapsed(timedelta(seconds=1))),
        ({"partition": "d"}, Partition("d", 1)),
        ({"partition": {"dataset": "d", "n": 3}}, Partition("d", 3)),
        ({"program": "Q"}, ProgramEnded("Q", ("processed",))),
        ({"program": {"process": "Q", "statuses": "failed"}}, ProgramEnded("Q", ("failed",))),
        (
            {"program": {"process": "Q", "statuses": ["noop", "processed", "noop"]}},
            ProgramEnded("Q", ("noop", "processed")),
        ),
        ({"timetable": "Q"}, PeriodFinished("Q")),
        ({"timetable": {"process": "Q"}}, PeriodFinished("Q")),
        ({"timetable": {"process": "Q", "statuses": "noop"}}, PeriodFinished("Q", ("noop",))),
        (
            {"timetable": {
                "process": "Q", "statuses": ["given_up", "failed", "failed"],
                "generations": "first",
            }},
            PeriodFinished("Q", ("given_up", "failed"), Generations.FIRST),
        ),
        (
            {"timetable": {"process": "Q", "statuses": ["processed"], "generations": "all"}},
            PeriodFinished("Q"),
        ),
        (
            {"event": {"type": "TABLE", "resource": "a/", "life": 0}},
            EventTrigger(EventType.TABLE, "a/", timedelta(0)),
        ),
        (
            {"event": {"type": "FILE", "resource": "/a/b//", "life": "1h"}},
            EventTrigger(EventType.FILE, "/a/b", HOUR),
        ),
        (
            {"event": {"type": "FILE", "resource": "/", "life": "1h"}},
            EventTrigger(EventType.FILE, "/", HOUR),
        ),
        (
            {"all_of": ["every 60", {"any_of": [{"timetable": "Q"}, {"partition": "d"}]}]},
            AllOf((EVERY_MINUTE, AnyOf((PeriodFinished("Q"), Partition("d"))))),
        ),
    ],
)  # fmt: skip
def test_triggers(written: object, expected: Trigger) -> None:
    assert with_trigger(written) == expected


def test_cron_and_when_are_short_for_triggers() -> None:
    data = {"name": "s", "process": "P"}
    assert read({**data, "cron": "0 2 * * *"}, ANY).trigger == times("cron 0 2 * * *")
    assert read({**data, "cron": ["@daily", "0 2 * * *"]}, ANY).trigger == AnyOf(
        (times("cron 0 0 * * *"), times("cron 0 2 * * *"))
    )
    assert read({**data, "when": "2026-11-22T12:00:00Z"}, ANY).trigger == Once(NOON)


@pytest.mark.parametrize("kind", ["TIME BASED", "TIME_BASED", "TIME_BASED_CRON"])
@pytest.mark.parametrize("life", [0, "0", "0s", 0.0])
def test_the_example_of_part_f(kind: str, life: object) -> None:
    definition = read(
        {
            "name": "s",
            "process": "P",
            "dependencies": [
                {"type": "FILE", "resourceId": "/dir/path/", "lifeDuration": "3600"},
                {"type": kind, "resourceId": "cron", "lifeDuration": life},
            ],
        },
        ANY,
    )
    assert definition.trigger == AllOf(
        (
            EventTrigger(EventType.FILE, "/dir/path", HOUR),
            EventTrigger(EventType.TIME_BASED, "cron", timedelta(0)),
        )
    )


# Constraints


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"concurrency": 1}, Concurrency(1, Scope.PROGRAM, WhenUnmet.ABORT)),
        (
            {"concurrency": {"n": 2, "scope": "group", "when_unmet": "wait"}},
            Concurrency(2, Scope.GROUP, WhenUnmet.WAIT),
        ),
        ({"delay": "5m"}, Delay(5 * MINUTE)),
        ({"delay": {"duration": 300, "when_unmet": "wait"}}, Delay(5 * MINUTE)),
        (
            {"time_window": {"start": "22:00", "end": "6:30", "zone": "Asia/Tokyo"}},
            TimeWindow(time(22), time(6, 30), "Asia/Tokyo", WhenUnmet.WAIT),
        ),
        (
            {"time_window": {"start": "00:00", "end": "00:01", "when_unmet": "abort"}},
            TimeWindow(time(0), time(0, 1), "UTC", WhenUnmet.ABORT),
        ),
        ({"since_last_run": "1h"}, SinceLastRun(HOUR, WhenUnmet.ABORT)),
        (
            {"since_last_run": {"duration": "1h", "when_unmet": "wait"}},
            SinceLastRun(HOUR, WhenUnmet.WAIT),
        ),
        ({"at_most": {"n": 3, "per": "hour"}}, AtMost(3, HOUR, WhenUnmet.WAIT)),
        ({"at_most": {"n": 3, "per": "week"}}, AtMost(3, timedelta(days=7))),
        (
            {"at_most": {"n": 3, "per": "90s", "when_unmet": "abort"}},
            AtMost(3, timedelta(seconds=90), WhenUnmet.ABORT),
        ),
        ({"load": 0.8}, Load(0.8, LoadOf.BOX, WhenUnmet.WAIT)),
        (
            {"load": {"max": 100, "of": "queue", "when_unmet": "abort"}},
            Load(100.0, LoadOf.QUEUE, WhenUnmet.ABORT),
        ),
    ],
)
def test_constraints(written: object, expected: Constraint) -> None:
    assert with_constraint(written) == expected


def test_a_window_is_in_the_zone_of_its_schedule_unless_it_names_one() -> None:
    window = {"time_window": {"start": "22:00", "end": "06:00"}}
    expected = TimeWindow(time(22), time(6), "Europe/Berlin")
    assert with_constraint(window, zone="Europe/Berlin") == expected


# Programs


def test_a_delivery() -> None:
    definition = hook(
        payload="${todaysDate}", content_type="text/plain", headers={"X-A": "b", "X-B": ""}
    )
    assert definition.program == DeliveryProgram(
        "https://a.b/c", "${todaysDate}", "text/plain", {"X-A": "b", "X-B": ""}
    )
    assert hook().program == DeliveryProgram("https://a.b/c", "", "application/json", {})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        ("  as it is \n", "  as it is \n"),
        ({"a": [1, None, "é"]}, '{"a": [1, null, "é"]}'),
        ({}, "{}"),
        ([], "[]"),
        (0, "0"),
        (False, "false"),
        ({"stored": "x", "more": 1}, '{"stored": "x", "more": 1}'),
    ],
)
def test_a_payload_is_a_text_or_becomes_json(value: object, text: str) -> None:
    assert payload(value) == text


def test_a_payload_may_be_as_large_as_the_rules_say() -> None:
    assert len(payload("é" * 8_388_607 + "x")) == 8_388_608  # 16,777,215 bytes


def test_a_payload_may_lie_in_the_store() -> None:
    definition = hook(payload={"stored": "blob-1"})
    assert definition.program == StoredDelivery("https://a.b/c", stored="blob-1")
    assert write(definition)["payload"] == {"stored": "blob-1"}
    assert read(write(definition), ANY) == definition


def test_a_definition_shares_nothing_with_what_it_was_read_from() -> None:
    inner = [1]
    data: dict[str, object] = {"name": "s", "process": "P", "trigger": "every 60"}
    definition = read({**data, "arguments": {"a": inner}}, ANY)
    written = write(definition)
    inner.append(2)
    assert isinstance(definition.program, WorkerProgram)
    assert definition.program.arguments == {"a": [1]}
    assert written["arguments"] == {"a": [1]}


# One-off jobs


def job(**fields: object) -> Definition:
    data = {"target": "https://a.b/c", "when": "2026-11-22T12:00:00Z", "payload": "x"}
    return read({**data, **fields}, ANY)


def test_a_one_off_job_gets_a_name_that_tells_it_from_others() -> None:
    first = job()
    assert first.name.startswith("once-20261122T120000Z-")
    assert len(first.name) <= 100
    assert read(write(first), ANY) == first
    assert job().name == first.name
    others = {job(payload="y").name, job(external_id="2").name, job(target="https://a.b/d").name}
    assert len(others | {first.name}) == 4
    assert job(name="mine").name == "mine"


def test_that_goes_for_every_trigger_that_is_once() -> None:
    data = {"target": "https://a.b/c", "payload": "x", "trigger": {"once": "2026-11-22T12:00Z"}}
    assert read(data, ANY) == job()


# Instants and durations


@pytest.mark.parametrize(
    "written",
    [
        "2026-11-22T12:00:00Z",
        "2026-11-22T12:00:00",
        "2026-11-22 12:00:00",
        "2026-11-22 12:00",
        "2026-11-22t12:00:00.000z",
        "2026-11-22 12:00:00.000000000 Z",
        "2026-11-22T12:00:00,0",
        "2026-11-22T13:00:00+01:00",
        "2026-11-22T04:00-0800",
        " 2026-11-22T12:00:00Z ",
        NOON,
        NOON.replace(tzinfo=None),
        NOON.astimezone(timezone(timedelta(hours=-8))),
    ],
)
def test_instants_come_in_many_forms(written: object) -> None:
    found = literals.instant(written)
    assert found == NOON
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0s"), (1, "1s"), (60, "1m"), (5400, "1h30m"), (86_400, "1d"), (90_061, "1d1h1m1s"),
        (7 * 86_400, "7d"), (0.5, "0.5s"), (3600.25, "1h0.25s"),
    ],
)  # fmt: skip
def test_durations_are_told_as_people_write_them(seconds: float, told: str) -> None:
    assert literals.readable_duration(timedelta(seconds=seconds)) == told


def test_the_earliest_whole_second() -> None:
    assert literals.readable_earliest(NOON) == "2026-11-22T12:00:00Z"
    assert literals.readable_earliest(NOON.replace(microsecond=1)) == "2026-11-22T12:00:01Z"
    last = NOON.replace(second=59, microsecond=999_999)
    assert literals.readable_earliest(last) == "2026-11-22T12:01:00Z"


def test_an_instant_keeps_its_microseconds() -> None:
    found = literals.instant("2026-11-22T12:00:00.1234569Z")
    assert found == NOON.replace(microsecond=123456)
    assert literals.spelled_instant(found) == "2026-11-22T12:00:00.123456Z"


def test_instants_are_of_years_that_dates_can_be_computed_with() -> None:
    assert literals.instant("1970-01-01") == datetime(1970, 1, 1, tzinfo=UTC)
    assert literals.instant("2999-12-31T23:59:59Z").year == 2999


def test_what_has_no_offset_is_utc_wherever_the_machine_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    tzset()
    try:
        assert literals.instant(NOON.replace(tzinfo=None)) == NOON
        assert literals.instant("2026-11-22 12:00") == NOON
    finally:
        monkeypatch.undo()
        tzset()


def test_a_date_is_its_midnight() -> None:
    midnight = datetime(2026, 11, 22, tzinfo=UTC)
    assert literals.instant("2026-11-22") == literals.instant(date(2026, 11, 22)) == midnight


@pytest.mark.parametrize(
    "written",
    [
        "", "now", "2026-11-22T", "2026-11-22T12", "2026-11-22T24:00", "2026-02-29", "20261122",
        "2026-11-22T12:00.5Z", "2026-11-22T12:00:60Z", "2026-11-22T12:00:00+25:00", 1_763_812_800,
        "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "3000-01-01", None, True,
        "２０２６-11-22",
    ],
)  # fmt: skip
def test_what_is_no_instant(written: object) -> None:
    with pytest.raises(InvalidValue):
        literals.instant(written)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (0, 0), (1.5, 1.5), ("90", 90), ("0.25", 0.25), ("60s", 60), ("5m", 300), ("48 h", 172_800),
        ("7d", 604_800), ("3660d", 316_224_000), (316_224_000, 316_224_000),
    ],
)  # fmt: skip
def test_durations(written: object, seconds: float) -> None:
    assert literals.duration(written) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "written",
    [
        "", "m", "-5m", "1.5h", "1h30m", "5 minutes", "5M", "٣s", True, None, [5], float("nan"),
        float("inf"), -1, 316_224_000.5, "3661d", 10**400, "1e3",
    ],
)  # fmt: skip
def test_what_is_no_duration(written: object) -> None:
    with pytest.raises(InvalidValue):
        literals.duration(written)


@pytest.mark.parametrize(
    ("duration", "spelled"),
    [
        (timedelta(0), "0s"),
        (timedelta(seconds=90), "90s"),
        (timedelta(minutes=90), "90m"),
        (timedelta(hours=36), "36h"),
        (timedelta(days=2), "2d"),
        (timedelta(seconds=1, microseconds=500_000), 1.5),
    ],
)
def test_durations_are_spelled_in_the_largest_unit(duration: timedelta, spelled: object) -> None:
    assert literals.spelled_duration(duration) == spelled


# Beside the definition


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, None),
        ({"enabled": True}, True),
        ({"enabled": False}, False),
        ({"enabled": None}, None),
        ({"enabled": "yes"}, None),
    ],
)
def test_whether_it_is_enabled_is_no_part_of_it(
    data: Mapping[str, object], expected: bool | None
) -> None:
    assert read_enabled(data) is expected


def test_unknown_names_in_payloads_are_worth_a_warning() -> None:
    assert warnings(hook(payload="${todaysDate} ${runId} $day {x}")) == []
    assert warnings(hook(payload="${today} ${TodaysDate} ${today}")) == [
        "payload: ${today} is unknown and stays as it is",
        "payload: ${TodaysDate} is unknown and stays as it is",
    ]


def test_so_are_periods_where_none_triggers() -> None:
    text = "${timeperiod} ${start}"
    assert [w.partition("}")[0] for w in warnings(hook(payload=text))] == [
        "payload: ${timeperiod",
        "payload: ${start",
    ]
    assert warnings(hook(payload=text, trigger={"any_of": [{"timetable": "P"}, "every 60"]})) == []
    assert warnings(hook(payload=text, trigger={"program": "P"})) == []


def test_so_is_a_process_that_triggers_itself() -> None:
    definition = read({"name": "s", "process": "P", "trigger": {"program": "P"}}, ANY)
    (warning,) = warnings(definition)
    assert "each run of P triggers the next one" in warning
    assert warnings(replace(definition, program=WorkerProgram("Q"))) == []


@pytest.mark.parametrize(
    ("definition", "line"),
    [
        (
            {"process": "P", "trigger": "at 02:30", "zone": "Europe/Berlin"},
            "at 02:30 every day, Europe/Berlin: runs P",
        ),
        (
            {"target": "amqp://u:p@host/v?exchange=e", "when": "2026-11-22 12:00"},
            "once at 2026-11-22T12:00:00Z: sends to amqp://host/v",
        ),
        (
            {"target": "https://host/a?token=b", "trigger": {"elapsed": "90m"}},
            "90m after its last run: sends to https://host/a",
        ),
        (
            {"process": "P", "trigger": {"partition": "d"}},
            "1 new partition of d: runs P",
        ),
        (
            {"process": "P", "trigger": {"all_of": [
                {"partition": {"dataset": "d", "n": 3}},
                {"event": {"type": "FILE", "resource": "/in/", "life": 0}},
                {"any_of": [{"timetable": "Q"}, {"program": "R"}]},
                {"timetable": "S"},
            ]}},
            "all of (3 new partitions of d; event FILE /in; any of (a period of Q ended as "
            "processed; R ended as processed); and 1 more): runs P",
        ),
    ],
)  # fmt: skip
def test_a_schedule_in_one_line(definition: dict[str, object], line: str) -> None:
    assert summarize(read({"name": "s", **definition}, ANY)) == line


def test_what_a_timetable_waits_for_is_said_and_written_as_far_as_it_is_not_usual() -> None:
    fields = {"process": "Q", "statuses": ["failed", "given_up"], "generations": "first"}
    found = read({"name": "s", "process": "P", "trigger": {"timetable": fields}}, ANY)
    assert (
        summarize(found) == "a period of Q ended as failed or given_up for the first time: runs P"
    )
    assert write(found)["trigger"] == {"timetable": fields}
    usual = {"process": "Q", "statuses": ["processed"], "generations": "all"}
    found = read({"name": "s", "process": "P", "trigger": {"timetable": usual}}, ANY)
    assert write(found)["trigger"] == {"timetable": {"process": "Q"}}


def test_a_one_off_job_that_would_run_twice_is_worth_a_warning() -> None:
    (warning,) = warnings(job(first_run="immediately"))
    assert warning.startswith("first_run: ")
    assert warnings(hook(first_run="immediately")) == warnings(job()) == []
