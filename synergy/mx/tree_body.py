"""A tree with the states of its jobs as JSON, for the API and the page.

It does not use pydantic, which is slow for the runs of ten years of hours.
"""

from __future__ import annotations

import orjson

from synergy.queries.timetable.tree_states import ProcessStates, TreeStates


def processes_of(found: TreeStates) -> bytes:
    """The processes of a tree as JSON: the part that determines the ETag."""
    return orjson.dumps([_process(process) for process in found.processes])


def body_of(found: TreeStates, processes: bytes) -> bytes:
    """The whole tree; `processes` is the result of `processes_of`."""
    body = {
        "name": found.name,
        "mx_name": found.mx_name,
        "mx_page": found.mx_page,
        "dependent_on": found.dependent_on,
        "now": found.now,
        "processes": orjson.Fragment(processes),
    }
    return orjson.dumps(body, option=orjson.OPT_UTC_Z)


def _process(process: ProcessStates) -> dict[str, object]:
    return {
        "name": process.name,
        "qualifier": process.qualifier,
        "time_grouping": process.time_grouping,
        "first": process.first,
        "last": process.last,
        "frontier": process.frontier,
        "counts": process.counts,
        "late": process.late,
        "unseen": process.unseen,
        "closed": process.closed,
        "late_before": process.late_before,
        "from": process.begin,
        "runs": process.runs,
    }
