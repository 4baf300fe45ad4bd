"""What operators set, who holds what, which boxes there are, and a few facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from synergy.model.box import Assignment, Box, ObservedProcess
from synergy.model.control import ProcessControl
from synergy.model.lease import Lease


class Controls(Protocol):
    """What an operator set at run time for a process."""

    def all(self) -> dict[str, ProcessControl]: ...

    def set_on(self, process: str, is_on: bool, who: str, why: str, now: datetime) -> None:
        """Journal `process.on` or `process.off`."""
        ...

    def set_trigger(self, process: str, trigger: str, who: str, why: str, now: datetime) -> None:
        """Journal `process.trigger_frequency`; also switches nothing off."""
        ...


class Leases(Protocol):
    """Compare-and-set on (holder, epoch, seq); see `runtime.leadership` for the meaning."""

    def read(self, name: str) -> Lease | None: ...

    def all(self, family: str) -> list[Lease]:
        """Those whose names begin with `family`, by name."""
        ...

    def take(self, seen: Lease | None, name: str, holder: str) -> Lease | None:
        """Makes `holder` the holder, epoch + 1, if the lease is still exactly as `seen`."""
        ...

    def renew(self, lease: Lease) -> Lease | None:
        """The same with seq + 1, if holder, epoch and seq are still these; None if not."""
        ...

    def renew_all(self, leases: Sequence[Lease]) -> list[Lease]:
        """The same for many in one step, each on its own; returns those that were renewed."""
        ...

    def release(self, lease: Lease) -> bool:
        """Gives it up, if holder and epoch are still these."""
        ...


class Boxes(Protocol):
    """Which process belongs where, and what was observed there."""

    def assign(self, box: str, processes: Sequence[str]) -> list[str]:
        """Adds missing assignments, switched on; returns those added. Changes no other."""
        ...

    def assignments(self, box: str | None = None) -> list[Assignment]: ...

    def switch(
        self, box: str, process: str, is_on: bool, who: str, now: datetime, why: str = ""
    ) -> bool:
        """False if there is no such assignment. Journal `box.process_on` or `box.process_off`.

        The journal's reason begins with the box, and ends with `why`.
        """
        ...

    def report(self, box: str, observed: Sequence[ObservedProcess], now: datetime) -> None:
        """Replaces what was observed on the box, and notes that it was seen."""
        ...

    def observed(self, box: str | None = None) -> list[ObservedProcess]: ...

    def all(self) -> list[Box]: ...


class Facts(Protocol):
    """A few named strings: the timetable's start, the deployment's id, cursors."""

    def get(self, name: str) -> str | None: ...

    def set(self, name: str, value: str) -> None: ...

    def set_default(self, name: str, value: str) -> str:
        """Stores `value` unless there is one; returns the one that is stored."""
        ...
