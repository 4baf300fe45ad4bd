"""A MongoDB to test with: a given server, a `mongod` of the tests, or else FerretDB.

`SYNERGY_TEST_MONGODB` names a running server, for example
`mongodb://user:password@host:27017/`; each test has a database of its own on it. Without it a
`mongod` on the PATH is started, or FerretDB behind a gate (`ferretdb/`), which Go builds once
into the user's cache. If none of them is available, tests are skipped; see `tests/missing.py`.

Beside it there is mongo-java-server (`mongo_java/`), which carries out commands in parallel.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pymongo
import pytest
from pymongo.errors import PyMongoError

from tests.missing import lacking
from tests.servers import ferretdb_program, mongo_java_program
from tests.servers.builds import NotBuilt
from tests.servers.ports import free_port

GIVEN = "SYNERGY_TEST_MONGODB"
LAYOUT = "layout"  # the id of the document with the layout of a store
START_LIMIT = 60  # seconds
STOP_LIMIT = 20  # seconds
GARBAGE = "400"  # percent: FerretDB reads a lot, so it collects garbage less often


def _new_name() -> str:
    return f"synergy_test_{uuid4().hex[:12]}"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; `process` and `log` are None if the tests did not start it."""

    url: str
    process: subprocess.Popen[bytes] | None = None
    log: Path | None = None
    shared: str = field(default_factory=_new_name)

    def database(self, name: str) -> str:
        """Returns the URL of a database on the server."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    @contextmanager
    def fresh_database(self) -> Iterator[str]:
        """Yields the URL of a new database, which is dropped at the end."""
        name = _new_name()
        yield self.database(name)
        self.drop(name)

    def drop(self, name: str) -> None:
        """Drops a database if it exists."""
        with _client(self.url) as client:
            client.drop_database(name)

    @contextmanager
    def emptied_database(self) -> Iterator[str]:
        """Yields the URL of a database for all tests that do not change a store's layout.

        Only its documents are deleted at the end: creating the layout takes ten times as long.
        """
        yield self.database(self.shared)
        with _client(self.url) as client:
            database = client[self.shared]
            for name in database.list_collection_names():
                database[name].delete_many({"_id": {"$ne": LAYOUT}})

    def log_tail(self) -> str:
        """Returns the end of its log."""
        return self.log.read_text(errors="replace")[-4_000:] if self.log else ""


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """Yields the server that tests share, with its data in `folder`."""
    given = os.environ.get(GIVEN)
    if given:
        server = Server(given)
        _wait_until_it_answers(server)
        yield server
        server.drop(server.shared)
    else:
        with running_own(folder) as server:
            yield server


@contextmanager
def running_own(folder: Path, host: str = "127.0.0.1") -> Iterator[Server]:
    """Yields a new server for the caller only, which listens on `host`."""
    mongod = shutil.which("mongod")
    with (
        running_mongod(mongod, folder, host=host)
        if mongod
        else running_ferretdb(folder, "-listen", f"{host}:0")
    ) as server:
        yield server


def prepare() -> None:
    """Builds what `running_own` starts, so that it can be started without internet access."""
    if shutil.which("mongod") is None:
        _ferretdb()


@contextmanager
def running_mongod(
    program: str, folder: Path, *options: str, host: str = "127.0.0.1"
) -> Iterator[Server]:
    """Yields a standalone MongoDB."""
    port = free_port()
    place = ("--dbpath", _data(folder), "--bind_ip", host, "--port", str(port))
    with _started([program, *place, *options], folder / "mongod.log") as process:
        server = Server(f"mongodb://{host}:{port}/", process, folder / "mongod.log")
        _wait_until_it_answers(server)
        yield server


@contextmanager
def running_ferretdb(
    folder: Path, *options: str, environ: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Server]:
    """Yields a FerretDB; see `ferretdb/main.go` for its options.

    Variables of the environment make it demand a user: see `ferretdb_program.CHANGES`.
    """
    command = [str(_ferretdb()), "-data", _data(folder), *options]
    with _announced(command, folder / "ferretdb.log", environ) as server:
        if "-certificate" not in options:
            _wait_until_it_answers(server)
        yield server


@contextmanager
def running_mongo_java(folder: Path, *options: str) -> Iterator[Server]:
    """Yields a mongo-java-server; see `mongo_java/ParallelServer.java` for its options."""
    try:
        command = mongo_java_program.command()
    except NotBuilt as error:
        lacking("mongo-java-server", f"install a JDK of 17 or later and Maven; {error}")
    with _announced([*command, *options], folder / "mongo-java.log") as server:
        _wait_until_it_answers(server)
        yield server


@contextmanager
def _announced(
    command: Sequence[str], log: Path, environ: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Server]:
    """Yields a server that prints its URL once it listens."""
    with _started(command, log, stdout=subprocess.PIPE, environ=environ) as process:
        assert process.stdout is not None
        yield Server(_first_line(process.stdout, log), process, log)


@contextmanager
def _started(
    command: Sequence[str],
    log: Path,
    stdout: int | None = None,
    environ: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[subprocess.Popen[bytes]]:
    """Yields a process that ends with the block, or when its input pipe closes."""
    with (
        log.open("ab") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=stdout or output,
            stderr=output,
            env={"GOGC": GARBAGE, **os.environ, **environ},
        ) as process,
    ):
        try:
            yield process
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()


def _wait_until_it_answers(server: Server) -> None:
    with _client(server.url) as client:
        try:
            client.admin.command("ping")
        except PyMongoError as error:
            pytest.fail(f"{server.url} does not answer: {error}\n{server.log_tail()}")


def _first_line(output: IO[bytes], log: Path) -> str:
    """Returns the line that the server prints once it listens."""
    readable, _, _ = select.select([output], [], [], START_LIMIT)
    line = output.readline().decode().strip() if readable else ""
    if not line:
        pytest.fail(f"{log.stem} did not start:\n{log.read_text(errors='replace')}")
    return line


def _client(url: str) -> pymongo.MongoClient[dict[str, object]]:
    limit = START_LIMIT * 1_000
    return pymongo.MongoClient(url, timeoutMS=limit, serverSelectionTimeoutMS=limit)


def _ferretdb() -> Path:
    """Returns the path of the program; skips the test if it cannot be built."""
    try:
        return ferretdb_program.built()
    except NotBuilt as error:
        lacking("MongoDB", f"install mongod or Go 1.22, or name a server in {GIVEN}; {error}")


def _data(folder: Path) -> str:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    return str(data)
