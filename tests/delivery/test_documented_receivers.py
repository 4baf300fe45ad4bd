"""The receivers of docs/howto/webhooks.md, run as they are printed there, verify real requests."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from queue import SimpleQueue

import pytest

from synergy.clock import Clock, SteppedClock, SystemClock
from synergy.delivery import headers
from synergy.delivery.addresses import AddressRules
from synergy.delivery.options import Options
from synergy.delivery.request import Response
from synergy.delivery.sender import Sender
from tests.delivery.conftest import HERE, NOW, a_request
from tests.delivery.receivers import LIMIT
from tests.missing import program
from tests.servers.ports import free_port

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "webhooks.md"
OWN = "whsec_c2VjcmV0IG9mIHRoZSByZWNlaXZlcg=="

Command = Callable[[Path], list[str]]


def _go(file: Path) -> list[str]:
    binary = file.with_suffix("")
    go = shutil.which("go", path=f"{os.environ['PATH']}:/usr/local/go/bin")
    build = [go or program("go", "install golang-go"), "build", "-o", str(binary), str(file)]
    subprocess.run(build, check=True, cwd=file.parent, timeout=LIMIT)
    return [str(binary)]


SUFFIXES = {"python": ".py", "javascript": ".js", "go": ".go"}
COMMANDS: dict[str, Command] = {
    "python": lambda file: [sys.executable, str(file)],
    "javascript": lambda file: [program("node", "install nodejs"), str(file)],
    "go": _go,
}


@pytest.fixture(scope="module", params=COMMANDS)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the receiver in this language, which knows the secret `OWN`."""
    found = re.search(rf"```{request.param}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    file = tmp_path_factory.mktemp("receiver") / f"receiver{SUFFIXES[request.param]}"
    file.write_text(found[1])
    with serving(COMMANDS[request.param](file)) as port:
        yield f"http://127.0.0.1:{port}/hook"


@contextmanager
def serving(command: list[str]) -> Iterator[int]:
    port = free_port()
    environment = {**os.environ, "WEBHOOK_SECRET": OWN, "PORT": str(port)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            connected(port, process).close()
            yield port
        finally:
            process.kill()


def connected(port: int, process: subprocess.Popen[bytes]) -> socket.socket:
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            os.sched_yield()
    raise AssertionError(f"{process.args!r} ended")


def answer(url: str, *secrets: str, clock: Clock | None = None) -> Response:
    """The answer to a request that the real sender signs with these secrets."""
    came: SimpleQueue[Response] = SimpleQueue()
    options = Options(rules=AddressRules(HERE), secrets=secrets)
    sender = Sender(options, clock or SystemClock())
    try:
        sender.submit(a_request(url, body='{"a": "é"}'.encode()), came.put)
        return came.get(timeout=LIMIT)
    finally:
        sender.close(0)


def test_a_documented_receiver_accepts_a_request_with_its_secret(url: str) -> None:
    assert answer(url, OWN).status == 204
    assert answer(url, "a newer one", OWN).status == 204


def test_a_documented_receiver_refuses_other_secrets_and_unsigned_requests(url: str) -> None:
    assert answer(url, "of another receiver").status == 401
    assert answer(url).status == 401


def test_a_documented_receiver_refuses_a_recorded_request(url: str) -> None:
    assert answer(url, OWN, clock=SteppedClock(NOW.replace(year=2020))).status == 401


@pytest.mark.parametrize(
    ("changed", "status"),
    [({}, 204), ({"webhook-id": "run-2"}, 401), ({"body": "[]"}, 401)],
)
def test_a_documented_receiver_refuses_a_changed_request(
    url: str, changed: dict[str, str], status: int
) -> None:
    request = a_request(url, body=b"{}")
    signed = {**headers.of_webhook(request, SystemClock().now(), [OWN]), **changed}
    body = signed.pop("body", "{}")
    with closing(HTTPConnection(request.target.destination.removeprefix("http://"))) as wire:
        wire.request("POST", "/hook", body, signed)
        assert wire.getresponse().status == status
