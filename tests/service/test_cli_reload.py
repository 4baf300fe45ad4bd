"""`launch.py reload`, where no supervisor runs, or one answers in this process."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from synergy.cli import reload as command
from synergy.supervisor import home_lock
from synergy.supervisor.home_lock import HomeLock
from synergy.supervisor.reload import compare
from synergy.supervisor.reload_requests import Answer, Requests, ask
from tests.service.commands import BOX


@pytest.fixture
def running(commands, deployed):
    """The home is locked as by a supervisor, which this process is."""
    lock = HomeLock(commands.home)
    assert lock.acquire()
    yield lock
    lock.release()


@pytest.fixture
def supervised(running, deployed, monkeypatch):
    """Answers the next request with what `act` does to the requests."""

    def install(act):
        requests = Requests(deployed.store.facts, BOX)
        requests.skip()

        def looks(_waiting):
            request = requests.next()
            assert request is not None
            act(requests, request)
            yield 0.0
            yield 0.5

        monkeypatch.setattr(command._Wait, "_looks", looks)

    return install


def test_a_reload_needs_a_supervisor(commands, deployed):
    assert commands.run("reload") == 5
    assert "no supervisor runs on this box, so nothing was done" in commands.err
    assert "launch.py supervisor start" in commands.err
    assert deployed.store.facts.get(f"reload/{BOX}") is None


def test_a_context_with_mistakes_is_refused_before_the_supervisor_is_asked(
    commands, deployed, running, monkeypatch
):
    monkeypatch.setenv("SYNERGY_CONTEXT", "tests.acceptance.deployments.mistaken")
    assert commands.run("reload") == 78
    assert "mistake" in commands.err
    assert deployed.store.facts.get(f"reload/{BOX}") is None


def test_the_mistakes_that_the_supervisor_finds_are_shown(commands, supervised):
    supervised(
        lambda requests, request: requests.answer(Answer(request.id, ["a: this", "b: that"]))
    )
    assert commands.run("reload") == 78
    assert "a: this" in commands.err
    assert "b: that" in commands.err


def test_what_changed_is_shown(commands, deployed, supervised):
    changes = asdict(compare(deployed.deployment, deployed.deployment, BOX))
    supervised(lambda requests, request: requests.answer(Answer(request.id, changes=changes)))
    found = commands.json("reload", "--dry-run")
    assert (found["box"], found["added"], found["dry_run"]) == (BOX, [], True)
    assert "Scheduler" in found["unchanged"]
    supervised(lambda requests, request: requests.answer(Answer(request.id, changes=changes)))
    assert f"box {BOX} works by the context as it is now" in commands.ok("reload")


@pytest.mark.parametrize(("options", "words"), [(["--dry-run"], "would be "), ([], "")])
def test_what_a_dry_run_would_restart_is_not_said_to_be_restarted(
    commands, deployed, supervised, options, words
):
    same = compare(deployed.deployment, deployed.deployment, BOX)
    changes = asdict(replace(same, restarted=("MX",)))
    supervised(lambda requests, request: requests.answer(Answer(request.id, changes=changes)))
    assert f"\n{words}restarted: MX\n" in f"\n{commands.ok('reload', *options)}"


def test_schedules_that_no_agent_creates_are_named(commands, deployed, supervised, monkeypatch):
    declared = replace(deployed.deployment, schedules={"nightly": {}})
    changes = asdict(compare(deployed.deployment, declared, BOX))
    supervised(lambda requests, request: requests.answer(Answer(request.id, changes=changes)))
    first = command._Wait._looks
    later = iter([first, lambda _waiting: iter([60.0])])

    def looks(waiting):
        return next(later)(waiting)

    monkeypatch.setattr(command._Wait, "_looks", looks)
    commands.ok("reload")
    assert "no agent has created nightly yet" in commands.err


@pytest.mark.parametrize("options", [["--dry-run"], []])
def test_a_schedule_that_its_declaration_does_not_reach_is_named(
    commands, deployed, supervised, file, options
):
    commands.ok("schedule", "add", file("{name: nightly, target: 'sqs:x', cron: 0 2 * * *}"))
    declared = replace(deployed.deployment, schedules={"nightly": {}})
    changes = asdict(compare(declared, deployed.deployment, BOX))
    supervised(lambda requests, request: requests.answer(Answer(request.id, changes=changes)))
    assert "schedule nightly" in commands.ok("reload", *options)
    assert "schedule nightly stays as it was made by hand" in commands.err


def test_a_process_that_does_not_run_is_a_failure(commands, deployed, supervised):
    changes = asdict(compare(deployed.deployment, deployed.deployment, BOX))
    supervised(
        lambda requests, request: requests.answer(
            Answer(request.id, changes=changes, failed=["MX/1"])
        )
    )
    assert commands.run("reload") == 1
    assert "MX/1 does not run: see " in commands.err


def test_another_reload_is_told_apart(commands, deployed, running, monkeypatch):
    changes = asdict(compare(deployed.deployment, deployed.deployment, BOX))
    requests = Requests(deployed.store.facts, BOX)
    requests.skip()

    def looks(_waiting):
        for _ in range(2):
            requests.answer(Answer(requests.next().id, changes=changes, is_done=False))
            yield 0.0
            ask(deployed.store.facts, BOX, dry_run=False)

    monkeypatch.setattr(command._Wait, "_looks", looks)
    assert commands.run("reload") == 4
    assert "another reload came in between" in commands.err


def test_a_supervisor_that_ends_meanwhile_is_noticed(commands, running, monkeypatch):
    monkeypatch.setattr(home_lock, "holder", holder_until(home_lock.holder, 2))
    assert commands.run("reload") == 5
    assert "the supervisor ended before the new state was up" in commands.err


def holder_until(holder, calls):
    """A holder that is gone after so many calls."""
    left = iter(range(calls))
    return lambda home: holder(home) if next(left, None) is not None else None


def test_a_supervisor_that_does_not_answer_is_an_error(commands, running, monkeypatch):
    monkeypatch.setattr(command, "ANSWER_SECONDS", 0.0)
    monkeypatch.setattr(command, "LOOK_SECONDS", 0.0)
    assert commands.run("reload") == 5
    assert "the supervisor does not answer; see " in commands.err
