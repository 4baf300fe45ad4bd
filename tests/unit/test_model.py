"""Properties of jobs, units, processes and deployments, which are immutable values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.model.job import ACKNOWLEDGED_FLAG, STALE_FLAG, STATE_MASK, JobState, bytes_of
from synergy.model.process import DaemonProcess, Deployment, ManagedProcess
from synergy.model.unit_of_work import UnitState, unit_id
from synergy.timeperiod import Qualifier


def a_process(**fields: str) -> ManagedProcess:
    return ManagedProcess(
        name="p", classname="a.b.C.d", token="p", present_on_boxes=(),
        qualifier=Qualifier.DAILY, source=fields.get("source"),
    )  # fmt: skip


def test_jobs_are_active_or_finished() -> None:
    active = [JobState.EMBRYO, JobState.IN_PROGRESS, JobState.FINAL_RUN, JobState.FAILED]
    finished = [JobState.PROCESSED, JobState.NOOP, JobState.SKIPPED, JobState.GIVEN_UP]
    assert sorted(active + finished) == list(JobState)
    assert [state for state in JobState if state.is_pending] == active[:3]
    assert all(state.is_active and not state.is_finished for state in active)
    assert all(state.is_finished and not state.is_active for state in finished)
    assert [state.word for state in JobState] == [
        "embryo", "in_progress", "final_run", "processed", "noop", "skipped", "failed", "given_up",
    ]  # fmt: skip


def test_a_given_up_job_is_shown_to_users_as_skipped() -> None:
    assert JobState.GIVEN_UP.public == "skipped"
    assert all(s.public == s.word for s in JobState if s is not JobState.GIVEN_UP)


def test_the_state_of_a_job_is_readable_with_any_flags() -> None:
    for state in JobState:
        for flags in (0, STALE_FLAG, ACKNOWLEDGED_FLAG, STALE_FLAG | ACKNOWLEDGED_FLAG):
            assert JobState((state | flags) & STATE_MASK) is state
            assert (state | flags) in bytes_of(state)
    stored = b"".join(bytes_of(state) for state in JobState)
    assert len(set(stored)) == len(stored)


def test_units_that_are_processed_noop_or_canceled_are_finished() -> None:
    finished = {state.value for state in UnitState if state.is_finished}
    assert finished == {"processed", "noop", "canceled"}


def test_the_id_of_a_unit_is_a_function_of_its_key() -> None:
    key = ("p", "2026112113", 1, 0, 7)
    assert unit_id(*key) == unit_id(*key)
    assert len(unit_id(*key)) == 24


keys = st.tuples(
    st.sampled_from(["p", "q", "p1"]),
    st.sampled_from(["2026112113", "2026112114"]),
    st.integers(1, 20),
    st.integers(0, 200),
    st.integers(0, 200),
)


@given(keys, keys)
def test_different_keys_give_different_ids(
    one: tuple[str, str, int, int, int], other: tuple[str, str, int, int, int]
) -> None:
    assert (unit_id(*one) == unit_id(*other)) == (one == other)


@pytest.mark.parametrize(
    ("source", "stored"),
    [
        ("single_session", "single_session"),
        ("s3://bucket/x", None),
        ("/data/in", None),
        ("queue:events", None),
    ],
)
def test_a_source_with_a_colon_or_slash_lies_outside_the_store(
    source: str, stored: str | None
) -> None:
    assert a_process(source=source).stored_source == stored
    assert a_process().stored_source is None


def test_managed_processes_differ_from_daemons() -> None:
    daemon = DaemonProcess(name="d", classname="a.b.C.d", token="d", present_on_boxes=())
    managed = a_process()
    deployment = Deployment({"d": daemon, "p": managed}, {})
    assert deployment.managed() == {"p": managed}
    assert (daemon.queue, managed.queue) == ("d", "p")


def test_values_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        a_process().name = "q"  # type: ignore[misc]
