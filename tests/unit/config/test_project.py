"""Which folder is the project, and how Synergy is run on it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from synergy.config import project
from synergy.config.project import program_line, project_folder
from synergy.errors import ConfigurationError


@pytest.mark.parametrize("mark", ["context.py", "settings/base.py"])
@pytest.mark.parametrize("below", [".", "workers/deep"])
def test_a_project_is_found_from_the_current_folder_upwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, below: str
) -> None:
    (tmp_path / "shop" / mark).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "shop" / mark).touch()
    here = tmp_path / "shop" / below
    here.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(here)
    assert project_folder({}) == tmp_path / "shop"


def test_the_nearest_project_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    for folder in (tmp_path, tmp_path / "inner"):
        (folder / "context.py").touch()
    monkeypatch.chdir(tmp_path / "inner")
    assert project_folder({}) == tmp_path / "inner"


def test_the_variable_names_a_folder_whatever_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "context.py").touch()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    assert project_folder({"SYNERGY_PROJECT": "other"}) == tmp_path / "other"
    with pytest.raises(ConfigurationError, match=f"SYNERGY_PROJECT: .* {tmp_path}/none"):
        project_folder({"SYNERGY_PROJECT": "none"})


def test_without_a_project_the_error_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"no project in .*launch\.py init NAME makes one"):
        project_folder({})


def test_a_launcher_runs_the_project_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = (sys.executable, "-m", "synergy")
    assert program_line(tmp_path) == installed
    (tmp_path / "launch.py").touch()
    assert program_line(tmp_path) == (sys.executable, str(tmp_path / "launch.py"))
    monkeypatch.setattr(project, "PROGRAM", "synergy")
    assert program_line(tmp_path) == installed
