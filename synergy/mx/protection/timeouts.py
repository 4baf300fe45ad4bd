"""Connections that are opened and then say nothing, or nearly nothing."""

from __future__ import annotations

import asyncio
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_WITHIN: Final = 10.0  # seconds that a client has to send the head of a request
READ_WITHIN: Final = 30.0  # seconds that a client may take nothing of an answer


class ConnectionTimeouts(H11Protocol):
    """HTTP that closes connections on which the head of a request takes too long to come.

    Without it, whoever opens many of them and sends a byte now and then keeps all others out.
    The same goes for who asks for much, or follows the stream, and reads nothing of it.
    """

    _timer: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel()
        elif self._timer is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        self._is_read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(READ_WITHIN, self.transport.abort)

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_WITHIN, self.transport.abort)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
