"""Stored answers. Each step is one compare-and-set statement."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from synergy.model.answer import Answer
from synergy.storage.instants import micros
from synergy.storage.sqlite.columns import answer, answer_row, fetch_one
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries

_SQL = queries("answers")


class SqliteAnswers:
    """See `synergy.storage.protocol.Answers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, answer_: Answer) -> tuple[Answer, bool]:
        with self._database.writing() as connection:
            if fetch_one(connection, _SQL["begin"], answer_row(answer_)) is not None:
                return replace(answer_, rev=1), True
            row = fetch_one(connection, _SQL["get"], (answer_.person, answer_.key))
        assert row is not None, "an answer with this key is stored"
        return answer(row), False

    def change(self, answer_: Answer) -> Answer | None:
        person, key, *fields = answer_row(answer_)
        bindings = (*fields, person, key, answer_.rev)
        changed = self._database.execute_one(_SQL["change"], bindings)
        return None if changed is None else replace(answer_, rev=answer_.rev + 1)

    def drop(self, answer_: Answer) -> bool:
        place = (answer_.person, answer_.key, answer_.rev)
        return self._database.execute_one(_SQL["drop"], place) is not None

    def prune(self, before: datetime, limit: int) -> int:
        return self._database.execute(_SQL["prune"], (micros(before), limit))
