"""Settings: what a deployment runs with, once it is checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from synergy.clock import Clock
from synergy.config.webhooks import IpNetwork

PREFIX = "SYNERGY_"
NAMES = (
    "home",
    "store",
    "bus",
    "box_id",
    "context",
    "start_timeperiod",
    "mx_host",
    "mx_port",
    "mx_users_file",
    "mx_names",
    "mx_certificate",
    "mx_key",
    "demo_stream",
    "schedules_update",
    "webhook_networks",
    "webhook_secrets",
    "clock",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a deployment runs with, checked. `store` is a URL, `home` an absolute path.

    `start_timeperiod` is an hourly timeperiod; None means that the store remembers the first
    start. `mx_users_file` is None where nobody has to say who he is; whether it is there is not
    checked here. `mx_names` are names by which MX is called besides those of this machine;
    `mx_certificate` and `mx_key` are both None without TLS. `schedules_update` is `create`
    (declared schedules are created if they are missing) or `sync` (the declaration is the
    truth). `webhook_networks` are those that webhooks may reach although they are no part of
    the public internet; `webhook_secrets`, none to two, sign what is sent.
    """

    env: str
    home: Path
    store: str
    bus: str
    box_id: str
    context: str
    start_timeperiod: str | None
    mx_host: str
    mx_port: int
    mx_users_file: Path | None
    mx_names: tuple[str, ...]
    mx_certificate: Path | None
    mx_key: Path | None
    demo_stream: bool
    schedules_update: str
    webhook_networks: tuple[IpNetwork, ...]
    webhook_secrets: tuple[str, ...] = field(repr=False)
    clock: Clock

    @property
    def is_store_embedded(self) -> bool:
        """Whether the store is a file of this box, and no server's."""
        return self.store.startswith("sqlite:")

    @property
    def is_bus_stored(self) -> bool:
        """Whether messages are kept in the store, and no broker is needed."""
        return self.bus == "store:"

    @property
    def mx_tls(self) -> tuple[Path, Path] | None:
        """The files of certificate and key, where MX has TLS."""
        if self.mx_certificate is None or self.mx_key is None:
            return None
        return self.mx_certificate, self.mx_key

    @property
    def mx_url(self) -> str:
        """Where MX is found, by a browser on this box."""
        host = self.mx_host.strip("[]")
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        shown = f"[{name}]" if ":" in name else name
        return f"http{'s' if self.mx_tls else ''}://{shown}:{self.mx_port}/"

    @property
    def store_file(self) -> Path:
        """Where the embedded store lies."""
        return Path(self.store.removeprefix("sqlite:///"))
