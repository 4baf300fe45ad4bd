"""What becomes of errors: a problem for programs, a page for people, and never a traceback."""

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
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.errors import SynergyError
from synergy.mx import problems
from synergy.mx.accounts.authenticator import OPEN
from synergy.mx.pages.render import page
from synergy.mx.problems import Problem

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

log = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    """Has the app answer the errors of its handlers."""
    for kind in (SynergyError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answered)


class Failures:
    """Answers what was raised before a handler was reached, and what nobody expected."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            answer = await anyio.to_thread.run_sync(answer_to, Request(scope), error)
            if not has_begun:
                await answer(scope, receive, send)


def _answered(request: Request, error: Exception) -> Response:
    return answer_to(request, error)


def answer_to(request: Request, error: Exception) -> Response:
    """The answer to a request that ended with this error."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        return _wrong_method(request)
    found = problems.problem_of(error)
    if found.status == 401 and _is_of_a_page(request):
        return _to_login(request)
    answer = _page(request, found) if _is_for_people(request) else problems.answer(found)
    answer.headers.update(getattr(error, "headers", None) or {})
    return answer


def _page(request: Request, found: Problem) -> Response:
    """A problem as a page; as itself where not even that can be shown."""
    try:
        answer = page(request, "error.html", status=found.status, problem=found)
    except Exception as error:
        log.exception("The page of an error failed", exc_info=error, extra={"event": "mx.failed"})
        return problems.answer(found)
    answer.headers.update(problems.headers(found.status))
    return answer


def _is_for_people(request: Request) -> bool:
    is_of_api = request.url.path.startswith("/api/")
    return not is_of_api and "text/html" in request.headers.get("accept", "")


def _is_of_a_page(request: Request) -> bool:
    path = request.url.path
    return not path.startswith("/api/") and path not in OPEN


def _to_login(request: Request) -> Response:
    """The login page, and the way back; htmx is told by a header that the whole page is to go."""
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": _login_for(*_page_of(request))})
    if request.scope["method"] not in ("GET", "HEAD"):
        return RedirectResponse("/login", 303)
    return RedirectResponse(_login_for(request.url.path, request.url.query), 303)


def _page_of(request: Request) -> tuple[str, str]:
    """Path and query of the page on which htmx asks, as its header says."""
    try:
        current = urlsplit(request.headers.get("hx-current-url", "/"))
    except ValueError:  # no address of a page
        return "/", ""
    return current.path, current.query


def _login_for(path: str, query: str) -> str:
    target = f"{path}?{query}" if query else path
    return f"/login?next={quote(target, safe='/')}"


def _wrong_method(request: Request) -> Response:
    """All that the path allows; starlette names what one of its routes does."""
    contexts = iter_route_contexts(request.app.routes)
    allowed = {
        method
        for context in contexts
        for method in METHODS
        if context.matches({**request.scope, "method": method})[0] is Match.FULL
    }
    names = [method for method in METHODS if method in allowed]
    if "GET" in allowed:
        names.insert(1, "HEAD")
    allow = {"Allow": ", ".join([*names, "OPTIONS"])}
    if request.scope["method"] == "OPTIONS":
        return Response(status_code=204, headers=allow)
    refusal = problems.answer(
        Problem(title="Method Not Allowed", status=405, detail=f"this allows {allow['Allow']}")
    )
    refusal.headers.update(allow)
    return refusal
