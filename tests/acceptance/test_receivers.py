"""A real agent and receivers that misbehave: each run ends by the rules and delays no other."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from synergy.model.schedule import RunState
from tests.delivery.receivers import answers, hangs, receiving, says

LOOPBACK = "127.0.0.0/8"
BUDGET = "2s"  # enough for a second attempt
ANSWER_IN = "5"  # seconds: longer than any receiver takes that does not hang
LARGE = 10_000_000


def _closes_half_way(wire, _receiver):
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")


BEHAVIOURS = {
    "good": answers(body=b"thank you"),
    "fails": answers("500 Internal Server Error", b"out of order"),
    "hangs": hangs,
    "redirects": answers("302 Found", b"", "Location: http://169.254.169.254/latest/meta-data"),
    "half": _closes_half_way,
    "large": answers(body=b"x" * LARGE),
    "rubbish": says(b"\x00\xff no HTTP at all\r\n\r\n"),
}
ENDS = {
    "good": (RunState.PROCESSED, 200, "sent"),
    "fails": (RunState.FAILED, 500, "refused"),
    "hangs": (RunState.FAILED, None, "timeout"),
    "redirects": (RunState.FAILED, 302, "refused"),
    "half": (RunState.FAILED, 200, "failed"),
    "large": (RunState.PROCESSED, 200, "sent"),
    "rubbish": (RunState.FAILED, None, "failed"),
}


@pytest.fixture(scope="module")
def receivers():
    with ExitStack() as stack:
        yield {name: stack.enter_context(receiving(behave)) for name, behave in BEHAVIOURS.items()}


@pytest.fixture(scope="module")
def runs(module_homes, receivers, tmp_path_factory):
    """The only run of each one-off job, once finished; all start at the same time."""
    home = module_homes(
        context="tests.acceptance.deployments.scheduled",
        webhook_networks=LOOPBACK,
        test_agents="1",
        test_answer_in=ANSWER_IN,
        test_deaths=str(tmp_path_factory.mktemp("deaths")),
    )
    home.start()
    jobs = [
        {
            "name": name,
            "when": "2026-01-01T00:00:00Z",
            "target": f"http://127.0.0.1:{receiver.port}/hook",
            "payload": name,
            "budget": BUDGET,
        }
        for name, receiver in receivers.items()
    ]
    file = tmp_path_factory.mktemp("jobs") / "jobs.json"
    file.write_text(json.dumps(jobs))
    home.ask("schedule", "add", file)

    def look(store):
        found = {name: store.runs.find(schedule=name)[0] for name in receivers}
        done = all(len(runs) == 1 and runs[0].state.is_finished for runs in found.values())
        return {name: run for name, (run,) in found.items()} if done else None

    return home.until(look)


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_each_receiver_leads_to_the_expected_end_of_its_run(runs, name):
    run = runs[name]
    last = run.detail.answers[-1]
    assert (run.state, last["status"], last["outcome"]) == ENDS[name]
    assert len(last["body"]) <= 4096
    if run.state is RunState.FAILED:
        assert run.reason


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_all_attempts_of_a_run_send_the_same_key_and_body(runs, receivers, name):
    calls = receivers[name].calls
    assert {call.headers["idempotency-key"] for call in calls} == {runs[name].id}
    assert len(calls) == runs[name].attempt
    assert {call.body for call in calls} == {name.encode()}


def test_a_redirect_is_retried_and_never_followed(runs):
    answers = runs["redirects"].detail.answers
    assert len(answers) > 1
    assert {answer["status"] for answer in answers} == {302}


def test_a_hanging_receiver_delays_no_other(runs):
    hanging = runs["hangs"].finished_at
    others = [run for name, run in runs.items() if name != "hangs"]
    assert all(run.finished_at < hanging for run in others)
