"""MX as a process: a web server that runs until it is stopped."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from synergy.errors import Refused
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.accounts.authenticator import Authenticator
from synergy.mx.accounts.local_access import LocalAccess
from synergy.mx.app import create_app
from synergy.mx.protection.acceptor import Acceptor
from synergy.mx.protection.connection import HttpConnection
from synergy.mx.protection.headers import HSTS
from synergy.mx.protection.hosts import is_loopback, own_names
from synergy.mx.protection.proxy import Proxy
from synergy.mx.protection.stream_shutdown import ShutdownSignal
from synergy.mx.services import Services
from synergy.runtime.workplace import Daemon, Workplace

if TYPE_CHECKING:
    from synergy.mx.oidc.client import OidcClient

GRACE_SECONDS = 3  # how long running requests may continue when the process stops
HEAD_BYTES = 32 * 1024  # the longest head of a request
PROXIES = ["127.0.0.1", "::1"]  # addresses whose X-Forwarded-For is trusted


class _Server(uvicorn.Server):
    """A server that limits the connections of each origin, and leaves signals to the process."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        acceptor = Acceptor(self._connection, self.config.ssl)
        assert sockets is not None
        (listening,) = sockets
        self._accepting = asyncio.create_task(acceptor.run(listening))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._accepting.cancel()
        with suppress(asyncio.CancelledError):
            await self._accepting
        await super().shutdown(sockets)

    def _connection(self) -> HttpConnection:
        return HttpConnection(self.config, self.server_state, self.lifespan.state)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class MX(Daemon):
    """The REST API and the pages of a deployment.

    The constructor binds the port, so that the process counts as ready only once it is reachable.
    It raises Refused if the address, the certificate or the files with credentials cannot be used,
    if no user could log in, or if other machines could connect without a login.
    """

    def __init__(self, workplace: Workplace) -> None:
        super().__init__(workplace)
        logins = _logins(workplace)
        names = own_names((workplace.mx_address[0].strip("[]"), *workplace.mx_names))
        proxy = Proxy(workplace.mx_proxy_user)
        app = create_app(Services.at(workplace), Authenticator(logins, names), proxy)
        self._shutdown: ShutdownSignal = app.state.shutdown
        self._server = _Server(_config(app, workplace.mx_tls))
        self._listening = _listen(
            *workplace.mx_address, has_login=workplace.mx_users_file is not None
        )

    def start(self) -> None:
        with closing(self._listening):
            asyncio.run(self._serve())

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()

        def end() -> None:
            self._shutdown.set()
            self._server.should_exit = True

        def stop() -> None:
            with suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(end)

        self.workplace.stop.interrupts(stop)
        await self._server.serve([self._listening])


def _logins(workplace: Workplace) -> Accounts | LocalAccess:
    if workplace.mx_users_file is None:
        return LocalAccess.at(workplace.home, workplace.clock, workplace.mx_session_idle)
    accounts = Accounts(
        workplace.mx_users_file,
        workplace.home,
        workplace.clock,
        _sign_on(workplace),
        workplace.mx_session_idle,
    )
    accounts.check()
    return accounts


def _sign_on(workplace: Workplace) -> OidcClient | None:
    if workplace.mx_oidc is None:
        return None
    from synergy.mx.oidc.client import OidcClient

    return OidcClient(workplace.mx_oidc, workplace.clock)


def _config(app: object, tls: tuple[object, object] | None) -> uvicorn.Config:
    certificate, key = (None, None) if tls is None else map(str, tls)
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="error",  # warnings about malformed requests name no client, and fill the log
        access_log=False,
        server_header=False,
        forwarded_allow_ips=PROXIES,
        headers=[] if tls is None else [HSTS],
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=HEAD_BYTES,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    try:
        config.load()
    except (ssl.SSLError, OSError) as error:
        raise Refused(f"the certificate of MX cannot be used: {error}") from error
    return config


def _listen(host: str, port: int, *, has_login: bool) -> socket.socket:
    """A listening socket; raises Refused if the address cannot be used, or needs a login."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise Refused(f"MX cannot listen on {host}: {error.strerror}") from error
    family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    if not has_login and not is_loopback(str(address[0])):
        raise Refused(f"{host} is {address[0]}, which other machines can reach: set mx_users_file")
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        why = f"MX cannot listen on {host} port {port}: {error.strerror}"
        other = ": set SYNERGY_MX_PORT to another port" if error.errno == errno.EADDRINUSE else ""
        raise Refused(f"{why}{other}") from error
    return listening
