"""`launch.py timetable wait`: waits until the result of a job is final (`Standing.is_settled`)."""

from __future__ import annotations

import argparse
from contextlib import closing

from synergy.cli import exits, output
from synergy.cli.services import START, Services, services
from synergy.cli.timetable import cause_json
from synergy.clock import Clock, SystemClock
from synergy.errors import Refused
from synergy.messaging.protocol import Waiter
from synergy.model.job import JobState
from synergy.names import TIMETABLE_START
from synergy.queries.reads import JOURNAL
from synergy.queries.timetable.job_completion import Standing
from synergy.timeperiod import parse_period

POLL = 2.0  # seconds between two queries without a notification
PAUSE_FACTOR = 10  # a pause lasts at least this many times the query before it: waiting is cheap


def wait(arguments: argparse.Namespace) -> int:
    """Waits for the job, prints how it ended; the exit code says whether there is a result."""
    with services() as at:
        qualifier = at.managed(arguments.process).qualifier
        ordinal = parse_period(qualifier, arguments.timeperiod)
        arguments.timeperiod = qualifier.timeperiod(ordinal)
        if not at.reads.is_led(arguments.process):
            output.note(f"no scheduler leads its tree, so this may wait for long: {START}")
        with closing(at.bus.listener(JOURNAL)) as listener:
            found = _wait(at, arguments, listener, SystemClock())
        return _show(at, arguments, found)


def _wait(
    at: Services, arguments: argparse.Namespace, listener: Waiter, clock: Clock
) -> Standing | None:
    """The job's standing at the end or at the timeout; None without a timetable."""
    began = clock.monotonic()
    with output.Progress(f"{arguments.process} {arguments.timeperiod}: jobs finished") as line:
        while True:
            queried = clock.monotonic()
            standing = _query(at, arguments)
            now = clock.monotonic()
            if standing is not None:
                line.show(standing.finished, standing.total)
                if standing.is_settled or standing.needs_decision:
                    return standing
            left = POLL if arguments.timeout is None else began + arguments.timeout - now
            if left <= 0:
                return standing
            _pause(listener, clock, min(POLL, left), (now - queried) * PAUSE_FACTOR)


def _query(at: Services, arguments: argparse.Namespace) -> Standing | None:
    if at.store.facts.get(TIMETABLE_START) is None:
        return None
    return at.reads.standing(arguments.process, arguments.timeperiod)


def _pause(listener: Waiter, clock: Clock, longest: float, shortest: float) -> None:
    """Waits for a notification or `longest` seconds, and for at least `shortest` seconds."""
    until = clock.monotonic() + min(shortest, longest)
    listener.wait(longest)
    while (rest := until - clock.monotonic()) > 0:
        listener.wait(rest)


def _show(at: Services, arguments: argparse.Namespace, found: Standing | None) -> int:
    if found is None:
        raise Refused(f"the timetable still has no start: {START}")
    is_done = found.is_settled and found.state in (JobState.PROCESSED, JobState.NOOP)
    cause = None if is_done else at.reads.why(found.process, found.timeperiod)
    leaves = [] if cause is None else list(cause.leaves())
    if arguments.json:
        output.print_json(
            {
                "process": found.process,
                "timeperiod": found.timeperiod,
                "state": found.state.word,
                "done": found.is_settled,
                "failed": found.failed,
                "events_waiting": found.events_waiting,
                "late": None if found.late is None else found.late.process,
                "leaves": [cause_json(leaf) for leaf in leaves],
            }
        )
    else:
        output.say(f"{found.process} {found.timeperiod}: {_ending(found)}")
        for leaf in leaves:
            output.say(f"  {leaf.process} {leaf.timeperiod}: {output.one_line(leaf.text)}")
            for help_ in leaf.helps:
                output.say(f"    helps: {help_.command}")
    return exits.DONE if is_done else exits.FAILED


def _ending(found: Standing) -> str:
    if found.is_settled:
        return found.state.word
    if found.late is not None:
        rest = f"late data of {found.late.process} {found.late.timeperiod} is not in it yet"
    elif found.events_waiting:
        rest = f"{found.events_waiting:,} messages with events wait to be processed"
    else:
        rest = f"{found.finished:,} of {found.total:,} jobs are finished"
    if found.needs_decision:
        failed = f"{found.failed:,} of its jobs failed" if found.failed > 1 else "a job failed"
        return f"{found.state.word}; {failed}, and waiting does not help: {rest}"
    return f"{found.state.word}; the timeout has passed: {rest}"
