"""The documentation: its schedules are valid, and its commands can be parsed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from synergy.cli import main
from synergy.cli.input_files import read_documents
from synergy.config.loader import check
from synergy.delivery.headers import check_content_type, check_headers
from synergy.delivery.target import parse_target
from synergy.schedule.check_context import Known
from synergy.schedule.format.read import read, warnings

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
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
INLINE = re.compile(
    r"`(launch\.py [^`\s]+ [^`\s]+ [^`\n]+)`"
)  # without arguments it is only mentioned
COMMANDS = sorted(
    {
        command
        for page in (*PROJECT.glob("*.md"), *DOCS.rglob("*.md"))
        for text in (*blocks(page, ""), *INLINE.findall(page.read_text()))
        for command in re.findall(
            rf"^(?:python3 )?launch\.py ((?:{'|'.join(main.NOUNS)})\b.*)", text, re.MULTILINE
        )
    }
)


def test_the_documentation_has_schedules_and_commands():
    assert len(SCHEDULES) >= 10
    assert len(COMMANDS) >= 50


@pytest.mark.parametrize("text", SCHEDULES)
def test_each_schedule_on_a_page_is_valid(text, tmp_path):
    file = tmp_path / "schedule.yaml"
    file.write_text(text)
    for item in read_documents(str(file)):
        assert warnings(read(item, KNOWN)) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_on_a_page_can_be_parsed(command):
    words = shlex.split(command, comments=True)
    arguments = main._parser(words[0]).parse_args(words)
    assert callable(arguments.run)


def test_the_schedule_of_the_readme_is_valid(home, file):
    (text,) = re.findall(r"^```yaml\n(.*?)^```", (PROJECT / "README.md").read_text(), re.M | re.S)
    assert text.count("\n") == 3
    assert "notify-sales would be added" in home.ok("schedule", "add", file(text), "--dry-run")
    assert "warning" not in home.err


def uncommented(context: str) -> str:
    """The text of `context.py` with its examples uncommented."""
    head, examples = context.split("schedule_context: dict[str, object] = {\n")
    examples, program = examples.split("}\n\n# The program that they run")
    entries = re.findall(r'^    # "[\w-]+": schedule_.*?^    # \),$', examples, re.M | re.S)
    (process,) = re.findall(r'^# "\w+": freerun_.*?^# \),$', program, re.M | re.S)
    names = "all_of, cron, event, freerun_context_entry, schedule_context_entry, webhook"
    schedules = re.sub(r"^    # ?", "    ", "\n".join(entries), flags=re.M)
    declared = re.sub(r"^# ?", "    ", process, flags=re.M)
    end = "}\n\ntimetable_context = "
    head = head.replace(end, f"{declared}\n{end}")
    imports = f"from synergy.config.context import {names}\n"
    return f"{imports}{head}schedule_context = {{\n{schedules}\n}}\n"


def test_the_examples_of_context_py_can_be_uncommented(tmp_path):
    shutil.copytree(PROJECT / "settings", tmp_path / "settings")
    text = uncommented((PROJECT / "context.py").read_text())
    (tmp_path / "context.py").write_text(text)
    found = check(tmp_path, {"SYNERGY_HOME": str(tmp_path / "home")}, imports=False)
    assert (found.mistakes, found.warnings) == ((), ())
    declared = found.deployment.schedules
    assert set(declared) == {"after-files", "after-files-again", "nightly", "daily-numbers"}
    first, again = declared["after-files"], declared["after-files-again"]
    assert {**first, "name": ""} == {**again, "name": ""}
