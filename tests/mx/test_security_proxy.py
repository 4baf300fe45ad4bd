"""Addresses that are named by `X-Forwarded-For`: only those of a proxy count."""

from __future__ import annotations

import http.client
import json
import logging
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest
from starlette.requests import HTTPConnection

from synergy.audit_log.files import AuditLog
from synergy.mx.access import Role
from synergy.mx.protection.origins import origin_of
from synergy.mx.protection.proxy import Proxy, source_of
from synergy.runtime.stop import Stop
from tests.another_user import as_nobody, needs_root
from tests.mx.server_kit import LIMIT, running

STRANGER, WWW_DATA = 65534, 33


def request(proxy, named, *, user, peer="127.0.0.1"):
    """A request from `peer`, a process of `user`, with `named` as the address of its client."""
    scope = {
        "type": "http",
        "headers": [],
        "client": (named, 0),
        "app": SimpleNamespace(state=SimpleNamespace(proxy=proxy)),
        "state": {"peer": SimpleNamespace(address=peer, user=user)},
    }
    return HTTPConnection(scope)


def test_a_claimed_address_counts_for_the_user_of_this_machine():
    origins = {
        origin_of(request(Proxy(), named, user=STRANGER))
        for named in ("203.0.113.7", "203.0.113.8", "127.0.0.9", "2001:db8::1")
    }
    assert origins == {"this machine, user 65534"}


@pytest.mark.parametrize("user", [0, WWW_DATA])
def test_the_user_of_the_proxy_names_addresses(user):
    found = request(Proxy(WWW_DATA), "203.0.113.7", user=user)
    assert origin_of(found) == "203.0.113.7"
    assert source_of(found) == "203.0.113.7"


def test_a_client_of_another_machine_has_its_own_address():
    found = request(Proxy(), "203.0.113.7", user=None, peer="203.0.113.7")
    assert (origin_of(found), source_of(found)) == ("203.0.113.7", "203.0.113.7")


def test_an_unknown_proxy_is_logged_once(caplog):
    proxy = Proxy(WWW_DATA)
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            origin_of(request(proxy, f"203.0.113.{number}", user=STRANGER))
    (line,) = caplog.records
    assert line.event == "mx.proxy_unknown"
    assert "SYNERGY_MX_PROXY_USER" in line.getMessage()


@pytest.mark.parametrize(
    ("proxy_user", "source"),
    [(None, "user 65534 of this machine, for 203.0.113.77"), (STRANGER, "203.0.113.77")],
)
def test_a_claimed_address_is_recorded_with_the_user(secured, secured_place, proxy_user, source):
    needs_root()
    headers = {
        "Authorization": f"Bearer {secured.token('otto', Role.OPERATOR)}",
        "X-Forwarded-For": "203.0.113.77",
        "X-Forwarded-Proto": "https",
        "Content-Type": "application/json",
    }
    body = json.dumps({"is_on": False})
    place = replace(secured_place, mx_proxy_user=proxy_user, stop=Stop())
    with running(place) as (_, port):

        def switch_off() -> int:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)) as line:
                line.request("PATCH", "/api/v1/processes/Sitehourly", body, headers)
                return line.getresponse().status

        assert as_nobody(switch_off) == "200"
    log = AuditLog(place.home, place.clock)
    assert {entry.source for entry in log.newest()} == {source}
