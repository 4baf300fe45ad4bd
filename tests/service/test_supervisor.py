"""The supervisor with real processes, driven turn by turn in the test's own process."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime

import pytest

from synergy.clock import SteppedClock
from synergy.model.box import ObservedProcess
from synergy.runtime import abandoned_work
from synergy.runtime.identity import boot_id, start_time
from synergy.runtime.process_memory import memory
from synergy.runtime.topic_relay import TopicRelay
from synergy.supervisor import output, proctable
from synergy.supervisor.host import ProcessHost
from synergy.supervisor.plan import Timing
from synergy.supervisor.proctable import Entry
from tests.service.supervisor_kit import (
    BOX,
    FAILS,
    HIDES_A_CHILD,
    IGNORES_TERM,
    LEAVES_A_CHILD,
    READY,
    SLEEPS,
    Driver,
    a_config,
)


@pytest.fixture
def home(tmp_path):
    yield tmp_path
    assert not ProcessHost(tmp_path, tmp_path).sweep()


@pytest.fixture
def bystander():
    """A process that is none of ours."""
    process = subprocess.Popen([sys.executable, "-ISc", "import signal; signal.pause()"])
    yield process
    process.kill()
    process.wait()


def a_clock():
    return SteppedClock(datetime(2026, 11, 21, tzinfo=UTC))


@pytest.fixture
def drive():
    drivers = []

    def make(config, store=None):
        drivers.append(Driver(config, store))
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.supervisor.close()
        driver.store.close()


def test_each_assigned_process_runs_in_all_its_instances(home, drive):
    driver = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}, instances=2))

    driver.until(lambda: driver.supervisor.is_settled)

    places = [(o.process, o.instance, o.state) for o in driver.supervisor.view()]
    assert places == [
        ("A", 1, "running"),
        ("A", 2, "running"),
        ("B", 1, "running"),
        ("B", 2, "running"),
    ]
    assert driver.pids() == driver.marked()
    assert driver.store.boxes.observed(BOX) == list(driver.supervisor.view())


def test_it_is_told_what_memory_the_processes_take(home, drive):
    driver = drive(a_config(home, {"A": SLEEPS}))

    driver.until(lambda: driver.supervisor.is_settled)

    taken = memory(driver.store, BOX)
    assert taken.keys() == {("A", 1)}
    assert taken["A", 1] > 1_000_000  # bytes, which no interpreter gets along with


def test_a_process_runs_apart_from_its_supervisor(home, drive):
    says = "import os; print(os.getsid(0) == os.getpid(), os.getcwd(), flush=True)\n"
    driver = drive(a_config(home, {"A": says + SLEEPS}))

    driver.until_state("running")

    assert (home / "logs" / "A.out").read_text() == f"True {home}\n"


def test_a_killed_process_is_back_at_once(home, drive):
    driver = drive(a_config(home, {"A": SLEEPS}, clock=a_clock()))
    driver.until_state("running")
    before = driver.pids()

    os.kill(before[0], signal.SIGKILL)
    driver.until(lambda: driver.pids() not in ([], before))

    driver.until_state("running")
    assert [o.restarts for o in driver.supervisor.view()] == [1]
    assert driver.marked() == driver.pids()


def test_one_that_keeps_dying_is_started_ever_less_often(home, drive):
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


def test_a_worker_whose_work_does_not_let_go_is_back_at_once_each_time(home, drive, caplog):
    clock = a_clock()
    waits = f"signal.sigwait([signal.SIGUSR1])\nraise SystemExit({abandoned_work.EXIT})"
    blocked = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
    driver = drive(a_config(home, {"A": blocked + READY + waits}, clock=clock))
    for number in range(1, 6):
        driver.until_state("running")
        before = driver.pids()
        clock.advance(abandoned_work.GRACE)
        os.kill(before[0], signal.SIGUSR1)
        # no time passes on the supervisor's clock: it does not wait at all
        driver.until(lambda before=before: driver.pids() not in ([], before))
        assert [o.restarts for o in driver.supervisor.view()] == [number]
    assert "did not let go of a unit" in caplog.text


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
    assert len(os.listdir("/proc/self/fd")) <= before  # earlier tests may let go of some


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


def test_a_program_that_says_nothing_counts_as_running_after_a_while(home, drive):
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


def test_switched_off_stops_it_and_keeps_it_off_for_the_next_supervisor_too(home, drive):
    first = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}))
    first.until(lambda: first.supervisor.is_settled)

    first.switch("A", is_on=False)
    first.until_state("stopped")
    next_one = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}))
    next_one.until_state("running", "B")

    assert next_one.states("A") == {"stopped"}
    assert len(next_one.marked()) == 1


def test_switched_on_again_while_it_ends_there_are_never_two(home, drive):
    clock = a_clock()
    driver = drive(a_config(home, {"A": IGNORES_TERM}, clock=clock))
    driver.until_state("running")
    old = driver.pids()

    driver.switch("A", is_on=False)
    driver.until_state("stopping")
    driver.switch("A", is_on=True)
    driver.turn()
    assert driver.pids() == old

    clock.advance(5.0)
    driver.until_state("running")
    assert driver.pids() != old


def test_what_ignores_term_is_killed_with_its_grandchildren_in_other_sessions(home, drive):
    clock = a_clock()
    driver = drive(a_config(home, {"A": IGNORES_TERM}, clock=clock))
    driver.until_state("running")
    assert len(driver.marked()) == 3

    driver.switch("A", is_on=False)
    driver.until_state("stopping")
    clock.advance(4.9)
    driver.turn()
    assert len(driver.marked()) == 3
    clock.advance(0.1)
    driver.until_state("stopped")

    assert driver.marked() == []


def test_a_child_that_hides_from_marker_and_session_is_ended_with_its_parent(home, drive):
    clock = a_clock()
    driver = drive(a_config(home, {"A": HIDES_A_CHILD}, clock=clock))
    driver.until_state("running")
    hidden = [e for e in proctable.read_table().values() if e.parent == driver.pids()[0]]
    assert [entry.marker for entry in hidden] == [""]
    pidfd = proctable.pin(hidden[0])

    driver.switch("A", is_on=False)
    driver.until_state("stopped")

    assert proctable.has_ended(pidfd)
    os.close(pidfd)


def test_what_a_dead_process_leaves_behind_is_ended_before_it_starts_again(home, drive):
    driver = drive(a_config(home, {"A": LEAVES_A_CHILD}))
    driver.until_state("running")
    before = driver.marked()
    assert len(before) == 2

    os.kill(driver.pids()[0], signal.SIGKILL)
    driver.until(lambda: driver.pids() and driver.pids()[0] not in before)
    driver.until_state("running")

    driver.until(lambda: len(driver.marked()) == 2)
    assert not set(before) & set(driver.marked())


def test_without_its_store_it_keeps_what_runs_and_starts_nothing(home, drive, caplog):
    caplog.set_level(logging.INFO)
    clock = a_clock()
    driver = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}, clock=clock))
    driver.until(lambda: driver.supervisor.is_settled)
    pids = {o.process: o.pid for o in driver.supervisor.view()}

    driver.store.boxes.is_down = True
    os.kill(pids["A"], signal.SIGKILL)
    driver.until_state("backoff", "A")
    for _ in range(20):
        clock.advance(30.0)
        driver.turn()

    assert driver.marked() == [pids["B"]]
    assert driver.states("B") == {"running"}
    assert [r.event for r in caplog.records].count("supervisor.store_lost") == 1

    driver.store.boxes.is_down = False
    driver.until_state("running", "A")
    assert [r.event for r in caplog.records].count("supervisor.store_back") == 1
    assert len(driver.marked()) == 2


def test_a_store_that_is_down_at_the_start_is_waited_for(home, drive):
    driver = drive(a_config(home, {"A": SLEEPS}))
    driver.store.boxes.is_down = True
    driver.turn()
    assert not driver.supervisor.is_settled
    assert driver.marked() == []

    driver.store.boxes.is_down = False
    driver.until_state("running")


def test_the_next_supervisor_adopts_what_runs(home, drive):
    first = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}, instances=2))
    first.until(lambda: first.supervisor.is_settled)

    second = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}, instances=2))
    second.turn()

    assert second.pids() == first.pids() == second.marked()
    assert {o.state for o in second.supervisor.view()} == {"running"}

    os.kill(second.pids()[0], signal.SIGKILL)  # an adopted one is not its child, but missed too
    second.until(lambda: second.pids() != first.pids() and len(second.pids()) == 4)


def test_what_the_context_names_no_more_is_stopped(home, drive):
    first = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}))
    first.until(lambda: first.supervisor.is_settled)

    second = drive(a_config(home, {"A": SLEEPS}))
    second.until(lambda: not second.states("B"))

    assert second.marked() == second.pids()
    assert second.pids()[0] in first.pids()


def test_a_start_that_was_never_recorded_is_ended_and_done_again(home, drive):
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


def test_another_home_on_the_same_machine_is_left_alone(home, tmp_path_factory, drive):
    other_home = tmp_path_factory.mktemp("other")
    other = drive(a_config(other_home, {"A": SLEEPS}))
    other.until_state("running")

    driver = drive(a_config(home, {"A": SLEEPS}))
    driver.until_state("running")
    driver.host.sweep()

    assert driver.marked() == []
    assert other.marked() == other.pids()
    other.host.sweep()


@pytest.mark.parametrize("wrong", ["marker", "start time", "boot"])
def test_a_pid_that_is_somebody_elses_by_now_is_neither_adopted_nor_signalled(
    home, drive, bystander, wrong
):
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


def test_a_signal_reaches_only_the_process_that_was_meant(bystander):
    meant = Entry(bystander.pid, 0, 0, start_time(bystander.pid) - 1)

    assert not proctable.send(meant, signal.SIGKILL)
    assert bystander.poll() is None


def test_to_stop_ends_everything_even_what_ignores_term(home, drive):
    timing = Timing(grace=0.3, ready_after=1e9)
    driver = drive(a_config(home, {"A": SLEEPS, "B": IGNORES_TERM}, timing=timing))
    driver.until(lambda: driver.supervisor.is_settled)

    driver.stop.set()
    while not driver.supervisor._is_over():
        driver.supervisor.turn()
        driver.supervisor.wait()
    driver.supervisor._finish()

    assert driver.marked() == []
    assert {o.state for o in driver.store.boxes.observed(BOX)} == {"stopped"}


def test_a_notice_on_the_bus_is_acted_on_without_a_poll(home, drive):
    driver = drive(a_config(home, {"A": SLEEPS}, clock=a_clock()))
    driver.until_state("running")
    noticed = threading.Semaphore(0)

    def look():
        driver.supervisor.look_now()
        noticed.release()

    notices = TopicRelay(driver.supervisor._bus, driver.config.clock, "supervisor", look)
    notices.start()
    assert noticed.acquire(timeout=120)  # it listens
    driver.supervisor.turn()
    driver.switch("A", is_on=False)
    driver.supervisor._bus.notify("supervisor")
    assert noticed.acquire(timeout=120)
    driver.supervisor.turn()

    assert driver.states() == {"stopping"}
    assert notices.stop()


def test_output_is_bounded_and_goes_on_in_the_same_file(tmp_path):
    path = tmp_path / "A.out"
    with output.appending(path) as file:
        file.write(b"x" * 100 + b"the end\n")
        file.flush()
        output.trim(path, limit=50)
        file.write(b"more\n")

    assert path.read_bytes() == b"more\n"
    assert (tmp_path / "A.out.1").read_bytes() == b"x" * 42 + b"the end\n"
    assert output.tail(path) == "more"
