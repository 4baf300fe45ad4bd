"""docs/states.md is generated from the tables of moves; the test fails when it is out of date.

To generate it again: `python -m tests.architecture.test_states_doc`.
"""

from __future__ import annotations

from pathlib import Path

from synergy.lifecycle.legal_moves import JOB_MOVES, RUN_MOVES, UNIT_MOVES
from synergy.model.job import JobState
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState

DOC = Path(__file__).parents[2] / "docs" / "states.md"
HEAD = """# States

Generated from `synergy/lifecycle/legal_moves.py` by `tests/architecture/test_states_doc.py`.
Every move that is not in these tables is an error.
"""


def _table(title: str, rows: list[tuple[str, list[str], str]]) -> str:
    lines = [f"## {title}", "", "| move | from | to |", "|---|---|---|"]
    lines += [f"| {name} | {', '.join(sources)} | {target} |" for name, sources, target in rows]
    return "\n".join(lines) + "\n"


def render() -> str:
    jobs = [
        (
            move.value,
            [state.word for state in JobState if state in sources],
            "the same" if target is None else target.word,
        )
        for move, (sources, target) in JOB_MOVES.items()
    ]
    units = [
        (move.value, [state.value for state in UnitState if state in sources], target.value)
        for move, (sources, target) in UNIT_MOVES.items()
    ]
    runs = [
        (move.value, [state.value for state in RunState if state in sources], target.value)
        for move, (sources, target) in RUN_MOVES.items()
    ]
    tables = [_table("Jobs", jobs), _table("Units of work", units), _table("Runs", runs)]
    return "\n".join([HEAD, *tables])


def test_the_document_lists_the_moves_of_the_tables():
    assert DOC.read_text() == render()


if __name__ == "__main__":
    DOC.write_text(render())
