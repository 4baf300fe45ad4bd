"""Runs of free-run processes by real workers, some of which are killed during a run."""

from __future__ import annotations

import os

import pytest

from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import outcome_of
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from tests.acceptance import inside
from tests.acceptance.deployments.gates import let_through
from tests.acceptance.kit import end_of, kill


@pytest.fixture(scope="module")
def gates(tmp_path_factory):
    return tmp_path_factory.mktemp("gates")


@pytest.fixture(scope="module")
def home(module_homes, gates):
    home = module_homes(context="tests.acceptance.deployments.free", test_gates=str(gates))
    home.start()
    return home


def trigger(home, process):
    return inside.ask(home, "process", "trigger", process)["run"]


def ended(home, run):
    """The row of the run, once an agent has finished it."""

    def look(store):
        [row] = store.runs.get([run])
        return row if row.state.is_finished else None

    return home.until(look)


def until(home, run, state, attempt=1):
    def look(store):
        [unit] = store.units.get([run])
        return unit if (unit.state, unit.attempt) == (state, attempt) else None

    return home.until(look)


def test_a_run_of_a_killed_worker_fails_and_the_next_run_succeeds(home, gates):
    os.mkfifo(gates / "Once")
    lost = trigger(home, "Once")
    held = until(home, lost, UnitState.IN_PROGRESS)
    kill(int(held.owner.split("/")[2]))  # a member of the pool
    done = until(home, lost, UnitState.CANCELED, attempt=2)
    assert outcome_of(done) == (RunMove.FAIL, "its worker is gone")
    row = ended(home, lost)
    assert (row.state, row.reason) == (RunState.FAILED, "its worker is gone")

    (gates / "Once").unlink()
    fresh = trigger(home, "Once")
    assert fresh != lost
    done = until(home, fresh, UnitState.PROCESSED)
    assert done.counts == {"arguments": 2}
    assert ended(home, fresh).state is RunState.PROCESSED
    home.check_journal()


def test_a_run_with_attempts_left_goes_to_another_worker(home, gates):
    gate = gates / "Twice"
    os.mkfifo(gate)
    run = trigger(home, "Twice")
    held = until(home, run, UnitState.IN_PROGRESS)
    beside = trigger(home, "Twice")  # the other instance has no reason to wait
    until(home, beside, UnitState.IN_PROGRESS)
    kill(int(held.owner.split("/")[2]))
    again = until(home, run, UnitState.IN_PROGRESS, attempt=2)
    assert again.owner != held.owner
    let_through(gate)
    done = until(home, run, UnitState.PROCESSED, attempt=2)
    assert outcome_of(done) == (RunMove.PROCESS, "")
    until(home, beside, UnitState.PROCESSED)
    assert {ended(home, one).state for one in (run, beside)} == {RunState.PROCESSED}
    home.check_journal()


def test_processes_are_shown_with_their_kind(home):
    home.until_all_run()  # other tests may have killed some
    shown = {p["name"]: p for p in home.ask("process", "list")["processes"]}
    assert {name: p["kind"] for name, p in shown.items()} == {
        "Scheduler": "daemon", "Agent": "daemon", "Once": "freerun", "Twice": "freerun",
        "Program": "freerun", "Ticking": "freerun", "Pool": "daemon",
    }  # fmt: skip
    status = home.ask("supervisor", "status")["processes"]
    assert {p["state"] for p in status} == {"running"}
    names = [p["name"] for p in status]
    assert set(names) == {"Agent", "Pool", "Scheduler", "Twice"}
    assert names.count("Twice") == 2
    assert names.count("Pool") >= 2


def test_a_worker_started_with_console_processes_triggered_runs(homes, tmp_path):
    home = homes(context="tests.acceptance.deployments.free", test_gates=str(tmp_path))
    inside.run(home, "store", "init")
    runs = [trigger(home, "Program"), trigger(home, "Program")]
    worker = home.begin("process", "start", "Program", "--console")
    for run in runs:
        done = until(home, run, UnitState.PROCESSED)
        lines = inside.ask(home, "unit", "log", run)["lines"]
        assert [line["text"] for line in lines] == [f"{run} {done.timeperiod}"]
    worker.terminate()
    assert end_of(worker).code == 0


def test_a_process_with_a_trigger_runs_periodically_and_its_interval_can_be_changed(home):
    def look(store):
        runs, _ = store.runs.find("Ticking", RunState.PROCESSED)
        return runs if len(runs) >= 3 else None

    runs = home.until(look)
    assert len({run.due_at for run in runs}) == len(runs)
    assert {run.key for run in runs if not run.key.startswith("due:")} == set()
    changed = inside.ask(home, "process", "interval", "Ticking", "every 3600")
    assert (changed["before"], changed["trigger"]) == ("every 1", "every 3600")
    with home.store() as store:
        [schedule] = store.schedules.get(["Ticking"])
    assert (schedule.version, schedule.is_enabled) == (2, True)
    by_hand = trigger(home, "Ticking")
    row = ended(home, by_hand)
    assert (row.schedule, row.version, row.state) == ("Ticking", 2, RunState.PROCESSED)
