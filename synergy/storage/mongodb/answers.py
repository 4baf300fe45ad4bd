"""Stored answers. Each step is one compare-and-set on the version that was seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import orjson

from synergy.model.answer import Answer
from synergy.storage.instants import micros
from synergy.storage.mongodb.compare_and_set import insert_new
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.numbered_documents import delete_oldest
from synergy.storage.stored_fields import ANSWER

answer_of = ANSWER.reads_document(rev="v")
_fields_of = ANSWER.writes_document(rev="v")


class MongoAnswers:
    """See `synergy.storage.protocol.Answers`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._answers = database["answers"]

    def begin(self, answer: Answer) -> tuple[Answer, bool]:
        document = {**_fields_of(answer), "_id": answer_id(answer.person, answer.key), "v": 1}
        with self._database.calling():
            while not insert_new(self._answers, [document]):
                found = self._answers.find_one({"_id": document["_id"]})
                if found is not None:  # else it was dropped just now
                    return answer_of(found), False
        return replace(answer, rev=1), True

    def change(self, answer: Answer) -> Answer | None:
        rev = answer.rev + 1
        change = {"$set": {**_fields_of(answer), "v": rev}}
        with self._database.calling():
            done = self._answers.update_one(_seen(answer), change).matched_count
        return replace(answer, rev=rev) if done else None

    def drop(self, answer: Answer) -> bool:
        with self._database.calling():
            return self._answers.delete_one(_seen(answer)).deleted_count == 1

    def prune(self, before: datetime, limit: int) -> int:
        with self._database.calling():
            return delete_oldest(self._answers, {"at": {"$lt": micros(before)}}, "at", limit)


def answer_id(person: str, key: str) -> str:
    """The id of an answer's document, unique for each pair."""
    return orjson.dumps([person, key]).decode()


def _seen(answer: Answer) -> Doc:
    return {"_id": answer_id(answer.person, answer.key), "v": answer.rev}
