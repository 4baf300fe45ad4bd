"""Catching up with very many due times: the number of records is bounded."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.lifecycle.legal_moves import RunMove
from synergy.schedule import catchup
from synergy.schedule.definition import AnyOf, CatchUp
from tests.unit.schedule.kit import DAY, SECOND, Life, a_schedule, at, runs, times


@pytest.fixture
def small(monkeypatch):
    """Lowers the number of due times per decision, and of those with own records."""
    monkeypatch.setattr(catchup, "STEP", 8)
    monkeypatch.setattr(catchup, "EACH", 10)


def test_many_missed_due_times_are_summarized_in_one_record():
    life = Life(a_schedule(times("every 1")), DAY)
    made = life.catch_up(DAY + timedelta(days=365))
    first, rest = made[0], made[1:]
    until = DAY + timedelta(days=365) - len(rest) * SECOND
    assert first.key == "due:2026-03-10T00:00:01Z"
    assert first.cause == {"until": until.strftime("%FT%TZ")}
    assert first.reason == (
        f"missed: more than 10000 due times; stands for all up to {until:%FT%TZ}"
    )
    assert catchup.EACH <= len(rest) <= 2 * catchup.EACH
    assert [one.due_at for one in rest] == [
        until + number * SECOND for number in range(1, len(rest) + 1)
    ]
    assert runs(made) == made[-60:]


def test_due_times_have_own_records_up_to_twice_the_limit(small):
    life = Life(a_schedule(times("every 60"), catchup_max=3), DAY)
    made = life.catch_up(at("00:20"))
    assert [one.due_at for one in made] == [at(f"00:{minute:02}") for minute in range(1, 21)]
    life = Life(a_schedule(times("every 60"), catchup_max=3), DAY)
    made = life.catch_up(at("00:21"))
    assert [one.cause for one in made if one.cause] == [{"until": "2026-03-10T00:06:00Z"}]
    assert [one.due_at for one in made[1:]] == [at(f"00:{minute:02}") for minute in range(7, 22)]


def test_the_newest_due_times_are_run_if_their_spacing_is_uneven(small):
    # Each minute until one o'clock, then each hour: those of 00:53 to 00:59 are among the newest.
    lines = AnyOf((times("cron * 0 * * *"), times("cron 0 * * * *")))
    life = Life(a_schedule(lines, catchup_max=10), DAY)
    first, *rest = life.catch_up(at("04:30"))
    assert first.due_at == at("00:01")
    assert 10 <= len(rest) <= 20
    newest = [at(f"00:{minute:02}") for minute in range(54, 60)]
    newest += [at(f"{hour:02}:00") for hour in range(1, 5)]
    assert [one.due_at for one in runs(rest)] == newest
    assert [one.due_at for one in rest][-10:] == newest


def test_the_catch_up_policy_holds_across_decisions(small):
    life = Life(a_schedule(times("every 60"), catchup_max=12), DAY)
    made = []
    for expected in (8, 9):  # the last decision takes nine: no single one is left
        step = life.pass_time(at("00:17"))
        assert len(step) == expected
        assert all(one.in_turn for one in runs(step))
        made += step
    assert life.wake_at() == at("00:18")
    assert [one.ended_by is RunMove.SKIP for one in made] == [True] * 5 + [False] * 12


@pytest.mark.parametrize("policy", [CatchUp.LATEST, CatchUp.NONE])
def test_catch_up_latest_and_none_run_at_most_one_due_time(small, policy):
    life = Life(a_schedule(times("every 60"), catchup=policy), DAY)
    made = life.catch_up(at("00:45"))
    assert [one.due_at for one in runs(made)] == [at("00:45")]
    assert not any(one.in_turn for one in made)
