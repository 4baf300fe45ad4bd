"""`launch.py timetable …`: the jobs of all periods."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from synergy.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from synergy.commands.bulk import BulkVerb
    from synergy.commands.jobs import Touched
    from synergy.queries.timetable.audit import Audit
    from synergy.queries.timetable.causes import Cause
    from synergy.queries.views import LevelView, TreeView

NOTHING = {
    "started over": "none of these jobs has begun",
    "skipped": "all of these jobs are finished; a reprocess starts them over",
    "tried again": "none of these jobs is failed; one that was given up is reprocessed",
    "acknowledged": "none of these jobs was given up, and is not acknowledged yet",
}
SHOWN = 40  # unexplained periods that are listed for people
RANGE_HELP = "FROM..TO without TO, or one timeperiod"


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers,
        "timetable",
        "jobs: show, explain, reprocess, skip, audit",
        "launch.py timetable why SiteDailyAggregator 2015051700",
    )
    show = options.verb(
        verbs, "show", run_show, "show how far each process is, and the jobs of a window",
        "launch.py timetable show site --from 2015051700 --to 2015051800",
    )  # fmt: skip
    show.add_argument("tree", metavar="TREE", nargs="?", help="only this tree")
    show.add_argument("--from", dest="first", metavar="TIMEPERIOD", default="")
    show.add_argument("--to", dest="end", metavar="TIMEPERIOD", default="", help="not included")
    options.json_option(show)
    why = options.verb(
        verbs, "why", run_why, "show what a job waits for, down to the causes, and what helps",
        "launch.py timetable why SiteDailyAggregator 2015051700",
    )  # fmt: skip
    _job(why)
    options.json_option(why)
    _add_cascades(verbs)
    extend = options.verb(
        verbs, "extend", run_extend, "move the first hour of the timetable to an earlier one",
        "launch.py timetable extend --from 2015010100",
    )  # fmt: skip
    extend.add_argument("--from", dest="first", metavar="TIMEPERIOD", required=True)
    options.change_options(extend)
    audit = options.verb(
        verbs, "audit", run_audit, "account for every closed period; exit 1 if one failed",
        "launch.py timetable audit",
    )  # fmt: skip
    options.json_option(audit)
    wait = options.verb(
        verbs, "wait", run_wait, "wait until a job is done, late data included",
        "launch.py timetable wait SiteYearlyAggregator 2015000000 --timeout 600",
    )  # fmt: skip
    _job(wait)
    wait.add_argument("--timeout", metavar="SECONDS", type=options.seconds, help="default: none")
    options.json_option(wait)


def _add_cascades(verbs: Any) -> None:
    reprocess = options.verb(
        verbs, "reprocess", run_reprocess, "start jobs over, with all that was made from them",
        "launch.py timetable reprocess SiteHourlyAggregator 2015051700..2015051800 --dry-run",
    )  # fmt: skip
    skip = options.verb(
        verbs, "skip", run_skip, "skip jobs that are not finished, with all that needs them",
        "launch.py timetable skip SiteHourlyAggregator 2015051713 --reason 'source lost'",
    )  # fmt: skip
    retry = options.verb(
        verbs, "retry", run_retry, "try failed jobs again, with a fresh budget of attempts",
        "launch.py timetable retry SiteHourlyAggregator 2015051700..2015051800",
    )  # fmt: skip
    acknowledge = options.verb(
        verbs, "acknowledge", run_acknowledge,
        "take note of jobs that were given up, so that they count as skipped from now on",
        "launch.py timetable acknowledge SiteHourlyAggregator 2015051713 --reason 'source lost'",
    )  # fmt: skip
    for parser in (reprocess, skip, retry, acknowledge):
        parser.add_argument("process", metavar="PROCESS")
        parser.add_argument("range", metavar="RANGE", help=RANGE_HELP)
        options.change_options(parser)


def _job(parser: Any) -> None:
    parser.add_argument("process", metavar="PROCESS")
    parser.add_argument("timeperiod", metavar="TIMEPERIOD")


def run_show(arguments: argparse.Namespace) -> None:
    """Counts for each process; with a window, its jobs."""
    from synergy.cli import output
    from synergy.cli.services import services
    from synergy.queries.views import Window

    has_window = bool(arguments.first or arguments.end)
    window = Window.between(arguments.first, arguments.end) if has_window else None
    with services() as at:
        trees = at.reads.trees(arguments.tree, window)
    if arguments.json:
        output.print_json({"trees": [_tree_json(tree) for tree in trees]})
    elif window is None:
        _print_counts(trees)
    else:
        _print_jobs(trees)


def _tree_json(tree: TreeView) -> dict[str, object]:
    processes = [_level_json(level) for level in tree.processes]
    return {"name": tree.name, "dependent_on": tree.dependent_on, "processes": processes}


def _level_json(level: LevelView) -> dict[str, object]:
    shown: dict[str, object] = {
        "name": level.name,
        "qualifier": level.qualifier,
        "counts": level.counts,
        "first": level.first,
        "last": level.last,
        "frontier": level.frontier,
    }
    return shown if level.jobs is None else {**shown, "jobs": level.jobs}


def _print_counts(trees: list[TreeView]) -> None:
    from synergy.cli.output import table

    states = list(trees[0].processes[0].counts) if trees else []
    table(
        ["tree", "process", "first", "first unfinished", *states],
        [
            [tree.name, level.name, level.first, level.frontier, *level.counts.values()]
            for tree in trees
            for level in tree.processes
        ],
    )


def _print_jobs(trees: list[TreeView]) -> None:
    from synergy.cli.output import REASON, one_line, table

    table(
        ["process", "timeperiod", "state", "generation", "unit", "reason"],
        [
            [
                level.name,
                job.timeperiod,
                f"{job.word} (stale)" if job.is_stale else job.word,
                job.generation,
                job.unit,
                one_line(job.reason, REASON),
            ]
            for tree in trees
            for level in tree.processes
            for job in level.jobs or ()
        ],
    )


def run_why(arguments: argparse.Namespace) -> None:
    """The tree of causes."""
    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        at.managed(arguments.process)
        cause = at.reads.why(arguments.process, arguments.timeperiod)
    if arguments.json:
        leaves = [cause_json(leaf) for leaf in cause.leaves()]
        output.print_json({**cause_json(cause), "leaves": leaves})
    else:
        _print_cause(cause, "")


def cause_json(cause: Cause) -> dict[str, Any]:
    """A cause and what is behind it."""
    return {
        "kind": cause.kind.value,
        "process": cause.process,
        "timeperiod": cause.timeperiod,
        "state": None if cause.state is None else cause.state.public,
        "text": cause.text,
        "helps": [help_.command for help_ in cause.helps],
        "causes": [cause_json(behind) for behind in cause.causes],
    }


def _print_cause(cause: Cause, indent: str) -> None:
    from synergy.cli.output import colour, one_line, say

    state = "" if cause.state is None else f" ({cause.state.word})"
    text = one_line(cause.text)
    say(f"{indent}{colour(f'{cause.process} {cause.timeperiod}', 'bold')}{state}: {text}")
    for help_ in cause.helps:
        say(f"{indent}  helps: {help_.command}")
    for behind in cause.causes:
        _print_cause(behind, indent + "  ")


def run_reprocess(arguments: argparse.Namespace) -> None:
    """Starts jobs over."""
    from synergy.commands.bulk import BulkVerb

    _show_touched(_touched(arguments, BulkVerb.REPROCESS), arguments, "started over")


def run_retry(arguments: argparse.Namespace) -> None:
    """Tries failed jobs again."""
    from synergy.commands.bulk import BulkVerb

    _show_touched(_touched(arguments, BulkVerb.RETRY), arguments, "tried again")


def run_acknowledge(arguments: argparse.Namespace) -> None:
    """Takes note of jobs that were given up."""
    from synergy.commands.bulk import BulkVerb
    from synergy.errors import InvalidValue

    if not arguments.reason.strip(". "):
        raise InvalidValue("say why it is well without these: --reason 'the source is lost'")
    _show_touched(_touched(arguments, BulkVerb.ACKNOWLEDGE), arguments, "acknowledged")


def run_skip(arguments: argparse.Namespace) -> None:
    """Skips jobs."""
    from synergy.commands.bulk import BulkVerb

    _show_touched(_touched(arguments, BulkVerb.SKIP), arguments, "skipped")


def _touched(arguments: argparse.Namespace, verb: BulkVerb) -> Sequence[Touched]:
    """Acts on a range, or looks what would be touched."""
    from synergy.cli.ranges import parse_range
    from synergy.cli.services import actor, services
    from synergy.commands.bulk import BulkRequest, Range

    with services() as at:
        process, who = at.managed(arguments.process), actor(arguments.reason)
        first, end = parse_range(process.qualifier, arguments.range)
        name = process.qualifier.timeperiod
        request = BulkRequest(verb, (Range(process.name, name(first), name(end - 1)),))
        if arguments.dry_run:
            return at.bulk.preview(request).first
        return at.bulk.act(request, who, at.now)


def _show_touched(touched: Sequence[Touched], arguments: argparse.Namespace, done: str) -> None:
    from synergy.cli import output

    if arguments.json:
        output.print_json(
            {"touched": [touched_json(t) for t in touched], "dry_run": arguments.dry_run}
        )
        return
    if not touched:
        output.say(f"nothing to do: {NOTHING[done]}")
        return
    output.table(
        ["process", "timeperiod", "before", "after", "generation"],
        [list(touched_json(job).values()) for job in touched],
    )
    verb = f"would be {done}" if arguments.dry_run else done
    output.say(f"{len(touched):,} job{'s' * (len(touched) != 1)} {verb}")


def touched_json(touched: Touched) -> dict[str, object]:
    """A job that was, or would be, changed."""
    return {
        "process": touched.process,
        "timeperiod": touched.timeperiod,
        "before": touched.before.word,
        "after": touched.after.word,
        "generation": touched.generation,
    }


def run_extend(arguments: argparse.Namespace) -> None:
    """Moves the first hour."""
    from synergy.cli import output
    from synergy.cli.services import actor, services

    with services() as at:
        before = at.timetable_commands.extend(
            arguments.first, actor(arguments.reason), at.now, dry_run=arguments.dry_run
        )
    if arguments.json:
        output.print_json(
            {"before": before, "after": arguments.first, "dry_run": arguments.dry_run}
        )
        return
    begins = "would begin" if arguments.dry_run else "begins"
    output.say(f"the timetable {begins} at {arguments.first}, before: {before}")


def run_audit(arguments: argparse.Namespace) -> int:
    """Accounts for every closed period."""
    from synergy.cli import exits, output
    from synergy.cli.services import services

    with services() as at, output.Progress("processes audited") as line:
        found = at.audit(line.show)
    if arguments.json:
        output.print_json(found)
    else:
        _print_periods(found)
        missing = found.expected - found.accounted
        output.say(
            f"{found.expected:,} closed periods expected, {found.accounted:,} accounted for, "
            f"{found.unfinished:,} of them unfinished, {missing:,} unexplained; "
            f"{found.failed:,} failed, {found.given_up:,} given up, {found.acknowledged:,} given "
            f"up and acknowledged, {found.unseen:,} skipped with changes since"
        )
    return exits.DONE if found.is_clean else exits.FAILED


def _print_periods(found: Audit) -> None:
    from synergy.cli import output

    for title, rows in (
        ("unexplained", found.unexplained),
        ("failed or given up", found.failures),
        ("acknowledged", found.acknowledgements),
    ):
        if rows:
            output.table(
                ["process", "timeperiod", "state", title],
                [[u.process, u.timeperiod, u.state, output.one_line(u.text)] for u in rows[:SHOWN]],
            )
        if len(rows) > SHOWN:
            output.say("... --json lists more")


def run_wait(arguments: argparse.Namespace) -> int:
    """Waits for a job."""
    from synergy.cli.timetable_wait import wait

    return wait(arguments)
