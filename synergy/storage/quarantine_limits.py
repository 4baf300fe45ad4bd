"""How much quarantine keeps: when it is full, the oldest messages are dropped.

Each engine applies this rule whenever it adds a message.
"""

from __future__ import annotations

from collections.abc import Iterable

from synergy.model.value import value


@value
class QuarantineLimits:
    """How many messages, and bytes of their bodies and reasons, quarantine keeps."""

    messages: int
    bytes: int


QUARANTINE_LIMITS = QuarantineLimits(messages=10_000, bytes=64 << 20)


@value
class QuarantineContents:
    """The number and size of the messages in quarantine.

    `dropped` counts those that were dropped because it was full, since the store was made.
    """

    messages: int
    bytes: int
    dropped: int


def size_of(body: bytes, reason: str) -> int:
    """The bytes that a message in quarantine counts for: its body and its reason."""
    return len(body) + len(reason.encode())


def exceeds(contents: QuarantineContents, limits: QuarantineLimits) -> bool:
    """Whether quarantine holds more than it may."""
    return contents.messages > limits.messages or contents.bytes > limits.bytes


def surplus(
    contents: QuarantineContents, limits: QuarantineLimits, oldest_first: Iterable[tuple[int, int]]
) -> list[int]:
    """The numbers of the oldest messages without which the others are within the limits.

    `oldest_first` yields numbers and sizes, and is read only as far as needed.
    """
    found: list[int] = []
    left = contents
    for seq, size in oldest_first:
        if not exceeds(left, limits):
            break
        found.append(seq)
        left = QuarantineContents(left.messages - 1, left.bytes - size, left.dropped)
    return found
