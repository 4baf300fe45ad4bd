"""What the tests of runs in a store share."""

from __future__ import annotations

import pytest

from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run
from synergy.storage.protocol import Store

NO_JSON = [
    pytest.param({"request": {"x": object()}}, id="request"),
    pytest.param({"detail": RunDetail(cause={"x": object()})}, id="detail"),
]


def create(store: Store, *runs: Run) -> list[Run]:
    return store.runs.create(runs, "agent")
