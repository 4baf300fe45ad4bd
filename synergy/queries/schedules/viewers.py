"""What viewers see of requests: the receiver, but not what is sent, and not how it is reached.

Headers, the path and query of a target, and payloads are for operators: they often hold what gives
access, in places that no rule knows. What viewers learn of a failed attempt does not tell a closed
port from a silent one, or from an address that is not allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from synergy.delivery.request import UNREACHED, SendOutcome
from synergy.delivery.target import TargetKind, parse_target
from synergy.errors import InvalidValue
from synergy.queries.schedules.views import Preview, RunDetail, ScheduleDetail
from synergy.runtime.masking import HIDDEN

_HIDDEN = ("headers", "payload", "body", "values", "signing_secret")


def schedule_for_viewers(detail: ScheduleDetail) -> ScheduleDetail:
    """The schedule without what it sends."""
    return replace(
        detail,
        definition=_masked(detail.definition),
        warnings=_without_payload(detail.warnings),
    )


def run_for_viewers(detail: RunDetail) -> RunDetail:
    """The run without its request and the bodies of its responses."""
    request = detail.request
    return replace(
        detail,
        request=_masked(request) if isinstance(request, Mapping) else request,
        answers=tuple(map(_answer, detail.answers)),
    )


def preview_for_viewers(preview: Preview) -> Preview:
    """The preview without the body."""
    return replace(
        preview,
        body=None if preview.body is None else HIDDEN,
        unknown=(),
        warnings=_without_payload(preview.warnings),
    )


def _masked(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields of a definition or a request."""
    shown = {name: HIDDEN if name in _HIDDEN else value for name, value in fields.items()}
    if "target" in fields:
        shown["target"] = _receiver(str(fields["target"]))
    return shown


def _receiver(url: str) -> str:
    try:
        target = parse_target(url)
    except InvalidValue:
        return HIDDEN
    is_webhook = target.kind is TargetKind.WEBHOOK
    return f"{target.destination}/{HIDDEN}" if is_webhook else target.destination


def _answer(answer: Mapping[str, object]) -> Mapping[str, object]:
    shown = {**answer, "body": HIDDEN if answer.get("body") else ""}
    if answer.get("status") is None and answer.get("outcome") != SendOutcome.SENT:
        shown |= {"outcome": SendOutcome.FAILED.value, "error": UNREACHED, "seconds": None}
    return shown


def _without_payload(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """The warnings that do not quote the payload."""
    return tuple(warning for warning in warnings if not warning.startswith("payload"))
