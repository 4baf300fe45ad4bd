"""`launch.py run`: carries out one period, or a free-run process, in this terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from synergy.cli import run_output
from synergy.cli.options import JSON, REASON, Verbs, argument, json_object, limit, not_empty
from synergy.cli.services import Services, actor, services
from synergy.errors import InvalidValue, NotFound
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.commands.jobs import Touched
    from synergy.model.process import FreerunProcess, ManagedProcess, WorkingProcess
    from synergy.storage.protocol import ReadableDocuments

MEMORY, STORED = "sqlite:///:memory:", "store:"
VERBS = Verbs()
add = VERBS.add_to


@VERBS.verb(
    "launch.py run SiteHourlyAggregator 2015-05-17T13",
    argument("process", metavar="PROCESS"),
    argument("timeperiod", metavar="TIMEPERIOD", nargs="?", help="none for a free-run process"),
    argument(
        "--source",
        metavar="FILE",
        type=not_empty,
        help="rows in place of those of the store: JSON, JSON lines or CSV; -: standard input",
    ),
    argument(
        "--write",
        dest="dry_run",
        action="store_false",
        help="conclude the period, and write its rows",
    ),
    argument(
        "--arguments",
        metavar="JSON",
        type=json_object,
        default={},
        help="an object; its values win",
    ),
    limit(20),
    JSON,
    REASON,
    records=("process", "timeperiod", "arguments"),
)
def run_run(arguments: argparse.Namespace) -> int:
    """Carry out one period, or a free-run process, in this terminal.

    The work runs in this process and its main thread, so that breakpoint() stops it here. It reads
    the rows of the store; its own rows are printed and not written. With --write they become those
    of the period, and all that was made from them is started over, as by a reprocess.
    """
    from synergy.model.process import FreerunProcess, ManagedProcess

    with _opened(arguments) as at:
        process = _with_arguments(_working(at, arguments.process), arguments.arguments)
        if isinstance(process, FreerunProcess):
            return _run_freely(at, process, arguments)
        assert isinstance(process, ManagedProcess)
        return _run_period(at, process, arguments)


@contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[Services]:
    """The open project; with an empty store in memory, if there is none and none is needed."""
    from synergy import compose

    project = compose.open_project()
    process = project.deployment.managed().get(arguments.process)
    needs_store = process is not None and (
        (process.stored_source is not None and arguments.source is None) or not arguments.dry_run
    )
    if needs_store or compose.has_store(project.settings):
        with services() as at:
            yield at
        return
    with TemporaryDirectory() as folder, closing(compose.open_url(MEMORY)) as store:
        settings = replace(project.settings, home=Path(folder), bus=STORED)
        with closing(compose.open_bus(replace(project, settings=settings), store)) as bus:
            yield Services(project, store, bus)


def _working(at: Services, name: str) -> WorkingProcess:
    from synergy.model.process import WorkingProcess

    process = at.project.process(name)
    if not isinstance(process, WorkingProcess):
        step = f"it is a daemon: {PROGRAM} process start {name} --console"
        raise NotFound("managed or free-run process", name, step)
    return process


def _with_arguments(process: WorkingProcess, given: dict[str, object]) -> WorkingProcess:
    """The process with other values; raises InvalidValue for an argument that no item takes."""
    from synergy.model.process import ManagedProcess
    from synergy.schedule.format.literals import suggestion

    for name in given if process.command is not None else ():
        if name not in process.arguments:
            meant = suggestion(name, process.arguments)
            raise InvalidValue(f"the command of {process.name} has no argument {name}: {meant}")
    if not isinstance(process, ManagedProcess):
        return process  # its run has them
    return replace(process, arguments={**process.arguments, **given})


def _run_freely(at: Services, process: FreerunProcess, arguments: argparse.Namespace) -> int:
    from synergy.cli.terminal_work import Work
    from synergy.commands.run_launcher import process_run_on_request
    from synergy.commands.run_units import unit_of

    if arguments.timeperiod is not None or arguments.source is not None:
        raise InvalidValue(f"{process.name} is a free-run process: it has no period and no source")
    if not arguments.dry_run:
        raise InvalidValue(
            f"{process.name} is a free-run process, which has no rows to write: "
            f"{PROGRAM} process trigger {process.name} stores its run"
        )
    run = process_run_on_request(process, None, actor(arguments.reason), at.now)
    run = replace(run, request={"process": process.name, "arguments": arguments.arguments})
    work = Work(at, process, unit_of(run, at.now), is_json=arguments.json)
    return run_output.show(arguments, work.carry_out(at.store.documents, run), ())


def _source(
    at: Services, process: ManagedProcess, period: str, file: str | None
) -> ReadableDocuments:
    """The documents of the store, or the rows of a file, which are of the period by default."""
    from synergy import compose
    from synergy.cli.input_files import read_rows
    from synergy.worker.source_rows import SourceRows

    if file is None:
        return at.store.documents
    if process.stored_source is None:
        raise InvalidValue(
            f"{process.name} has no source in the store, so --source gives it nothing"
        )
    memory = compose.open_url(MEMORY)
    SourceRows(memory.documents).put(process.stored_source, read_rows(file), period)
    return memory.documents


def _run_period(at: Services, process: ManagedProcess, arguments: argparse.Namespace) -> int:
    from synergy.cli.terminal_work import Work
    from synergy.commands.period_by_hand import PeriodByHand
    from synergy.commands.units_by_hand import unit_of_period
    from synergy.timeperiod import parse_period

    if arguments.timeperiod is None:
        raise InvalidValue(f"{process.name} has a timetable: name the period to carry out")
    ordinal = parse_period(process.qualifier, arguments.timeperiod)
    if arguments.dry_run:
        unit = unit_of_period(process, ordinal, at.now)
        work = Work(at, process, unit, is_json=arguments.json)
        return run_output.show(
            arguments, work.carry_out(_source(at, process, unit.timeperiod, arguments.source)), ()
        )
    if arguments.source is not None:
        raise InvalidValue(
            "--write and --source exclude each other: the rows of a file are not in the store, so "
            "the next run of the period would not have them"
        )
    name = process.qualifier.timeperiod(ordinal)
    period = PeriodByHand(at.store, at.bus, at.project.deployment, process.name, name)
    work = Work(at, process, period.unit(at.now), is_json=arguments.json)
    done = work.carry_out(at.store.documents)
    touched: Sequence[Touched] = ()
    if done.result is not None:
        who = actor(arguments.reason or "run by hand")
        touched = period.conclude(work.unit, done.as_by_hand, work.owner, who, at.now)
    return run_output.show(arguments, done, touched)
