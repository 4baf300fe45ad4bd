"""Metrics, in Prometheus' text form."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from synergy.mx.access import Viewer
from synergy.mx.services import ServicesDep
from synergy.queries.metrics.exporter import exported
from synergy.queries.metrics.exposition import MEDIA_TYPE

router = APIRouter(tags=["metrics"])


class Metrics(PlainTextResponse):
    """Lines for Prometheus."""

    media_type = MEDIA_TYPE


@router.get("/metrics", response_class=Metrics)
def tell_metrics(at: ServicesDep, _: Viewer) -> Metrics:
    """All metrics; docs/operations.md says which one answers which question."""
    lines = [
        *exported(at.reads, at.deployment, at.audits.standing(), at.now),
        *at.traffic.lines(at.stream.listeners),
    ]
    return Metrics("\n".join(lines) + "\n")
