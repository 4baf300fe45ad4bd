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
        instances={instances!r},
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

    def declare(self, timeout="1h", instances=1):
        fields = {"gate": str(self.gate), "timeout": timeout, "instances": instances}
        self.context.write_text(CONTEXT.format(**fields))

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
    assert (shown["added"], shown["schedules_added"]) == (["Pool", name], [name])
    assert home.leaders() == before
    done = home.ask("reload")

    assert (done["added"], done["failed"]) == (["Pool", name], [])
    assert done["restarted"] == ["Agent", "Scheduler"]
    after = home.leaders()
    assert after["Long/1"] == before["Long/1"]
    assert after.keys() - before.keys() == {"Pool/1", "Pool/2"}
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


def test_members_of_the_pool_are_replaced_each_after_its_unit(deployed):
    home = deployed.home
    deployed.declare(instances="pool")
    home.ask("reload")
    long = deployed.begin_long()
    before = {slot: pid for slot, pid in home.leaders().items() if slot.startswith("Pool/")}
    with home.store() as store:
        [unit] = store.units.get([long])
    busy = int(unit.owner.split("/")[2])

    deployed.declare(timeout="2h", instances="pool")
    reloading = home.begin("reload", "--json")
    idle = next(slot for slot, pid in before.items() if pid != busy)
    home.until(lambda store: home.leaders_in(store).get(idle) not in {None, before[idle]})
    assert busy in home.leaders().values()
    assert reloading.poll() is None
    deployed.open_gate()

    assert "Pool" in end_of(reloading).json["restarted"]
    assert deployed.until(long, UnitState.PROCESSED).attempt == 1
    assert busy not in home.leaders().values()
    home.check_journal()


def test_a_context_with_mistakes_changes_nothing(deployed):
    home = deployed.home
    before = home.leaders()
    deployed.declare(timeout="soon")
    done = home.run("reload", code=78)
    assert "process Long: timeout: expected a duration" in done.err
    deployed.declare()
    assert home.leaders() == before
