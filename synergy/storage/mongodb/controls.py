"""What operators set at run time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from synergy.model.control import ProcessControl
from synergy.model.journal import JournalEntry
from synergy.storage.mongodb.database import Database
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.mongodb.numbers import upsert
from synergy.storage.nouns import CONTROL

_control_of = CONTROL.reads_document(process="_id", trigger_frequency="trigger")
_WORDS = {None: "", False: "off", True: "on"}


class MongoControls:
    """See `synergy.storage.protocol.Controls`."""

    def __init__(self, database: Database, journal: MongoJournal) -> None:
        self._database = database
        self._journal = journal
        self._controls = database["controls"]

    def all(self) -> dict[str, ProcessControl]:
        with self._database.calling():
            found = list(self._controls.find())
        return {control["_id"]: _control_of(control) for control in found}

    def set_on(self, process: str, is_on: bool, who: str, why: str, now: datetime) -> None:
        before, word = _WORDS[self._set(process, "is_on", is_on)], _WORDS[is_on]
        self._journal.append(
            [JournalEntry(now, f"process.{word}", process, "", "", before, word, 0, why, who)]
        )

    def set_trigger(self, process: str, trigger: str, who: str, why: str, now: datetime) -> None:
        before, event = self._set(process, "trigger", trigger) or "", "process.trigger_frequency"
        self._journal.append(
            [JournalEntry(now, event, process, "", "", before, trigger, 0, why, who)]
        )

    def _set(self, process: str, field: str, value: object) -> Any:
        """What the field was before."""
        with self._database.calling():
            before = upsert(self._controls, process, {"$set": {field: value}})
        return (before or {}).get(field)
