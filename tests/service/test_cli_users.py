"""`launch.py user …`: users, passwords and tokens."""

from __future__ import annotations

import io
import json
import stat
import sys
from datetime import timedelta

import pytest
from argon2 import PasswordHasher

from synergy.cli import exits
from synergy.mx.accounts import passwords
from synergy.mx.accounts.passwords import is_correct
from synergy.mx.accounts.sessions import Sessions, sessions_file
from synergy.mx.accounts.users import UsersFile
from tests.service.commands import NOW

PASSWORD = "six tall blue herons"


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    """Makes password hashes fast."""
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", quick)


@pytest.fixture
def file(commands, monkeypatch, tmp_path):
    """The users file of the settings, which does not exist yet."""
    path = tmp_path / "secret" / "users.json"
    monkeypatch.setenv("SYNERGY_MX_USERS_FILE", str(path))
    return path


@pytest.fixture
def typed(monkeypatch):
    """Sets the text of standard input."""

    def say(text):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    return say


def add(commands, typed, name="anna", role="operator"):
    typed(PASSWORD + "\n")
    return commands.ok("user", "add", name, "--role", role, "--password-stdin")


def users(file):
    return UsersFile(file).users


@pytest.mark.parametrize(
    "argv",
    [["list"], ["add", "a", "--role", "admin"], ["remove", "a"], ["role", "a", "admin"],
     ["password", "a"], ["token", "a", "--scope", "viewer"], ["token", "--revoke", "a"]],
)  # fmt: skip
def test_without_the_setting_every_command_says_how_to_set_it(commands, argv):
    assert commands.run("user", *argv) == 4
    assert "SYNERGY_MX_USERS_FILE=var/mx/users.json" in commands.err


def test_the_first_user_creates_the_file(commands, file, typed):
    assert commands.json("user", "list") == {"users": [], "tokens": []}
    assert add(commands, typed) == "anna may log in as operator\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert is_correct(PASSWORD, users(file).user("anna").password)
    assert not commands.home.exists()


def test_other_commands_are_refused_until_a_user_exists(commands, file):
    assert commands.run("process", "list") == 78
    assert f"there is no file {file}: launch.py user add NAME --role admin" in commands.err


def test_a_password_is_asked_for_twice(commands, file, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    said = iter([PASSWORD, PASSWORD, PASSWORD, "another one entirely"])
    monkeypatch.setattr("getpass.getpass", lambda _prompt: next(said))
    commands.ok("user", "add", "anna", "--role", "admin")
    assert commands.run("user", "add", "bert", "--role", "viewer") == 2
    assert "the two passwords differ" in commands.err
    assert set(users(file).people) == {"anna"}


def test_without_a_terminal_the_password_needs_its_option(commands, file, typed):
    typed(PASSWORD)
    assert commands.run("user", "add", "anna", "--role", "admin") == 4
    assert "add --password-stdin" in commands.err


@pytest.mark.parametrize("password", ["", "short", "annaannaanna", "password1234", "a" * 12])
def test_a_weak_password_is_refused(commands, file, typed, password):
    typed(password + "\n")
    assert commands.run("user", "add", "anna", "--role", "admin", "--password-stdin") == 2
    assert not file.exists()


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["add", "anna", "--role", "viewer"], 4),
        (["add", "a b", "--role", "viewer"], 2),
        (["add", "bert", "--role", "root"], 2),
        (["remove", "bert"], 3),
        (["role", "bert", "viewer"], 3),
        (["password", "bert"], 3),
        (["token", "bert", "--scope", "viewer"], 3),
        (["token", "anna", "--scope", "admin"], 4),
        (["token", "anna"], 2),
        (["token", "--scope", "viewer"], 2),
        (["token", "anna", "--scope", "viewer", "--expires", "367d"], 2),
        (["token", "anna", "--scope", "viewer", "--expires", "0d"], 2),
        (["token", "anna", "--scope", "viewer", "--expires", "never"], 2),
        (["token", "anna", "--scope", "viewer", "--name", "x" * 101], 2),
        (["token", "--revoke", "x"], 3),
    ],
)
def test_impossible_users_and_tokens_are_refused_and_nothing_changes(
    commands, file, typed, argv, code
):
    add(commands, typed)
    before = file.read_bytes()
    assert commands.run("user", *argv) == code, commands.text
    assert commands.err
    assert file.read_bytes() == before


def test_a_user_is_added_changed_and_removed(commands, file, typed):
    add(commands, typed)
    typed("nine quiet green otters\n")
    commands.ok("user", "password", "anna", "--password-stdin")
    assert is_correct("nine quiet green otters", users(file).user("anna").password)
    assert commands.ok("user", "role", "anna", "viewer") == "anna is viewer now\n"
    (shown,) = commands.json("user", "list")["users"]
    assert (shown["name"], shown["role"]) == ("anna", "viewer")
    commands.ok("user", "remove", "anna")
    assert users(file).people == {}


def test_a_token_is_shown_once(commands, file, typed):
    add(commands, typed)
    secret = commands.ok("user", "token", "anna", "--scope", "events", "--name", "cron").strip()
    assert "this is shown once" in commands.err
    assert secret not in commands.err
    listed = commands.json("user", "list")
    assert secret not in json.dumps(listed)
    (token,) = listed["tokens"]
    assert (token["user"], token["scope"], token["name"], token["is_over"]) == (
        "anna", "events", "cron", False,
    )  # fmt: skip
    found, role = users(file).bearer(secret, NOW)
    assert (found.user, role.value) == ("anna", "events")
    assert users(file).bearer(secret, NOW + timedelta(days=90)) is None
    assert users(file).bearer(secret, NOW + timedelta(days=89)) is not None
    commands.ok("user", "token", "--revoke", token["id"])
    assert users(file).bearer(secret, NOW) is None


def test_all_sessions_of_a_user_are_ended(commands, file, typed):
    for name in ("anna", "bert"):
        add(commands, typed, name)
    sessions = Sessions(sessions_file(commands.home))
    for user in users(file).people.values():
        sessions.open(user, NOW)
    commands.ok("user", "logout", "anna", "--dry-run")
    assert sessions.has("anna")
    assert commands.ok("user", "logout", "anna") == "all sessions of anna have ended\n"
    assert not sessions.has("anna")
    assert sessions.has("bert")
    assert commands.run("user", "logout", "nobody") == exits.NOT_FOUND


def test_tokens_are_removed_with_their_user(commands, file, typed):
    add(commands, typed)
    add(commands, typed, "bert")
    for name in ("anna", "bert"):
        commands.ok("user", "token", name, "--scope", "viewer")
    commands.ok("user", "remove", "anna")
    assert [token["user"] for token in commands.json("user", "list")["tokens"]] == ["bert"]
    assert "bert" in commands.ok("user", "list")


def test_a_dry_run_changes_nothing(commands, file, typed):
    add(commands, typed)
    token = commands.json("user", "token", "anna", "--scope", "viewer")
    before = file.read_bytes()
    for argv in (
        ["add", "bert", "--role", "admin"], ["remove", "anna"], ["role", "anna", "admin"],
        ["token", "anna", "--scope", "viewer"], ["token", "--revoke", token["id"]],
    ):  # fmt: skip
        shown = commands.json("user", *argv, "--dry-run")
        assert shown["dry_run"] is True
        assert "secret" not in shown
        assert commands.ok("user", *argv, "--dry-run").startswith("dry run: ")
    assert file.read_bytes() == before


def test_a_file_that_others_read_is_refused_with_what_helps(commands, file, typed):
    add(commands, typed)
    file.chmod(0o644)
    assert commands.run("user", "list") == 4
    assert f"chmod 600 {file}" in commands.err
