"""Metrics in Prometheus' text format."""

from __future__ import annotations

from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from synergy.mx.access import Viewer
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep

router = Router("metrics")


class Metrics(PlainTextResponse):
    """Metrics as text."""

    media_type = CONTENT_TYPE_PLAIN_0_0_4


@router.get("/metrics", response_class=Metrics)
def show_metrics(services: ServicesDep, _: Viewer) -> Metrics:
    """All metrics; docs/operations.md describes them."""
    return Metrics(generate_latest(services.metrics))
