"""The supervisor runs, switches and ends the processes that are assigned to its box."""

from __future__ import annotations

import logging
import os
import signal
import threading

from synergy.runtime.identity import start_time
from synergy.runtime.process_memory import memory
from synergy.runtime.topic_relay import TopicRelay
from synergy.supervisor import output, proctable
from synergy.supervisor.plan import Timing
from synergy.supervisor.proctable import Entry
from tests.service.supervisor.kit import (
    BOX,
    HIDES_A_CHILD,
    IGNORES_TERM,
    SLEEPS,
    a_clock,
    a_config,
)


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


def test_the_memory_of_processes_is_reported(home, drive):
    driver = drive(a_config(home, {"A": SLEEPS}))

    driver.until(lambda: driver.supervisor.is_settled)

    taken = memory(driver.store, BOX)
    assert taken.keys() == {("A", 1)}
    assert taken["A", 1] > 1_000_000  # bytes; every interpreter needs more


def test_a_process_runs_apart_from_its_supervisor(home, drive):
    says = "import os; print(os.getsid(0) == os.getpid(), os.getcwd(), flush=True)\n"
    driver = drive(a_config(home, {"A": says + SLEEPS}))

    driver.until_state("running")

    assert (home / "logs" / "A.out").read_text() == f"True {home}\n"


def test_a_process_switched_off_stops_and_stays_off_under_the_next_supervisor(home, drive):
    first = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}))
    first.until(lambda: first.supervisor.is_settled)

    first.switch("A", is_on=False)
    first.until_state("stopped")
    next_one = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}))
    next_one.until_state("running", "B")

    assert next_one.states("A") == {"stopped"}
    assert len(next_one.marked()) == 1


def test_a_process_switched_on_while_it_stops_never_runs_twice(home, drive):
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


def test_a_process_that_ignores_term_is_killed_with_its_grandchildren(home, drive):
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


def test_without_a_store_the_supervisor_keeps_running_processes_and_starts_none(
    home, drive, caplog
):
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


def test_a_process_that_the_context_no_longer_names_is_stopped(home, drive):
    first = drive(a_config(home, {"A": SLEEPS, "B": SLEEPS}))
    first.until(lambda: first.supervisor.is_settled)

    second = drive(a_config(home, {"A": SLEEPS}))
    second.until(lambda: not second.states("B"))

    assert second.marked() == second.pids()
    assert second.pids()[0] in first.pids()


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


def test_a_signal_reaches_only_the_process_that_was_meant(bystander):
    meant = Entry(bystander.pid, 0, 0, start_time(bystander.pid) - 1)

    assert not proctable.send(meant, signal.SIGKILL)
    assert bystander.poll() is None


def test_a_stop_ends_all_processes_even_those_that_ignore_sigterm(home, drive):
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


def test_a_notification_on_the_bus_takes_effect_without_a_poll(home, drive):
    driver = drive(a_config(home, {"A": SLEEPS}, clock=a_clock()))
    driver.until_state("running")
    noticed = threading.Semaphore(0)

    def look():
        driver.supervisor.refresh()
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
