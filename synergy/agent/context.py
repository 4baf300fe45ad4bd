"""The objects that all parts of an agent share."""

from __future__ import annotations

from dataclasses import dataclass

from synergy.clock import Clock
from synergy.messaging.protocol import Bus
from synergy.model.process import Deployment
from synergy.runtime.agent_counters import Meter
from synergy.storage.protocol import Store


@dataclass(frozen=True, slots=True)
class AgentContext:
    """The shared objects; `name` is the name of this agent in the journal."""

    store: Store
    bus: Bus
    clock: Clock
    deployment: Deployment
    meter: Meter
    name: str
