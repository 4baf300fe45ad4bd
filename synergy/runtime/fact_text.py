"""Facts that only inform: a malformed one is taken for a missing one."""

from __future__ import annotations

from typing import Any

import orjson

from synergy.errors import Malformed
from synergy.storage.protocol import ReadableFacts


def fact_text(facts: ReadableFacts, name: str) -> str:
    """The text of a fact; "" if it is missing or malformed."""
    try:
        return facts.get(name) or ""
    except Malformed:
        return ""


def fact_object(facts: ReadableFacts, name: str) -> dict[str, Any]:
    """The JSON object in a fact; empty if the fact is missing or malformed."""
    return json_object(fact_text(facts, name))


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in a text; empty for anything else."""
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}
