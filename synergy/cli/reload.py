"""`launch.py reload`: the supervisor of this box takes over a changed context."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from synergy.cli import exits, output
from synergy.cli.options import DRY_RUN, JSON, Verbs, argument
from synergy.cli.services import START
from synergy.errors import ConfigurationError, Refused, Unreachable

if TYPE_CHECKING:
    from synergy.compose import Project
    from synergy.messaging.protocol import Waiter
    from synergy.runtime.identity import Incarnation
    from synergy.storage.protocol import Store
    from synergy.supervisor.reload_requests import Answer, Request

LOOK_SECONDS = 0.25  # the time between two looks whether there is an answer
SCHEDULES_SECONDS = 15.0  # how long an agent may take to create new schedules
ANSWER_SECONDS = 60.0  # how long a supervisor may take to read the context

_KINDS = ("added", "removed", "changed")  # what becomes of the declaration of a schedule

VERBS = Verbs()
add = VERBS.add_to


@VERBS.verb(
    "launch.py reload --dry-run",
    argument("--restart", choices=("workers", "all"), help="these too, with the code as it is now"),
    JSON,
    DRY_RUN,
    records=("restart",),
)
def run_reload(arguments: argparse.Namespace) -> int:
    """Take over a changed context.py and crontabs/ without stopping what runs.

    New processes start, and processes that are gone end. A process whose entry changed ends and
    starts again; its workers finish their units first. Schedulers, MX and agents are restarted, one
    after the other. All others keep running. A context with mistakes changes nothing.

    A change of Python code changes no entry: with --restart, the workers of the project, or all
    processes, start again too, after the unit that they have begun.
    """
    from synergy import compose
    from synergy.names import SUPERVISOR_TOPIC
    from synergy.supervisor import home_lock
    from synergy.supervisor.reload_requests import ask

    project = compose.open_project(imports=True)  # a mistake in it is found before anything else
    settings = project.settings
    running = home_lock.holder(settings.home)
    if running is None or not compose.has_store(settings):
        raise Unreachable(f"no supervisor runs on this box, so nothing was done: {START}")
    with (
        closing(compose.open_store(settings)) as store,
        closing(compose.open_bus(project, store)) as bus,
        closing(bus.listener(SUPERVISOR_TOPIC)) as listener,
    ):
        request = ask(
            store.facts,
            settings.box_id,
            dry_run=arguments.dry_run,
            restart=_restart(arguments, project),
        )
        bus.notify(SUPERVISOR_TOPIC)
        wait = _Wait(project, store, listener, running)
        answer = wait.result(request)
        new = (answer.changes or {}).get("schedules_added")
        if new and not arguments.dry_run:
            wait.for_schedules(new)
        _warn_of_kept(project, store, answer)
    return _show(arguments, project, answer)


def _restart(arguments: argparse.Namespace, project: Project) -> list[str]:
    """The processes that --restart names."""
    from synergy.supervisor.reload import workers_of_project

    if arguments.restart == "all":
        return sorted(project.deployment.processes)
    return workers_of_project(project.deployment) if arguments.restart == "workers" else []


def _warn_of_kept(project: Project, store: Store, answer: Answer) -> None:
    """Warns of schedules whose declaration changes, but not they, because of an edit by hand."""
    from synergy.commands.schedule_sync import SYNC, kept_by_hand

    changes = answer.changes or {}
    names = [name for kind in _KINDS for name in changes.get(f"schedules_{kind}", ())]
    if not names or project.settings.schedules_update == SYNC:
        return
    for name in kept_by_hand(store, names):
        output.warn(
            f"schedule {name} stays as it was made by hand: launch.py schedule show {name}; "
            "SYNERGY_SCHEDULES_UPDATE=sync takes the declarations"
        )


class _Wait:
    """Waits until the supervisor has answered, and until the new state is up."""

    def __init__(
        self, project: Project, store: Store, listener: Waiter, running: Incarnation
    ) -> None:
        self._settings = project.settings
        self._store = store
        self._listener = listener
        self._running = running
        self._shown: dict[tuple[str, int], str] = {}

    def result(self, request: Request) -> Answer:
        """The final answer; raises Unreachable if the supervisor ends before it."""
        answer = None
        for seconds in self._looks():
            found = self._answer(request)
            if answer is not None and found is None:
                raise Refused("another reload came in between: its output says what runs")
            answer = found
            if answer is not None and answer.is_done:
                return answer
            if answer is None and seconds > ANSWER_SECONDS:
                log = self._settings.home / "logs" / "supervisor.log"
                raise Unreachable(f"the supervisor does not answer; see {log}")
            if answer is not None and sys.stderr.isatty():
                self._show_progress()
        raise Unreachable(f"the supervisor ended before the new state was up: {START}")

    def for_schedules(self, names: Sequence[str]) -> None:
        """Waits until the agent that decides has created these schedules."""
        for seconds in self._looks():
            missing = set(names) - {found.name for found in self._store.schedules.get(names)}
            if not missing:
                return
            if seconds > SCHEDULES_SECONDS:
                output.warn(
                    f"no agent has created {', '.join(sorted(missing))} yet: the agent that decides"
                    " may be on another box, which needs a reload, too"
                )
                return

    def _looks(self) -> Iterator[float]:
        """The seconds since the beginning, again and again, as long as the supervisor lives."""
        from synergy.clock import SystemClock
        from synergy.supervisor import home_lock

        clock = SystemClock()
        began = clock.monotonic()
        while home_lock.holder(self._settings.home) == self._running:
            yield clock.monotonic() - began
            self._listener.wait(LOOK_SECONDS)

    def _answer(self, request: Request) -> Answer | None:
        from synergy.supervisor.reload_requests import answer_to

        return answer_to(self._store.facts, self._settings.box_id, request)

    def _show_progress(self) -> None:
        """Prints each process that has come into another state."""
        for seen in self._store.boxes.observed(self._settings.box_id):
            slot = seen.process, seen.instance
            before, self._shown[slot] = self._shown.get(slot, seen.state), seen.state
            if before != seen.state:
                output.note(f"{seen.process}/{seen.instance}: {seen.state}")


def _show(arguments: argparse.Namespace, project: Project, answer: Answer) -> int:
    """Prints the answer; the exit code."""
    if answer.changes is None:
        raise ConfigurationError(answer.mistakes)
    box, changes = project.settings.box_id, answer.changes
    lines = [*_lines(changes, dry_run=arguments.dry_run)]
    if not arguments.dry_run:
        lines.append(f"box {box} works by the context as it is now")
    output.show_change(arguments, {"box": box, **changes, "failed": answer.failed}, *lines)
    for slot in answer.failed:
        logs = project.settings.home / "logs" / slot.partition("/")[0]
        output.error(f"{slot} does not run: see {logs}.log and .out")
    return exits.FAILED if answer.failed else exits.DONE


def _lines(changes: Mapping[str, Any], *, dry_run: bool) -> Iterator[str]:
    verb = "would be" if dry_run else "is"
    for name in changes["added"]:
        yield f"{name} {verb} added"
    for name in changes["removed"]:
        yield f"{name} {verb} removed"
    for name, fields in changes["changed"].items():
        yield f"{name} {verb} changed: {', '.join(fields)}"
    for name in changes["trees"]:
        yield f"tree {name} {verb} added, removed or changed"
    for kind in _KINDS:
        for name in changes[f"schedules_{kind}"]:
            yield f"schedule {name} {verb} {kind}"
    if changes["restarted"]:
        yield f"{'would be ' if dry_run else ''}restarted: {', '.join(changes['restarted'])}"
    kept = [name for name in changes["unchanged"] if name not in changes["restarted"]]
    yield f"unchanged, and not restarted: {len(kept)}"
