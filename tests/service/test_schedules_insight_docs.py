"""The pages about schedules: what they show can be typed, and means what they say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from synergy.cli import main
from synergy.cli.input_files import read_documents
from synergy.delivery.headers import check_content_type, check_headers
from synergy.delivery.target import parse_target
from synergy.schedule.format.read import Known, read, warnings

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [DOCS / "schedules.md", DOCS / "operations.md", *sorted((DOCS / "howto").glob("*.md"))]
KNOWN = Known(None, parse_target, check_headers, check_content_type)


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [str(text) for text in found]


SCHEDULES = [
    pytest.param(text, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, text in enumerate(blocks(page, "yaml"))
]
COMMANDS = sorted(
    {
        command
        for page in PAGES
        for text in (*blocks(page, ""), *re.findall(r"`(launch\.py [^`\n]+)`", page.read_text()))
        for command in re.findall(r"^launch\.py (?:schedule|event|queue) .*", text, re.MULTILINE)
    }
)


def test_there_is_something_to_look_at():
    assert len(SCHEDULES) >= 10
    assert len(COMMANDS) >= 15


@pytest.mark.parametrize("text", SCHEDULES)
def test_each_schedule_on_a_page_is_one(text, tmp_path):
    file = tmp_path / "schedule.yaml"
    file.write_text(text)
    for item in read_documents(str(file)):
        assert warnings(read(item, KNOWN)) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_on_a_page_can_be_typed(command):
    words = shlex.split(command, comments=True)[1:]
    arguments = main._parser(words[0]).parse_args(words)
    assert callable(arguments.run)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_link_on_a_page_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+\.md)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).is_file(), target
