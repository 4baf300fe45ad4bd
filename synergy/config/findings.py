"""What a check found: mistakes, which stop everything, and warnings, which do not."""

from __future__ import annotations

from dataclasses import dataclass, field

from synergy.errors import ConfigurationError
from synergy.runtime.masking import mask
from synergy.schedule.format.literals import suggestion

__all__ = ["Findings", "suggestion"]


@dataclass(frozen=True, slots=True)
class Findings:
    """Collects, so that all mistakes can be shown at once."""

    mistakes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def mistake(self, where: str, what: str) -> None:
        """Something is wrong at `where`; `what` says what was expected."""
        self.mistakes.append(mask(f"{where}: {what}"))

    def warning(self, where: str, what: str) -> None:
        """Something is allowed, but probably not what was meant."""
        self.warnings.append(mask(f"{where}: {what}"))

    def raise_mistakes(self) -> None:
        """Raises ConfigurationError if there are any."""
        if self.mistakes:
            raise ConfigurationError(self.mistakes)
