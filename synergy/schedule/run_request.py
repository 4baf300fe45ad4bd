"""What a run works on, or sends: fixed when it is launched, with the values of its due time."""

from __future__ import annotations

from synergy.model.schedule import Run
from synergy.schedule.definition import Definition, DeliveryProgram, WorkerProgram
from synergy.schedule.format.read import StoredDelivery
from synergy.schedule.template import OF_PERIODS, fill, values
from synergy.schedule.zones import zone


def request_of(run: Run, definition: Definition) -> dict[str, object]:
    """The request of a run: for a worker its arguments, or what is sent where."""
    program = definition.program
    if isinstance(program, WorkerProgram):
        return {"process": program.process, "arguments": dict(program.arguments)}
    return {
        "target": program.target,
        "content_type": program.content_type,
        "headers": dict(program.headers),
        "budget": definition.budget.total_seconds(),
        **_body(program, run, definition),
    }


def values_of(run: Run, definition: Definition) -> dict[str, str]:
    """What the names of the template stand for in this run."""
    return values(
        run.due_at,
        zone(definition.template_zone),
        scheduleName=definition.name,
        runId=run.id,
        **_period(run),
    )


def _body(program: DeliveryProgram, run: Run, definition: Definition) -> dict[str, object]:
    if isinstance(program, StoredDelivery) and program.stored:  # filled in when it is sent
        return {"payload": program.stored, "values": values_of(run, definition)}
    if "${" not in program.payload:  # a thousand in the same second are to be quick
        return {"body": program.payload}
    return {"body": fill(program.payload, values_of(run, definition))}


def _period(run: Run) -> dict[str, str]:
    """What is known of the period that triggered the run."""
    found = run.detail.cause
    return {name: str(found[told]) for name, told in OF_PERIODS.items() if found.get(told)}
