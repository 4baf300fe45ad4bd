"""Every error that Synergy raises on purpose.

An engine translates its driver's errors into these, so that no module above storage and
messaging names a driver. Some errors carry their facts as fields; the message is written for
the person who has to act on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from synergy.program import PROGRAM


class SynergyError(Exception):
    """Something went wrong that Synergy knows by name."""


class ConfigurationError(SynergyError):
    """Settings or context are wrong; `mistakes` lists all of them at once."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


class InvalidValue(SynergyError):
    """A value from outside (a timeperiod, a trigger, a range) is not what was expected."""


class NotFound(SynergyError):
    """There is no such process, timeperiod, unit or other thing."""

    def __init__(self, kind: str, key: str, hint: str = "") -> None:
        super().__init__(f"no such {kind}: {key}" + (f"; {hint}" if hint else ""))
        self.kind = kind
        self.key = key


class Refused(SynergyError):
    """The request is valid, but the present state of things does not allow it."""


class Malformed(Refused):
    """The stored row that was asked for cannot be read."""

    def __init__(self, kind: str, name: str, problem: str) -> None:
        super().__init__(
            f"the row {name} of {kind} is malformed ({problem}): {PROGRAM} store check lists all "
            "malformed rows; docs/operations.md says how to repair one"
        )


class IllegalMove(Refused):
    """A state machine was asked for a move that its table does not contain."""

    def __init__(self, subject: str, state: str, move: str) -> None:
        super().__init__(f"{subject} is {state}: {move} is not possible")
        self.state = state
        self.move = move


class LostAttempt(SynergyError):
    """The worker no longer holds the unit.

    It was canceled, timed out, started over, handed out again or given back.
    """


class LostLease(SynergyError):
    """A lease that was held here has another holder now."""


class StorageUnavailable(SynergyError):
    """The store did not answer within its deadline; what was asked may or may not be done."""


class MessagingUnavailable(SynergyError):
    """The bus did not answer within its deadline; what was asked may or may not be done."""


class Unreachable(SynergyError):
    """A service that the request needs does not run, does not answer, or is too busy."""


class AuditLogUnavailable(SynergyError):
    """The audit log cannot be written or read; what was asked is not done."""
