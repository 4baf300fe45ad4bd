"""Single sign-on with a provider that refuses, fails, or does not answer."""

from __future__ import annotations

import asyncio
import threading

import pytest

from synergy.mx.oidc import exchange
from synergy.mx.oidc.client import MOST
from synergy.mx.oidc.failure import SignOnFailed
from synergy.mx.oidc.provider import metadata
from synergy.runtime.oidc_settings import OidcSettings
from tests.mx.secured_mx import PASSWORD
from tests.mx.sign_on_kit import (
    NO_ANSWER,
    NOT_VALID,
    Browser,
    alert,
    both,
    mx,
    provider,
    reasons,
    signing_on,
)
from tests.servers.oidc_provider import CLIENT_SECRET, as_json

__all__ = ["both", "mx", "provider"]


def test_a_refusal_of_the_provider_is_shown_without_its_text(mx, provider, caplog):
    caplog.set_level("INFO")
    provider.sent_back = {"code": None, "error": "access_denied", "error_description": "<b>x"}
    answer = Browser(mx).log_in()
    assert answer.status_code == 401
    assert alert(answer) == "The login provider refused the login: access_denied."
    assert reasons(caplog) == ["access_denied"]
    provider.sent_back = {"code": None, "error": "<script>"}
    assert alert(Browser(mx).log_in()).endswith(": an unknown error.")


def test_an_answer_of_another_issuer_is_refused(mx, provider):
    provider.sent_back = {"iss": "https://evil.example"}
    assert alert(Browser(mx).log_in()) == NOT_VALID
    provider.sent_back = {}
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    assert alert(Browser(mx).log_in()) == NOT_VALID
    provider.sent_back = {"iss": provider.issuer}
    assert Browser(mx).log_in().status_code == 200


def test_an_answer_without_a_code_is_refused(mx, provider):
    provider.sent_back = {"code": None}
    assert alert(Browser(mx).log_in()) == NOT_VALID


def unavailable_at(path):
    """Ways in which a path of the provider fails."""
    huge = b'{"a": "' + b"x" * exchange.MOST_BYTES + b'"}'
    return {
        "an error": lambda: as_json(500, {"error": "server_error"}),
        "a redirect": lambda: (302, {"Location": f"http://127.0.0.1:9{path}"}, b""),
        "too much": lambda: (200, {}, huge),
        "no JSON": lambda: (200, {}, b"<html>"),
        "no object": lambda: (200, {}, b"[]"),
        "deep": lambda: (200, {}, b"[" * 100_000),
        "not found": lambda: (404, {}, b""),
    }


@pytest.mark.parametrize("kind", unavailable_at(""))
@pytest.mark.parametrize("path", ["/token", "/jwks"])
def test_a_provider_that_answers_wrongly_logs_nobody_in(mx, provider, path, kind, caplog):
    caplog.set_level("INFO")
    provider.instead[path] = unavailable_at(path)[kind]
    answer = Browser(mx).log_in()
    assert (answer.status_code, alert(answer)) == (503, NO_ANSWER)
    assert f"{provider.url}{path}" in reasons(caplog)[0] or "token endpoint" in reasons(caplog)[0]


@pytest.mark.parametrize("kind", unavailable_at(""))
def test_local_users_log_in_while_the_provider_fails(mx, provider, kind):
    provider.instead["/.well-known/openid-configuration"] = unavailable_at("/")[kind]
    browser = Browser(mx)
    answer = browser.begin("/units")
    assert (answer.status_code, alert(answer)) == (503, NO_ANSWER)
    fields = {"csrf": browser.client.cookies["synergy_login"], "name": "anna"}
    done = browser.client.post(f"{mx}/login", data={**fields, "password": PASSWORD})
    assert done.status_code == 303
    assert browser.name() == "anna"


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, "/a", "ftp://127.0.0.1/a", "http:///a", "http://[::1", "http://h:port/"),
        *("http://h/\x00", "http://h/?a=\ud800", "http://xn--a/", f"http://h/{'a' * 70_000}"),
    ],
)
def test_a_provider_without_usable_endpoints_is_refused(mx, provider, name, value):
    provider.metadata = {name: value}
    assert alert(Browser(mx).begin()) == NO_ANSWER


def test_the_metadata_of_another_issuer_is_refused(mx, provider):
    provider.metadata = {"issuer": "https://evil.example"}
    assert alert(Browser(mx).begin()) == NO_ANSWER


def test_an_issuer_with_https_has_no_endpoint_without(monkeypatch):
    settings = OidcSettings("https://a", "mx", "s", "https://b/", "name", "groups", ())
    plain = {
        "issuer": "https://a",
        "authorization_endpoint": "https://a/1",
        "token_endpoint": "http://a/2",
        "jwks_uri": "https://a/3",
    }

    async def get(_):
        return plain

    monkeypatch.setattr(exchange, "get", get)
    with pytest.raises(SignOnFailed) as raised:
        asyncio.run(metadata(settings))
    assert raised.value.reason == "the provider publishes no token_endpoint by https"


def test_a_provider_that_is_away_gives_a_clear_error(world, tmp_path):
    with signing_on(world, tmp_path, issuer="http://127.0.0.1:9") as (mx, _):
        answer = Browser(mx).begin()
    assert (answer.status_code, alert(answer)) == (503, NO_ANSWER)


def test_a_slow_provider_is_not_waited_for(mx, provider, monkeypatch):
    monkeypatch.setattr(exchange, "SECONDS", 0.05)
    ended = threading.Event()
    provider.instead["/token"] = lambda: (ended.wait(60), as_json(200, {}))[1]
    try:
        assert alert(Browser(mx).log_in()) == NO_ANSWER
    finally:
        ended.set()


def test_a_bounded_number_of_logins_waits_for_the_provider(mx, provider):
    ended, waiting = threading.Event(), threading.Semaphore(0)

    def wait():
        waiting.release()
        ended.wait(60)
        return as_json(500, {})

    provider.instead["/.well-known/openid-configuration"] = wait
    threads = [threading.Thread(target=Browser(mx).begin) for _ in range(MOST)]
    for each in threads:
        each.start()
    try:
        for _ in threads:
            assert waiting.acquire(timeout=60)
        answer = Browser(mx).begin()
        assert (answer.status_code, alert(answer)[:15]) == (503, "Too many logins")
    finally:
        ended.set()
        for each in threads:
            each.join()


def test_failed_sign_ons_are_slowed_down_and_outages_are_not(mx, provider):
    provider.instead["/token"] = unavailable_at("/token")["an error"]
    assert {Browser(mx).log_in().status_code for _ in range(7)} == {503}
    provider.instead["/token"] = lambda: as_json(400, {"error": "invalid_grant"})
    statuses = [Browser(mx).log_in().status_code for _ in range(7)]
    assert statuses == [401] * 5 + [429] * 2


@pytest.mark.parametrize("name", ["127.0.0.1 by single sign-on", "single sign-on 127.0.0.1"])
def test_guesses_of_a_name_do_not_slow_down_sign_ons(mx, provider, name):
    csrf = "x" * 43
    fields = {"csrf": csrf, "name": name, "password": "a guess"}
    elsewhere = {"X-Forwarded-Proto": "https", "Cookie": f"__Host-synergy_login={csrf}"}
    for number in range(7):
        elsewhere["X-Forwarded-For"] = f"203.0.113.{number}"
        Browser(mx).client.post(f"{mx}/login", data=fields, headers=elsewhere)
    assert Browser(mx).client.post(f"{mx}/login", data=fields, headers=elsewhere).status_code == 429
    assert Browser(mx).log_in().status_code == 200


def test_no_secret_of_a_sign_on_is_logged(mx, provider, caplog):
    caplog.set_level("DEBUG", "synergy")
    tokens = []
    provider.sign = lambda claims: tokens.append(provider.signed(claims)) or tokens[-1]
    for claims in ({}, {"nonce": "another"}):
        provider.claims = claims
        Browser(mx).log_in()
    told = " ".join(str(each.__dict__) for each in caplog.records)
    assert "login.done" in told
    assert "login.failed" in told
    asked = [given for _, given in provider.asked]
    names = ("code", "code_verifier", "state", "nonce", "client_secret")
    hidden = [given[name] for given in asked for name in names if name in given]
    assert len(hidden) >= 6
    assert [each for each in (*hidden, *tokens, CLIENT_SECRET) if each in told] == []
