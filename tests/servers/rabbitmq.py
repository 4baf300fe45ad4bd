"""A RabbitMQ to test with: the one that is named, or an own node of an installed one.

`SYNERGY_TEST_AMQP` names a server that is there already, for example
`amqp://user:password@host:5672/`; its user must be allowed to do everything in that vhost, which
tests fill and empty. Without it `rabbitmq-server` is started as a node of its own: its ports,
name, data, logs and even its `epmd` are the test's. Where it is not installed, tests are
skipped; see `tests/missing.py`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit
from uuid import uuid4

import pika
import psutil
import pytest
from pika.exceptions import AMQPError

from synergy.clock import SystemClock
from tests.missing import lacking
from tests.servers.ports import free_port
from tests.servers.standing_still import stand_still

GIVEN = "SYNERGY_TEST_AMQP"
REMEDY = f"install rabbitmq-server (and Erlang's epmd), or name a server in {GIVEN}"
HOMES = (Path("/usr/lib/rabbitmq/bin"), Path("/usr/local/sbin"), Path("/opt/homebrew/sbin"))
LOCAL = "-kernel inet_dist_use_interface {127,0,0,1}"
PATIENT = ("+sbwt none", "+sbwtdcpu none", "+sbwtdio none")  # who waits leaves the processor alone
STARTED = b"Server startup complete"
START_LIMIT = 120
STOP_LIMIT = 30
COMMAND_LIMIT = 60
NEEDED = "rabbitmq_prelaunch"  # the one that no RabbitMQ starts without
BY_US = '<<"a test">>'


@dataclass(frozen=True, slots=True)
class Broker:
    """A running server. Those of a node of our own can be told what to do; see `Node`."""

    url: str
    node: Node | None = None

    @contextmanager
    def emptied(self) -> Iterator[str]:
        """Its URL, without the queues that tests name: quick, unlike a vhost.

        What is in them afterwards, the next one takes away.
        """
        _empty(self.url)
        yield self.url

    @contextmanager
    def fresh_vhost(self) -> Iterator[str]:
        """The URL of a new vhost, which is gone at the end; of a given server, the one it names."""
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
        """The URL of a vhost on it."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{quote(vhost, safe='')}"))

    def told(self) -> str:
        """The end of what it wrote into its log."""
        return self.node.told() if self.node is not None else ""


@dataclass(slots=True)
class Node:
    """A node of our own, which may be killed and started again: its data stays."""

    folder: Path
    host: str
    port: int
    environ: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        return self.folder / "rabbitmq.log"

    def start(self) -> None:
        """Returns when it answers, and has started as a whole.

        It takes connections before `rabbitmqctl` may ask for anything. Its log says when it may;
        to ask by connections, or by `rabbitmqctl`, would take a second of the processor's time.
        """
        with self.log.open("ab") as output:
            begins_at = output.tell()
            self.process = subprocess.Popen(
                [str(_home() / "rabbitmq-server")],
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._wait_until_it_says(STARTED, begins_at)
        _wait_until_it_answers(f"amqp://guest:guest@{self.host}:{self.port}/", self)

    def kill(self) -> None:
        """As a power cut would end it; the node is a group of processes."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As an operator would."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """It goes on to exist, but does nothing; `go_on` wakes it."""
        assert self.process is not None
        group, shell = self.process.pid, psutil.Process(self.process.pid)
        members = [shell, *shell.children(recursive=True)]
        stand_still(*(each.pid for each in members if os.getpgid(each.pid) == group))

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def ctl(self, *words: str) -> str:
        """What `rabbitmqctl` answers."""
        done = subprocess.run(
            [str(_home() / "rabbitmqctl"), "--quiet", *words],
            env=dict(self.environ),
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT,
        )
        assert done.returncode == 0, f"rabbitmqctl {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def evaluate(self, expression: str) -> None:
        """Carries out an Erlang expression within the node, which has to come to `ok`.

        `rabbitmqctl` does the same; its start would take half a second of the processor's time.
        """
        program = shutil.which("erl_call")
        if program is None:
            lacking("RabbitMQ", REMEDY)
        cookie = (self.folder / ".erlang.cookie").read_text()
        done = subprocess.run(
            [program, "-sname", self.environ["RABBITMQ_NODENAME"], "-c", cookie, "-e"],
            env=dict(self.environ),
            input=f"{expression}.\n",
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT,
            check=False,
        )
        assert done.stdout == "{ok, ok}", f"{expression}: {done.stdout}{done.stderr}"

    def stop_app(self) -> None:
        """RabbitMQ ends, and Erlang goes on."""
        self.evaluate("rabbit:stop()")

    def start_app(self) -> None:
        self.evaluate("rabbit:start()")

    def lose_everything(self) -> None:
        """It stops, forgets all that it had, and starts again."""
        self.stop_app()
        self.ctl("reset")
        self.start_app()

    def close_connections(self) -> None:
        self.evaluate('rabbit_networking:close_all_connections("because")')

    def limit_memory(self, limit: str) -> None:
        """`limit` as Erlang has it: a share of the machine's, or {absolute, "1MB"}."""
        self.evaluate(f"vm_memory_monitor:set_vm_memory_high_watermark({limit})")

    def add_user(self, name: str, password: str) -> None:
        self.evaluate(
            f'rabbit_auth_backend_internal:add_user(<<"{name}">>, <<"{password}">>, {BY_US})'
        )

    def delete_user(self, name: str) -> None:
        self.evaluate(f'rabbit_auth_backend_internal:delete_user(<<"{name}">>, {BY_US})')

    def allow(self, user: str, configure: str, write: str, read: str) -> None:
        """Sets what a user may do in the vhost /, each a pattern of names."""
        given = ", ".join(
            f'<<"{each}">>'.replace("\\", "\\\\") for each in (user, "/", configure, write, read)
        )
        self.evaluate(f"rabbit_auth_backend_internal:set_permissions({given}, {BY_US})")

    def told(self) -> str:
        return self.log.read_text(errors="replace")[-4_000:]

    def _wait_until_it_says(self, words: bytes, begins_at: int) -> None:
        assert self.process is not None
        clock, pause = SystemClock(), threading.Event()
        deadline = clock.monotonic() + START_LIMIT
        while words not in self.log.read_bytes()[begins_at:]:
            if self.process.poll() is not None or clock.monotonic() > deadline:
                pytest.fail(f"RabbitMQ does not start:\n{self.told()}")
            pause.wait(0.1)

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        self._signal(how)
        try:
            self.process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self.process.wait()
        self.process = None

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


@contextmanager
def running(folder: Path) -> Iterator[Broker]:
    """The server that tests share, with its data in `folder`."""
    given = os.environ.get(GIVEN)
    if given:
        _wait_until_it_answers(given, None)
        yield Broker(given)
        _empty(given)
    else:
        with running_own(folder) as broker:
            yield broker


@contextmanager
def running_own(folder: Path, *settings: str, host: str = "127.0.0.1") -> Iterator[Broker]:
    """A node of the caller's own, which listens on this address; `settings` are lines of its
    configuration."""
    _home()
    port = free_port(host)
    with _epmd() as epmd:
        node = Node(folder, host, port, _environ(folder, host, port, epmd, settings))
        try:
            node.start()
            yield Broker(f"amqp://guest:guest@{host}:{port}/", node)
        finally:
            if node.process is not None:
                node.go_on()
            node.stop()


@contextmanager
def ill_treated(shared: Broker, folder: Path) -> Iterator[Broker]:
    """One that may be stopped, killed and emptied: the one that tests share, if it is our own.

    To start another takes six seconds of the processor's time; whatever happens to this one, its
    tests leave it running, and those of others expect nothing in it.
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
    """A register of Erlang nodes for one node; the machine's own is left alone."""
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


def _environ(
    folder: Path, host: str, port: int, epmd: int, settings: Sequence[str]
) -> dict[str, str]:
    lines = (
        f"listeners.tcp.1 = {host}:{port}",
        "loopback_users = none",
        "log.console = true",
        "log.console.level = info",
        "log.file = false",
        "disk_free_limit.absolute = 50MB",
        "heartbeat = 60",
        *settings,
    )
    config = folder / "rabbitmq.conf"
    config.write_text("\n".join(lines) + "\n")
    (folder / "plugins").write_text("[].\n")
    own = {
        "HOME": str(folder),  # where the cookie lies
        "RABBITMQ_NODENAME": f"synergy-{port}@localhost",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "logs"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
        "RABBITMQ_CONFIG_FILE": str(config.with_suffix("")),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_PLUGINS_DIR": str(_without_plugins(folder / "applications")),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": " ".join((LOCAL, *PATIENT)),
        "ERL_EPMD_PORT": str(epmd),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    kept = ("PATH", "LANG", "LC_ALL", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ} | own


def _without_plugins(folder: Path) -> Path:
    """A folder of what RabbitMQ consists of, and of no plugin.

    It looks into each that there is, used or not, which takes a second of the processor's time.
    """
    folder.mkdir(exist_ok=True)
    for each in ((_home() / "rabbitmq-server").resolve().parents[1] / "plugins").iterdir():
        if not each.name.startswith("rabbitmq_") or each.name.startswith(NEEDED):
            (folder / each.name).symlink_to(each)
    return folder


def _home() -> Path:
    """Where the programs are; Debian's wrappers in /usr/sbin change the user, and are not used."""
    found = shutil.which("rabbitmq-server")
    homes = [*HOMES, *([Path(found).parent] if found else [])]
    home = next((home for home in homes if (home / "rabbitmq-server").is_file()), None)
    if home is None:
        lacking("RabbitMQ", REMEDY)
    return home


def _wait_until_it_answers(url: str, node: Node | None) -> None:
    """A connection is the only proof; a node says that it is ready before it listens."""
    clock, pause = SystemClock(), threading.Event()
    deadline = clock.monotonic() + START_LIMIT
    while True:
        try:
            connect(url).close()
        except (AMQPError, OSError) as error:
            ended = node is not None and node.process is not None and node.process.poll()
            if ended or clock.monotonic() > deadline:
                told = node.told() if node is not None else ""
                pytest.fail(f"{url} does not answer: {error!r}\n{told}")
            pause.wait(0.2)
        else:
            return


def connect(url: str) -> pika.BlockingConnection:
    """A client that is not ours, to look with and to do mischief."""
    parameters = pika.URLParameters(url)
    parameters.socket_timeout = parameters.stack_timeout = 10
    return pika.BlockingConnection(parameters)


def put(url: str, queue: str, bodies: Iterable[bytes], deployment: str) -> None:
    """Puts messages into a process's queue, as somebody who is not Synergy might."""
    properties = pika.BasicProperties(delivery_mode=2, app_id=deployment)
    with contextlib.closing(connect(url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for body in bodies:
            channel.basic_publish("", f"synergy.{queue}", body, properties, mandatory=True)


def _empty(url: str) -> None:
    """Takes away what Synergy makes there, as far as tests name it."""
    with contextlib.closing(connect(url)) as connection:
        channel = connection.channel()
        for queue in ("q", "ping", "pong", "other"):
            channel.queue_delete(f"synergy.{queue}")
        for exchange in ("synergy.work", "synergy.bells"):
            channel.exchange_delete(exchange)
