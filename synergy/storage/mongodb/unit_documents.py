"""Documents that hold units of work.

Besides the fields of UnitOfWork a document has `number`, the order of creation; `key`, what
it is unique by; `job`; `slot`, its job while it is in progress and its own id otherwise, unique
so that no two units of a job are in progress together; `is_superseded`, that its job has a
newer unit; `v`, which rises with each change but heartbeats, and the other fields of documents
that write to the journal (see `journaled`); and, between the moment a result is committed and
the moment its rows are in place, `ending` (see `conclusions`).

A free run, whose timeperiod has 14 digits, is a job of its own. Units of a store that is older
than `first_claimed_at` do not have it, and count as never claimed.
"""

from __future__ import annotations

from synergy.model.journal import JournalEntry, unit_event
from synergy.model.journal_event import JournalEvent
from synergy.model.unit_of_work import RUN_DIGITS, UnitOfWork, UnitState
from synergy.storage.instants import instant
from synergy.storage.mongodb import journaled
from synergy.storage.mongodb.database import Doc
from synergy.storage.stored_fields import UNIT

UNFINISHED = [state.value for state in UnitState if not state.is_finished]

unit_of = UNIT.reads_document(id="_id")
_fields_of = UNIT.writes_document(id="_id")


def document_of(unit: UnitOfWork, number: int, who: str) -> Doc:
    """A new unit, with a journal entry that has yet to be written."""
    document = _fields_of(unit)
    created = entry(document["created_at"], "", unit.state, "", who, unit.attempt)
    created |= {"event": JournalEvent.UNIT_REQUESTED.value}
    return {
        **document,
        **unique_fields(document),
        "number": number,
        "is_superseded": unit.is_of_run,
        **journaled.new(created),
    }


def unique_fields(document: Doc) -> Doc:
    """The fields of a unit that follow from its own: what it is unique by."""
    id_, process, timeperiod = document["_id"], document["process"], document["timeperiod"]
    job = id_ if len(timeperiod) == RUN_DIGITS else f"{process}|{timeperiod}"
    return {
        "key": key_of(document, document["end_id"]),
        "job": job,
        "slot": job if document["state"] == UnitState.IN_PROGRESS.value else id_,
        "ending": None,
    }


def key_of(document: Doc, end_id: int) -> str:
    """What a unit is unique by, with this upper bound."""
    names = ("process", "timeperiod", "generation", "start_id")
    return "|".join(str(document[name]) for name in names) + f"|{end_id}"


def entry(at: int, before: str, after: UnitState, why: str, who: str, attempt: int) -> Doc:
    """A journal entry of a unit, without what is the same in all of its entries."""
    return {
        "at": at,
        "event": unit_event(after).value,
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
