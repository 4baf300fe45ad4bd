"""Forms that browsers submit without a script, each with a CSRF token."""

from __future__ import annotations

from hmac import compare_digest
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from synergy.mx.access import Viewer
from synergy.mx.accounts import cookies
from synergy.mx.problems import Forbidden

MOST_FIELDS = 20  # of a form

Fields = dict[str, str]


async def _fields(request: Request) -> Fields:
    try:
        pairs = parse_qsl(
            (await request.body()).decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise HTTPException(400, "the form is malformed or incomplete") from None
    if len(dict(pairs)) != len(pairs):
        raise HTTPException(400, "a field of the form was sent twice")
    return dict(pairs)


def _of_session(person: Viewer, fields: Annotated[Fields, Depends(_fields)]) -> Fields:
    if person.csrf:
        _check_csrf(fields, person.csrf)
    return fields


def _of_login(request: Request, fields: Annotated[Fields, Depends(_fields)]) -> Fields:
    _check_csrf(fields, cookies.read(request, cookies.LOGIN) or "")
    return fields


def _check_csrf(fields: Fields, expected: str) -> None:
    sent = fields.get("csrf", "")
    if not expected or not compare_digest(sent.encode(), expected.encode(errors="replace")):
        raise Forbidden("the form has expired: reload the page and submit it again")


Form = Annotated[Fields, Depends(_of_session)]
"""The fields of a form that an authenticated user sent."""

LoginForm = Annotated[Fields, Depends(_of_login)]
"""The fields of the login form; its cookie and its field hold the same secret."""
