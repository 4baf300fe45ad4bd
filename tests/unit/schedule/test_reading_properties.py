"""Definitions of all kinds are written and read back to equal ones."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule import trigger
from synergy.schedule.check_context import OF_JOBS, OF_RUNS, InvalidDefinition, Known
from synergy.schedule.definition import (
    AtMost,
    CatchUp,
    Concurrency,
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
    Overlap,
    Partition,
    PeriodFinished,
    ProgramEnded,
    Scope,
    SinceLastRun,
    TimeoutPolicy,
    Times,
    TimeWindow,
    WhenUnmet,
    WorkerProgram,
    leaves,
)
from synergy.schedule.format.programs import StoredDelivery
from synergy.schedule.format.read import read
from synergy.schedule.format.summary import summarize
from synergy.schedule.format.write import write
from tests.unit.schedule.kit import trees

ANY = Known()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", fullmatch=True)
printable = st.characters(exclude_categories=("Cs", "Cc"))
lines = st.text(printable, min_size=1, max_size=50).filter(str.strip)
zones = st.sampled_from(["UTC", "Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe"])
lives = st.timedeltas(timedelta(0), timedelta(days=3660))
durations = lives.filter(bool)
counts = st.integers(1, 1_000_000)
instants = st.timedeltas(timedelta(0), timedelta(days=1000 * 365)).map(EPOCH.__add__)
unmet = st.sampled_from(WhenUnmet)
folders = lines.map(lambda text: text.rstrip("/") or "/")
texts = ("every 60", "at 02:30, 5-18:00", "cron */5 2 * * 1-5", "cron 0 0 12 ? * 2#1 2030-2040")
leaf = st.one_of(
    st.sampled_from(texts).map(trigger.parse).map(Times),
    st.builds(Once, instants),
    st.builds(Elapsed, durations.filter(lambda d: d >= timedelta(seconds=1))),
    st.builds(Partition, lines, counts),
    st.builds(
        ProgramEnded,
        names,
        st.lists(st.sampled_from(OF_JOBS + OF_RUNS), min_size=1, unique=True).map(tuple),
    ),
    st.builds(
        PeriodFinished,
        names,
        st.lists(st.sampled_from(OF_JOBS), min_size=1, unique=True).map(tuple),
        st.sampled_from(Generations),
    ),
    st.builds(EventTrigger, st.just(EventType.FILE), folders, lives),
    st.builds(EventTrigger, st.sampled_from([EventType.TABLE, EventType.TIME_BASED]), lines, lives),
)
triggers = trees(leaf, max_leaves=8)
clocks = st.builds(time, st.integers(0, 23), st.integers(0, 59))
constraints = st.one_of(
    st.builds(Concurrency, counts, st.just(Scope.PROGRAM), unmet),
    st.builds(Delay, durations),
    st.builds(TimeWindow, clocks, clocks, zones, unmet).filter(lambda w: w.start != w.end),
    st.builds(SinceLastRun, durations, unmet),
    st.builds(AtMost, counts, durations, unmet),
    st.builds(Load, st.floats(0, 10**9), st.just(LoadOf.BOX), unmet),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(printable)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(printable), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
pairs = st.dictionaries(lines, st.just("") | lines, max_size=3)
types = st.sampled_from(["application/json", "text/plain; charset=utf-8"])
programs = st.one_of(
    st.builds(WorkerProgram, names, st.dictionaries(st.text(printable), values, max_size=3)),
    st.builds(
        DeliveryProgram, lines, st.text(st.characters(exclude_categories=("Cs",))), types, pairs
    ),
    st.builds(StoredDelivery, lines, st.just(""), types, pairs, stored=names),
    st.builds(
        DeliveryProgram,
        names.map("https://{}".format),
        headers=pairs,
        signing_secret=lines,
    ),
)


def _possible(definition: Definition) -> Definition:
    """The definition without an end before its start, and without dates that exclude nothing."""
    start, end = definition.start, definition.end
    has_times = any(isinstance(leaf, Times) for _, leaf in leaves(definition.trigger))
    return replace(
        definition,
        end=None if start is not None and end is not None and end < start else end,
        exclude=definition.exclude if has_times else (),
    )


definitions = st.builds(
    Definition,
    name=names,
    program=programs,
    trigger=triggers,
    constraints=st.lists(constraints, max_size=4).map(tuple),
    timeout=durations,
    timeout_policy=st.sampled_from(TimeoutPolicy),
    priority=st.integers(-1_000_000, 1_000_000),
    group=st.just("") | lines,
    properties=pairs,
    zone=zones,
    template_zone=zones,
    catchup=st.sampled_from(CatchUp),
    catchup_max=st.integers(1, 10_000),
    first_run=st.sampled_from(FirstRun),
    start=st.none() | instants,
    end=st.none() | instants,
    max_runs=st.none() | counts,
    exclude=st.lists(st.dates(EPOCH.date(), date(2999, 12, 31)), max_size=3, unique=True)
    .map(sorted)
    .map(tuple),
    overlap=st.none() | st.sampled_from(Overlap),
    coalesce=st.booleans(),
    pause_after_failures=st.none() | st.integers(1, 100),
    budget=durations,
    external_id=st.just("") | lines,
    by=st.just("") | lines,
).map(_possible)


@given(definitions)
def test_a_written_definition_is_read_back_equal(definition: Definition) -> None:
    written = write(definition)
    assert read(written, ANY) == definition
    stored = json.loads(json.dumps(written))
    assert stored == written
    assert read(stored, ANY) == definition


@given(definitions)
def test_every_definition_has_a_summary_of_one_line(definition: Definition) -> None:
    line = summarize(definition)
    assert line.strip()
    assert "\n" not in line


# Arbitrary input
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["type", "resource", "life", "n", "process", "all_of", "any_of", "cron", "event", "max",
             "program", "concurrency", "time_window", "start", "per", "stored", "every", "once"]
        ) | st.text(max_size=3),
        inner,
        max_size=4,
    ),
)  # fmt: skip
fields = st.sampled_from(
    ["name", "process", "target", "trigger", "cron", "when", "dependencies", "constraints",
     "payload", "headers", "arguments", "properties", "zone", "timeout", "priority", "from"]
)  # fmt: skip


@given(st.dictionaries(fields, junk, max_size=6))
def test_any_input_is_read_or_refused_with_a_reason(data: dict[str, object]) -> None:
    try:
        definition = read(data, ANY)
    except InvalidDefinition as error:
        reasons = error.mistakes
    else:
        reasons = ("sound",) if read(write(definition), ANY) == definition else ()
    assert reasons
    assert all(reasons)
