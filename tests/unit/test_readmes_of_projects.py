"""The commands in the READMEs of the examples, and of a new project, exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from synergy.cli.main import NOUNS, _parser
from synergy.config.new_project import TEMPLATES

EXAMPLES = Path(__file__).parents[2] / "examples"
READMES = [TEMPLATES / "README.md", *sorted(EXAMPLES.glob("*/README.md"))]
COMMAND = re.compile(r"^ *synergy (.*)$", re.MULTILINE)


@pytest.mark.parametrize("readme", READMES, ids=lambda readme: readme.parent.name)
def test_each_command_of_a_readme_is_one(readme: Path) -> None:
    found = COMMAND.findall(readme.read_text())
    assert len(found) >= 6
    for command in found:
        words = shlex.split(command, comments=True)
        assert words[0] in NOUNS
        assert _parser(words[0]).parse_args(words).run, command


def test_each_example_has_a_readme() -> None:
    assert {readme.parent.name for readme in READMES[1:]} == {
        folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()
    }
