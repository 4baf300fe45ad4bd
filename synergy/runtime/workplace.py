"""The environment of a process of the deployment, and the base class of processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from synergy.clock import Clock
from synergy.messaging.protocol import Bus
from synergy.model.process import Deployment, Process
from synergy.model.retention import DEFAULT, Retention
from synergy.names import MX_HOST, MX_PORT, MX_SESSION_IDLE
from synergy.runtime.oidc_settings import OidcSettings
from synergy.runtime.stop import Stop
from synergy.storage.protocol import Store

IpNetwork = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Workplace:
    """The objects and settings that a process of the deployment works with.

    `owner` is the incarnation of this operating system process, by which others can find out
    whether it is still alive. `stop` is set when the process is to end.

    `deployment` is everything that `context.py` declares, for processes that manage others. `home`
    is the folder for logs and other files, `box` the box id, and `start_timeperiod` the first hour
    of the timetable if the store has none yet; None: 48 hours before the first start. The other
    fields are settings for agents and MX; `mx_address` is host and port, `mx_tls` the files of
    certificate and key, `mx_oidc` is None without single sign-on.
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
    webhook_plaintext: tuple[str | IpNetwork, ...] = ()
    webhook_secrets: tuple[str, ...] = field(default=(), repr=False)
    mx_address: tuple[str, int] = (MX_HOST, MX_PORT)
    mx_users_file: Path | None = None
    mx_names: tuple[str, ...] = ()
    mx_proxy_user: int | None = None
    mx_tls: tuple[Path, Path] | None = None
    mx_oidc: OidcSettings | None = None
    mx_session_idle: timedelta = timedelta(minutes=MX_SESSION_IDLE)


class Daemon(ABC):
    """A process that always runs."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace

    @abstractmethod
    def start(self) -> None:
        """Runs until `self.workplace.stop` is set."""
