"""A deployment with free-run processes beside a tree, and runs of them launched by hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from synergy.commands.run_units import launch_worker
from synergy.model.process import Deployment, FreerunProcess
from synergy.model.schedule import Run, RunState, run_id
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.worker.command import CommandWorker
from synergy.worker.outcome import Outcome, Processed
from synergy.worker.task import Task
from synergy.worker.unit_runner import UnitRunner
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness

NOW = datetime(2015, 5, 20, 12, 0, 7, tzinfo=UTC)
DUMP = "import json, os, sys; json.dump([sys.argv[1:], dict(os.environ)], open(sys.argv[1], 'w'))"
SECOND = "20150520120007"  # NOW, as the timeperiod of a run


def a_free_process(name: str = "Report", **fields: Any) -> FreerunProcess:
    """A free-run process; all fields but its name have defaults."""
    given = {"classname": "tests.nothing", "token": name, "present_on_boxes": (".*",), **fields}
    return FreerunProcess(name=name, **given)


def a_system(*free: FreerunProcess, tree: bool = True) -> SchedulerHarness:
    """A system with these processes and, by default, a tree of one process."""
    trees = {"site": [a_process("Site", HOURLY, source="raw", sink="site")]} if tree else {}
    managed = a_deployment(trees)
    processes = {**managed.processes, **{process.name: process for process in free}}
    return SchedulerHarness(Deployment(processes, managed.trees), now=NOW)


def a_run(key: str = "due:1", process: str = "Report", **fields: Any) -> Run:
    """A launched run of a worker."""
    given: dict[str, Any] = {
        "due_at": NOW,
        "created_at": NOW,
        "launched_at": NOW,
        "request": {"process": process, "arguments": {}},
        **fields,
    }
    return Run(
        id=run_id("s", key), schedule="s", key=key, version=1, state=RunState.LAUNCHED,
        program=process, **given,
    )  # fmt: skip


def launch(system: SchedulerHarness, *runs: Run) -> list[UnitOfWork]:
    """Stores the runs and their units, and publishes their messages, in one batch."""
    process = system.deployment.freerun()[runs[0].program]
    with system.store.batch() as batch:
        system.store.runs.create(runs, "a test")
        return launch_worker(
            system.store, system.bus, runs, process, system.clock.now(), "a test", batch
        )


def unit(system: SchedulerHarness, run: Run) -> UnitOfWork:
    """The unit of a run as it is now."""
    return system.store.units.get([run.id])[0]


def another_runner(system: SchedulerHarness, process: str, owner: str, work: Any) -> UnitRunner:
    """One more worker of a process; the caller closes it."""
    return UnitRunner(system.workplace(process, owner), work, ("domain",))


def carry_out(
    system: SchedulerHarness,
    work: Callable[[Task], Any],
    process: str = "Report",
    owner: str = "a worker",
) -> bool:
    """Has a new worker carry out one group; False if none waits."""
    with (
        closing(another_runner(system, process, owner, work)) as runner,
        closing(system.bus.consumer(process)) as consumer,
    ):
        return runner.round(consumer)


def events(system: SchedulerHarness, units: Sequence[UnitOfWork]) -> list[str]:
    """The journal events of these units and their runs, in order."""
    ids = {one.id for one in units}
    return [e.event for e in system.store.journal.since(0, 10_000) if e.unit in ids]


def no_work(_task: Task) -> Outcome:
    return Processed()


def fail(_task: Task) -> Outcome:
    raise ValueError("the disk is full")


def carry_out_command(system, process="Report"):
    worker = CommandWorker(system.workplace(process, "a worker"))
    assert carry_out(system, worker.work, process)


def started_with(tmp_path, command, arguments, given, *, names=(), options=(), **fields):
    """The run, and the arguments and environment of its program; its home is `tmp_path`.

    `names` are the variables that its process declares, `options` the arguments whose values may
    be options.
    """
    seen = tmp_path / "seen"
    process = a_free_process(
        classname=None,
        command=(sys.executable, "-c", DUMP, str(seen), *command),
        arguments=arguments,
        environment=names,
        option_arguments=frozenset(options),
    )
    system = a_system(process)
    system.home = tmp_path
    run = a_run(request={"process": "Report", "arguments": given}, **fields)
    launch(system, run)
    carry_out_command(system)
    done = unit(system, run)
    assert done.state is UnitState.PROCESSED, done.reason
    argv, environment = json.loads(seen.read_text())
    return run, argv[1:], environment
