"""The verdict: whether all is well."""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import APIRouter, Header, Response
from pydantic import TypeAdapter

from synergy.mx.access import Viewer
from synergy.mx.services import ServicesDep
from synergy.queries.health.verdict import Verdict

router = APIRouter(tags=["health"])

_VERDICT = TypeAdapter(Verdict)


@router.get(
    "/verdict",
    response_model=Verdict,
    responses={304: {"description": "it is as it was"}},
)
def show_verdict(
    at: ServicesDep,
    _: Viewer,
    if_none_match: Annotated[str | None, Header(max_length=2000)] = None,
) -> Response:
    """Whether all is well, and if not, what is not, since when, and what helps.

    `is_well` is null if that cannot be told, because there is no timetable yet. It is well only
    if it is: `findings` names everything else, causes first, and `notes` what makes nothing not
    well. The answer's ETag changes when anything but `at` does.
    """
    found = at.verdict()
    known = hashlib.blake2b(_VERDICT.dump_json(found, exclude={"at"}), digest_size=12)
    tag = f'W/"{known.hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    asked = [each.strip() for each in (if_none_match or "").split(",")]
    if tag in asked or "*" in asked:
        return Response(status_code=304, headers=headers)
    body = _VERDICT.dump_json(found)
    return Response(body, media_type="application/json", headers=headers)
