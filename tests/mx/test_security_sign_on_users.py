"""Users of the login provider: their roles and sessions, apart from local users."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from synergy.mx.access import Role
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.accounts.sessions import IDLE
from synergy.mx.oidc.client import OidcClient
from synergy.mx.oidc.identity import Identity
from synergy.runtime.oidc_settings import OidcSettings
from tests.mx.secured_mx import PASSWORD, csrf_of_form
from tests.mx.sign_on_kit import (
    CALLBACK,
    ROLES,
    Browser,
    alert,
    both,
    mx,
    provider,
    reasons,
    signing_on,
)

__all__ = ["both", "mx", "provider"]


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["staff"], "viewer"),
        ("staff", "viewer"),
        (["staff", "ops"], "operator"),
        (["CN=leads", "staff"], "admin"),
    ],
)
def test_a_claim_gives_the_highest_of_its_roles(mx, provider, groups, role):
    provider.user["groups"] = groups
    browser = Browser(mx)
    browser.log_in()
    assert f'<p class="badge">{role}</p>' in browser.get("/account").text


@pytest.mark.parametrize("groups", [None, [], ["others"], "", {"staff": 1}, ["STAFF"], [["staff"]]])
def test_a_user_without_a_role_does_not_get_in(mx, provider, groups, caplog):
    caplog.set_level("INFO")
    provider.user["groups"] = groups
    browser = Browser(mx)
    answer = browser.log_in()
    assert answer.status_code == 403
    assert alert(answer).startswith("You are oidc:anna, but have no role here")
    assert browser.name() is None
    assert reasons(caplog) == ["no value of the claim groups has a role"]


@pytest.mark.parametrize("verified", [None, False, "true", 1])
def test_an_email_counts_only_if_it_is_verified(world, tmp_path, verified):
    with signing_on(world, tmp_path, name_claim="email") as (mx, provider):
        provider.user |= {"email": "anna@example.com", "email_verified": True}
        browser = Browser(mx)
        browser.log_in()
        assert browser.name() == "oidc:anna@example.com"
        provider.user["email_verified"] = verified
        assert Browser(mx).log_in().status_code == 401


def test_a_user_of_the_provider_is_not_the_local_user_of_that_name(mx, provider):
    local = Browser(mx)
    local.get("/login")
    fields = {"csrf": local.client.cookies["synergy_login"], "name": "anna", "password": PASSWORD}
    local.client.post(f"{mx}/login", data=fields)
    browser = Browser(mx)
    browser.log_in()
    assert (local.name(), browser.name()) == ("anna", "oidc:anna")
    page = browser.get("/account").text
    assert "Current password" not in page
    assert "<h2>Tokens</h2>" not in page
    form = {"csrf": browser.csrf(), "current": PASSWORD, "new": "a b c d e f g h", "again": "x"}
    assert browser.client.post(f"{mx}/account/password", data=form).status_code == 404
    revoked = browser.client.post(f"{mx}/account/tokens/abcd/revoke", data={"csrf": browser.csrf()})
    assert revoked.status_code == 404
    browser.client.post(f"{mx}/logout", data={"csrf": browser.csrf()})
    assert (local.name(), browser.name()) == ("anna", None)


def test_a_new_login_ends_sessions_with_the_earlier_role(mx, provider):
    first, other, second = Browser(mx), Browser(mx), Browser(mx)
    first.log_in()
    other.log_in()
    assert (first.name(), other.name()) == ("oidc:anna", "oidc:anna")
    provider.user["groups"] = ["staff"]
    second.log_in()
    assert '<p class="badge">viewer</p>' in second.get("/account").text
    assert (first.name(), other.name()) == (None, None)


def test_sessions_end_with_the_settings_that_gave_their_role(secured, tmp_path):
    settings = OidcSettings("https://a", "mx", "s", "https://b/", "name", "groups", ROLES)

    def accounts(**changed):
        client = OidcClient(replace(settings, **changed), secured.world.clock)
        return Accounts(secured.file, tmp_path, secured.world.clock, client)

    identity = Identity("oidc:anna", Role.OPERATOR, "u-1")
    secret = accounts().open_external_session(accounts().sign_on, identity)
    for each in (accounts(), accounts(client_secret="t")):
        assert each.by_session(secret).role is Role.OPERATOR
    assert accounts(roles=ROLES[:1]).by_session(secret) is None
    assert accounts(issuer="https://c").by_session(secret) is None
    assert Accounts(secured.file, tmp_path, secured.world.clock).by_session(secret) is None


def test_sessions_of_the_provider_end_as_others_do(secured, tmp_path):
    settings = OidcSettings("https://a", "mx", "s", "https://b/", "name", "groups", ROLES)
    client = OidcClient(settings, secured.world.clock)
    accounts = Accounts(secured.file, tmp_path, secured.world.clock, client)
    identity = Identity("oidc:anna", Role.OPERATOR, "u-1")
    secret = accounts.open_external_session(client, identity)
    secured.world.clock.advance(IDLE.total_seconds())
    assert accounts.by_session(secret) is None


def test_without_single_sign_on_there_are_no_such_pages(secured):
    client = secured.client()
    assert "/login/oidc" not in client.get("/login").text
    assert client.get(CALLBACK).status_code == 404
    assert client.post("/login/oidc", data={"csrf": csrf_of_form(client)}).status_code == 404


def test_authlib_is_imported_only_for_single_sign_on():
    code = "import sys, synergy.mx.server; sys.exit('authlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
