"""The page of the journal: entries in words, with links and filters."""

from __future__ import annotations

import pytest

from synergy.lifecycle.legal_moves import JOB_MOVES, JobMove
from synergy.mx.pages import journal as journal_page
from synergy.mx.pages.journal_rows import journal_rows
from synergy.queries import page
from synergy.runtime.identity import short_name
from tests.factories import an_entry
from tests.mx.pages_kit import pager, rows
from tests.service.free_runs import SECOND

HOUR = "2015051700"
OF_HOUR = {"process": "Sitehourly", "first": HOUR, "last": HOUR}


def write(world, event, **fields):
    world.store.journal.append([an_entry(event, **fields)])


@pytest.mark.parametrize(
    ("event", "fields", "cells", "links"),
    [
        (
            "job.skipped",
            {**OF_HOUR, "before": "embryo", "after": "skipped", "generation": 2, "why": "no data"},
            ["job.skipped was skipped", "Sitehourly 2015051700 generation 2",
             "embryo → to skipped", "no data"],
            ["/jobs/Sitehourly/2015051700"],
        ),
        (
            "job.in_progress",
            {**OF_HOUR, "last": "2015051705", "before": "embryo", "after": "in_progress"},
            ["Sitehourly 2015051700 to 2015051705"],
            ["/jobs/Sitehourly/2015051705"],
        ),
        (
            "unit.invalid",
            {**OF_HOUR, "unit": "u/1", "attempt": 3},
            ["Sitehourly 2015051700 unit , attempt 3"],
            ["/units/u%2F1"],
        ),
        (
            "schedule.changed",
            {"process": "nightly", "before": "1", "after": "2"},
            ["schedule.changed was changed", "nightly", "1 → to 2"],
            ["/schedules/nightly"],
        ),
        (
            "run.failed",
            {"process": "nightly", "unit": "r1", "before": "launched", "after": "failed"},
            ["nightly run", "launched → to failed"],
            ["/runs/r1"],
        ),
        (
            "process.off",
            {"process": "Sitehourly", "before": "on", "after": "off"},
            ["process.off was switched off", "Sitehourly", "on → to off"],
            ["/processes/Sitehourly"],
        ),
        ("of.old", {}, ["of.old"], []),
    ],
)  # fmt: skip
def test_an_entry_is_shown_in_words_with_links(world, client, event, fields, cells, links):
    write(world, event, **fields, who="vera (mx)")
    text = client.page("/journal")
    [row] = rows(text)
    assert set(cells) <= set(row)
    assert row[-1] == "vera (mx)"
    for href in links:
        assert f'href="{href}"' in text


def test_a_unit_of_a_run_links_to_the_run(world):
    entry = an_entry("unit.processed", process="Report", first=SECOND, last=SECOND, unit="r1")
    [row] = journal_rows([entry], world.deployment)
    assert (row.jobs, row.run, row.unit) == ("", "/runs/r1", "/units/r1")


@pytest.mark.parametrize("move_name", list(JOB_MOVES))
def test_every_move_of_a_job_has_words(world, move_name):
    event = {
        JobMove.START_OVER: "job.started_over", JobMove.RETRY: "job.retried",
        JobMove.ACKNOWLEDGE: "job.acknowledged", JobMove.MARK: "job.stale",
    }.get(move_name) or f"job.{JOB_MOVES[move_name][1].word}"  # fmt: skip
    assert journal_rows([an_entry(event, process="Sitehourly")], world.deployment)[0].words


def test_the_pages_of_a_filtered_journal_keep_all_filters(world, client, monkeypatch):
    monkeypatch.setattr(journal_page, "PAGE", 2)
    for n in range(6):
        for event in ("job.skipped", "unit.canceled"):
            for who in ("Vera (mx)", "otto (mx)"):
                write(world, event, **OF_HOUR, who=who, why=f"no {n}")
    query = f"/journal?process=Sitehourly&timeperiod={HOUR}&event=job&who=vera"
    seen, path = [], query
    while path is not None:
        assert path.startswith(query)
        text = client.page(path)
        seen.append([row[4] for row in rows(text)])
        assert {(row[1], row[5]) for row in rows(text)} == {
            ("job.skipped was skipped", "Vera (mx)")
        }
        path = pager(text).get("Older")
    assert seen == [["no 5", "no 4"], ["no 3", "no 2"], ["no 1", "no 0"]]
    assert pager(text)["Newest"] == query


def test_a_search_that_stops_early_leads_on(world, client, monkeypatch):
    monkeypatch.setattr(page, "SEARCHED", 3)
    monkeypatch.setattr(page, "STEP", 1)
    for who in ("vera", *["otto"] * 5):
        write(world, "job.skipped", **OF_HOUR, who=who)
    text = client.page("/journal?who=vera")
    assert "Older entries may match" in text
    assert [row[5] for row in rows(client.page(pager(text)["Older"]))] == ["vera"]


def test_a_timeperiod_needs_its_process(client):
    assert "Which process?" in client.page(f"/journal?timeperiod={HOUR}")


@pytest.mark.parametrize(
    ("who", "short"),
    [
        ("vera (mx)", "vera (mx)"),
        ("vm/8f1a/10228/1387876/d572", "vm, pid 10228"),
        ("scheduler vm/8f1a/10222/1387861/1da4", "scheduler on vm, pid 10222"),
        ("", ""),
        ("a/b/c/d/e", "a/b/c/d/e"),
    ],
)
def test_a_process_that_acted_is_named_by_host_and_pid(who, short):
    assert short_name(who) == short
