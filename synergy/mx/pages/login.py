"""Pages for login, logout and the user's account. They work without scripts."""

from __future__ import annotations

import logging
import math
import secrets
from typing import Any, cast

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from synergy.errors import InvalidValue, NotFound
from synergy.mx.access import Person, Role, Viewer, person_of
from synergy.mx.accounts import cookies
from synergy.mx.accounts.accounts import Accounts, Attempt
from synergy.mx.accounts.local_access import LocalAccess
from synergy.mx.accounts.sessions import LIFE
from synergy.mx.pages.render import page
from synergy.mx.problems import Forbidden
from synergy.mx.protection.forms import Form, LoginForm
from synergy.mx.protection.hosts import is_loopback
from synergy.mx.protection.local_path import local_path
from synergy.mx.protection.origins import origin_of
from synergy.mx.protection.proxy import address_of, source_of
from synergy.mx.routing import Router

router = Router()

WRONG = "Name or password is incorrect."
_FORM_LIFE = 3600  # seconds that a login page may be left open
_DEVICE_LIFE = 180 * 86400  # seconds since the last login

log = logging.getLogger(__name__)


def _logins(request: Request) -> Accounts | LocalAccess:
    return cast("Accounts | LocalAccess", request.app.state.authenticator.logins)


def accounts_of(request: Request) -> Accounts | None:
    """The users; None if MX has none."""
    found = _logins(request)
    return found if isinstance(found, Accounts) else None


@router.get("/login")
def show_login(request: Request, next: str = "/") -> Response:
    """The login form; redirects to `next` if the sender need not log in."""
    if person_of(request) is not None:
        return RedirectResponse(local_path(next), 303)
    return login_form(request, next)


@router.post("/login")
def login(request: Request, form: LoginForm) -> Response:
    """Opens a session with a new id."""
    accounts, name, next_ = _logins(request), form.get("name", ""), form.get("next", "/")
    if isinstance(accounts, LocalAccess):
        return _enter(request, accounts, form.get("password", ""), next_)
    attempt = _attempt(request, accounts, name, form.get("password", ""))
    if attempt.wait > 0:
        return refuse_early(request, next_, attempt.wait)
    if not attempt.is_right:
        known = name if name in accounts.users.people else "(unknown)"
        log_login(request, "login.failed", known)
        return login_form(request, next_, 401, name=name, wrong=WRONG)
    note_login(request, name, "password")
    response = RedirectResponse(local_path(next_), 303)
    cookies.put(request, response, cookies.LOGIN, "", 0)
    _begin(request, response, accounts, name)
    return response


def _enter(request: Request, local: LocalAccess, token: str, next_: str) -> Response:
    """Opens a session for the holder of the token in the home."""
    if not is_loopback(address_of(request)):
        raise Forbidden("MX has no users: it accepts requests from its own machine only")
    if not local.is_token(token.strip()):
        log_login(request, "login.failed", "")
        return login_form(request, next_, 401, wrong="The token is incorrect.")
    note_login(request, "", "token of the home")
    response = RedirectResponse(local_path(next_), 303)
    cookies.put(request, response, cookies.LOGIN, "", 0)
    replace_session(request, response, local.open_session())
    return response


@router.post("/logout")
def logout(request: Request, person: Viewer, _: Form) -> Response:
    """Ends the session."""
    _logins(request).end_session(cookies.read(request, cookies.SESSION) or "")
    return _logged_out(request, person)


@router.post("/account/sessions/end")
def end_sessions(request: Request, person: Viewer, _: Form) -> Response:
    """Ends all sessions of the user, in all browsers."""
    if not person.csrf:
        raise NotFound("session", person.name or "local", "only a browser has sessions to end")
    _logins(request).end_sessions(person.name)
    return _logged_out(request, person)


def _logged_out(request: Request, person: Person) -> Response:
    response = RedirectResponse("/login", 303)
    cookies.put(request, response, cookies.SESSION, "", 0)
    log_login(request, "login.ended", person.name)
    return response


@router.get("/account")
def show_account(request: Request, person: Viewer) -> HTMLResponse:
    """The user's name, role and tokens; for an administrator all users and tokens."""
    return _account(request, person)


@router.post("/account/password")
def change_password(request: Request, person: Viewer, form: Form) -> Response:
    """Changes the password; the user's other sessions end."""
    accounts = _own(request, person)
    attempt = _attempt(request, accounts, person.name, form.get("current", ""))
    if attempt.wait > 0:
        return _account(request, person, 429, wrong=_wait_message(attempt.wait))
    if not attempt.is_right:
        return _account(request, person, 422, wrong="Current password is incorrect.")
    new = form.get("new", "")
    if new != form.get("again", ""):
        return _account(request, person, 422, wrong="The new passwords do not match.")
    try:
        accounts.set_password(person.name, new)
    except InvalidValue as error:
        return _account(request, person, 422, wrong=str(error))
    log_login(request, "password.changed", person.name)
    response = RedirectResponse("/account", 303)
    _begin(request, response, accounts, person.name)
    return response


@router.post("/account/tokens/{token}/revoke")
def revoke_token(request: Request, token: str, person: Viewer, _: Form) -> Response:
    """Revokes a token of the user."""
    _own(request, person).revoke_token(token, person.name)
    log_login(request, "token.revoked", person.name)
    return RedirectResponse("/account", 303)


def _own(request: Request, person: Person) -> Accounts:
    """The accounts, for a session of a user in the users file; raises NotFound for others."""
    accounts = accounts_of(request)
    if accounts is None or not person.csrf or person.name not in accounts.users.people:
        why = "only users in the users file have one, in sessions of a browser"
        raise NotFound("account", person.name or "local", why)
    return accounts


def _attempt(request: Request, accounts: Accounts, name: str, password: str) -> Attempt:
    cookie = cookies.read(request, cookies.DEVICE)
    return accounts.attempt(name, password, origin_of(request), cookie)


def _begin(request: Request, response: Response, accounts: Accounts, name: str) -> None:
    """Begins a new session, and sets the device cookie."""
    replace_session(request, response, accounts.open_session(name))
    cookies.put(request, response, cookies.DEVICE, accounts.device_cookie(name), _DEVICE_LIFE)


def replace_session(request: Request, response: Response, secret: str) -> None:
    """Ends the session that the browser had, and gives it the new one."""
    _logins(request).end_session(cookies.read(request, cookies.SESSION) or "")
    cookies.put(request, response, cookies.SESSION, secret, round(LIFE.total_seconds()))


def login_form(request: Request, next_: str, status: int = 200, **shown: str) -> HTMLResponse:
    """The login page; `shown` are a name, and what was wrong."""
    secret = cookies.read(request, cookies.LOGIN) or secrets.token_urlsafe(32)
    accounts = accounts_of(request)
    sign_on = accounts.sign_on if accounts is not None else None
    host = sign_on.host if sign_on is not None else ""
    values = {"name": "", "wrong": "", "has_users": accounts is not None, "provider": host, **shown}
    response = page(request, "login.html", status, csrf=secret, next=local_path(next_), **values)
    cookies.put(request, response, cookies.LOGIN, secret, _FORM_LIFE)
    return response


def refuse_early(request: Request, next_: str, wait: float) -> HTMLResponse:
    """The response to a login that has to wait."""
    response = login_form(request, next_, 429, wrong=_wait_message(wait))
    response.headers["Retry-After"] = str(math.ceil(wait))
    return response


def _wait_message(wait: float) -> str:
    return f"Too many attempts: try again in {math.ceil(wait)} seconds."


def _account(request: Request, person: Person, status: int = 200, wrong: str = "") -> HTMLResponse:
    accounts = accounts_of(request)
    values: dict[str, Any] = {"tokens": [], "users": [], "is_in_file": False}
    if accounts is not None:
        users = accounts.users
        values["is_in_file"] = person.name in users.people
        shows_all = person.role is Role.ADMIN
        values["tokens"] = [
            token for token in users.tokens.values() if shows_all or token.user == person.name
        ]
        values["users"] = list(users.people.values()) if shows_all else []
    return page(request, "account.html", status, wrong=wrong, **values)


def note_login(request: Request, name: str, via: str, **more: str) -> None:
    """Records a login, before it gives any access; raises AuditLogUnavailable."""
    request.app.state.acts.logged_in(request, name, via)
    log_login(request, "login.done", name, **more)


def log_login(request: Request, event: str, name: str, **more: str) -> None:
    """Logs what happened to a login or an account; never with a secret."""
    fields = {"event": event, "person": name, "client": source_of(request), **more}
    log.info("%s %s", event, name, extra=fields)
