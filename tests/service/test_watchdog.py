"""The watchdog ends a process whose work holds the interpreter."""

from __future__ import annotations

import os

import pytest

from synergy.worker.watchdog import SIGNAL
from tests.acceptance.forked import call

BEGIN = "from synergy.worker.watchdog import Watchdog\nwatchdog = Watchdog(0.1)\n"
FOR_EVER = "import re; re.match('(a+)+$', 'a' * 60 + 'b')\n"
OTHERS_RUN = """
import threading
def renew():
    while not done.wait(0.02):
        watchdog.renew()
done = threading.Event()
threading.Thread(target=renew, daemon=True).start()
"""
SPIN = """
import time
until = time.thread_time() + 0.15
while time.thread_time() < until:
    pass
"""


def code_of(program: str) -> int:
    """The exit code of a process that ran this program."""

    def run() -> int:
        exec(BEGIN + program, {"__name__": "__main__"})
        return 0

    code, _, _ = call(run, os.environ, limit=120)
    return code


def test_work_that_lets_no_other_thread_run_is_ended():
    assert code_of(OTHERS_RUN + "watchdog.arm()\n" + FOR_EVER) == -SIGNAL


@pytest.mark.parametrize(
    "program",
    [
        # other threads run meanwhile
        "watchdog = Watchdog(0.5)\n"
        + OTHERS_RUN
        + "watchdog.arm()\n"
        + SPIN.replace("0.15", "0.6"),
        SPIN,  # it was never armed
        "watchdog.arm()\nwatchdog.disarm()\nwatchdog.renew()\n" + SPIN,
        "watchdog.arm()\nwatchdog.close()\nwatchdog.renew()\n" + SPIN,
        "import time; watchdog.arm(); time.sleep(0.5)",  # waiting uses no processor time
        "import threading; watchdog.arm()\n"
        "other = threading.Thread(target=lambda: exec(SPIN)); SPIN = " + repr(SPIN) + "\n"
        "other.start(); other.join()",  # the work of another thread does not count
    ],
)
def test_other_programs_are_not_ended(program):
    assert code_of(program) == 0


A_WORKER = """
from synergy.runtime import abandoned_work
abandoned_work.GRACE_SECONDS = 0.1
import re
from tests.service.slow_units import a_system
a_system().round("Hour", lambda task: re.match("(a+)+$", "a" * 60 + "b"))
"""


def test_every_worker_has_a_watchdog():
    assert code_of(A_WORKER) == -SIGNAL


A_BUSY_WORKER = """
from synergy.runtime import abandoned_work
abandoned_work.GRACE_SECONDS = 0.1
import time
from synergy.model.unit_of_work import UnitState
from tests.service.slow_units import FIRST, a_system, copy_rows
def work(task):
    until = time.thread_time() + (1.0 if task.timeperiod == FIRST else 0.0)
    while time.thread_time() < until:
        pass
    return copy_rows(task)
system = a_system()
system.round("Hour", work)
assert system.unit_states("Hour", FIRST) == [UnitState.PROCESSED]
"""


def test_a_worker_above_the_watchdog_limit_continues_while_its_heart_beats():
    assert code_of(A_BUSY_WORKER) == 0
