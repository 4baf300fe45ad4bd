"""The findings of a verdict: each kind in words, with its remedies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import groupby
from operator import attrgetter

from synergy.queries.health.situation import (
    Down,
    FailedRuns,
    Held,
    Paused,
    Periods,
    ProcessPeriods,
    SilentBox,
    Situation,
    SwitchedOff,
)
from synergy.queries.timetable import remedies
from synergy.queries.timetable.remedies import Remedy, api_path
from synergy.queries.wording import counted


class Trouble(Enum):
    """The kinds of findings, causes before their consequences."""

    BOX_SILENT = "box_silent"
    NO_SCHEDULER = "no_scheduler"
    NO_COLLECTOR = "no_collector"
    NO_AGENT = "no_agent"
    PROCESS_DOWN = "process_down"
    BACKING_OFF = "backing_off"
    SWITCHED_OFF = "switched_off"
    NOT_SERVED = "not_served"
    STUCK = "stuck"
    FAILED = "failed"
    GIVEN_UP = "given_up"
    LATE = "late"
    FAILED_RUNS = "failed_runs"
    PAUSED = "paused"
    QUARANTINE = "quarantine"
    MALFORMED = "malformed"
    UNEXPLAINED = "unexplained"
    AUDIT_OLD = "audit_old"

    def counted(self, number: int) -> str:
        one, many = _WORDS[self]
        return f"{number:,} {one if number == 1 else many}"


_WORDS = {
    Trouble.BOX_SILENT: ("box is silent", "boxes are silent"),
    Trouble.NO_SCHEDULER: ("tree has no scheduler", "trees have no scheduler"),
    Trouble.NO_COLLECTOR: ("collector is missing", "collectors are missing"),
    Trouble.NO_AGENT: ("agent is missing", "agents are missing"),
    Trouble.PROCESS_DOWN: ("instance of a process is down", "instances of processes are down"),
    Trouble.BACKING_OFF: ("instance of a process has died", "instances of processes have died"),
    Trouble.SWITCHED_OFF: (
        "piece of work waits for a process that is switched off",
        "pieces of work wait for processes that are switched off",
    ),
    Trouble.NOT_SERVED: ("unit is not served", "units are not served"),
    Trouble.STUCK: ("unit is stuck", "units are stuck"),
    Trouble.FAILED: ("period failed", "periods failed"),
    Trouble.GIVEN_UP: ("period was given up", "periods were given up"),
    Trouble.LATE: ("period is late", "periods are late"),
    Trouble.FAILED_RUNS: ("run failed", "runs failed"),
    Trouble.PAUSED: ("schedule is paused", "schedules are paused"),
    Trouble.QUARANTINE: ("message is in quarantine", "messages are in quarantine"),
    Trouble.MALFORMED: ("row is malformed", "rows are malformed"),
    Trouble.UNEXPLAINED: ("period is not accounted for", "periods are not accounted for"),
    Trouble.AUDIT_OLD: ("audit is missing", "audits are missing"),
}

Key = tuple[Trouble, str]
"""A kind and its subject: a process, a box, a schedule."""


@dataclass(frozen=True, slots=True)
class First:
    """The first subject of a finding; fields that do not apply are "".

    `path` is its path in the API.
    """

    process: str = ""
    timeperiod: str = ""
    unit: str = ""
    box: str = ""
    schedule: str = ""
    run: str = ""
    queue: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not well: its count, and since when, if known.

    `waiting` counts the periods that are late, or closed and not done, only because of it.
    """

    kind: Trouble
    count: int
    since: datetime | None
    first: First
    text: str
    helps: tuple[Remedy, ...]
    waiting: int = 0

    @property
    def key(self) -> Key:
        return self.kind, f"{self.first.process} {self.first.box}".strip()


def findings(facts: Situation, late: Sequence[ProcessPeriods], now: datetime) -> Iterator[Finding]:
    """All findings, causes first; `late` are the processes that are late on their own."""
    yield from map(_silent, facts.silent)
    yield from _leaders(facts)
    for is_backing_off in (False, True):
        yield from (_down(one) for one in facts.down if one.is_backing_off is is_backing_off)
    yield from map(_off, facts.off)
    for some in facts.unserved:
        first = First(some.process, unit=some.unit, path=some.path)
        text = f"no worker takes {counted(some.waiting, 'unit')} of {some.process}: {some.reason}"
        yield Finding(Trouble.NOT_SERVED, some.waiting, some.since, first, text, some.helps)
    for stuck in facts.stuck:
        first = First(stuck.process, unit=stuck.unit, path=api_path("units", stuck.unit))
        text = (
            f"{counted(stuck.count, 'unit')} of {stuck.process} should have been handed out again"
            f"{_because(stuck.why)}"
        )
        helps = (remedies.collect(stuck.process),)
        yield Finding(Trouble.STUCK, stuck.count, stuck.since, first, text, helps)
    for one in facts.processes:
        if one.failed is not None:
            yield _periods(Trouble.FAILED, one.process, one.failed, "failed")
    for one in facts.processes:
        if one.given_up is not None:
            was = "was" if one.given_up.count == 1 else "were"
            yield _periods(Trouble.GIVEN_UP, one.process, one.given_up, f"{was} given up")
    for one in late:
        yield _late(one)
    yield from map(_runs, facts.runs)
    yield from map(_paused, facts.paused)
    yield from _quarantine(facts)
    yield from _malformed(facts)
    yield from _audit(facts, now)


def _silent(box: SilentBox) -> Finding:
    seen = "has never reported" if box.seen_at is None else "does not report any more"
    text = f"box {box.id} {seen}: its supervisor does not run, or cannot reach the store"
    first = First(box=box.id, path=api_path("boxes"))
    return Finding(Trouble.BOX_SILENT, 1, box.seen_at, first, text, remedies.SUPERVISE)


def _leaders(facts: Situation) -> Iterator[Finding]:
    """Trees, collector and schedules without a leader; none if no box reports at all."""
    if facts.is_silent_everywhere:
        return
    help_ = remedies.SUPERVISE
    if facts.unled:
        text = f"no scheduler leads {', '.join(f'tree {tree}' for tree in facts.unled)}"
        yield Finding(Trouble.NO_SCHEDULER, len(facts.unled), None, First(), text, help_)
    if not facts.is_collected:
        text = "no scheduler runs the collector: what a worker lost is not handed out again"
        yield Finding(Trouble.NO_COLLECTOR, 1, None, First(), text, help_)
    if not facts.is_decided:
        text = "no agent decides about schedules: none of them runs"
        yield Finding(Trouble.NO_AGENT, 1, None, First(), text, help_)


def _down(one: Down) -> Finding:
    first = First(one.process, box=one.box, path=api_path("processes", one.process))
    number = f"{one.missing} of {one.wanted}" if one.wanted > 1 else "it"
    if one.is_backing_off:
        kind = Trouble.BACKING_OFF
        restarts = counted(one.restarts, "restart")
        text = f"{one.process} on box {one.box} died and is started again ({restarts} so far)"
    else:
        kind = Trouble.PROCESS_DOWN
        does = "do" if one.wanted > 1 else "does"
        text = f"{one.process} should run on box {one.box}, and {number} {does} not"
    return Finding(kind, one.missing, one.since, first, text, (remedies.LOOK_AT_SUPERVISORS,))


def _off(one: SwitchedOff) -> Finding:
    waits = "waits" if one.count == 1 else "wait"
    where = " on all boxes that have it" if one.box else ""
    work = counted(one.count, one.what)
    text = f"{one.process} is switched off{where}, and {work} {waits} for it"
    first = First(one.process, path=api_path("processes", one.process))
    help_ = remedies.start(one.process, one.box) if one.box else remedies.switch_on(one.process)
    return Finding(Trouble.SWITCHED_OFF, one.count, one.since, first, text, (help_,))


def _periods(kind: Trouble, process: str, some: Periods, did: str) -> Finding:
    first = First(process, some.first, path=api_path("jobs", process, some.first))
    which = some.first if some.count == 1 else f"the first is {some.first}"
    text = f"{counted(some.count, 'period')} of {process} {did}: {which}{_because(some.why)}"
    return Finding(kind, some.count, some.since, first, text, some.helps)


def _late(one: ProcessPeriods) -> Finding:
    late, held = one.late, one.held
    if late is None:
        assert held is not None
        late = _waits(one.process, held)
    elif held is not None:
        late = Periods(
            late.count + held.late, late.first, late.last, late.since, late.why, late.helps
        )
    is_are = "is" if late.count == 1 else "are"
    return _periods(Trouble.LATE, one.process, late, f"{is_are} late")


def _waits(process: str, held: Held) -> Periods:
    """Late periods that wait for a job of which there is no other finding."""
    state = "can never be" if held.state is None else f"is {held.state.word.replace('_', ' ')}"
    why = f"it waits for {held.root} {held.period}, which {state}"
    return Periods(
        held.late, held.first, held.first, None, why, (remedies.why(process, held.first),)
    )


def _runs(some: FailedRuns) -> Finding:
    first = First(schedule=some.schedule, run=some.run, path=api_path("runs", some.run))
    whose = f"schedule {some.schedule}" if some.schedule else some.program
    was = "was" if some.count == 1 else "were"
    text = (
        f"{counted(some.count, 'run')} of {whose} failed, and {was} not launched again"
        f"{_because(some.why)}"
    )
    is_many = some.schedule and some.count > 1
    again = remedies.retry_runs(some.schedule) if is_many else remedies.retry_run(some.run)
    helps = (again, remedies.look_at_run(some.run))
    return Finding(Trouble.FAILED_RUNS, some.count, some.since, first, text, helps)


def _paused(one: Paused) -> Finding:
    first = First(schedule=one.schedule, path=api_path("schedules", one.schedule))
    text = f"schedule {one.schedule} is {one.why}"
    helps = (remedies.enable_schedule(one.schedule),)
    return Finding(Trouble.PAUSED, 1, one.since, first, text, helps)


def _quarantine(facts: Situation) -> Iterator[Finding]:
    dead = facts.quarantine
    if dead is not None:
        text = (
            f"{counted(dead.count, 'message')} could not be understood, the oldest of queue "
            f"{dead.queue}{_because(dead.why)}"
        )
        first = First(queue=dead.queue, path=api_path("queues", "dead"))
        helps = (remedies.LOOK_AT_DEAD, remedies.REPLAY_DEAD)
        yield Finding(Trouble.QUARANTINE, dead.count, dead.since, first, text, helps)


def _malformed(facts: Situation) -> Iterator[Finding]:
    """A finding for each kind of rows."""
    by_kind = groupby(sorted(facts.malformed, key=attrgetter("kind")), attrgetter("kind"))
    for kind, rows in by_kind:
        first, *others = rows
        is_are = f"{len(others) + 1} rows of {kind} are" if others else f"a row of {kind} is"
        text = f"{is_are} malformed and set aside: {first.text}: {first.problem}"
        helps = (remedies.CHECK_STORE,)
        yield Finding(Trouble.MALFORMED, len(others) + 1, None, First(), text, helps)


def _audit(facts: Situation, now: datetime) -> Iterator[Finding]:
    """The findings of the last audit; failures are counted from the present timetable."""
    last, help_ = facts.audit, (remedies.LOOK_AT_AUDIT,)
    number = 0 if last is None else last.unexplained + last.late * last.is_late_for_long
    if last is not None and number:
        text = f"the last audit could not account for {counted(number, 'period')}"
        first = First()
        if last.first is not None:
            one = last.first
            text += f"; the first is {one.process} {one.timeperiod}: {one.text}"
            first = First(
                one.process, one.timeperiod, path=api_path("jobs", one.process, one.timeperiod)
            )
        yield Finding(Trouble.UNEXPLAINED, number, last.at, first, text, help_)
    if facts.is_auditing or facts.has_timetable is not True:
        return
    if last is None and not facts.is_new:
        text = "no audit was made yet"
        yield Finding(Trouble.AUDIT_OLD, 1, None, First(path=api_path("audit")), text, help_)
    elif last is not None and not last.is_recent(now):
        text = "the last audit is too old"
        yield Finding(Trouble.AUDIT_OLD, 1, last.at, First(path=api_path("audit")), text, help_)


def _because(why: str) -> str:
    return f": {why}" if why else ""
