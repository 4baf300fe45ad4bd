"""Boxes, with their assigned processes and those that their supervisors reported."""

from __future__ import annotations

from datetime import datetime

from synergy.model.box import Box
from synergy.model.process import Deployment
from synergy.queries.processes.states import by_place
from synergy.queries.views import BoxProcess, BoxView
from synergy.runtime.process_memory import memory
from synergy.storage.protocol import StoreView


def box_views(store: StoreView, deployment: Deployment, now: datetime) -> list[BoxView]:
    """All boxes that ever reported or have an assignment."""
    known = {box.id: box for box in store.boxes.all()}
    is_on = {(a.box, a.process): a.is_on for a in store.boxes.assignments()}
    observed = by_place(store.boxes.observed())
    places, pooled = sorted({*is_on, *observed}), deployment.pooled()

    def process(box: str, name: str, used: dict[tuple[str, int], int]) -> BoxProcess:
        seen = observed.get((box, name), ())
        sizes = tuple(used.get((name, one.instance)) for one in seen)
        return BoxProcess(name, is_on.get((box, name)), seen, sizes, name in pooled)

    def view(id_: str) -> BoxView:
        used = memory(store, id_)
        of_box = [process(id_, name, used) for box, name in places if box == id_]
        return _view(known.get(id_) or Box(id_, None), now, tuple(of_box))

    return [view(id_) for id_ in sorted({*known, *(box for box, _ in places)})]


def _view(box: Box, now: datetime, processes: tuple[BoxProcess, ...]) -> BoxView:
    age = None if box.seen_at is None else max(0.0, (now - box.seen_at).total_seconds())
    return BoxView(box.id, box.seen_at, age, box.is_silent(now), processes)
