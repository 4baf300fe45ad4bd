"""The timetable: parents, children, counterparts, readiness and cascades."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synergy.errors import InvalidValue, NotFound
from synergy.model.job import JobState
from synergy.model.process import Blocking
from synergy.timetable.cascade import Node, Span, nodes_of, reprocess_spans, skip_spans
from synergy.timetable.readiness import Relation, blockers, readiness
from synergy.timetable.timetable import Timetable
from tests.deployments import (
    DAILY,
    HOURLY,
    MONTHLY,
    YEARLY,
    a_deployment,
    a_process,
    site_and_client,
)

NOW = datetime(2015, 7, 1, 0, 30, tzinfo=UTC)
START = "2015051700"


def a_timetable(**fields):
    return Timetable(site_and_client(**fields), START, NOW)


def names(nodes):
    return [(place.process.name, place.level.timeperiod(ordinal)) for place, ordinal in nodes]


def finish(timetable, process, first, last, state=JobState.PROCESSED):
    for place, ordinal in nodes_of([timetable.span(process, first, last)]):
        place.level.set(ordinal, ordinal, state, place.level.generation(ordinal))


def test_there_is_one_job_for_each_period_since_the_start():
    timetable = a_timetable()
    held = {
        name: (p.level.timeperiod(p.level.start), p.level.timeperiod(p.level.end - 1))
        for name, p in timetable.places.items()
    }
    assert held["Sitehourly"] == ("2015051700", "2015070100")
    assert held["Sitedaily"] == ("2015051700", "2015070100")
    assert held["Sitemonthly"] == ("2015050000", "2015070000")
    assert held["Siteyearly"] == ("2015000000", "2015000000")
    assert len(timetable.place("Sitehourly").level.states) == 45 * 24 + 1


def test_relations_follow_trees_and_qualifiers():
    timetable = a_timetable()
    daily = timetable.place("Sitedaily")
    assert daily.parent is timetable.place("Sitemonthly")
    assert daily.child is timetable.place("Sitehourly")
    assert daily.dependants == [timetable.place("Clientdaily")]
    assert timetable.place("Clientdaily").counterparts == [daily]
    assert timetable.place("Sitehourly").dependants == []


def test_a_job_outside_the_timetable_is_not_found():
    timetable = a_timetable()
    for wrong in ("2015051600", "2015070200"):
        with pytest.raises(NotFound):
            nodes_of([timetable.span("Sitedaily", wrong, wrong)])
    with pytest.raises(InvalidValue):
        nodes_of([timetable.span("Sitedaily", "2015051701", "2015051701")])
    with pytest.raises(NotFound):
        nodes_of([timetable.span("Unknown", START, START)])
    assert sum(timetable.place("Sitedaily").level.counts[1:]) == 0


@pytest.mark.parametrize(
    ("blocking", "counterpart", "may_run", "may_finish", "skipped"),
    [
        (Blocking.NORMAL, JobState.EMBRYO, True, False, False),
        (Blocking.NORMAL, JobState.IN_PROGRESS, True, False, False),
        (Blocking.NORMAL, JobState.SKIPPED, True, True, False),
        (Blocking.NORMAL, JobState.PROCESSED, True, True, False),
        (Blocking.DEPENDENCIES, JobState.EMBRYO, False, False, False),
        (Blocking.DEPENDENCIES, JobState.FINAL_RUN, False, False, False),
        (Blocking.DEPENDENCIES, JobState.PROCESSED, True, True, False),
        (Blocking.DEPENDENCIES, JobState.NOOP, True, True, False),
        (Blocking.DEPENDENCIES, JobState.SKIPPED, False, True, True),
        (Blocking.CHILDREN, JobState.EMBRYO, False, False, False),
        (Blocking.CHILDREN, JobState.SKIPPED, True, True, False),
        (Blocking.CHILDREN, JobState.NOOP, True, True, False),
    ],
)
def test_each_blocking_type_decides_when_a_job_may_run_and_finish(
    blocking, counterpart, may_run, may_finish, skipped
):
    timetable = a_timetable(blocking=blocking)
    finish(timetable, "Sitedaily", "2015052000", "2015052000", counterpart)
    place = timetable.place("Clientdaily")
    answer = readiness(place, place.level.ordinal("2015052000"))
    assert (answer.may_run, answer.may_finish) == (may_run, may_finish)
    assert (answer.skipped_by is not None) == skipped


@pytest.mark.parametrize("blocking", [Blocking.NORMAL, Blocking.DEPENDENCIES, Blocking.CHILDREN])
def test_unfinished_children_block_the_end_and_by_type_the_run_of_a_job(blocking):
    timetable = a_timetable(blocking=blocking)
    place = timetable.place("Sitedaily")
    day = place.level.ordinal("2015052000")
    assert not readiness(place, day).may_finish
    assert readiness(place, day).may_run == (blocking is not Blocking.CHILDREN)
    finish(timetable, "Sitehourly", "2015052000", "2015052022")
    assert not readiness(place, day).may_finish
    finish(timetable, "Sitehourly", "2015052023", "2015052023", JobState.SKIPPED)
    answer = readiness(place, day)
    assert answer.may_run
    assert answer.may_finish
    assert not answer.all_children_skipped


def test_readiness_reports_when_all_children_are_skipped():
    timetable = a_timetable()
    finish(timetable, "Sitehourly", "2015053100", "2015053123", JobState.SKIPPED)
    place = timetable.place("Sitedaily")
    assert readiness(place, place.level.ordinal("2015053100")).all_children_skipped


def test_blockers_are_the_unfinished_children():
    timetable = a_timetable()
    finish(timetable, "Sitehourly", "2015052000", "2015052021")
    place = timetable.place("Sitedaily")
    found = blockers(place, place.level.ordinal("2015052000"))
    assert [(b.relation, b.timeperiod) for b in found] == [
        (Relation.CHILD, "2015052022"),
        (Relation.CHILD, "2015052023"),
    ]


def test_a_counterpart_before_the_start_of_its_tree_blocks():
    timetable = a_timetable()
    client = timetable.place("Clientdaily")
    client.level.extend(client.level.start - 1)  # as if the client tree began a day earlier
    first = client.level.start
    answer = readiness(client, first)
    assert not answer.may_finish
    assert [b.state for b in blockers(client, first)] == [None]


def test_a_grouped_dependant_waits_for_every_counterpart_that_it_covers():
    deployment = a_deployment(
        {"a": [a_process("A", HOURLY)], "b": [a_process("B", HOURLY, time_grouping=5)]},
        {"b": ("a",)},
    )
    timetable = Timetable(deployment, START, NOW)
    place = timetable.place("B")
    checkpoint = place.level.ordinal("2015052010")
    finish(timetable, "A", "2015052010", "2015052010")
    assert [b.timeperiod for b in blockers(place, checkpoint)] == [
        f"20150520{hour:02}" for hour in (6, 7, 8, 9)
    ]
    finish(timetable, "A", "2015052006", "2015052009")
    assert readiness(place, checkpoint).may_finish


def test_a_dependant_of_a_grouped_process_waits_for_the_covering_checkpoint():
    deployment = a_deployment(
        {"a": [a_process("A", HOURLY, time_grouping=5)], "b": [a_process("B", HOURLY)]},
        {"b": ("a",)},
    )
    timetable = Timetable(deployment, START, NOW)
    finish(timetable, "A", "2015052006", "2015052009", JobState.NOOP)
    place = timetable.place("B")
    hour = place.level.ordinal("2015052007")
    assert [b.timeperiod for b in blockers(place, hour)] == ["2015052010"]
    finish(timetable, "A", "2015052010", "2015052010")
    assert readiness(place, hour).may_finish


def test_a_reprocess_reaches_ancestors_dependants_and_their_ancestors_once():
    timetable = a_timetable()
    for name, place in timetable.places.items():
        level = place.level
        finish(timetable, name, level.timeperiod(level.start), level.timeperiod(level.end - 1))
    touched = names(
        nodes_of(reprocess_spans([timetable.span("Sitehourly", "2015052007", "2015052008")]))
    )
    assert sorted(touched) == sorted(
        [
            ("Sitehourly", "2015052007"),
            ("Sitehourly", "2015052008"),
            ("Sitedaily", "2015052000"),
            ("Sitemonthly", "2015050000"),
            ("Siteyearly", "2015000000"),
            ("Clientdaily", "2015052000"),
            ("Clientmonthly", "2015050000"),
            ("Clientyearly", "2015000000"),
        ]
    )


def test_a_reprocess_passes_through_embryos_without_changing_them():
    timetable = a_timetable()
    finish(timetable, "Sitehourly", "2015052007", "2015052007")
    finish(timetable, "Clientyearly", "2015000000", "2015000000")
    touched = names(
        nodes_of(reprocess_spans([timetable.span("Sitehourly", "2015052007", "2015052007")]))
    )
    assert touched == [("Sitehourly", "2015052007"), ("Clientyearly", "2015000000")]


def test_a_skip_reaches_descendants_but_no_finished_jobs_and_ancestors():
    timetable = a_timetable()
    finish(timetable, "Sitehourly", "2015052000", "2015052021")
    touched = names(nodes_of(skip_spans([timetable.span("Sitedaily", "2015052000", "2015052000")])))
    assert sorted(touched) == sorted(
        [
            ("Sitedaily", "2015052000"),
            ("Sitehourly", "2015052022"),
            ("Sitehourly", "2015052023"),
            ("Clientdaily", "2015052000"),
        ]
    )


@settings(max_examples=50)
@given(
    st.sampled_from(["Sitehourly", "Sitedaily", "Sitemonthly", "Siteyearly", "Clientdaily"]),
    st.integers(0, 44 * 24),
    st.lists(
        st.tuples(
            st.sampled_from(["Sitehourly", "Sitedaily", "Sitemonthly", "Clientdaily"]),
            st.integers(0, 44 * 24),
            st.sampled_from(JobState),
        ),
        max_size=30,
    ),
)
def test_a_cascade_from_any_of_its_jobs_stays_within_it(process, at, states):
    timetable = a_timetable()
    for name, offset, state in states:
        level = timetable.place(name).level
        ordinal = level.start + offset % len(level.states)
        level.set(ordinal, ordinal, state, 1)
    place = timetable.place(process)
    node = (place, place.level.start + at % len(place.level.states))
    for spans in (reprocess_spans, skip_spans):
        reached = list(nodes_of(spans([_span(node)])))
        assert len(set(reached)) == len(reached)
        for other in reached:
            assert set(nodes_of(spans([_span(other)]))) <= set(reached)


def _span(node: Node) -> Span:
    place, ordinal = node
    return place, range(ordinal, ordinal + 1)


def test_a_year_does_not_wait_for_months_before_the_start():
    timetable = a_timetable()
    finish(timetable, "Sitemonthly", "2015050000", "2015070000")
    year = timetable.place("Siteyearly")
    assert not readiness(year, year.level.start).may_finish  # August to December have not begun
    later = Timetable(site_and_client(), START, datetime(2016, 2, 1, tzinfo=UTC))
    finish(later, "Sitemonthly", "2015050000", "2015120000")
    place = later.place("Siteyearly")
    assert readiness(place, place.level.ordinal("2015000000")).may_finish


def test_growing_adds_the_periods_that_have_begun():
    timetable = a_timetable()
    timetable.grow(datetime(2016, 1, 1, tzinfo=UTC))
    assert timetable.place("Siteyearly").level.end == 2017
    assert timetable.place("Sitemonthly").level.end == MONTHLY.parse("2016010000") + 1
    assert timetable.place("Sitedaily").level.end == DAILY.parse("2016010100") + 1
    assert YEARLY.timeperiod(2016) == "2016000000"
