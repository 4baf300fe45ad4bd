"""Python workers whose work never returns, one instance each, behind which ten periods wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from synergy.model.unit_of_work import UnitState
from synergy.runtime import identity
from tests.acceptance.kit import kill

YESTERDAY = f"{datetime.now(UTC) - timedelta(days=1):%Y%m%d}"
HUNG, *OTHERS = (f"{YESTERDAY}{hour:02}" for hour in range(1, 12))


@pytest.fixture(scope="module")
def home(module_homes):
    home = module_homes(
        start_timeperiod=HUNG, context="tests.acceptance.deployments.hanging", test_short_limits="1"
    )
    home.start()
    return home


def units(store, process):
    return {unit.timeperiod: unit for unit in store.units.of_jobs(process, HUNG, OTHERS[-1])}


def all_others_done(home, process):
    """All units, once the ten periods behind the hanging one are processed."""

    def look(store):
        found = units(store, process)
        done = {p for p, unit in found.items() if unit.state is UnitState.PROCESSED}
        return done >= set(OTHERS) and found

    return home.until(look)


def test_with_a_timeout_only_the_hanging_unit_is_given_up(home):
    home.until_unit("LimitedHourly", UnitState.IN_PROGRESS, HUNG)
    kill(home.until_all_run("Scheduler/1")["Scheduler/1"])
    found = all_others_done(home, "LimitedHourly")
    assert {found[period].failures for period in OTHERS} == {
        0
    }  # other units do not count as failed
    with home.store() as store:
        rows = store.documents.read("limited", HUNG, "9")
        assert {row["timeperiod"] for row in rows} >= set(OTHERS)

    hung = home.until_unit("LimitedHourly", UnitState.CANCELED, HUNG)
    assert (hung.failures, hung.reason) == (2, "failed 2 times; last: timed out after 2 s")
    lines = home.ask("unit", "log", hung.id)["lines"]
    assert any("in work" in line["text"] for line in lines)
    home.check_journal()


def test_without_a_timeout_why_names_the_hanging_unit_and_canceling_it_frees_the_others(home):
    hung = home.until_unit("EndlessHourly", UnitState.IN_PROGRESS, HUNG)
    waiting = home.until_unit("EndlessHourly", UnitState.REQUESTED, OTHERS[0])
    worker = identity.parse(hung.owner).pid
    cause = home.ask("timetable", "why", "EndlessHourly", OTHERS[0])
    assert cause["kind"] == "workers_busy"
    assert waiting.id in cause["text"]
    advice = f"launch.py unit cancel {hung.id}"
    assert advice in cause["helps"]

    home.launch(*advice.split()[1:])
    kill(home.until_all_run("Scheduler/1")["Scheduler/1"])

    found = all_others_done(home, "EndlessHourly")
    assert {found[period].failures for period in OTHERS} == {0}
    assert found[HUNG].state is UnitState.CANCELED
    leader = home.until_all_run("EndlessHourly/1")["EndlessHourly/1"]
    assert leader != worker
    home.check_journal()
