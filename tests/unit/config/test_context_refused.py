"""Errors of a `context.py` name their place; all mistakes are listed at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from synergy.errors import ConfigurationError
from tests.unit.config.kit import (
    HEAD,
    checked,
    daemon,
    load,
    managed,
    mistakes,
    only_mistake,
    tree,
    write,
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = (\n", "context.py line 1: SyntaxError"),
        (
            "\nx = 5\nimport no_such_thing\n",
            "context.py line 3: ModuleNotFoundError",
        ),
        ("\nraise ValueError('why')\n", "context.py line 2: ValueError: why"),
        (
            "x = freerun_context_entry()\n",
            "context.py line 1: NameError: name 'freerun_context_entry' is not defined: "
            "import it from synergy.config.context",
        ),
        ("def f():\n    return 1 / 0\n\nf()\n", "context.py line 2: ZeroDivisionError"),
        ("import sys\nsys.exit('no')\n", "context.py line 2: SystemExit: no"),
        ("x = '\0'\n", "context.py"),
    ],
)
def test_a_failing_context_is_reported_with_its_line(project: Path, text: str, reason: str) -> None:
    (project / "context.py").write_text(text)
    assert only_mistake(project).startswith(reason)


@pytest.mark.parametrize("name", ["no_such_thing", "datetime"])
def test_no_import_is_suggested_for_unknown_names(project: Path, name: str) -> None:
    (project / "context.py").write_text(f"x = {name}\n")
    assert only_mistake(project).endswith(f"NameError: name '{name}' is not defined")


def test_a_syntax_error_in_an_imported_module_names_the_module(project: Path) -> None:
    (project / "names_with_a_slip.py").write_text("\n\nx = = 1\n")
    (project / "context.py").write_text("import names_with_a_slip\n")
    assert only_mistake(project).startswith("names_with_a_slip.py line 3: SyntaxError")


def test_a_missing_context_is_a_mistake(project: Path) -> None:
    assert only_mistake(project) == "context.py: cannot be read: No such file or directory"


def test_the_context_may_be_in_a_package(project: Path) -> None:
    (project / "deploy").mkdir()
    (project / "deploy" / "box.py").write_text("process_context = {}\ntimetable_context = {}\n")
    assert checked(project, SYNERGY_CONTEXT="deploy.box").mistakes == ()
    (project / "deploy" / "__init__.py").write_text("process_context = 5\ntimetable_context = {}")
    found = checked(project, SYNERGY_CONTEXT="deploy").mistakes
    assert found == ("deploy/__init__.py process_context: expected a dictionary, not int",)


def test_the_dictionaries_must_be_dictionaries(project: Path) -> None:
    (project / "context.py").write_text("process_context = []\n")
    first, second = mistakes(project)
    assert first == "context.py process_context: expected a dictionary, not list"
    assert second == "context.py: timetable_context is missing: expected a dictionary"


def test_keys_must_be_texts_that_can_be_names(project: Path) -> None:
    (project / "context.py").write_text(
        HEAD + f"process_context = {{5: {daemon('d')}, 'a/b': {daemon('a/b')}}}\n"
        "timetable_context = {}\n"
    )
    first, second = mistakes(project)
    assert "expected texts as keys, not 5" in first
    assert "letters, digits" in second


@pytest.mark.parametrize("text", ["", "schedule_context = {}\n", "schedule_context = None\n"])
def test_schedules_may_be_absent(project: Path, text: str) -> None:
    write(project, {}, {}, text)
    assert mistakes(project) == []


def test_ten_mistakes_of_context_and_three_of_settings_are_listed_at_once(project: Path) -> None:
    write(
        project,
        {
            "a": managed("a", "dayly"),
            "b": managed("b", "daily", trigger_frequency="every 0"),
            "c": managed("c", "hourly", present_on_boxes=["("], max_active=0),
            "d": managed("e", "hourly", classname="tests.unit.no_such.Worker.start"),
            "f": daemon("f", instanes=2),
        },
        {
            "t": tree("t", ["b", "c", "missing"], "nowhere"),
            "u": tree("u", ["a"]),
        },
    )
    found = checked(project, SYNERGY_STOER="x", SYNERGY_MX_PORT="x", SYNERGY_BUS="x").mistakes
    assert len(found) == 13, found
    with pytest.raises(ConfigurationError) as raised:
        load(project)
    assert len(raised.value.mistakes) == 9  # without settings, and without imports
