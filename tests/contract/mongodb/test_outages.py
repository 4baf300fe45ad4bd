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
from tests.servers.certificates import Authority, openssl
from tests.servers.mongodb import Server, running_ferretdb
from tests.servers.wire import wire

SHORT_TIMEOUTS = "timeoutMS=700&connectTimeoutMS=500"  # for connections that must fail

LONGER_TIMEOUTS = "timeoutMS=4000&connectTimeoutMS=3000"  # for connections that recover


# Unreachable servers


def test_an_address_without_a_listener_is_reported_without_the_password() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    error = failure(f"mongodb://me:secret@127.0.0.1:{port}/test?{SHORT_TIMEOUTS}")
    assert isinstance(error, StorageUnavailable)
    assert f"mongodb://me:***@127.0.0.1:{port}/test cannot be reached" in str(error)
    assert "SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


def test_an_unknown_host_is_reported_without_the_password() -> None:
    error = failure(f"mongodb://me:secret@nowhere.invalid/test?{SHORT_TIMEOUTS}")
    assert "cannot be reached" in str(error)
    assert "secret" not in str(error)


def test_a_server_that_never_answers_is_reported_without_the_password() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        error = failure(f"mongodb://me:secret@127.0.0.1:{port}/test?{SHORT_TIMEOUTS}")
    assert isinstance(error, StorageUnavailable)
    assert f"127.0.0.1:{port}/test" in str(error)
    assert "secret" not in str(error)


def test_refused_credentials_are_reported_without_the_password(mongodb: Server) -> None:
    address = mongodb.url.removeprefix("mongodb://").rpartition("@")[2].partition("/")[0]
    error = failure(f"mongodb://me:wrong-secret@{address}/test")
    assert isinstance(error, StorageUnavailable)
    assert "refuses the user or the password: look at SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


@contextmanager
def _through_proxy(url: str) -> Iterator[tuple[Any, MongoStore]]:
    """Opens a store through a proxy that the test can interrupt."""
    with wire(url) as (line, through), opened(f"{through}?{LONGER_TIMEOUTS}") as store:
        store.facts.set("a", "0")
        try:
            yield line, store
        finally:
            line.revive()


def test_an_unresponsive_server_is_an_error_until_it_answers_again(
    mongodb_url: str,
) -> None:
    with _through_proxy(mongodb_url) as (line, store):
        line.go_dead()
        with pytest.raises(StorageUnavailable, match=r"127\.0\.0\.1.*look at"):
            store.facts.set("a", "1")
        with pytest.raises(StorageUnavailable):
            store.facts.get("a")
        line.revive()
        store.facts.set("a", "2")
        assert store.facts.get("a") == "2"


def test_broken_connections_are_replaced(mongodb_url: str) -> None:
    with _through_proxy(mongodb_url) as (line, store):
        line.cut()
        _until_it_answers(store)
        store.facts.set("a", "1")
        assert store.facts.get("a") == "1"


def _until_it_answers(store: MongoStore) -> None:
    """Reads until a call succeeds: a call on a broken connection fails, the next gets a new one."""
    for _ in range(5):
        try:
            store.facts.get("a")
        except StorageUnavailable:
            continue
        return
    pytest.fail("the store does not recover")


def test_a_failed_write_fails_the_rest_of_its_batch(mongodb_url: str) -> None:
    calls = []
    with _through_proxy(mongodb_url) as (line, store):

        def write_after_a_failure() -> None:
            with store.batch() as batch:
                batch.after_commit(lambda: calls.append(1))
                line.go_dead()
                with pytest.raises(StorageUnavailable):
                    store.facts.set("a", "1")
                line.revive()
                with pytest.raises(StorageUnavailable, match="batch failed"):
                    store.facts.set("b", "1")

        with pytest.raises(StorageUnavailable, match="batch failed"):
            write_after_a_failure()
        assert store.facts.get("b") is None
    assert calls == []


def test_a_store_works_again_after_its_server_was_killed_and_restarted(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with running_ferretdb(tmp_path, "-listen", place) as server:
        store = MongoStore.open(f"{server.database('test')}?{LONGER_TIMEOUTS}")
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
    """A self-signed certificate for localhost, with its key."""
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    request = [openssl(), "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    out = ["-keyout", str(file), "-out", str(file.with_suffix(".crt"))]
    subprocess.run([*request, *names, *out], check=True, capture_output=True)
    file.write_text(file.read_text() + file.with_suffix(".crt").read_text())
    return file


@pytest.fixture(scope="module")
def tls_server(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The port of a server that accepts only TLS."""
    folder = tmp_path_factory.mktemp("tls-server")
    with running_ferretdb(folder, "-certificate", str(certificate)) as server:
        yield server.url.removeprefix("mongodb://127.0.0.1:").rstrip("/")


def test_a_store_works_over_tls(tls_server: str, certificate: Path) -> None:
    trusted = urlencode({"tls": "true", "tlsCAFile": certificate.with_suffix(".crt")})
    with opened(f"mongodb://localhost:{tls_server}/test?{trusted}") as store:
        store.facts.set("a", "1")
        assert store.facts.get("a") == "1"


def test_an_untrusted_certificate_is_refused(tls_server: str) -> None:
    error = failure(f"mongodb://me:secret@localhost:{tls_server}/test?tls=true&{SHORT_TIMEOUTS}")
    assert "do not agree on TLS" in str(error)
    assert "tls options in SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


def test_a_certificate_of_another_authority_is_refused(tls_server: str, tmp_path: Path) -> None:
    other = Authority(tmp_path, "somebody else").cacertfile
    trusted = urlencode({"tls": "true", "tlsCAFile": other})
    error = failure(f"mongodb://me:secret@localhost:{tls_server}/test?{trusted}&{SHORT_TIMEOUTS}")
    assert "do not agree on TLS" in str(error)
    assert "CERTIFICATE_VERIFY_FAILED" in str(error)
    assert "secret" not in str(error)


def test_a_certificate_of_another_host_is_refused(tls_server: str, certificate: Path) -> None:
    trusted = urlencode({"tls": "true", "tlsCAFile": certificate.with_suffix(".crt")})
    error = failure(f"mongodb://me:secret@127.0.0.1:{tls_server}/test?{trusted}&{SHORT_TIMEOUTS}")
    assert "do not agree on TLS" in str(error)
    assert "IP address mismatch" in str(error)
    assert "secret" not in str(error)


def test_tls_to_a_server_without_tls_is_refused(mongodb_url: str) -> None:
    assert "do not agree on TLS" in str(failure(f"{mongodb_url}?tls=true&{SHORT_TIMEOUTS}"))


def test_a_connection_without_tls_to_a_tls_server_is_refused(tls_server: str) -> None:
    error = failure(f"mongodb://localhost:{tls_server}/test?{SHORT_TIMEOUTS}")
    assert isinstance(error, StorageUnavailable)
    assert "look at" in str(error)
