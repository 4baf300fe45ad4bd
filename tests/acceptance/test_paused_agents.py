"""An agent that is stopped for longer than its lease sends nothing that others have done."""

from __future__ import annotations

import json

import pytest

from synergy.model.schedule import RunState
from tests.acceptance.deployments import scheduled
from tests.acceptance.kit import pause, resume
from tests.delivery.receivers import answers, receiving

JOBS = 40  # more than are in flight at once: the others wait in the agent
AT_ONCE = 8
LIMIT_SECONDS = 120.0


@pytest.fixture(params=["one file", "MongoDB and RabbitMQ"])
def boxes(request, homes, tmp_path):
    """Two boxes on one store, each with one agent."""
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    urls = {"store": f"sqlite:///{tmp_path}/box-a/synergy.db"}
    if request.param != "one file":
        names = {"store": "mongodb_url", "bus": "rabbitmq_url"}
        urls = {name: request.getfixturevalue(fixture) for name, fixture in names.items()}
    found = []
    for name in ("box-a", "box-b"):
        box = homes(
            name,
            **urls,
            box_id=name,
            context="tests.acceptance.deployments.scheduled",
            test_short_limits="1",
            test_agents="1",
            test_deaths=str(deaths),
            webhook_networks="127.0.0.0/8",
        )
        box.limit = LIMIT_SECONDS
        box.start()
        found.append(box)
    return found


def waits_for_the_gate(wire, receiver):
    receiver.gate.wait(LIMIT_SECONDS)
    answers()(wire, receiver)


def add_jobs(box, tmp_path, receiver, names):
    job = {"when": "2026-01-01T00:00:00Z", "target": f"http://127.0.0.1:{receiver.port}/hook"}
    jobs = [{**job, "name": name} for name in names]
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps(jobs))
    box.ask("schedule", "add", file)


def runs_until(box, names, is_it):
    """The run of each job, once `is_it` is true of all."""

    def look(store):
        runs = [run for name in names for run in store.runs.find(schedule=name)[0]]
        return len(runs) == len(names) and all(map(is_it, runs)) and runs

    return box.until(look, box.limit)


def is_processed(run):
    return run.state is RunState.PROCESSED


def test_a_stopped_agent_sends_no_finished_request_again_when_it_continues(boxes, tmp_path):
    names = [f"job-{number}" for number in range(JOBS)]
    with receiving(waits_for_the_gate) as receiver:
        add_jobs(boxes[0], tmp_path, receiver, names)
        claimed = runs_until(boxes[0], names, lambda run: run.owner)
        receiver.wait_for(AT_ONCE)
        (owner,) = {run.owner for run in claimed}
        agents = {box.leaders()[f"{scheduled.AGENT}/1"]: box for box in boxes}
        ((stopped, its_box),) = ((p, b) for p, b in agents.items() if str(p) in owner.split("/"))
        (other,) = (box for box in boxes if box is not its_box)

        pause(boxes[0], stopped)
        receiver.gate.set()
        runs = runs_until(other, names, is_processed)
        assert min(run.attempt for run in runs) == 2  # more where the other agent was slow, too
        sent = len(receiver.calls)
        assert sent >= AT_ONCE + JOBS

        other.stop()
        resume(stopped)
        add_jobs(its_box, tmp_path, receiver, ["last"])  # after everything that waits in the agent
        (last,) = runs_until(its_box, ["last"], is_processed)
        later = receiver.calls[sent:]
        assert [call.headers["idempotency-key"] for call in later] == [last.id]
        assert runs_until(its_box, names, is_processed) == runs
