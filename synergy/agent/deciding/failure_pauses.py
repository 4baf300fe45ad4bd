"""Pauses schedules whose runs fail several times in a row (`pause_after_failures`).

The runs are counted in the store when one has failed, so a repeated or late look counts none twice.
A run counts if it was made after the schedule was last enabled or edited; runs that were canceled,
or never launched, are passed over.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Sequence
from datetime import datetime

from synergy.agent.context import AgentContext
from synergy.agent.deciding.decision_batch import decision_batch
from synergy.agent.deciding.decisions import disabling
from synergy.agent.deciding.launcher import LocalDeliverer
from synergy.agent.membership import Membership
from synergy.errors import StorageUnavailable
from synergy.model.journal_event import JournalEvent
from synergy.model.schedule import Run, RunState, Schedule
from synergy.names import PAUSED_SCHEDULES
from synergy.runtime.paused_schedules import PAUSED, paused_schedules
from synergy.schedule.progress.state import ProgressState

MOST_ATTEMPTS = 10
_ENDS = (RunState.FAILED, RunState.PROCESSED, RunState.NOOP)

log = logging.getLogger(__name__)


class FailurePauses:
    """Looks at schedules after a failure, for the agent that decides."""

    def __init__(
        self, context: AgentContext, members: Membership, deliverer: LocalDeliverer
    ) -> None:
        self._store = context.store
        self._name = context.name
        self._members = members
        self._deliverer = deliverer

    def check(self, failed: Collection[str], now: datetime) -> None:
        """Disables those of the schedules whose newest runs failed in a row."""
        for _ in range(MOST_ATTEMPTS):
            rows = self._store.schedules.get(sorted(failed)) if failed else []
            pauses = {row.name: reason for row in rows if (reason := self._why(row))}
            if not pauses or self._pause([row for row in rows if row.name in pauses], pauses, now):
                return
        raise StorageUnavailable(f"schedules keep changing: {', '.join(sorted(pauses))}")

    def _why(self, row: Schedule) -> str:
        """The reason for pausing a schedule, "" if there is none."""
        number = row.definition.get("pause_after_failures")
        if not row.is_enabled or not isinstance(number, int):
            return ""
        try:
            begun = ProgressState.from_json(row.progress).begun
        except (KeyError, TypeError, ValueError):
            return ""  # it is disabled when it is decided about
        newest = self._newest(row.name, begun, number)
        if len(newest) < number or any(run.state is not RunState.FAILED for run in newest):
            return ""
        many = f"{number} runs in a row" if number > 1 else "a run"
        because = f": {newest[0].reason}" if newest[0].reason else ""
        return f"{PAUSED}{many} failed; the last one is {newest[0].id}{because}"

    def _newest(self, schedule: str, begun: datetime, number: int) -> list[Run]:
        """The runs made since then that ended last, at most so many, newest first."""
        ended = [
            run
            for state in _ENDS
            for run in self._store.runs.find(schedule, state, number)[0]
            if run.created_at >= begun
        ]
        ended.sort(key=lambda run: run.finished_at or run.created_at, reverse=True)
        return ended[:number]

    def _pause(self, rows: Sequence[Schedule], reasons: dict[str, str], now: datetime) -> bool:
        """Disables the schedules; returns whether none was changed meanwhile."""
        with decision_batch(self._store, self._members, self._deliverer):
            pairs = [disabling(row, reasons[row.name], self._name, now) for row in rows]
            known = [row.name for row in paused_schedules(self._store)]
            names = sorted({*known, *reasons})
            self._store.facts.set(PAUSED_SCHEDULES, json.dumps(names))
            refused = self._store.schedules.change([change for change, _ in pairs])
            gone = [run for change, runs in pairs if change not in refused for run in runs]
            if gone:
                self._store.runs.create(gone, self._name)
        for change, _ in pairs:
            if change not in refused:
                name, event = change.schedule.name, JournalEvent.SCHEDULE_DISABLED
                log.warning("Schedule %s is %s", name, change.why, extra={"event": event})
        return not refused
