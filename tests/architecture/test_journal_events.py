"""The journal has one vocabulary, and docs/journal.md lists it.

To generate the document again: `python -m tests.architecture.test_journal_events`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from synergy.model.job import JobState
from synergy.model.journal import job_event, run_event, unit_event
from synergy.model.journal_event import JournalEvent, Noun
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs" / "journal.md"
VOCABULARY = "synergy/model/journal_event.py"
EVENTS = frozenset(event.value for event in JournalEvent)
PREFIXES = frozenset(f"{noun.value}." for noun in Noun)
MAKERS = ("synergy/model/", "synergy/storage/")
HEAD = """# Journal

Every change of state has an entry: when, what, from, to, why, who. The events below are the
`event` of an entry, in `GET /api/v1/journal` and on the page *Journal*; logs and the metric
`journal_entries_total` use the same names. The part before the dot selects all events of a noun.

Generated from `synergy/model/journal_event.py` by `tests/architecture/test_journal_events.py`.
"""
MEANING = """## What the fields hold

`at`, `why` and `who` are the same for all. `first` and `last` are the timeperiods of neighbouring
jobs that changed in one step (equal for one job, or a unit), and empty where there is none.
`why` begins with what was done where an event has more to say than its fields (boxes, queues),
and is all that `gc.run` says: `hand out 2, forgotten 500`.

| noun | `process` | `before`, `after` | `unit` | `attempt` |
|---|---|---|---|---|
| `job` | process | states | the unit that caused the change | |
| `unit` | process | states | the unit | its attempt after the change |
| `run` | schedule, or process without one | states | the run | its attempt |
| `schedule` | schedule | versions | | |
| `process` | process | `on`, `off`; triggers for `process.trigger_frequency` | | |
| `box` | process | `on`, `off` | | |
| `gc` | process, empty for all | | | |
| `timetable` | | first hours | | |
| `operation` | process | states | the operation | |
"""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for folder in ("synergy", "workers", "bench"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def spelled(tree: ast.Module) -> set[str]:
    """Returns the events, and prefixes of events, that a module contains as strings.

    The event of a log line, `{"event": f"unit.{word}"}`, may be one that the journal does not have.
    """
    logged = {id(text) for node in ast.walk(tree) for text in _logged(node)}
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in logged
    }
    return texts & (EVENTS | PREFIXES)


def _logged(node: ast.AST) -> list[ast.expr]:
    """Returns the parts of the formatted string under the key `event` of a dictionary."""
    if not isinstance(node, ast.Dict):
        return []
    pairs = zip(node.keys, node.values, strict=True)
    events = [
        value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "event"
    ]
    return [part for event in events if isinstance(event, ast.JoinedStr) for part in event.values]


def constructed(tree: ast.Module) -> bool:
    """Whether a module calls `JournalEntry(...)`."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(isinstance(func, ast.Name) and func.id == "JournalEntry" for func in calls)


def positional(tree: ast.Module) -> bool:
    """Whether a module calls `JournalEntry(...)` with positional arguments."""
    return any(
        node.args
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "JournalEntry"
    )


def test_no_other_module_spells_an_event() -> None:
    found = [
        (path, text) for path, tree in sources() if path != VOCABULARY for text in spelled(tree)
    ]
    assert not found


def test_only_the_model_and_the_store_make_entries() -> None:
    makers = [path for path, tree in sources() if constructed(tree)]
    assert makers
    assert not [path for path in makers if not path.startswith(MAKERS)]


def test_fields_of_journal_entries_are_passed_by_name() -> None:
    assert not [path for path, tree in sources() if positional(tree)]


@pytest.mark.parametrize(
    "source",
    [
        'f"job.{state.word}"',
        'entry.event == "job.stale"',
        'entry.event.startswith("unit.")',
        'log.info("done", extra={"event": "unit.invalid"})',
    ],
)
def test_the_check_finds_a_spelled_event(source: str) -> None:
    assert spelled(ast.parse(source))


def test_the_check_finds_an_entry_made_of_positional_fields() -> None:
    tree = ast.parse('JournalEntry(now, event, "", "", "", "", "", 0, "", who)')
    assert constructed(tree)
    assert positional(tree)


def test_every_state_has_its_event() -> None:
    jobs = {job_event(state) for state in JobState if state is not JobState.EMBRYO}
    units = {unit_event(state) for state in UnitState}
    runs = {run_event(state) for state in RunState}
    of = {noun: {event for event in JournalEvent if event.noun is noun} for noun in Noun}
    assert jobs < of[Noun.JOB]
    assert units == of[Noun.UNIT] - {JournalEvent.UNIT_EXTENDED}
    assert runs == of[Noun.RUN]


def render() -> str:
    parts = [HEAD]
    for noun in Noun:
        rows = [
            f"| `{event.value}` | {event.written} |" for event in JournalEvent if event.noun is noun
        ]
        parts.append(
            "\n".join([f"## {noun.value}", "", "| event | when |", "|---|---|", *rows, ""])
        )
    return "\n".join([*parts, MEANING])


def test_the_document_lists_the_events() -> None:
    assert DOC.read_text() == render()


if __name__ == "__main__":
    DOC.write_text(render())
