"""The settings of a deployment."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

from synergy.clock import Clock
from synergy.config.oidc import CALLBACK
from synergy.config.webhooks import IpNetwork
from synergy.engines import bus_engine, store_engine
from synergy.model.retention import Retention
from synergy.runtime.oidc_settings import OidcSettings

PREFIX = "SYNERGY_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Checked settings. `store` and `bus` are URLs, `home` is an absolute path.

    `start_timeperiod` is an hourly timeperiod, used at the first start; None means 48 hours before
    it. The store keeps the result. `mx_users_file` is None if MX has no login; the file may not
    exist. `mx_names` are host names of MX besides those of this machine; `mx_proxy_user` is the id
    of the user that a proxy in front of it runs as, None if that is root or the user of MX.
    `mx_certificate` and `mx_key` are both None without TLS; `mx_session_idle` is in minutes.
    `mx_public_url` ends with a slash, and is "" if unknown; without `mx_oidc_issuer` there is no
    single sign-on. `schedules_update` is `create` (missing declared schedules are created) or
    `sync` (stored schedules follow the declaration). `log_level` is `info` or `debug`.
    `webhook_networks` are private networks that requests of schedules may reach,
    `webhook_plaintext` hosts and networks that webhooks may reach by `http`; `webhook_secrets`, up
    to two, sign requests.
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
    mx_proxy_user: int | None
    mx_certificate: Path | None
    mx_key: Path | None
    mx_session_idle: int
    mx_public_url: str
    mx_oidc_issuer: str
    mx_oidc_client_id: str
    mx_oidc_client_secret: str = field(repr=False)
    mx_oidc_name_claim: str
    mx_oidc_role_claim: str
    mx_oidc_roles: tuple[tuple[str, str], ...]
    demo_stream: bool
    log_level: str
    retention: Retention
    schedules_update: str
    webhook_networks: tuple[IpNetwork, ...]
    webhook_plaintext: tuple[str | IpNetwork, ...]
    webhook_secrets: tuple[str, ...] = field(repr=False)
    clock: Clock

    @property
    def store_file(self) -> Path | None:
        """The file of the store; None if the store is on a server."""
        return store_engine(self.store).file(self.store)

    @property
    def has_broker(self) -> bool:
        """Whether messages go through a message broker instead of the store."""
        return bus_engine(self.bus).has_broker

    @property
    def mx_tls(self) -> tuple[Path, Path] | None:
        """The files of certificate and key; None without TLS."""
        if self.mx_certificate is None or self.mx_key is None:
            return None
        return self.mx_certificate, self.mx_key

    @property
    def mx_oidc(self) -> OidcSettings | None:
        """The login provider of MX; None without single sign-on."""
        if not self.mx_oidc_issuer:
            return None
        return OidcSettings(
            issuer=self.mx_oidc_issuer,
            client_id=self.mx_oidc_client_id,
            client_secret=self.mx_oidc_client_secret,
            redirect_uri=self.mx_public_url + CALLBACK,
            name_claim=self.mx_oidc_name_claim,
            role_claim=self.mx_oidc_role_claim,
            roles=self.mx_oidc_roles,
        )

    @property
    def mx_url(self) -> str:
        """The URL of MX for a browser on this box."""
        host = self.mx_host.strip("[]")
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        shown = f"[{name}]" if ":" in name else name
        return f"http{'s' if self.mx_tls else ''}://{shown}:{self.mx_port}/"


NAMES = tuple(each.name for each in fields(Settings) if each.name != "env")
"""The names of all settings; `env` chooses the file that they are read from."""

SECRET = ("store", "bus", "webhook_secrets", "mx_oidc_client_secret")
"""The settings that may hold a secret; each can be given as `<NAME>_FILE`."""
