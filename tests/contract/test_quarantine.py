"""Messages that no consumer can handle: what is kept of them, and when the limits are told."""

from __future__ import annotations

import pytest

from synergy.clock import SteppedClock
from synergy.messaging.quarantine import LONGEST_KEPT, LONGEST_REASON, TOLD_EVERY, Quarantine
from synergy.storage.protocol import QUARANTINE_LIMITS, QuarantineLimits, Store
from tests.factories import NOW
from tests.logged import events_of

ONE = QuarantineLimits(messages=1, bytes=1 << 20)


def told(store: Store) -> list[str]:
    """Returns the reasons of the journal's entries about dropped messages."""
    entries = store.journal.since(0, 100)
    return [entry.why for entry in entries if entry.event == "queue.dropped"]


def test_quarantine_keeps_ten_thousand_messages_and_64_mebibytes() -> None:
    assert (QUARANTINE_LIMITS.messages, QUARANTINE_LIMITS.bytes) == (10_000, 64 * 1024 * 1024)


def test_long_messages_and_reasons_are_cut(store: Store) -> None:
    quarantine = Quarantine(store, SteppedClock(NOW))
    quarantine.put("q", b"x" * (LONGEST_KEPT + 1), "y" * 100_000)
    (dead,) = store.messages.buried()
    assert dead.body == b"x" * LONGEST_KEPT
    assert dead.reason.startswith("y" * LONGEST_REASON + f"; it had {LONGEST_KEPT + 1} bytes")
    assert len(dead.reason) < LONGEST_REASON + 100


def test_a_reason_that_is_not_unicode_is_kept_as_far_as_it_is(store: Store) -> None:
    Quarantine(store, SteppedClock(NOW)).put("q", b"x", "no file /\udcff/\u00e9")
    (dead,) = store.messages.buried()
    assert dead.reason == "no file /?/\u00e9"


def test_the_first_drop_is_told_and_then_one_of_many(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synergy.messaging.quarantine.TOLD_EVERY", 5)
    quarantine = Quarantine(store, SteppedClock(NOW), ONE)
    quarantine.put("q", b"0", "odd")
    assert told(store) == []
    for _ in range(11):
        quarantine.put("q", b"?", "odd")
    assert told(store) == [
        f"{total} of the oldest messages were dropped so far" for total in (1, 5, 10)
    ]
    assert events_of(caplog).count("queue.dropped") == 3
    assert TOLD_EVERY == 1_000
