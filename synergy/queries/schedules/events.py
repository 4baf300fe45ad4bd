"""Events page by page, newest first, of those that somebody looks for."""

from __future__ import annotations

from collections.abc import Callable

from synergy.model.schedule import Event

SEARCHED = 10_000  # events for one page at most; the page is shorter then, with a next one
_STEP = 1000

Read = Callable[[int, str | None], tuple[list[Event], str | None]]
"""A page of at most so many events, newest first, and the cursor of the next one."""


def matching(
    read: Read, type_: str, text: str, limit: int, cursor: str | None
) -> tuple[list[Event], str | None]:
    """Events of a type that have the text in what they name or in their id; "" is any.

    There is no index of these: a page may hold fewer than it could, even none, and still have a
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
