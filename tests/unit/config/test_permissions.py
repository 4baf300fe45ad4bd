"""`check` finds what other users of the machine could read or change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from synergy.config import permissions
from synergy.config.findings import Findings
from synergy.config.loader import check
from synergy.names import HOME_FOLDERS
from tests.unit.config.kit import daemon
from tests.unit.config.kit import write as write_context
from tests.unit.config.settings_kit import load, write


def found(project: Path, **variables: str) -> tuple[list[str], list[str]]:
    """The mistakes and the warnings."""
    settings = load(project, {f"SYNERGY_{name.upper()}": text for name, text in variables.items()})
    findings = Findings()
    code = [project / "settings" / "base.py", project / "context.py"]
    permissions.check_permissions(settings, code, findings)
    return findings.mistakes, findings.warnings


@pytest.fixture(autouse=True)
def context(project: Path) -> None:
    (project / "context.py").write_text("")


@pytest.fixture
def home(project: Path) -> Path:
    (project / "var").mkdir(0o700)
    return project / "var"


def test_a_private_home_is_sound(project: Path, home: Path) -> None:
    assert found(project) == ([], [])


def test_a_missing_home_is_sound(project: Path) -> None:
    assert found(project) == ([], [])


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o711, 0o770])
def test_a_home_that_others_can_enter_is_a_warning(project: Path, home: Path, mode: int) -> None:
    home.chmod(mode)
    expected = f"SYNERGY_HOME: other users can look into {home}: chmod 700 {home}"
    assert found(project) == ([], [expected])


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o703])
def test_a_home_that_all_can_write_to_is_a_mistake(project: Path, home: Path, mode: int) -> None:
    home.chmod(mode)
    mistakes, warnings = found(project)
    assert f"SYNERGY_HOME: every user can write to {home}: chmod 700 {home}" in mistakes
    assert warnings == []


@pytest.mark.parametrize(("mode", "is_mistake"), [(0o777, True), (0o1777, False), (0o755, False)])
@pytest.mark.parametrize("is_link", [False, True])
def test_a_home_that_all_can_replace_is_a_mistake(
    project: Path, tmp_path: Path, mode: int, is_mistake: bool, is_link: bool
) -> None:
    folder = tmp_path / "homes"
    (folder / "one").mkdir(0o700, parents=True)
    folder.chmod(mode)
    (tmp_path / "link").symlink_to(folder / "one")
    mistakes, _ = found(project, home=str(tmp_path / "link" if is_link else folder / "one"))
    expected = f"SYNERGY_HOME: every user can write to {folder}: chmod o-w {folder}"
    assert (expected in mistakes) is is_mistake


@pytest.mark.parametrize("name", HOME_FOLDERS)
def test_a_folder_of_the_home_that_is_a_link_is_a_mistake(
    project: Path, home: Path, tmp_path: Path, name: str
) -> None:
    (home / name).symlink_to(tmp_path)
    step = "replace it by a folder, or let the home itself be a link"
    expected = f"SYNERGY_HOME: {home / name} is a symbolic link: {step}"
    assert found(project) == ([expected], [])


def test_a_home_may_be_a_link(project: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home)
    assert found(project, home=str(tmp_path / "link")) == ([], [])


def test_a_home_of_another_user_is_a_mistake(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permissions.private_files, "belongs_to_another", lambda seen: True)
    mistakes, _ = found(project)
    assert mistakes == [f"SYNERGY_HOME: {home} belongs to another user: use a folder of your own"]


def test_root_is_warned_about_a_home_of_another_user(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if home.stat().st_uid == 0:
        os.chown(home, 1, 1)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    expected = f"SYNERGY_HOME: {home} belongs to another user, who can change all of it"
    _, warnings = found(project)
    assert [text for text in warnings if text.startswith(expected)]


@pytest.mark.parametrize(("mode", "is_mistake"), [(0o777, True), (0o1777, False), (0o755, False)])
def test_the_folder_of_the_store_may_be_sticky(
    project: Path, tmp_path: Path, mode: int, is_mistake: bool
) -> None:
    folder = tmp_path / "stores"
    folder.mkdir()
    folder.chmod(mode)
    mistakes, _ = found(project, store=f"sqlite:///{folder}/one.db")
    expected = f"SYNERGY_STORE: every user can write to {folder}: chmod o-w {folder}"
    assert mistakes == ([expected] if is_mistake else [])


@pytest.mark.parametrize("name", ["settings/base.py", "context.py", "settings", "."])
def test_code_that_all_can_change_is_a_mistake(project: Path, name: str) -> None:
    path = (project / name).resolve()
    path.chmod(0o777)
    expected = f"{path}: every user can change it, and it is executed: chmod o-w {path}"
    assert expected in found(project)[0]


@pytest.mark.parametrize(("group", "is_warned"), [(0, False), (1, True)])
def test_code_that_its_group_can_change_is_a_warning_unless_the_group_is_the_user(
    project: Path, monkeypatch: pytest.MonkeyPatch, group: int, is_warned: bool
) -> None:
    path = project / "context.py"
    path.chmod(0o664)
    real = permissions._stat

    def stat(asked: Path, *, follow: bool = True) -> os.stat_result | None:
        seen = real(asked, follow=follow)
        if asked != path or seen is None:
            return seen
        return os.stat_result((*seen[:5], seen.st_uid + group, *seen[6:10]))

    monkeypatch.setattr(permissions, "_stat", stat)
    expected = f"{path}: its group can change it, and it is executed: chmod g-w {path}"
    assert found(project) == ([], [expected] if is_warned else [])


@pytest.mark.parametrize(
    ("mode", "is_mistake"), [(0o600, False), (0o640, False), (0o644, True), (0o660, True)]
)
def test_the_key_of_mx_is_private(
    project: Path, tmp_path: Path, mode: int, is_mistake: bool
) -> None:
    key = tmp_path / "key.pem"
    key.touch()
    key.chmod(mode)
    mistakes, _ = found(project, mx_key=str(key), mx_certificate=str(key))
    expected = f"SYNERGY_MX_KEY: other users can access {key}: chmod 600 {key}"
    assert mistakes == ([expected] if is_mistake else [])


@pytest.mark.parametrize("mode", [0o666, 0o644, 0o640, 0o604, 0o610])
def test_a_users_file_that_mx_would_refuse_is_a_mistake(
    project: Path, tmp_path: Path, mode: int
) -> None:
    file = tmp_path / "users.json"
    file.touch(0o600)
    assert found(project, mx_users_file=str(file)) == ([], [])
    file.chmod(mode)
    expected = f"SYNERGY_MX_USERS_FILE: {file} is accessible to others: chmod 600 {file}"
    assert found(project, mx_users_file=str(file)) == ([expected], [])


def test_a_users_file_that_all_can_replace_is_a_mistake(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mx"
    folder.mkdir()
    (folder / "users.json").touch(0o600)
    folder.chmod(0o777)
    mistakes, _ = found(project, mx_users_file=str(folder / "users.json"))
    expected = f"SYNERGY_MX_USERS_FILE: every user can write to {folder}: chmod o-w {folder}"
    assert mistakes == [expected]


MODULES = ("launch.py", "workers/deep/__init__.py", "workers/deep/own.py", "plain.py")


@pytest.mark.parametrize("name", [*MODULES, "workers", "workers/deep"])
def test_code_of_workers_that_all_can_change_is_a_mistake(project: Path, name: str) -> None:
    (project / "workers" / "deep").mkdir(parents=True)
    for file in MODULES:
        (project / file).touch()
    names = {"A": "workers.deep.own.Own.start", "B": "plain.Plain.start"}
    processes = {key: daemon(key, classname=text) for key, text in names.items()}
    write_context(project, processes, {})
    assert check(project, {}, imports=False).mistakes == ()
    path = project / name
    path.chmod(0o777)
    expected = f"{path}: every user can change it, and it is executed: chmod o-w {path}"
    assert check(project, {}, imports=False).mistakes == (expected,)


def test_a_check_of_the_deployment_includes_permissions(project: Path, home: Path) -> None:
    write(project, "dev", "")
    home.chmod(0o755)
    (project / "settings" / "dev.py").chmod(0o666)
    seen = check(project, {}, imports=False)
    assert any("settings/dev.py: every user can change it" in text for text in seen.mistakes)
    assert seen.warnings == (f"SYNERGY_HOME: other users can look into {home}: chmod 700 {home}",)
