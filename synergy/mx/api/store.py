"""The store: engine, version and size."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from synergy.mx.access import Viewer
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.runtime.masking import mask

router = Router("store")


class StoreView(BaseModel):
    """The state of the store; `rows` by table or collection.

    `warnings` list guarantees that its configuration does not give. Its address is not shown.
    """

    engine: str
    version: str
    schema_version: int
    size_bytes: int
    rows: dict[str, int]
    warnings: list[str]


@router.get("/store", response_model=StoreView)
def show_store(services: ServicesDep, _: Viewer) -> Any:
    """The state of the store."""
    found = services.reads.store_status()
    return StoreView(
        engine=found.engine,
        version=found.version,
        schema_version=found.schema,
        size_bytes=found.size_bytes,
        rows=dict(found.rows),
        warnings=[mask(warning) for warning in found.warnings],
    )
