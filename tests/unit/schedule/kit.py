"""Builders of schedules and of the events that they receive."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from synergy.schedule.definition import AllOf, AnyOf, Definition, Times, Trigger, WorkerProgram
from synergy.schedule.progress.state import Made, Occurrence, ProgressState, Step
from synergy.schedule.progress.steps import begin, pass_time, take, wake_at
from synergy.schedule.trigger import parse

DAY = datetime(2026, 3, 10, tzinfo=UTC)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)


def at(clock: str, day: datetime = DAY) -> datetime:
    """`HH:MM` or `HH:MM:SS` of that day, in UTC."""
    hour, minute, second = [*map(int, clock.split(":")), 0][:3]
    return day + timedelta(hours=hour, minutes=minute, seconds=second)


def times(text: str) -> Times:
    return Times(parse(text))


HOURLY = times("cron 0 * * * *")


def trees(leaves: st.SearchStrategy[Trigger], max_leaves: int) -> st.SearchStrategy[Trigger]:
    """These triggers, and combinations of them with `all of` and `any of`."""
    return st.recursive(
        leaves,
        lambda legs: st.builds(
            lambda kind, some: kind(tuple(some)),
            st.sampled_from([AllOf, AnyOf]),
            st.lists(legs, min_size=1, max_size=3),
        ),
        max_leaves=max_leaves,
    )


def a_schedule(trigger, **fields) -> Definition:
    return Definition(**{"name": "s", "program": WorkerProgram("W"), "trigger": trigger, **fields})


def an_event(seq, kind="FILE", resource="/a", when=DAY, **fields) -> Occurrence:
    return Occurrence(
        stream="events", seq=seq, id=f"id{seq}", key="", type=kind, resource=resource, at=when,
        **fields,
    )  # fmt: skip


def partitions(seq, number=1, dataset="d", when=DAY) -> Occurrence:
    return an_event(seq, "PARTITION", dataset, when, partitions=number)


def ended(seq, process="P", status="processed", when=DAY, **fields) -> Occurrence:
    return Occurrence(
        stream="journal", seq=seq, id=f"run{seq}", key="", type="program", resource=process,
        at=when, process=process, status=status, **fields,
    )  # fmt: skip


class Life:
    """A schedule and its progress, which is stored and read back before each step."""

    def __init__(self, definition: Definition, now: datetime, **seen: int) -> None:
        self.definition = definition
        self.made: list[Made] = []
        numbers = {"seen_events": 0, "seen_journal": 0, **seen}
        self.progress = self._keep(begin(definition, now, **numbers))

    def pass_time(self, now: datetime) -> list[Made]:
        return self._new(pass_time(self.definition, self._stored(), now))

    def catch_up(self, now: datetime) -> list[Made]:
        """Passes time until nothing more is due."""
        made = self.pass_time(now)
        while (wakes := self.wake_at()) is not None and wakes <= now:
            before = self.progress
            made += self.pass_time(now)
            assert self.progress != before, "it stays due and does nothing"
        return made

    def take(self, occurrence: Occurrence, now: datetime | None = None) -> list[Made]:
        now = now or occurrence.at
        return self._new(take(self.definition, self._stored(), occurrence, now))

    def wake_at(self) -> datetime | None:
        return wake_at(self.definition, self.progress)

    def _stored(self) -> ProgressState:
        stored = json.loads(json.dumps(self.progress.to_json()))
        assert ProgressState.from_json(stored) == self.progress
        return ProgressState.from_json(stored)

    def _new(self, step: Step) -> list[Made]:
        self.progress = self._keep(step)
        return list(step.made)

    def _keep(self, step: Step) -> ProgressState:
        self.made += step.made
        return step.progress


def runs(made) -> list[Made]:
    return [one for one in made if one.ended_by is None]


def told(made) -> list[tuple[str, str]]:
    """Each due time as `HH:MM`, with the reason or `run`."""
    return [(f"{one.due_at:%H:%M}", "run" if one in runs(made) else one.reason) for one in made]
