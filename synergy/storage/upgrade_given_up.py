"""The rule by which an upgrade finds the skipped jobs of an older store that were given up.

Older versions had one state for two cases: a job was skipped by an operator or by another skipped
job, or it was given up because its unit was canceled. The upgrade identifies the second case by the
newest unit of the job, which is never deleted:

- the unit belongs to the job's present generation and is canceled; and
- the journal entry of the skip names the unit. The scheduler wrote the unit's id in the second case
  only: in the first, the entry names no unit, and the unit was canceled after the job.

Journal entries are deleted after 30 days by default. Without the entry, the reason of the unit
decides: if it is one that only the collector writes, the job was given up. With any other reason
the job stays skipped, because an operator canceled the unit or skipped the job and was informed
that the period would be skipped. So if the cases cannot be distinguished, the job counts as an
operator's decision, and a failure without such a decision becomes visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from synergy.model.job import ACKNOWLEDGED_FLAG, STATE_MASK, JobState
from synergy.model.journal_event import JournalEvent
from synergy.storage.blocks import BLOCK, Block, Place
from synergy.timeperiod import Qualifier

SKIPPED = JournalEvent.JOB_SKIPPED.value  # the journal's event, which older versions wrote for both
GIVEN_UP = JournalEvent.JOB_GIVEN_UP.value

_BY_COLLECTOR = re.compile(
    r"failed: |failed \d+ times; last: |not done within [\d.e+]+ s(;|$)"
    r"|its worker is gone(, \d+ times)?$|its worker's heartbeat stopped(, \d+ times)?$"
)


@dataclass(frozen=True, slots=True)
class CanceledUnit:
    """The newest unit of a job, which is canceled."""

    id: str
    process: str
    timeperiod: str
    end_timeperiod: str
    generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class Skip:
    """A journal entry of one of the events SKIPPED and GIVEN_UP."""

    process: str
    first: str
    last: str
    generation: int
    unit: str | None


@dataclass(slots=True)
class Skips:
    """The journal entries of skipped jobs that are not deleted yet."""

    _units: set[str] = field(default_factory=set)
    _jobs: set[tuple[str, str, int]] = field(default_factory=set)
    _ranges: dict[tuple[str, int], list[Skip]] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Skip]) -> Skips:
        """Indexes entries by unit and by job."""
        found = cls()
        for entry in entries:
            if entry.unit is not None:
                found._units.add(entry.unit)
            elif entry.first == entry.last:
                found._jobs.add((entry.process, entry.first, entry.generation))
            else:
                found._ranges.setdefault((entry.process, entry.generation), []).append(entry)
        return found

    def gave_up(self, unit: CanceledUnit) -> bool:
        """Whether the unit's job, if it is skipped, was given up because of the unit."""
        if unit.id in self._units:
            return True
        if (unit.process, unit.timeperiod, unit.generation) in self._jobs:
            return False
        ranges = self._ranges.get((unit.process, unit.generation), ())
        if any(entry.first <= unit.timeperiod <= entry.last for entry in ranges):
            return False
        return _BY_COLLECTOR.match(unit.reason) is not None


Jobs = Mapping[Place, Mapping[int, int]]
"""The generations of jobs by ordinal, for each block."""


def suspects(units: Iterable[CanceledUnit], entries: Iterable[Skip]) -> Jobs:
    """The jobs that were given up, provided that they are skipped and in these generations."""
    skips = Skips.of(entries)
    found: dict[Place, dict[int, int]] = {}
    for unit in units:
        qualifier = _qualifier(unit)
        if qualifier is not None and skips.gave_up(unit):
            ordinal = qualifier.parse(unit.timeperiod)
            place = unit.process, ordinal // BLOCK
            found.setdefault(place, {})[ordinal] = unit.generation
    return found


def marks(block: Block, jobs: Mapping[int, int]) -> dict[int, int]:
    """The new bytes of the suspects in a block that were given up, by ordinal."""
    found = {}
    for ordinal, generation in jobs.items():
        byte = block.states[ordinal - block.first]
        is_skipped = byte & STATE_MASK == JobState.SKIPPED and not byte & ACKNOWLEDGED_FLAG
        if is_skipped and block.generations.get(ordinal, 1) == generation:
            found[ordinal] = byte & ~STATE_MASK | JobState.GIVEN_UP
    return found


def _qualifier(unit: CanceledUnit) -> Qualifier | None:
    """The qualifier of a unit's job, derived from the timeperiod and the one that follows it."""
    for qualifier in Qualifier:
        if qualifier.names(unit.timeperiod):
            following = qualifier.parse(unit.timeperiod) + 1
            if qualifier.timeperiod(following) == unit.end_timeperiod:
                return qualifier
    return None
