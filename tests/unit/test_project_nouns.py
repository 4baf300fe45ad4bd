"""Commands that a project adds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from synergy.cli.project_nouns import project_nouns

NOUNS = 'NOUNS = {"load": ("workers.commands.load", "load the orders")}'


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package of the commands of a project, without a file in it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "workers"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("SYNERGY_PROJECT", str(tmp_path))
    folder = tmp_path / "workers" / "commands"
    folder.mkdir(parents=True)
    (tmp_path / "workers" / "__init__.py").touch()
    return folder


def test_a_project_adds_its_commands(commands: Path) -> None:
    assert project_nouns() == {}
    (commands / "__init__.py").write_text(NOUNS)
    assert project_nouns() == {"load": ("workers.commands.load", "load the orders")}


@pytest.mark.parametrize("text", ["import nothing_of_that_name", "NUMBERS = {}", "NOUNS ="])
def test_a_mistake_there_is_a_warning(
    commands: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (commands / "__init__.py").write_text(text)
    assert project_nouns() == {}
    assert "warning: the commands of workers/commands are left out: " in capsys.readouterr().err


def test_without_a_project_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYNERGY_PROJECT")
    monkeypatch.chdir(tmp_path)
    assert project_nouns() == {}
