"""The OpenAPI description of the REST API."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse

from synergy.mx.access import Viewer
from synergy.mx.accounts.authenticator import OPEN
from synergy.mx.idempotency import describe
from synergy.mx.problems import Problem, errors
from synergy.mx.routing import Router
from synergy.program import PROGRAM

router = Router()

_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": f"a token, created by `{PROGRAM} user token`",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "synergy_session",
        "description": "the session of a browser; `__Host-synergy_session` with TLS",
    },
}
_BODIES = errors(408, 413, 415)


def install(app: FastAPI) -> None:
    """Adds the description, with the common parts of all routes, to an application."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(
                get_openapi(
                    title=app.title, version=app.version, summary=app.summary, routes=app.routes
                )
            )
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


@router.get("/api/openapi.json")
def described(request: Request, _: Viewer) -> JSONResponse:
    """The description of the REST API."""
    return JSONResponse(request.app.openapi())


def _completed(found: dict[str, Any]) -> dict[str, Any]:
    components = found.setdefault("components", {})
    components["securitySchemes"] = _SCHEMES
    schemas = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    mistakes = schemas.pop("$defs")
    components.setdefault("schemas", {}).update({**mistakes, "Problem": schemas})
    for path, operations in found["paths"].items():
        # These paths need no login on this machine.
        without: list[dict[str, list[str]]] = [{}] if path in OPEN else []
        for operation in operations.values():
            operation["security"] = [*({name: []} for name in _SCHEMES), *without]
            if "requestBody" in operation:
                operation["responses"].update(_by_text(_BODIES))
        if "post" in operations:
            describe(operations["post"])
    return found


def _by_text(responses: dict[int | str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {str(status): response for status, response in responses.items()}
