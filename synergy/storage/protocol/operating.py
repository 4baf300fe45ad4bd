"""Operators' switches, leases, boxes, and named strings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from synergy.model.box import Assignment, Box, ObservedProcess
from synergy.model.lease import Lease
from synergy.model.process_control import ProcessControl


class ReadableControls(Protocol):
    """The switches and trigger frequencies that operators set at run time, by process."""

    def all(self) -> dict[str, ProcessControl]: ...


class Controls(ReadableControls, Protocol):
    """Switches and trigger frequencies, read and set."""

    def set_on(self, process: str, is_on: bool, who: str, why: str, now: datetime) -> None:
        """Switches a process. Journal `process.on` or `process.off`."""
        ...

    def set_trigger(self, process: str, trigger: str, who: str, why: str, now: datetime) -> None:
        """Sets a trigger frequency; leaves the switch. Journal `process.trigger_frequency`."""
        ...


class ReadableLeases(Protocol):
    """Leases by name; see `runtime.leadership` for their meaning."""

    def read(self, name: str) -> Lease | None: ...

    def all(self, family: str) -> list[Lease]:
        """The leases whose names begin with `family`, ordered by name."""
        ...


class Leases(ReadableLeases, Protocol):
    """Leases, read and held; every change is a compare-and-set."""

    def take(self, seen: Lease | None, name: str, holder: str) -> Lease | None:
        """Gives the lease to `holder`, with epoch + 1 and seq 0, if it is still as `seen`.

        None as `seen` stands for a lease that does not exist; its first epoch is 1. Returns None if
        the lease is not as `seen`.
        """
        ...

    def renew(self, lease: Lease) -> Lease | None:
        """The lease with seq + 1; None if it was released, or holder, epoch or seq have changed."""
        ...

    def renew_all(self, leases: Sequence[Lease]) -> list[Lease]:
        """Renews many in one step, each independently; returns the renewed ones."""
        ...

    def release(self, lease: Lease) -> bool:
        """Releases the lease if holder and epoch are unchanged, whatever its seq is.

        Returns whether it did.
        """
        ...


class ReadableBoxes(Protocol):
    """Which processes are assigned to which box, and what each box reported."""

    def assignments(self, box: str | None = None) -> list[Assignment]: ...

    def observed(self, box: str | None = None) -> list[ObservedProcess]: ...

    def all(self) -> list[Box]: ...


class Boxes(ReadableBoxes, Protocol):
    """Boxes, read, assigned, switched and reported."""

    def assign(self, box: str, processes: Sequence[str]) -> list[str]:
        """Adds missing assignments, switched on; returns the added ones, leaves the others."""
        ...

    def switch(
        self, box: str, process: str, is_on: bool, who: str, now: datetime, why: str = ""
    ) -> bool:
        """Switches an assignment; False if there is none.

        Journal `box.process_on` or `box.process_off`; the reason begins with the box and ends
        with `why`.
        """
        ...

    def report(self, box: str, observed: Sequence[ObservedProcess], now: datetime) -> None:
        """Replaces the observed processes of the box, and records the time of the report."""
        ...


class ReadableFacts(Protocol):
    """Named strings: the timetable's start, the deployment's id, cursors."""

    def get(self, name: str) -> str | None: ...


class Facts(ReadableFacts, Protocol):
    """Named strings, read and set."""

    def set(self, name: str, value: str) -> None: ...

    def set_default(self, name: str, value: str) -> str:
        """Stores `value` unless the name has one; returns the stored value."""
        ...
