"""Events by page, newest first, filtered by type and text."""

from __future__ import annotations

from collections.abc import Callable

from synergy.model.schedule import Event

SEARCHED = 10_000  # events for one page at most; the page is shorter then, with a next one
_STEP = 1000

Read = Callable[[int, str | None], tuple[list[Event], str | None]]
"""Returns a page of at most `limit` events, newest first, and the cursor of the next one."""


def matching(
    read: Read, type_: str, text: str, limit: int, cursor: str | None
) -> tuple[list[Event], str | None]:
    """Events of a type with the text in their resource or id; "" means any.

    Neither has an index: a page may have fewer events than `limit`, even none, and still have a
    next one.
    """
    if not (type_ or text):
        return read(limit, cursor)
    found: list[Event] = []
    at, wanted = cursor, text.lower()
    for _ in range(0, SEARCHED, _STEP):
        events, at = read(_STEP, at)
        found += [
            event
            for event in events
            if type_ in ("", event.type)
            and (wanted in event.resource.lower() or wanted in event.id.lower())
        ]
        if len(found) > limit:
            return found[:limit], str(found[limit - 1].seq)
        if at is None:
            break
    return found, at
