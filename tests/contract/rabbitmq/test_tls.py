"""`amqps://`: a certificate is trusted only if the configured authority signed it."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from synergy.errors import ConfigurationError, MessagingUnavailable
from synergy.messaging.amqp import Address
from synergy.messaging.rabbitmq import RabbitBus
from synergy.storage.sqlite import SqliteStore
from tests.contract.rabbitmq.kit import ONE, client, undeclared
from tests.servers.certificates import Authority, encrypted
from tests.servers.ports import free_port
from tests.servers.rabbitmq import Broker, ill_treated


@dataclass(frozen=True)
class Secure:
    """A TLS broker that requires client certificates, and the authority of both sides."""

    port: int
    authority: Authority
    folder: Path

    def url(self, host: str = "127.0.0.1", **options: object) -> str:
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"amqps://guest:guest@{host}:{self.port}/?{query}"

    def client(self) -> dict[str, object]:
        """Returns options for a client: its trusted authority, its own certificate and key."""
        certificate, key = self.authority.sign("client")
        cacert = self.authority.cacertfile
        return {"cacertfile": cacert, "certfile": certificate, "keyfile": key}


@pytest.fixture(scope="module")
def secure(rabbitmq: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    folder = tmp_path_factory.mktemp("secure")
    authority = Authority(folder, "authority")
    certificate, key = authority.sign("server")
    port = free_port()
    options = (
        f'[{{cacertfile, "{authority.cacertfile}"}}, {{certfile, "{certificate}"}}, '
        f'{{keyfile, "{key}"}}, {{verify, verify_peer}}, {{fail_if_no_peer_cert, true}}]'
    )
    listen = f'rabbit_networking:start_ssl_listener({{"127.0.0.1", {port}, auto}}, {options}, 10)'
    with ill_treated(rabbitmq, folder) as broker:
        assert broker.node is not None
        broker.node.evaluate(f"rabbit_networking:ensure_ssl(), {listen}")
        yield Secure(port, authority, folder)


def refusal(url: str) -> str:
    with (
        undeclared(url) as rabbit,
        pytest.raises((ConfigurationError, MessagingUnavailable)) as raised,
    ):
        rabbit.bus.declare(["q"])
    return str(raised.value)


def test_messages_pass_over_tls(secure: Secure) -> None:
    with (
        client(secure.url(**secure.client())) as rabbit,
        closing(rabbit.bus.consumer("q")) as consumer,
    ):
        rabbit.publish(ONE)
        assert rabbit.take(consumer, 1) == [ONE]


def test_an_untrusted_authority_is_refused(secure: Secure) -> None:
    said = refusal(secure.url())
    assert "shows a certificate that is not trusted: " in said
    assert "cacertfile in SYNERGY_BUS names the authority to trust" in said


def test_another_authority_is_refused(secure: Secure, tmp_path: Path) -> None:
    other = Authority(tmp_path, "somebody else")
    said = refusal(secure.url(**secure.client() | {"cacertfile": other.cacertfile}))
    assert "not trusted" in said


def test_a_certificate_for_another_host_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    certificate, key = authority.sign("elsewhere", "subjectAltName=DNS:elsewhere.example")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def shake_hands() -> None:
            with suppress(OSError):
                while True:
                    context.wrap_socket(listener.accept()[0], server_side=True).close()

        threading.Thread(target=shake_hands, daemon=True).start()
        port = listener.getsockname()[1]
        said = refusal(f"amqps://me:secret@127.0.0.1:{port}/?cacertfile={authority.cacertfile}")
        listener.shutdown(socket.SHUT_RDWR)
    assert "IP address mismatch" in said
    assert "the certificate must name this host" in said


def test_without_verification_any_certificate_is_accepted(secure: Secure, tmp_path: Path) -> None:
    other = Authority(tmp_path, "somebody else")
    options = secure.client() | {"cacertfile": other.cacertfile, "verify": "verify_none"}
    with client(secure.url(**options)) as rabbit:
        rabbit.publish(ONE)
        assert rabbit.bus.purge("q") == 1


def test_a_missing_client_certificate_is_explained(secure: Secure) -> None:
    said = refusal(secure.url(cacertfile=secure.authority.cacertfile))
    assert "does it require a client certificate (certfile)?" in said


@pytest.mark.parametrize("what", ["no key", "no certificate", "a locked key"])
def test_unusable_certificate_files_are_refused_when_the_bus_is_created(
    secure: Secure, tmp_path: Path, what: str
) -> None:
    options = secure.client()
    bad = tmp_path / "bad.pem"
    bad.write_text("nothing")
    if what == "no key":
        options["keyfile"] = bad
    elif what == "no certificate":
        options["cacertfile"] = bad
    else:
        options["keyfile"] = encrypted(Path(str(options["keyfile"])))
    with (
        closing(SqliteStore.open(":memory:")) as store,
        pytest.raises(ConfigurationError, match=r"SYNERGY_BUS: .*pem"),
    ):
        RabbitBus(Address.parse(secure.url(**options)), store)
