"""Parses the setting `retention`: how long rows of each kind are kept."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import timedelta

from synergy.errors import InvalidValue
from synergy.model.retention import Retention
from synergy.schedule.format.literals import suggestion

KINDS = tuple(field.name for field in fields(Retention))
EXAMPLE = "journal=30d, answers=24h"

_AGE = re.compile(r"([1-9][0-9]{0,4})([dh])", re.ASCII)
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1)}


def retention(text: str) -> Retention:
    """Parses ages by kind, separated by commas; other kinds have their defaults.

    Raises InvalidValue for a wrong one.
    """
    ages: dict[str, timedelta] = {}
    for word in text.split(","):
        if not word.strip():
            continue
        kind, _, age = (part.strip() for part in word.partition("="))
        if kind not in KINDS:
            raise InvalidValue(f"{kind!r}: {suggestion(kind, KINDS)}")
        if kind in ages:
            raise InvalidValue(f"{kind} is given twice")
        found = _AGE.fullmatch(age)
        if found is None:
            raise InvalidValue(
                f"{word.strip()!r}: expected days or hours, 1 to 99999, for example {EXAMPLE}"
            )
        ages[kind] = int(found[1]) * _UNITS[found[2]]
    return Retention(**ages)
