"""How commands show schedules and runs: a line for each, or all that is known of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synergy.queries.schedules.views import RunDetail, RunView, ScheduleView

WORDS = 90  # characters of what a schedule does, in a list; on a terminal what there is room for
FEWEST = 24  # of them
BODY = 60  # characters of what a receiver answered


def print_schedules(views: Sequence[ScheduleView]) -> None:
    """A line for each; without the reasons, if there are none."""
    from synergy.cli import output

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
    """Has a column take no more room than the others leave on the terminal."""
    import shutil
    import sys
    from textwrap import shorten

    most = WORDS
    if sys.stdout.isatty():
        widths = [
            max(len(str(cell or "-")) for cell in cells) + 2
            for cells in zip(headers, *rows, strict=True)
        ]
        left = shutil.get_terminal_size().columns - sum(widths) + widths[column]
        most = max(FEWEST, left)
    for row in rows:
        row[column] = shorten(str(row[column]), most, placeholder="...")


def print_runs(runs: Sequence[RunView]) -> None:
    """A line for each run."""
    from synergy.cli import output

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
    """A line for each pending run."""
    from synergy.cli import output

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
    """All that is known of a run."""
    from synergy.cli import output

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
                [_instant(answer), answer.get("outcome"), answer.get("status"),
                 answer.get("seconds"), output.one_line(answer.get("error")),
                 output.one_line(answer.get("body"), BODY)]
                for answer in run.answers
            ],
        )  # fmt: skip


def _request(run: RunDetail) -> Mapping[str, object]:
    return run.request if isinstance(run.request, Mapping) else {}


def _cause(run: RunDetail) -> str:
    """What the run came from: who asked for it, what ended, which events."""
    ended = [str(run.cause.get(name) or "") for name in ("process", "timeperiod", "status")]
    count = run.cause.get("count", len(run.events))
    more = f" (the newest of {count})" if isinstance(count, int) and count > len(run.events) else ""
    events = f"events {', '.join(run.events)}{more}" if run.events else ""
    told = [str(run.cause.get("remark") or ""), " ".join(filter(None, ended)), events]
    return "; ".join(filter(None, told))


def _seconds(number: object) -> str | None:
    from synergy.cli import output

    return output.span(number) if isinstance(number, int | float) else None


def _instant(answer: Mapping[str, object]) -> str | None:
    from datetime import datetime

    from synergy.cli import output

    at = answer.get("at")
    return output.instant(datetime.fromisoformat(at)) if isinstance(at, str) else None
