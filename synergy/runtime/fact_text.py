"""Facts that only inform: a malformed one is taken for a missing one."""

from __future__ import annotations

from synergy.errors import Malformed
from synergy.storage.protocol import ReadableFacts


def fact_text(facts: ReadableFacts, name: str) -> str:
    """The text of a fact; "" if it is missing or malformed."""
    try:
        return facts.get(name) or ""
    except Malformed:
        return ""
