"""The names and the maximum length of payloads, for every engine."""

from __future__ import annotations

import hashlib

from synergy.errors import InvalidValue

LONGEST = 16_777_215  # bytes


def name_of(content: bytes) -> str:
    """The name of a payload; raises InvalidValue for one that is too long."""
    if len(content) > LONGEST:
        raise InvalidValue(f"a payload has at most {LONGEST:,} bytes, not {len(content):,}")
    return hashlib.blake2b(content, digest_size=20).hexdigest()
