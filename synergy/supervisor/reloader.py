"""The context that a supervisor works by, and the requests to take over a changed one."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace

from synergy.errors import ConfigurationError, StorageUnavailable
from synergy.storage.protocol import Facts
from synergy.supervisor.assignment import belonging
from synergy.supervisor.config import SupervisorConfig
from synergy.supervisor.reload import Rollout, compare, ending, restarting
from synergy.supervisor.reload_requests import Answer, Request, Requests
from synergy.supervisor.states import Slot, SlotState, SlotStatus

logger = logging.getLogger(__name__)


class Reloader:
    """Takes requests, and says which slots may not run until the new context is taken over."""

    def __init__(self, config: SupervisorConfig, facts: Facts) -> None:
        self._config = config
        self.deployment = config.deployment
        self._requests = Requests(facts, config.box)
        self._rollout = Rollout()
        self._under_way: Answer | None = None

    @property
    def held(self) -> frozenset[Slot]:
        """The slots that may not run now."""
        return self._rollout.held

    def finishing(self, desired: Collection[Slot]) -> frozenset[Slot]:
        """The held slots that may finish their work: not those that were switched off."""
        off = belonging(self.deployment, self._config.box) - frozenset(desired)
        return self._rollout.finishing - off

    def begin(self) -> None:
        """Leaves requests that were made before; the context was just read."""
        self._under_way = self._requests.skip()

    def resume(self, adopted: Collection[Slot]) -> None:
        """Restarts what an interrupted reload was to restart, if it was adopted as it was."""
        slots = {slot for slot in adopted if slot.process in self._unfinished()}
        self._rollout.add(restarting(self.deployment, slots))

    def _unfinished(self) -> frozenset[str]:
        """The processes that the reload under way restarts, and that there still are."""
        changes = {} if self._under_way is None else self._under_way.changes or {}
        return frozenset(changes.get("restarted", ())) & self.deployment.processes.keys()

    def abandon(self) -> None:
        """Forgets what is under way, because the supervisor stops."""
        self._rollout.clear()
        self._under_way = None

    def take_request(self) -> bool:
        """Carries out a request, if there is one; returns whether the context is another now.

        If the store is lost before the request is answered, nothing has changed, and the next call
        takes the request again.
        """
        request = self._requests.next()
        if request is None:
            return False
        self._requests.close(request)  # first: one that cannot be carried out is left
        try:
            return self._carry_out(request)
        except StorageUnavailable:
            self._requests.reopen()
            raise

    def _carry_out(self, request: Request) -> bool:
        try:
            new = self._config.read_again()
        except ConfigurationError as error:
            self._requests.reply(Answer(request.id, error.mistakes))
            return False
        changes = asdict(compare(self.deployment, new, self._config.box))
        unfinished = self._unfinished() & new.processes.keys()
        here = belonging(self.deployment, self._config.box) & belonging(new, self._config.box)
        asked = {slot for slot in here if slot.process in request.restart}
        named = {slot.process for slot in asked}
        changes["restarted"] = sorted({*changes["restarted"], *unfinished, *named})
        if request.dry_run:
            self._requests.reply(Answer(request.id, changes=changes))
            return False
        under_way = Answer(request.id, changes=changes, is_done=False)
        self._requests.answer(under_way)
        self._rollout.add(ending(self.deployment, new, self._config.box))
        self._rollout.add(restarting(new, asked))
        self.deployment, self._under_way = new, under_way
        logger.info("The context is taken over", extra={"event": "supervisor.reloads"})
        return True

    def advance(self, desired: Collection[Slot], known: Mapping[Slot, SlotStatus]) -> None:
        """Notes what has ended and started; once the new state is up, stores that it is."""
        self._rollout.advance(desired, known)
        if self._under_way is None or not self._rollout.is_over:
            return
        states = {slot: known.get(slot) for slot in desired}
        running = {slot for slot, one in states.items() if one and one.state is SlotState.RUNNING}
        failed = {slot for slot, one in states.items() if one and one.failures > 0} - running
        if running | failed != set(desired):
            return
        names = sorted(map(str, failed))
        try:
            self._requests.answer(replace(self._under_way, is_done=True, failed=names))
        except StorageUnavailable:  # the next turn tries again
            return
        self._under_way = None
        logger.info("The new context is in effect", extra={"event": "supervisor.reloaded"})
