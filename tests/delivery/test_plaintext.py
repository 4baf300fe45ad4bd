"""Webhooks without TLS go only where that is allowed."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from synergy.delivery.addresses import AddressRules
from tests.delivery.conftest import MakeServices
from tests.delivery.receivers import answers, receiving


@pytest.mark.parametrize(
    ("found", "plaintext", "is_sent"),
    [
        (["127.0.0.1"], (), True),
        (["127.0.0.1", "1.1.1.1"], (), False),
        (["::ffff:127.0.0.1"], (), True),
        (["192.0.2.7"], (), False),
        (["192.0.2.7", "127.0.0.1"], ("plain.test",), True),
        (["127.0.0.1", "192.0.2.7"], (ip_network("192.0.2.0/24"),), True),
        (["192.0.2.7"], ("other.test", ip_network("10.0.0.0/8")), False),
    ],
)
def test_http_goes_only_to_allowed_hosts_and_to_loopback(
    services_with: MakeServices,
    found: list[str],
    plaintext: tuple[Any, ...],
    is_sent: bool,
) -> None:
    networks = (ip_network("0.0.0.0/0"), ip_network("::/0"))
    rules = AddressRules(networks, plaintext)
    services = services_with({"plain.test": found}, rules=rules, connect=0.2)
    with receiving(answers()) as receiver:
        answer = services.send(f"http://plain.test:{receiver.port}/")
    assert answer.ok is is_sent
    if not is_sent:
        assert (answer.outcome, answer.may_retry) == ("blocked", False)
        assert "webhook_plaintext" in answer.error
    assert receiver.connections == is_sent
