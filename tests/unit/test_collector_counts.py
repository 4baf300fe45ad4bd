"""The counts of the collector, and their text in the journal, of this version and older ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

import pytest

from synergy.lifecycle.reclaim import Verdict
from synergy.model.collector_counts import CollectorCounts
from synergy.scheduler.collector import counts_of

WRITTEN = (
    ("hand out 2, forgotten 500", CollectorCounts(hand_out=2, forgotten=500)),
    ("cancel 1, publish 3, recovered 7", CollectorCounts(cancel=1, publish=3, recovered=7)),
    ("time out 4", CollectorCounts(time_out=4)),
    ("nothing to do", CollectorCounts()),
    ("adopted 3, cancel 1", CollectorCounts(cancel=1)),
    ("something else entirely", CollectorCounts()),
    ("", CollectorCounts()),
)


@pytest.mark.parametrize(("text", "counts"), WRITTEN)
def test_the_text_of_every_version_is_read(text: str, counts: CollectorCounts) -> None:
    assert CollectorCounts.parse(text) == counts


def test_every_count_is_written_and_read_again() -> None:
    counts = CollectorCounts(**{one.name: n for n, one in enumerate(fields(CollectorCounts), 1)})
    assert str(counts) == ("publish 1, hand out 2, time out 3, cancel 4, recovered 5, forgotten 6")
    assert CollectorCounts.parse(str(counts)) == counts


def test_only_counts_above_zero_are_reported() -> None:
    assert str(CollectorCounts(forgotten=2)) == "forgotten 2"
    assert CollectorCounts(forgotten=2).by_action() == {"forgotten": 2}
    assert str(CollectorCounts()) == "nothing to do"
    assert not CollectorCounts()


def test_every_verdict_has_a_count_of_its_name() -> None:
    done = {verdict.value for verdict in Verdict if verdict is not Verdict.LEAVE}
    every = CollectorCounts(**{one.name: 1 for one in fields(CollectorCounts)})
    assert set(every.by_action()) == done | {"recovered", "forgotten"}


@pytest.mark.parametrize(
    "verdict", [verdict for verdict in Verdict if verdict is not Verdict.LEAVE]
)
def test_units_are_counted_under_their_verdict(verdict: Verdict) -> None:
    counts = counts_of(Counter({verdict: 3}), recovered=1, forgotten=2)
    assert counts.by_action() == {verdict.value: 3, "recovered": 1, "forgotten": 2}
