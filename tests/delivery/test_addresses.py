"""Addresses that a webhook may reach, and that it reaches no others."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from synergy.delivery.addresses import AddressRules
from tests.delivery.conftest import MakeServices, Services
from tests.delivery.receivers import Receiver, answers, receiving, says
from tests.servers.certificates import Authority


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",  # metadata at Alibaba
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",  # Azure's own
        "169.254.169.254",  # metadata nearly everywhere
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",  # metadata at Oracle
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::10.0.0.1",
        "100::1",
        "2001::1",  # Teredo
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::",  # 6to4 of 127.0.0.1
        "2002:a9fe:a9fe::1",
        "2002:c0a8:101::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",  # metadata at Amazon
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
    ],
)
def test_a_private_address_among_those_of_a_name_is_refused(address: str) -> None:
    assert AddressRules().refusal([ip_address(address)])
    assert AddressRules().refusal([ip_address("93.184.216.34"), ip_address(address)])
    assert AddressRules().refusal([ip_address(address), ip_address("93.184.216.34")])


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "168.63.129.17",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450:4001::200e",
        "64:ff9b::1.1.1.1",
        "2002:101:101::1",
        "::ffff:1.1.1.1",
    ],
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert AddressRules().refusal([ip_address(address)]) == ""


@pytest.mark.parametrize(
    ("address", "network", "is_allowed"),
    [
        ("10.1.2.3", "10.1.0.0/16", True),
        ("10.2.2.3", "10.1.0.0/16", False),
        ("::ffff:10.1.2.3", "10.1.0.0/16", True),
        ("64:ff9b::10.1.2.3", "10.1.0.0/16", True),
        ("64:ff9b::10.1.2.3", "64:ff9b::/96", True),
        ("fd00::1", "fd00::/8", True),
        ("::1", "127.0.0.0/8", False),
        ("169.254.169.254", "10.0.0.0/8", False),
    ],
)
def test_private_addresses_are_allowed_only_in_configured_networks(
    address: str, network: str, is_allowed: bool
) -> None:
    assert (AddressRules((ip_network(network),)).refusal([ip_address(address)]) == "") is is_allowed


def test_all_addresses_have_to_be_allowed() -> None:
    both = [ip_address("10.0.0.1"), ip_address("192.168.0.1")]
    assert "192.168.0.1" in AddressRules((ip_network("10.0.0.0/8"),)).refusal(both)
    networks = (ip_network("10.0.0.0/8"), ip_network("192.168.0.0/16"))
    assert AddressRules(networks).refusal(both) == ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving(answers()) as receiver:
        yield receiver


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "LOCALHOST.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ],
)
def test_no_spelling_of_a_local_address_reaches_this_machine(
    services_with: MakeServices, receiver: Receiver, host: str
) -> None:
    answer = services_with(rules=AddressRules()).send(f"http://{host}:{receiver.port}/")
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "blocked", False)
    assert "webhook_networks does not allow it" in answer.error
    assert receiver.connections == 0


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"])
def test_any_spelling_of_an_allowed_address_works(
    services: Services, receiver: Receiver, host: str
) -> None:
    assert services.send(f"http://{host}:{receiver.port}/").ok
    assert receiver.calls[0].headers["host"].endswith(f":{receiver.port}")


def test_ipv6_addresses_are_reached_and_blocked_like_others(services_with: MakeServices) -> None:
    with receiving(answers(), "::1") as receiver:
        assert services_with().send(f"http://[::1]:{receiver.port}/").ok
        assert receiver.calls[0].headers["host"] == f"[::1]:{receiver.port}"
        named = services_with({"six.test": ["::1"]})
        assert named.send(f"http://six.test:{receiver.port}/").ok
        blocked = services_with(rules=AddressRules((ip_network("127.0.0.0/8"),)))
        assert blocked.send(f"http://[::1]:{receiver.port}/").outcome == "blocked"
    assert receiver.connections == 2


@pytest.mark.parametrize(
    "found", [["127.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["127.0.0.1", "1.1.1.1"]]
)
def test_a_name_that_resolves_to_a_private_address_is_blocked(
    services_with: MakeServices, receiver: Receiver, found: list[str]
) -> None:
    services = services_with({"inner.test": found}, rules=AddressRules())
    answer = services.send(f"http://inner.test:{receiver.port}/")
    assert (answer.outcome, answer.may_retry) == ("blocked", False)
    assert "127.0.0.1 is loopback" in answer.error
    assert receiver.connections == 0


def test_the_connection_uses_the_address_that_was_checked(
    services_with: MakeServices, receiver: Receiver
) -> None:
    """Only 127.0.0.1 is allowed; a second lookup would return 127.0.0.2, which is blocked."""
    names = {"rebinding.test": ["127.0.0.1"]}
    services = services_with(names, rules=AddressRules((ip_network("127.0.0.1/32"),)))
    looked_up = services.sender._resolver._resolve

    def once(host: str, port: int) -> object:
        found = looked_up(host, port)
        names[host] = ["127.0.0.2"]
        return found

    services.sender._resolver._resolve = once  # type: ignore[assignment]
    url = f"http://rebinding.test:{receiver.port}/"
    assert services.send(url).ok
    assert services.asked == ["rebinding.test"]
    assert receiver.calls[0].headers["host"] == f"rebinding.test:{receiver.port}"
    assert services.send(url).outcome == "blocked"
    assert services.asked == ["rebinding.test"] * 2
    assert receiver.connections == 1


def test_a_name_that_is_not_found_may_be_retried(services_with: MakeServices) -> None:
    answer = services_with({"nowhere.test": []}).send("https://nowhere.test/")
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)
    assert answer.error.endswith(": its name is not found: Name or service not known")


# TLS: the connection uses the checked address, the certificate must match the name


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "authority")


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.cacertfile))


def _tls(pair: tuple[Path, Path], names: list[str | None]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)

    def seen(_socket: object, name: str | None, _context: object) -> None:
        names.append(name)

    context.sni_callback = seen
    return context


@pytest.mark.usefixtures("trusted")
def test_the_certificate_must_match_the_name_in_the_url(
    services_with: MakeServices, authority: Authority
) -> None:
    names: list[str | None] = []
    tls = _tls(authority.sign("receiver", "subjectAltName=DNS:receiver.test"), names)
    with receiving(answers(), tls=tls) as receiver:
        services = services_with({"receiver.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]})
        assert services.send(f"https://receiver.test:{receiver.port}/").ok
        assert receiver.calls[0].headers["host"] == f"receiver.test:{receiver.port}"
        other = services.send(f"https://other.test:{receiver.port}/")
        by_address = services.send(f"https://127.0.0.1:{receiver.port}/")
    assert names == ["receiver.test", "other.test", None]
    for answer in (other, by_address):
        assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)
        assert "certificate" in answer.error
    assert len(receiver.calls) == 1


@pytest.mark.usefixtures("trusted")
def test_a_certificate_for_an_ip_address_is_accepted(
    services: Services, authority: Authority
) -> None:
    tls = _tls(authority.sign("address", "subjectAltName=IP:127.0.0.1"), [])
    with receiving(answers(), tls=tls) as receiver:
        assert services.send(f"https://127.0.0.1:{receiver.port}/").ok


def test_a_certificate_of_an_unknown_authority_is_refused(
    services: Services, authority: Authority
) -> None:
    tls = _tls(authority.sign("unknown", "subjectAltName=IP:127.0.0.1"), [])
    with receiving(answers(), tls=tls) as receiver:
        answer = services.send(f"https://127.0.0.1:{receiver.port}/")
    assert (answer.ok, answer.outcome) == (False, "failed")
    assert "certificate verify failed" in answer.error
    assert receiver.calls == []


def test_a_server_without_tls_is_refused(services: Services) -> None:
    with receiving(says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), reads=False) as receiver:
        answer = services.send(f"https://127.0.0.1:{receiver.port}/")
    assert (answer.ok, answer.outcome, answer.status) == (False, "failed", None)
