"""Query parameters that limit a list to a range of time."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from synergy.model.time_range import TimeRange
from synergy.mx.services import ServicesDep
from synergy.queries.written_times import TIME_HELP, parse_times

LONGEST = 64  # characters of a time, or of the name of a zone


def _time(text: str, alias: str) -> object:
    description = f"{text}: {TIME_HELP} (alone in `from`, a span also gives its end)"
    return Query(alias=alias, max_length=LONGEST, description=description)


Begin = Annotated[str, _time("not before this time", "from")]
End = Annotated[str, _time("before this time", "to")]
Zone = Annotated[
    str, Query(max_length=LONGEST, description="of times without an offset; default: UTC")
]


class Times:
    """The range of time of a list, and the parameters as they were given.

    Raises InvalidValue for what is no time or no zone, and for an empty range.
    """

    def __init__(
        self, services: ServicesDep, begin: Begin = "", end: End = "", zone: Zone = ""
    ) -> None:
        self.within: TimeRange = parse_times(begin.strip(), end.strip(), zone.strip(), services.now)
        self.filters = {"from": begin, "to": end, "zone": zone}


TimesDep = Annotated[Times, Depends()]
