"""Builders of runs, schedules with constraints, and facts for their judgement."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from synergy.model.schedule import Run, RunState
from synergy.schedule.constraint import Facts, Verdict
from synergy.schedule.definition import (
    DeliveryProgram,
)
from tests.unit.schedule.kit import HOURLY, a_schedule, at

MET, WAIT, ABORT = Verdict.MET, Verdict.WAIT, Verdict.ABORT
WEB = DeliveryProgram("https://example.com/hook")
NOON = at("12:00")
TOMORROW = NOON + timedelta(days=1)  # when a job from noon times out


def a_run(key="due:2026-03-10T12:00:00Z", created_at=NOON, **fields) -> Run:
    return Run(
        id="r", schedule="s", key=key, due_at=created_at, version=1,
        state=RunState.PENDING_CONSTRAINT, program="W", group="g", created_at=created_at, **fields,
    )  # fmt: skip


def of(*constraints, program=WEB, **fields):
    return a_schedule(HOURLY, program=program, constraints=constraints, **fields)


def facts(**some) -> Facts:
    return replace(Facts(), **some)
