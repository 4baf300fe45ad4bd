"""Passwords, roles and tokens: validation and rights."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.errors import InvalidValue, Refused
from synergy.mx.access import Role
from synergy.mx.accounts.passwords import checked, hashed, is_correct
from synergy.mx.accounts.users import UsersFile, checked_name, new_token, new_user
from tests.factories import NOW
from tests.mx.secured_mx import ELSEWHERE, QUICK

LATER = NOW + timedelta(days=90)


@pytest.fixture
def book(tmp_path):
    return UsersFile(tmp_path / "users.json")


def add(book, name, role=Role.OPERATOR):
    book.change(lambda users: new_user(users, name, role, QUICK, NOW))


# Names and passwords


@pytest.mark.parametrize(
    "name", ["", " a", "a b", "a\nb", "é", "a" * 65, "-a", "a/b", "a:b", "<b>", "local"]
)
def test_invalid_names_are_refused(name):
    with pytest.raises(InvalidValue):
        checked_name(name)


@pytest.mark.parametrize("name", ["a", "anna.b@example.com", "A-1_b"])
def test_common_names_are_accepted(name):
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "password",
    ["", "short", "elevenchars", "a" * 20, "abababababab", "123456789012", "abcdefghijkl",
     "987654321098", "password1234", "Password-Password", "ottootto-otto", "otto12otto34",
     "Welcome2024!", "x" * 1025, "dragondragon", "Dragon123456", "monkey1234567", "1q2w3e4r5t6y",
     "p@ssw0rd2024", "trustno1trustno1", "football12345!", "dragon" * 170],
)  # fmt: skip
def test_weak_passwords_are_refused(password):
    with pytest.raises(InvalidValue):
        checked(password, "otto")


@pytest.mark.parametrize(
    "password",
    ["six tall blue herons", "Tr0ub4dor&3-xyz", "пароль из слов", "my password is a cat"],
)
def test_strong_passwords_are_accepted(password):
    assert checked(password, "otto") == password


def test_a_password_is_hashed_with_a_salt():
    first, second = hashed("six tall blue herons"), hashed("six tall blue herons")
    assert first != second
    assert first.startswith("$argon2id$")
    assert is_correct("six tall blue herons", first)
    assert not is_correct("six tall blue heron", first)
    assert not is_correct("six tall blue herons", None)
    assert not is_correct("six tall blue herons", "no hash")
    assert not is_correct("of nobody at all", None)


def test_passwords_are_normalized():
    assert is_correct("café au lait, deux", hashed("cafe\u0301 au lait, deux"))


# Tokens


@pytest.mark.parametrize(
    ("scope", "role", "expected"),
    [
        (Role.VIEWER, Role.ADMIN, Role.VIEWER),
        (Role.ADMIN, Role.ADMIN, Role.ADMIN),
        (Role.ADMIN, Role.OPERATOR, Role.OPERATOR),
        (Role.OPERATOR, Role.VIEWER, Role.VIEWER),
        (Role.EVENTS, Role.OPERATOR, Role.EVENTS),
        (Role.EVENTS, Role.VIEWER, None),
    ],
)
def test_a_token_never_exceeds_the_role_of_its_user(scope, role, expected):
    assert scope.within(role) is expected


def test_each_role_includes_the_lower_ones():
    assert [role for role in Role if role.may(Role.VIEWER)] == [
        Role.VIEWER, Role.OPERATOR, Role.ADMIN,
    ]  # fmt: skip
    assert [role for role in Role if role.may(Role.EVENTS)] == [
        Role.EVENTS, Role.OPERATOR, Role.ADMIN,
    ]  # fmt: skip
    assert [role for role in Role if role.may(Role.ADMIN)] == [Role.ADMIN]


@pytest.mark.parametrize(
    ("role", "scope"),
    [(Role.VIEWER, Role.OPERATOR), (Role.VIEWER, Role.EVENTS), (Role.OPERATOR, Role.ADMIN)],
)
def test_a_token_is_not_created_above_the_role(book, role, scope):
    add(book, "otto", role)
    with pytest.raises(Refused, match="which does not include"):
        new_token(book.users, "otto", scope, "", (NOW, LATER))


def test_a_demotion_limits_tokens_too(secured):
    from dataclasses import replace

    client = secured.bearer("ada", Role.OPERATOR)
    assert client.post("/api/v1/nothing", json={}).status_code == 404
    secured.book.change(lambda users: users.with_user(replace(users.user("ada"), role=Role.VIEWER)))
    assert client.post("/api/v1/nothing", json={}).status_code == 403
    assert client.get("/account").status_code == 200
    secured.book.change(lambda users: users.without_user("ada"))
    assert client.get("/api/openapi.json").status_code == 401


def test_a_token_expires(secured):
    client = secured.client(
        ELSEWHERE, Authorization=f"Bearer {secured.token('ada', Role.VIEWER, days=1)}"
    )
    secured.world.clock.advance(86_399)
    assert client.get("/api/openapi.json").status_code == 200
    secured.world.clock.advance(1)
    answer = client.get("/api/openapi.json")
    assert answer.status_code == 401
    assert "expired" in answer.json()["detail"]


@pytest.mark.parametrize(
    "said", ["Bearer", "Bearer ", "Bearer x", "Basic YTpi", "bearer synergy_", "", "\xfc"]
)
def test_an_invalid_token_is_refused_despite_a_session(secured, said):
    client = secured.logged_in("vera")
    answer = client.get("/api/openapi.json", headers={"Authorization": said.encode("latin-1")})
    assert answer.status_code == 401


def test_a_token_is_revoked(secured):
    client = secured.bearer("otto", Role.OPERATOR)
    (token,) = secured.book.users.tokens.values()
    secured.book.change(lambda users: users.without_token(token.id))
    assert client.get("/api/openapi.json").status_code == 401


# Answers that are kept


def test_a_kept_response_is_for_the_same_role_only(secured):
    body = {"eventType": "FILE", "eventTimestamp": "2015-05-20T11:00:00Z", "eventResourceId": "/x"}
    key = {"Idempotency-Key": "one"}
    assert (
        secured.bearer("otto", Role.OPERATOR)
        .post("/api/v1/events", json=body, headers=key)
        .status_code
        == 202
    )
    answer = secured.bearer("otto", Role.EVENTS).post("/api/v1/events", json=body, headers=key)
    assert answer.status_code == 422
    assert "idempotency-replayed" not in answer.headers
