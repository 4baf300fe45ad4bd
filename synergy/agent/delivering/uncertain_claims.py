"""Claims whose write was not confirmed."""

from __future__ import annotations

from collections.abc import Container, Iterable

from synergy.clock import Clock
from synergy.model.schedule import Run, RunState
from synergy.storage.protocol import Runs

UNCERTAIN_SECONDS = 10.0  # how long a write whose answer was lost may still take effect


class UncertainClaims:
    """The uncertain claims of one agent, until the store has them or can no longer write them."""

    def __init__(self, runs: Runs, clock: Clock, owner: str) -> None:
        self._runs = runs
        self._clock = clock
        self._owner = owner
        self._until: dict[str, float] = {}  # by run, monotonic

    def __bool__(self) -> bool:
        return bool(self._until)

    def add(self, runs: Iterable[str]) -> None:
        self._until.update(dict.fromkeys(runs, self._clock.monotonic() + UNCERTAIN_SECONDS))

    def confirmed(self, in_flight: Container[str]) -> list[Run]:
        """Removes and returns the claims that the store has, except those in flight.

        Claims in flight, and those that the store can no longer write, are removed as well.
        """
        if not self._until:
            return []
        rows = self._runs.get(list(self._until))
        found = [run for run in rows if is_held(run, self._owner) and run.id not in in_flight]
        now = self._clock.monotonic()
        settled = {run.id for run in found}
        self._until = {
            run: until
            for run, until in self._until.items()
            if until > now and run not in settled and run not in in_flight
        }
        return found


def is_held(run: Run, owner: str) -> bool:
    """Whether the owner holds the claim of a launched run."""
    return (run.state, run.owner) == (RunState.LAUNCHED, owner)
