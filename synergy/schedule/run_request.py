"""The request of a run, fixed when it is launched, with the values of its due time."""

from __future__ import annotations

from synergy.model.schedule import Run
from synergy.schedule.definition import Definition, DeliveryProgram, WorkerProgram
from synergy.schedule.format.programs import StoredDelivery
from synergy.schedule.request_template import OF_PERIODS, fill, values
from synergy.schedule.zones import zone


def request_of(run: Run, definition: Definition) -> dict[str, object]:
    """The request of a run: a worker's arguments, or a target and what is sent to it."""
    program = definition.program
    if isinstance(program, WorkerProgram):
        return {"process": program.process, "arguments": dict(program.arguments)}
    return {
        "target": program.target,
        "content_type": program.content_type,
        "headers": dict(program.headers),
        "budget": definition.budget.total_seconds(),
        **({"signing_secret": program.signing_secret} if program.signing_secret else {}),
        **_body(program, run, definition),
    }


def values_of(run: Run, definition: Definition) -> dict[str, str]:
    """The values of the template's names for this run."""
    return values(
        run.due_at,
        zone(definition.template_zone),
        scheduleName=definition.name,
        runId=run.id,
        **_period(run),
    )


def _body(program: DeliveryProgram, run: Run, definition: Definition) -> dict[str, object]:
    if isinstance(program, StoredDelivery) and program.stored:
        # The payload is read, and its template filled in, when it is sent.
        return {"payload": program.stored, "values": values_of(run, definition)}
    if "${" not in program.payload:  # saves time: thousands may be due in the same second
        return {"body": program.payload}
    return {"body": fill(program.payload, values_of(run, definition))}


def _period(run: Run) -> dict[str, str]:
    """The values of the period that triggered the run."""
    cause = run.detail.cause
    return {name: str(cause[field]) for name, field in OF_PERIODS.items() if cause.get(field)}
