"""The state of a schedule between two decisions, and the result of a decision.

All values can be written as JSON, because they are stored in the schedule's row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from synergy.lifecycle.legal_moves import RunMove
from synergy.model.schedule import RunKind
from synergy.schedule.format.literals import spelled_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """An event from outside, or the end of a run or job, as triggers see it.

    `stream` is where `seq` counts: `events`, or the `journal` for ended runs and jobs. `part`
    numbers the occurrences of one entry: a journal entry of neighbouring jobs is one occurrence for
    each job, parts 0, 1, ... in order. `at` is the event's own timestamp, or the time of the
    entry. `partitions` belongs to events of type PARTITION, the fields after it to ended runs and
    jobs; `generation` is 0 except for jobs. `received_at` is when it became known, `at` if None.
    """

    stream: str
    seq: int
    part: int = 0
    id: str
    key: str
    type: str
    resource: str
    at: datetime
    received_at: datetime | None = None
    partitions: int = 1
    process: str = ""
    status: str = ""
    timeperiod: str = ""
    start: str = ""
    end: str = ""
    generation: int = 0

    @property
    def number(self) -> str:
        """The unique number of the occurrence, as a key: `e7`, `j8.0`."""
        return f"e{self.seq}" if self.stream == "events" else f"j{self.seq}.{self.part}"


@dataclass(frozen=True, slots=True)
class Met:
    """The stored state of one leaf of the trigger.

    For a dependency with a lifetime: the newest timestamp and that event's id; for a partition leg:
    the sum so far; for any other leg: the instant at which it was met.
    """

    at: datetime
    count: int = 1
    event: str = ""


@dataclass(frozen=True, slots=True)
class Collecting:
    """The one job of a schedule that is in `pending_trigger`.

    `number` is that of the occurrence that opened it, and its run's key is `events:<number>`: `e7`
    for event 7, `j8.0` for part 0 of journal entry 8, an instant for a due time. `since` is when it
    was opened; `cause` is what it has collected, as `Made.cause`.
    """

    number: str
    since: datetime
    cause: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OldPeriods:
    """The numbers of ends of old periods that have counted since `since`; see `old_periods`."""

    since: datetime
    first: int = 0
    repeated: int = 0

    def count(self, *, is_repeated: bool) -> int:
        """The number of repeated ends, or of first ones."""
        return self.repeated if is_repeated else self.first

    def counting(self, more: int, *, is_repeated: bool) -> OldPeriods:
        """The numbers with `more` ends added."""
        if is_repeated:
            return replace(self, repeated=self.repeated + more)
        return replace(self, first=self.first + more)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressState:
    """The progress of a schedule.

    `begun` is when it was created, edited or enabled, at `version`; `life` is the version that it
    was created at, 1 unless the name was used before. `last_due` is the last processed due time, or
    `begun`; it never goes back. `met` is the state of the trigger's leaves by path, and
    `emptied_at` when that was last cleared: by a run, by a timeout, or at the beginning. `done` are
    the paths of one-off legs that were due, and `first` after the run of `first_run: immediately`.
    `runs` counts the runs of a schedule with `max_runs`; those that are skipped or aborted are
    taken off again.
    `last_execution` is the timestamp of the event that last ran a schedule of events with
    lifetimes; `last_run_at` is when a run was last made.
    `seen_events` and `seen_journal` are the numbers of the newest occurrences that counted;
    `seen_part` is the part of that journal entry, None for all of it. `old` counts ends of old
    periods.
    """

    begun: datetime
    version: int = 1
    life: int = 1
    last_due: datetime
    emptied_at: datetime
    met: Mapping[str, Met] = field(default_factory=dict)
    collecting: Collecting | None = None
    done: tuple[str, ...] = ()
    runs: int = 0
    last_execution: datetime | None = None
    last_run_at: datetime | None = None
    seen_events: int = 0
    seen_journal: int = 0
    seen_part: int | None = None
    old: OldPeriods | None = None

    def has_seen(self, occurrence: Occurrence) -> bool:
        """Whether the occurrence counted before, or is from before the schedule began."""
        if occurrence.stream == "events":
            return occurrence.seq <= self.seen_events
        if occurrence.seq != self.seen_journal:
            return occurrence.seq < self.seen_journal
        return self.seen_part is None or occurrence.part <= self.seen_part

    def seeing(self, occurrence: Occurrence) -> ProgressState:
        """The progress with the occurrence marked as seen."""
        if occurrence.stream == "events":
            return replace(self, seen_events=occurrence.seq)
        return replace(self, seen_journal=occurrence.seq, seen_part=occurrence.part)

    def without_runs(self, number: int) -> ProgressState:
        """The progress with so many runs less."""
        return replace(self, runs=max(0, self.runs - number))

    def to_json(self) -> dict[str, object]:
        """The JSON value that `from_json` reads back; empty fields are left out."""
        written: dict[str, object] = {
            "begun": spelled_instant(self.begun),
            "version": self.version,
            "life": self.life if self.life > 1 else None,
            "last_due": spelled_instant(self.last_due),
            "emptied_at": spelled_instant(self.emptied_at),
            "met": {
                path: {"at": spelled_instant(met.at), "count": met.count, "event": met.event}
                for path, met in self.met.items()
            },
            "collecting": self.collecting
            and {
                "number": self.collecting.number,
                "since": spelled_instant(self.collecting.since),
                "cause": dict(self.collecting.cause),
            },
            "done": list(self.done),
            "runs": self.runs or None,
            "last_execution": self.last_execution and spelled_instant(self.last_execution),
            "last_run_at": self.last_run_at and spelled_instant(self.last_run_at),
            "seen_part": self.seen_part,
            "old": self.old
            and {
                "since": spelled_instant(self.old.since),
                "first": self.old.first,
                "repeated": self.old.repeated,
            },
        }
        kept = {name: value for name, value in written.items() if value not in (None, {}, [])}
        return {**kept, "seen_events": self.seen_events, "seen_journal": self.seen_journal}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> ProgressState:
        """The progress in a value of `to_json`; others raise KeyError, TypeError or ValueError."""
        return cls(
            begun=_instant(data["begun"]),
            version=_number(data["version"]),
            life=_number(data.get("life", 1)),
            last_due=_instant(data["last_due"]),
            emptied_at=_instant(data["emptied_at"]),
            met={path: _met(_mapping(met)) for path, met in _mapping(data.get("met")).items()},
            collecting=_collecting(_mapping(data.get("collecting"))),
            done=tuple(str(path) for path in _list(data.get("done"))),
            runs=_number(data.get("runs", 0)),
            last_execution=_optional(data.get("last_execution")),
            last_run_at=_optional(data.get("last_run_at")),
            seen_events=_number(data["seen_events"]),
            seen_journal=_number(data["seen_journal"]),
            seen_part=_number(data["seen_part"]) if "seen_part" in data else None,
            old=_old(_mapping(data.get("old"))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A run that a decision makes, or the record of a skipped one.

    `key` is unique within the schedule for good: a decision that is repeated makes one run.
    `ended_by` is the move that ends it immediately, for the `reason`; None for a pending one.
    `created_at` is when the pending job began. `cause` is JSON: the newest `events` by id and their
    `count`; `process`, `status`, `timeperiod`, `start`, `end` and `generation` of the run or job
    that ended last; `due` and `remark` of a due time; `until`, if the record stands for all due
    times up to then; `count` and `periods`, if it stands for periods that triggered nothing.
    A run that is `in_turn` is one of several of a catch-up, and waits for the one before it.
    """

    key: str
    due_at: datetime
    ended_by: RunMove | None = None
    reason: str = ""
    created_at: datetime
    cause: Mapping[str, object] = field(default_factory=dict)
    in_turn: bool = False

    @property
    def kind(self) -> RunKind | None:
        """The kind of the run, from its key."""
        return RunKind.of(self.key)


@dataclass(frozen=True, slots=True)
class Step:
    """A decision about a schedule: its new progress, and the runs that it makes.

    `joined` are occurrences that join the run that waits.
    """

    progress: ProgressState
    made: tuple[Made, ...] = ()
    joined: tuple[Occurrence, ...] = ()


def _instant(text: object) -> datetime:
    return datetime.fromisoformat(str(text)).astimezone(UTC)


def _optional(text: object) -> datetime | None:
    return None if text is None else _instant(text)


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"expected a whole number, not {value!r}")
    return value


def _mapping(value: object) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a mapping, not {value!r}")
    return value


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _met(data: Mapping[str, object]) -> Met:
    return Met(_instant(data["at"]), _number(data["count"]), str(data["event"]))


def _collecting(data: Mapping[str, object]) -> Collecting | None:
    if not data:
        return None
    return Collecting(str(data["number"]), _instant(data["since"]), dict(_mapping(data["cause"])))


def _old(data: Mapping[str, object]) -> OldPeriods | None:
    if not data:
        return None
    return OldPeriods(_instant(data["since"]), _number(data["first"]), _number(data["repeated"]))
