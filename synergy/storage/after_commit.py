"""Calls what is registered for the time after a commit, for all engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def call_all(acts: Iterable[Callable[[], object]]) -> None:
    """Calls all of them, in order, even if one raises; then raises its error.

    The batch is durable whatever they do: a message that could not be sent must not keep a wake-up
    or the end of another write from happening.
    """
    rest = iter(acts)
    try:
        for act in rest:
            act()
    except Exception:
        call_all(rest)
        raise
