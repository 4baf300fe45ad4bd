"""No secret is stored in a text for people: reasons, the journal, logs of units, quarantine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from synergy.model.operation import OperationState
from synergy.model.schedule import RunChange
from synergy.model.unit_of_work import UnitState
from synergy.runtime.masking import know
from synergy.storage.protocol import LogLine, Store
from tests.contract.operated import an_operation
from tests.contract.scheduled import a_run
from tests.contract.units import claimed, reread
from tests.factories import LATER, NOW, a_conclusion, a_unit, a_unit_move, an_entry

SAID = "canary-1 at https://me:canary-2@h"
MASKED = "*** at https://me:***@h"


@pytest.fixture(autouse=True)
def _a_known_secret() -> None:
    know(["canary-1"])


def assert_masked(store: Store, *texts: str) -> None:
    """Fails unless the texts, and what the journal says last, are masked."""
    assert texts == (MASKED,) * len(texts)
    whole: Any = store.journal.since(0, 100)
    assert "canary" not in repr(whole)


def test_an_entry_of_the_journal(store: Store) -> None:
    store.journal.append([an_entry(why=SAID)])
    assert_masked(store, store.journal.find()[0].why)


def test_the_failure_of_a_unit(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    failed = a_conclusion(unit, "worker", UnitState.INVALID, reason=SAID, not_before=LATER)
    assert store.units.conclude([failed], NOW) == []
    assert_masked(store, reread(store, unit).reason, store.journal.find()[0].why)


def test_the_cancellation_of_a_unit(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    assert store.units.move([a_unit_move(unit, UnitState.CANCELED, why=SAID)], NOW) == []
    assert_masked(store, reread(store, unit).reason, store.journal.find()[0].why)


def test_the_end_of_a_run(store: Store) -> None:
    [run] = store.runs.create([a_run()], "agent")
    assert store.runs.change([RunChange(replace(run, reason=SAID), SAID, "agent")]) == []
    [found] = store.runs.get([run.id])
    assert_masked(store, found.reason)


def test_an_operation(store: Store) -> None:
    operation = store.operations.accept(an_operation("o", why=SAID))
    ended = replace(operation, state=OperationState.FAILED, finished_at=LATER, detail=SAID)
    store.operations.change(ended)
    found = store.operations.get("o")
    assert found is not None
    assert_masked(store, found.why, found.detail)


def test_the_log_of_a_unit(store: Store) -> None:
    store.logs.append("u", [LogLine(NOW, 1, "INFO", SAID)])
    assert_masked(store, store.logs.of_unit("u")[0].text)


def test_the_reason_in_quarantine_but_not_the_message_which_may_be_replayed(store: Store) -> None:
    store.messages.bury("q", SAID.encode(), SAID, NOW)
    [dead] = store.messages.buried()
    assert_masked(store, dead.reason)
    assert dead.body == SAID.encode()
