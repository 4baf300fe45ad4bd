"""Jobs: list, detail, why; reprocess, skip, retry and acknowledge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from fastapi import Depends, Path, Query
from pydantic import BaseModel, Field

from synergy.commands import jobs
from synergy.commands.bulk import BulkRequest, BulkVerb
from synergy.errors import InvalidValue
from synergy.model.job import JobState
from synergy.mx.access import Operator, Person, Viewer
from synergy.mx.api.operations import ACCEPTED, LONG_JOBS, Prefer, accepted, is_to_be_async
from synergy.mx.api.trees import Word
from synergy.mx.bodies import (
    LONGEST_PERIOD,
    PERIOD,
    TIMEPERIOD_SCHEMA,
    Action,
    Body,
    From,
    Limit,
    NamedCursor,
    Page,
    Timeperiod,
    To,
    Touched,
)
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.queries.timetable.causes import Cause, Kind
from synergy.queries.timetable.job_detail import JobDetail
from synergy.queries.timetable.job_list import ListedJob, Wanted
from synergy.queries.timetable.remedies import Remedy
from synergy.queries.views import Window

MOST_LISTED = 1000  # jobs in a request, or in the response to an action

router = Router("jobs")

Process = Annotated[str, Path(max_length=200, description="the name of a managed process")]
OfProcess = Annotated[str | None, Query(max_length=200, description="only jobs of this process")]
InState = Annotated[
    Word | None,
    Query(description="only jobs in this state; `skipped` does not include given-up jobs"),
]
Name = Annotated[str, Field(max_length=200, description="the name of a managed process")]
Period = Annotated[
    str,
    Field(max_length=LONGEST_PERIOD, description=PERIOD, json_schema_extra=TIMEPERIOD_SCHEMA),
]


State = Literal[
    "embryo", "in_progress", "final_run", "processed", "noop", "skipped", "failed"
]  # fmt: skip
"""A state of a job; a given-up job is skipped and has the cause `given_up`."""


class Why(BaseModel):
    """The reason for the state of a job, the remedies, and the causes behind it."""

    kind: Kind
    process: str
    timeperiod: str
    state: State | None
    text: str
    helps: list[Remedy]
    causes: list[Why]

    @staticmethod
    def of(cause: Cause) -> Why:
        return Why.model_validate(
            {
                "kind": cause.kind,
                "process": cause.process,
                "timeperiod": cause.timeperiod,
                "state": None if cause.state is None else cause.state.public,
                "text": cause.text,
                "helps": list(cause.helps),
                "causes": [Why.of(behind) for behind in cause.causes],
            }
        )


class TouchedJob(BaseModel):
    """A job that was or would be changed; states distinguish given-up from other skipped jobs."""

    process: str
    timeperiod: str
    before: Word
    after: Word
    generation: int

    @staticmethod
    def of(touched: jobs.Touched) -> TouchedJob:
        return TouchedJob.model_validate(
            {
                "process": touched.process,
                "timeperiod": touched.timeperiod,
                "before": touched.before.word,
                "after": touched.after.word,
                "generation": touched.generation,
            }
        )


class TouchedJobs(Touched[TouchedJob]):
    """The jobs that an action changed or would change; `processes` counts them by process.

    `touched` lists at most 1,000 of them.
    """

    processes: dict[str, int]

    @classmethod
    def of(cls, counts: Mapping[str, int], first: Sequence[jobs.Touched], *, dry_run: bool) -> Self:
        return cls(
            dry_run=dry_run,
            count=sum(counts.values()),
            touched=list(map(TouchedJob.of, first)),
            processes=dict(counts),
        )


class JobsInRange(Action):
    """The jobs of a process from `from` to before `to`; without `to`, those of `from`.

    Both may be coarser than the process: a day of an hourly process begins with its first hour, and
    without `to` it stands for all of its hours.
    """

    process: Name
    from_: Period = Field(alias="from")
    to: Period | None = None

    def request(self, verb: BulkVerb, services: Services) -> BulkRequest:
        return BulkRequest.of_range(services.deployment, verb, self.process, self.from_, self.to)


class NamedJob(Body):
    """A job, by process and timeperiod."""

    process: Name
    timeperiod: Period


class NamedJobs(Action):
    """Jobs by name."""

    jobs: list[NamedJob] = Field(min_length=1, max_length=MOST_LISTED)

    def request(self, verb: BulkVerb, services: Services) -> BulkRequest:
        named = ((job.process, job.timeperiod) for job in self.jobs)
        return BulkRequest.of_jobs(services.deployment, verb, named)


SomeJobs = JobsInRange | NamedJobs


def _wanted(
    process: OfProcess = None,
    state: InState = None,
    from_: From = None,
    to: To = None,
    late: Annotated[bool, Query(description="only jobs that are late")] = False,
    stale: Annotated[bool, Query(description="only jobs that are stale")] = False,
) -> Wanted:
    return Wanted(
        process,
        None if state is None else JobState[state.upper()],
        Window.between(from_ or "", to or ""),
        is_late=late,
        is_stale=stale,
    )


WantedJobs = Annotated[Wanted, Depends(_wanted)]
_ACTION: Any = {
    "response_model": TouchedJobs,
    "responses": {**ACCEPTED, **errors(404, 409, 422)},
}


@router.get("/jobs", response_model=Page[ListedJob], responses=errors(404, 409, 422))
def list_jobs(
    services: ServicesDep,
    _: Viewer,
    wanted: WantedJobs,
    limit: Limit = 100,
    cursor: NamedCursor = None,
) -> Any:
    """Jobs by process, oldest first."""
    return services.reads.jobs(wanted, limit, cursor)


@router.get(
    "/jobs/{process}/{timeperiod}", response_model=JobDetail, responses=errors(404, 409, 422)
)
def show_job(
    services: ServicesDep, _: Viewer, process: Process, timeperiod: Timeperiod
) -> JobDetail:
    """A job with its units, its journal, its inputs and its outputs."""
    return services.reads.job(process, timeperiod)


@router.get("/jobs/{process}/{timeperiod}/why", response_model=Why, responses=errors(404, 409, 422))
def explain_job(services: ServicesDep, _: Viewer, process: Process, timeperiod: Timeperiod) -> Why:
    """Explains the state of a job, down to the leaf causes, each with its remedies.

    A remedy is a command and, if the API offers it, the request that does the same.
    """
    return Why.of(services.reads.why(process, timeperiod))


@router.post("/jobs/reprocess", **_ACTION)
def reprocess_jobs(
    services: ServicesDep, person: Operator, body: SomeJobs, prefer: Prefer = None
) -> Any:
    """Reprocesses jobs and all jobs made from them; ignores jobs that have not begun."""
    return _act(services, person, body, BulkVerb.REPROCESS, prefer)


@router.post("/jobs/skip", **_ACTION)
def skip_jobs(
    services: ServicesDep, person: Operator, body: SomeJobs, prefer: Prefer = None
) -> Any:
    """Skips unfinished jobs and all jobs that would be made from them."""
    return _act(services, person, body, BulkVerb.SKIP, prefer)


@router.post("/jobs/retry", **_ACTION)
def retry_jobs(
    services: ServicesDep, person: Operator, body: SomeJobs, prefer: Prefer = None
) -> Any:
    """Retries failed jobs with a new budget of attempts; ignores other jobs."""
    return _act(services, person, body, BulkVerb.RETRY, prefer)


@router.post("/jobs/acknowledge", **_ACTION)
def acknowledge_jobs(
    services: ServicesDep, person: Operator, body: SomeJobs, prefer: Prefer = None
) -> Any:
    """Acknowledges given-up jobs, which are then skipped like others.

    The reason is required, except for a dry run; it says why these periods are not needed.
    """
    if not body.reason.strip(". ") and not body.dry_run:
        raise InvalidValue("reason is missing: say why these periods are not needed")
    return _act(services, person, body, BulkVerb.ACKNOWLEDGE, prefer)


def _act(
    services: Services, person: Person, body: SomeJobs, verb: BulkVerb, prefer: str | None
) -> Any:
    request, actor = body.request(verb, services), person.actor(body.reason)
    if body.dry_run:
        seen = services.bulk.preview(request, MOST_LISTED)
        return TouchedJobs.of(seen.counts, seen.first, dry_run=True)
    if is_to_be_async(prefer) or services.bulk.plan(request) > LONG_JOBS:
        return accepted(services.operations.accept(request, actor, services.now))
    touched = services.bulk.act(request, actor, services.now)
    counts = Counter(job.process for job in touched)
    return TouchedJobs.of(counts, touched[:MOST_LISTED], dry_run=False)
