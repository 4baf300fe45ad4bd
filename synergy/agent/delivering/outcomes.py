"""The outcomes of attempts to send, written in groups, and only for claims that still hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random

from synergy.agent.context import AgentContext
from synergy.agent.deciding.decisions import disabling
from synergy.agent.delivering.requests import answered
from synergy.agent.delivering.unit_ends import count_end
from synergy.delivery.request import Response
from synergy.model.schedule import Run, RunChange, RunState, Schedule
from synergy.names import AGENT_TOPIC

GROUP = 500  # outcomes written in one commit
MOST_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Sent:
    """An attempt that was answered."""

    run: Run
    answer: Response


class Outcomes:
    """The outcomes of one agent. Those that could not be written are written in a later turn."""

    def __init__(self, context: AgentContext, owner: str, random: Random) -> None:
        self._context = context
        self._store = context.store
        self._owner = owner
        self._random = random
        self._new: deque[Sent] = deque()
        self._writing: list[Sent] = []  # not known to be written

    def __len__(self) -> int:
        """How many outcomes are to be written."""
        return len(self._new) + len(self._writing)

    def add(self, run: Run, answer: Response) -> bool:
        """Adds an outcome, in any thread; returns whether the writing thread is to be woken."""
        self._new.append(Sent(run, answer))
        return len(self._new) == 1  # else it was woken before, and writes until nothing is left

    def conclude(self) -> tuple[list[Sent], list[Run]]:
        """Writes a group; returns its attempts, and the runs as they are written."""
        while self._new and len(self._writing) < GROUP:
            self._writing.append(self._new.popleft())
        if not self._writing:
            return [], []
        now = self._context.clock.now()
        with self._store.batch():
            concluded = self._conclude(self._writing, now)
        done, self._writing = self._writing, []
        for run in concluded:
            if run.state.is_finished:
                count_end(self._context.meter, run)
        self._context.bus.notify(AGENT_TOPIC)
        return done, concluded

    def _conclude(self, group: Sequence[Sent], now: datetime) -> list[Run]:
        """Writes the outcomes of attempts whose claim still holds; others were canceled or lost."""
        rows = {row.id: row for row in self._store.runs.get([sent.run.id for sent in group])}
        changes: list[RunChange] = []
        gone: dict[str, Sent] = {}
        for sent in group:
            if sent.answer.disables and sent.run.schedule:
                known = gone.setdefault(sent.run.schedule, sent)
                if known.run.created_at < sent.run.created_at:
                    gone[sent.run.schedule] = sent
            row = rows.get(sent.run.id)
            if row is None or not self._is_ours(row, sent.run.attempt):
                continue
            after = answered(row, sent.answer, now, self._random)
            changes.append(RunChange(after, after.reason, self._context.name))
        refused = {c.run.id for c in self._store.runs.change(changes)} if changes else set()
        if gone:
            self._disable(gone, now)
        return [change.run for change in changes if change.run.id not in refused]

    def _is_ours(self, row: Run, attempt: int) -> bool:
        present = (row.state, row.owner, row.attempt)
        return present == (RunState.LAUNCHED, self._owner, attempt)

    def _disable(self, gone: dict[str, Sent], now: datetime) -> None:
        """Disables the schedules whose receivers want no more requests.

        A schedule that was edited or created again since the run may have another receiver.
        """
        agent = self._context.name
        for _ in range(MOST_ATTEMPTS):
            rows = self._store.schedules.get(sorted(gone))
            pairs = [
                disabling(row, f"the receiver wants no more: {sent.answer.error}", agent, now)
                for row, sent in ((row, gone[row.name]) for row in rows)
                if row.is_enabled and _is_of(sent.run, row)
            ]
            changes = [change for change, _ in pairs]
            refused = self._store.schedules.change(changes) if changes else []
            records = [run for change, some in pairs if change not in refused for run in some]
            if records:
                self._store.runs.create(records, agent)
            if not refused:
                return


def _is_of(run: Run, schedule: Schedule) -> bool:
    """Whether the run was made by this version of the schedule."""
    return run.version == schedule.version and run.created_at >= schedule.created_at
