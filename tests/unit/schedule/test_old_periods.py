"""Ends of old periods: how many count, which ones, and a run or record for each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.lifecycle.legal_moves import RunMove
from synergy.schedule.definition import AllOf, AnyOf, Generations, PeriodFinished, ProgramEnded
from synergy.schedule.progress.ended_periods import Ended, joined, without
from synergy.schedule.progress.old_periods import RECENT, SPAN, take_all
from synergy.schedule.progress.state import Made, Occurrence
from synergy.timeperiod import Qualifier
from tests.unit.schedule.kit import DAY, HOUR, Life, a_schedule, an_event, ended, runs

HOURLY = Qualifier.HOURLY
NOW_AT = HOURLY.at(DAY)
OLDEST_RECENT = NOW_AT - RECENT
YEARS = 3 * 365 * 24
P = PeriodFinished("P")


def hours(seq: int, first: int, last: int | None = None, **fields: object) -> Ended:
    """Hours of P that ended, by their distances from the open one."""
    given = {
        "at": DAY, "process": "P", "qualifier": HOURLY, "grouping": 1, "status": "processed",
        "generation": 1, **fields,
    }  # fmt: skip
    last = first if last is None else last
    return Ended(seq=seq, first=NOW_AT + first, last=NOW_AT + last, **given)  # type: ignore[arg-type]


class Periods(Life):
    """A schedule that receives ends of periods."""

    def hear(self, *some: Ended | Occurrence, now=DAY) -> list[Made]:
        return self._new(take_all(self.definition, self._stored(), some, now))


def hearing(trigger=P, **fields) -> Periods:
    return Periods(a_schedule(trigger, **fields), DAY)


def distances(made: Iterable[Made]) -> list[int]:
    """The hours that triggered runs, by their distances from the open one."""
    return [HOURLY.parse(one.cause["timeperiod"]) - NOW_AT for one in runs(made)]


def recorded(made: Iterable[Made]) -> list[int]:
    """The hours that records stand for."""
    found = []
    for one in made:
        if one.ended_by is RunMove.SKIP:
            some = [
                ordinal
                for text in one.cause["periods"]
                for first, _, last in [text.partition(" to ")]
                for ordinal in range(HOURLY.parse(first), HOURLY.parse(last or first) + 1)
            ]
            assert one.cause["count"] == len(some)
            found += some
    return [ordinal - NOW_AT for ordinal in found]


def test_recent_periods_always_count_in_order():
    life = hearing(catchup_max=1)
    made = life.hear(hours(1, -RECENT, -1))
    assert distances(made) == list(range(-RECENT, 0))
    assert len(made) == RECENT
    assert life.progress.old is None
    assert [one.key for one in made[:2]] == ["events:j1.0", "events:j1.1"]


def test_the_number_of_recent_periods_grows_with_catchup_max_and_grouping():
    assert len(runs(hearing(catchup_max=100).hear(hours(1, -100, -1)))) == 100
    life = hearing(catchup_max=1)
    made = life.hear(hours(1, -5 * RECENT, grouping=5), hours(2, -5 * RECENT - 5, grouping=5))
    assert len(made) == 2
    assert life.progress.old.first == 1  # one of them was old


@pytest.mark.parametrize("qualifier", Qualifier)
def test_recent_periods_are_counted_in_the_qualifier_of_the_process(qualifier):
    now = qualifier.at(DAY)
    life = hearing(catchup_max=1)
    for seq, (ordinal, is_old) in enumerate([(now - RECENT, False), (now - RECENT - 1, True)], 1):
        one = Ended(
            seq=seq, at=DAY, process="P", qualifier=qualifier, grouping=1, status="processed",
            generation=1, first=ordinal, last=ordinal,
        )  # fmt: skip
        assert len(life.hear(one)) == 1
        assert (life.progress.old is not None) is is_old


def test_years_that_end_at_once_make_runs_of_the_newest_periods_and_one_record():
    life = hearing()
    made = life.hear(hours(1, -RECENT - YEARS, -RECENT - 1))
    assert distances(made) == list(range(-RECENT - 60, -RECENT))
    (record,) = (one for one in made if one.ended_by is RunMove.SKIP)
    assert len(made) == 61
    assert recorded(made) == list(range(-RECENT - YEARS, -RECENT - 60))
    assert record.key == f"periods:j1.0-j1.{YEARS - 61}"
    first, last = (HOURLY.timeperiod(NOW_AT + n) for n in (-RECENT - YEARS, -RECENT - 61))
    assert record.reason == (
        f"more than 60 old periods ended within a day: stands for 26,220, {first} to {last}"
    )
    assert (record.cause["process"], record.cause["status"]) == ("P", "processed")
    assert life.hear(hours(1, -RECENT - YEARS, -RECENT - 1)) == []  # counted once


def test_years_that_end_one_by_one_make_limited_runs_and_records_of_all_others():
    life = hearing(catchup_max=10)
    some = [hours(seq, -YEARS + seq) for seq in range(1, 2001)]
    for page in range(0, 2000, 100):
        life.hear(*some[page : page + 100])
    assert len(runs(life.made)) == 10
    assert len(life.made) == 10 + 20
    heard = sorted([*distances(life.made), *recorded(life.made)])
    assert heard == [-YEARS + seq for seq in range(1, 2001)]


def test_the_limit_starts_again_after_a_day():
    life = hearing(catchup_max=2)
    assert len(runs(life.hear(hours(1, -1000, -990)))) == 2
    assert runs(life.hear(hours(2, -900), now=DAY + SPAN - HOUR)) == []
    assert len(runs(life.hear(hours(3, -800), now=DAY + SPAN))) == 1
    assert life.progress.old.since == DAY + SPAN
    assert runs(life.hear(hours(4, -700, -690), now=DAY - HOUR))  # the clock went back: one is left
    assert life.progress.old.first == 2


def test_a_reprocessed_old_period_counts_while_first_ends_are_over_the_limit():
    life = hearing()
    life.hear(hours(1, -YEARS, -1000))
    (one,) = life.hear(hours(2, -500, generation=2))
    assert one.ended_by is None
    assert (one.cause["generation"], one.cause["status"]) == (2, "processed")
    assert life.hear(hours(3, -400))[0].ended_by is RunMove.SKIP


def test_reprocessed_old_periods_have_a_limit_too():
    life = hearing(catchup_max=3)
    made = life.hear(*(hours(n, -5000 + n, generation=2) for n in range(1, 1001)))
    assert distances(made) == [-4002, -4001, -4000]
    (record,) = (one for one in made if one.ended_by is RunMove.SKIP)
    assert record.cause["count"] == 997
    assert record.reason.startswith("more than 3 old periods were done again within a day: ")


def test_periods_that_concern_no_leg_have_no_effect_and_no_record():
    life = hearing()
    before = life.progress
    assert life.hear(hours(1, -YEARS, -1, status="skipped")) == []
    assert life.hear(hours(2, -YEARS, -1, status="noop")) == []
    assert life.hear(hours(3, -YEARS, -1, process="Q")) == []
    assert life.progress == before
    first = hearing(PeriodFinished("P", generations=Generations.FIRST))
    assert first.hear(hours(1, -YEARS, -1, generation=2)) == []


def test_the_limit_applies_to_legs_of_all_of():
    trigger = AllOf((P, PeriodFinished("Q")))
    life = hearing(trigger, catchup_max=2)
    pairs = [hours(n, -2000 + n, process="PQ"[n % 2]) for n in range(1, 101)]
    made = life.hear(*pairs)
    assert len(runs(made)) == 1
    assert len(recorded(made)) == 98


def test_the_limit_applies_to_program_legs_of_managed_processes():
    made = hearing(ProgramEnded("P", ("processed",))).hear(hours(1, -YEARS, -1000))
    assert len(runs(made)) == 60


def test_runs_and_events_have_no_limit():
    life = hearing(ProgramEnded("P", ("processed",)), catchup_max=1)
    assert len(runs(life.hear(*(ended(n) for n in range(1, 201))))) == 200
    assert life.hear(an_event(1)) == []


def test_each_final_state_has_a_record_of_its_own():
    life = hearing(PeriodFinished("P", ("processed", "noop")), catchup_max=1)
    made = life.hear(
        hours(1, -900, -800), hours(2, -799, -700, status="noop"), hours(3, -699), hours(4, -650)
    )
    told = {
        one.cause["status"]: (one.cause["count"], len(one.cause["periods"]))
        for one in made
        if one.ended_by is RunMove.SKIP
    }
    assert told == {"processed": (102, 2), "noop": (100, 1)}
    assert distances(made) == [-650]


def test_periods_that_ended_before_the_schedule_began_do_not_count():
    life = Periods(a_schedule(P), DAY, seen_journal=7)
    assert life.hear(hours(7, -YEARS, -1), hours(3, -YEARS, -1)) == []
    assert len(runs(life.hear(hours(8, -1)))) == 1


SPANS = st.lists(
    st.tuples(
        st.integers(1, 400), st.integers(0, 80), st.sampled_from(["processed", "noop", "skipped"]),
        st.integers(1, 3), st.sampled_from("PQR"),
    ),
    max_size=25,
)  # fmt: skip


@given(spans=SPANS, limit=st.integers(1, 30), cut=st.integers(1, 25), anew=st.booleans())
def test_each_period_has_one_run_or_one_record_and_the_runs_are_limited(spans, limit, cut, anew):
    some = [
        hours(
            seq, -distance - length, -distance, status=status, generation=generation, process=name
        )
        for seq, (distance, length, status, generation, name) in enumerate(spans, 1)
    ]
    trigger = AnyOf((PeriodFinished("P", ("processed", "noop")), PeriodFinished("Q")))
    life = hearing(trigger, catchup_max=limit)
    for begin in range(0, len(some), cut):
        life.hear(*some[begin : begin + cut])
        if anew:
            assert life.hear(*some[: begin + cut]) == []  # read again
    meant = [
        (one, ordinal)
        for one in some
        if (one.process, one.status) in {("P", "processed"), ("P", "noop"), ("Q", "processed")}
        for ordinal in range(one.first, one.last + 1)
    ]
    old = [one for one, ordinal in meant if ordinal < NOW_AT - max(RECENT, limit)]
    repeated = sum(one.generation > 1 for one in old)
    counting = min(limit, repeated) + min(limit, len(old) - repeated)
    assert len(runs(life.made)) == len(meant) - len(old) + counting
    records = [one for one in life.made if one.ended_by is RunMove.SKIP]
    assert len(life.made) == len(runs(life.made)) + len(records)
    assert len({one.key for one in life.made}) == len(life.made)
    assert sum(one.cause["count"] for one in records) == len(old) - counting


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5))))
def test_joined_ranges_cover_the_same_ordinals_in_the_fewest_ranges(pairs):
    ranges = [(first, first + length) for first, length in pairs]
    found = joined(ranges)
    held = [n for first, last in found for n in range(first, last + 1)]
    assert held == sorted({n for first, last in ranges for n in range(first, last + 1)})
    assert all(before[1] + 1 < after[0] for before, after in pairwise(found))


@given(st.integers(0, 20), st.integers(-1, 20), st.sets(st.integers(0, 40)))
def test_a_range_without_some_ordinals_is_the_ranges_between_them(first, length, some):
    gone = sorted(n for n in some if first <= n <= first + length)
    left = without((first, first + length), gone)
    held = [n for begin, last in left for n in range(begin, last + 1)]
    assert held == [n for n in range(first, first + length + 1) if n not in gone]
    assert all(begin <= last for begin, last in left)


def test_the_limit_applies_to_24_hours():
    assert timedelta(days=1) == SPAN
