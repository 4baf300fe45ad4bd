"""An older deployment is taken over into every engine, once or twice, all or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from synergy.cli.older_export import exported, exported_files
from synergy.commands.older.reading import InvalidDocuments, TakenOver
from synergy.commands.older.takeover import Takeover
from synergy.commands.schedules import ScheduleCommands
from synergy.messaging.stored import StoredBus
from synergy.model.actor import Actor
from synergy.model.job import JobState
from synergy.model.process import Deployment
from synergy.model.unit_of_work import UnitState
from synergy.names import TIMETABLE_START
from synergy.queries.timetable.load import load_timetable
from synergy.schedule.check_context import InvalidDefinition
from synergy.storage.copy_records import KINDS, beginning
from synergy.storage.protocol import Store
from tests.contract.documents import SESSIONS, put
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.older_deployment import BOX, DAYS, HOURS, a_job, a_unit, deployment, oid, written
from tests.service.agent_harness import a_worker

NOW = datetime(2015, 5, 20, 12, 0, tzinfo=UTC)
ACTOR = Actor("an operator", "taken over")
SITE = a_deployment(
    {
        "site": [
            a_process(DAYS, DAILY, source="hours"),
            a_process(HOURS, HOURLY, source=SESSIONS, trigger_frequency="every 900"),
        ]
    }
)
DEPLOYMENT = replace(SITE, processes={**SITE.processes, "Export": a_worker("Export")})


def take_over(
    store: Store,
    folder: Path,
    given: Mapping[str, Any],
    declared: Deployment = DEPLOYMENT,
    **how: Any,
) -> TakenOver:
    files = exported_files(written(folder, given))
    schedules = ScheduleCommands(store, StoredBus(store), declared)
    takeover = Takeover(store, declared, schedules, ACTOR)
    return takeover.carry_out(lambda: exported(files), NOW, **how)


def states(store: Store, process: str, declared: Deployment = DEPLOYMENT) -> dict[str, JobState]:
    level = load_timetable(store, declared, NOW).places[process].level
    return {level.timeperiod(at): level.state(at) for at in range(level.start, level.end)}


def contents(store: Store) -> dict[str, Any]:
    """All records of the store."""
    return {kind: list(store.transfer.read(kind, beginning(kind))) for kind in KINDS}


def test_finished_periods_stay_finished_and_others_are_left(store, tmp_path):
    done = take_over(store, tmp_path / "x", deployment())
    hours = states(store, HOURS)
    assert (min(hours), max(hours)) == ("2015051900", "2015052012")
    unfinished = {"2015052010", "2015052011", "2015052012"}
    empty = {"2015051903", "2015052003"}
    for hour, state in hours.items():
        expected = JobState.EMBRYO if hour in unfinished else JobState.PROCESSED
        assert state is (JobState.NOOP if hour in empty else expected), hour
    assert states(store, DAYS) == {
        "2015051900": JobState.PROCESSED,
        "2015052000": JobState.EMBRYO,
    }
    assert done.start == "2015051900"
    assert done.counts["jobs"] == {
        "taken over": 35,
        "left to the timetable": 3,
        "left out: not in context.py": 1,
    }
    assert done.unknown == {"Retired", "Supervisor"}


def test_units_are_history_and_none_is_handed_out(store, tmp_path):
    done = take_over(store, tmp_path / "x", deployment())
    assert store.units.unfinished() == []
    assert done.counts["units"] == {"taken over": 37, "left out: of free runs": 1}
    ids = [f"{number:024x}" for number in (100, 99, 300)]
    found = {unit.id: unit for unit in store.units.get(ids)}
    result, canceled, cut = (found[id_] for id_ in ids)
    assert (result.state, result.generation) == (UnitState.PROCESSED, 1)
    assert (canceled.state, canceled.generation, canceled.reason) == (UnitState.CANCELED, 0, "")
    assert (cut.state, cut.generation) == (UnitState.CANCELED, 0)
    assert cut.reason == "was in_progress, and taken over"
    assert result.created_at == datetime(2015, 5, 19, 4, 0, 1, 250_000, tzinfo=UTC)
    assert result.started_at == datetime(2015, 5, 19, 4, 0, 2, tzinfo=UTC)
    assert result.finished_at == datetime(2015, 5, 19, 4, 0, 3, tzinfo=UTC)
    assert (result.counts, result.failures) == ({"processed": 7}, 1)


def test_switches_triggers_and_entries_are_kept(store, tmp_path):
    done = take_over(store, tmp_path / "x", deployment())
    assigned = {each.process: each.is_on for each in store.boxes.assignments(BOX)}
    assert assigned == {HOURS: True, DAYS: False}
    assert done.counts["switches"] == {"taken over": 2, "left out: not in context.py": 1}
    controls = store.controls.all()
    assert list(controls) == [DAYS]
    assert (controls[DAYS].is_on, controls[DAYS].trigger_frequency) == (False, None)
    assert done.counts["processes"] == {"as declared": 1, "taken over": 1}
    (schedule,) = store.schedules.get(["Export.to-the-shop"])
    assert schedule.is_enabled
    assert schedule.definition == {
        "name": "Export.to-the-shop",
        "process": "Export",
        "arguments": {"n": 2},
        "trigger": "every 3600",
    }


def test_a_repeated_takeover_changes_nothing(store, tmp_path):
    take_over(store, tmp_path / "x", deployment())
    before = contents(store)
    again = take_over(store, tmp_path / "x", deployment())
    assert contents(store) == before
    for kind, counts in again.counts.items():
        assert not counts["taken over"], kind


def test_a_dry_run_counts_the_same_and_changes_nothing(store, tmp_path):
    before = contents(store)
    predicted = take_over(store, tmp_path / "x", deployment(), dry_run=True)
    assert contents(store) == before
    assert take_over(store, tmp_path / "x", deployment()).counts == predicted.counts


def test_what_was_decided_here_is_not_overwritten(store, tmp_path):
    given = deployment()
    take_over(store, tmp_path / "x", given)
    skipped = a_job(HOURS, "2015051905", "skipped")
    given["job_hourly"] = [skipped]
    given["box_configuration"][1]["is_on"] = True
    done = take_over(store, tmp_path / "y", given)
    assert states(store, HOURS)["2015051905"] is JobState.PROCESSED
    assert done.counts["jobs"]["known already"] == 2
    assert not {each.process: each.is_on for each in store.boxes.assignments(BOX)}[DAYS]


def test_a_finished_parent_of_an_unfinished_child_is_left(store, tmp_path):
    given = deployment()
    given["job_hourly"] = [one for one in given["job_hourly"] if one["timeperiod"] != "2015051907"]
    done = take_over(store, tmp_path / "x", given)
    assert states(store, DAYS)["2015051900"] is JobState.EMBRYO
    assert done.counts["jobs"]["left to the timetable: children are unfinished"] == 1


def test_periods_before_the_timetable_are_left_out(store, tmp_path):
    done = take_over(store, tmp_path / "x", deployment(), first_hour="2015051912")
    assert done.start == "2015051912"
    assert done.counts["jobs"]["left out: outside the timetable"] == 12
    assert store.facts.get(TIMETABLE_START) == "2015051912"
    assert states(store, DAYS)["2015051900"] is JobState.PROCESSED


def test_members_of_a_group_have_nothing_to_do(store, tmp_path):
    hours = a_process(HOURS, HOURLY, time_grouping=8)
    declared = a_deployment({"site": [a_process(DAYS, DAILY), hours]})
    jobs = [a_job(HOURS, f"20150519{hour}", "processed") for hour in ("08", "16", "23")]
    given = {"job_hourly": jobs, "job_daily": [a_job(DAYS, "2015051900", "processed")]}
    done = take_over(store, tmp_path / "x", given, declared, first_hour="2015051900")
    assert done.counts["jobs"] == {"taken over": 4}
    found = states(store, HOURS, declared)
    assert found["2015051908"] is JobState.PROCESSED
    assert found["2015051907"] is JobState.NOOP
    assert states(store, DAYS, declared)["2015051900"] is JobState.PROCESSED


def test_results_cover_the_rows_that_their_sources_hold(store, tmp_path):
    put(store, ("a", "2015051904"))
    take_over(store, tmp_path / "x", deployment())
    (result,) = [u for u in store.units.newest(HOURS, "2015051904", 9) if u.generation == 1]
    bounds = store.documents.bounds(SESSIONS, "2015051904", "2015051905")
    assert result.end_id == bounds.high > 0


def test_a_skipped_period_has_seen_the_rows_that_its_source_holds(store, tmp_path):
    put(store, ("a", "2015051904"))
    jobs = [a_job(HOURS, "2015051904", "skipped"), a_job(HOURS, "2015051905", "skipped")]
    take_over(store, tmp_path / "x", {"job_hourly": jobs})
    bounds = store.documents.bounds(SESSIONS, "2015051904", "2015051905")
    covered = [
        store.journal.of_job(HOURS, hour)[0].covered for hour in ("2015051904", "2015051905")
    ]
    assert covered == [bounds.high, 0]


def test_switches_of_version_1_are_understood(store, tmp_path):
    processes = {HOURS: {"state": "state_on", "pid": 1}, DAYS: {"state": "state_off"}}
    take_over(
        store,
        tmp_path / "x",
        {"box_configuration": [{"_id": oid(1), "box_id": BOX, "process_list": processes}]},
    )
    assert {each.process: each.is_on for each in store.boxes.assignments(BOX)} == {
        HOURS: True,
        DAYS: False,
    }


WRONG = [
    ("job_hourly", {**a_job(HOURS, "2015051900", "broken")}, "state: 'broken' is unknown"),
    ("job_hourly", {**a_job(HOURS, "2015051900", "noop"), "timeperiod": "20150519"}, "timeperiod"),
    ("job_hourly", {"timeperiod": "2015051900", "state": "state_noop"}, "process_name is missing"),
    ("job_hourly", a_job(HOURS, "2015051900", "skipped"), "another state in a document before"),
    ("unit_of_work", {**a_unit(1, HOURS, "2015051900", "noop"), "created_at": 5}, "created_at"),
    ("unit_of_work", {**a_unit(1, HOURS, "2015051900", "noop"), "number_of_retries": -1}, "number"),
    ("unit_of_work", {**a_unit(1, HOURS, "2015051900", "noop"), "_id": None}, "_id is missing"),
    ("unit_of_work", {**a_unit(1, HOURS, "2015051900", "noop"), "_id": "x"}, "24 hexadecimal"),
    ("unit_of_work", {**a_unit(1, HOURS, "2015051900", "noop"), "end_timeperiod": "x"}, "end_time"),
    ("job_daily", {**a_job("\ud800", "2015051900", "noop")}, "has characters that no name has"),
    ("box_configuration", {"box_id": "a b", "process_name": HOURS, "is_on": True}, "box_id"),
    ("box_configuration", {"box_id": BOX, "process_name": HOURS, "is_on": "yes"}, "is_on"),
    ("box_configuration", {"box_id": BOX, "process_list": {HOURS: {"state": "up"}}}, "state_on"),
    ("managed_process", {"process_name": HOURS, "trigger_frequency": "often"}, "trigger"),
    ("freerun_process", {"process_name": "Export", "entry_name": "a"}, "trigger_frequency"),
]


@pytest.mark.parametrize(("collection", "document", "words"), WRONG)
def test_what_is_not_understood_is_named_and_nothing_is_written(
    store, tmp_path, collection, document, words
):
    given = deployment()
    given[collection].append(document)
    before = contents(store)
    with pytest.raises(InvalidDocuments) as caught:
        take_over(store, tmp_path / "x", given)
    (mistake,) = caught.value.mistakes
    assert mistake.startswith(f"{collection}.json line {len(given[collection])}: ")
    assert words in mistake
    assert contents(store) == before


def test_many_mistakes_are_counted(store, tmp_path):
    broken = [a_job(HOURS, f"2015051{n:03}", "broken") for n in range(900, 924)]
    with pytest.raises(InvalidDocuments) as caught:
        take_over(store, tmp_path / "x", {"job_hourly": broken})
    assert len(caught.value.mistakes) == 21
    assert caught.value.mistakes[-1] == "and 4 more"


def test_an_entry_that_is_no_schedule_stops_the_takeover(store, tmp_path):
    given = deployment()
    given["freerun_process"][0]["arguments"] = {"n": 2, "": 10**30}
    before = contents(store)
    with pytest.raises(InvalidDefinition):
        take_over(store, tmp_path / "x", given)
    assert contents(store) == before
