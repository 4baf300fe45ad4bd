"""Output of `launch.py run`: the rows, and what became of the period."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from synergy.cli import exits, output
from synergy.commands.jobs import Touched
from synergy.lifecycle.legal_moves import UnitMove
from synergy.queries.wording import counted
from synergy.storage.collection_rows import decoded, for_people
from synergy.visible_text import visible_json

if TYPE_CHECKING:
    from synergy.cli.terminal_work import Done
    from synergy.worker.attempt import Result

_STATES = {UnitMove.PROCESS: "processed", UnitMove.PASS: "noop"}


def show(arguments: argparse.Namespace, done: Done, started_over: Sequence[Touched]) -> int:
    """Prints the outcome; the exit code."""
    if arguments.json:
        output.print_json(_facts(arguments, done, started_over))
    elif done.result is None:
        output.error(f"{_name(done)} failed: {done.reason or 'no reason'}")
    else:
        _print_rows(arguments, done.result)
        _print_end(arguments, done, done.result, started_over)
    return exits.FAILED if done.result is None else exits.DONE


def _facts(
    arguments: argparse.Namespace, done: Done, started_over: Sequence[Touched]
) -> dict[str, object]:
    result = done.result
    return {
        "process": done.unit.process,
        "timeperiod": done.unit.timeperiod,
        "state": "failed" if result is None else _STATES[result.move],
        "reason": done.reason,
        "counts": {} if result is None else result.counts,
        "rows": [] if result is None else list(_rows(result)),
        "log": [f"{line.level} {line.text}" for line in done.lines],
        "started_over": [[touched.process, touched.timeperiod] for touched in started_over],
        "dry_run": arguments.dry_run,
    }


def _print_rows(arguments: argparse.Namespace, result: Result) -> None:
    rows = list(_rows(result))
    for row in rows[: arguments.limit]:
        output.say(visible_json(orjson.dumps(row, default=str).decode()))
    if len(rows) > arguments.limit:
        output.note(f"{len(rows) - arguments.limit} more: --limit, or --json for all")


def _print_end(
    arguments: argparse.Namespace, done: Done, result: Result, started_over: Sequence[Touched]
) -> None:
    counts = "".join(f", {number} {name}" for name, number in result.counts.items())
    output.note(f"{_name(done)} is {_STATES[result.move]}{counts}")
    number = sum(len(write.documents) for write in result.writes)
    for write in result.writes:
        verb = "would be written" if arguments.dry_run else "are written"
        output.note(f"{counted(number, 'row')} {verb} to {write.collection}")
    if not arguments.dry_run:
        others = [t for t in started_over if t.process != done.unit.process]
        if others:
            output.note(f"{counted(len(others), 'job')} made from it will be done again")


def _name(done: Done) -> str:
    return f"{done.unit.process} {done.unit.timeperiod}"


def _rows(result: Result) -> Iterator[dict[str, Any]]:
    for write in result.writes:
        for document in write.documents:
            body = document.body
            row = decoded(body) if isinstance(body, bytes) else body
            yield {name: for_people(value) for name, value in row.items()}
