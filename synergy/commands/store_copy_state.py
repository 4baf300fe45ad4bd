"""How far a store that is a copy of another one got; an unfinished copy is refused.

Every process reads it when it opens a store.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from synergy.errors import Refused
from synergy.names import STORE_COPY
from synergy.program import PROGRAM
from synergy.storage.protocol import StoreView


@dataclass(frozen=True, slots=True)
class State:
    """The progress of a store that is a copy of the one at `source`.

    All records of the kinds before `kind` were copied, and of this one those up to `after`; `done`
    is their number.
    """

    source: str
    kind: str
    after: list[str | int]
    done: int = 0
    is_complete: bool = False


def state_of(store: StoreView) -> State | None:
    """The progress of a store that is a copy; None for any other store."""
    text = store.facts.get(STORE_COPY)
    return None if text is None else State(**orjson.loads(text))


def refuse_unfinished(store: StoreView) -> None:
    """Raises Refused if the store is a copy that is not complete."""
    state = state_of(store)
    if state is not None and not state.is_complete:
        raise Refused(
            f"this store is an unfinished copy of {state.source}: continue with the same "
            f"`{PROGRAM} store copy`, or empty it with `{PROGRAM} store reset`"
        )
