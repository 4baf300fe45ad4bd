"""The lock of the users file, and files of MX in the home, which are no links."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from synergy.errors import Refused
from synergy.mx.access import Role
from synergy.mx.accounts import private_file
from synergy.mx.accounts.sessions import Sessions
from synergy.mx.accounts.users import User, UsersFile, new_user
from tests.another_user import as_nobody, needs_root, open_folder
from tests.factories import NOW
from tests.mx.secured_mx import QUICK


@pytest.fixture
def book(tmp_path):
    return UsersFile(tmp_path / "users.json")


def add(book, name):
    book.change(lambda users: new_user(users, name, Role.OPERATOR, QUICK, NOW))


# The lock


@contextmanager
def held(path):
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_lock_that_is_kept_ends_the_wait(book, monkeypatch):
    add(book, "otto")
    monkeypatch.setattr(private_file, "LOCK_SECONDS", 0.05)
    lock = book.path.with_name("users.json.lock")
    with held(lock), pytest.raises(Refused, match=f"{lock}: another process has kept this lock"):
        add(book, "anna")
    add(book, "bert")
    assert set(book.users.people) == {"otto", "bert"}


def test_a_lock_behind_a_symbolic_link_is_refused(book, tmp_path):
    book.path.with_name("users.json.lock").symlink_to(tmp_path / "created by the link")
    with pytest.raises(Refused, match="symbolic link"):
        add(book, "anna")
    assert not (tmp_path / "created by the link").exists()


def test_a_lock_of_another_user_is_refused():
    needs_root()
    with open_folder() as folder:
        book = UsersFile(Path(folder) / "users.json")
        Path(folder).chmod(0o777)
        lock = book.path.with_name("users.json.lock")
        lock.touch()
        lock.chmod(0o666)
        os.chown(lock, 1, 1)
        said = as_nobody(lambda: refusal(lambda: add(book, "anna")))
    assert said == f"{book.path} cannot be written: {lock}: it belongs to another user"


def refusal(act):
    """What `act` is refused with."""
    with pytest.raises(Refused) as raised:
        act()
    return str(raised.value)


def test_links_to_one_file_share_its_lock(book, tmp_path, monkeypatch):
    add(book, "otto")
    monkeypatch.setattr(private_file, "LOCK_SECONDS", 0.05)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.json"
    link.symlink_to(book.path)
    with (
        held(book.path.with_name("users.json.lock")),
        pytest.raises(Refused, match="has kept this lock"),
    ):
        add(UsersFile(link), "anna")


# Files in the home


@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_file_in_the_home_that_is_a_link_is_refused(tmp_path, is_dangling):
    path, target = tmp_path / "home" / "mx" / "sessions.json", tmp_path / "target"
    path.parent.mkdir(parents=True)
    if not is_dangling:
        target.write_text('{"sessions": []}\n')
        target.chmod(0o600)
    path.symlink_to(target)
    sessions = Sessions(path)
    with pytest.raises(Refused, match=r"sessions\.json cannot be read: it is a symbolic link"):
        sessions.check()
    with pytest.raises(Refused, match="symbolic link"):
        sessions.open(User("otto", Role.VIEWER, QUICK, NOW), NOW)
    assert path.is_symlink()
    assert not target.exists() if is_dangling else target.read_text() == '{"sessions": []}\n'


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / "home" / "mx").symlink_to(tmp_path / "target")
    with pytest.raises(Refused, match="mx: it is a symbolic link"):
        Sessions(tmp_path / "home" / "mx" / "sessions.json").end("x")
    assert list((tmp_path / "target").iterdir()) == []


def test_root_leaves_file_and_lock_to_the_owner_of_the_folder(tmp_path):
    needs_root()
    os.chown(tmp_path, 1, 1)
    add(UsersFile(tmp_path / "users.json"), "anna")
    owners = {path.name: path.stat().st_uid for path in tmp_path.iterdir()}
    assert owners == {"users.json": 1, "users.json.lock": 1}
