"""Checks of the journal of runs."""

from __future__ import annotations

from collections import Counter

from synergy.lifecycle.legal_moves import RUN_MOVES
from synergy.storage.protocol import Store

_MOVES = {
    (before.value, after.value) for befores, after in RUN_MOVES.values() for before in befores
}


def assert_legal(store: Store) -> None:
    """Each run is journaled from its start, makes legal moves, and is launched at most once."""
    known: dict[str, str] = {}
    launches: Counter[str] = Counter()
    seq = 0
    while entries := store.journal.since(seq, 5000):
        seq = entries[-1].seq
        for entry in entries:
            if not entry.event.startswith("run."):
                continue
            run = entry.unit or ""
            before = known.get(run, "")
            assert (before, entry.event) == (entry.before, f"run.{entry.after}"), entry
            assert not before or (before, entry.after) in _MOVES, entry
            known[run] = entry.after
            launches[run] += entry.after == "launched"
    runs, cursor = store.runs.find(limit=100_000)
    assert cursor is None
    assert known == {run.id: run.state.value for run in runs}
    assert set(launches.values()) <= {0, 1}
