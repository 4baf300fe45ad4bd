"""A context that is read a second time by the same process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from synergy.config.loader import load_settings, read_again
from synergy.errors import ConfigurationError

HEAD = "from synergy.config.context import *\nimport part_of_a_context\n"
ENTRY = (
    "process_context = {'p': freerun_context_entry(process_name='p', command=['x'],"
    " present_on_boxes=['.*'], timeout=part_of_a_context.TIMEOUT)}\ntimetable_context = {}\n"
)


def write(project: Path, timeout: int, ns: int) -> None:
    part = project / "part_of_a_context.py"
    part.write_text(f"TIMEOUT = {timeout}\n")
    os.utime(part, ns=(ns, ns))


def test_modules_that_a_context_imports_are_read_again(project: Path) -> None:
    (project / "context.py").write_text(HEAD + ENTRY)
    settings = load_settings(project, {})
    write(project, 1, 10**18)
    assert read_again(project, {}, settings).freerun()["p"].timeout == 1
    write(project, 22, 2 * 10**18)
    assert read_again(project, {}, settings).freerun()["p"].timeout == 22


def test_all_mistakes_are_found_again(project: Path) -> None:
    (project / "context.py").write_text("process_context = 1\n")
    with pytest.raises(ConfigurationError) as caught:
        read_again(project, {}, load_settings(project, {}))
    assert len(caught.value.mistakes) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("HOME", "/tmp/elsewhere"), ("BOX_ID", "other"), ("STORE", "sqlite:////tmp/other.db")],
)
def test_settings_that_need_a_restart_are_refused(project: Path, name: str, value: str) -> None:
    write(project, 1, 10**18)
    (project / "context.py").write_text(HEAD + ENTRY)
    settings = load_settings(project, {})
    with pytest.raises(ConfigurationError, match=r"launch\.py supervisor restart takes it over"):
        read_again(project, {f"SYNERGY_{name}": value}, settings)
