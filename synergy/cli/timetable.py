"""`launch.py timetable …`: the jobs of all periods."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from synergy.cli import exits, output, timetable_changes
from synergy.cli.options import JSON, PROCESS, Noun, argument, seconds
from synergy.cli.services import services

if TYPE_CHECKING:
    from synergy.queries.timetable.audit import Audit
    from synergy.queries.timetable.causes import Cause
    from synergy.queries.views import LevelView, TreeView

SHOWN = 40  # periods of a kind that an audit lists for people
TIMEPERIOD = argument("timeperiod", metavar="TIMEPERIOD")
NOUN = Noun(
    "timetable",
    "jobs: show, explain, reprocess, skip, audit",
    "launch.py timetable why SiteDailyAggregator 2015051700",
    (timetable_changes.VERBS,),
)
add = NOUN.add


@NOUN.verb(
    "launch.py timetable show site --from 2015-05-17 --to 2015-05-18",
    argument("tree", metavar="TREE", nargs="?", help="only this tree"),
    argument("--from", dest="first", metavar="TIMEPERIOD", default=""),
    argument("--to", dest="end", metavar="TIMEPERIOD", default="", help="not included"),
    JSON,
)
def run_show(arguments: argparse.Namespace) -> None:
    """Show the progress of each process, and the jobs of a window."""
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
    states = list(trees[0].processes[0].counts) if trees else []
    output.table(
        ["tree", "process", "first", "first unfinished", *states],
        [
            [tree.name, level.name, level.first, level.frontier, *level.counts.values()]
            for tree in trees
            for level in tree.processes
        ],
    )


def _print_jobs(trees: list[TreeView]) -> None:
    output.table(
        ["process", "timeperiod", "state", "generation", "unit", "reason"],
        [
            [
                level.name,
                job.timeperiod,
                f"{job.word} (stale)" if job.is_stale else job.word,
                job.generation,
                job.unit,
                output.one_line(job.reason, output.REASON),
            ]
            for tree in trees
            for level in tree.processes
            for job in level.jobs or ()
        ],
    )


@NOUN.verb("launch.py timetable why SiteDailyAggregator 2015-05-17", PROCESS, TIMEPERIOD, JSON)
def run_why(arguments: argparse.Namespace) -> None:
    """Show what a job waits for, down to the causes, and what helps."""
    with services() as at:
        at.managed(arguments.process)
        cause = at.reads.why(arguments.process, arguments.timeperiod)
    if arguments.json:
        leaves = [cause_json(leaf) for leaf in cause.leaves()]
        output.print_json({**cause_json(cause), "leaves": leaves})
    else:
        _print_cause(cause, "")


def cause_json(cause: Cause) -> dict[str, Any]:
    """A cause and the causes behind it."""
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
    state = "" if cause.state is None else f" ({cause.state.word})"
    text = output.one_line(cause.text)
    output.say(
        f"{indent}{output.colour(f'{cause.process} {cause.timeperiod}', 'bold')}{state}: {text}"
    )
    for help_ in cause.helps:
        output.say(f"{indent}  helps: {help_.command}")
    for behind in cause.causes:
        _print_cause(behind, indent + "  ")


@NOUN.verb("launch.py timetable audit", JSON)
def run_audit(arguments: argparse.Namespace) -> int:
    """Account for every closed period; exit 1 if one is unexplained, failed or given up."""
    with services() as at, output.Progress("processes audited") as line:
        found = at.audit(line.show)
    output.show(arguments, found, _print_audit)
    return exits.DONE if found.is_clean else exits.FAILED


def _print_audit(found: Audit) -> None:
    _print_periods(found)
    missing = found.expected - found.accounted
    output.say(
        f"{found.expected:,} closed periods expected, {found.accounted:,} accounted for, "
        f"{found.unfinished:,} of them unfinished, {missing:,} unexplained; "
        f"{found.failed:,} failed, {found.given_up:,} given up, {found.acknowledged:,} given "
        f"up and acknowledged, {found.unseen:,} skipped with changes since"
    )


def _print_periods(found: Audit) -> None:
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


@NOUN.verb(
    "launch.py timetable wait SiteYearlyAggregator 2015000000 --timeout 600",
    PROCESS,
    TIMEPERIOD,
    argument("--timeout", metavar="SECONDS", type=seconds, help="default: none"),
    JSON,
)
def run_wait(arguments: argparse.Namespace) -> int:
    """Wait until the result of a job is final, late data included."""
    from synergy.cli.timetable_wait import wait

    return wait(arguments)
