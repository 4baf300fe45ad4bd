"""Schedules: many at rest, a thousand due in the same second, and events for many of them.

Half of the schedules at rest are due once a year. The other half wait for an event of their own and
another one that never comes, so that an event changes its schedule and starts no run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta

from bench import others, procfs
from bench.contexts.schedules import AGENT, SINK
from bench.figures import BenchFailed, Figure, percentile
from bench.machine import MIB
from bench.programs import output_of
from bench.receiver import receiving
from bench.stage import Lab, Stage, pause
from synergy.clock import SystemClock
from synergy.commands import events
from synergy.commands.schedules import ScheduleCommands
from synergy.messaging.message import UnitMessage
from synergy.model.actor import Actor
from synergy.model.journal_event import JournalEvent
from synergy.names import DECIDED_EVENT

CONTEXT = "bench.contexts.schedules"
DUE = 1_000  # schedules due in the same second
EVENTS = 20_000
BATCH = 1_000  # schedules, or events, that are stored at once
LEAD = 5.0  # seconds from storing schedules to their due time
IDLE = 10.0  # seconds
AT_REST = 1.0  # per cent of a core
TIMEOUT = 120.0
LEFT_OUT = "left out by --without-others"
_CONTESTANT = "bench.contestants.apscheduler_due"

_actor = Actor("bench", "")
_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """All measurements, most of them with `size` schedules at rest."""
    with lab.stage(CONTEXT, webhook_networks="127.0.0.0/8") as stage:
        few = _idle(stage)
        seconds = _register(stage, size)
        start, memory = _start(stage)
        many = _cpu(stage)
        workers = _due_workers(stage)
        hooks = _due_hooks(stage)
        taken, decided = _events(stage, size)
    rivals = _apscheduler(lab, size)
    return [
        Figure("registering them", size / seconds, "1/s"),
        Figure("start of an agent", start, "s", at_most=10),
        Figure("memory of the agent (RSS)", memory, "MiB", at_most=300),
        Figure("CPU at rest, of one core", many, "%"),
        Figure("the same without schedules", few, "%"),
        *_latencies(f"{DUE:,} due at once to workers' queue", workers, 500),
        *_latencies(f"{DUE:,} due at once to a webhook", hooks, None),
        Figure("events taken durably", taken, "1/s", at_least=5000),
        Figure("events taken and decided", decided, "1/s", at_least=5000),
        *rivals,
    ]


def _latencies(what: str, found: Sequence[float], at_most: float | None) -> list[Figure]:
    return [
        Figure(f"{what}, p50", percentile(found, 50), "ms"),
        Figure(f"{what}, p99", percentile(found, 99), "ms", at_most=at_most),
    ]


# At rest


def _idle(stage: Stage) -> float:
    """The CPU time of an agent without schedules, in per cent of one core."""
    _start(stage)
    cost = _cpu(stage)
    stage.stop()
    return cost


def _start(stage: Stage) -> tuple[float, float]:
    """Seconds until an agent decides, and its memory then, in MiB."""
    seen = stage.store.journal.last_seq()
    began = _clock.monotonic()
    stage.start(AGENT)

    def decides() -> bool:
        entries = stage.store.journal.since(seen, 100)
        return any(entry.event == JournalEvent.AGENT_DECIDES for entry in entries)

    stage.until(decides, "an agent that decides", TIMEOUT, every=0.02)
    seconds = _clock.monotonic() - began
    stage.until(lambda: _cpu(stage, 1.0) < AT_REST, "an agent at rest", TIMEOUT, every=0.0)
    return seconds, procfs.rss_bytes(_agent(stage)) / MIB


def _cpu(stage: Stage, during: float = IDLE) -> float:
    """The CPU time during so many seconds, in per cent of one core."""
    pid = _agent(stage)
    before, began = procfs.scheduled_seconds(pid), _clock.monotonic()
    pause(during)
    return (procfs.scheduled_seconds(pid) - before) / (_clock.monotonic() - began) * 100


def _agent(stage: Stage) -> int:
    return stage.children(AGENT)[-1].pid


def _register(stage: Stage, size: int) -> float:
    """Stores the schedules; returns the seconds that took."""
    began = _clock.monotonic()
    for first in range(0, size, BATCH):
        _add(stage, [_at_rest(number) for number in range(first, min(first + BATCH, size))])
        stage.tell(first, size)
    return _clock.monotonic() - began


def _add(stage: Stage, items: Sequence[Mapping[str, object]]) -> None:
    actions = ScheduleCommands(stage.store, stage.bus, stage.project.deployment)
    actions.create_all(items, _actor, _clock.now(), enable=True)


def _at_rest(number: int) -> dict[str, object]:
    trigger: dict[str, object]
    if number % 2:
        awaited = _clock.now() + timedelta(days=200)
        minute = f"{number % 60} {number // 60 % 24} {number % 28 + 1} {awaited.month} *"
        trigger = {"cron": minute}
    else:
        legs = [_table(_resource(number)), _table("never")]
        trigger = {"all_of": legs}
    return {"name": f"at-rest-{number}", "process": SINK, "trigger": trigger}


def _resource(number: int) -> str:
    return f"table-{number}"


def _table(resource: str) -> dict[str, object]:
    return {"event": {"type": "TABLE", "resource": resource, "life": "1d"}}


# Due at once


def _due_at() -> datetime:
    return (_clock.now() + timedelta(seconds=LEAD)).replace(microsecond=0)


def _due(stage: Stage, prefix: str, due: datetime, program: Mapping[str, object]) -> None:
    trigger = f"cron {due.second} {due.minute} {due.hour} {due.day} {due.month} ?"
    _add(stage, [{"name": f"{prefix}-{n}", "trigger": trigger, **program} for n in range(DUE)])
    if _clock.now() >= due:
        raise BenchFailed(f"storing {DUE} schedules took more than {LEAD:g} s")


def _due_workers(stage: Stage) -> list[float]:
    """Milliseconds from the due time to the commit that takes the message."""
    due = _due_at()
    _due(stage, "worker", due, {"process": SINK})
    deadline = _clock.monotonic() + TIMEOUT
    found: list[float] = []
    with closing(stage.bus.consumer(SINK)) as consumer:
        while len(found) < DUE and _clock.monotonic() < deadline:
            with stage.store.batch() as batch:
                came = consumer.take(DUE, batch)
            late = (_clock.now() - due).total_seconds() * 1000
            found += [late for one in came if isinstance(one.message, UnitMessage)]
            if not came:
                consumer.wait(1.0)
    return _complete(found)


def _due_hooks(stage: Stage) -> list[float]:
    """Milliseconds from the due time to the request at its receiver."""
    with receiving() as receiver:
        due = _due_at()
        _due(stage, "hook", due, {"target": f"http://127.0.0.1:{receiver.port}/"})
        stage.until(lambda: len(receiver.came) >= DUE, "the requests", TIMEOUT)
        return _complete([(at - due).total_seconds() * 1000 for at in receiver.came])


def _complete(found: list[float]) -> list[float]:
    if len(found) != DUE or min(found) < 0:
        raise BenchFailed(f"{len(found)} runs instead of {DUE}, or one before its due time")
    return found


# Events


def _events(stage: Stage, size: int) -> tuple[float, float]:
    """Events a second: stored, and stored and decided."""
    count = min(EVENTS, size // 2)
    began = _clock.monotonic()
    for batch in _batches(count):
        events.record_events(stage.store, stage.bus, batch, _actor, _clock.now())
    taken = _clock.monotonic() - began
    last = stage.store.events.last_seq()
    stage.until(
        lambda: int(stage.store.facts.get(DECIDED_EVENT) or 0) >= last,
        "deciding about events",
        TIMEOUT,
        every=0.02,
    )
    return count / taken, count / (_clock.monotonic() - began)


def _batches(count: int) -> Iterator[list[dict[str, object]]]:
    at = _clock.now().isoformat()
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        yield [
            {"eventType": "TABLE", "eventTimestamp": at, "eventResourceId": _resource(2 * number)}
            for number in numbers
        ]


# APScheduler, for comparison


def _apscheduler(lab: Lab, size: int) -> list[Figure]:
    names = (
        (f"APScheduler in memory, {DUE:,} due at once, p99", "ms"),
        (f"APScheduler in memory, {size:,} cron jobs", "MiB"),
    )
    try:
        found = _rival(lab, size)
    except (others.NotInstalled, BenchFailed) as error:
        return [Figure(name, None, unit, why_not=str(error)) for name, unit in names]
    return [Figure(name, v, unit) for (name, unit), v in zip(names, found, strict=True)]


def _rival(lab: Lab, size: int) -> tuple[float, float]:
    if not lab.with_others:
        raise BenchFailed(LEFT_OUT)
    command = [str(others.python(lab.say)), "-m", _CONTESTANT, str(size), str(DUE)]
    found = json.loads(output_of(command, _CONTESTANT, TIMEOUT, folder=lab.path))
    return found["p99"], found["memory"]
