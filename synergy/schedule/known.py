"""What a definition is checked against, beside its own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synergy.errors import InvalidValue
from synergy.model.process import FreerunProcess, ManagedProcess, Process
from synergy.schedule.format.field_reader import Location
from synergy.schedule.format.literals import suggestion

OF_JOBS = ("processed", "noop", "skipped", "failed", "given_up")
"""How a job of a managed process ends, or comes to a halt; the journal says `job.` and the word."""

OF_RUNS = ("processed", "noop", "failed", "canceled")
"""How a run of a free-run process ends."""


class InvalidDefinition(InvalidValue):
    """A definition is wrong; `mistakes` lists all that is wrong with it."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, slots=True)
class Known:
    """The processes that there are, and who knows about targets.

    `processes` None: no reference is checked, as for what was checked when it was stored. A
    process that is None was declared, but is not sound: it is not complained about twice. The
    functions raise InvalidValue for what can never be sent; the pure core cannot import them.
    """

    processes: Mapping[str, Process | None] | None = None
    parse_target: Callable[[str], object] | None = None
    check_headers: Callable[[Mapping[str, str]], object] | None = None
    check_content_type: Callable[[str], object] | None = None

    def check_program(self, name: str, spot: Location) -> None:
        """The process that a schedule runs has to be a free-run one."""
        process = self._process(name, spot, FreerunProcess)
        if isinstance(process, ManagedProcess):
            spot.mistake(f"{name} is a managed process, which its timetable runs")
        elif process is not None and not isinstance(process, FreerunProcess):
            spot.mistake(f"{name} is a daemon, which always runs")

    def check_managed(self, name: str, statuses: Sequence[str], spot: Location) -> None:
        """The process whose periods are waited for has to be a managed one; its jobs end so."""
        process = self._process(name, spot.at("process"), ManagedProcess)
        if process is not None and not isinstance(process, ManagedProcess):
            spot.at("process").mistake(f"{name} has no timetable: expected a managed process")
        _check_statuses(statuses, OF_JOBS, spot)

    def check_ended(self, name: str, statuses: Sequence[str], spot: Location) -> None:
        """The process whose end is waited for has to be one that can end so."""
        process = self._process(name, spot.at("process"), Process)
        possible = tuple(dict.fromkeys((*OF_JOBS, *OF_RUNS)))
        if isinstance(process, ManagedProcess):
            possible = OF_JOBS
        elif isinstance(process, FreerunProcess):
            possible = OF_RUNS
        elif process is not None:
            spot.at("process").mistake(f"{name} is a daemon, which never ends")
        _check_statuses(statuses, possible, spot)

    def _process(self, name: str, spot: Location, kind: type[Process]) -> Process | None:
        """None, if nothing more can be said."""
        if self.processes is None or not name:
            return None
        if name not in self.processes:
            names = [n for n, process in self.processes.items() if isinstance(process, kind)]
            spot.mistake(f"unknown process {name:.100}: {suggestion(name, names)}")
        return self.processes.get(name)


def _check_statuses(statuses: Sequence[str], possible: Sequence[str], spot: Location) -> None:
    for status in filter(None, statuses):
        if status not in possible:
            what = "no end of a job" if possible is OF_JOBS else "no end of a run"
            expected = suggestion(status, possible)
            spot.at("statuses").mistake(f"{status:.60} is {what}: {expected}")
