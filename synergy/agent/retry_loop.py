"""Turns of a loop, and the pauses after those that went wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.runtime.stop import Stop

LONGEST_PAUSE = 2.0  # seconds between two tries, so that leases are kept meanwhile

log = logging.getLogger(__name__)


class RetryLoop:
    """Takes turns until they succeed again, for one loop."""

    def __init__(
        self, name: str, stop: Stop, failed: Callable[[Exception, int], object] = lambda *_: None
    ) -> None:
        """`failed` is told what went wrong, and how often in a row something did."""
        self._name = name
        self._stop = stop
        self._failed = failed
        self._failures = 0

    def of(self, turn: Callable[[], float | None]) -> float:
        """What the turn says; 0 after a pause, if it went wrong."""
        try:
            pause = turn()
        except (StorageUnavailable, MessagingUnavailable) as error:
            if self._failures == 0:
                log.warning("Waiting: %s", error, extra={"event": f"{self._name}.waits"})
            self._rest(error)
            return 0.0
        except Exception as error:  # the boundary of the loop: it must go on
            log.exception("A turn fails", extra={"event": f"{self._name}.failed"})
            self._rest(error)
            return 0.0
        self._failures = 0
        return pause or 0.0

    def _rest(self, error: Exception) -> None:
        self._failures += 1
        self._failed(error, self._failures)
        self._stop.wait(min(0.25 * 2 ** min(self._failures, 5), LONGEST_PAUSE))
