"""The pages, a module for each."""

from fastapi import Depends

from synergy.mx.pages import (
    audit,
    boxes,
    events,
    jobs,
    journal,
    login,
    logs,
    overview,
    processes,
    queues,
    runs,
    schedule_form,
    schedules,
    single_sign_on,
    timetable,
    units,
)
from synergy.mx.pages.render import note_present
from synergy.mx.routing import Router

_LIVE = (
    overview.router,
    boxes.router,
    processes.router,
    timetable.router,
    jobs.router,
    schedule_form.router,
    schedules.router,
    runs.router,
    units.router,
    logs.router,
    events.router,
    queues.router,
    journal.router,
    audit.router,
)

router = Router()
router.include_router(login.router)
router.include_router(single_sign_on.router)
router.include_router(single_sign_on.callback)
for _live in _LIVE:
    router.include_router(_live, dependencies=[Depends(note_present)])
