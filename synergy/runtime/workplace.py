"""Where a process of the deployment works, and what every one of them is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from synergy.clock import Clock
from synergy.messaging.protocol import Bus
from synergy.model.process import Deployment, Process
from synergy.model.retention import DEFAULT, Retention
from synergy.names import MX_HOST, MX_PORT
from synergy.runtime.stop import Stop
from synergy.storage.protocol import Store

IpNetwork = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Workplace:
    """All that a process of the deployment works with.

    `owner` is the incarnation of this operating system process: unique, and telling enough
    to find out later whether it is still alive. `stop` is set when the process shall end.

    `deployment` is everything that `context.py` declares, for those few processes that look
    after others. `home` is the folder for logs and other files, `box` the box id, and
    `start_timeperiod` the first hour of the timetable, None where the store is to remember
    the one of the first start. What follows are settings, for agents
    and MX; `mx_address` is host and port, `mx_tls` the files of certificate and key.
    """

    process: Process
    store: Store
    bus: Bus
    clock: Clock
    owner: str
    stop: Stop
    instance: int = 1
    deployment: Deployment = field(default_factory=lambda: Deployment({}, {}))
    home: Path = Path()
    box: str = ""
    start_timeperiod: str | None = None
    retention: Retention = DEFAULT
    schedules_update: str = "create"
    webhook_networks: tuple[IpNetwork, ...] = ()
    webhook_secrets: tuple[str, ...] = field(default=(), repr=False)
    mx_address: tuple[str, int] = (MX_HOST, MX_PORT)
    mx_users_file: Path | None = None
    mx_names: tuple[str, ...] = ()
    mx_tls: tuple[Path, Path] | None = None


class Daemon(ABC):
    """A process that always runs."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace

    @abstractmethod
    def start(self) -> None:
        """Runs until `self.workplace.stop` is set."""
