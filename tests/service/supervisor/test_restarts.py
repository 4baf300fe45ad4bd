"""Processes that die, fail to start or leave children behind are restarted."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from synergy.model.box import ObservedProcess
from synergy.runtime import abandoned_work
from synergy.runtime.identity import boot_id, start_time
from synergy.supervisor.plan import Timing
from tests.service.supervisor.kit import (
    BOX,
    FAILS,
    LEAVES_A_CHILD,
    READY,
    SLEEPS,
    a_clock,
    a_config,
)


def test_a_killed_process_is_restarted_at_once(home, drive):
    driver = drive(a_config(home, {"A": SLEEPS}, clock=a_clock()))
    driver.until_state("running")
    before = driver.pids()

    os.kill(before[0], signal.SIGKILL)
    driver.until(lambda: driver.pids() not in ([], before))

    driver.until_state("running")
    assert [o.restarts for o in driver.supervisor.view()] == [1]
    assert driver.marked() == driver.pids()


def test_a_process_that_keeps_dying_is_restarted_with_growing_delays(home, drive):
    clock = a_clock()
    driver = drive(a_config(home, {"A": FAILS}, clock=clock))

    def restarts():
        (observed,) = driver.supervisor.view()
        return observed.restarts

    # first start and first restart need no time to pass
    driver.until(lambda: restarts() == 1 and driver.states() == {"backoff"})
    for number, delay in enumerate([1, 2, 4, 8, 16, 32, 60, 60], start=2):
        clock.advance(delay - 0.1)
        driver.turn()
        assert driver.states() == {"backoff"}, f"restart {number} came early"
        clock.advance(0.1)
        driver.turn()
        assert restarts() == number
        driver.until_state("backoff")


def test_a_worker_that_ended_for_abandoned_work_is_restarted_at_once(home, drive, caplog):
    clock = a_clock()
    waits = f"signal.sigwait([signal.SIGUSR1])\nraise SystemExit({abandoned_work.EXIT_CODE})"
    blocked = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
    driver = drive(a_config(home, {"A": blocked + READY + waits}, clock=clock))
    for number in range(1, 6):
        driver.until_state("running")
        before = driver.pids()
        clock.advance(abandoned_work.GRACE_SECONDS)
        os.kill(before[0], signal.SIGUSR1)
        # no time passes on the supervisor's clock: it does not wait at all
        driver.until(lambda before=before: driver.pids() not in ([], before))
        assert [o.restarts for o in driver.supervisor.view()] == [number]
    assert "its work on a lost unit did not return" in caplog.text


def test_restarts_cost_no_file_descriptors(home, drive):
    clock = a_clock()
    driver = drive(a_config(home, {"A": FAILS, "B": READY + "raise SystemExit(1)"}, clock=clock))
    driver.turn()
    driver.until(lambda: driver.pids() == [])
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(10):
        clock.advance(60.0)
        driver.turn()
        driver.until(lambda: driver.pids() == [])

    assert min(o.restarts for o in driver.supervisor.view()) >= 10
    assert (
        len(os.listdir("/proc/self/fd")) <= before
    )  # descriptors of earlier tests may be closed meanwhile


def test_a_minute_of_health_makes_the_next_restart_immediate(home, drive):
    clock = a_clock()
    driver = drive(a_config(home, {"A": SLEEPS}, clock=clock))
    for _ in range(2):
        driver.until_state("running")
        os.kill(driver.pids()[0], signal.SIGKILL)
        driver.until(lambda: not driver.pids() or driver.states() == {"starting"})
    driver.until_state("backoff")
    clock.advance(1.0)
    driver.until_state("running")

    clock.advance(60.0)
    os.kill(driver.pids()[0], signal.SIGKILL)

    driver.until(lambda: driver.states() == {"starting"})


def test_a_command_that_cannot_be_started_backs_off_like_a_death(home, drive, caplog):
    config = a_config(home, {"A": SLEEPS}, clock=a_clock())
    object.__setattr__(config, "command", lambda process, instance: ["/no/such/program"])
    driver = drive(config)

    driver.turn()
    driver.turn()
    driver.turn()

    assert driver.states() == {"backoff"}
    assert len([r for r in caplog.records if r.event == "process.start_failed"]) == 2


def test_a_program_without_a_ready_signal_counts_as_running_after_a_time(home, drive):
    clock = a_clock()
    mute = "import signal; signal.pause()"
    driver = drive(a_config(home, {"A": mute}, clock=clock, timing=Timing(ready_after=3.0)))
    driver.until_state("starting")

    clock.advance(2.9)
    driver.turn()
    assert driver.states() == {"starting"}
    clock.advance(0.1)
    driver.turn()
    assert driver.states() == {"running"}


def test_children_of_a_dead_process_are_ended_before_its_restart(home, drive):
    driver = drive(a_config(home, {"A": LEAVES_A_CHILD}))
    driver.until_state("running")
    before = driver.marked()
    assert len(before) == 2

    os.kill(driver.pids()[0], signal.SIGKILL)
    driver.until(lambda: driver.pids() and driver.pids()[0] not in before)
    driver.until_state("running")

    driver.until(lambda: len(driver.marked()) == 2)
    assert not set(before) & set(driver.marked())


def test_the_next_supervisor_adopts_what_runs(home, drive):
    first = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}, instances=2))
    first.until(lambda: first.supervisor.is_settled)

    second = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}, instances=2))
    second.turn()

    assert second.pids() == first.pids() == second.marked()
    assert {o.state for o in second.supervisor.view()} == {"running"}

    os.kill(second.pids()[0], signal.SIGKILL)  # an adopted process: not its child
    second.until(lambda: second.pids() != first.pids() and len(second.pids()) == 4)


def test_a_start_whose_pid_was_not_recorded_is_ended_and_repeated(home, drive):
    driver = drive(a_config(home, {"A": SLEEPS}))
    host, slot = driver.host, next(iter(driver.supervisor._slots._belonging))
    marker = host.marker(BOX, slot)
    half_started = host.spawn(slot, [sys.executable, "-ISc", SLEEPS], marker)
    intent = ObservedProcess(BOX, "A", 1, "starting", marker=marker, boot_id=boot_id())
    driver.store.boxes.report(BOX, [intent], driver.config.clock.now())

    driver.until_state("running")

    assert half_started.has_exited
    assert driver.marked() == driver.pids()
    half_started.close()


@pytest.mark.parametrize("wrong", ["marker", "start time", "boot"])
def test_a_reused_pid_is_neither_adopted_nor_signalled(home, drive, bystander, wrong):
    driver = drive(a_config(home, {"A": SLEEPS}))
    slot = next(iter(driver.supervisor._slots._belonging))
    started = start_time(bystander.pid)
    record = ObservedProcess(
        BOX,
        "A",
        1,
        "running",
        marker=driver.host.marker(BOX, slot),
        pid=bystander.pid,
        started=started + 1 if wrong == "start time" else started,
        boot_id="another" if wrong == "boot" else boot_id(),
    )
    driver.store.boxes.report(BOX, [record], driver.config.clock.now())

    driver.until_state("running")
    assert driver.pids() != [bystander.pid]
    driver.switch("A", is_on=False)
    driver.until_state("stopped")

    assert bystander.poll() is None
