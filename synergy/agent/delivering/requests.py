"""Makes the request of a claimed run, and the run's next state from the answer."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from random import Random

from synergy.delivery.request import JSON, Request, Response, SendOutcome
from synergy.delivery.retry import BUDGET_SECONDS, next_attempt
from synergy.delivery.signature import secrets_in
from synergy.delivery.target import Target, parse_target
from synergy.errors import InvalidValue
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import advance
from synergy.model.schedule import Run
from synergy.runtime.masking import mask
from synergy.schedule.request_template import fill
from synergy.storage.protocol import Payloads

ANSWERS_KEPT = 10


def claimed(run: Run, owner: str, now: datetime) -> Run:
    """The run, claimed by an agent for its next attempt."""
    detail = run.detail
    begun = detail.first_attempt_at
    if begun is None or _is_of_an_earlier_launch(run, begun):
        detail = replace(detail, first_attempt=run.attempt + 1, first_attempt_at=now)
    return replace(run, owner=owner, attempt=run.attempt + 1, not_before=None, detail=detail)


def request_of(
    run: Run, payloads: Payloads, assert_current: Callable[[], Coroutine[None, None, None]]
) -> Request:
    """The request of a run; raises InvalidValue if it cannot be made."""
    asked = run.request
    headers = asked.get("headers")
    return Request(
        target=target_of(str(asked.get("target", ""))),
        body=_body(asked, payloads),
        content_type=str(asked.get("content_type") or JSON),
        headers=dict(headers) if isinstance(headers, Mapping) else {},
        key=run.id,
        scheduled_at=run.due_at,
        schedule=run.schedule,
        attempt=run.attempt,
        secrets=secrets_in(str(asked.get("signing_secret", ""))),
        assert_current=assert_current,
    )


@lru_cache(10_000)
def target_of(url: str) -> Target:
    """The parsed target; raises InvalidValue with the reason."""
    return parse_target(url)


def answered(run: Run, answer: Response, now: datetime, random: Random) -> Run:
    """The run after an attempt: ended, or to be sent again, at once if sending was stopped."""
    answers = (*run.detail.answers, _written(answer, now))[-ANSWERS_KEPT:]
    detail = replace(run.detail, answers=answers)
    run = replace(run, owner=None, not_before=None, detail=detail)
    if answer.outcome == SendOutcome.STOPPED:
        return run
    if answer.ok:
        return advance(run, RunMove.PROCESS, now)
    again = _next(run, answer, now, random)
    if again is not None:
        return replace(run, not_before=again)
    return advance(run, RunMove.FAIL, now, answer.reason)


def _next(run: Run, answer: Response, now: datetime, random: Random) -> datetime | None:
    budget = run.request.get("budget")
    return next_attempt(
        run.attempt - (run.detail.first_attempt or 1) + 1,
        run.detail.first_attempt_at or now,
        now,
        answer,
        float(budget) if isinstance(budget, int | float) else BUDGET_SECONDS,
        random.uniform(-1.0, 1.0),
    )


def _is_of_an_earlier_launch(run: Run, begun: datetime) -> bool:
    """Whether the run was launched again since, which gives it a new budget."""
    slack = timedelta(milliseconds=1)  # the store keeps instants in milliseconds
    return run.launched_at is not None and begun + slack < run.launched_at


def _body(asked: Mapping[str, object], payloads: Payloads) -> bytes:
    name = asked.get("payload")
    if name is None:
        return str(asked.get("body", "")).encode()
    content = payloads.get(str(name))
    if content is None:
        raise InvalidValue(f"its payload {name} is no longer in the store")
    known = asked.get("values")
    if not isinstance(known, Mapping):
        return content
    return fill(content.decode(), {str(n): str(v) for n, v in known.items()}).encode()


def _written(answer: Response, now: datetime) -> dict[str, object]:
    return {
        "at": now.isoformat(),
        "status": answer.status,
        "outcome": str(answer.outcome),
        "error": mask(answer.error),
        "body": mask(answer.body),
        "seconds": round(answer.seconds, 3),
    }
