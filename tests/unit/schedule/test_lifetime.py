"""Event dependencies with a lifetime: rule by rule, and against a literal reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule.definition import AllOf, AnyOf, EventTrigger, EventType, ProgramEnded
from synergy.schedule.progress.event_lifetime import has_lifetimes_only
from tests.unit.schedule.kit import DAY, HOUR, Life, a_schedule, an_event, at, times

FILE, TABLE, TIME = EventType.FILE, EventType.TABLE, EventType.TIME_BASED
NO_LIFE = timedelta(0)


def needs(*dependencies) -> Life:
    legs = tuple(EventTrigger(*dependency) for dependency in dependencies)
    return Life(a_schedule(AllOf(legs)), DAY)


def is_run(life, seq, clock, kind="FILE", resource="/a") -> bool:
    """Whether an event with this timestamp runs the schedule; it arrives at 23:00."""
    made = life.take(an_event(seq, kind, resource, at(clock)), at("23:00"))
    assert len(made) <= 1
    return bool(made)


def test_a_file_within_its_lifetime_runs_the_schedule_at_each_cron_event():
    life = needs((FILE, "/dir/path/", HOUR), (TIME, "cron", NO_LIFE))
    for seq, clock in enumerate(("11:59:59", "12:04:59", "12:14:50"), 1):
        assert not is_run(life, seq, clock, "FILE", f"/dir/path/{seq}.csv")
    assert not is_run(life, 4, "12:20:00", "FILE", "/dir/an_other_path/x")
    assert life.progress.seen_events == 3  # an event of another path is not looked up
    assert is_run(life, 5, "12:30:00", "TIME BASED", "cron")
    assert is_run(life, 6, "13:10:00", "TIME BASED", "cron")
    assert not is_run(life, 7, "13:30:00", "TIME BASED", "cron")
    assert [one.due_at for one in life.made] == [at("12:30"), at("13:10")]
    assert [one.created_at for one in life.made] == [at("23:00")] * 2
    assert [one.key for one in life.made] == ["events:e5", "events:e6"]
    assert [one.cause["events"] for one in life.made] == [["id3", "id5"], ["id3", "id6"]]
    assert life.wake_at() is None


@pytest.mark.parametrize(
    ("kind", "dependency", "resource", "matches"),
    [
        ("FILE", "/a", "/a", True),
        ("FILE", "/a", "/a/", True),
        ("FILE", "/a/", "/a", True),
        ("FILE", "/a", "/a/b/c.csv", True),
        ("FILE", "/a/", "/a/b", True),
        ("FILE", "/a", "/ab", False),
        ("FILE", "/a/b", "/a", False),
        ("FILE", "/a", "/A", False),
        ("FILE", "/", "/a", True),
        ("FILE", "/", "/", True),
        ("FILE", "/", "a", False),
        ("FILE", "a", "a/b", True),
        ("FILE", "/a", "/a//b", True),
        ("FILE", "s3://bucket/in", "s3://bucket/in/x", True),
        ("FILE", "s3://bucket", "s3://bucket/in/x", True),
        ("FILE", "s3://buck", "s3://bucket/in/x", False),
        ("TABLE", "t", "t", True),
        ("TABLE", "t", "t/u", False),
        ("TABLE", "t/", "t", False),
        ("TIME BASED", "cron", "cron", True),
        ("TIME BASED", "cron", "cron ", False),
    ],
)
def test_a_dependency_matches_by_type_and_resource(kind, dependency, resource, matches):
    life = needs((EventType(kind), dependency, HOUR))
    assert is_run(life, 1, "10:00", kind, resource) is matches
    others = {"FILE", "TABLE", "TIME BASED"} - {kind}
    for seq, other in enumerate(sorted(others), 2):
        assert not is_run(life, seq, "11:00", other, resource)


def test_only_events_later_than_the_last_execution_count():
    life = needs((FILE, "/a", HOUR))
    assert is_run(life, 1, "10:00")
    assert not is_run(life, 2, "10:00")
    assert not is_run(life, 3, "09:59:59")
    assert is_run(life, 4, "10:00:01")


def test_a_stored_event_counts_after_the_last_execution_as_well():
    life = needs((FILE, "/a", HOUR), (TABLE, "t", NO_LIFE))
    assert not is_run(life, 1, "10:00")
    assert is_run(life, 2, "10:10", "TABLE", "t")
    assert is_run(life, 3, "10:20", "TABLE", "t")  # the file is older than the last execution


def test_an_older_event_that_arrives_later_does_not_shorten_a_lifetime():
    life = needs((FILE, "/a", HOUR), (TABLE, "t", NO_LIFE))
    assert not is_run(life, 1, "10:00")
    assert not is_run(life, 2, "09:00")
    assert is_run(life, 3, "11:00", "TABLE", "t")


@pytest.mark.parametrize(
    ("clock", "alive"), [("11:00:00", True), ("11:00:01", False), ("09:00:00", True)]
)
def test_an_event_is_alive_until_the_end_of_its_lifetime_inclusive(clock, alive):
    life = needs((FILE, "/a", HOUR), (TABLE, "t", NO_LIFE))
    assert not is_run(life, 1, "10:00")
    assert is_run(life, 2, clock, "TABLE", "t") is alive


def test_an_event_with_lifetime_0_counts_only_when_it_arrives():
    life = needs((TABLE, "t", NO_LIFE), (FILE, "/a", NO_LIFE))
    assert not is_run(life, 1, "10:00", "TABLE", "t")
    assert not is_run(life, 2, "10:00")  # the same instant is not the same event
    life = needs((FILE, "/a", NO_LIFE), (FILE, "/a/b", NO_LIFE))
    assert not is_run(life, 1, "10:00", "FILE", "/a/c")
    assert is_run(life, 2, "09:00", "FILE", "/a/b/x")  # an older timestamp, but it arrives now


def test_an_event_that_arrives_late_may_complete_the_dependencies():
    life = needs((FILE, "/a", HOUR), (TABLE, "t", HOUR))
    assert not is_run(life, 1, "10:00")
    assert is_run(life, 2, "09:30", "TABLE", "t")
    assert life.progress.last_execution == at("09:30")
    assert is_run(life, 3, "09:40", "TABLE", "t")


def test_runs_do_not_consume_events_with_a_lifetime():
    life = needs((FILE, "/a", HOUR), (TABLE, "t", HOUR))
    assert not is_run(life, 1, "10:00")
    assert is_run(life, 2, "10:10", "TABLE", "t")
    assert is_run(life, 3, "10:20", "TABLE", "t")
    assert is_run(life, 4, "10:30")


def test_one_event_may_meet_several_dependencies():
    assert is_run(needs((FILE, "/a", HOUR), (FILE, "/a/b", NO_LIFE)), 1, "10:00", "FILE", "/a/b/c")


def test_an_event_read_twice_has_no_effect():
    life = needs((FILE, "/a", HOUR))
    assert is_run(life, 1, "10:00")
    assert not is_run(life, 1, "11:00")


def test_the_timeout_of_a_schedule_ends_no_lifetime():
    life = Life(
        a_schedule(
            AllOf((EventTrigger(FILE, "/a", 100 * HOUR), EventTrigger(TABLE, "t", NO_LIFE)))
        ),
        DAY,
    )
    life.take(an_event(1, "FILE", "/a", at("10:00")))
    assert life.wake_at() is None
    later = at("10:00") + 90 * HOUR
    assert life.pass_time(later) == []
    assert len(life.take(an_event(2, "TABLE", "t", later))) == 1


LEG = EventTrigger(FILE, "/a", HOUR)


@pytest.mark.parametrize(
    ("trigger", "keeps"),
    [
        (LEG, False),
        (AllOf((LEG,)), True),
        (AllOf((LEG, LEG)), True),
        (AllOf((LEG, AllOf((LEG,)))), True),
        (AnyOf((LEG, LEG)), False),
        (AllOf((LEG, AnyOf((LEG,)))), False),
        (AllOf((LEG, ProgramEnded("P", ("processed",)))), False),
        (times("every 60"), False),
    ],
)
def test_all_lifetime_rules_apply_to_events_under_all_of(trigger, keeps):
    assert has_lifetimes_only(trigger) is keeps


@pytest.mark.parametrize("lasts", [NO_LIFE, HOUR])
def test_each_event_of_a_lone_trigger_is_a_run_whatever_its_timestamp(lasts):
    life = Life(a_schedule(EventTrigger(FILE, "/a", lasts)), DAY)
    clocks = ["10:00", "10:00", "09:00", "08:00", "22:00"]
    assert all(is_run(life, seq, clock) for seq, clock in enumerate(clocks, 1))
    assert not is_run(life, 5, "22:30")  # the same event again
    assert [one.key for one in life.made] == [f"events:e{seq}" for seq in range(1, 6)]
    assert [one.cause["events"] for one in life.made] == [[f"id{seq}"] for seq in range(1, 6)]
    assert [f"{one.due_at:%H:%M}" for one in life.made] == clocks
    assert not is_run(life, 6, "10:00", "FILE", "/other")


# Against a literal implementation of the rules


@dataclass
class Literally:
    """A literal implementation of the rules, which keeps all events that ever counted."""

    dependencies: list[tuple[EventType, str, timedelta]]
    validated: dict[int, list[datetime]] = field(default_factory=dict)
    last: datetime | None = None

    def arrives(self, kind: str, resource: str, t: datetime) -> bool:
        now_valid = [
            number
            for number, (type_, wanted, _) in enumerate(self.dependencies)
            if type_.value == kind and self.matches(kind, wanted, resource) and self.is_later(t)
        ]
        for number in now_valid:
            self.validated.setdefault(number, []).append(t)
        if not now_valid or not all(
            self.is_alive(number, t, now_valid) for number in range(len(self.dependencies))
        ):
            return False
        self.last = t
        return True

    def is_later(self, t: datetime) -> bool:
        return self.last is None or t > self.last

    def matches(self, kind: str, wanted: str, resource: str) -> bool:
        if kind != "FILE":
            return wanted == resource
        return resource == wanted or resource.startswith(wanted + "/")

    def is_alive(self, number: int, t: datetime, now_valid: list[int]) -> bool:
        life = self.dependencies[number][2]
        if not life:
            return number in now_valid
        stored = max(self.validated.get(number, []), default=None)
        return stored is not None and (t - stored).total_seconds() <= life.total_seconds()


PLACES = {"FILE": ["/a", "/a/b", "/a/b/c", "/ab"], "TABLE": ["t", "/a"], "TIME BASED": ["t"]}
MEANT = st.sampled_from([(kind, place) for kind, places in PLACES.items() for place in places])
LIVES = st.sampled_from([0, 1, 5, 60])


@given(
    wanted=st.lists(st.tuples(MEANT, LIVES), min_size=1, max_size=4),
    happens=st.lists(st.tuples(MEANT, st.integers(0, 20)), max_size=25),
)
def test_runs_equal_a_literal_implementation_of_the_rules(wanted, happens):
    dependencies = [
        (EventType(kind), place, timedelta(seconds=life)) for (kind, place), life in wanted
    ]
    life, letter = needs(*dependencies), Literally(dependencies)
    for seq, ((kind, place), seconds) in enumerate(happens, 1):
        t = DAY + timedelta(seconds=seconds)
        made = life.take(an_event(seq, kind, place, t), at("23:00"))
        assert [one.due_at for one in made] == ([t] if letter.arrives(kind, place, t) else [])
