"""The functions that run processes: methods that `context.py` names, commands, and the pool.

What a process does not need is not imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from synergy.config import classes
from synergy.errors import InvalidValue
from synergy.model.process import BuiltIn, WorkingProcess

if TYPE_CHECKING:
    from synergy.runtime.workplace import Workplace
    from synergy.worker import Worker


def entry_point(place: Workplace) -> Callable[[], object]:
    """The function that runs the process of a workplace until it is asked to stop."""
    process = place.process
    if process.classname == BuiltIn.POOL:
        from synergy.worker.pool import Pool

        return Pool(place, pooled_worker).start
    if isinstance(process, WorkingProcess) and process.command is not None:
        return _command_worker(place).start
    return classes.entry_point(process.classname or "", place)


def pooled_worker(place: Workplace) -> Worker:
    """The worker of a process that the pool serves; raises InvalidValue for an unsuitable class."""
    process = place.process
    if isinstance(process, WorkingProcess) and process.command is not None:
        return _command_worker(place)
    return pooled_class(process.classname or "")(place)


def pooled_class(path: str) -> type[Worker]:
    """The class of a process that the pool serves; raises InvalidValue if it cannot.

    The pool calls `work`, so `start` has to be that of `Worker`.
    """
    from synergy.worker import Worker

    found, method = classes.resolve(path)
    if issubclass(found, Worker) and getattr(found, method) is Worker.start:
        return found
    raise InvalidValue(
        f"{path} is not the start of a synergy.worker.Worker, so the pool cannot carry out its "
        "units: derive the class from Worker, or write instances=1"
    )


def _command_worker(place: Workplace) -> Worker:
    from synergy.worker.command import CommandWorker

    return CommandWorker(place)
