"""Servers that are unreachable, and TLS."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from synergy.errors import StorageUnavailable
from synergy.storage.mongodb import MongoStore
from tests.contract.mongodb.kit import failure, opened
from tests.servers.certificates import openssl
from tests.servers.mongodb import Server, running_ferretdb
from tests.servers.wire import wire

SOON = "timeoutMS=700&connectTimeoutMS=500"  # where nothing is to come about

IN_TIME = "timeoutMS=4000&connectTimeoutMS=3000"


# Servers that are away


def test_an_address_without_a_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    error = failure(f"mongodb://me:secret@127.0.0.1:{port}/test?{SOON}")
    assert isinstance(error, StorageUnavailable)
    assert f"mongodb://me:***@127.0.0.1:{port}/test cannot be reached" in str(error)
    assert "SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


def test_a_host_that_does_not_exist() -> None:
    error = failure(f"mongodb://me:secret@nowhere.invalid/test?{SOON}")
    assert "cannot be reached" in str(error)
    assert "secret" not in str(error)


def test_a_connection_that_is_accepted_and_never_answered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        error = failure(f"mongodb://me:secret@127.0.0.1:{port}/test?{SOON}")
    assert isinstance(error, StorageUnavailable)
    assert f"127.0.0.1:{port}/test" in str(error)
    assert "secret" not in str(error)


def test_a_user_or_password_that_is_refused(mongodb: Server) -> None:
    address = mongodb.url.removeprefix("mongodb://").rpartition("@")[2].partition("/")[0]
    error = failure(f"mongodb://me:wrong-secret@{address}/test")
    assert isinstance(error, StorageUnavailable)
    assert "refuses the user or the password: look at SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


@contextmanager
def _at_risk(url: str) -> Iterator[tuple[Any, MongoStore]]:
    with wire(url) as (line, through), opened(f"{through}?{IN_TIME}") as store:
        store.facts.set("a", "0")
        try:
            yield line, store
        finally:
            line.revive()


def test_a_server_that_goes_dead_is_an_error_by_the_deadline_and_then_goes_on(
    mongodb_url: str,
) -> None:
    with _at_risk(mongodb_url) as (line, store):
        line.go_dead()
        with pytest.raises(StorageUnavailable, match=r"127\.0\.0\.1.*look at"):
            store.facts.set("a", "1")
        with pytest.raises(StorageUnavailable):
            store.facts.get("a")
        line.revive()
        store.facts.set("a", "2")
        assert store.facts.get("a") == "2"


def test_connections_that_break_are_made_again(mongodb_url: str) -> None:
    with _at_risk(mongodb_url) as (line, store):
        line.cut()
        _until_it_answers(store)
        store.facts.set("a", "1")
        assert store.facts.get("a") == "1"


def _until_it_answers(store: MongoStore) -> None:
    """One call may find out that its connection is gone; the next one has a new one."""
    for _ in range(5):
        try:
            store.facts.get("a")
        except StorageUnavailable:
            continue
        return
    pytest.fail("the store stays away")


def test_after_a_write_failed_nothing_more_of_its_batch_is_written(mongodb_url: str) -> None:
    calls = []
    with _at_risk(mongodb_url) as (line, store):

        def go_on_regardless() -> None:
            with store.batch() as batch:
                batch.after_commit(lambda: calls.append(1))
                line.go_dead()
                with pytest.raises(StorageUnavailable):
                    store.facts.set("a", "1")
                line.revive()
                with pytest.raises(StorageUnavailable, match="batch failed"):
                    store.facts.set("b", "1")

        with pytest.raises(StorageUnavailable, match="batch failed"):
            go_on_regardless()
        assert store.facts.get("b") is None
    assert calls == []


def test_a_server_that_was_killed_and_is_back_is_used_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with running_ferretdb(tmp_path, "-listen", place) as server:
        store = MongoStore.open(f"{server.database('test')}?{IN_TIME}")
        store.facts.set("a", "1")
        assert server.process is not None
        server.process.kill()
        server.process.wait()
        with pytest.raises(StorageUnavailable):
            store.facts.get("a")
    with running_ferretdb(tmp_path, "-listen", place):
        _until_it_answers(store)
        assert store.facts.get("a") == "1"
    store.close()


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for localhost, with its key, that nobody has signed."""
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    request = [openssl(), "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    out = ["-keyout", str(file), "-out", str(file.with_suffix(".crt"))]
    subprocess.run([*request, *names, *out], check=True, capture_output=True)
    file.write_text(file.read_text() + file.with_suffix(".crt").read_text())
    return file


@pytest.fixture(scope="module")
def tls_server(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that speaks nothing but TLS."""
    folder = tmp_path_factory.mktemp("tls-server")
    with running_ferretdb(folder, "-certificate", str(certificate)) as server:
        yield server.url.removeprefix("mongodb://127.0.0.1:").rstrip("/")


def test_a_store_behind_tls(tls_server: str, certificate: Path) -> None:
    trusted = urlencode({"tls": "true", "tlsCAFile": certificate.with_suffix(".crt")})
    with opened(f"mongodb://localhost:{tls_server}/test?{trusted}") as store:
        store.facts.set("a", "1")
        assert store.facts.get("a") == "1"


def test_an_untrusted_certificate_is_refused(tls_server: str) -> None:
    error = failure(f"mongodb://me:secret@localhost:{tls_server}/test?tls=true&{SOON}")
    assert "do not agree on TLS" in str(error)
    assert "tls options in SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


def test_a_certificate_of_another_host(tls_server: str, certificate: Path) -> None:
    trusted = urlencode({"tls": "true", "tlsCAFile": certificate.with_suffix(".crt")})
    error = failure(f"mongodb://127.0.0.1:{tls_server}/test?{trusted}&{SOON}")
    assert "do not agree on TLS" in str(error)


def test_a_server_without_tls(mongodb_url: str) -> None:
    assert "do not agree on TLS" in str(failure(f"{mongodb_url}?tls=true&{SOON}"))


def test_a_client_without_tls(tls_server: str) -> None:
    error = failure(f"mongodb://localhost:{tls_server}/test?{SOON}")
    assert isinstance(error, StorageUnavailable)
    assert "look at" in str(error)
