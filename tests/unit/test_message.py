"""Encoding and decoding of messages."""

from __future__ import annotations

import pytest

from synergy.messaging.message import BadMessage, EventsMessage, UnitMessage, decode, encode


@pytest.mark.parametrize(
    "message",
    [
        UnitMessage("5f0c", 1),
        UnitMessage("5f0c", 2**63 - 1),
        EventsMessage([]),
        EventsMessage([{"site": "ä", "at": 1, "pageview": True}]),
    ],
)
def test_an_encoded_message_is_decoded_to_an_equal_one(message):
    assert decode(encode(message)) == message


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "neither a unit nor events"),
        (b'{"v": 2, "type": "unit", "unit": "x", "attempt": 1}', "version 2, expected 1"),
        (b'{"v": 1, "type": "unit", "unit": 7, "attempt": 1}', "neither a unit nor events"),
        (b'{"v": 1, "type": "unit", "unit": "x", "attempt": "1"}', "neither a unit nor events"),
        (b'{"v": 1, "type": "unit", "unit": "x", "attempt": -1}', "attempt -1"),
        (b'{"v": 1, "type": "unit", "unit": "x", "attempt": 9223372036854775808}', "63 bits"),
        (b'{"v": 1, "type": "events", "events": [1]}', "neither a unit nor events"),
    ],
)
def test_malformed_messages_are_refused_with_the_reason(body, reason):
    with pytest.raises(BadMessage, match=reason):
        decode(body)
