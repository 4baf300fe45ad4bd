"""MX as a process: a web server that runs until it is asked to stop."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress

import uvicorn

from synergy.errors import Refused
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.accounts.authenticator import Authenticator
from synergy.mx.app import create_app
from synergy.mx.protection.hosts import is_loopback, own_names
from synergy.mx.protection.stream_shutdown import ShutdownSignal
from synergy.mx.protection.timeouts import ConnectionTimeouts
from synergy.mx.services import Services
from synergy.runtime.workplace import Daemon, Workplace

GRACE = 3  # seconds for requests under way when the process is to end
CONNECTIONS = 500  # at once; more are put off
HEAD = 32 * 1024  # bytes that the head of a request may have before it is even looked at
PROXIES = ["127.0.0.1", "::1"]  # who is believed when he says for whom he asks


class _Server(uvicorn.Server):
    """Leaves signals to the process, which makes them its wish to stop."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class MX(Daemon):
    """The REST API and the pages of a deployment.

    Making it takes the port, so that it is not said to be ready before people can reach it, and
    raises Refused where it must not or cannot run: nobody could log in, or everybody could.
    """

    def __init__(self, workplace: Workplace) -> None:
        super().__init__(workplace)
        doors = None
        if workplace.mx_users_file is not None:
            doors = Accounts(workplace.mx_users_file, workplace.home, workplace.clock)
            doors.check()
        names = own_names((workplace.mx_address[0].strip("[]"), *workplace.mx_names))
        app = create_app(Services.at(workplace), Authenticator(doors, names))
        self._ending: ShutdownSignal = app.state.ending
        self._server = _Server(_config(app, workplace.mx_tls))
        self._listening = _listen(*workplace.mx_address, is_guarded=doors is not None)

    def start(self) -> None:
        with closing(self._listening):
            asyncio.run(self._serve())

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()

        def end() -> None:
            self._ending.wish()
            self._server.should_exit = True

        def stop() -> None:
            with suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(end)

        self.workplace.stop.interrupts(stop)
        await self._server.serve([self._listening])


def _config(app: object, tls: tuple[object, object] | None) -> uvicorn.Config:
    certificate, key = (None, None) if tls is None else map(str, tls)
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=ConnectionTimeouts,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        forwarded_allow_ips=PROXIES,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=HEAD,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    try:
        config.load()
    except (ssl.SSLError, OSError) as error:
        raise Refused(f"the certificate of MX cannot be used: {error}") from error
    return config


def _listen(host: str, port: int, *, is_guarded: bool) -> socket.socket:
    """A socket at the address that a host has; guarded means that people have to log in."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise Refused(f"MX cannot listen on {host}: {error.strerror}") from error
    family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    if not is_guarded and not is_loopback(str(address[0])):
        raise Refused(
            f"{host} is {address[0]}, which can be reached from outside: set mx_users_file"
        )
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        why = f"MX cannot listen on {host} port {port}: {error.strerror}"
        other = ": set SYNERGY_MX_PORT to another" if error.errno == errno.EADDRINUSE else ""
        raise Refused(f"{why}{other}") from error
    return listening
