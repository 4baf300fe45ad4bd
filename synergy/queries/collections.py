"""Reads collections for people: rows by ranges of periods, and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from synergy.errors import InvalidValue, NotFound
from synergy.model.process import Deployment
from synergy.model.time_range import TimeRange
from synergy.storage.collection_rows import for_people
from synergy.storage.protocol import ReadableDocuments
from synergy.timeperiod import Qualifier, parse_hour, parse_named

Row = Mapping[str, Any]
DIGITS = 10  # of a timeperiod
_ALMOST_AN_HOUR = timedelta(hours=1) - timedelta(microseconds=1)


def known_collections(documents: ReadableDocuments, deployment: Deployment) -> list[str]:
    """The collections that are not empty, and those that the deployment declares."""
    declared = {
        name
        for process in deployment.managed().values()
        for name in (process.stored_source, process.sink)
        if name
    }
    return sorted(declared | set(documents.collections()))


def rows(
    documents: ReadableDocuments,
    deployment: Deployment,
    collection: str,
    periods: tuple[str, str] = ("", ""),
) -> Iterator[Row]:
    """The rows of the periods that begin within `periods`, half-open; an empty bound is open.

    Dates, UUIDs, decimals and bytes are text. Raises NotFound for an unknown collection,
    InvalidValue for an invalid or empty range.
    """
    known = known_collections(documents, deployment)
    if collection not in known:
        raise NotFound("collection", collection, f"there are {', '.join(known) or 'none'}")
    start, end = (_bound(period) for period in periods)
    if start and end and start >= end:
        raise InvalidValue(f"{periods[0]} to {periods[1]} is empty: the end is not included")
    return (
        {name: for_people(value) for name, value in row.items()}
        for row in documents.read(collection, start, end)
    )


def periods_of(text: str) -> tuple[str, str]:
    """The half-open range of `FROM..TO`, or of one period, for `rows`.

    Ten digits that are an hour as well as a day are the hour, with which the day begins.
    """
    first, dots, end = text.partition("..")
    if dots:
        if not first or not end:
            raise InvalidValue(f"{text!r}: expected FROM..TO, or one period")
        return first, end
    is_hour = len(first) == DIGITS and first.isdigit() and first[6:8] != "00"
    qualifier, ordinal = (Qualifier.HOURLY, parse_hour(first)) if is_hour else parse_named(first)
    return first, qualifier.timeperiod(ordinal + 1)


def periods_within(within: TimeRange) -> tuple[str, str]:
    """The range of the hours that begin within a range of time, for `rows`."""
    return _hour_from(within.begin), _hour_from(within.end)


def _hour_from(at: datetime | None) -> str:
    """The first hour that begins at an instant or later; "" for none."""
    if at is None:
        return ""
    return Qualifier.HOURLY.timeperiod(Qualifier.HOURLY.at(at + _ALMOST_AN_HOUR))


def _bound(period: str) -> str:
    """The smallest timeperiod, of any qualifier, whose period begins when `period` does."""
    if not period:
        return ""
    begin = Qualifier.HOURLY.start(parse_hour(period))
    for qualifier in reversed(Qualifier):
        ordinal = qualifier.at(begin)
        if qualifier.start(ordinal) == begin:
            return qualifier.timeperiod(ordinal)
    raise AssertionError(period)  # every timeperiod begins with an hour


def flat(row: Row) -> dict[str, object]:
    """The values of a row and of its groups, without counters.

    A value of a group keeps its own name; if that is taken, the group's name is put before it.
    """
    found: dict[str, object] = {}
    for name, value in row.items():
        group = value if isinstance(value, Mapping) else {name: value}
        for inner, single in group.items():
            if not isinstance(single, Mapping | list):
                short = inner.removeprefix("number_of_")
                found[f"{name} {short}" if short in found else short] = single
    return {**{name: found[name] for name in ("timeperiod",) if name in found}, **found}


def table(found: Iterable[Row]) -> tuple[list[str], list[list[object]]]:
    """The flat rows as a table: headers in the order of their first appearance, and cells."""
    flat_rows = [flat(row) for row in found]
    headers = list(dict.fromkeys(name for row in flat_rows for name in row))
    return headers, [[row.get(name) for name in headers] for row in flat_rows]
