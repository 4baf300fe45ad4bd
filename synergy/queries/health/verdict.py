"""The verdict: whether all is well, and if not, the findings, since when, and their remedies.

It is one function of one situation, for command line, pages, API and metrics. Before the timetable
has a start, it is unknown whether all is well. A consequence of another finding is no finding of
its own: periods that are late because of it are counted with their cause. Decisions of people
(skipped periods, acknowledged failures), catching up and automatic retries are notes, which leave
the verdict well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from synergy.model.job import JobState
from synergy.program import PROGRAM
from synergy.queries.health.findings import Finding, Key, Trouble, findings
from synergy.queries.health.situation import Held, Periods, ProcessPeriods, Situation
from synergy.queries.wording import counted

NO_TIMETABLE = (
    "the timetable has no first hour yet; the first scheduler that runs fixes it: "
    f"{PROGRAM} supervisor start"
)


class Remark(Enum):
    """The kind of a note, for programs."""

    CATCHING_UP = "catching_up"
    RETRYING = "retrying"
    UNSEEN = "unseen"
    ACKNOWLEDGED = "acknowledged"
    LATE_DATA = "late_data"
    AUDITING = "auditing"


@dataclass(frozen=True, slots=True)
class Note:
    """A piece of information that does not affect whether all is well."""

    kind: Remark
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether all is well at `at`; `is_well` is None if that is unknown.

    `text` is one line for people. `findings` are what is not well, causes first.
    """

    at: datetime
    is_well: bool | None
    text: str
    findings: tuple[Finding, ...]
    notes: tuple[Note, ...]

    def counts(self) -> dict[Trouble, int]:
        """The count of each kind: of periods, units, processes, boxes, messages or runs."""
        found = _by_kind(self.findings)
        return {kind: found[kind] for kind in Trouble}


def verdict(facts: Situation, now: datetime) -> Verdict:
    """The verdict on a situation."""
    waiting = _Waiting(facts)
    found = tuple(
        replace(finding, waiting=waiting.behind[finding.key])
        for finding in findings(facts, waiting.own, now)
    )
    notes = tuple(_notes(facts, waiting.in_turn))
    if facts.has_timetable is False:
        return Verdict(now, None, f"cannot tell: {NO_TIMETABLE}", found, notes)
    if found:
        return Verdict(now, False, f"not well: {_in_words(found)}", found, notes)
    return Verdict(now, True, "well", (), notes)


class _Waiting:
    """Assigns the periods that are behind to their causes.

    `behind` counts them by the finding that holds them back, `in_turn` counts those that are being
    caught up. `own` has the processes with late periods that no other finding explains.
    """

    def __init__(self, facts: Situation) -> None:
        self._facts = facts
        self._processes = {one.process: one for one in facts.processes}
        self.behind = Counter[Key]()
        self.in_turn = 0
        self.own: list[ProcessPeriods] = []
        for one in facts.processes:
            self._place(one)

    def _place(self, one: ProcessPeriods) -> None:
        late = None if one.late is None or self._explains_late(one, one.late) else one.late
        held = None if one.held is None or self._explains_held(one, one.held) else one.held
        if late is not None or held is not None:
            self.own.append(replace(one, late=late, held=held))

    def _explains_late(self, one: ProcessPeriods, late: Periods) -> bool:
        """Counts late periods with their cause; False if they have none."""
        cause = self._cause(one)
        if cause is not None:
            if cause != (Trouble.SWITCHED_OFF, one.process):  # which counts them itself
                self.behind[cause] += late.count
            return True
        if self._is_in_turn(one):
            self.in_turn += late.count
            return True
        return False

    def _explains_held(self, one: ProcessPeriods, held: Held) -> bool:
        """Counts waiting periods with their cause; False if they are late and have none."""
        if self._cause(one) == (Trouble.SWITCHED_OFF, one.process):
            return True
        if held.state is JobState.FAILED:
            self.behind[Trouble.FAILED, held.root] += held.count
            return True
        root = None if held.state is None else self._processes.get(held.root)
        cause = None if root is None else self._cause(root)
        if cause is None and root is not None and root.late is not None:
            if self._is_in_turn(root):
                self.in_turn += held.late
                return True
            cause = Trouble.LATE, held.root
        if cause is not None:
            self.behind[cause] += held.count
        return cause is not None or held.late == 0 or self._facts.is_new

    def _cause(self, one: ProcessPeriods) -> Key | None:
        """The finding that explains why a process makes no progress."""
        facts, name = self._facts, one.process
        if one.tree in facts.unled:
            return (
                (Trouble.BOX_SILENT, facts.silent[0].id)
                if facts.is_silent_everywhere and facts.silent
                else (Trouble.NO_SCHEDULER, "")
            )
        if any(off.process == name for off in facts.off):
            return Trouble.SWITCHED_OFF, name
        for down in facts.down:
            if down.process == name and down.is_nowhere:
                kind = Trouble.BACKING_OFF if down.is_backing_off else Trouble.PROCESS_DOWN
                return kind, f"{name} {down.box}"
        if any(some.process == name for some in facts.unserved):
            return Trouble.NOT_SERVED, name
        if any(some.process == name for some in facts.stuck):
            return Trouble.STUCK, name
        return None

    def _is_in_turn(self, one: ProcessPeriods) -> bool:
        return self._facts.is_new or one.catches_up


def _in_words(found: Sequence[Finding]) -> str:
    """The findings in words, each kind once."""
    return "; ".join(kind.counted(number) for kind, number in _by_kind(found).items())


def _by_kind(found: Iterable[Finding]) -> Counter[Trouble]:
    counts = Counter[Trouble]()
    for finding in found:
        counts[finding.kind] += finding.count
    return counts


def _notes(facts: Situation, in_turn: int) -> Iterator[Note]:
    if in_turn:
        text = f"catching up: {counted(in_turn, 'period')} to go"
        yield Note(Remark.CATCHING_UP, in_turn, text)
    if facts.retrying:
        text = f"{counted(facts.retrying, 'unit')} failed, and will be tried again"
        yield Note(Remark.RETRYING, facts.retrying, text)
    unseen = sum(one.unseen for one in facts.processes)
    if unseen:
        text = f"{counted(unseen, 'skipped period')} with changes since: a reprocess brings them in"
        yield Note(Remark.UNSEEN, unseen, text)
    acknowledged = sum(one.acknowledged for one in facts.processes)
    if acknowledged:
        text = f"{counted(acknowledged, 'period')} given up and acknowledged"
        yield Note(Remark.ACKNOWLEDGED, acknowledged, text)
    if facts.audit is not None and facts.audit.late and not facts.audit.is_late_for_long:
        late = facts.audit.late
        text = f"{counted(late, 'period')} with late data, started over after a quiet time"
        yield Note(Remark.LATE_DATA, late, text)
    if facts.is_auditing:
        yield Note(Remark.AUDITING, 1, "an audit is under way")
