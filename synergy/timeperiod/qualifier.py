"""Qualifiers: hourly < daily < monthly < yearly, and the arithmetic of their periods.

A period is known in two ways. Outside (documents, commands, pages) it is a *timeperiod*, a
fixed-width string `YYYYMMDDHH` whose coarser members are zero-filled, so that string order
is time order. Inside it is an *ordinal*: a whole number that grows by one from each period
to the next, so that neighbours, parents and children are index arithmetic. All periods are
UTC; a period covers `[start, end)`.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from enum import Enum
from functools import lru_cache

from synergy.errors import InvalidValue

_EPOCH = date(1970, 1, 1).toordinal()
_MIN_YEAR, _MAX_YEAR = 1970, 9998


class Qualifier(Enum):
    """The granularity of a process."""

    HOURLY = "hourly"
    DAILY = "daily"
    MONTHLY = "monthly"
    YEARLY = "yearly"

    @property
    def rank(self) -> int:
        """0 for the finest (hourly) to 3 for the coarsest (yearly)."""
        return _RANK[self]

    def parse(self, timeperiod: str) -> int:
        """The ordinal of a timeperiod of exactly this qualifier.

        Raises InvalidValue when it is malformed, or has members finer than the qualifier's.
        """
        ordinal = self.cast(timeperiod)
        if self.timeperiod(ordinal) != timeperiod:
            raise InvalidValue(
                f"{timeperiod!r} is not {_NAME[self]} timeperiod: expected {_FORMAT[self]}, "
                f"for example {self.timeperiod(ordinal)}"
            )
        return ordinal

    def names(self, timeperiod: str) -> bool:
        """Whether `parse` would accept it."""
        try:
            self.parse(timeperiod)
        except InvalidValue:
            return False
        return True

    def cast(self, timeperiod: str) -> int:
        """The ordinal of this qualifier's period that holds the start of `timeperiod`.

        Casting up truncates; casting down gives the first member, because the members that
        a coarse timeperiod leaves at zero mean their first value. Raises InvalidValue for a
        text that is no timeperiod of any qualifier.
        """
        try:
            return _cast(self, timeperiod)
        except ValueError:
            raise InvalidValue(self.malformed(timeperiod)) from None

    def malformed(self, text: str) -> str:
        """Says that a text is no timeperiod, and what was expected."""
        return (
            f"{text!r} is not a timeperiod: expected {_FORMAT[self]}, "
            f"years {_MIN_YEAR} to {_MAX_YEAR}"
        )

    def timeperiod(self, ordinal: int) -> str:
        """The timeperiod of an ordinal."""
        return _timeperiod(self, ordinal)

    def start(self, ordinal: int) -> datetime:
        """The first instant of the period; the end of a period is the start of the next."""
        match self:
            case Qualifier.HOURLY:
                return _UTC_EPOCH + timedelta(hours=ordinal)
            case Qualifier.DAILY:
                return _UTC_EPOCH + timedelta(days=ordinal)
            case Qualifier.MONTHLY:
                return datetime(ordinal // 12, ordinal % 12 + 1, 1, tzinfo=UTC)
            case Qualifier.YEARLY:
                return datetime(ordinal, 1, 1, tzinfo=UTC)

    def at(self, instant: datetime) -> int:
        """The ordinal of the period that holds `instant`, which knows its zone."""
        match self:
            case Qualifier.HOURLY:
                return (instant - _UTC_EPOCH) // timedelta(hours=1)
            case Qualifier.DAILY:
                return (instant - _UTC_EPOCH) // timedelta(days=1)
            case _:
                return Qualifier.DAILY.up(Qualifier.DAILY.at(instant), self)

    def up(self, ordinal: int, coarser: Qualifier) -> int:
        """The ordinal of the `coarser` (or same) period that holds this one.

        Raises ValueError when `coarser` is the finer one.
        """
        if coarser is self:
            return ordinal
        if self is Qualifier.HOURLY:
            return Qualifier.DAILY.up(ordinal // 24, coarser)
        if self is Qualifier.DAILY:
            return Qualifier.MONTHLY.up(_month_of_day(ordinal), coarser)
        if self is Qualifier.MONTHLY and coarser is Qualifier.YEARLY:
            return ordinal // 12
        raise ValueError(f"{coarser.value} is finer than {self.value}")

    def down(self, ordinal: int, finer: Qualifier) -> tuple[int, int]:
        """The half-open range of ordinals of the `finer` (or same) periods within this one.

        Raises ValueError when `finer` is the coarser one.
        """
        return _first_member(self, ordinal, finer), _first_member(self, ordinal + 1, finer)


_RANK = {qualifier: rank for rank, qualifier in enumerate(Qualifier)}
_FORMAT = {
    Qualifier.HOURLY: "YYYYMMDDHH or YYYY-MM-DDTHH",
    Qualifier.DAILY: "YYYYMMDD00 or YYYY-MM-DD",
    Qualifier.MONTHLY: "YYYYMM0000 or YYYY-MM",
    Qualifier.YEARLY: "YYYY000000 or YYYY",
}
_NAME = {
    Qualifier.HOURLY: "an hourly",
    Qualifier.DAILY: "a daily",
    Qualifier.MONTHLY: "a monthly",
    Qualifier.YEARLY: "a yearly",
}
_UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=4096)
def _month_of_day(ordinal: int) -> int:
    day = date.fromordinal(ordinal + _EPOCH)
    return day.year * 12 + day.month - 1


@lru_cache(maxsize=4096)
def _first_member(qualifier: Qualifier, ordinal: int, finer: Qualifier) -> int:
    if finer is qualifier:
        return ordinal
    if qualifier is Qualifier.YEARLY:
        return _first_member(Qualifier.MONTHLY, ordinal * 12, finer)
    if qualifier is Qualifier.MONTHLY:
        day = date(ordinal // 12, ordinal % 12 + 1, 1).toordinal() - _EPOCH
        return _first_member(Qualifier.DAILY, day, finer)
    if qualifier is Qualifier.DAILY and finer is Qualifier.HOURLY:
        return ordinal * 24
    raise ValueError(f"{finer.value} is coarser than {qualifier.value}")


@lru_cache(maxsize=65536)
def _cast(qualifier: Qualifier, timeperiod: str) -> int:
    if len(timeperiod) != 10 or not (timeperiod.isascii() and timeperiod.isdigit()):
        raise ValueError(timeperiod)
    year, month, day, hour = (
        int(timeperiod[:4]),
        int(timeperiod[4:6]),
        int(timeperiod[6:8]),
        int(timeperiod[8:]),
    )
    if not _MIN_YEAR <= year <= _MAX_YEAR or (month == 0 and day) or (day == 0 and hour):
        raise ValueError(timeperiod)
    return qualifier.at(datetime(year, month or 1, day or 1, hour, tzinfo=UTC))


@lru_cache(maxsize=65536)
def _timeperiod(qualifier: Qualifier, ordinal: int) -> str:
    if qualifier is Qualifier.YEARLY:
        return f"{ordinal:04}000000"
    if qualifier is Qualifier.MONTHLY:
        return f"{ordinal // 12:04}{ordinal % 12 + 1:02}0000"
    day, hour = divmod(ordinal, 24) if qualifier is Qualifier.HOURLY else (ordinal, 0)
    when = date.fromordinal(day + _EPOCH)
    return f"{when.year:04}{when.month:02}{when.day:02}{hour:02}"
