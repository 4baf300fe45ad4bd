"""Due times at any sequence of instants, and legs for any order of events, against references.

The reference for due times is a list of multiples of seconds with the catch-up policies; the one
for triggers keeps all events since the last run, and evaluates the whole trigger after each.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import permutations
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from synergy.lifecycle.legal_moves import RunMove
from synergy.schedule import catchup
from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    CatchUp,
    Partition,
    PeriodFinished,
    ProgramEnded,
)
from tests.unit.schedule.kit import DAY, Life, a_schedule, ended, partitions, runs, times, trees

SECONDS = st.one_of(st.integers(-7200, 7200), st.integers(0, 100), st.integers(-86_400, 400_000))
SPACINGS = st.lists(st.sampled_from([60, 90, 420, 1800, 3600]), min_size=1, max_size=3)


def due_times(spacings: list[int], after: datetime, until: datetime) -> list[datetime]:
    found = set()
    for spacing in spacings:
        number = int(after.timestamp()) // spacing + 1
        while number * spacing <= until.timestamp():
            found.add(number * spacing)
            number += 1
    return [datetime.fromtimestamp(number, DAY.tzinfo) for number in sorted(found)]


def expected(definition, window: list[datetime], now: datetime) -> dict[datetime, bool]:
    """Whether each due time of a window is run."""
    match definition.catchup:
        case CatchUp.ALL:
            run = set(window[-definition.catchup_max :])
        case CatchUp.LATEST:
            run = set(window[-1:])
        case CatchUp.NONE:
            run = {at for at in window[-1:] if now - at <= timedelta(minutes=1)}
    return {at: at in run for at in window}


def accounted(spacings: list[int], made) -> Iterator[tuple[datetime, bool]]:
    """Each due time that a record stands for, and whether it was run."""
    for one in made:
        if "until" in one.cause:
            until = datetime.fromisoformat(one.cause["until"])
            assert one.ended_by is RunMove.SKIP
            assert until >= one.due_at
            before = one.due_at - timedelta(seconds=1)
            yield from ((at, False) for at in due_times(spacings, before, until))
        else:
            yield one.due_at, one.ended_by is None


@given(
    spacings=SPACINGS,
    policy=st.sampled_from(CatchUp),
    most=st.integers(1, 8),
    steps=st.lists(SECONDS, max_size=8),
    step=st.integers(1, 9),
    each=st.integers(1, 30),
)
def test_each_due_time_has_one_run_or_record_in_order(spacings, policy, most, steps, step, each):
    lines = tuple(times(f"every {spacing}") for spacing in spacings)
    definition = a_schedule(AnyOf(lines), catchup=policy, catchup_max=most)
    now = floor = DAY + timedelta(seconds=17)
    life, hoped = Life(definition, now), {}
    with mock.patch.multiple(catchup, STEP=step, EACH=each):
        for seconds in steps:
            now += timedelta(seconds=seconds)
            made = life.catch_up(now)
            window = due_times(spacings, floor, now)
            hoped |= expected(definition, window, now)
            floor = max(floor, now)
            run = runs(made)
            assert {one.in_turn for one in run} <= {len(run) > 1}
    assert list(accounted(spacings, life.made)) == list(hoped.items())
    assert len({one.key for one in life.made}) == len(life.made)


@given(
    spacings=SPACINGS, seconds=st.integers(1, 400_000), step=st.integers(1, 9),
    each=st.integers(1, 30),
)  # fmt: skip
def test_a_decision_is_bounded_and_the_newest_due_times_have_own_records(
    spacings, seconds, step, each
):
    definition = a_schedule(AnyOf(tuple(times(f"every {s}") for s in spacings)), catchup_max=3)
    life, now = Life(definition, DAY), DAY + timedelta(seconds=seconds)
    with mock.patch.multiple(catchup, STEP=step, EACH=each):
        while (wakes := life.wake_at()) is not None and wakes <= now:
            assert len(life.pass_time(now)) <= step + 1
    window = due_times(spacings, DAY, now)
    alone = [one for one in life.made if "until" not in one.cause]
    assert len(alone) >= min(len(window), max(each, 3))
    assert len(alone) <= max(2 * max(each, 3), step + 1 + 3 + 2)
    assert (len(alone) == len(window)) == (len(alone) == len(life.made))


@given(
    spacing=st.sampled_from([60, 420, 3600]), first=st.integers(0, 9000), end=st.integers(0, 9000)
)
def test_the_newest_due_time_of_a_leg_equals_a_walk_over_all_due_times(spacing, first, end):
    after, until = DAY + timedelta(seconds=first), DAY + timedelta(seconds=first + end)
    found = catchup.latest(times(f"every {spacing}"), DAY.tzinfo, after, until)
    assert found == max(due_times([spacing], after, until), default=None)


# Events

LEAVES = st.one_of(
    st.builds(Partition, st.sampled_from("de"), st.integers(1, 4)),
    st.builds(ProgramEnded, st.sampled_from("PQ"), st.sampled_from([("processed",), ("failed",)])),
    st.builds(
        PeriodFinished, st.sampled_from("PQ"), st.sampled_from([("processed",), ("failed",)])
    ),
)
TREES = trees(LEAVES, max_leaves=6)
HAPPENINGS = st.lists(
    st.one_of(
        st.tuples(st.just("partition"), st.sampled_from("def"), st.integers(1, 3)),
        st.tuples(
            st.just("ended"), st.sampled_from("PQR"), st.sampled_from(["processed", "failed"])
        ),
    ),
    max_size=15,
)


def occurrence(seq, happening):
    kind, name, how = happening
    return partitions(seq, how, name) if kind == "partition" else ended(seq, name, how)


def is_for(leaf, one) -> bool:
    match leaf:
        case Partition(dataset):
            return one.stream == "events" and one.resource == dataset
        case ProgramEnded(process, statuses) | PeriodFinished(process, statuses):
            return one.stream == "journal" and one.process == process and one.status in statuses


def holds(tree, collected) -> bool:
    """Whether all that was collected since the last run meets the trigger."""
    match tree:
        case AllOf(legs):
            return all(holds(leg, collected) for leg in legs)
        case AnyOf(legs):
            return any(holds(leg, collected) for leg in legs)
        case Partition(_, n):
            return sum(one.partitions for one in collected if is_for(tree, one)) >= n
        case _:
            return any(is_for(tree, one) for one in collected)


def leaves_of(tree) -> Iterator:
    for leg in getattr(tree, "legs", ()):
        yield from leaves_of(leg)
    if not isinstance(tree, AllOf | AnyOf):
        yield tree


@given(tree=TREES, happenings=HAPPENINGS)
def test_nested_triggers_run_when_the_collected_events_meet_them(tree, happenings):
    life = Life(a_schedule(tree), DAY)
    collected = []
    for seq, happening in enumerate(happenings, 1):
        one = occurrence(seq, happening)
        made = life.take(one)
        assert life.take(one) == []  # it counts once
        if any(is_for(leaf, one) for leaf in leaves_of(tree)):
            collected.append(one)
        if collected and holds(tree, collected):
            assert [run.cause["events"] for run in made] == [[one.id for one in collected]]
            assert [run.key for run in made] == [f"events:{collected[0].number}"]
            assert life.progress.met == {}
            assert life.progress.collecting is None
            collected = []
        else:
            assert made == []
        assert (life.progress.collecting is not None) == bool(collected)
    assert len({one.key for one in life.made}) == len(life.made)


@given(order=st.sampled_from(list(permutations(range(4)))))
def test_legs_of_all_of_are_met_in_any_order(order):
    happenings = [
        ("partition", "d", 2), ("ended", "P", "processed"), ("ended", "Q", "failed"),
        ("partition", "e", 1),
    ]  # fmt: skip
    tree = AllOf(
        (
            Partition("d", 2),
            AllOf((ProgramEnded("P", ("processed",)), ProgramEnded("Q", ("failed",)))),
            Partition("e"),
        )
    )
    life = Life(a_schedule(tree), DAY)
    made = [life.take(occurrence(seq, happenings[n])) for seq, n in enumerate(order, 1)]
    assert [len(some) for some in made] == [0, 0, 0, 1]
