"""Logging in and out, and what somebody may change of his own. All of it works without scripts."""

from __future__ import annotations

import logging
import math
import secrets
from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from synergy.errors import InvalidValue, NotFound
from synergy.mx.access import Person, Role, Viewer, person_of
from synergy.mx.accounts import cookies
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.accounts.sessions import LIFE
from synergy.mx.pages.render import page
from synergy.mx.protection.forms import Form, LoginForm
from synergy.mx.protection.local_path import local_path

router = APIRouter()

WRONG = "This name and password do not belong together."
_FORM_LIFE = 3600  # seconds that a login page may be left open
_KNOWN_LIFE = 180 * 86400  # seconds that a browser is known in which nobody logs in again

log = logging.getLogger(__name__)


def _doors(request: Request) -> Accounts | None:
    return cast("Accounts | None", request.app.state.guard.doors)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


@router.get("/login")
def show_login(request: Request, next: str = "/") -> Response:
    """The form for strangers; who is let in already goes where he wanted to."""
    if _doors(request) is None or person_of(request) is not None:
        return RedirectResponse(local_path(next), 303)
    return _form(request, next)


@router.post("/login")
def login(request: Request, form: LoginForm) -> Response:
    """Opens a session, under an id that nobody had before."""
    doors, name, next_ = _doors(request), form.get("name", ""), form.get("next", "/")
    if doors is None:
        return RedirectResponse(local_path(next_), 303)
    who = (name, _address(request), _mark(request, doors, name))
    wait = doors.throttle.attempt(*who)
    if wait > 0:
        return _put_off(request, next_, wait)
    if not doors.knows(name, form.get("password", "")):
        known = name if name in doors.users.people else "(unknown)"
        _tell(request, "login.failed", known)
        return _form(request, next_, 401, name=name, wrong=WRONG)
    doors.throttle.succeeded(*who)
    _tell(request, "login.done", name)
    answer = RedirectResponse(local_path(next_), 303)
    cookies.put(request, answer, cookies.LOGIN, "", 0)
    _begin(request, answer, doors, name)
    return answer


@router.post("/logout")
def logout(request: Request, person: Viewer, _: Form) -> Response:
    """Ends the session."""
    answer = RedirectResponse("/login", 303)
    doors = _doors(request)
    if doors is not None:
        doors.end(cookies.read(request, cookies.SESSION) or "")
        cookies.put(request, answer, cookies.SESSION, "", 0)
        _tell(request, "login.ended", person.name)
    return answer


@router.get("/account")
def show_account(request: Request, person: Viewer) -> HTMLResponse:
    """Who somebody is, his tokens, and for an administrator all users."""
    return _account(request, person)


@router.post("/account/password")
def change_password(request: Request, person: Viewer, form: Form) -> Response:
    """Takes another password; all sessions but this one end."""
    doors = _own(request, person)
    who = (person.name, _address(request), _mark(request, doors, person.name))
    wait = doors.throttle.attempt(*who)
    if wait > 0:
        return _account(request, person, 429, wrong=_later(wait))
    if not doors.knows(person.name, form.get("current", "")):
        return _account(request, person, 422, wrong="The present password is another.")
    doors.throttle.succeeded(*who)
    new = form.get("new", "")
    if new != form.get("again", ""):
        return _account(request, person, 422, wrong="The two new passwords differ.")
    try:
        doors.set_password(person.name, new)
    except InvalidValue as error:
        return _account(request, person, 422, wrong=str(error))
    _tell(request, "password.changed", person.name)
    answer = RedirectResponse("/account", 303)
    _begin(request, answer, doors, person.name)
    return answer


@router.post("/account/tokens/{token}/revoke")
def revoke_token(request: Request, token: str, person: Viewer, _: Form) -> Response:
    """Makes one of his own tokens worthless."""
    _own(request, person).revoke(token, person.name)
    _tell(request, "token.revoked", person.name)
    return RedirectResponse("/account", 303)


def _own(request: Request, person: Person) -> Accounts:
    """The doors, where somebody has come by a session of his; raises NotFound else."""
    doors = _doors(request)
    if doors is None or not person.csrf:
        raise NotFound("account", person.name or "local", "it belongs to who logs in by a browser")
    return doors


def _mark(request: Request, doors: Accounts, name: str) -> str:
    return doors.marked(name, cookies.read(request, cookies.KNOWN) or "")


def _begin(request: Request, answer: Response, doors: Accounts, name: str) -> None:
    """A new session, and the end of the one that the browser had, which is known from now on."""
    doors.end(cookies.read(request, cookies.SESSION) or "")
    cookies.put(request, answer, cookies.SESSION, doors.open(name), round(LIFE.total_seconds()))
    cookies.put(request, answer, cookies.KNOWN, doors.mark(name), _KNOWN_LIFE)


def _form(request: Request, next_: str, status: int = 200, **told: str) -> HTMLResponse:
    secret = cookies.read(request, cookies.LOGIN) or secrets.token_urlsafe(32)
    values = {"name": "", "wrong": "", **told}
    answer = page(request, "login.html", status, csrf=secret, next=local_path(next_), **values)
    cookies.put(request, answer, cookies.LOGIN, secret, _FORM_LIFE)
    return answer


def _put_off(request: Request, next_: str, wait: float) -> HTMLResponse:
    _tell(request, "login.put_off", "")
    answer = _form(request, next_, 429, wrong=_later(wait))
    answer.headers["Retry-After"] = str(math.ceil(wait))
    return answer


def _later(wait: float) -> str:
    return f"Too many attempts: try again in {math.ceil(wait)} seconds."


def _account(request: Request, person: Person, status: int = 200, wrong: str = "") -> HTMLResponse:
    doors = _doors(request)
    values: dict[str, Any] = {"tokens": [], "users": []}
    if doors is not None:
        users = doors.users
        shows_all = person.role is Role.ADMIN
        values["tokens"] = [
            token for token in users.tokens.values() if shows_all or token.user == person.name
        ]
        values["users"] = list(users.people.values()) if shows_all else []
    return page(request, "account.html", status, wrong=wrong, **values)


def _tell(request: Request, event: str, name: str) -> None:
    log.info(
        "%s %s", event, name, extra={"event": event, "person": name, "client": _address(request)}
    )
