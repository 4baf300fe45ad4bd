"""The REST API, a module for each noun."""

from fastapi import APIRouter

from synergy.mx.api import (
    audit,
    boxes,
    events,
    gc,
    health,
    jobs,
    journal,
    logs,
    metrics,
    operations,
    processes,
    queues,
    runs,
    schedule_runs,
    schedules,
    store,
    stream,
    trees,
    units,
    verdict,
)

ROUTERS: tuple[APIRouter, ...] = (
    trees.router,
    jobs.router,
    operations.router,
    schedules.router,
    schedule_runs.router,
    runs.router,
    events.router,
    processes.router,
    boxes.router,
    gc.router,
    queues.router,
    audit.router,
    journal.router,
    logs.router,
    units.router,
    store.router,
    stream.router,
    health.router,
    verdict.router,
    metrics.router,
)
