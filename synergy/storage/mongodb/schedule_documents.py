"""Documents that hold schedules and their versions.

A schedule's `rev` is the `v` of its document (see `journaled`). A document also has `birth`, a
unique id that no later schedule of the same name gets; `edited_by` and `edited_at`, the author and
the time of the last edit; and `is_removed`, which hides it until its last journal entry is written
and it is deleted.
"""

from __future__ import annotations

import secrets

from synergy.model.schedule import Schedule
from synergy.storage import journal_entries
from synergy.storage.instants import micros
from synergy.storage.mongodb import journal, journaled
from synergy.storage.mongodb.database import Doc
from synergy.storage.stored_fields import SCHEDULE, VERSION

schedule_of = SCHEDULE.reads_document(name="_id", rev="v")
version_of = VERSION.reads_document(at="edited_at", who="edited_by")
changes_of = SCHEDULE.writes_document("origin is_enabled reason progress wake_at keys changed_at")
_fields_of = SCHEDULE.writes_document(name="_id", rev="v")
_edit_of = SCHEDULE.writes_document("version definition")


def document_of(schedule: Schedule, who: str) -> Doc:
    """The document of a new schedule, with its pending journal entry."""
    return {
        **_fields_of(schedule),
        "edited_at": micros(schedule.created_at),
        "edited_by": who,
        "birth": secrets.token_hex(8),
        "is_removed": False,
        **journaled.new(journal.document_of(journal_entries.schedule_created(schedule, who))),
    }


def edit_of(schedule: Schedule, at: int, who: str) -> Doc:
    """The fields that a new version changes."""
    return {**_edit_of(schedule), "edited_at": at, "edited_by": who}


def history_of(document: Doc) -> Doc:
    """The document of the present version in the history of versions."""
    return {
        "_id": f"{document['birth']}|{document['version']}",
        "birth": document["birth"],
        "name": document["_id"],
        **{name: document[name] for name in ("version", "definition", "edited_at", "edited_by")},
    }
