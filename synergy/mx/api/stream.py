"""The route of the event stream; `mx.stream` turns journal entries into events."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Query, Request
from fastapi.responses import StreamingResponse

from synergy.mx.access import Viewer
from synergy.mx.protection.origins import holders_of
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep

router = Router("stream")

MEDIA_TYPE = "text/event-stream"
NUMBER = r"^[0-9]{1,18}$"

LastSeen = Annotated[
    str | None, Header(alias="Last-Event-ID", pattern=NUMBER, description="as browsers send it")
]
Since = Annotated[
    str | None, Query(pattern=NUMBER, description="`seq` of the last entry that was received")
]
Process = Annotated[str, Query(max_length=200, description="only entries of this process")]
Nouns = Annotated[
    str, Query(pattern=r"^[a-z,]{0,200}$", description="`job,unit`: only these; default: all")
]


class EventStream(StreamingResponse):
    """A response that continues until the client or MX ends it."""

    media_type = MEDIA_TYPE


@router.get(
    "/stream",
    response_class=EventStream,
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
async def stream(
    request: Request,
    services: ServicesDep,
    _: Viewer,
    last_seen: LastSeen = None,
    since: Since = None,
    process: Process = "",
    nouns: Nouns = "",
) -> EventStream:
    """The journal from now on, or after the last entry that the client received.

    A message has the `seq` of the entry as id, the part of its `event` before the dot as event
    (`job`, `unit`, ...), and the entry as data. `behind` replaces more than 500 entries at once:
    reload what you show. A comment follows 15 s without a message. Slow clients are disconnected;
    they may reconnect with `Last-Event-ID`.
    """
    holders = holders_of(request)
    services.stream.refuse_if_full(holders)
    begin = last_seen or since
    chosen = frozenset(filter(None, nouns.split(",")))
    first = None if begin is None else int(begin)
    messages = services.stream.listen(first, process, chosen, holders)
    return EventStream(messages, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
