"""An agent that kills itself with SIGKILL at a step, when the file of the step exists.

The file lies in the folder `SYNERGY_TEST_DEATHS`. The agent removes it before it dies, so that each
file kills one agent, the first that reaches the step. While a file `messages` exists, runs are not
claimed at launch but announced to all agents by messages. `SYNERGY_TEST_ANSWER_IN`, if set, is the
number of seconds that receivers have to respond.
"""

import os
import signal
from dataclasses import replace
from pathlib import Path

from synergy.agent.agent import Agent
from synergy.delivery.addresses import AddressRules
from synergy.delivery.options import Options
from synergy.delivery.sender import Sender
from synergy.model.schedule import RunState

BEFORE_THE_RECORD = "before-the-record"  # the run is decided, nothing is written
WITH_THE_RECORD = "with-the-record"  # the run is written, the rest of its batch is not
AFTER_THE_RECORD = "after-the-record"  # all is committed; no message or request was sent
AFTER_THE_CLAIM = "after-the-claim"  # claimed, not sent
BEFORE_THE_RESULT = "before-the-result"  # sent and answered, not written
AFTER_THE_RESULT = "after-the-result"  # written and committed

WITH_THE_LAUNCH = (
    BEFORE_THE_RECORD, WITH_THE_RECORD, AFTER_THE_RECORD, BEFORE_THE_RESULT, AFTER_THE_RESULT,
)  # fmt: skip
BY_MESSAGES = (AFTER_THE_RECORD, AFTER_THE_CLAIM)
MESSAGES = "messages"


def _file(name):
    return Path(os.environ["SYNERGY_TEST_DEATHS"], name)


def die_if_asked(step):
    try:
        _file(step).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class _Runs:
    """The store's runs; recognises each step by the change that is written."""

    def __init__(self, store):
        self._store = store
        self._runs = store.runs

    def __getattr__(self, name):
        return getattr(self._runs, name)

    def create(self, runs, who):
        if not runs:
            return self._runs.create(runs, who)
        die_if_asked(BEFORE_THE_RECORD)
        with self._store.batch() as batch:
            batch.after_commit(lambda: die_if_asked(AFTER_THE_RECORD))
            made = self._runs.create(runs, who)
            die_if_asked(WITH_THE_RECORD)
            return made

    def change(self, changes):
        if any(change.run.state is RunState.PROCESSED for change in changes):
            return self._conclude(changes)
        if any(change.run.owner for change in changes):
            return self._claim(changes)
        return self._runs.change(changes)

    def _conclude(self, changes):
        die_if_asked(BEFORE_THE_RESULT)
        with self._store.batch() as batch:
            batch.after_commit(lambda: die_if_asked(AFTER_THE_RESULT))
            return self._runs.change(changes)

    def _claim(self, changes):
        with self._store.batch() as batch:
            batch.after_commit(lambda: die_if_asked(AFTER_THE_CLAIM))
            return self._runs.change(changes)


class _Store:
    def __init__(self, store):
        self._store = store
        self.runs = _Runs(store)

    def __getattr__(self, name):
        return getattr(self._store, name)


def _sender_with_timeout(place, seconds):
    return Sender(
        Options(
            secrets=place.webhook_secrets,
            rules=AddressRules(place.webhook_networks, place.webhook_plaintext),
            total=float(seconds),
        ),
        place.clock,
    )


class MortalAgent(Agent):
    def __init__(self, workplace):
        seconds = os.environ.get("SYNERGY_TEST_ANSWER_IN")
        sender = _sender_with_timeout(workplace, seconds) if seconds else None
        super().__init__(replace(workplace, store=_Store(workplace.store)), sender)
        claim = self.deliverer.claim_locally
        self.deliverer.claim_locally = lambda runs: (
            list(runs) if _file(MESSAGES).exists() else claim(runs)
        )
