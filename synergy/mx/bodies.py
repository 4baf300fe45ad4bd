"""What requests and answers have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from synergy.model.cursor import number_of

Item = TypeVar("Item")

TIMEPERIOD = r"^[0-9]{10}$"
_MONTH, _DAY, _HOUR = "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])", "([01][0-9]|2[0-3])"
_YEAR = "(19[7-9][0-9]|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])"
SPELLED: dict[str, Any] = {"pattern": f"^{_YEAR}(0{{6}}|{_MONTH}(0{{4}}|{_DAY}{_HOUR}))$"}
"""What OpenAPI says of a timeperiod; who reads it says in words what is wrong with one."""

MOST = 1000  # items of a page, and as many as there are of a list that is short by nature
Limit = Annotated[int, Query(ge=1, le=MOST, description="how many at most")]


def _cursor(**told: str) -> Any:
    """`told` is for OpenAPI alone: whoever reads a cursor says what is wrong with one."""
    return Query(
        max_length=512,
        description="`next` of the page before; none for the first",
        json_schema_extra={**told},
    )


Cursor = Annotated[str | None, _cursor(pattern="^[0-9]+$")]
StagedCursor = Annotated[str | None, _cursor(pattern="^[0-2][.][0-9]*$")]
NamedCursor = Annotated[str | None, _cursor()]
Timeperiod = Annotated[
    str, Path(pattern=TIMEPERIOD, description="YYYYMMDDHH", json_schema_extra=SPELLED)
]
From = Annotated[
    str | None,
    Query(
        alias="from",
        pattern=TIMEPERIOD,
        description="first timeperiod",
        json_schema_extra=SPELLED,
    ),
]
To = Annotated[
    str | None,
    Query(
        pattern=TIMEPERIOD,
        description="end of the range, not included",
        json_schema_extra=SPELLED,
    ),
]


class Page(BaseModel, Generic[Item]):
    """A part of a list, and the cursor of the next one or null."""

    items: list[Item]
    next: str | None


def page_of(items: Sequence[object], limit: int, cursor: str | None) -> dict[str, Any]:
    """A page of a list that is made as a whole; its cursor is the place where the next begins.

    Raises InvalidValue for what is no cursor.
    """
    begin = 0 if cursor is None else number_of(cursor)
    end = begin + limit
    return {"items": items[begin:end], "next": str(end) if end < len(items) else None}


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""Makes an int a whole number as JSON has it, where 3.0 is one; stands behind its bounds."""


class Body(BaseModel):
    """A body of a request; a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Asked(Body):
    """What every action takes: why, for the journal, and whether only to say what it would do."""

    reason: str = Field("", max_length=1000)
    dry_run: bool = False


class Touched(BaseModel, Generic[Item]):
    """What an action touched, or with `dry_run` would touch.

    `count` is all of it; of very much, `touched` names only the first.
    """

    dry_run: bool
    count: int = 0
    touched: list[Item]

    def model_post_init(self, _context: object) -> None:
        self.count = self.count or len(self.touched)
