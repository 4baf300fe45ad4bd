"""Leases: each step is one compare-and-set."""

from __future__ import annotations

from collections.abc import Mapping

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from synergy.model.lease import Lease
from synergy.storage.mongodb.database import Database, Doc


class MongoLeases:
    """See `synergy.storage.protocol.Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._leases = database["leases"]

    def read(self, name: str) -> Lease | None:
        with self._database.calling():
            return _lease(self._leases.find_one({"_id": name}))

    def take(self, seen: Lease | None, name: str, holder: str) -> Lease | None:
        if seen is None:
            return self._take_first(Lease(name, holder, epoch=1, seq=0))
        return self._swap(
            {**_identity(seen), "_id": name, "seq": seen.seq, "released": seen.released},
            {"$set": {"holder": holder, "seq": 0, "released": False}, "$inc": {"epoch": 1}},
        )

    def renew(self, lease: Lease) -> Lease | None:
        held = {**_identity(lease), "seq": lease.seq, "released": False}
        return self._swap(held, {"$inc": {"seq": 1}})

    def release(self, lease: Lease) -> bool:
        return self._swap(_identity(lease), {"$set": {"released": True}}) is not None

    def _take_first(self, lease: Lease) -> Lease | None:
        fields = {"epoch": lease.epoch, "seq": lease.seq, "released": lease.released}
        with self._database.calling():
            try:
                self._leases.insert_one({"_id": lease.name, "holder": lease.holder, **fields})
            except DuplicateKeyError:
                return None
        return lease

    def _swap(self, expected: Mapping[str, object], change: Mapping[str, object]) -> Lease | None:
        with self._database.calling():
            return _lease(
                self._leases.find_one_and_update(
                    expected, change, return_document=ReturnDocument.AFTER
                )
            )


def _identity(lease: Lease) -> Doc:
    return {"_id": lease.name, "holder": lease.holder, "epoch": lease.epoch}


def _lease(document: Doc | None) -> Lease | None:
    if document is None:
        return None
    name, fields = document["_id"], ("holder", "epoch", "seq", "released")
    return Lease(name, *(document[field] for field in fields))
