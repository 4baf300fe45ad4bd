"""When a request is sent again. `Response` says which failures are final, or likely to last."""

from __future__ import annotations

from datetime import datetime, timedelta

from synergy.delivery.request import Response

BUDGET_SECONDS = 300.0
FIRST_PAUSE_SECONDS = 1.0
SPREAD = 0.2
ENOUGH = 3
"""Attempts for a request whose answer is unlikely to change, such as 404."""


def next_attempt(
    attempts: int,
    first_attempt_at: datetime,
    now: datetime,
    answer: Response,
    budget: float = BUDGET_SECONDS,
    jitter: float = 0.0,
) -> datetime | None:
    """When to send again after `attempts` (at least 1), the last of which was answered `answer`.

    None: never. Pauses are 1, 2, 4, … seconds, none longer than a fifth of the `budget` (or 1 s, if
    that is more), so that the last attempt is not long before its end; `jitter` of -1 to 1 makes
    them up to a fifth shorter or longer. The receiver's Retry-After is respected. No attempt
    begins later than `budget` seconds after the first one began.
    """
    if answer.ok or answer.disables or not answer.may_retry:
        return None
    if answer.is_lasting and attempts >= ENOUGH:
        return None
    longest = max(FIRST_PAUSE_SECONDS, budget / 5)
    doubled = FIRST_PAUSE_SECONDS * 2.0 ** min(attempts - 1, 32)  # beyond any budget
    pause = min(doubled, longest) * (1 + SPREAD * jitter)
    due = now + timedelta(seconds=max(pause, answer.retry_after or 0.0))
    return due if due <= first_attempt_at + timedelta(seconds=budget) else None
