"""Forty commands through the pool of a box, by real processes, some of which end badly."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from tests.acceptance import inside
from tests.acceptance.deployments.nightly import SHORT
from tests.acceptance.kit import kill

SIZE = 4


def trigger(home, process):
    return inside.ask(home, "process", "trigger", process)["run"]


def until(home, run, *states, attempt=1):
    def look(store):
        [unit] = store.units.get([run]) or [None]
        return unit if unit and unit.state in states and unit.attempt == attempt else None

    return home.until(look)


def member_of(unit):
    return int(unit.owner.split("/")[2])


def members(home):
    return {slot: pid for slot, pid in home.leaders().items() if slot.startswith("Pool/")}


def commands_of(home):
    """The commands that run, whose members and daemons are Python programs."""
    lines = (Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in home.marked())
    return [line for line in lines if line[0] in {b"sh", b"sleep"}]


def test_forty_commands_share_the_pool_and_what_ends_badly_ends_alone(homes):
    home = homes(context="tests.acceptance.deployments.nightly", pool_size=str(SIZE))
    home.start()
    began = members(home)
    assert len(began) == SIZE
    (home.path / "gate").touch()

    long = {name: trigger(home, name) for name in ("Canceled", "Killed", "Hangs")}
    held = {name: until(home, long[name], UnitState.IN_PROGRESS) for name in ("Canceled", "Killed")}
    short = {name: trigger(home, name) for name in SHORT}
    for run in short.values():
        until(home, run, UnitState.PROCESSED)

    def failed(store):
        [run] = store.runs.get([long["Hangs"]])
        return run if run.state is RunState.FAILED else None

    assert "timed out after 1 s" in home.until(failed).reason

    kill(member_of(held["Killed"]))
    again = until(home, long["Killed"], UnitState.IN_PROGRESS, attempt=2)
    assert member_of(again) != member_of(held["Killed"])
    (home.path / "gate").unlink()
    until(home, long["Killed"], UnitState.PROCESSED, attempt=2)

    inside.run(home, "unit", "cancel", long["Canceled"])
    until(home, long["Canceled"], UnitState.CANCELED, attempt=2)
    home.until(lambda _: not commands_of(home))

    ran = Counter((home.path / "ran").read_text().split())
    assert ran == Counter([*short.values(), long["Killed"]]), "each was carried out exactly once"
    home.until_all_run()
    now = members(home)
    changed = {pid for slot, pid in began.items() if now[slot] != pid}
    assert changed == {member_of(held["Killed"])}, "no other member had to end"
    home.check_journal()
    home.stop()
    assert home.marked() == {}
