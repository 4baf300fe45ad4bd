"""Log files of this box, and the common parts of reading any log."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from fastapi import Path, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field

from synergy.errors import InvalidValue
from synergy.mx.access import Viewer
from synergy.mx.bodies import HIGHEST_LINE, MOST, Cursor, Limit, LogLevel, Page, page_of
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.queries.logs import lines
from synergy.queries.logs.files import LogFileView
from synergy.queries.logs.lines import Log, LogSlice, Matches, Wanted

router = Router("logs")

Raw = TypeVar("Raw")

Name = Annotated[
    str, Path(min_length=1, max_length=300, description="a process, or process.instance")
]


class Looking(BaseModel):
    """The filter of lines, and the log that their numbers refer to."""

    q: str = Field("", max_length=200, description="text in the lines, in any case")
    level: LogLevel = Field("", description="only lines of at least this level")
    start: str = Field(
        "",
        max_length=40,
        description="id of the oldest part of the log when its lines were numbered; 409 if it "
        "has been deleted since",
    )

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.q, self.level)


class Reading(Looking):
    """The lines to return; the newest without `after` and `before`."""

    after: int | None = Field(
        None, ge=0, le=HIGHEST_LINE, description="lines after the one with this number"
    )
    before: int | None = Field(
        None, ge=1, le=HIGHEST_LINE, description="lines before the one with this number"
    )
    limit: int = Field(100, ge=1, le=1000, description="how many lines at most")
    format: Literal["json", "text"] = Field(
        "json", description="text: the whole log; other parameters are ignored"
    )


class Finding(Looking):
    """The lines whose numbers to return."""

    after: int = Field(0, ge=0, le=HIGHEST_LINE, description="lines after the one with this number")
    limit: int = Field(10_000, ge=1, le=50_000, description="how many numbers at most")


ToRead = Annotated[Reading, Query()]
ToFind = Annotated[Finding, Query()]
READ: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Lines, oldest first; without `after` and `before` the newest",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@router.get("/logs", response_model=Page[LogFileView])
def list_logs(services: ServicesDep, _: Viewer, limit: Limit = MOST, cursor: Cursor = None) -> Any:
    """The log files on the box of this MX."""
    return page_of(services.logs.all(), limit, cursor)


@router.get("/logs/{name}", response_model=LogSlice, responses=READ | errors(404, 409, 422))
def read_log(services: ServicesDep, _: Viewer, name: Name, ask: ToRead) -> Any:
    """Lines of a log, including its rotated parts."""
    if ask.format == "text":
        return as_text(services.logs.download(name), name)
    with services.logs.open(name, ask.start) as log:
        return read(log, ask)


@router.get("/logs/{name}/matches", response_model=Matches, responses=errors(404, 409, 422))
def find_in_log(services: ServicesDep, _: Viewer, name: Name, ask: ToFind) -> Any:
    """The numbers of the lines with a text or level."""
    with services.logs.open(name, ask.start) as log:
        return lines.matches(log, ask.after, ask.limit, ask.wanted)


def read(log: Log[Raw], ask: Reading) -> LogSlice:
    """Lines after or before a number; raises InvalidValue if both are given."""
    if ask.after is None:
        return lines.before(log, ask.before or HIGHEST_LINE, ask.limit, ask.wanted)
    if ask.before is not None:
        raise InvalidValue("after and before exclude each other; omit both for the newest lines")
    return lines.after(log, ask.after, ask.limit, ask.wanted)


def as_text(chunks: Any, name: str) -> Response:
    """A log as a download."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return StreamingResponse(
        chunks,
        media_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{safe}.log"'},
    )
