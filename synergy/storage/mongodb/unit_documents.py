"""Documents that hold units of work.

Besides the fields of UnitOfWork a document has these:

- `number`, the order of creation;
- `key`, the fields by which it is unique;
- `job`, its job, by process and timeperiod;
- `slot`, the job while the unit is in progress, the unit's id otherwise: unique, so that at most
  one unit of a job is in progress;
- `is_superseded`, whether its job has a newer unit; always true for a free run;
- `ending`, its conclusion while the rows of its result are being shown (see `conclusions`);
- the fields of journaled documents (see `journaled`); `v` rises with each compare-and-set, but not
  with heartbeats.

A free run, whose timeperiod has 14 digits, is a job of its own. Units that older versions created
may lack `first_claimed_at`; they count as never claimed.
"""

from __future__ import annotations

from synergy.model.journal import JournalEntry, unit_event
from synergy.model.journal_event import JournalEvent
from synergy.model.unit_of_work import RUN_DIGITS, UnitOfWork, UnitState
from synergy.runtime.masking import mask
from synergy.storage.instants import instant
from synergy.storage.mongodb import journaled
from synergy.storage.mongodb.database import Doc
from synergy.storage.stored_fields import UNIT

UNFINISHED = [state.value for state in UnitState if not state.is_finished]

unit_of = UNIT.reads_document(id="_id")
_fields_of = UNIT.writes_document(id="_id")


def document_of(unit: UnitOfWork, number: int, who: str) -> Doc:
    """The document of a new unit, with its pending journal entry."""
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
    """The fields that follow from the unit's own: its key, job and slot, and no ending."""
    id_, process, timeperiod = document["_id"], document["process"], document["timeperiod"]
    job = id_ if len(timeperiod) == RUN_DIGITS else f"{process}|{timeperiod}"
    return {
        "key": key_of(document, document["end_id"]),
        "job": job,
        "slot": job if document["state"] == UnitState.IN_PROGRESS.value else id_,
        "ending": None,
    }


def key_of(document: Doc, end_id: int) -> str:
    """The key of a unit with the given upper bound."""
    names = ("process", "timeperiod", "generation", "start_id")
    return "|".join(str(document[name]) for name in names) + f"|{end_id}"


def entry(at: int, before: str, after: UnitState, why: str, who: str, attempt: int) -> Doc:
    """A pending journal entry of a unit, without the fields that all its entries share."""
    return {
        "at": at,
        "event": unit_event(after).value,
        "before": before,
        "after": after.value,
        "why": mask(why),
        "who": who,
        "attempt": attempt,
    }


def journal_entry(document: Doc, entry: Doc) -> tuple[str, JournalEntry]:
    """Converts a pending entry of a unit: returns its origin and the journal's entry."""
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
