"""The registered engines: each URL belongs to one, and checking a URL imports no driver."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from synergy.engines import BUSES, STORES, bus_engine, store_engine
from synergy.engines.mongodb import MongoEngine
from synergy.engines.protocol import BusEngine, StoreEngine
from synergy.engines.rabbitmq import RabbitEngine
from synergy.engines.sqlite import SqliteEngine
from synergy.engines.stored import StoredEngine
from synergy.errors import InvalidValue
from synergy.storage.mongodb.database import Database, location

PROJECT = Path(__file__).resolve().parents[2]
HOWTO = PROJECT / "docs" / "howto" / "add-an-engine.md"
DRIVERS = ("apsw", "pymongo", "pika")
URLS = {
    "sqlite:////srv/a.db": SqliteEngine,
    "mongodb://host/synergy": MongoEngine,
    "mongodb+srv://host/synergy": MongoEngine,
    "store:": StoredEngine,
    "amqp://host": RabbitEngine,
    "amqps://host": RabbitEngine,
}


@pytest.mark.parametrize("url", URLS)
def test_each_url_belongs_to_one_engine(url: str) -> None:
    (found,) = [type(engine) for engine in (*STORES, *BUSES) if engine.matches(url)]
    assert found is URLS[url]


def test_the_error_for_an_unknown_url_lists_the_urls_of_all_engines() -> None:
    with pytest.raises(InvalidValue) as store:
        store_engine("postgresql://host/synergy")
    assert all(engine.expected in str(store.value) for engine in STORES)
    with pytest.raises(InvalidValue) as bus:
        bus_engine("sqlite:////srv/a.db")
    assert all(engine.expected in str(bus.value) for engine in BUSES)


def test_only_file_stores_have_a_path() -> None:
    url = "sqlite:////srv/a.db"
    assert store_engine(url).file(url) == Path("/srv/a.db")
    url = "mongodb://host/synergy"
    assert store_engine(url).file(url) is None


def test_removing_a_file_store_removes_its_log_and_locks(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    engine = store_engine(url)
    assert not engine.exists(url)
    engine.prepare(url)
    for suffix in ("-wal", "-shm", "-gate"):
        (tmp_path / f"a.db{suffix}").touch()
    (tmp_path / "other.db").touch()
    assert engine.exists(url)
    engine.drop(url)
    assert [file.name for file in tmp_path.iterdir()] == ["other.db"]
    assert not engine.exists(url)


def test_checking_urls_imports_no_driver() -> None:
    checks = "import sys; from synergy.engines import store_engine, bus_engine\n" + "\n".join(
        f"{'store' if any(e.matches(url) for e in STORES) else 'bus'}_engine({url!r})"
        for url in URLS
    )
    code = f"{checks}\nprint([name for name in {DRIVERS} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def surface(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("engine", "protocol"),
    [*((each, StoreEngine) for each in STORES), *((each, BusEngine) for each in BUSES)],
)
def test_engines_have_exactly_the_members_of_their_protocol(engine: object, protocol: type) -> None:
    assert {name for name in dir(engine) if not name.startswith("_")} == surface(protocol)


def test_the_example_engine_of_the_guide_works() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    namespace: dict[str, type] = {}
    exec(compile(code, HOWTO.name, "exec"), namespace)
    example = namespace["PostgresEngine"]
    assert surface(example) == surface(StoreEngine)
    engine = example()
    assert engine.matches("postgresql://host/synergy")
    assert engine.place("postgresql://me:secret@host/synergy") == "postgresql://host:5432/synergy"
    with pytest.raises(InvalidValue, match="expected a database"):
        engine.complete("postgresql://host", Path)


SEVERAL = "mongodb://me:p%40ss@127.0.0.1:27017,[::1]:27018/db?replicaSet=rs0"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (SEVERAL, []),
        ("mongodb://localhost/db", []),
        ("mongodb://%2Ftmp%2Fmongodb-27017.sock/db", []),
        ("mongodb://db-1,127.0.0.1/db", ["in clear text to db-1: add tls=true"]),
        ("mongodb://me:s3cret@[fd00::1]:27018/db", ["in clear text to [fd00::1]:27018: add"]),
        ("mongodb://db-1/db?tls=true", []),
        ("mongodb://db-1/db?ssl=TRUE", []),
        ("mongodb://db-1/db?tlsCAFile=%2Fetc%2Fca.pem", []),
        ("mongodb://db-1/db?tlsCAFile=ca.pem&tls=false", ["in clear text to db-1"]),
        ("mongodb+srv://cluster.example.com/db", []),
        ("mongodb+srv://cluster.example.com/db?tls=false", ["in clear text to cluster"]),
        ("mongodb://db-1/db?tls=true&TLSINSECURE=true", ["tlsInsecure lets any server pose"]),
        (
            "mongodb://db-1/db?tls=true&tlsAllowInvalidCertificates=true&tlsAllowInvalidHostnames=true",
            ["tlsAllowInvalidCertificates lets", "tlsAllowInvalidHostnames lets"],
        ),
        ("mongodb://db-1/db?tls=true&tlsInsecure=false", []),
    ],
)
def test_unprotected_connections_to_mongodb_are_weaknesses(url: str, expected: list[str]) -> None:
    found = MongoEngine().weaknesses(url)
    assert len(found) == len(expected)
    assert all(part in text for part, text in zip(expected, found, strict=True))
    assert "s3cret" not in str(found)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("amqp://127.0.0.1/", []),
        ("amqp://[::1]/", []),
        ("amqp://localhost:5673/", []),
        ("amqp://me:s3cret@mq-1/", ["in clear text to mq-1: use amqps://"]),
        ("amqps://mq-1/", []),
        ("amqps://mq-1/?verify=verify_none", ["verify=verify_none lets any server pose"]),
    ],
)
def test_unprotected_connections_to_rabbitmq_are_weaknesses(url: str, expected: list[str]) -> None:
    found = RabbitEngine().weaknesses(url)
    assert len(found) == len(expected)
    assert all(part in text for part, text in zip(expected, found, strict=True))
    assert "s3cret" not in str(found)


def test_several_hosts_are_read_where_python_knows_only_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Newer versions of Python refuse an address in brackets that follows another host."""

    def refuse(_netloc: str) -> None:
        raise ValueError("Invalid IPv6 URL")

    for name in ("_check_bracketed_host", "_check_bracketed_netloc"):
        monkeypatch.setattr(f"urllib.parse.{name}", refuse, raising=False)
    engine = MongoEngine()
    assert engine.complete(SEVERAL, Path) == SEVERAL
    assert engine.place(SEVERAL) == "mongodb://127.0.0.1:27017,[::1]:27018/db"
    assert engine.place(SEVERAL.replace(":27018", "")) == "mongodb://127.0.0.1:27017,[::1]:27017/db"
    assert location(SEVERAL) == "mongodb://me:***@127.0.0.1:27017,[::1]:27018/db"
    with closing(Database.connect(SEVERAL)) as database:
        assert database.name == "db"
