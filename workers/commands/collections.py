"""Reads collections for people: the rows of workers without their private fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synergy.errors import InvalidValue, NotFound
from synergy.model.process import Deployment
from synergy.storage.collection_rows import for_people
from synergy.storage.protocol import Documents
from synergy.timeperiod import Qualifier, parse_hour

Row = Mapping[str, Any]


def known_collections(documents: Documents, deployment: Deployment) -> list[str]:
    """The collections that are not empty, and those that the deployment declares."""
    declared = {
        name
        for process in deployment.managed().values()
        for name in (process.stored_source, process.sink)
        if name
    }
    return sorted(declared | set(documents.collections()))


def rows(
    documents: Documents,
    deployment: Deployment,
    collection: str,
    periods: tuple[str, str] = ("", ""),
    owner: str | None = None,
) -> Iterator[Row]:
    """The rows of the periods that begin within `periods`, half-open; an empty bound is open.

    `owner` selects the rows of one site or client. Private fields of workers, which begin with an
    underscore, are omitted. Dates, UUIDs, decimals and bytes are text. Raises NotFound for an
    unknown collection, InvalidValue for an invalid or empty range.
    """
    known = known_collections(documents, deployment)
    if collection not in known:
        raise NotFound("collection", collection, f"there are {', '.join(known) or 'none'}")
    start, end = (_bound(period) for period in periods)
    if start and end and start >= end:
        raise InvalidValue(f"{periods[0]} to {periods[1]} is empty: the end is not included")
    return (
        {name: for_people(value) for name, value in row.items() if not name.startswith("_")}
        for row in documents.read(collection, start, end)
        if owner is None or owner == row.get("domain", row.get("client_id"))
    )


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
