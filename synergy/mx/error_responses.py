"""Responses to errors: problem+json for programs, a page for browsers; no traceback."""

from __future__ import annotations

import logging
from urllib.parse import quote, urlsplit

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match
from starlette.types import Message, Receive, Scope, Send

from synergy.errors import SynergyError
from synergy.mx import assets, problems
from synergy.mx.accounts.authenticator import OPEN
from synergy.mx.middleware import HttpMiddleware
from synergy.mx.pages.render import page
from synergy.mx.problems import Problem

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

log = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    """Adds the error responses to the handlers of an application."""
    for kind in (SynergyError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _handled)


class ErrorMiddleware(HttpMiddleware):
    """Responds to errors of middleware, and to unexpected errors."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            response = await anyio.to_thread.run_sync(response_to, Request(scope), error)
            if not has_begun:
                await response(scope, receive, send)


def _handled(request: Request, error: Exception) -> Response:
    return response_to(request, error)


def response_to(request: Request, error: Exception) -> Response:
    """The response to a request that ended with this error."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        return _wrong_method(request)
    found = problems.problem_of(error)
    if found.status == 401 and _is_page_request(request):
        return _to_login(request)
    response = _page(request, found) if _wants_page(request) else problems.response(found)
    response.headers.update(getattr(error, "headers", None) or {})
    return response


def _page(request: Request, found: Problem) -> Response:
    """A problem as a page; as problem+json if the page fails."""
    try:
        response = page(request, "error.html", status=found.status, problem=found)
    except Exception as error:
        log.exception("The page of an error failed", exc_info=error, extra={"event": "mx.failed"})
        return problems.response(found)
    response.headers.update(problems.headers(found.status))
    return response


def _wants_page(request: Request) -> bool:
    is_of_api = request.url.path.startswith("/api/")
    return not is_of_api and "text/html" in request.headers.get("accept", "")


def _is_page_request(request: Request) -> bool:
    path = request.url.path
    return not path.startswith("/api/") and path not in OPEN


def _to_login(request: Request) -> Response:
    """A redirect to the login page, which leads back; htmx needs a header for a whole page."""
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": _login_for(*_page_of(request))})
    if request.scope["method"] not in ("GET", "HEAD"):
        return RedirectResponse("/login", 303)
    return RedirectResponse(_login_for(request.url.path, request.url.query), 303)


def _page_of(request: Request) -> tuple[str, str]:
    """Path and query of the page that sent an htmx request."""
    try:
        current = urlsplit(request.headers.get("hx-current-url", "/"))
    except ValueError:  # malformed
        return "/", ""
    return current.path, current.query


def _login_for(path: str, query: str) -> str:
    target = f"{path}?{query}" if query else path
    return f"/login?next={quote(target, safe='/')}"


def _wrong_method(request: Request) -> Response:
    """405 with all methods that the path allows; Starlette would name those of one route only."""
    contexts = iter_route_contexts(request.app.routes)
    allowed = {
        method
        for context in contexts
        for method in METHODS
        if context.matches({**request.scope, "method": method})[0] is Match.FULL
    }
    if request.scope["path"].startswith(assets.PATH):  # files have no routes
        allowed = {"GET"}
    names = [method for method in METHODS if method in allowed]
    if "GET" in allowed:
        names.insert(1, "HEAD")
    allow = {"Allow": ", ".join([*names, "OPTIONS"])}
    if request.scope["method"] == "OPTIONS":
        return Response(status_code=204, headers=allow)
    response = problems.problem(405, f"allowed methods: {allow['Allow']}")
    response.headers.update(allow)
    return response
