"""The context that a definition is checked against: known processes and targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synergy.errors import InvalidValue
from synergy.model.command_template import check_values
from synergy.model.process import FreerunProcess, ManagedProcess, Process
from synergy.schedule.format.field_reader import Location
from synergy.schedule.format.literals import suggestion

OF_JOBS = ("processed", "noop", "skipped", "failed", "given_up")
"""The states in which a job of a managed process ends; the journal has events `job.<state>`."""

OF_RUNS = ("processed", "noop", "failed", "canceled")
"""The states in which a run of a free-run process ends."""


class InvalidDefinition(InvalidValue):
    """Raised for an invalid definition; `mistakes` lists all that is wrong with it."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, slots=True)
class Known:
    """The declared processes, and the functions that check targets.

    `processes` None: no reference is checked, as for stored definitions, which were checked before.
    A process that is None was declared, but is invalid, which was reported already. The functions
    raise InvalidValue for requests that cannot be sent. They are passed in, because this package
    must not import the packages that send requests.
    """

    processes: Mapping[str, Process | None] | None = None
    parse_target: Callable[[str], object] | None = None
    check_headers: Callable[[Mapping[str, str]], object] | None = None
    check_content_type: Callable[[str], object] | None = None
    check_signing_secret: Callable[[str], object] | None = None

    def check_program(self, name: str, location: Location) -> None:
        """Records a mistake unless a schedule may run this process."""
        process = self._process(name, location, FreerunProcess)
        if isinstance(process, ManagedProcess):
            location.mistake(f"{name} is a managed process, which its timetable runs")
        elif process is not None and not isinstance(process, FreerunProcess):
            location.mistake(f"{name} is a daemon, which always runs")

    def check_arguments(
        self, name: str, arguments: Mapping[str, object], location: Location
    ) -> None:
        """Records a mistake for an argument with NUL, or that the command takes for an option."""
        process = self.processes.get(name) if self.processes else None
        if isinstance(process, FreerunProcess) and process.command is not None:
            given = {key: arguments[key] for key in process.arguments if key in arguments}
            try:
                check_values(process.command, given, process.option_arguments)
            except InvalidValue as error:
                location.mistake(str(error))

    def check_managed(self, name: str, statuses: Sequence[str], location: Location) -> None:
        """Records a mistake unless this is a managed process whose jobs end in these states."""
        process = self._process(name, location.at("process"), ManagedProcess)
        if process is not None and not isinstance(process, ManagedProcess):
            location.at("process").mistake(f"{name} has no timetable: expected a managed process")
        _check_statuses(statuses, OF_JOBS, location)

    def check_ended(self, name: str, statuses: Sequence[str], location: Location) -> None:
        """Records a mistake unless jobs or runs of this process end in these states."""
        process = self._process(name, location.at("process"), Process)
        possible = tuple(dict.fromkeys((*OF_JOBS, *OF_RUNS)))
        if isinstance(process, ManagedProcess):
            possible = OF_JOBS
        elif isinstance(process, FreerunProcess):
            possible = OF_RUNS
        elif process is not None:
            location.at("process").mistake(f"{name} is a daemon, which never ends")
        _check_statuses(statuses, possible, location)

    def _process(self, name: str, location: Location, kind: type[Process]) -> Process | None:
        """The process; None if there is nothing more to check."""
        if self.processes is None or not name:
            return None
        if name not in self.processes:
            names = [n for n, process in self.processes.items() if isinstance(process, kind)]
            location.mistake(f"unknown process {name:.100}: {suggestion(name, names)}")
        return self.processes.get(name)


def _check_statuses(statuses: Sequence[str], possible: tuple[str, ...], location: Location) -> None:
    what = {OF_JOBS: "a job", OF_RUNS: "a run"}.get(possible, "a job or a run")
    for status in filter(None, statuses):
        if status not in possible:
            expected = suggestion(status, possible)
            location.at("statuses").mistake(
                f"{status:.60} is not a final state of {what}: {expected}"
            )
