"""Trees and their dependencies are checked."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.unit.config.kit import (
    checked,
    daemon,
    load,
    managed,
    mistakes,
    only_mistake,
    tree,
    write,
)


def hourly_and_daily(project: Path, trees: dict[str, str]) -> None:
    write(
        project,
        {"hour": managed("hour", "hourly"), "day": managed("day", "daily"), "d": daemon("d")},
        trees,
    )


@pytest.mark.parametrize(
    ("trees", "reasons"),
    [
        ({"t": tree("t", ["day", "hour"])}, []),
        ({"t": tree("t", ["hour", "day"])}, ["day below it is daily"]),
        ({"t": tree("t", ["day", "hour", "hour"])}, ["hour below it is hourly", "more than once"]),
        ({"t": tree("t", ["day"])}, ["process hour: a managed process must be in a tree"]),
        ({"t": tree("t", ["day", "hour"]), "u": tree("u", ["hour"])}, ["once in trees: t, u"]),
        ({"t": tree("t", ["day", "huor", "hour"])}, ["unknown process huor: did you mean hour?"]),
        ({"t": tree("t", ["day", "hour", "d"])}, ["d is not a managed process"]),
        ({"t": tree("t", ["day", "hour"], tree_name="x")}, ["'x' differs from the key 't'"]),
        ({"t": tree("t", ["day", "hour"], mxname="x")}, ["mxname: did you mean mx_name?"]),
        ({"t": tree("t", ["day", "hour"], "site")}, ["unknown tree site"]),
        ({"t": tree("t", ["day", "hour"], "t")}, ["in a cycle: t -> t"]),
        ({"t": tree("t", ["day", "hour"]), "u": tree("u", [])}, ["expected at least one process"]),
        ({"t": tree("t", ["day", "hour"], enclosed_processes=...)}, [
            "enclosed_processes is missing", "process hour", "process day"]),
        ({"t": "5"}, ["tree t: expected timetable_tree_entry", "hour: ", "day: "]),
        ({"t": daemon("t")}, ["tree t: expected timetable_tree_entry", "hour: ", "day: "]),
    ],
)  # fmt: skip
def test_trees_are_checked(project: Path, trees: dict[str, str], reasons: list[str]) -> None:
    hourly_and_daily(project, trees)
    found = mistakes(project)
    assert len(found) == len(reasons), found
    for reason in reasons:
        assert any(reason in mistake for mistake in found), (reason, found)


def test_a_cycle_is_shown_with_its_path(project: Path) -> None:
    names = {"a": "b", "b": "c", "c": "a"}
    write(
        project,
        {f"p{name}": managed(f"p{name}", "daily") for name in names},
        {name: tree(name, [f"p{name}"], other) for name, other in names.items()},
    )
    path = only_mistake(project).rsplit(": ", 1)[1].split(" -> ")
    assert len(path) == 4
    assert path[0] == path[-1]
    assert all(names[one] == other for one, other in pairwise(path))


def test_two_processes_cannot_have_the_same_sink(project: Path) -> None:
    write(
        project,
        {"a": managed("a", "daily", sink="rows"), "b": managed("b", "hourly", sink="rows")},
        {"t": tree("t", ["a", "b"])},
    )
    assert only_mistake(project) == "sink rows: more than one process writes it: a, b"


def test_a_dependency_without_a_counterpart_is_a_warning(project: Path) -> None:
    hourly_and_daily(project, {"t": tree("t", ["day"]), "u": tree("u", ["hour"], "t")})
    found = checked(project)
    assert found.mistakes == ()
    assert found.warnings == ("tree u: hour waits for nothing in t, which has no hourly process",)
    load(project)


def test_a_wrong_qualifier_is_reported_once(project: Path) -> None:
    write(
        project,
        {"a": managed("a", "daily"), "b": managed("b", "hurly"), "c": "'text'"},
        {"t": tree("t", ["a", "b", "c"])},
    )
    first, second = mistakes(project)
    assert "did you mean hourly?" in first
    assert second.startswith("process c: expected managed_context_entry")
