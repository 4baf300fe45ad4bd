"""Processes that the pool of a box serves, as `context.py` declares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from synergy.config.loader import check
from synergy.model.process import POOLED, BuiltIn, Process, WorkingProcess
from tests.unit.config.kit import daemon, managed, only_mistake, tree, write

COMMAND: dict[str, object] = {"classname": ..., "command": ["true"]}


def freerun(name: str, **fields: object) -> str:
    return daemon(name, **fields).replace("daemon_context_entry", "freerun_context_entry")


def declare(project: Path, *entries: str, trees: dict[str, str] | None = None) -> None:
    write(project, {f"p{n}": entry for n, entry in enumerate(entries)}, trees or {})


@pytest.mark.parametrize(
    ("entry", "instances"),
    [
        (freerun("p0", **COMMAND), POOLED),
        (freerun("p0"), POOLED),
        (managed("p0", "daily", **COMMAND), POOLED),
        (managed("p0", "daily"), 1),
        (managed("p0", "daily", instances="pool"), POOLED),
        (managed("p0", "daily", **COMMAND, instances=1), 1),
        (freerun("p0", **COMMAND, instances=3), 3),
    ],
)
def test_the_instances_of_a_process(project: Path, entry: str, instances: int) -> None:
    trees = {"t": tree("t", ["p0"])} if entry.startswith("managed") else {}
    declare(project, entry, trees=trees)
    found = check(project, {}, imports=False)
    assert found.mistakes == ()
    process = found.deployment.processes["p0"]
    assert process.instances == instances
    assert isinstance(process, WorkingProcess)
    assert process.is_pooled is (instances == POOLED)
    assert ("Pool" in found.deployment.processes) is process.is_pooled


def pool_of(project: Path, size: int | None = None) -> Process:
    environ = {} if size is None else {"SYNERGY_POOL_SIZE": str(size)}
    return check(project, environ, imports=False).deployment.processes["Pool"]


def test_the_pool_is_where_its_processes_are_and_no_larger_than_it_can_be_used(
    project: Path,
) -> None:
    boxes = ["dev.*", "far"]
    declare(
        project,
        freerun("p0", **COMMAND, max_active=4, present_on_boxes=boxes),
        freerun("p1", **COMMAND),
        freerun("p2", **COMMAND, max_active=50, present_on_boxes=["far"]),
    )
    pool = pool_of(project, 200)
    assert (pool.classname, pool.present_on_boxes) == (BuiltIn.POOL, (*boxes, ".*"))
    assert pool.instances == 5


def test_the_pool_has_at_least_two_members_and_at_most_those_of_the_setting(
    project: Path,
) -> None:
    declare(project, freerun("p0", **COMMAND))
    assert pool_of(project).instances == 2
    declare(project, *(freerun(f"p{n}", **COMMAND) for n in range(9)))
    assert pool_of(project, 7).instances == 7
    assert pool_of(project, 200).instances == 9


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            freerun("p0", **COMMAND, instances=2, max_active=2),
            "instances says how many runs take place at once",
        ),
        (freerun("p0", **COMMAND, instances="pol"), "'pool' or a whole number, 1 to 256"),
        (daemon("p0", instances="pool"), "expected a whole number, 1 to 256, not 'pool'"),
        (freerun("p0", **COMMAND, max_active=0), "1 or more, not 0"),
    ],
)
def test_mistakes_say_what_is_expected(project: Path, entry: str, expected: str) -> None:
    declare(project, entry)
    assert expected in only_mistake(project)


def test_no_other_process_is_called_pool(project: Path) -> None:
    write(project, {"Pool": freerun("Pool", **COMMAND)}, {})
    assert "Pool is the pool of each box: choose another name" in only_mistake(project)


@pytest.mark.parametrize("size", ["1", "257", "many"])
def test_a_wrong_size_is_a_mistake(project: Path, size: str) -> None:
    declare(project, freerun("p0", **COMMAND))
    (mistake,) = check(project, {"SYNERGY_POOL_SIZE": size}).mistakes
    assert mistake.startswith("SYNERGY_POOL_SIZE")
    assert "2 to 256" in mistake


def test_a_class_with_a_loop_of_its_own_cannot_be_pooled(project: Path) -> None:
    declare(project, freerun("p0"))
    assert "derive the class from Worker, or write instances=1" in only_mistake(project)
