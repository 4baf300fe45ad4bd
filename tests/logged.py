"""What a test logged."""

from __future__ import annotations

import pytest


def events_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The event of each line, in order; empty for a line without one."""
    return [str(getattr(record, "event", "")) for record in caplog.records]
