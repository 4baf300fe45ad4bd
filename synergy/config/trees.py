"""Reads the entries of `timetable_context` as trees, and checks their dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from synergy.config.context import Entry
from synergy.config.findings import Findings
from synergy.config.older_context import entry_fields
from synergy.config.process_fields import check_name
from synergy.model.process import ManagedProcess, Process, Tree
from synergy.schedule.format.field_reader import FieldReader
from synergy.schedule.format.literals import suggestion


def read_trees(
    entries: Mapping[str, object],
    processes: Mapping[str, Process | None],
    findings: Findings,
) -> dict[str, Tree]:
    """The trees by name.

    A process that is None was declared with mistakes, which are reported already.
    """
    trees: dict[str, Tree] = {}
    for key, entry in entries.items():
        match entry:
            case Entry("tree", values):
                trees[key] = _tree(key, entry_fields(f"tree {key}", values, findings))
            case _:
                findings.mistake(f"tree {key}", "expected timetable_tree_entry(...)")
    for tree in trees.values():
        _check_members(tree, processes, findings)
        _check_dependencies(tree, list(entries), findings)
    _check_membership(trees, processes, findings)
    _check_cycles(trees, findings)
    _warn_of_missing_counterparts(trees, processes, findings)
    return trees


def _tree(key: str, fields: FieldReader) -> Tree:
    fields.required("tree_name", "enclosed_processes")
    check_name(key, "tree_name", fields)
    if fields.get("enclosed_processes") == []:
        fields.mistake("enclosed_processes", "expected at least one process")
    tree = Tree(
        name=key,
        processes=fields.strings("enclosed_processes"),
        dependent_on=tuple(dict.fromkeys(fields.strings("dependent_on"))),
        mx_name=fields.text("mx_name", key),
        mx_page=fields.text("mx_page"),
    )
    fields.done()
    return tree


def _check_members(tree: Tree, processes: Mapping[str, Process | None], findings: Findings) -> None:
    """The members must be managed processes, from coarse to fine."""
    where = f"tree {tree.name}: enclosed_processes"
    members: list[ManagedProcess] = []
    for name in tree.processes:
        process = processes.get(name)
        if name not in processes:
            managed = [n for n, p in processes.items() if isinstance(p, ManagedProcess)]
            findings.mistake(where, f"unknown process {name}: {suggestion(name, managed)}")
        elif isinstance(process, ManagedProcess):
            members.append(process)
        elif process is not None:
            findings.mistake(where, f"{name} is not a managed process")
    for above, below in pairwise(members):
        if above.qualifier.rank <= below.qualifier.rank:
            findings.mistake(
                where,
                f"expected coarse to fine, but {above.name} is {above.qualifier.value} and "
                f"{below.name} below it is {below.qualifier.value}",
            )


def _check_dependencies(tree: Tree, declared: Sequence[str], findings: Findings) -> None:
    where = f"tree {tree.name}: dependent_on"
    for name in tree.dependent_on:
        if name not in declared:
            others = [other for other in declared if other != tree.name]
            findings.mistake(where, f"unknown tree {name}: {suggestion(name, others)}")


def _check_membership(
    trees: Mapping[str, Tree], processes: Mapping[str, Process | None], findings: Findings
) -> None:
    """Each managed process belongs to exactly one tree, once."""
    homes: dict[str, list[str]] = {
        name: [] for name, process in processes.items() if isinstance(process, ManagedProcess)
    }
    for tree in trees.values():
        for name in tree.processes:
            homes.get(name, []).append(tree.name)
    for name, found in homes.items():
        if not found:
            findings.mistake(f"process {name}", "a managed process must be in a tree's processes")
        elif len(found) > 1:
            findings.mistake(f"process {name}", f"is more than once in trees: {', '.join(found)}")


def _check_cycles(trees: Mapping[str, Tree], findings: Findings) -> None:
    """Reports one cycle with its path; other cycles are reported once it is broken."""
    graph = {tree.name: [n for n in tree.dependent_on if n in trees] for tree in trees.values()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        path = " -> ".join(reversed(error.args[1]))
        findings.mistake("timetable_context", f"trees depend on one another in a cycle: {path}")


def _warn_of_missing_counterparts(
    trees: Mapping[str, Tree], processes: Mapping[str, Process | None], findings: Findings
) -> None:
    """Warns about processes without a counterpart: only equal qualifiers wait for each other."""
    for tree in trees.values():
        for other in (trees[name] for name in tree.dependent_on if name in trees):
            there = {p.qualifier for p in _members(other, processes)}
            for process in _members(tree, processes):
                if process.qualifier not in there:
                    findings.warning(
                        f"tree {tree.name}",
                        f"{process.name} waits for nothing in {other.name}, "
                        f"which has no {process.qualifier.value} process",
                    )


def _members(tree: Tree, processes: Mapping[str, Process | None]) -> list[ManagedProcess]:
    found = (processes.get(name) for name in tree.processes)
    return [process for process in found if isinstance(process, ManagedProcess)]
