"""A running deployment takes over a changed context; what did not change keeps running."""

from __future__ import annotations

import getpass
import os

import pytest

from synergy.model.unit_of_work import UnitState
from tests.acceptance.kit import end_of

CONTEXT = """
from synergy.config.context import freerun_context_entry
from tests.acceptance.deployments.entries import a_daemon

process_context = {{
    "Scheduler": a_daemon("Scheduler", "synergy.scheduler.scheduler.Scheduler.start"),
    "Agent": a_daemon("Agent", "synergy.agent.agent.Agent.start"),
    "Long": freerun_context_entry(
        process_name="Long",
        command=["cat", {gate!r}],
        present_on_boxes=[".*"],
        timeout={timeout!r},
    ),
}}
timetable_context = {{}}
"""
CRONTAB = "MAILTO=ops\n30 2 * * * echo from $LOGNAME; cat%one%two\n@reboot /opt/server\n"


class Deployed:
    """A deployment whose process `Long` runs until its gate is opened."""

    def __init__(self, home, folder):
        self.home = home
        self.context = folder / "reloaded_context.py"
        self.gate = folder / "gate"
        self.tab = folder / "nightly"
        os.mkfifo(self.gate)
        self.tab.write_text(CRONTAB)
        self.declare()

    def declare(self, timeout="1h"):
        self.context.write_text(CONTEXT.format(gate=str(self.gate), timeout=timeout))

    def begin_long(self):
        """A run of `Long` that is under way."""
        run = self.home.ask("process", "trigger", "Long")["run"]
        self.until(run, UnitState.IN_PROGRESS)
        return run

    def open_gate(self):
        self.gate.write_text("the end\n")

    def until(self, run, state):
        def look(store):
            [unit] = store.units.get([run])
            return unit if unit.state is state else None

        return self.home.until(look)

    def log(self, run):
        return [line["text"] for line in self.home.ask("unit", "log", run)["lines"]]


@pytest.fixture
def deployed(homes, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    deployed = Deployed(homes(context="reloaded_context"), tmp_path)
    deployed.home.start()
    return deployed


def test_a_crontab_is_taken_over_and_a_worker_that_is_at_work_keeps_its_process(deployed):
    home = deployed.home
    long = deployed.begin_long()
    before = home.leaders()

    imported = home.ask("schedule", "import-crontab", deployed.tab)
    [name] = imported["new"]
    assert [remark["line"] for remark in imported["refused"]] == [3]
    shown = home.ask("reload", "--dry-run")
    assert shown["added"] == shown["schedules_added"] == [name]
    assert home.leaders() == before
    done = home.ask("reload")

    assert (done["added"], done["failed"]) == ([name], [])
    assert done["restarted"] == ["Agent", "Scheduler"]
    after = home.leaders()
    assert after["Long/1"] == before["Long/1"]
    assert after.keys() - before.keys() == {f"{name}/1"}
    assert {slot for slot in before if after[slot] != before[slot]} == {"Scheduler/1", "Agent/1"}

    run = home.ask("schedule", "trigger", name)["run"]
    home.until(lambda store: store.units.get([run]))
    deployed.until(run, UnitState.PROCESSED)
    assert deployed.log(run) == [f"from {getpass.getuser()}", "one", "two"]

    deployed.open_gate()
    deployed.until(long, UnitState.PROCESSED)
    acts = {entry["action"] for entry in home.ask("audit-log", "list")["entries"]}
    assert {"schedule import-crontab", "reload"} <= acts
    home.check_journal()


def test_a_worker_whose_entry_changed_finishes_its_unit_and_then_starts_again(deployed):
    home = deployed.home
    long = deployed.begin_long()
    before = home.leaders()["Long/1"]

    deployed.declare(timeout="2h")
    reloading = home.begin("reload", "--json")
    home.until(
        lambda store: any(seen.state == "finishing" for seen in store.boxes.observed(home.box))
    )
    assert home.leaders()["Long/1"] == before
    assert reloading.poll() is None
    deployed.open_gate()

    assert end_of(reloading).json["changed"] == {"Long": ["timeout"]}
    unit = deployed.until(long, UnitState.PROCESSED)
    assert (unit.attempt, deployed.log(long)) == (1, ["the end"])
    assert home.leaders()["Long/1"] != before
    home.check_journal()


def test_a_context_with_mistakes_changes_nothing(deployed):
    home = deployed.home
    before = home.leaders()
    deployed.declare(timeout="soon")
    done = home.run("reload", code=78)
    assert "process Long: timeout: expected a duration" in done.err
    deployed.declare()
    assert home.leaders() == before
