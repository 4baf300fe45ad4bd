"""The kit of schedule tests in MX: a deployment with a free-run process, and an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synergy.delivery.request import Request, Response, sent
from tests.mx.asking import Client
from tests.mx.conftest import client_of
from tests.service.agent_harness import RecordingSender, SteppedAgent
from tests.service.free_runs import a_free_process, a_system
from tests.service.scheduler_harness import SchedulerHarness

API = "/api/v1/schedules"
NIGHTLY = {"name": "nightly", "process": "Report", "cron": "0 2 * * *", "zone": "Europe/Berlin"}
HOOK = {"name": "hook", "target": "https://receiver.example/hook", "trigger": "cron 0 2 * * *"}


class ScheduleHarness:
    """MX over a world with the process `Report`, at 2015-05-20 12:00:07 UTC."""

    def __init__(self) -> None:
        self.world: SchedulerHarness = a_system(a_free_process("Report"))
        self.client: Client = client_of(self.world)
        self.answer: Response = sent(200, b"taken")
        self._member: SteppedAgent | None = None

    def create(self, definition: Mapping[str, object], **more: object) -> Any:
        """Creates a schedule, which must succeed."""
        answer = self.client.post(API, json={**definition, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def act(self, path: str, **body: object) -> Any:
        """Sends an action on a schedule, which must succeed."""
        answer = self.client.post(f"{API}/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        """The JSON at a path below `/api/v1`."""
        answer = self.client.get(f"/api/v1{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def settle(self) -> None:
        """Runs an agent until nothing is due."""
        if self._member is None:
            place = self.world.workplace("", "agent-1")
            self._member = SteppedAgent(place, RecordingSender(self._receive))
        self._member.rest()

    def close(self) -> None:
        if self._member is not None:
            self._member.consumer.close()
        self.client.close()

    def _receive(self, _request: Request) -> Response:
        return self.answer
