"""Between units of work and the documents that hold them.

Besides the fields of UnitOfWork a document has `number`, the order of creation; `key`, what
it is unique by; `job`; `slot`, its job while it is in progress and its own id otherwise, unique
so that no two units of a job are in progress together; `is_superseded`, that its job has a
newer unit; `v`, which rises with each change but heartbeats, and what else documents have that
tell the journal (see `telling`); and, between the moment a result is committed and the moment
its rows are in place, `ending` (see `conclusions`).

A free run, whose timeperiod has 14 digits, is a job of its own. Units of a store that is older
than `first_claimed_at` do not have it, and are as if they had never been claimed.
"""

from __future__ import annotations

from collections.abc import Mapping

from synergy.model.journal import JournalEntry
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.storage.encoding import instant, instant_or_none, micros, micros_or_none
from synergy.storage.mongodb import journaled
from synergy.storage.mongodb.database import Doc

UNFINISHED = [state.value for state in UnitState if not state.is_finished]

_SAME = (
    "process", "timeperiod", "generation", "start_timeperiod", "end_timeperiod", "start_id",
    "end_id", "attempt", "failures", "owner", "heartbeat", "reason",
)  # fmt: skip
_INSTANTS = ("not_before", "published_at", "started_at", "finished_at", "first_claimed_at")


def document_of(unit: UnitOfWork, number: int, who: str) -> Doc:
    """A new unit, and that the journal is to be told so."""
    fields = {name: getattr(unit, name) for name in _SAME}
    instants = {name: micros_or_none(getattr(unit, name)) for name in _INSTANTS}
    at = micros(unit.created_at)
    created = entry(at, "", unit.state, "", who, unit.attempt) | {"event": "unit.requested"}
    return {
        "_id": unit.id,
        **fields,
        **instants,
        "created_at": at,
        "state": unit.state.value,
        "counts": listed(unit.counts),
        "number": number,
        "key": key_of(unit.process, unit.timeperiod, unit.generation, unit.start_id, unit.end_id),
        "job": job_of(unit),
        "slot": job_of(unit) if unit.state is UnitState.IN_PROGRESS else unit.id,
        "is_superseded": unit.is_of_run,
        "ending": None,
        **journaled.new(created),
    }


def unit_of(document: Doc) -> UnitOfWork:
    """The unit that a document holds."""
    fields: Doc = {name: document[name] for name in _SAME}
    fields |= {name: instant_or_none(document.get(name)) for name in _INSTANTS}
    return UnitOfWork(
        id=document["_id"],
        created_at=instant(document["created_at"]),
        state=UnitState(document["state"]),
        counts={count["name"]: count["n"] for count in document["counts"]},
        **fields,
    )


def key_of(process: str, timeperiod: str, generation: int, start_id: int, end_id: int) -> str:
    """What a unit is unique by."""
    return f"{process}|{timeperiod}|{generation}|{start_id}|{end_id}"


def job_of(unit: UnitOfWork) -> str:
    """The job of a unit, in a word."""
    return unit.id if unit.is_of_run else f"{unit.process}|{unit.timeperiod}"


def listed(counts: Mapping[str, int]) -> list[Doc]:
    """What a unit counted; names are values here, because fields may not be called everything."""
    return [{"name": name, "n": number} for name, number in counts.items()]


def entry(at: int, before: str, after: UnitState, why: str, who: str, attempt: int) -> Doc:
    """What the journal is to be told of a unit, besides what it knows of every unit."""
    return {
        "at": at,
        "event": f"unit.{after.value}",
        "before": before,
        "after": after.value,
        "why": why,
        "who": who,
        "attempt": attempt,
    }


def told(document: Doc, entry: Doc) -> tuple[str, JournalEntry]:
    """An entry of a unit as the journal has it, with its origin."""
    timeperiod = document["timeperiod"]
    return f"unit:{document['_id']}:{entry['v']}", JournalEntry(
        at=instant(entry["at"]),
        event=entry["event"],
        process=document["process"],
        first=timeperiod,
        last=timeperiod,
        before=entry["before"],
        after=entry["after"],
        generation=document["generation"],
        why=entry["why"],
        who=entry["who"],
        unit=document["_id"],
        attempt=entry["attempt"],
    )
