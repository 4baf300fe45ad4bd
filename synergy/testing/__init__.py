"""Tests of workers and timetables, with any test runner.

`run_worker` carries out one unit on rows in memory. A `Simulation` is a whole deployment in the
calling thread, on a clock that moves only when it is told to. Both use the code that carries out
the deployment: the same scheduler, the same checks of rows, the same refusals. Nothing is left
behind, and no network is used.
"""

from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.testing.run_worker import WorkerRun, run_worker
from synergy.testing.simulation import Simulation

__all__ = ["JobState", "Simulation", "UnitState", "WorkerRun", "run_worker"]
