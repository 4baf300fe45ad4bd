"""Routes that take a request literally: what they do not understand, they refuse.

If a misplaced `dry_run` were ignored, the request would make a change that its sender did not
want. So a query parameter that the handler does not declare is refused, and so is a parameter or a
field that is sent twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

LONG: Final = 64 * 1024  # bytes of a body from which it is parsed in a thread
DEEPEST: Final = 100  # levels of a body; code that walks through values has a bounded stack


class StrictRoute(APIRoute):
    """A route that refuses undeclared and repeated query parameters, and ambiguous JSON."""

    @property
    def query(self) -> frozenset[str]:
        """The names of the query parameters that the handler and its dependencies declare."""
        return frozenset(_query_of(self.dependant))

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, query = super().get_route_handler(), self.query
        takes = f"this address takes {', '.join(sorted(query)) or 'none'}"
        advice = f"{takes}; send other fields in the body" if self.body_field else takes

        async def handle_strictly(request: Request) -> Response:
            _check_query(request.query_params, query, advice)
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly


class Router(APIRouter):
    """A router whose routes are strict. Only `/login/oidc/callback` has another router."""

    def __init__(self, tag: str | None = None) -> None:
        super().__init__(tags=None if tag is None else [tag], route_class=StrictRoute)


class _StrictRequest(Request):
    """A request whose JSON is UTF-8 and names no field twice; raises HTTPException otherwise.

    A long body is parsed in a thread, so that other requests are answered meanwhile.
    """

    async def json(self) -> Any:
        body = await self.body()
        return await run_in_threadpool(parsed, body) if len(body) >= LONG else parsed(body)


def parsed(body: bytes) -> Any:
    """The value of JSON in UTF-8, of `DEEPEST` levels at most.

    Raises ValueError or RecursionError for anything else, and HTTPException if an object has a
    field twice.
    """
    found = json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant)
    _check_depth(found)
    return found


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(DEEPEST + 1):
        lists = [each for each in level if isinstance(each, list)]
        objects = [each.values() for each in level if isinstance(each, dict)]
        level = [inner for each in (*lists, *objects) for inner in each]
        if not level:
            return
    raise ValueError("nested too deeply")


def _object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(fields)
    if len(found) != len(fields):
        twice = _repeated([name for name, _ in fields])[0]
        raise HTTPException(400, f"the body has the field {twice!r} twice: send each field once")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _query_of(dependant: Dependant) -> Iterator[str]:
    """The names of the query parameters of a handler and its dependencies, also of models."""
    for field in dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (info.alias or name for name, info in kind.model_fields.items())
        else:
            yield field.alias
    for each in dependant.dependencies:
        yield from _query_of(each)


def _check_query(sent: QueryParams, declared: frozenset[str], advice: str) -> None:
    """Raises RequestValidationError for parameters that are not declared, or sent twice."""
    names = [name for name, _ in sent.multi_items()]
    mistakes = {name: f"unknown parameter: {advice}" for name in names if name not in declared}
    mistakes |= dict.fromkeys(_repeated(names), "sent twice: send it once")
    if mistakes:
        raise RequestValidationError(
            [
                {"type": "query", "loc": ("query", name), "msg": why}
                for name, why in mistakes.items()
            ]
        )


def _repeated(names: list[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
