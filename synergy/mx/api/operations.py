"""Operations: what goes on after its answer was given."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Header, Path
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from synergy.model.operation import Operation
from synergy.mx.access import Viewer
from synergy.mx.bodies import Cursor, Limit, Page
from synergy.mx.problems import answers
from synergy.mx.services import ServicesDep

PLACE = "/api/v1/operations/"  # where an operation is found, by its id
LONG = 2000  # jobs; what changes more of them goes on after the answer

router = APIRouter(tags=["operations"])

Prefer = Annotated[
    str | None,
    Header(
        max_length=200,
        description=f"`respond-async`: answer 202 at once, which is what more than {LONG:,} jobs "
        "are answered in any case",
    ),
]
Id = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="the id of an operation")]


class OperationView(BaseModel):
    """What was asked for, and how far it is."""

    id: str
    kind: Literal["reprocess", "skip", "retry", "acknowledge"]
    process: str = Field(description="empty if it is about several")
    state: Literal["accepted", "running", "done", "failed"]
    total: int = Field(description="jobs that were asked for")
    done: int = Field(description="how many of these are done")
    touched: int = Field(description="jobs that were changed, with those made from them")
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
        "description": "Accepted: it goes on after this answer",
        "headers": {
            "Location": {"description": "where to follow it", "schema": {"type": "string"}}
        },
    }
}
"""What OpenAPI says of a route that may answer so, for its `responses=`."""


def accepted(operation: Operation) -> JSONResponse:
    """The answer that something goes on, and where to follow it."""
    view = OperationView.of(operation).model_dump(mode="json")
    return JSONResponse(view, 202, {"Location": f"{PLACE}{operation.id}"})


def is_to_be_async(prefer: str | None) -> bool:
    """Whether a `Prefer` asks not to be kept waiting."""
    preferences = (prefer or "").lower().split(",")
    return any(each.partition(";")[0].strip() == "respond-async" for each in preferences)


@router.get("/operations")
def operations(
    at: ServicesDep, _: Viewer, limit: Limit = 100, cursor: Cursor = None
) -> Page[OperationView]:
    """Operations, newest first; those that ended are kept for 30 days."""
    found, following = at.operations.find(limit, cursor)
    return Page(items=[OperationView.of(one) for one in found], next=following)


@router.get("/operations/{id}", responses=answers(404))
def operation(at: ServicesDep, _: Viewer, id: Id) -> OperationView:
    """How far an operation is."""
    return OperationView.of(at.operations.get(id))
