"""The browser and operating system of a user agent."""

from __future__ import annotations

from functools import lru_cache

from ua_parser import parse

UNKNOWN = "unknown"
_PARSED_LENGTH = 512
"""Characters of a user agent that are parsed; servers log much longer ones."""


def families(agent: str) -> tuple[str, str]:
    """The families of operating system and browser, each `unknown` if the agent names none."""
    return _families(agent[:_PARSED_LENGTH])


@lru_cache(maxsize=8192)
def _families(agent: str) -> tuple[str, str]:
    if not agent:
        return UNKNOWN, UNKNOWN
    found = parse(agent)
    return (
        found.os.family if found.os else UNKNOWN,
        found.user_agent.family if found.user_agent else UNKNOWN,
    )
