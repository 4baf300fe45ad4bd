"""`store import`: an older deployment is taken over, from files and from its database."""

from __future__ import annotations

import json
from datetime import datetime

import pymongo
import pytest
from bson import json_util

from synergy.storage.mongodb import older_deployment
from tests.older_deployment import BOX, DAYS, HOURS, deployment, written
from tests.service.commands import START

FIRST = "2015051900"  # the first period of the older deployment


@pytest.fixture
def folder(tmp_path):
    """A folder of exported collections, with a file that is none of them."""
    made = written(tmp_path / "exported", deployment())
    (made / "site_daily.json").write_text("whatever\n")
    return made


def test_the_timetable_goes_on_where_the_older_one_ended(home, deployed, folder):
    done = home.json("store", "import", str(folder))
    assert done["start"] == START  # as the settings say
    assert done["counts"]["jobs"]["taken over"] == 35
    deployed.settle()
    shown = home.json("timetable", "show", "site", "--from", FIRST, "--to", "2015052100")
    (site,) = shown["trees"]
    jobs = {
        each["name"]: {j["timeperiod"]: j["state"] for j in each["jobs"]}
        for each in site["processes"]
    }
    assert {jobs[HOURS][f"20150519{hour:02}"] for hour in range(24)} == {"processed", "noop"}
    assert jobs[DAYS]["2015051900"] == "processed"
    assert jobs[HOURS]["2015052010"] == "noop"  # left to the timetable, which found no rows
    assert home.json("timetable", "audit")["unexplained"] == []


def test_people_read_what_was_taken_over_and_what_was_left_out(home, folder):
    text = home.ok("store", "import", str(folder))
    assert "jobs: 35 taken over\n" in text
    assert "units: 1 left out: of free runs\n" in text
    assert "not in context.py: Export, Retired, Supervisor" in home.err
    boxes = home.json("box", "list")["boxes"]
    (box,) = [each for each in boxes if each["id"] == BOX]
    assert {each["process"]: each["is_on"] for each in box["processes"]}[DAYS] is False
    assert "was in_progress, and taken over" in home.ok("unit", "show", f"{300:024x}")


def test_a_dry_run_says_what_would_be_done(home, deployed, folder):
    before = dict(deployed.store.status().rows)
    text = home.ok("store", "import", str(folder), "--dry-run")
    assert text.startswith("nothing was changed; this would be done:\n")
    assert "jobs: 35 taken over\n" in text
    assert dict(deployed.store.status().rows) == before


def test_the_audit_log_and_the_journal_say_who_imported_and_why(home, deployed, folder):
    home.ok("store", "import", str(folder), "--reason", "the move")
    (act, *_) = home.json("audit-log", "list")["entries"]
    assert (act["action"], act["object"]) == ("store import", {"source": str(folder)})
    (entry, *_) = deployed.store.journal.of_job(DAYS, FIRST)
    assert (entry.event, entry.why) == ("job.processed", "the move")


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["no/such/folder"], 3, "no such file or folder"),
        (["{tmp}"], 2, "holds no exported collection: expected job_hourly.json"),
        (["postgresql://h/x"], 3, "no such file or folder"),
        (["mongodb://h"], 2, "SOURCE: expected the name of a database"),
        ([""], 2, "argument SOURCE: '' is not the path of a file"),
    ],
)
def test_a_source_that_is_none_is_named(home, tmp_path, argv, code, words):
    assert home.run("store", "import", *[each.format(tmp=tmp_path) for each in argv]) == code
    assert words in home.err


def test_mistakes_are_listed_with_their_lines(home, folder):
    file = folder / "job_daily.json"
    file.write_text('{"process_name": "x"}\n{"state": "state_noop"}\n')
    assert home.run("store", "import", str(folder)) == 2
    assert "job_daily.json line 1: state is missing" in home.err
    assert "job_daily.json line 2: process_name is missing" in home.err
    assert "2 mistakes; nothing was done" in home.err


def test_a_database_is_taken_over_like_its_export(home, folder, mongodb_url, monkeypatch):
    monkeypatch.setattr(older_deployment, "PAGE", 10)
    fill(mongodb_url)
    predicted = home.json("store", "import", str(folder), "--dry-run")
    done = home.json("store", "import", mongodb_url)
    assert done["counts"] == predicted["counts"]
    assert "known already" in home.ok("store", "import", str(folder))
    unit = home.json("unit", "show", f"{100:024x}")
    assert datetime.fromisoformat(unit["created_at"]).microsecond in (0, 250_000)


def fill(url: str) -> None:
    """Writes the older deployment into a database."""
    with pymongo.MongoClient(url) as client:
        for name, documents in deployment().items():
            lines = map(json.dumps, documents)
            client.get_default_database()[name].insert_many(map(json_util.loads, lines))
