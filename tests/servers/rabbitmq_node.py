"""A node of RabbitMQ that the tests start, control and kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pika
import psutil
import pytest
from pika.exceptions import AMQPError

from synergy.clock import SystemClock
from tests.missing import lacking
from tests.servers.standing_still import stand_still

GIVEN = "SYNERGY_TEST_AMQP"
REMEDY = f"install rabbitmq-server (and Erlang's epmd), or name a server in {GIVEN}"
HOMES = (Path("/usr/lib/rabbitmq/bin"), Path("/usr/local/sbin"), Path("/opt/homebrew/sbin"))
STARTED = b"Server startup complete"
START_LIMIT = 120  # seconds
STOP_LIMIT = 30  # seconds
COMMAND_LIMIT = 60  # seconds
BY_US = '<<"a test">>'


@dataclass(slots=True)
class Node:
    """A node of the tests; it keeps its data when it is killed and started again."""

    folder: Path
    host: str
    port: int
    environ: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        return self.folder / "rabbitmq.log"

    def start(self) -> None:
        """Starts the node; returns when it answers and all of it has started.

        The node accepts connections before `rabbitmqctl` works; its log says when that is. Polling
        with connections or `rabbitmqctl` would take a second of processor time.
        """
        with self.log.open("ab") as output:
            begins_at = output.tell()
            self.process = subprocess.Popen(
                [str(home() / "rabbitmq-server")],
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._wait_until_it_says(STARTED, begins_at)
        wait_until_it_answers(f"amqp://guest:guest@{self.host}:{self.port}/", self)

    def kill(self) -> None:
        """Kills the node, a group of processes, as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stops the node as an operator would."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """Pauses the processes of the node until `go_on`."""
        assert self.process is not None
        group, shell = self.process.pid, psutil.Process(self.process.pid)
        members = [shell, *shell.children(recursive=True)]
        stand_still(*(each.pid for each in members if os.getpgid(each.pid) == group))

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def ctl(self, *words: str) -> str:
        """Returns the output of `rabbitmqctl`."""
        done = subprocess.run(
            [str(home() / "rabbitmqctl"), "--quiet", *words],
            env=dict(self.environ),
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT,
        )
        assert done.returncode == 0, f"rabbitmqctl {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def evaluate(self, expression: str) -> None:
        """Evaluates an Erlang expression within the node; its value must be `ok`.

        `rabbitmqctl` does the same, but takes half a second of processor time to start.
        """
        program = shutil.which("erl_call")
        if program is None:
            assert self.ctl("eval", f"{expression}.").strip() == "ok"
            return
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
        """Stops RabbitMQ; the Erlang node keeps running."""
        self.evaluate("rabbit:stop()")

    def start_app(self) -> None:
        self.evaluate("rabbit:start()")

    def lose_everything(self) -> None:
        """Stops RabbitMQ, deletes all its data, and starts it again."""
        self.stop_app()
        self.ctl("reset")
        self.start_app()

    def close_connections(self) -> None:
        self.evaluate('rabbit_networking:close_all_connections("because")')

    def limit_memory(self, limit: str) -> None:
        """Sets the memory limit, an Erlang term: a share of the memory, or {absolute, "1MB"}."""
        self.evaluate(f"vm_memory_monitor:set_vm_memory_high_watermark({limit})")

    def add_user(self, name: str, password: str) -> None:
        self.evaluate(
            f'rabbit_auth_backend_internal:add_user(<<"{name}">>, <<"{password}">>, {BY_US})'
        )

    def delete_user(self, name: str) -> None:
        self.evaluate(f'rabbit_auth_backend_internal:delete_user(<<"{name}">>, {BY_US})')

    def allow(self, user: str, configure: str, write: str, read: str) -> None:
        """Sets the permissions of a user in the vhost /; each is a pattern of names."""
        given = ", ".join(
            f'<<"{each}">>'.replace("\\", "\\\\") for each in (user, "/", configure, write, read)
        )
        self.evaluate(f"rabbit_auth_backend_internal:set_permissions({given}, {BY_US})")

    def log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-4_000:]

    def _wait_until_it_says(self, words: bytes, begins_at: int) -> None:
        assert self.process is not None
        clock, pause = SystemClock(), threading.Event()
        deadline = clock.monotonic() + START_LIMIT
        while words not in self.log.read_bytes()[begins_at:]:
            if self.process.poll() is not None or clock.monotonic() > deadline:
                pytest.fail(f"RabbitMQ does not start:\n{self.log_tail()}")
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


def home() -> Path:
    """Returns the folder of the programs; not Debian's wrappers, which change the user."""
    found = shutil.which("rabbitmq-server")
    homes = [*HOMES, *([Path(found).parent] if found else [])]
    home = next((home for home in homes if (home / "rabbitmq-server").is_file()), None)
    if home is None:
        lacking("RabbitMQ", REMEDY)
    return home


def wait_until_it_answers(url: str, node: Node | None) -> None:
    """Waits for a successful connection; a node reports ready before it listens."""
    clock, pause = SystemClock(), threading.Event()
    deadline = clock.monotonic() + START_LIMIT
    while True:
        try:
            connect(url).close()
        except (AMQPError, OSError) as error:
            ended = node is not None and node.process is not None and node.process.poll()
            if ended or clock.monotonic() > deadline:
                tail = node.log_tail() if node is not None else ""
                pytest.fail(f"{url} does not answer: {error!r}\n{tail}")
            pause.wait(0.2)
        else:
            return


def connect(url: str) -> pika.BlockingConnection:
    """Opens a connection beside Synergy, to inspect and disturb the broker."""
    parameters = pika.URLParameters(url)
    parameters.socket_timeout = parameters.stack_timeout = 10
    return pika.BlockingConnection(parameters)
