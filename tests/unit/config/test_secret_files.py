"""Settings that may hold a secret can be read from files; files that others can read are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from synergy.config.findings import Findings
from synergy.config.settings import SECRET
from synergy.config.written_values import written_values
from tests.another_user import as_nobody, needs_root, open_folder
from tests.unit.config.settings_kit import load, write

URL = "mongodb://u:canary@h/db"


def findings(project: Path, **environ: str) -> Findings:
    found = Findings()
    written_values(project, environ, found)
    return found


def mistake(project: Path, **environ: str) -> str:
    (only,) = findings(project, **environ).mistakes
    return only


@pytest.fixture
def file(project: Path) -> Path:
    path = project / "store-url"
    path.write_text(f"{URL}\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("name", SECRET)
def test_every_setting_that_may_hold_a_secret_can_be_read_from_a_file(
    project: Path, name: str
) -> None:
    value = {"store": URL, "bus": "amqp://u:canary@h/v"}.get(name, "canary-canary")
    (project / "secret").write_text(f"  {value}\n")
    settings = load(project, {f"SYNERGY_{name.upper()}_FILE": str(project / "secret")})
    assert getattr(settings, name) in (value, (value,))


def test_the_path_may_be_relative_to_the_project_and_stand_in_a_settings_file(
    project: Path, file: Path
) -> None:
    write(project, "base", "STORE_FILE = 'store-url'\nWEBHOOK_SECRETS = ''\n")
    assert load(project).store == URL
    assert load(project, {"SYNERGY_STORE": "mongodb://other/db"}).store == "mongodb://other/db"
    assert load(project, {"SYNERGY_STORE_FILE": ""}).store == URL


def test_a_file_in_the_environment_overrides_the_value_of_a_settings_file(
    project: Path, file: Path
) -> None:
    write(project, "base", "STORE = 'mongodb://other/db'\n")
    assert load(project, {"SYNERGY_STORE_FILE": "store-url"}).store == URL


def test_a_value_and_a_file_in_one_place_are_a_mistake(project: Path, file: Path) -> None:
    both = "is given as well: remove one of the two"
    environ = {"SYNERGY_STORE": "mongodb://h/db", "SYNERGY_STORE_FILE": str(file)}
    assert mistake(project, **environ) == f"SYNERGY_STORE_FILE: SYNERGY_STORE {both}"
    write(project, "dev", "STORE = 'mongodb://h/db'\nSTORE_FILE = 'store-url'\n")
    assert mistake(project) == f"settings/dev.py STORE_FILE: settings/dev.py STORE {both}"


def test_other_settings_have_no_files(project: Path) -> None:
    assert mistake(project, SYNERGY_BOX_ID_FILE="x").startswith(
        "SYNERGY_BOX_ID_FILE: unknown setting box_id_file"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "there is no file {}: write the value into it, and chmod 600 it"),
        (b" \n", "{} is empty: write the value into it"),
        (b"\xff", "{} is not UTF-8: write the value into it as text"),
    ],
)
def test_a_file_without_a_value_is_a_mistake(
    project: Path, content: bytes | None, reason: str
) -> None:
    path = project / "secret"
    if content is not None:
        path.write_bytes(content)
    expected = f"SYNERGY_BUS_FILE: {reason.format(path)}"
    assert mistake(project, SYNERGY_BUS_FILE=str(path)) == expected


def test_only_a_plain_file_is_read(project: Path) -> None:
    os.mkfifo(project / "pipe")
    for path in (project, project / "pipe"):
        expected = f"{path} is no file: give the path of a file with the value"
        assert mistake(project, SYNERGY_BUS_FILE=str(path)) == f"SYNERGY_BUS_FILE: {expected}"
    write(project, "dev", "BUS_FILE = 5\n")
    assert mistake(project) == "settings/dev.py BUS_FILE: expected the path of a file, not 5"


@pytest.mark.parametrize("closed", ["secret", "folder"])
def test_a_file_that_cannot_be_read_is_a_mistake(closed: str) -> None:
    needs_root()
    with open_folder() as name:
        project, folder = Path(name), Path(name) / "folder"
        for path in (project / "settings", folder):
            path.mkdir(0o755)
        for each in ("base", "dev"):
            write(project, each, "")
        path = folder / "secret"
        path.write_text("x")
        (path if closed == "secret" else folder).chmod(0o600)
        found = as_nobody(lambda: mistake(project, SYNERGY_BUS_FILE=str(path)))
    step = "give it to the user that Synergy runs as"
    assert found == f"SYNERGY_BUS_FILE: {path} cannot be read: Permission denied: {step}"


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o620, 0o602])
def test_a_file_of_a_secret_that_others_can_access_is_a_warning(
    project: Path, file: Path, mode: int
) -> None:
    file.chmod(mode)
    found = findings(project, SYNERGY_STORE_FILE=str(file))
    expected = f"SYNERGY_STORE_FILE: other users can access {file}, a secret: chmod 600 {file}"
    assert (found.mistakes, found.warnings) == ([], [expected])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400])
def test_a_file_of_a_secret_may_be_read_by_its_group(project: Path, file: Path, mode: int) -> None:
    file.chmod(mode)
    assert findings(project, SYNERGY_STORE_FILE=str(file)) == Findings()


@pytest.mark.parametrize(
    ("text", "is_secret"),
    [
        (f"STORE = '{URL}'", True),
        ("BUS = 'amqps://u:canary@h/v'", True),
        ("STORE = 'mongodb://h/db?tlsCertificateKeyFilePassword=canary'", True),
        ("WEBHOOK_SECRETS = 'canary'", True),
        ("WEBHOOK_SECRETS = ''", False),
        ("STORE = 'mongodb://u@h/db'", False),
        ("STORE = 'sqlite:///<home>/synergy.db'", False),
        ("BUS = 'store:'", False),
        ("MX_PORT = 5000", False),
    ],
)
def test_a_settings_file_with_a_secret_that_others_can_read_is_a_warning(
    project: Path, text: str, is_secret: bool
) -> None:
    path = project / "settings" / "dev.py"
    path.write_text(text + "\n")
    path.chmod(0o644)
    where = f"settings/dev.py {text.partition(' ')[0]}"
    expected = f"{where}: other users can access {path}, a secret: chmod 600 {path}"
    assert findings(project).warnings == ([expected] if is_secret else [])
    path.chmod(0o600)
    assert findings(project).warnings == []
