"""Only `synergy.lifecycle` sets the states of jobs, units of work and runs.

Stores only map rows, and compare and swap as requested; every other module asks `lifecycle` for a
move, which its tables must allow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY = ("synergy/lifecycle/", "synergy/storage/")
OF_OTHER_THINGS = {  # states of slots and operations, which have their own state machines
    "synergy/supervisor/process_slots.py",
    "synergy/commands/operations.py",
}
CHANGES = {"JobChange", "UnitChange", "Conclusion"}  # made only from a table
BEFORE_STATE = {"Run": 0, "UnitOfWork": 9}  # arguments that may stand before the state


def violations(source: str) -> Iterator[str]:
    """Yields the lines that set a state, as `<line>: <code>`."""
    for node in ast.walk(ast.parse(source)):
        if _sets_state(node):
            yield f"{node.lineno}: {ast.unparse(node)}"


def _sets_state(node: ast.AST) -> bool:
    match node:
        case ast.Call():
            return _is_banned(node)
        case ast.Assign(targets=targets):
            return any(_is_state_of_another(target) for target in targets)
        case ast.AnnAssign(target=target):
            return _is_state_of_another(target)
    return False


def _is_state_of_another(target: ast.expr) -> bool:
    """Whether a target is the state of an object other than `self`."""
    is_state = isinstance(target, ast.Attribute) and target.attr == "state"
    return is_state and ast.unparse(target) != "self.state"


def _is_banned(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2]
    keywords = {keyword.arg for keyword in call.keywords}
    if name in CHANGES:
        return True
    if name in BEFORE_STATE:
        return "state" in keywords or len(call.args) > BEFORE_STATE[name]
    return name == "replace" and "state" in keywords


def test_only_the_lifecycle_and_the_stores_set_a_state():
    found = [
        f"{path}:{line}"
        for file in sorted([*ROOT.glob("synergy/**/*.py"), *ROOT.glob("workers/**/*.py")])
        for path in [file.relative_to(ROOT).as_posix()]
        if not path.startswith(MAY) and path not in OF_OTHER_THINGS
        for line in violations(file.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "replace(run, state=RunState.LAUNCHED)",
        "dataclasses.replace(conclusion, reason='', state=UnitState.INVALID)",
        "Run(id='r', state=RunState.ABORTED)",
        "UnitOfWork('u', 'P', '2026', 1, '2026', '2027', 0, 0, now, UnitState.INVALID)",
        "unit_of_work.UnitOfWork(id='u', state=UnitState.INVALID)",
        "UnitChange(unit.id, unit.state, 1, UnitState.CANCELED, why, who)",
        "JobChange('P', HOURLY, 0, 0, before, after, 1, why, who)",
        "Conclusion(unit.id, 1, owner, UnitState.PROCESSED)",
        "unit.state = UnitState.CANCELED",
        "unit.state: UnitState = UnitState.CANCELED",
    ],
)
def test_the_check_finds_every_way_to_set_a_state(line):
    assert list(violations(line)) != []


def test_reading_a_state_is_allowed():
    source = "run = Run(id='r')\nif run.state is LAUNCHED: show(state=run.state.value)"
    assert list(violations(source)) == []
