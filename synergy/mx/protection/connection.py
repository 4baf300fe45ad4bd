"""Connections: their peer, and timeouts for those that send or read too slowly."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from synergy.mx.protection.peers import Peer

HEAD_SECONDS: Final = 10.0  # in which the head of a request has to arrive
READ_SECONDS: Final = 30.0  # a client that reads nothing for so long is disconnected
REST_SECONDS: Final = 5.0  # in which the rest of a body that was refused has to arrive


class HttpConnection(H11Protocol):
    """HTTP whose requests know their peer (`request.state.peer`).

    It closes connections of clients that send the head or read the response too slowly. Otherwise
    many connections that send single bytes (slowloris), or that do not read a large response or the
    stream, would block all other clients. The rest of a refused body is received for `REST_SECONDS`
    and dropped: if the connection were closed at once, the client could lose the response.
    """

    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None
    _rest_timer: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.client is not None and self.server is not None:
            peer = Peer(self.client, self.server, transport.get_extra_info("socket"))
            self.app_state = {**self.app_state, "peer": peer}
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_head_timer()
        elif self._head_timer is None:
            self._start_head_timer()
        if self.conn.their_state is not h11.SEND_BODY:
            self._stop_rest_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._rest_timer = self.loop.call_later(REST_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_read_timer()
        self._stop_rest_timer()
        super().connection_lost(exc)
        self.lost.set()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_read_timer()
        super().resume_writing()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_rest_timer(self) -> None:
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None
