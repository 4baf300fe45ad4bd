"""The account page: passwords, tokens, and the list of users."""

from __future__ import annotations

import pytest

from synergy.mx.access import Role
from synergy.mx.accounts.throttle import FREE
from tests.mx.secured_mx import ELSEWHERE, PASSWORD, csrf_of, log_in

NEW = "nine quiet green otters"


# The account


def change(client, current=PASSWORD, new=NEW, again=NEW):
    fields = {"csrf": csrf_of(client), "current": current, "new": new, "again": again}
    return client.post("/account/password", data=fields)


def test_a_new_password_ends_all_other_sessions(secured):
    client, other = secured.logged_in("vera"), secured.logged_in("vera")
    before = client.cookies["synergy_session"]
    assert change(client).status_code == 303
    assert client.cookies["synergy_session"] != before
    assert client.get("/account").status_code == 200
    assert other.get("/account").status_code == 303
    assert log_in(secured.client(), "vera").status_code == 401
    assert log_in(secured.client(), "vera", NEW).status_code == 303


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"current": NEW}, "Current password is incorrect."),
        ({"again": "something else"}, "The new passwords do not match."),
        ({"new": "short", "again": "short"}, "a password must have 12 to 1,024 characters"),
        ({"new": "vera" * 4, "again": "vera" * 4}, "easily guessed"),
    ],
)
def test_an_invalid_change_of_password_is_refused(secured, given, said):
    client = secured.logged_in("vera")
    answer = change(client, **given)
    assert answer.status_code == 422
    assert said in answer.text
    assert log_in(secured.client(), "vera").status_code == 303


def test_guesses_of_the_current_password_are_limited(secured):
    client = secured.logged_in("vera")
    for _ in range(FREE):
        assert change(client, current="x").status_code == 422
    assert change(client).status_code == 429


def test_a_token_changes_no_password(secured):
    client = secured.bearer("vera", Role.VIEWER)
    fields = {"current": PASSWORD, "new": NEW, "again": NEW}
    assert client.post("/account/password", data=fields).status_code == 404


def test_users_see_and_revoke_only_their_own_tokens(secured):
    secret = secured.token("vera", Role.VIEWER)
    id_ = next(iter(secured.book.users.tokens.values())).id
    otto = secured.logged_in("otto")
    assert id_ not in otto.get("/account").text
    path = f"/account/tokens/{id_}/revoke"
    assert otto.post(path, data={"csrf": csrf_of(otto)}).status_code == 404
    program = secured.client(ELSEWHERE, Authorization=f"Bearer {secret}")
    assert program.get("/account").status_code == 200
    vera = secured.logged_in("vera")
    assert id_ in vera.get("/account").text
    assert secret not in vera.get("/account").text
    assert vera.post(path, data={"csrf": csrf_of(vera)}).status_code == 303
    assert program.get("/api/openapi.json").status_code == 401


def test_only_an_admin_sees_the_list_of_users(secured):
    assert "otto" not in secured.logged_in("vera").get("/account").text
    page = secured.logged_in("ada").get("/account").text
    assert all(name in page for name in ("vera", "otto", "ada"))
    assert "argon2" not in page


def test_without_users_there_is_no_login(client):
    assert client.get("/login", follow_redirects=False).headers["location"] == "/"
    assert "MX has no users" in client.get("/account").text
