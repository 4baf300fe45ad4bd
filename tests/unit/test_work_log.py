"""The log lines of a unit: a bounded number for each attempt, and always why it failed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from synergy.clock import SteppedClock
from synergy.storage.protocol import LogLine
from synergy.worker import work_log
from synergy.worker.work_log import WorkLog
from tests.factories import NOW, a_unit

log = logging.getLogger("tests.work_log")


class Kept:
    """Logs of units, in memory."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def append(self, unit: str, lines: Sequence[LogLine]) -> None:
        self.texts += [line.text for line in lines]


@pytest.fixture
def records() -> Iterator[WorkLog]:
    logging.getLogger().setLevel(logging.INFO)
    with closing(WorkLog(SteppedClock(NOW))) as made:
        yield made


def test_an_attempt_keeps_a_bounded_number_of_lines_and_why_it_failed(
    records: WorkLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_log, "MOST_LINES", 3)
    unit, kept = a_unit(), Kept()
    with records.of(unit):
        for number in range(5):
            log.info("line %d", number)
    records.failure(unit, ValueError("no such column"))
    records.flush(kept)
    *lines, why = kept.texts
    assert lines == ["line 0", "line 1", "2 lines are kept: others are only in the log file"]
    assert "ValueError: no such column" in why
