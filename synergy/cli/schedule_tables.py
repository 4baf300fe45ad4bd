"""Tables of schedules and runs, and the details of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from synergy.cli import output

if TYPE_CHECKING:
    from synergy.queries.schedules.views import RunDetail, RunView, ScheduleView
    from synergy.queries.schedules.why import ScheduleWhy

LONGEST_SUMMARY = 90  # characters of a schedule's summary in a list that is not on a terminal
SHORTEST_SUMMARY = 24  # characters of it on a narrow terminal
LONGEST_BODY = 60  # characters of a receiver's answer


def print_schedules(views: Sequence[ScheduleView]) -> None:
    """Prints a line for each schedule; the column of reasons only if there are any."""
    headers = ["schedule", "is", "runs", "next due", "last run", "ended", "reason"]
    rows: list[list[object]] = [
        [
            view.name,
            "enabled" if view.is_enabled else "disabled",
            view.words,
            output.instant(view.next_due),
            view.last_run and output.instant(view.last_run.due_at),
            view.last_run and view.last_run.state,
            output.one_line(view.reason, output.REASON),
        ]
        for view in views
    ]
    if not any(view.reason for view in views):
        headers, rows = headers[:-1], [row[:-1] for row in rows]
    _shorten(headers, rows, headers.index("runs"))
    output.table(headers, rows)


def _shorten(headers: Sequence[str], rows: Sequence[list[object]], column: int) -> None:
    """Shortens a column to the room that the others leave on the terminal."""
    import shutil
    import sys
    from textwrap import shorten

    most = LONGEST_SUMMARY
    if sys.stdout.isatty():
        widths = [
            max(len(str(cell or "-")) for cell in cells) + 2
            for cells in zip(headers, *rows, strict=True)
        ]
        left = shutil.get_terminal_size().columns - sum(widths) + widths[column]
        most = max(SHORTEST_SUMMARY, left)
    for row in rows:
        row[column] = shorten(str(row[column]), most, placeholder="...")


def print_why(why: ScheduleWhy) -> None:
    """Prints the causes with what helps, and the newest events with their effects."""
    output.say(output.colour(why.name, "bold"))
    for cause in why.causes:
        since = "" if cause.since is None else f" (since {output.instant(cause.since)})"
        output.say(f"  {cause.kind.value}: {output.one_line(cause.text)}{since}")
        for help_ in cause.helps:
            output.say(f"    helps: {help_.command}")
    if not why.causes:
        output.say("  nothing holds it back, and it waits for nothing")
    if why.events:
        output.say()
        output.table(
            ["taken", "event", "timestamp", "effect"],
            [
                [
                    output.instant(event.at),
                    output.one_line(f"{event.type} {event.resource}"),
                    output.instant(event.timestamp),
                    event.effect,
                ]
                for event in why.events
            ],
        )


def print_runs(runs: Sequence[RunView]) -> None:
    """Prints a line for each run."""
    output.table(
        ["run", "schedule", "due", "state", "attempt", "launched", "finished", "reason"],
        [
            [
                run.id,
                run.schedule or run.program,
                output.instant(run.due_at),
                run.state,
                run.attempt,
                output.instant(run.launched_at),
                output.instant(run.finished_at),
                output.one_line(run.reason, output.REASON),
            ]
            for run in runs
        ],
    )


def print_pending(runs: Sequence[RunView]) -> None:
    """Prints a line for each pending run."""
    output.table(
        ["run", "schedule", "due", "state", "since", "waits for"],
        [
            [
                run.id or None,
                run.schedule,
                output.instant(run.due_at),
                run.state,
                output.instant(run.created_at),
                "; ".join(run.waits) or None,
            ]
            for run in runs
        ],
    )


def print_run(run: RunDetail) -> None:
    """Prints a run in detail."""
    output.pairs(
        {
            "run": run.id,
            "schedule": run.schedule,
            "version": run.version,
            "due": run.due_at,
            "state": run.state,
            "reason": output.one_line(run.reason),
            "waits_for" if run.finished_at is None else "waited_for": "; ".join(run.waits),
            "attempt": run.attempt or None,
            "priority": run.priority or None,
            "group": run.group,
            "caused_by": _cause(run),
            "created": run.created_at,
            "not_before": run.not_before,
            "launched": run.launched_at,
            "finished": run.finished_at,
        }
    )
    if request := _request(run):
        output.say()
        output.pairs({**request, "budget": _seconds(request.get("budget"))})
    if run.answers:
        output.say()
        output.table(
            ["answered", "outcome", "status", "seconds", "error", "body"],
            [
                [
                    _instant(answer),
                    *map(answer.get, ("outcome", "status", "seconds")),
                    output.one_line(answer.get("error")),
                    output.one_line(answer.get("body"), LONGEST_BODY),
                ]
                for answer in run.answers
            ],
        )


def _request(run: RunDetail) -> Mapping[str, object]:
    return run.request if isinstance(run.request, Mapping) else {}


def _cause(run: RunDetail) -> str:
    """The cause of a run: a remark, the process that ended, the events."""
    ended = [str(run.cause.get(name) or "") for name in ("process", "timeperiod", "status")]
    count = run.cause.get("count", len(run.events))
    more = f" (the newest of {count})" if isinstance(count, int) and count > len(run.events) else ""
    events = f"events {', '.join(run.events)}{more}" if run.events else ""
    parts = [str(run.cause.get("remark") or ""), " ".join(filter(None, ended)), events]
    return "; ".join(filter(None, parts))


def _seconds(number: object) -> str | None:
    return output.span(number) if isinstance(number, int | float) else None


def _instant(answer: Mapping[str, object]) -> str | None:
    at = answer.get("at")
    return output.instant(datetime.fromisoformat(at)) if isinstance(at, str) else None
