"""A supervisor takes over another context while its processes run."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from synergy.errors import ConfigurationError, StorageUnavailable
from synergy.model.process import Deployment, FreerunProcess
from synergy.supervisor.plan import Timing
from synergy.supervisor.reload_requests import answer_to, ask
from tests.service.supervisor.kit import BOX, SLEEPS, a_config, a_deployment

# Ends when its work is done (SIGUSR2), once it was asked to finish (SIGUSR1).
WORKS = """
import os, signal
waits = {signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, waits)
os.write(int(os.environ['SYNERGY_READY_FD']), b'1')
while waits:
    waits.discard(signal.sigwait(waits))
print('finished', flush=True)
"""


class Context:
    """What the supervisor reads when it is asked to read its context again."""

    def __init__(self, home, drive, programs, working=(), grace=5.0):
        self.programs = programs
        self.working = working
        config = a_config(home, programs, timing=Timing(grace=grace, ready_after=1e9))
        self.now = self.deployment(*programs)
        self.driver = drive(replace(config, deployment=self.now, read_again=self.read))
        self.driver.until(lambda: self.driver.supervisor.is_settled)

    def read(self):
        if isinstance(self.now, Exception):
            raise self.now
        return self.now

    def deployment(self, *names, **arguments):
        """These processes; `arguments` are those of some, by name."""
        processes = dict(a_deployment(names).processes)
        for name in names:
            given = {"arguments": arguments.get(name, {})}
            if name in self.working:
                usual = {"classname": None, "token": name, "present_on_boxes": (".*",)}
                processes[name] = FreerunProcess(name=name, **usual, **given)
            else:
                processes[name] = replace(processes[name], **given)
        return Deployment(processes, {})

    def pid(self, name):
        return next((o.pid for o in self.driver.supervisor.view() if o.process == name), None)

    def ask(self, deployment, *, dry_run=False, restart=()):
        self.now = deployment
        request = ask(self.driver.store.facts, BOX, dry_run=dry_run, restart=restart)
        self.driver.turn()
        return request

    def answer(self, request):
        return answer_to(self.driver.store.facts, BOX, request)

    def until_done(self, request):
        self.driver.until(lambda: self.answer(request).is_done)
        return self.answer(request)


def test_what_is_new_starts_what_is_gone_ends_and_the_rest_keeps_its_pid(home, drive):
    context = Context(home, drive, {"A": SLEEPS, "B": SLEEPS, "C": SLEEPS})
    context.programs["D"] = SLEEPS
    kept, changed = context.pid("A"), context.pid("C")

    request = context.ask(context.deployment("A", "C", "D", C={"x": 1}))
    answer = context.until_done(request)

    assert (answer.mistakes, answer.failed) == ([], [])
    assert answer.changes["added"] == ["D"]
    assert answer.changes["removed"] == ["B"]
    assert answer.changes["changed"] == {"C": ["arguments"]}
    assert answer.changes["restarted"] == ["C"]
    assert context.pid("A") == kept
    assert context.pid("C") not in (None, changed)
    assert context.pid("D") is not None
    assert {o.process for o in context.driver.supervisor.view()} == {"A", "C", "D"}
    assert {o.process for o in context.driver.store.boxes.observed(BOX)} == {"A", "C", "D"}


def test_a_worker_whose_entry_changed_finishes_its_work_first(home, drive):
    context = Context(home, drive, {"A": SLEEPS, "W": WORKS}, working=["W"], grace=0.0)
    before = context.pid("W")

    request = context.ask(context.deployment("A", "W", W={"x": 1}))
    context.driver.until_state("finishing", "W")
    assert context.pid("W") == before
    assert not context.answer(request).is_done

    os.kill(before, signal.SIGUSR2)
    context.until_done(request)
    assert context.pid("W") not in (None, before)
    assert (home / "logs" / "W.out").read_text() == "finished\n"


def test_processes_with_the_same_entry_restart_on_request_after_their_work(home, drive):
    context = Context(home, drive, {"A": SLEEPS, "W": WORKS}, working=["W"], grace=0.0)
    kept, before = context.pid("A"), context.pid("W")

    request = context.ask(context.deployment("A", "W"), restart=["W", "Elsewhere"])
    context.driver.until_state("finishing", "W")
    os.kill(before, signal.SIGUSR2)
    answer = context.until_done(request)

    assert answer.changes["restarted"] == ["W"]
    assert context.pid("W") not in (None, before)
    assert context.pid("A") == kept


def test_a_worker_that_is_gone_finishes_its_work_first(home, drive):
    context = Context(home, drive, {"A": SLEEPS, "W": WORKS}, working=["W"], grace=0.0)
    before = context.pid("W")

    request = context.ask(context.deployment("A"))
    context.driver.until_state("finishing", "W")
    os.kill(before, signal.SIGUSR2)
    context.until_done(request)

    assert context.pid("W") is None
    assert (home / "logs" / "W.out").read_text() == "finished\n"


def test_a_worker_that_is_switched_off_meanwhile_is_ended(home, drive):
    context = Context(home, drive, {"A": SLEEPS, "W": WORKS}, working=["W"])
    request = context.ask(context.deployment("A", "W", W={"x": 1}))
    context.driver.until_state("finishing", "W")

    context.driver.switch("W", False)
    context.until_done(request)

    assert context.driver.states("W") == {"stopped"}
    assert (home / "logs" / "W.out").read_text() == ""


def test_a_stop_does_not_wait_for_work_that_is_being_finished(home, drive):
    context = Context(home, drive, {"W": WORKS}, working=["W"])
    context.ask(context.deployment("W", W={"x": 1}))
    context.driver.until_state("finishing", "W")

    context.driver.stop.set()
    context.driver.run()

    assert context.driver.marked() == []
    assert {o.state for o in context.driver.store.boxes.observed(BOX)} == {"stopped"}


def test_a_process_that_cannot_start_is_named_in_the_answer(home, drive):
    context = Context(home, drive, {"A": SLEEPS})
    context.programs["B"] = "raise SystemExit(3)"
    answer = context.until_done(context.ask(context.deployment("A", "B")))
    assert answer.failed == ["B/1"]


def test_a_context_with_mistakes_is_refused_and_changes_nothing(home, drive):
    context = Context(home, drive, {"A": SLEEPS})
    before = context.driver.supervisor.view()

    request = context.ask(ConfigurationError(["process B: command: this", "tree t: that"]))

    answer = context.answer(request)
    assert answer.mistakes == ["process B: command: this", "tree t: that"]
    assert answer.changes is None
    assert context.driver.supervisor.view() == before


def test_a_dry_run_says_the_same_and_changes_nothing(home, drive):
    context = Context(home, drive, {"A": SLEEPS, "B": SLEEPS})
    before = context.driver.supervisor.view()
    new = context.deployment("A", A={"x": 1})

    request = context.ask(new, dry_run=True)
    shown = context.answer(request)
    assert shown.is_done
    assert context.driver.supervisor.view() == before

    done = context.until_done(context.ask(new))
    assert done.changes == shown.changes


def test_a_request_that_was_made_before_the_start_is_left(home, drive):
    context = Context(home, drive, {"A": SLEEPS})
    request = ask(context.driver.store.facts, BOX, dry_run=False)
    later = drive(replace(context.driver.config, read_again=pytest.fail))
    later.turn()
    assert context.answer(request) is None


def test_the_successor_of_a_supervisor_that_was_killed_restarts_the_rest(home, drive):
    context = Context(home, drive, {"A": SLEEPS, "W": WORKS}, working=["W"])
    kept, before = context.pid("A"), context.pid("W")
    request = context.ask(context.deployment("A", "W", W={"x": 1}))
    context.driver.until_state("finishing", "W")

    later = drive(replace(context.driver.config, deployment=context.now))
    context.driver.supervisor.close()
    context.driver = later
    later.until_state("finishing", "W")
    assert later.supervisor.is_settled  # its start does not wait for the work
    os.kill(before, signal.SIGUSR2)
    context.until_done(request)

    assert context.pid("A") == kept
    assert context.pid("W") not in (None, before)


@pytest.mark.parametrize("asks", ["nothing", "a dry run", "mistakes", "the same context"])
def test_what_is_asked_meanwhile_does_not_make_the_successor_forget_the_rest(home, drive, asks):
    context = Context(home, drive, {"A": SLEEPS, "W": WORKS}, working=["W"])
    before = context.pid("W")
    new = context.deployment("A", "W", W={"x": 1})
    request = context.ask(new)
    context.driver.until_state("finishing", "W")

    if asks == "a dry run":
        assert context.answer(context.ask(new, dry_run=True)).is_done
    elif asks == "mistakes":
        assert context.answer(context.ask(ConfigurationError(["this"]))).mistakes == ["this"]
    elif asks == "the same context":
        request = context.ask(new)
    assert not context.answer(request).is_done  # who waits for it goes on waiting

    later = drive(replace(context.driver.config, deployment=new))
    context.driver.supervisor.close()
    context.driver = later
    later.until_state("finishing", "W")
    os.kill(before, signal.SIGUSR2)
    context.until_done(request)
    assert context.pid("W") not in (None, before)


def test_a_store_that_is_lost_during_the_reload_loses_nothing(home, drive):
    context = Context(home, drive, {"A": SLEEPS})
    context.programs["B"] = SLEEPS
    context.driver.store.boxes.is_down = True
    request = context.ask(context.deployment("B"))
    context.driver.store.boxes.is_down = False
    context.until_done(request)
    assert context.pid("A") is None
    assert context.pid("B") is not None


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_request_is_taken_again_if_its_answer_cannot_be_stored(home, drive, monkeypatch, dry_run):
    context = Context(home, drive, {"A": SLEEPS})
    context.programs["B"] = SLEEPS
    facts, before = context.driver.store.facts, context.pid("A")
    context.now = context.deployment("B")
    request = ask(facts, BOX, dry_run=dry_run)
    with monkeypatch.context() as lost:
        lost.setattr(facts, "set", _fails)
        context.driver.turn()
    assert context.pid("A") == before

    context.driver.turn()
    assert context.until_done(request).changes["added"] == ["B"]
    assert (context.pid("A") is None, context.pid("B") is not None) == (not dry_run, not dry_run)


def test_a_request_that_cannot_be_carried_out_does_not_keep_the_supervisor_from_its_work(
    home, drive
):
    context = Context(home, drive, {"A": SLEEPS})
    with pytest.raises(RuntimeError):
        context.ask(RuntimeError("not foreseen"))
    context.driver.switch("A", False)
    context.driver.until_state("stopped", "A")


def _fails(*_):
    raise StorageUnavailable("the test took it down")


def test_a_second_context_is_taken_over_while_the_first_one_still_is(home, drive):
    context = Context(home, drive, {"A": SLEEPS, "W": WORKS}, working=["W"])
    before = context.pid("W")
    first = context.ask(context.deployment("A", "W", W={"x": 1}))
    context.driver.until_state("finishing", "W")

    second = context.ask(context.deployment("W", W={"x": 2}))
    assert context.answer(first) is None
    os.kill(before, signal.SIGUSR2)
    context.until_done(second)

    assert context.pid("A") is None
    assert context.pid("W") not in (None, before)
