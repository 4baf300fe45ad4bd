"""The users file: permissions, content and concurrent changes."""

from __future__ import annotations

import json
import os
import stat
import threading
from datetime import timedelta

import pytest

from synergy.errors import NotFound, Refused
from synergy.mx.access import Role
from synergy.mx.accounts.sessions import Sessions
from synergy.mx.accounts.users import Users, UsersFile, new_token, new_user
from tests.factories import NOW
from tests.mx.secured_mx import QUICK

LATER = NOW + timedelta(days=90)


@pytest.fixture
def book(tmp_path):
    return UsersFile(tmp_path / "users.json")


def add(book, name, role=Role.OPERATOR):
    book.change(lambda users: new_user(users, name, role, QUICK, NOW))


# The file


def test_a_missing_file_has_no_users(book):
    assert book.users.people == {}
    assert not book.path.exists()


def test_the_file_is_private(book):
    old = os.umask(0)
    try:
        add(book, "otto")
    finally:
        os.umask(old)
    for path in book.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert {path.name for path in book.path.parent.iterdir()} == {"users.json", "users.json.lock"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610])
def test_a_file_that_others_can_access_is_refused(book, mode):
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
def test_a_malformed_file_is_refused(book, text):
    book.path.write_text(text)
    book.path.chmod(0o600)
    with pytest.raises(Refused, match="cannot be parsed"):
        _ = book.users


@pytest.mark.parametrize(
    ("field", "value"),
    [("role", "root"), ("role", "events"), ("name", "a b"), ("created_at", "2015-05-20T12:00")],
)
def test_an_invalid_user_is_refused(book, field, value):
    add(book, "otto")
    found = json.loads(book.path.read_text())
    found["users"][0][field] = value
    book.path.write_text(json.dumps(found))
    with pytest.raises(Refused, match="cannot be parsed"):
        _ = book.users


def test_changes_by_other_processes_are_read(book):
    add(book, "otto")
    other = UsersFile(book.path)
    assert set(other.users.people) == {"otto"}
    add(book, "anna")
    assert set(other.users.people) == {"otto", "anna"}
    other.change(lambda users: users.without_user("otto"))
    assert set(book.users.people) == {"anna"}


def test_concurrent_changes_are_all_kept(book):
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


def test_the_users_file_holds_no_secret(book):
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


# The files


def garbage(path):
    path.write_bytes(b"\xff\xfe\x80")
    path.chmod(0o600)


def deep(path):
    path.write_text("[" * 200_000)
    path.chmod(0o600)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (garbage, "cannot be parsed"),
        (deep, "cannot be parsed"),
        (os.mkdir, "is not a regular file"),
        (os.mkfifo, "is not a regular file"),
    ],
)
def test_a_file_of_another_kind_stops_all_logins(secured, spoil, said):
    client = secured.bearer("ada", Role.ADMIN)
    secured.file.unlink()
    spoil(secured.file)
    assert client.get("/api/v1/trees").status_code == 503
    with pytest.raises(Refused, match=said):
        _ = UsersFile(secured.file).users


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=r"users\.json cannot be written"):
        UsersFile(tmp_path / "file" / "users.json").change(lambda users: users)
    with pytest.raises(Refused, match=r"sessions\.json cannot be written"):
        Sessions(tmp_path / "file" / "sessions.json").end("x")


@pytest.mark.parametrize(
    ("owner", "reader", "is_fine"),
    [(7, 7, True), (0, 7, True), (7, 0, True), (8, 7, False), (7, 8, False)],
)
def test_a_file_of_another_user_is_refused(tmp_path, monkeypatch, owner, reader, is_fine):
    path = tmp_path / "users.json"
    monkeypatch.setattr(os, "geteuid", lambda: reader)
    found = os.stat_result((0o100600, 1, 1, 1, owner, owner, 2, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda fd: found)
    path.write_text('{"users": [], "tokens": []}')
    if is_fine:
        assert UsersFile(path).users == Users()
    else:
        with pytest.raises(Refused, match="belongs to another user"):
            _ = UsersFile(path).users
