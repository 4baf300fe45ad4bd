"""A MongoDB to test with: the one that is named, an own `mongod`, or else FerretDB.

`SYNERGY_TEST_MONGODB` names a server that is there already, for example
`mongodb://user:password@host:27017/`; each test has a database of its own on it. Without it a
`mongod` on the PATH is started, or FerretDB behind a gate (`ferretdb/`), which Go builds once
into the user's cache. Where none of them can be had, tests are skipped; see `tests/missing.py`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pymongo
import pytest
from pymongo.errors import PyMongoError

from tests.missing import lacking
from tests.servers.ports import free_port

GIVEN = "SYNERGY_TEST_MONGODB"
SOURCE = Path(__file__).parent / "ferretdb"
FERRETDB = "github.com/FerretDB/FerretDB"
NARROWED = SOURCE / "narrowed" / "narrowed.go"
LAYOUT = "layout"  # the document that says how a store is laid out
BUILD_LIMIT = 900  # seconds, on a machine that has to fetch and compile everything
START_LIMIT = 60
STOP_LIMIT = 20
UNUSED = (  # of FerretDB: what only these files need is a third of all that would be compiled
    "handler/registry/mysql.go",
    "handler/registry/postgresql.go",
    "util/logging/pgx.go",
    "util/observability/observability.go",
)
QUICKLY = ("-gcflags=all=-dwarf=false", "-ldflags=-s -w")  # without what only debuggers read
GARBAGE = "400"  # percent of what FerretDB keeps: memory for time, as it reads everything anew


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; `process` and `log` are None if it is not ours."""

    url: str
    process: subprocess.Popen[bytes] | None = None
    log: Path | None = None
    shared: str = field(default_factory=lambda: f"synergy_test_{uuid4().hex[:12]}")

    def database(self, name: str) -> str:
        """The URL of a database on it."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    @contextmanager
    def fresh_database(self) -> Iterator[str]:
        """The URL of a new database, which is dropped at the end."""
        name = _new_name()
        yield self.database(name)
        self.drop(name)

    def drop(self, name: str) -> None:
        """Drops a database, if there is one of that name."""
        with _client(self.url) as client:
            client.drop_database(name)

    @contextmanager
    def emptied_database(self) -> Iterator[str]:
        """The URL of the database that tests share who do not change how a store is laid out.

        Only its documents are gone at the end: to make a store takes ten times as long.
        """
        yield self.database(self.shared)
        with _client(self.url) as client:
            database = client[self.shared]
            for name in database.list_collection_names():
                database[name].delete_many({"_id": {"$ne": LAYOUT}})

    def told(self) -> str:
        """The end of what it wrote into its log."""
        return self.log.read_text(errors="replace")[-4_000:] if self.log else ""


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """The server that tests share, with its data in `folder`."""
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
    """A server of the caller's own, which listens on this address."""
    mongod = shutil.which("mongod")
    with (
        running_mongod(mongod, folder, host=host)
        if mongod
        else running_ferretdb(folder, "-listen", f"{host}:0")
    ) as server:
        yield server


def prepare() -> None:
    """Makes what `running_own` starts, for those who start it where there is no internet."""
    if shutil.which("mongod") is None:
        _ferretdb()


@contextmanager
def running_mongod(
    program: str, folder: Path, *options: str, host: str = "127.0.0.1"
) -> Iterator[Server]:
    """A standalone MongoDB."""
    port = free_port()
    place = ("--dbpath", _data(folder), "--bind_ip", host, "--port", str(port))
    with _started([program, *place, *options], folder / "mongod.log") as process:
        server = Server(f"mongodb://{host}:{port}/", process, folder / "mongod.log")
        _wait_until_it_answers(server)
        yield server


@contextmanager
def running_ferretdb(folder: Path, *options: str) -> Iterator[Server]:
    """A FerretDB; see `ferretdb/main.go` for its options."""
    log = folder / "ferretdb.log"
    command = [str(_ferretdb()), "-data", _data(folder), *options]
    with _started(command, log, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        server = Server(_first_line(process.stdout, log), process, log)
        if "-certificate" not in options:
            _wait_until_it_answers(server)
        yield server


@contextmanager
def _started(
    command: Sequence[str], log: Path, stdout: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block, or, reading from us, with us."""
    with (
        log.open("ab") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=stdout or output,
            stderr=output,
            env={"GOGC": GARBAGE, **os.environ},
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
            pytest.fail(f"{server.url} does not answer: {error}\n{server.told()}")


def _first_line(output: IO[bytes], log: Path) -> str:
    """What the server says once it listens."""
    readable, _, _ = select.select([output], [], [], START_LIMIT)
    line = output.readline().decode().strip() if readable else ""
    if not line:
        pytest.fail(f"FerretDB did not start:\n{log.read_text(errors='replace')}")
    return line


def _new_name() -> str:
    return f"synergy_test_{uuid4().hex[:12]}"


def _client(url: str) -> pymongo.MongoClient[dict[str, object]]:
    limit = START_LIMIT * 1_000
    return pymongo.MongoClient(url, timeoutMS=limit, serverSelectionTimeoutMS=limit)


def _ferretdb() -> Path:
    """The program, built once for each state of its source."""
    sources = [*sorted(SOURCE.rglob("*.go")), SOURCE / "go.mod", SOURCE / "go.sum", Path(__file__)]
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "synergy-tests"
    program = cache / f"ferretdb-{state}"
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "building").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.exists():
                _build(program)
    return program


def _build(program: Path) -> None:
    go = shutil.which("go")
    if go is None:
        lacking("MongoDB", f"install mongod or Go 1.22, or name a server in {GIVEN}")
    unfinished = program.with_suffix(".new")
    with tempfile.TemporaryDirectory() as folder:
        modfile = _with_changes(go, Path(folder))
        place = ("-modfile", str(modfile), "-o", str(unfinished))
        _go(go, "build", *QUICKLY, *place, ".")
    unfinished.rename(program)


def _with_changes(go: str, folder: Path) -> Path:
    """A go.mod that names a copy of FerretDB whose filters are said to SQLite as well.

    The copy has no backend but SQLite's.
    """
    found = json.loads(_go(go, "mod", "download", "-json", FERRETDB))["Dir"]
    copy = shutil.copytree(found, folder / "ferretdb", copy_function=shutil.copyfile)
    for unused in (copy / "internal" / name for name in UNUSED):
        unused.parent.chmod(0o755)
        unused.unlink()
    package = copy / "internal" / "backends" / "sqlite"
    package.chmod(0o755)
    query = (package / "collection.go").read_text(encoding="utf-8")
    begin, end = query.index("\tif params.Filter.Len() == 1 {"), query.index("\tq += whereClause")
    narrowed = "\twhereClause, args = narrowed(params.Filter)\n\n"
    (package / "collection.go").write_text(query[:begin] + narrowed + query[end:], "utf-8")
    shutil.copyfile(NARROWED, package / NARROWED.name)
    modfile = folder / "go.mod"
    told = (SOURCE / "go.mod").read_text(encoding="utf-8")
    modfile.write_text(f"{told}\nreplace {FERRETDB} => {copy}\n", encoding="utf-8")
    shutil.copyfile(SOURCE / "go.sum", folder / "go.sum")
    return modfile


def _go(go: str, *words: str) -> str:
    """What a command of Go says; where it fails, there is no FerretDB."""
    done = subprocess.run(
        [go, *words],
        cwd=SOURCE,
        env={**os.environ, "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT,
        check=False,
    )
    if done.returncode:
        why = f"FerretDB could not be built: {done.stderr[-500:]}"
        lacking("MongoDB", f"install mongod, or name a server in {GIVEN}; {why}")
    return done.stdout


def _data(folder: Path) -> str:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    return str(data)
