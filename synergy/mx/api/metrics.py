"""Metrics in Prometheus' text format."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from synergy.mx.access import Viewer
from synergy.mx.services import ServicesDep

router = APIRouter(tags=["metrics"])


class Metrics(PlainTextResponse):
    """Lines for Prometheus."""

    media_type = CONTENT_TYPE_PLAIN_0_0_4


@router.get("/metrics", response_class=Metrics)
def tell_metrics(services: ServicesDep, _: Viewer) -> Metrics:
    """All metrics; docs/operations.md says which one answers which question."""
    return Metrics(generate_latest(services.metrics))
