"""Operations: work that continues after the response."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import Header, Path
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from synergy.model.operation import Operation
from synergy.mx.access import Viewer
from synergy.mx.bodies import Cursor, Limit, Page
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep

PLACE = "/api/v1/operations/"  # the id of an operation follows
LONG_JOBS = 2000  # a change of more jobs becomes an operation

router = Router("operations")

Prefer = Annotated[
    str | None,
    Header(
        max_length=200,
        description=f"`respond-async`: respond 202 at once, as for any change of more than "
        f"{LONG_JOBS:,} jobs",
    ),
]
Id = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="the id of an operation")]


class OperationView(BaseModel):
    """An operation and its progress."""

    id: str
    kind: Literal["reprocess", "skip", "retry", "acknowledge"]
    process: str = Field(description="empty for several")
    state: Literal["accepted", "running", "done", "failed"]
    total: int = Field(description="jobs in the request")
    done: int = Field(description="jobs of the request that are done")
    touched: int = Field(description="jobs that were changed, including those made from them")
    detail: str = Field(description="why it failed")
    who: str
    why: str
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, operation: Operation) -> Self:
        names = [name for name in cls.model_fields if name != "state"]
        fields = {name: getattr(operation, name) for name in names}
        return cls(state=operation.state.value, **fields)


ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": OperationView,
        "description": "Accepted: the operation continues after this response",
        "headers": {"Location": {"description": "the operation", "schema": {"type": "string"}}},
    }
}
"""The OpenAPI description of 202, for `responses=` of a route."""


def accepted(operation: Operation) -> JSONResponse:
    """202 with the operation and its address."""
    view = OperationView.of(operation).model_dump(mode="json")
    return JSONResponse(view, 202, {"Location": f"{PLACE}{operation.id}"})


def is_to_be_async(prefer: str | None) -> bool:
    """Whether a `Prefer` header has respond-async."""
    preferences = (prefer or "").lower().split(",")
    return any(each.partition(";")[0].strip() == "respond-async" for each in preferences)


@router.get("/operations")
def operations(
    services: ServicesDep, _: Viewer, limit: Limit = 100, cursor: Cursor = None
) -> Page[OperationView]:
    """Operations, newest first; `retention` says how long finished ones are kept."""
    found, following = services.operations.find(limit, cursor)
    return Page(items=[OperationView.of(one) for one in found], next=following)


@router.get("/operations/{id}", responses=errors(404))
def operation(services: ServicesDep, _: Viewer, id: Id) -> OperationView:
    """An operation and its progress."""
    return OperationView.of(services.operations.get(id))
