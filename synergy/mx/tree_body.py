"""A tree with the states of its jobs as JSON: what the API answers, and what its page holds.

Written by hand: of ten years of hours there may be more runs than a model makes quickly.
"""

from __future__ import annotations

import orjson

from synergy.queries.timetable.tree_states import Lane, TreeRuns


def lanes_of(found: TreeRuns) -> bytes:
    """Its processes, which is all that may change of it."""
    return orjson.dumps([_lane(lane) for lane in found.processes])


def body_of(found: TreeRuns, lanes: bytes) -> bytes:
    """All of it; `lanes` are those of `lanes_of`."""
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
