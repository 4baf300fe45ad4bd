"""When a schedule is due again, and decisions that are repeated."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule.definition import (
    AllOf,
    CatchUp,
    Elapsed,
    EventTrigger,
    EventType,
    FirstRun,
    Once,
    Partition,
    ProgramEnded,
    TimeoutPolicy,
)
from synergy.schedule.progress.due_times import instants
from synergy.schedule.progress.steps import pass_time, take
from tests.unit.schedule.kit import (
    DAY,
    HOUR,
    MINUTE,
    Life,
    a_schedule,
    an_event,
    at,
    ended,
    partitions,
    times,
    trees,
)

SOON = st.integers(-90, 300).map(lambda minutes: DAY + minutes * MINUTE)
LEAVES = st.one_of(
    st.builds(times, st.sampled_from(["every 3600", "every 5400", "cron 20 * * * *"])),
    st.builds(Once, SOON),
    st.builds(Elapsed, st.sampled_from([40 * MINUTE, 100 * MINUTE])),
    st.builds(ProgramEnded, st.just("P"), st.just(("processed",))),
    st.builds(Partition, st.just("d"), st.integers(1, 2)),
    st.builds(
        EventTrigger, st.just(EventType.FILE), st.just("/a"), st.sampled_from([0 * HOUR, HOUR])
    ),
)
TREES = trees(LEAVES, max_leaves=5)
SCHEDULES = st.builds(
    a_schedule, TREES, timeout=st.sampled_from([50 * MINUTE, 24 * HOUR]),
    timeout_policy=st.sampled_from(TimeoutPolicy), catchup=st.sampled_from(CatchUp),
    first_run=st.sampled_from(FirstRun), start=st.none() | SOON,
)  # fmt: skip
HAPPENINGS = st.sampled_from(["", "file", "ended", "partition"])
# Minutes that pass (below 0 if the clock goes back), and the event after them.
STEPS = st.lists(st.tuples(st.integers(-70, 130), HAPPENINGS), max_size=8)
MAKE = {
    "file": lambda seq, now: an_event(seq, "FILE", "/a/b", now),
    "ended": lambda seq, now: ended(seq, when=now),
    "partition": lambda seq, now: partitions(seq, when=now),
}


@given(definition=SCHEDULES, steps=STEPS, between=st.floats(0, 0.999))
def test_time_alone_changes_the_progress_at_wake_at_and_not_before(definition, steps, between):
    life, now = Life(definition, DAY), DAY
    for seq, (minutes, happening) in enumerate(steps, 1):
        now += minutes * MINUTE
        life.catch_up(now)
        if happening:
            life.take(MAKE[happening](seq, now), now)
        wakes = life.wake_at()
        until = wakes if wakes is not None else now + timedelta(days=10)
        if until > now:
            quiet = pass_time(definition, life.progress, now + (until - now) * between)
            assert (quiet.progress, quiet.made) == (life.progress, ())
        if wakes is not None:
            assert pass_time(definition, life.progress, max(wakes, now)).progress != life.progress
    keys = [one.key for one in life.made]
    assert len(set(keys)) == len(keys)


@given(definition=SCHEDULES, steps=STEPS, late=st.floats(0, 0.999))
def test_a_decision_that_was_not_stored_is_repeated_with_the_same_keys(definition, steps, late):
    """The decision is repeated later, but before anything else is due."""

    def same_keys(decide, before, now):
        lost = decide(now)
        coming = [*instants(definition, before), *instants(definition, lost.progress), now + HOUR]
        until = min(at for at in coming if at > now)
        later = decide(now + (until - now) * late)
        assert [one.key for one in later.made] == [one.key for one in lost.made]

    life, now = Life(definition, DAY), DAY
    for seq, (minutes, happening) in enumerate(steps, 1):
        now += minutes * MINUTE
        before = life.progress
        same_keys(lambda at, before=before: pass_time(definition, before, at), before, now)
        life.catch_up(now)
        if happening:
            before, one = life.progress, MAKE[happening](seq, now)
            same_keys(
                lambda at, before=before, one=one: take(definition, before, one, at), before, now
            )
            life.take(one, now)


def test_each_version_has_run_keys_of_its_own():
    definition = a_schedule(AllOf((Once(at("08:00")), ProgramEnded("P", ("processed",)))))
    keys = []
    for begun in (at("09:00"), at("10:00")):
        life = Life(definition, begun)
        keys += [one.key for one in life.take(ended(1, when=at("11:00")))]
    assert keys == ["events:2026-03-10T09:00:00Z", "events:2026-03-10T10:00:00Z"]


def test_the_key_of_a_run_comes_from_its_first_due_time_however_late_the_decision():
    definition = a_schedule(AllOf((times("cron 0 * * * *"), times("cron 30 * * * *"))))
    for now in (at("10:30"), at("10:59"), at("13:45")):
        life = Life(definition, at("09:45"))
        assert [one.key for one in life.pass_time(now)] == ["events:2026-03-10T10:00:00Z"]
