"""Single sign-on by OpenID Connect, over HTTP: the way to the provider and back."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from urllib.parse import parse_qsl, urlsplit

import pytest
from joserfc.jwk import ECKey

from synergy.audit_log.files import AuditLog
from synergy.clock import SystemClock
from tests.mx.sign_on_kit import (
    CALLBACK,
    NOT_VALID,
    Browser,
    alert,
    both,
    continued,
    mx,
    provider,
)
from tests.servers.oidc_provider import CLIENT_ID, CLIENT_SECRET

__all__ = ["both", "mx", "provider"]


# The login


def test_a_user_of_the_provider_logs_in(mx, provider, caplog):
    caplog.set_level("INFO")
    browser = Browser(mx)
    answer = browser.log_in("/units?process=A")
    assert answer.status_code == 200
    assert continued(answer) == "/units?process=A"
    assert browser.name() == "oidc:anna"
    assert '<p class="badge">operator</p>' in browser.get("/account").text
    (done,) = [each for each in caplog.records if getattr(each, "event", "") == "login.done"]
    assert (done.person, done.client, done.subject) == ("oidc:anna", "127.0.0.1", "u-1")


def test_a_login_at_the_provider_is_in_the_audit_log(mx, provider, tmp_path):
    Browser(mx).log_in()
    (login,) = AuditLog(tmp_path, SystemClock()).newest()
    assert (login.who, login.via) == ("oidc:anna", "single sign-on as u-1")
    assert (login.action, login.result) == ("GET /login/oidc/callback", "done")


def test_the_request_to_the_provider_has_state_nonce_and_pkce(mx, provider):
    url = urlsplit(continued(Browser(mx).begin()))
    given = dict(parse_qsl(url.query))
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{provider.url}/authorize"
    assert given["tenant"] == "a&b"
    assert given["client_id"] == CLIENT_ID
    assert given["response_type"] == "code"
    assert given["redirect_uri"] == f"{mx}{CALLBACK}"
    assert given["scope"] == "openid profile email groups"
    assert given["code_challenge_method"] == "S256"
    secrets = {given[name] for name in ("state", "nonce", "code_challenge")}
    assert len(secrets) == 3
    again = dict(parse_qsl(urlsplit(continued(Browser(mx).begin())).query))
    assert secrets.isdisjoint(again.values())


def test_the_verifier_of_pkce_is_what_was_promised(mx, provider):
    Browser(mx).log_in()
    asked = dict(provider.asked)
    digest = hashlib.sha256(asked["/token"]["code_verifier"].encode()).digest()
    promised = urlsafe_b64encode(digest).decode().rstrip("=")
    assert asked["/authorize"]["code_challenge"] == promised


def test_the_secret_of_the_client_is_sent_in_either_way(mx, provider):
    assert Browser(mx).log_in().status_code == 200  # in the header
    assert "client_secret" not in dict(provider.asked)["/token"]
    methods = ["client_secret_basic", "client_secret_post"]
    provider.metadata = {"token_endpoint_auth_methods_supported": methods}
    assert Browser(mx).log_in().status_code == 200
    assert dict(provider.asked)["/token"]["client_secret"] == CLIENT_SECRET


def test_parameters_that_providers_add_are_ignored(mx, provider):
    provider.sent_back = {"session_state": "x", "anything": "else", "iss": provider.issuer}
    assert Browser(mx).log_in().status_code == 200


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/\\evil", "/login"])
def test_a_sign_on_leads_to_no_other_site(mx, provider, target):
    assert continued(Browser(mx).log_in(target)) == "/"
    browser = Browser(mx)
    location = browser.to_provider()
    secret = browser.client.cookies["synergy_sign_on"].partition(".")[0]
    forged = urlsafe_b64encode(target.encode()).decode()
    browser.client.cookies.clear()
    cookie = {"Cookie": f"synergy_sign_on={secret}.{forged}"}
    assert continued(browser.client.get(location, headers=cookie)) == "/"


def test_the_redirect_uri_is_configured_and_not_from_the_host_header(mx, provider):
    browser = Browser(mx.replace("localhost", "127.0.0.1"))
    given = dict(parse_qsl(urlsplit(continued(browser.begin())).query))
    assert given["redirect_uri"] == f"{mx}{CALLBACK}"
    answer = browser.log_in()  # the cookie is at the other address
    assert answer.status_code == 400
    assert f"begin again at {mx}" in alert(answer)


def test_elliptic_keys_and_keys_that_change_are_accepted(mx, provider):
    assert Browser(mx).log_in().status_code == 200
    provider.rotate(ECKey)
    assert Browser(mx).log_in().status_code == 200


# The state


def test_the_cookie_of_a_sign_on_is_http_only_and_short_lived(mx, provider):
    cookies = Browser(mx).begin().headers.get_list("set-cookie")
    (found,) = [each for each in cookies if each.startswith("synergy_sign_on=")]
    assert {"HttpOnly", "Path=/", "SameSite=lax", "Max-Age=600"} <= set(found.split("; "))


@pytest.mark.parametrize("state", ["", "another", "é", None])
def test_a_sign_on_needs_the_state_of_its_browser(mx, provider, state):
    browser = Browser(mx)
    provider.sent_back = {"state": state}
    answer = browser.log_in()
    assert answer.status_code == 400
    assert alert(answer).startswith("The login took too long, or began in another browser")
    assert "POST /token" not in provider.requests
    assert browser.name() is None


def test_a_sign_on_of_an_attacker_does_not_log_a_victim_in(mx, provider):
    location = Browser(mx).to_provider()
    victim = Browser(mx)
    assert victim.client.get(location).status_code == 400
    victim.begin()
    assert victim.client.get(location).status_code == 400
    assert victim.name() is None


def test_another_site_does_not_end_a_sign_on_that_has_begun(mx, provider):
    browser = Browser(mx)
    location = browser.to_provider()
    cross_site = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    link = f"{mx}{CALLBACK}?state=of-another&code=x"
    assert browser.client.get(link, headers=cross_site).status_code == 400
    assert browser.client.get(location).status_code == 200


def test_an_answer_works_once(mx, provider):
    browser = Browser(mx)
    location = browser.to_provider()
    kept = dict(browser.client.cookies)
    assert browser.client.get(location).status_code == 200
    assert browser.client.get(location).status_code == 400  # the cookie is gone
    again = Browser(mx)
    again.client.cookies.update(kept)
    answer = again.client.get(location)  # the provider takes a code once
    assert (answer.status_code, alert(answer)) == (401, NOT_VALID)
    assert again.name() is None


def test_a_sign_on_begins_with_a_form_of_the_login_page(mx, provider):
    browser = Browser(mx)
    browser.get("/login")
    assert browser.client.post(f"{mx}/login/oidc", data={"csrf": "x"}).status_code == 403
    assert browser.get("/login/oidc").status_code == 405
    assert provider.requests == []


def test_a_sign_on_ends_the_session_that_the_browser_had(mx, provider):
    browser = Browser(mx)
    browser.log_in()
    other = Browser(mx)
    other.client.cookies.update(browser.client.cookies)
    fields = {"csrf": "x" * 20, "next": "/"}
    browser.client.cookies.set("synergy_login", fields["csrf"], domain="localhost.local")
    assert other.name() == "oidc:anna"
    browser.client.post(f"{mx}/login/oidc", data=fields)
    assert other.name() is None
