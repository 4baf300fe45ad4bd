"""Events are recorded or refused, and their effects are reported."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime

import pytest

from synergy.commands.events import InvalidEvents, record_events
from synergy.model.actor import Actor
from synergy.model.schedule import RunState
from synergy.names import DECIDED_EVENT
from synergy.queries.schedules.event_effects import WAIT_SECONDS, causes, effects
from tests.service.agent_harness import NOW, TARGET, AgentHarness

ALICE = Actor("alice@services", "")


GOOD = {"eventType": "FILE", "eventTimestamp": "2026-03-10T11:59:00Z", "eventResourceId": "/d/x"}


def taken(agents: AgentHarness, *items: Mapping[str, object], **given):
    return record_events(agents.store, agents.bus, items, ALICE, NOW, **given)


def number_of_events(agents: AgentHarness) -> int:
    return len(agents.store.events.find(10_000)[0])


def test_an_event_is_stored_as_it_was_given(agents):
    (one,) = taken(agents, {**GOOD, "id": "load-1", "partitions": 3})
    assert one.is_new
    ((event,), _) = agents.store.events.find()
    assert event == one.event
    assert (event.id, event.type, event.resource, event.who) == (
        "load-1", "FILE", "/d/x", "alice@services",
    )  # fmt: skip
    assert event.timestamp == datetime(2026, 3, 10, 11, 59, tzinfo=UTC)
    assert (event.at, event.body, event.seq) == (NOW, {"partitions": 3}, 1)


@pytest.mark.parametrize(
    ("word", "type_"),
    [
        ("FILE", "FILE"),
        ("TABLE", "TABLE"),
        ("TIME BASED", "TIME BASED"),
        ("TIME_BASED", "TIME BASED"),
        ("TIME_BASED_CRON", "TIME BASED"),
        ("PARTITION", "PARTITION"),
    ],
)
def test_event_types_have_these_spellings(agents, word, type_):
    assert taken(agents, {**GOOD, "eventType": word})[0].event.type == type_


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-10T11:59:00.123456789Z", datetime(2026, 3, 10, 11, 59, 0, 123_456, tzinfo=UTC)),
        ("2026-03-10T13:59:00+02:00", datetime(2026, 3, 10, 11, 59, tzinfo=UTC)),
    ],
)
def test_timestamps_have_fractions_and_offsets(agents, text, expected):
    assert taken(agents, {**GOOD, "eventTimestamp": text})[0].event.timestamp == expected


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("2026-03-10T12:05:00Z", False),
        ("2026-03-10T12:05:00.001Z", True),
        ("2026-03-10T13:00:00Z", True),  # a local time, sent as if it were UTC
        ("2026-03-10T13:00:00+01:00", False),
    ],
)
def test_an_event_far_ahead_of_the_clock_is_refused(agents, text, is_refused):
    item = {**GOOD, "eventTimestamp": text}
    if not is_refused:
        taken(agents, item)
        return
    with pytest.raises(InvalidEvents) as error:
        taken(agents, item)
    assert str(error.value) == (
        f"eventTimestamp: '{text}' is more than 5m ahead of this machine's clock, "
        "2026-03-10T12:00:00Z: send the time of the event, in UTC or with an offset"
    )
    assert not number_of_events(agents)


def without(field: str) -> dict[str, object]:
    return {name: value for name, value in GOOD.items() if name != field}


WRONG = [
    (without("eventType"), "eventType is missing"),
    (without("eventTimestamp"), "eventTimestamp is missing"),
    (without("eventResourceId"), "eventResourceId is missing"),
    ({**GOOD, "eventType": None}, "eventType is missing"),
    ({**GOOD, "eventType": "FOLDER"}, "eventType: 'FOLDER' is unknown"),
    ({**GOOD, "eventType": "file"}, "eventType: 'file' is unknown"),
    ({**GOOD, "eventType": 7}, "eventType: expected a text, not the number 7"),
    ({**GOOD, "eventType": ["FILE"]}, "eventType: expected a text, not a list"),
    ({**GOOD, "eventTimestamp": "yesterday"}, "eventTimestamp: expected an instant"),
    ({**GOOD, "eventTimestamp": "2026-03-10"}, "eventTimestamp: '2026-03-10' has no time"),
    ({**GOOD, "eventTimestamp": "2026-02-30T00:00:00Z"}, "eventTimestamp: there is no such"),
    ({**GOOD, "eventTimestamp": 1773143940}, "eventTimestamp: expected a text"),
    ({**GOOD, "eventTimestamp": ""}, "eventTimestamp: expected a text"),
    ({**GOOD, "eventResourceId": ""}, "eventResourceId: expected a text, not ''"),
    ({**GOOD, "eventResourceId": "  "}, "eventResourceId: expected a text"),
    ({**GOOD, "eventResourceId": "x" * 2049}, "eventResourceId: 2,049 characters"),
    ({**GOOD, "eventResourceId": "a\nb"}, "eventResourceId: 'a\\nb' has characters"),
    ({**GOOD, "eventResourceId": "a\ud800"}, "eventResourceId: 'a\\ud800' has characters"),
    ({**GOOD, "eventResourceId": {}}, "eventResourceId: expected a text, not a mapping"),
    ({**GOOD, "id": ""}, "id: expected a text"),
    ({**GOOD, "id": 5}, "id: expected a text"),
    ({**GOOD, "id": "x" * 257}, "id: 257 characters"),
    ({**GOOD, "partitions": 0}, "partitions: expected a whole number"),
    ({**GOOD, "partitions": -1}, "partitions: expected a whole number"),
    ({**GOOD, "partitions": 1.5}, "partitions: expected a whole number"),
    ({**GOOD, "partitions": True}, "partitions: expected a whole number"),
    ({**GOOD, "partitions": "3"}, "partitions: expected a whole number"),
    ({**GOOD, "partitions": 10**9 + 1}, "partitions: expected a whole number"),
    ({**GOOD, "partitons": 3}, "unknown field 'partitons': did you mean partitions?"),
    ({**GOOD, "eventTimeStamp": "x"}, "unknown field 'eventTimeStamp'"),
    ([], "expected an object"),
    ("FILE", "expected an object"),
]


@pytest.mark.parametrize(("item", "reason"), WRONG)
def test_each_malformed_field_is_named_and_nothing_is_stored(agents, item, reason):
    with pytest.raises(InvalidEvents) as caught:
        taken(agents, item)
    (mistake,) = caught.value.mistakes
    assert mistake.startswith(reason)
    assert number_of_events(agents) == 0


def test_mistakes_are_numbered_and_no_event_is_stored(agents):
    with pytest.raises(InvalidEvents) as caught:
        taken(agents, GOOD, without("eventType"), GOOD, {**GOOD, "partitions": 0})
    starts = [mistake.split(":")[0] for mistake in caught.value.mistakes]
    assert starts == ["event 2", "event 4"]
    assert number_of_events(agents) == 0


@pytest.mark.parametrize(
    "item",
    [
        {**GOOD, "eventResourceId": "x" * 2048},
        {**GOOD, "id": "x" * 256},
        {**GOOD, "partitions": 10**9},
        {**GOOD, "partitions": 1},
        {**GOOD, "eventResourceId": "/düne/ü b/☃"},
        {**GOOD, "eventResourceId": "nobody/knows/it"},
    ],
)
def test_events_at_the_limits_are_recorded(agents, item):
    assert taken(agents, item)[0].is_new


def test_without_an_id_each_is_an_event_of_its_own(agents):
    ids = {one.event.id for one in taken(agents, GOOD, GOOD)}
    assert len(ids) == 2
    assert number_of_events(agents) == 2


def test_an_id_that_was_seen_before_does_nothing(agents):
    (first,) = taken(agents, {**GOOD, "id": "a"})
    again = taken(agents, {**GOOD, "id": "a", "eventResourceId": "/other"}, {**GOOD, "id": "b"})
    assert [one.is_new for one in again] == [False, True]
    assert again[0].event == first.event
    twice = taken(agents, {**GOOD, "id": "c"}, {**GOOD, "id": "c"})
    assert [one.is_new for one in twice] == [True, False]
    assert number_of_events(agents) == 3


def test_a_dry_run_checks_and_takes_nothing(agents):
    assert len(taken(agents, GOOD, dry_run=True)) == 1
    with pytest.raises(InvalidEvents):
        taken(agents, without("eventType"), dry_run=True)
    assert number_of_events(agents) == 0


def test_the_agents_are_woken(agents):
    with closing(agents.bus.listener("agent")) as listener:
        taken(agents, GOOD)
        assert listener.wait(60)


@pytest.fixture
def listening(agents):
    """A schedule that runs with every file under /d, and one that waits for three."""
    file = {"event": {"type": "FILE", "resource": "/d", "life": "1h"}}
    more = {"partition": {"dataset": "visits", "n": 3}}
    for name, trigger in (("each", file), ("three", more)):
        data = {"name": name, "target": TARGET, "trigger": trigger}
        agents.actions.create(data, ALICE, NOW, enable=True)
    return agents


def test_effects_wait_for_an_agent_at_most_the_limit(listening):
    one = taken(listening, GOOD)
    waited: list[float] = []
    found = effects(listening.store, one, waited.append)
    assert (found.schedules, found.runs, found.is_decided) == (("each",), (), False)
    assert sum(waited) == pytest.approx(WAIT_SECONDS)


def test_effects_are_reported_as_soon_as_an_agent_has_decided(listening):
    member = listening.member()
    one = taken(listening, GOOD)
    found = effects(listening.store, one, lambda _: member.rest())
    assert found.is_decided
    assert found.schedules == ("each",)
    (run,) = found.runs
    assert (run.schedule, run.state) == ("each", RunState.PROCESSED)
    assert causes(run) == {one[0].event.id}


def test_runs_of_other_events_are_not_effects(listening):
    member = listening.member()
    first = taken(listening, GOOD)
    member.rest()
    second = taken(listening, {**GOOD, "eventTimestamp": "2026-03-10T11:59:30Z"})
    member.rest()
    runs = [effects(listening.store, one).runs for one in (first, second)]
    assert [len(some) for some in runs] == [1, 1]
    assert runs[0] != runs[1]


def test_events_of_a_collecting_job_share_its_run(listening):
    member = listening.member()
    some = []
    for _ in range(3):
        some.append(
            taken(listening, {**GOOD, "eventType": "PARTITION", "eventResourceId": "visits"})
        )
        member.rest()
    assert listening.states("three") == {RunState.PROCESSED: 1}
    assert [len(effects(listening.store, one).runs) for one in some] == [1, 1, 1]


def test_an_unknown_resource_has_no_effect_and_waits_for_no_agent(listening):
    waited: list[float] = []
    one = taken(listening, {**GOOD, "eventResourceId": "/e"})
    found = effects(listening.store, one, waited.append)
    assert (found.schedules, found.runs, waited) == ((), (), [])


def test_a_repeated_id_reports_the_effects_of_the_first_event(listening):
    member = listening.member()
    taken(listening, {**GOOD, "id": "a"})
    member.rest()
    found = effects(listening.store, taken(listening, {**GOOD, "id": "a"}))
    assert found.is_decided
    assert len(found.runs) == 1


def test_the_agent_records_how_far_it_has_read(listening):
    taken(listening, GOOD)
    listening.member().rest()
    assert listening.store.facts.get(DECIDED_EVENT) == "1"
