"""Common parts of requests and responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from synergy.model.cursor import number_of

Item = TypeVar("Item")

LONGEST_PERIOD = 40  # characters of a timeperiod as people write it
_MONTH, _DAY, _HOUR = "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])", "([01][0-9]|2[0-3])"
_YEAR = "(19[7-9][0-9]|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])"
_DIGITS = f"{_YEAR}(0{{6}}|{_MONTH}(0{{4}}|{_DAY}{_HOUR}))"
_ZERO = "(:00(:00([.]0+)?)?)?([Zz]|[+-]00(:?00)?)?"
_ISO = f"{_YEAR}(-{_MONTH}(-{_DAY}([Tt ]{_HOUR}{_ZERO})?)?)?"
TIMEPERIOD_SCHEMA: dict[str, Any] = {"pattern": f"^ *({_DIGITS}|{_ISO}) *$"}
"""The pattern of a timeperiod for OpenAPI. Requests are checked by parsing: better messages."""
PERIOD = "YYYYMMDDHH, or as ISO 8601 writes it: 2015, 2015-05, 2015-05-17, 2015-05-17T10:00Z"

MOST = 1000  # items of a page; the default limit of short lists
HIGHEST_LINE = 1 << 53  # the number of a log line; the largest exact integer in JavaScript

LogLevel = Literal["", "debug", "info", "warning", "error", "critical"]
Limit = Annotated[int, Query(ge=1, le=MOST, description="how many at most")]


def _cursor(**schema: str) -> Any:
    """A cursor; `schema` is for OpenAPI only: cursors are parsed, which gives better messages."""
    return Query(
        max_length=512,
        description="`next` of the previous page; none for the first",
        json_schema_extra={**schema},
    )


Cursor = Annotated[str | None, _cursor(pattern="^[0-9]+$")]
StagedCursor = Annotated[str | None, _cursor(pattern="^[0-2][.][0-9]*$")]
NamedCursor = Annotated[str | None, _cursor()]
Timeperiod = Annotated[
    str, Path(max_length=LONGEST_PERIOD, description=PERIOD, json_schema_extra=TIMEPERIOD_SCHEMA)
]
From = Annotated[
    str | None,
    Query(
        alias="from",
        min_length=1,
        max_length=LONGEST_PERIOD,
        description="begins with this period; without it, without a limit",
        json_schema_extra=TIMEPERIOD_SCHEMA,
    ),
]
To = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=LONGEST_PERIOD,
        description="ends where this period begins, so it is not included",
        json_schema_extra=TIMEPERIOD_SCHEMA,
    ),
]


class Page(BaseModel, Generic[Item]):
    """A page of a list, and the cursor of the next page or null."""

    items: list[Item]
    next: str | None


def page_of(items: Sequence[object], limit: int, cursor: str | None) -> dict[str, Any]:
    """A page of a list that is in memory; the cursor is the index of its first item.

    Raises InvalidValue for an invalid cursor.
    """
    begin = 0 if cursor is None else number_of(cursor)
    end = begin + limit
    return {"items": items[begin:end], "next": str(end) if end < len(items) else None}


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""Accepts whole numbers written as in JSON, such as 3.0; must follow the bounds of a field."""


class Body(BaseModel):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Action(Body):
    """The fields of every action: the reason, for the journal, and whether it is a dry run."""

    reason: str = Field("", max_length=1000)
    dry_run: bool = False


class Touched(BaseModel, Generic[Item]):
    """The things that an action changed, or with `dry_run` would change.

    `count` is the total; of many things, `touched` lists only the first ones.
    """

    dry_run: bool
    count: int = 0
    touched: list[Item]

    def model_post_init(self, _context: object) -> None:
        self.count = self.count or len(self.touched)
