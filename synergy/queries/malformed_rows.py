"""The malformed rows of a store: those that the last check found, and those that reads met.

The collector checks all rows, a portion in each run (`commands.row_check`), and stores its progress
in a fact. A row that was repaired or deleted meanwhile is not returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from synergy.names import ROW_CHECK
from synergy.runtime.fact_text import fact_text
from synergy.storage.malformed import MalformedRow, Name, malformed
from synergy.storage.protocol import StoreView

SHOWN = 200  # rows that are kept, and read again


@dataclass(frozen=True, slots=True)
class RowCheck:
    """The progress of a check: it continues with the rows of `kind` after the key `after`.

    `found` are the malformed rows so far, `before` those of the check before; each has at most
    `SHOWN`.
    """

    kind: str = ""
    after: Name | None = None
    found: tuple[MalformedRow, ...] = ()
    before: tuple[MalformedRow, ...] = ()

    def to_json(self) -> str:
        """The stored form."""
        lists = [[[r.kind, r.name, r.problem] for r in rows] for rows in (self.found, self.before)]
        return orjson.dumps([self.kind, self.after, *lists]).decode()


def row_check(store: StoreView) -> RowCheck:
    """The stored progress; a new check if there is none, or it cannot be read."""
    try:
        kind, after, *lists = orjson.loads(fact_text(store.facts, ROW_CHECK))
        found, before = (
            tuple(MalformedRow(kind, tuple(name), problem) for kind, name, problem in rows)
            for rows in lists
        )
        return RowCheck(kind, after and tuple(after), found, before)
    except (TypeError, ValueError):
        return RowCheck()


def malformed_rows(store: StoreView) -> tuple[MalformedRow, ...]:
    """The rows that are malformed now, each once, as far as they are known; at most `SHOWN`."""
    checked = row_check(store)
    known = {row.key: row for row in (*store.rows.met(), *checked.before, *checked.found)}
    return tuple(_still(store, list(known.values())[:SHOWN]))


def refuse_malformed(store: StoreView, kind: str, *name: str) -> None:
    """Raises Malformed if there is a row of this name, and it is malformed."""
    row = store.rows.find(kind, name)
    if row is not None:
        raise malformed(row)


def _still(store: StoreView, rows: list[MalformedRow]) -> Iterator[MalformedRow]:
    kinds = store.rows.kinds()
    for row in rows:
        if row.kind in kinds and (found := store.rows.find(row.kind, row.name)) is not None:
            yield found
