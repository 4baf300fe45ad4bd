"""The verdict: whether all is well."""

from __future__ import annotations

from fastapi import Response
from pydantic import TypeAdapter

from synergy.mx.access import Viewer
from synergy.mx.conditional import IfNoneMatch, conditional
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.queries.health.verdict import Verdict

router = Router("health")

_VERDICT = TypeAdapter(Verdict)


@router.get(
    "/verdict",
    response_model=Verdict,
    responses={304: {"description": "not modified"}},
)
def show_verdict(
    services: ServicesDep,
    _: Viewer,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Whether all is well, and if not: what, since when, and remedies.

    `is_well` is null while there is no timetable yet. `findings` lists everything that is not well,
    causes first; `notes` is further information. The ETag changes when anything but `at` does.
    """
    found = services.verdict()
    tagged = _VERDICT.dump_json(found, exclude={"at"})
    return conditional(if_none_match, tagged, lambda: _VERDICT.dump_json(found))
