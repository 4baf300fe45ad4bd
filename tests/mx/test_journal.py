"""The journal by REST: newest first, by process, job and event, page by page."""

from __future__ import annotations

import pytest

from synergy.queries import page
from tests.factories import an_entry

AT = "/api/v1/journal"
HOUR = "2015051711"


def write(world, *entries):
    """Entries given as (event, process, timeperiod)."""
    world.store.journal.append(
        [an_entry(event, process=p, first=at, last=at) for event, p, at in entries]
    )


def read(client, query=""):
    answer = client.get(f"{AT}?{query}")
    assert answer.status_code == 200
    return answer.json()


def seqs(page):
    return [entry["seq"] for entry in page["items"]]


def test_an_entry_is_shown_with_all_its_fields(world, client):
    entry = an_entry(
        "job.skipped", process="Sitehourly", first=HOUR, last=HOUR, before="embryo",
        after="skipped", generation=2, why="no data", who="vera (mx)",
    )  # fmt: skip
    world.store.journal.append([entry])
    assert read(client)["items"] == [
        {
            "seq": 1,
            "at": entry.at.isoformat().replace("+00:00", "Z"),
            "event": "job.skipped",
            "process": "Sitehourly",
            "first": HOUR,
            "last": HOUR,
            "before": "embryo",
            "after": "skipped",
            "generation": 2,
            "why": "no data",
            "who": "vera (mx)",
            "unit": None,
            "attempt": 0,
            "covered": 0,
            "flags": 0,
        }
    ]


def test_pages_are_newest_first_without_gap_or_repetition(world, client):
    write(world, *[("job.noop", "A", HOUR)] * 5)
    first = read(client, "limit=2")
    second = read(client, f"limit=2&cursor={first['next']}")
    write(world, ("job.noop", "A", HOUR))  # what is new does not move the pages
    third = read(client, f"limit=2&cursor={second['next']}")
    assert [seqs(first), seqs(second), seqs(third)] == [[5, 4], [3, 2], [1]]
    assert third["next"] is None


def test_a_page_that_is_just_full_has_no_next_one(world, client):
    write(world, *[("job.noop", "A", HOUR)] * 2)
    assert read(client, "limit=2")["next"] is None


def test_entries_are_found_by_process_job_and_event(world, client):
    write(
        world,
        ("job.noop", "A", HOUR),
        ("unit.noop", "A", HOUR),
        ("job.noop", "B", HOUR),
        ("job.skipped", "A", "2015051712"),
        ("jobs", "A", HOUR),
    )
    assert seqs(read(client, "process=A")) == [5, 4, 2, 1]
    assert seqs(read(client, f"process=A&timeperiod={HOUR}")) == [5, 2, 1]
    assert seqs(read(client, "event=job")) == [4, 3, 1]
    assert seqs(read(client, "event=job.noop&process=A")) == [1]
    assert seqs(read(client, f"event=job&process=A&timeperiod={HOUR}&limit=1")) == [1]
    assert read(client, "process=Nobody") == {"items": [], "next": None}


def test_the_timeperiod_of_a_job_may_be_written_as_a_date(world, client):
    write(world, ("job.noop", "Sitehourly", HOUR), ("job.noop", "Sitehourly", "2015051712"))
    assert seqs(read(client, "process=Sitehourly&timeperiod=2015-05-17T11")) == [1]
    found = client.get(f"{AT}?process=Sitehourly&timeperiod=2015-05-17")
    assert "2015-05-17T00 (2015051700)" in found.json()["detail"]
    found = client.get(f"{AT}?process=Former&timeperiod=2015-05-17T11")
    assert "YYYYMMDDHH of a former job, or YYYYMMDDHHmmSS of a run" in found.json()["detail"]


def test_an_empty_event_means_every_event_also_beside_an_author(world, client):
    world.store.journal.append([an_entry("job.skipped", who="vera (mx)"), an_entry("job.noop")])
    assert seqs(read(client, "event=&who=vera")) == [1]


def test_a_page_of_a_rare_event_may_be_short_and_have_a_next_one(world, client, monkeypatch):
    monkeypatch.setattr(page, "STEP", 3)
    monkeypatch.setattr(page, "SEARCHED", 6)
    write(world, ("gc.run", "", ""), *[("job.noop", "A", HOUR)] * 8, ("gc.run", "", ""))
    first = read(client, "event=gc")
    assert seqs(first) == [10]
    second = read(client, f"event=gc&cursor={first['next']}")
    assert (seqs(second), second["next"]) == ([1], None)


@pytest.mark.parametrize(
    "query",
    [
        f"timeperiod={HOUR}",
        "process=A&timeperiod=17",
    ],
)
def test_an_invalid_query_is_refused(client, query):
    assert client.get(f"{AT}?{query}").status_code == 422


def test_any_number_is_a_cursor(world, client):
    write(world, ("job.noop", "A", HOUR))
    assert seqs(read(client, f"cursor={'9' * 40}")) == [1]
    assert seqs(read(client, "cursor=0")) == []
