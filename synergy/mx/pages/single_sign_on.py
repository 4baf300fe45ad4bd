"""Login through the provider (OpenID Connect): to its page, and back.

Both ways lead over a page that continues by itself instead of a redirect. On the way to the
provider, because browsers apply `form-action` to redirects after a form. On the way back, because a
redirect that begins at another site carries no `SameSite=Strict` cookie: the user would seem to be
logged out.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import Response

from synergy.errors import NotFound
from synergy.mx.accounts import cookies
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.oidc.failure import SignOnFailed
from synergy.mx.pages.login import (
    accounts_of,
    log_login,
    login_form,
    note_login,
    refuse_early,
    replace_session,
)
from synergy.mx.pages.render import page
from synergy.mx.protection.forms import LoginForm
from synergy.mx.protection.local_path import local_path
from synergy.mx.protection.origins import origin_of
from synergy.mx.routing import Router

if TYPE_CHECKING:  # it imports Authlib
    from synergy.mx.oidc.client import OidcClient

router = Router()
callback = APIRouter()  # not strict: providers add parameters of their own (RFC 6749, 4.1.2)

_LIFE = 600  # seconds that a user may take at the provider


@router.post("/login/oidc")
def begin(request: Request, form: LoginForm) -> Response:
    """Leads to the page of the provider, and ends the session that the browser had."""
    accounts, sign_on = _sign_on(request)
    secret, next_ = secrets.token_urlsafe(32), local_path(form.get("next", "/"))
    try:
        url = sign_on.authorization_url(secret)
    except SignOnFailed as error:
        return _failed(request, next_, error)
    accounts.end_session(cookies.read(request, cookies.SESSION) or "")
    response = page(request, "continue.html", to=url, what=f"{sign_on.host} asks you to log in.")
    path = urlsafe_b64encode(next_.encode()).decode().rstrip("=")
    cookies.put(request, response, cookies.SIGN_ON, f"{secret}.{path}", _LIFE)
    return response


@callback.get("/login/oidc/callback")
def finish(request: Request) -> Response:
    """Opens a session for the user that the provider has sent back."""
    secret, next_ = _begun(request)
    _, sign_on = _sign_on(request)
    answer = _answer(request)
    try:
        sign_on.check_state(secret, answer)
    except SignOnFailed as error:  # the cookie stays: any site may send a browser here
        return _failed(request, next_, error)
    response = _finished(request, secret, next_, answer)
    cookies.put(request, response, cookies.SIGN_ON, "", 0)
    return response


def _finished(request: Request, secret: str, next_: str, answer: dict[str, str]) -> Response:
    accounts, sign_on = _sign_on(request)
    # Not counted by name: the failures of some users of the provider must not delay others.
    attempt = (f"single sign-on {origin_of(request)}", origin_of(request))
    wait = accounts.throttle.attempt(*attempt)
    if wait > 0:
        return refuse_early(request, next_, wait)
    try:
        identity = sign_on.identity(secret, answer)
    except SignOnFailed as error:
        if error.status >= 500:
            accounts.throttle.succeeded(*attempt)  # an outage is no guess
        return _failed(request, next_, error)
    accounts.throttle.succeeded(*attempt)
    via = f"single sign-on as {identity.subject}"
    note_login(request, identity.name, via, subject=identity.subject)
    response = page(request, "continue.html", to=next_, what=f"You are {identity.name}.")
    replace_session(request, response, accounts.open_external_session(sign_on, identity))
    return response


def _sign_on(request: Request) -> tuple[Accounts, OidcClient]:
    """Accounts and client; raises NotFound without single sign-on."""
    accounts = accounts_of(request)
    if accounts is None or accounts.sign_on is None:
        raise NotFound("page", request.url.path, "there is no single sign-on: set mx_oidc_issuer")
    return accounts, accounts.sign_on


def _begun(request: Request) -> tuple[str, str]:
    """The secret in the browser's cookie, "" without one, and where the login leads to."""
    secret, _, path = (cookies.read(request, cookies.SIGN_ON) or "").partition(".")
    try:
        return secret, local_path(urlsafe_b64decode(f"{path}==").decode())
    except ValueError:
        return secret, "/"


def _answer(request: Request) -> dict[str, str]:
    """The parameters of the provider, known or not; one that is sent twice counts as none."""
    given = request.query_params
    return {name: given[name] for name in given if len(given.getlist(name)) == 1}


def _failed(request: Request, next_: str, error: SignOnFailed) -> Response:
    log_login(request, "login.failed", error.name, reason=error.reason)
    return login_form(request, next_, error.status, wrong=str(error))
