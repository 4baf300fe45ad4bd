"""Small builders for operations and answers."""

from __future__ import annotations

from typing import Any

from synergy.model.answer import Answer
from synergy.model.operation import Operation
from tests.factories import NOW


def an_operation(id_: str = "o-1", **fields: Any) -> Operation:
    """Returns a requested reprocess that takes long."""
    given = {
        "kind": "reprocess",
        "process": "SiteHourly",
        "request": {"from": "2015051700"},
        "who": "jo (mx)",
        "why": "late data",
        "created_at": NOW,
        **fields,
    }
    return Operation(id=id_, **given)


def an_answer(key: str = "k", person: str = "jo", **fields: Any) -> Answer:
    """Returns an answer to a request that is just beginning."""
    given = {"fingerprint": "f", "owner": "mx-1", "at": NOW, **fields}
    return Answer(person=person, key=key, **given)
