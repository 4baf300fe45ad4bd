"""Which browser and which system a user agent names; the only home of ua_parser."""

from __future__ import annotations

from functools import lru_cache

from ua_parser import parse

UNKNOWN = "unknown"
_TELLING = 512
"""Characters of an agent that are looked at; what servers log may be far longer."""


def families(agent: str) -> tuple[str, str]:
    """The families of operating system and browser, `unknown` where the agent does not tell."""
    return _families(agent[:_TELLING])


@lru_cache(maxsize=8192)
def _families(agent: str) -> tuple[str, str]:
    if not agent:
        return UNKNOWN, UNKNOWN
    found = parse(agent)
    return (
        found.os.family if found.os else UNKNOWN,
        found.user_agent.family if found.user_agent else UNKNOWN,
    )
