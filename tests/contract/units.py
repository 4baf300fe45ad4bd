"""Helpers of the tests of units in a store."""

from __future__ import annotations

from synergy.storage.protocol import Store
from tests.factories import (
    NOW,
    a_hint,
)


def reread(store: Store, unit):
    (found,) = store.units.get([unit.id])
    return found


def claimed(store: Store, unit, owner: str = "worker"):
    (found,) = store.units.claim([a_hint(unit)], owner, NOW)
    return found
