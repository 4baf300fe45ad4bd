"""A schedule that is due every second, its receiver, and the check that each due time ran once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from synergy.model.schedule import Run, RunState
from synergy.storage.protocol import Store
from tests.acceptance.boxes.cluster import until_seldom
from tests.acceptance.boxes.network import Machine
from tests.acceptance.boxes.rig import Box
from tests.delivery.receivers import Receiver, answers, receiving
from tests.service.run_story import assert_legal

NAME = "seconds"
SECOND = timedelta(seconds=1)
CATCHUP = 1000  # runs: more than the seconds of the longest outage


@contextmanager
def receiver_on(machine: Machine) -> Iterator[Receiver]:
    """A receiver on the machine's address that accepts every request."""
    with machine.inside():
        receiving_there = receiving(answers(), machine.address)
        receiver = receiving_there.__enter__()
    try:
        yield receiver
    finally:
        receiving_there.__exit__(None, None, None)


@dataclass(frozen=True)
class Seconds:
    """A schedule that calls `receiver` at each multiple of `every` seconds."""

    receiver: Receiver
    host: str
    folder: Path
    every: int = 1

    def add(self, box: Box) -> None:
        """Adds and enables the schedule on a box."""
        file = self.folder / "seconds.json"
        data = {
            "name": NAME,
            "target": f"http://{self.host}:{self.receiver.port}/second",
            "trigger": f"cron 0/{self.every} * * * * ?",
            "payload": "${runId}",
            "catchup": "all",
            "catchup_max": CATCHUP,
        }
        file.write_text(json.dumps(data))
        box.run("schedule", "add", file, "--enable")

    def assert_all_are_accounted_for(self, box: Box) -> None:
        """Each second up to now has one run, which was sent, and the journal is legal."""
        now = datetime.now(UTC)

        def is_done(store: Store) -> bool:
            runs = _runs(store)
            return runs[-1].due_at >= now and not any(_is_open(run) for run in runs)

        with box.store() as store:
            until_seldom(lambda: is_done(store))
            box.run("schedule", "disable", NAME)
            until_seldom(lambda: not any(_is_open(run) for run in _runs(store)))
            all_runs = _runs(store)
            assert_legal(store)
        dues = [run.due_at for run in all_runs]
        assert dues == [dues[0] + n * self.every * SECOND for n in range(len(dues))]
        # Runs that were due after `now` may have been skipped when the schedule was disabled.
        lost = [run for run in all_runs if run.state is not RunState.PROCESSED]
        assert [(run.due_at, run.reason) for run in lost if run.due_at <= now] == []
        processed = {run.id for run in all_runs} - {run.id for run in lost}
        calls = self.receiver.calls
        assert {call.headers["idempotency-key"] for call in calls} == processed
        sent = {(c.body.decode(), c.headers["x-synergy-scheduled-time"]) for c in calls}
        assert len(sent) == len(processed)  # a repeated request is identical


def _is_open(run: Run) -> bool:
    return not run.state.is_finished


def _runs(store: Store) -> list[Run]:
    """By due time."""
    runs, _ = store.runs.find(schedule=NAME, limit=100_000)
    return sorted(runs, key=lambda run: run.due_at)
