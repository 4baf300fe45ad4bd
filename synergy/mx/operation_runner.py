"""The thread that works off what takes long, and forgets what nobody will ask for any more."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from fastapi import FastAPI

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.mx.services import Services

LOOK = 20.0  # seconds between two looks for what others accepted, or left behind
FORGETS = timedelta(hours=1)

log = logging.getLogger(__name__)


class OperationRunner:
    """Works on one operation after the other. Several MX share them."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._forgot_at: datetime | None = None
        self._is_ended = False
        self._thread = threading.Thread(target=self._run, name="operations", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when the step under way is done; the rest is left to whoever comes next."""
        self._is_ended = True
        self._services.operations.news.set()
        if self._thread.is_alive():
            self._thread.join()

    def run_once(self, now: datetime) -> None:
        """Works until there is nothing that is free."""
        while self._is_going() and self._services.operations.work(self._is_going):
            pass
        if self._forgot_at is None or now - self._forgot_at >= FORGETS:
            self._forget(self._services.operations.prune, now)
            self._forget(self._services.answering.prune, now)
            self._forgot_at = now

    def _forget(self, prune: Callable[[datetime], int], now: datetime) -> None:
        """All that is old enough: in an hour there may come more than one step forgets."""
        while self._is_going() and prune(now):
            pass

    def _is_going(self) -> bool:
        return not self._is_ended

    def _run(self) -> None:
        while self._is_going():
            self._services.operations.news.clear()
            if not self._is_going():  # it was set just before
                return
            try:
                self.run_once(self._services.now)
            except (StorageUnavailable, MessagingUnavailable) as error:
                log.warning(
                    "Operations have to wait: %s", error, extra={"event": "operations.away"}
                )
            except Exception:
                log.exception("Operations failed", extra={"event": "operations.failed"})
            self._services.operations.news.wait(LOOK)


@contextmanager
def operating(app: FastAPI) -> Iterator[None]:
    """Has the thread run beside the handlers of an application."""
    service = OperationRunner(app.state.services)
    service.start()
    try:
        yield
    finally:
        service.stop()
