"""`launch.py timetable reprocess`, `skip`, `retry`, `acknowledge`, `extend`: changes of jobs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import CHANGE, PROCESS, Verbs, argument
from synergy.cli.services import actor, services
from synergy.errors import InvalidValue
from synergy.timeperiod import Qualifier, parse_hour, parse_range

if TYPE_CHECKING:
    from synergy.commands.jobs import Touched

RANGE = argument("range", metavar="RANGE", help="FROM..TO (TO is not included), or one period")
NOTHING = {
    "started over": "none of these jobs has begun",
    "skipped": "all of these jobs are finished; a reprocess starts them over",
    "tried again": "none of these jobs is failed; a reprocess tries one again that was given up",
    "acknowledged": "none of these jobs was given up, or all of those are acknowledged",
}
VERBS = Verbs()


@VERBS.verb(
    "launch.py timetable reprocess SiteHourlyAggregator 2015-05-17..2015-05-18 --dry-run",
    PROCESS,
    RANGE,
    *CHANGE,
    records=("process", "range"),
)
def run_reprocess(arguments: argparse.Namespace) -> None:
    """Start jobs over, with all that was made from them."""
    _act(arguments, "started over")


@VERBS.verb(
    "launch.py timetable skip SiteHourlyAggregator 2015-05-17T13 --reason 'source lost'",
    PROCESS,
    RANGE,
    *CHANGE,
    records=("process", "range"),
)
def run_skip(arguments: argparse.Namespace) -> None:
    """Skip unfinished jobs, with their descendants and dependants."""
    _act(arguments, "skipped")


@VERBS.verb(
    "launch.py timetable retry SiteHourlyAggregator 2015051700..2015051800",
    PROCESS,
    RANGE,
    *CHANGE,
    records=("process", "range"),
)
def run_retry(arguments: argparse.Namespace) -> None:
    """Try failed jobs again, with a fresh budget of attempts."""
    _act(arguments, "tried again")


@VERBS.verb(
    "launch.py timetable acknowledge SiteHourlyAggregator 2015051713 --reason 'source lost'",
    PROCESS,
    RANGE,
    *CHANGE,
    records=("process", "range"),
)
def run_acknowledge(arguments: argparse.Namespace) -> None:
    """Acknowledge jobs that were given up: they count as skipped from now on."""
    if not arguments.reason.strip(". "):
        raise InvalidValue("give the reason: --reason 'the source is lost'")
    _act(arguments, "acknowledged")


def _act(arguments: argparse.Namespace, done: str) -> None:
    """Carries out the verb on a range of jobs, or previews it, and prints the jobs."""
    from synergy.commands.bulk import BulkRequest, BulkVerb, Range
    from synergy.queries.wording import counted

    with services() as at:
        process, who = at.managed(arguments.process), actor(arguments.reason)
        first, end = parse_range(process.qualifier, arguments.range)
        name = process.qualifier.timeperiod
        jobs = Range(process.name, name(first), name(end - 1))
        request = BulkRequest(BulkVerb(arguments.verb), (jobs,))
        if arguments.dry_run:
            touched = at.bulk.preview(request).first
        else:
            touched = at.bulk.act(request, who, at.now)
    rows = list(map(_touched_json, touched))
    if arguments.json or not touched:
        output.show_change(arguments, {"touched": rows}, f"nothing to do: {NOTHING[done]}")
        return
    output.table(list(rows[0]), [list(row.values()) for row in rows])
    verb = f"would be {done}" if arguments.dry_run else done
    output.say(f"{counted(len(rows), 'job')} {verb}")


def _touched_json(touched: Touched) -> dict[str, object]:
    """A job that was, or would be, changed."""
    return {
        "process": touched.process,
        "timeperiod": touched.timeperiod,
        "before": touched.before.word,
        "after": touched.after.word,
        "generation": touched.generation,
    }


@VERBS.verb(
    "launch.py timetable extend --from 2015-01-01",
    argument("--from", dest="first", metavar="TIMEPERIOD", required=True),
    *CHANGE,
    records=("first",),
)
def run_extend(arguments: argparse.Namespace) -> None:
    """Move the first hour of the timetable to an earlier one."""
    first = Qualifier.HOURLY.timeperiod(parse_hour(arguments.first))
    with services() as at:
        before = at.timetable_commands.extend(
            first, actor(arguments.reason), at.now, dry_run=arguments.dry_run
        )
    begins = "would begin" if arguments.dry_run else "begins"
    line = f"the timetable {begins} at {first}, before: {before}"
    output.show_change(arguments, {"before": before, "after": first}, line)
