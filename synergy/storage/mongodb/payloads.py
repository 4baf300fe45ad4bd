"""Bodies that are too long for a row.

A document holds at most 16 MiB, so a body is stored in parts with random ids. The document of its
name is written last and lists its parts, so a reader that finds it finds all parts. If the body is
deleted and stored again meanwhile, the reader finds other parts in the document and tries again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import pymongo

from synergy.storage.mongodb.compare_and_set import insert_new
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.payload import name_of

PART = 8 << 20  # bytes
TIMEOUT_SECONDS = 60  # per body; nothing else waits for it

_PARTS = "payload_parts"


class MongoPayloads:
    """See `synergy.storage.protocol.Payloads`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stuck: set[str] = set()  # parts without a body at the last `recover`

    def put(self, content: bytes) -> str:
        name = name_of(content)
        with self._database.calling(), pymongo.timeout(TIMEOUT_SECONDS):
            payloads = self._database["payloads"]
            if payloads.find_one({"_id": name}) is not None:
                return name
            parts = [self._put(content[at : at + PART]) for at in range(0, len(content), PART)]
            if not insert_new(payloads, [{"_id": name, "parts": parts}]):
                self._delete(parts)
        return name

    def get(self, name: str) -> bytes | None:
        with self._database.calling(), pymongo.timeout(TIMEOUT_SECONDS):
            missed = None
            while (payload := self._database["payloads"].find_one({"_id": name})) is not None:
                wanted = {"_id": {"$in": payload["parts"]}}
                found = {one["_id"]: one["content"] for one in self._database[_PARTS].find(wanted)}
                if len(found) == len(payload["parts"]):
                    return b"".join(found[part] for part in payload["parts"])
                if payload == missed:
                    break
                missed = payload  # deleted since, and perhaps stored again
        return None

    def names(self, after: str) -> list[str]:
        """The names that are greater than `after`, in order."""
        with self._database.calling():
            found = self._database["payloads"].find({"_id": {"$gt": after}}, {"_id": 1})
            return [one["_id"] for one in found.sort("_id", 1)]

    def prune(self, kept: Sequence[str]) -> int:
        with self._database.calling():
            payloads = self._database["payloads"]
            wanted = set(kept)
            old = {one["_id"]: one["parts"] for one in payloads.find() if one["_id"] not in wanted}
            if not old:
                return 0
            deleted = payloads.delete_many({"_id": {"$in": list(old)}}).deleted_count
            self._delete([part for parts in old.values() for part in parts])
        return deleted

    def recover(self) -> int:
        """Deletes parts without a body, if they had none at the last call; returns their number."""
        with self._database.calling():
            parts = (
                self._database[_PARTS].find({}, {"_id": 1}).sort("_id", 1)
            )  # served by the index alone
            orphans = {one["_id"] for one in parts}
            for payload in self._database["payloads"].find():
                orphans.difference_update(payload["parts"])
            left = orphans & self._stuck
            self._stuck = orphans
            self._delete(list(left))
        return len(left)

    def _put(self, content: bytes) -> str:
        part: Doc = {"_id": secrets.token_hex(12), "content": content}
        self._database[_PARTS].insert_one(part)
        return str(part["_id"])

    def _delete(self, parts: Sequence[str]) -> None:
        if parts:
            self._database[_PARTS].delete_many({"_id": {"$in": list(parts)}})
