"""The whole protocol on the real code, in random order, and with its guards taken out.

Two schedulers, three workers whose every step may be the last or may be delayed without
limit, an operator who starts jobs over, late data, messages lost, repeated and reordered,
and a collector that may take a live worker for dead at any time. Checked after every step:
an attempt is claimed once, a generation is finished once, a finished parent has only
finished children, and rows of a finished job change only with its generation. At the end
the rows equal a recomputation from the source.

Each guard is then taken out in turn, and the check has to notice.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.model.unit_of_work import (
    UnitState,
)
from tests.seeds import seeds
from tests.service.interleavings import Play
from tests.service.scheduler_harness import SchedulerHarness


@pytest.mark.parametrize("seed", seeds(8))
def test_no_course_of_events_breaks_a_promise(seed):
    Play(seed).run()


def claims_without_looking(system: SchedulerHarness) -> None:
    """A claim that reads, and takes what it was told to."""
    claim = system.store.units.claim

    def mutant(hints, owner, now):
        taken = claim(hints, owner, now)
        ids = {unit.id for unit in taken}
        others = dict.fromkeys(hint.unit for hint in hints if hint.unit not in ids)
        rows = [row for other in others for row in system.store.units.get([other])]
        known = [row for row in rows if not row.state.is_finished]
        for unit in known:
            entry = system.store.journal.of_job(unit.process, unit.timeperiod)[0]
            system.store.journal.append(
                [replace(entry, event="unit.in_progress", unit=unit.id, attempt=unit.attempt)]
            )
        return taken + [replace(unit, owner=owner) for unit in known]

    system.store.units.claim = mutant


def concludes_without_the_fence(system: SchedulerHarness) -> None:
    """A conclusion that any attempt may make."""
    conclude = system.store.units.conclude

    def mutant(conclusions, now):
        rows = {u.id: u for u in system.store.units.get([c.unit for c in conclusions])}
        return conclude(
            [
                replace(c, attempt=rows[c.unit].attempt, owner=rows[c.unit].owner or c.owner)
                for c in conclusions
                if rows[c.unit].state is UnitState.IN_PROGRESS
            ],
            now,
        )

    system.store.units.conclude = mutant


def hands_out_without_a_new_attempt(system: SchedulerHarness) -> None:
    """A collector that hands a unit out again as the same attempt."""
    move = system.store.units.move

    def mutant(moves, now):
        return move(
            [
                replace(m, next_attempt=m.after is not UnitState.REQUESTED and m.next_attempt)
                for m in moves
            ],
            now,
        )

    system.store.units.move = mutant


def ignores_late_data(system: SchedulerHarness) -> None:
    """A scheduler that does not follow what is written to sources."""
    system.store.documents.changed_since = lambda _seq, _limit: []


def never_collects(system: SchedulerHarness) -> None:
    """No collector: what a lost worker held stays with it."""
    system.store.units.unfinished = list


def starts_only_the_job_over(system: SchedulerHarness) -> None:
    """A reprocess that forgets what was made from the job."""
    move = system.store.jobs.move

    def mutant(moves, now):
        kept = [m for m in moves if not m.start_over or m.process == "Hour"]
        return [m for m in move(kept, now) if m in moves]

    system.store.jobs.move = mutant


NOTICE = {  # the seed of a course that notices; after a change it may be another
    claims_without_looking: 0,
    concludes_without_the_fence: 0,
    hands_out_without_a_new_attempt: 6,
    ignores_late_data: 2,
    never_collects: 0,
    starts_only_the_job_over: 0,
}


@pytest.mark.parametrize("mutate", NOTICE, ids=lambda mutate: mutate.__name__)
def test_each_guard_is_needed(mutate):
    for seed in (NOTICE[mutate], *range(60)):
        try:
            Play(seed, mutate).run()
        except AssertionError:
            return
    pytest.fail("nobody noticed that the guard was gone")
