"""Copies a store into another one, of any engine (`store backup` is in the engines).

All records of the source are written into the target by kind and in portions. The progress is a
fact of the target, from which a repeated copy of the same source continues. A portion may be
written twice without harm, so the fact may lag behind. At the end both stores are compared record
by record, and the target may be used only if all are equal; until then it cannot be opened for
work (`store_copy_state`).

The source must not be used meanwhile: processes that use it are found at the beginning
(`store_usage`), changes at the end. A lease of the target prevents a second copy, and stops a
paused copy from writing into a store that is in use by now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import Self

import orjson

from synergy.clock import Clock
from synergy.commands.store_copy_state import State, state_of
from synergy.commands.store_usage import refuse_while_in_use
from synergy.errors import Refused, StorageUnavailable
from synergy.names import STORE_COPY
from synergy.program import PROGRAM
from synergy.runtime import identity
from synergy.runtime.leadership import Leadership
from synergy.storage.copy_records import KINDS, PORTION, beginning, key_of, line, portion
from synergy.storage.protocol import Record, Store

Show = Callable[[int, int], None]
"""Called with the number of records done, and of all."""


@dataclass(frozen=True, slots=True)
class Side:
    """The records of a kind in one of the stores."""

    records: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A kind in both stores; `differs` is the key of the first record that differs."""

    kind: str
    source: Side
    target: Side
    differs: str | None

    @property
    def is_equal(self) -> bool:
        return self.source == self.target


def standing(target: Store, place: str, source: str) -> State | None:
    """The progress of a copy of `source` in the target at `place`; None if it did not begin.

    Raises Refused if the target holds anything else.
    """
    state = state_of(target)
    if state is None:
        if any(next(_records(target, kind), None) for kind in KINDS):
            raise Refused(f"{place} is not empty: copy into a new store")
    elif state.is_complete:
        raise Refused(f"{place} is a complete copy of {state.source} already")
    elif state.source != source:
        raise Refused(
            f"{place} is an unfinished copy of {state.source}: continue that one, or empty it "
            f"with `{PROGRAM} store reset`"
        )
    return state


class StoreCopy:
    """A copy from one store into another; as a context, it holds the lease of the target.

    `places` are the places of source and target.
    """

    def __init__(self, source: Store, target: Store, places: tuple[str, str], clock: Clock) -> None:
        self._source = source
        self._target = target
        self._places = places
        self._leadership = Leadership(target.leases, clock, STORE_COPY, str(identity.incarnation()))
        self._total = 0

    def __enter__(self) -> Self:
        self._leadership.tick()
        refuse_while_in_use(self._target, self._places[1])
        self._leadership.tick()
        if not (self._leadership.is_free(STORE_COPY) and self._leadership.take(STORE_COPY)):
            raise self._lost()
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(StorageUnavailable):
            self._leadership.resign()

    def copy(self, show: Show) -> int:
        """Writes the records that the target does not have yet; returns their number."""
        source, target = self._places
        for _ in range(2):  # the second finds what dead writers left half done
            self._source.recover()
        self._total = sum(self._source.transfer.counts().values())
        state = standing(self._target, target, source)
        if state is None:
            first = next(iter(KINDS))
            state = State(source, first, list(beginning(first)))
            self._keep(state)
        began = state.done
        kinds = list(KINDS)
        for kind in kinds[kinds.index(state.kind) :]:
            if kind != state.kind:
                state = replace(state, kind=kind, after=list(beginning(kind)))
            state = self._copy_kind(state, show)
        return state.done - began

    def compare(self, show: Show) -> list[Compared]:
        """Reads both stores; marks the target as a complete copy if they are equal."""
        found: list[Compared] = []
        done = 0
        for kind in KINDS:
            found.append(self._compare_kind(kind, done, show))
            done += found[-1].source.records
        if all(one.is_equal for one in found):
            *_, last = KINDS
            self._keep(State(self._places[0], last, [], done, is_complete=True))
        return found

    def _copy_kind(self, state: State, show: Show) -> State:
        kind = state.kind
        found = self._source.transfer.read(kind, tuple(state.after))
        while records := portion(found):
            after = list(key_of(kind, records[-1]))
            state = replace(state, after=after, done=state.done + len(records))
            self._keep(state, records)
            show(state.done, self._total)
        return state

    def _keep(self, state: State, records: Iterable[Record] = ()) -> None:
        self._hold()
        with self._target.batch():
            self._target.transfer.write(state.kind, list(_copied(state.kind, records)))
            self._target.facts.set(STORE_COPY, orjson.dumps(asdict(state)).decode())

    def _compare_kind(self, kind: str, done: int, show: Show) -> Compared:
        source, target = _Sum(), _Sum()
        differs: str | None = None
        for ours, theirs in zip_longest(_records(self._source, kind), _records(self._target, kind)):
            source.add(ours)
            target.add(theirs)
            if differs is None and ours != theirs:
                keys = [key_of(kind, record) for record in (ours, theirs) if record is not None]
                differs = " ".join(map(str, min(keys)))
            if source.records % PORTION == 0:
                self._hold()
                show(done + source.records, self._total)
        return Compared(kind, source.side(), target.side(), differs)

    def _hold(self) -> None:
        """Renews the lease of the target; raises Refused if it was lost."""
        if self._leadership.due_in() <= 0:
            self._leadership.tick()
        if not self._leadership.is_held(STORE_COPY):
            raise self._lost()

    def _lost(self) -> Refused:
        return Refused(f"another process copies into {self._places[1]}")


class _Sum:
    """Counts records and computes their checksum."""

    def __init__(self) -> None:
        self.records = 0
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, record: Record | None) -> None:
        """Adds a record; None is no record."""
        if record is not None:
            self.records += 1
            self._hash.update(line(record))

    def side(self) -> Side:
        return Side(self.records, self._hash.hexdigest())


def _records(store: Store, kind: str) -> Iterator[Record]:
    return _copied(kind, store.transfer.read(kind, beginning(kind)))


def _copied(kind: str, records: Iterable[Record]) -> Iterator[Record]:
    """The records, without the fact with the progress of the copy."""
    return (one for one in records if not (kind == "facts" and one["name"] == STORE_COPY))
