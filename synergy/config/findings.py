"""What a check found: mistakes, which stop everything, and warnings, which do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from synergy.errors import ConfigurationError
from synergy.runtime.masking import mask


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


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of a message about a word that is not among those known."""
    words = sorted(known)
    near = get_close_matches(word, words, 1) or [w for w in words if w.lower() == word.lower()]
    if near:
        return f"did you mean {near[0]}?"
    return f"expected one of {', '.join(words)}" if words else "there are none"
