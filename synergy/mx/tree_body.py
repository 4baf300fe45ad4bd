"""A tree with the states of its jobs as JSON, for the API and the page.

Without pydantic, which is slow for the runs of ten years of hours.
"""

from __future__ import annotations

import orjson

from synergy.queries.timetable.tree_states import Lane, TreeRuns


def lanes_of(found: TreeRuns) -> bytes:
    """The processes of a tree, the part that changes."""
    return orjson.dumps([_lane(lane) for lane in found.processes])


def body_of(found: TreeRuns, lanes: bytes) -> bytes:
    """The whole tree; `lanes` is the result of `lanes_of`."""
    body = {
        "name": found.name,
        "mx_name": found.mx_name,
        "mx_page": found.mx_page,
        "dependent_on": found.dependent_on,
        "now": found.now,
        "processes": orjson.Fragment(lanes),
    }
    return orjson.dumps(body, option=orjson.OPT_UTC_Z)


def _lane(lane: Lane) -> dict[str, object]:
    return {
        "name": lane.name,
        "qualifier": lane.qualifier,
        "time_grouping": lane.time_grouping,
        "first": lane.first,
        "last": lane.last,
        "frontier": lane.frontier,
        "counts": lane.counts,
        "late": lane.late,
        "unseen": lane.unseen,
        "closed": lane.closed,
        "late_before": lane.late_before,
        "from": lane.begin,
        "runs": lane.runs,
    }
