"""Forms, as browsers send them without a script; each with the proof that it is of our page."""

from __future__ import annotations

from hmac import compare_digest
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from synergy.mx.access import Viewer
from synergy.mx.accounts import cookies
from synergy.mx.problems import Forbidden

FIELDS = 20

Fields = dict[str, str]


async def _fields(request: Request) -> Fields:
    try:
        pairs = parse_qsl(
            (await request.body()).decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=FIELDS,
        )
    except ValueError:
        raise HTTPException(400, "this is no form that was sent whole") from None
    if len(dict(pairs)) != len(pairs):
        raise HTTPException(400, "a field of the form came twice")
    return dict(pairs)


def _of_session(person: Viewer, fields: Annotated[Fields, Depends(_fields)]) -> Fields:
    if person.csrf:
        _compare(fields, person.csrf)
    return fields


def _of_login(request: Request, fields: Annotated[Fields, Depends(_fields)]) -> Fields:
    _compare(fields, cookies.read(request, cookies.LOGIN) or "")
    return fields


def _compare(fields: Fields, expected: str) -> None:
    said = fields.get("csrf", "")
    if not expected or not compare_digest(said.encode(), expected.encode(errors="replace")):
        raise Forbidden("the page was open for too long: load it again, and send the form again")


Form = Annotated[Fields, Depends(_of_session)]
"""The fields of a form that somebody who is let in has sent."""

LoginForm = Annotated[Fields, Depends(_of_login)]
"""The fields of the form that strangers send. Cookie and field hold the same secret."""
