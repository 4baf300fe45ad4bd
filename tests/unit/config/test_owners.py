"""`check` finds what belongs to another user, who could change it: what no mode prevents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from synergy.config.loader import check
from tests.another_user import needs_root, open_folder
from tests.unit.config.settings_kit import write

USER, OTHER = 1000, 1001
STEP = "chown it to the user that runs Synergy"
OWNED = "another user owns what is executed"
ADVICE = "who can change all of it: run Synergy as that user"
URL = "mongodb://user:canary@host/db"


@pytest.fixture(params=[USER, 0], ids=["user", "root"])
def user(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The user that Synergy runs as, seemingly; the files of the tests are root's."""
    needs_root()
    found: int = request.param
    monkeypatch.setattr(os, "geteuid", lambda: found)
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def context(project: Path) -> None:
    (project / "launch.py").touch()
    text = "process_context = {}\ntimetable_context = {}\n"
    (project / "context.py").write_text(text)


def give(path: Path, owner: int = OTHER) -> Path:
    os.chown(path, owner, owner, follow_symlinks=False)
    return path


def found(project: Path, **variables: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The mistakes and the warnings."""
    environ = {f"SYNERGY_{name.upper()}": text for name, text in variables.items()}
    seen = check(project, environ, imports=False)
    return seen.mistakes, seen.warnings


def expected(user: int, mistake: str, warning: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A mistake for a user, a warning for root."""
    return ((mistake,), ()) if user else ((), (warning,))


@pytest.mark.parametrize("name", ["context.py", "settings/base.py", "settings", "launch.py"])
def test_code_of_another_user_is_a_warning(project: Path, user: int, name: str) -> None:
    path = give(project / name)
    expected = f"{path}: {OWNED}: chown it to root or to the user that runs Synergy"
    assert found(project) == ((), (expected,))


def test_a_project_of_another_user_is_one_finding(project: Path, user: int) -> None:
    for path in (project, *project.rglob("*")):
        give(path)
    mistakes, (only,) = found(project)
    assert not mistakes
    assert f"{project}/settings/base.py, " in only
    assert f" and 2 more: {OWNED}" in only


def test_own_code_and_code_of_root_is_sound(project: Path, user: int) -> None:
    give(project / "context.py", user)
    give(project / "settings", 0)
    assert found(project) == ((), ())


@pytest.mark.parametrize("name", ["secret", "."])
def test_a_secret_that_another_user_can_replace_is_a_mistake(
    project: Path, folder: Path, user: int, name: str
) -> None:
    secret = folder / "secret"
    secret.write_text("canary-canary")
    secret.chmod(0o640)
    path = give(folder / name)
    where = "SYNERGY_WEBHOOK_SECRETS_FILE"
    assert found(project, webhook_secrets_file=str(secret)) == expected(
        user,
        f"{where}: {path} belongs to another user: {STEP}",
        f"{where}: {path} belongs to another user, {ADVICE}",
    )


def test_a_secret_in_a_folder_of_everybody_is_a_mistake(project: Path, folder: Path) -> None:
    secret = folder / "secret"
    secret.write_text("canary-canary")
    secret.chmod(0o600)
    folder.chmod(0o777)
    where = "SYNERGY_WEBHOOK_SECRETS_FILE"
    mistake = f"{where}: every user can write to {folder}: chmod o-w {folder}"
    assert found(project, webhook_secrets_file=str(secret)) == ((mistake,), ())
    folder.chmod(0o1777)
    assert found(project, webhook_secrets_file=str(secret)) == ((), ())


@pytest.mark.parametrize("name", ["users.json", "."])
def test_a_users_file_that_another_user_can_replace_is_a_mistake(
    project: Path, folder: Path, user: int, name: str
) -> None:
    file = folder / "users.json"
    file.touch(0o600)
    path = give(folder / name)
    where = "SYNERGY_MX_USERS_FILE"
    assert found(project, mx_users_file=str(file)) == expected(
        user,
        f"{where}: {path} belongs to another user: {STEP}",
        f"{where}: {path} belongs to another user, {ADVICE}",
    )


def test_a_users_file_that_only_root_can_read_is_a_mistake(
    project: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "users.json"
    file.touch(0o600)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    mistake = f"SYNERGY_MX_USERS_FILE: {file} cannot be read: {STEP}"
    assert found(project, mx_users_file=str(file)) == ((mistake,), ())


def test_a_home_behind_a_link_of_another_user_is_a_mistake(
    project: Path, folder: Path, user: int
) -> None:
    (folder / "target").mkdir(0o700)
    link = folder / "link"
    link.symlink_to(folder / "target")
    assert found(project, home=str(link)) == ((), ())
    give(link)
    assert found(project, home=str(link)) == expected(
        user,
        f"SYNERGY_HOME: the link {link} belongs to another user: make the link yourself",
        f"SYNERGY_HOME: the link {link} belongs to another user, {ADVICE}",
    )


def test_a_folder_of_another_user_in_the_home_is_a_mistake(
    project: Path, folder: Path, user: int
) -> None:
    home = folder / "home"
    (home / "logs").mkdir(parents=True)
    home.chmod(0o700)
    path = give(home / "logs")
    assert found(project, home=str(home)) == expected(
        user,
        f"SYNERGY_HOME: {path} belongs to another user: {STEP}",
        f"SYNERGY_HOME: {path} belongs to another user, {ADVICE}",
    )


def test_root_is_warned_once_about_a_home_of_another_user(
    project: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_root()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (folder / "logs").mkdir()
    give(folder / "logs")
    home = give(folder)
    assert found(project, home=str(home)) == (
        (),
        (f"SYNERGY_HOME: {home} belongs to another user, {ADVICE}",),
    )


def test_a_settings_file_with_a_secret_is_judged_as_code_and_as_a_secret(
    project: Path, user: int
) -> None:
    write(project, "dev", f"STORE = {URL!r}\n")
    path = give(project / "settings" / "dev.py")
    path.chmod(0o600)
    mistakes, warnings = found(project)
    seen = mistakes if user else warnings
    assert [text for text in seen if text.startswith(f"settings/dev.py STORE: {path} belongs")]
    assert [text for text in warnings if text.startswith(f"{path}: {OWNED}")]


def test_a_key_of_another_user_is_a_mistake(project: Path, folder: Path, user: int) -> None:
    key = folder / "key.pem"
    key.touch(0o600)
    give(key)
    assert found(project, mx_key=str(key), mx_certificate=str(key)) == expected(
        user,
        f"SYNERGY_MX_KEY: {key} belongs to another user: {STEP}",
        f"SYNERGY_MX_KEY: {key} belongs to another user, {ADVICE}",
    )
