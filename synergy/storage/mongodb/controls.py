"""Settings of processes that operators change at run time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from synergy.model.process_control import ProcessControl
from synergy.storage.journal_entries import process_switched, trigger_changed
from synergy.storage.mongodb.counters import upsert
from synergy.storage.mongodb.database import Database
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.stored_fields import CONTROL

control_of = CONTROL.reads_document(process="_id", trigger_frequency="trigger")


class MongoControls:
    """See `synergy.storage.protocol.Controls`."""

    def __init__(self, database: Database, journal: MongoJournal) -> None:
        self._database = database
        self._journal = journal
        self._controls = database["controls"]

    def all(self) -> dict[str, ProcessControl]:
        with self._database.calling():
            found = list(self._controls.find())
        return {one.process: one for one in control_of.each(found, self._database.malformed)}

    def set_on(self, process: str, is_on: bool, who: str, why: str, now: datetime) -> None:
        was_on = self._set(process, "is_on", is_on)
        self._journal.append([process_switched(process, was_on, is_on, who, why, now)])

    def set_trigger(self, process: str, trigger: str, who: str, why: str, now: datetime) -> None:
        before = self._set(process, "trigger", trigger)
        self._journal.append([trigger_changed(process, before, trigger, who, why, now)])

    def _set(self, process: str, field: str, value: object) -> Any:
        """Sets a field; returns its value before."""
        with self._database.calling():
            before = upsert(self._controls, process, {"$set": {field: value}})
        return (before or {}).get(field)
