"""Ranges of periods on the command line: `FROM..TO`, half-open, or one timeperiod."""

from __future__ import annotations

from synergy.errors import InvalidValue
from synergy.timeperiod import Qualifier


def parse_range(qualifier: Qualifier, text: str) -> tuple[int, int]:
    """The half-open range of ordinals that `text` names; a single timeperiod is a range of one.

    Raises InvalidValue for a timeperiod that does not fit the qualifier, and for an empty range.
    """
    first_text, dots, end_text = text.partition("..")
    first = qualifier.parse(first_text.strip())
    if not dots:
        return first, first + 1
    end = qualifier.parse(end_text.strip())
    if end <= first:
        raise InvalidValue(
            f"{text} is empty: FROM..TO includes FROM and not TO, so TO must be later"
        )
    return first, end


def timeperiods(qualifier: Qualifier, text: str) -> tuple[str, str]:
    """The range of `parse_range` as timeperiods."""
    first, end = parse_range(qualifier, text)
    return qualifier.timeperiod(first), qualifier.timeperiod(end)
