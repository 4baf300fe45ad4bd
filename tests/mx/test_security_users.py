"""The users file: who may read it, what it holds, what a token lets a program do."""

from __future__ import annotations

import json
import os
import stat
import threading
from datetime import UTC, datetime, timedelta

import pytest

from synergy.errors import InvalidValue, NotFound, Refused
from synergy.mx.access import Role
from synergy.mx.accounts import passwords
from synergy.mx.accounts.passwords import checked, hashed, is_correct
from synergy.mx.accounts.users import UsersFile, checked_name, new_token, new_user
from tests.mx.house import ELSEWHERE, QUICK

NOW = datetime(2015, 5, 20, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=90)


@pytest.fixture
def book(tmp_path):
    return UsersFile(tmp_path / "users.json")


def add(book, name, role=Role.OPERATOR):
    book.change(lambda users: new_user(users, name, role, QUICK, NOW))


# The file


def test_a_file_that_is_not_there_names_nobody(book):
    assert book.users.people == {}
    assert not book.path.exists()


def test_nobody_else_reads_the_file(book):
    old = os.umask(0)
    try:
        add(book, "otto")
    finally:
        os.umask(old)
    for path in book.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert {path.name for path in book.path.parent.iterdir()} == {"users.json", "users.json.lock"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610])
def test_a_file_that_others_may_read_is_not_believed(book, mode):
    add(book, "otto")
    book.path.chmod(mode)
    with pytest.raises(Refused, match=f"chmod 600 {book.path}"):
        _ = book.users
    with pytest.raises(Refused, match="chmod 600"):
        add(book, "anna")
    book.path.chmod(0o400)
    assert set(book.users.people) == {"otto"}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"users": 5, "tokens": []}', '{"users": [1], "tokens": []}',
     '{"users": [{"name": "a"}], "tokens": []}'],
)  # fmt: skip
def test_a_file_that_is_not_understood_lets_nobody_in(book, text):
    book.path.write_text(text)
    book.path.chmod(0o600)
    with pytest.raises(Refused, match="cannot be parsed"):
        _ = book.users


@pytest.mark.parametrize(
    ("field", "value"),
    [("role", "root"), ("role", "events"), ("name", "a b"), ("created_at", "2015-05-20T12:00")],
)
def test_a_user_who_cannot_be_is_not_understood(book, field, value):
    add(book, "otto")
    found = json.loads(book.path.read_text())
    found["users"][0][field] = value
    book.path.write_text(json.dumps(found))
    with pytest.raises(Refused, match="cannot be parsed"):
        _ = book.users


def test_what_others_change_is_seen(book):
    add(book, "otto")
    other = UsersFile(book.path)
    assert set(other.users.people) == {"otto"}
    add(book, "anna")
    assert set(other.users.people) == {"otto", "anna"}
    other.change(lambda users: users.without_user("otto"))
    assert set(book.users.people) == {"anna"}


def test_changes_at_once_are_all_kept(book):
    def several(start):
        own = UsersFile(book.path)
        for number in range(start, start + 10):
            add(own, f"user{number}")

    threads = [threading.Thread(target=several, args=(start,)) for start in (0, 10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(book.users.people) == 30


def test_a_change_that_fails_changes_nothing(book):
    add(book, "otto")
    before = book.path.read_bytes()
    with pytest.raises(Refused, match="user otto exists"):
        add(book, "otto")
    with pytest.raises(NotFound):
        book.change(lambda users: users.without_user("anna"))
    assert book.path.read_bytes() == before


def test_the_file_may_be_linked_from_elsewhere(book, tmp_path):
    add(book, "otto")
    link = tmp_path / "link.json"
    link.symlink_to(book.path)
    add(UsersFile(link), "anna")
    assert link.is_symlink()
    assert set(book.users.people) == {"otto", "anna"}


def test_nothing_that_is_kept_lets_anybody_in(book):
    add(book, "otto")
    secrets = []

    def make(users):
        changed, _, secret = new_token(users, "otto", Role.VIEWER, "x", (NOW, LATER))
        secrets.append(secret)
        return changed

    book.change(make)
    text = book.path.read_text()
    assert secrets[0].startswith("synergy_")
    assert len(secrets[0]) == len("synergy_") + 43
    assert secrets[0] not in text
    assert secrets[0].removeprefix("synergy_") not in text
    assert "$argon2id$" in text
    assert QUICK not in repr(book.users)
    assert "secret" not in repr(book.users)


# Names and passwords


@pytest.mark.parametrize(
    "name", ["", " a", "a b", "a\nb", "é", "a" * 65, "-a", "a/b", "a:b", "<b>", "local"]
)
def test_names_are_plain(name):
    with pytest.raises(InvalidValue):
        checked_name(name)


@pytest.mark.parametrize("name", ["a", "anna.b@example.com", "A-1_b"])
def test_names_people_have(name):
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "password",
    ["", "short", "elevenchars", "a" * 20, "abababababab", "123456789012", "abcdefghijkl",
     "987654321098", "password1234", "Password-Password", "ottootto-otto", "otto12otto34",
     "Welcome2024!", "x" * 1025],
)  # fmt: skip
def test_passwords_that_are_guessed_at_once(password):
    with pytest.raises(InvalidValue):
        checked(password, "otto")


@pytest.mark.parametrize(
    "password",
    ["six tall blue herons", "Tr0ub4dor&3-xyz", "пароль из слов", "my password is a cat"],
)
def test_passwords_that_are_not(password):
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


def test_an_accent_is_the_same_however_it_is_typed():
    assert is_correct("café au lait, deux", hashed("cafe\u0301 au lait, deux"))


def test_only_so_many_passwords_are_compared_at_once():
    assert passwords._RUNNING._value == 2


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
def test_a_token_never_does_more_than_its_user_may_now(scope, role, expected):
    assert scope.within(role) is expected


def test_what_roles_may():
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
def test_a_token_is_not_made_for_more_than_its_user_may(book, role, scope):
    add(book, "otto", role)
    with pytest.raises(Refused, match="which does not include"):
        new_token(book.users, "otto", scope, "", (NOW, LATER))


def test_a_demotion_goes_for_tokens_too(house):
    from dataclasses import replace

    client = house.bearer("ada", Role.OPERATOR)
    assert client.post("/api/v1/nothing", json={}).status_code == 404
    house.book.change(lambda users: users.with_user(replace(users.user("ada"), role=Role.VIEWER)))
    assert client.post("/api/v1/nothing", json={}).status_code == 403
    assert client.get("/account").status_code == 200
    house.book.change(lambda users: users.without_user("ada"))
    assert client.get("/api/openapi.json").status_code == 401


def test_a_token_ends(house):
    client = house.client(
        ELSEWHERE, Authorization=f"Bearer {house.token('ada', Role.VIEWER, days=1)}"
    )
    house.world.clock.advance(86_399)
    assert client.get("/api/openapi.json").status_code == 200
    house.world.clock.advance(1)
    answer = client.get("/api/openapi.json")
    assert answer.status_code == 401
    assert "expired" in answer.json()["detail"]


@pytest.mark.parametrize(
    "said", ["Bearer", "Bearer ", "Bearer x", "Basic YTpi", "bearer synergy_", "", "\xfc"]
)
def test_a_proof_that_proves_nothing_is_not_made_up_for_by_a_session(house, said):
    client = house.logged_in("vera")
    answer = client.get("/api/openapi.json", headers={"Authorization": said.encode("latin-1")})
    assert answer.status_code == 401


def test_a_token_is_revoked(house):
    client = house.bearer("otto", Role.OPERATOR)
    (token,) = house.book.users.tokens.values()
    house.book.change(lambda users: users.without_token(token.id))
    assert client.get("/api/openapi.json").status_code == 401
