"""A RabbitMQ to test with: a given server, or a node of the installed one.

`SYNERGY_TEST_AMQP` names a running server, for example
`amqp://user:password@host:5672/`; its user must be allowed to do everything in that vhost, which
tests fill and empty. Without it `rabbitmq-server` is started as a node of its own: its ports,
name, data, logs and `epmd` belong to the tests. If it is not installed, tests are
skipped; see `tests/missing.py`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit
from uuid import uuid4

import pika

from tests.missing import lacking
from tests.servers.ports import free_port
from tests.servers.rabbitmq_node import (
    GIVEN,
    REMEDY,
    Node,
    connect,
    home,
    wait_until_it_answers,
)

NEEDED = "rabbitmq_prelaunch"  # the plugin without which RabbitMQ does not start
LOCAL = "-kernel inet_dist_use_interface {127,0,0,1}"
NO_BUSY_WAIT = ("+sbwt none", "+sbwtdcpu none", "+sbwtdio none")  # waiting schedulers sleep


@dataclass(frozen=True, slots=True)
class Broker:
    """A running server; one that the tests started can be controlled through `node`."""

    url: str
    node: Node | None = None

    @contextmanager
    def emptied(self) -> Iterator[str]:
        """Yields its URL after deleting the queues of tests, which is faster than a new vhost.

        The queues of this test are deleted before the next one.
        """
        _empty(self.url)
        yield self.url

    @contextmanager
    def fresh_vhost(self) -> Iterator[str]:
        """Yields the URL of a new vhost, deleted at the end; a given server has only its own."""
        if self.node is None:
            with self.emptied() as url:
                yield url
            return
        name = f"test-{uuid4().hex[:12]}"
        self.node.ctl("add_vhost", name)
        self.node.ctl("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
        yield self.at(name)
        self.node.ctl("delete_vhost", name)

    def at(self, vhost: str) -> str:
        """Returns the URL of a vhost on the server."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{quote(vhost, safe='')}"))

    def log_tail(self) -> str:
        """Returns the end of its log."""
        return self.node.log_tail() if self.node is not None else ""


@contextmanager
def running(folder: Path) -> Iterator[Broker]:
    """Yields the server that tests share, with its data in `folder`."""
    given = os.environ.get(GIVEN)
    if given:
        wait_until_it_answers(given, None)
        yield Broker(given)
        _empty(given)
    else:
        with running_own(folder) as broker:
            yield broker


@contextmanager
def running_own(folder: Path, host: str = "127.0.0.1") -> Iterator[Broker]:
    """Yields a new node for the caller only, which listens on `host`."""
    home()
    port = free_port(host)
    with _epmd() as epmd:
        node = Node(folder, host, port, _environ(folder, host, port, epmd))
        try:
            node.start()
            yield Broker(f"amqp://guest:guest@{host}:{port}/", node)
        finally:
            if node.process is not None:
                node.go_on()
            node.stop()


@contextmanager
def ill_treated(shared: Broker, folder: Path) -> Iterator[Broker]:
    """Yields a broker that may be stopped, killed and emptied: the shared one, unless it was given.

    Starting another takes six seconds of processor time. Tests must leave it running, and other
    tests expect nothing in it.
    """
    if shared.node is None:
        with running_own(folder) as broker:
            yield broker
        return
    _empty(shared.url)
    yield shared
    if shared.node.process is None:
        shared.node.start()


@contextmanager
def _epmd() -> Iterator[int]:
    """Yields the port of a register of Erlang nodes; the machine's own one is not used."""
    program = shutil.which("epmd")
    if program is None:
        lacking("RabbitMQ", REMEDY)
    port = free_port()
    with subprocess.Popen(
        [program, "-address", "127.0.0.1", "-port", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield port
        finally:
            process.terminate()


def _environ(folder: Path, host: str, port: int, epmd: int) -> dict[str, str]:
    lines = (
        f"listeners.tcp.1 = {host}:{port}",
        "loopback_users = none",
        "log.console = true",
        "log.console.level = info",
        "log.file = false",
        "disk_free_limit.absolute = 50MB",
        "heartbeat = 60",
    )
    config = folder / "rabbitmq.conf"
    config.write_text("\n".join(lines) + "\n")
    (folder / "plugins").write_text("[].\n")
    own = {
        "HOME": str(folder),  # the folder of the cookie
        "RABBITMQ_NODENAME": f"synergy-{port}@localhost",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "logs"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
        "RABBITMQ_CONFIG_FILE": str(config.with_suffix("")),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_PLUGINS_DIR": str(_without_plugins(folder / "applications")),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": " ".join((LOCAL, *NO_BUSY_WAIT)),
        "ERL_EPMD_PORT": str(epmd),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    kept = ("PATH", "LANG", "LC_ALL", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ} | own


def _without_plugins(folder: Path) -> Path:
    """Fills a folder with the parts of RabbitMQ, without its plugins.

    RabbitMQ reads all plugins, used or not, which takes a second of processor time.
    """
    folder.mkdir(exist_ok=True)
    for each in ((home() / "rabbitmq-server").resolve().parents[1] / "plugins").iterdir():
        if not each.name.startswith("rabbitmq_") or each.name.startswith(NEEDED):
            (folder / each.name).symlink_to(each)
    return folder


def put(url: str, queue: str, bodies: Iterable[bytes], deployment: str) -> None:
    """Puts messages into a queue of Synergy as a foreign client would."""
    properties = pika.BasicProperties(delivery_mode=2, app_id=deployment)
    with contextlib.closing(connect(url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for body in bodies:
            channel.basic_publish("", f"synergy.{queue}", body, properties, mandatory=True)


def _empty(url: str) -> None:
    """Deletes the queues and exchanges that tests declare."""
    with contextlib.closing(connect(url)) as connection:
        channel = connection.channel()
        for queue in ("q", "ping", "pong", "other", "pooled", "undeclared"):
            channel.queue_delete(f"synergy.{queue}")
        for exchange in ("synergy.work", "synergy.bells"):
            channel.exchange_delete(exchange)
