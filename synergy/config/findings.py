"""The findings of a check: mistakes, which prevent a start, and warnings, which do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from synergy.errors import ConfigurationError
from synergy.runtime.masking import mask
from synergy.schedule.format.field_reader import FieldReader, Location


@dataclass(frozen=True, slots=True)
class Findings:
    """Collects mistakes and warnings, so that all are shown at once."""

    mistakes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def mistake(self, where: str, what: str) -> None:
        """Adds a mistake at `where`; `what` says what was expected."""
        self.note(f"{where}: {what}")

    def note(self, message: str) -> None:
        """Adds a mistake; secrets in it are masked."""
        self.mistakes.append(mask(message))

    def fields(self, where: str, values: Mapping[str, object]) -> FieldReader:
        """A reader of the fields of an entry, which adds its mistakes here."""
        return FieldReader(Location(self.note, f"{where}: ", repr), values)

    def warning(self, where: str, what: str) -> None:
        """Adds a warning about what is valid but probably a mistake."""
        self.warnings.append(mask(f"{where}: {what}"))

    def raise_mistakes(self) -> None:
        """Raises ConfigurationError if there are any."""
        if self.mistakes:
            raise ConfigurationError(self.mistakes)
