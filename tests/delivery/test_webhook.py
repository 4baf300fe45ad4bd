"""Requests of webhooks, and which answers count as success or failure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib.util
import logging
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from synergy.delivery.webhook import seconds_of
from tests.delivery.conftest import NOW, MakeServices, Services, a_request
from tests.delivery.receivers import answers, hangs, receiving


def test_the_request_that_a_receiver_gets(services_with: MakeServices) -> None:
    services = services_with({"receiver.test": ["127.0.0.1"]})
    with receiving(answers("201 Created", b"thanks")) as receiver:
        url = f"http://Receiver.test:{receiver.port}/in/a%20b?token=s3cret&x=1"
        answer = services.send(
            url,
            body=b"\x00\xff body",
            headers={"X-Team": "data"},
            key="run-7",
            schedule="näht 100%",
            scheduled_at=datetime(2026, 11, 21, 14, 0, tzinfo=timezone(timedelta(hours=1))),
            attempt=3,
        )
    assert (answer.ok, answer.outcome, answer.status) == (True, "sent", 201)
    assert (answer.body, answer.error, answer.may_retry) == ("thanks", "", False)
    [call] = receiver.calls
    assert call.line == "POST /in/a%20b?token=s3cret&x=1 HTTP/1.1"
    assert call.body == b"\x00\xff body"
    headers = call.headers
    assert headers.pop("accept") == "*/*"
    assert headers.pop("user-agent").startswith("synergy/")
    assert headers == {
        "host": f"receiver.test:{receiver.port}",
        "content-length": "7",
        "content-type": "application/json",
        "accept-encoding": "identity",
        "x-team": "data",
        "idempotency-key": "run-7",
        "webhook-id": "run-7",
        "webhook-timestamp": str(int(NOW.timestamp())),
        "x-synergy-scheduled-time": "2026-11-21T13:00:00Z",
        "x-synergy-schedule": "n%C3%A4ht%20100%25",
        "x-synergy-attempt": "3",
    }


def test_a_given_content_type_is_sent_unchanged(services: Services) -> None:
    with receiving(answers()) as receiver:
        answer = services.send(
            f"http://127.0.0.1:{receiver.port}", content_type="text/csv; header=no"
        )
    assert answer.ok
    assert receiver.calls[0].headers["content-type"] == "text/csv; header=no"
    assert receiver.calls[0].line == "POST / HTTP/1.1"


def test_a_request_is_signed_with_every_current_secret(services_with: MakeServices) -> None:
    raw = b"an old key, 24 bytes ..."
    services = services_with(secrets=("whsec_" + base64.b64encode(raw).decode(), "new"))
    assert signatures(services) == signed(raw, b"new")


def test_a_request_with_secrets_of_its_own_is_signed_with_these(
    services_with: MakeServices,
) -> None:
    services = services_with(secrets=("of the deployment",))
    assert signatures(services, secrets=("own", "older")) == signed(b"own", b"older")
    assert signatures(services) == signed(b"of the deployment")
    assert signatures(services_with(), secrets=("own",)) == signed(b"own")


def signatures(services: Services, **more: Any) -> list[str]:
    """The signatures of a request with the body `{}`, the key `run-9` and the time NOW."""
    with receiving(answers()) as receiver:
        services.send(f"http://127.0.0.1:{receiver.port}/", body=b"{}", key="run-9", **more)
    headers = receiver.calls[0].headers
    assert headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    return headers["webhook-signature"].split(" ")


def signed(*secrets: bytes) -> list[str]:
    """The signatures as a receiver calculates them, by the specification."""
    timestamp, expected = str(int(NOW.timestamp())), []
    for secret in secrets:
        mac = hmac.new(secret, digestmod=hashlib.sha256)
        mac.update(b"run-9.")
        mac.update(timestamp.encode() + b".")
        mac.update(b"{}")
        expected.append("v1," + base64.b64encode(mac.digest()).decode())
    return expected


@pytest.mark.parametrize(
    ("status", "may_retry", "is_lasting", "disables"),
    [
        ("300 Multiple Choices", True, True, False),
        ("304 Not Modified", True, True, False),
        ("400 Bad Request", True, True, False),
        ("404 Not Found", True, True, False),
        ("408 Request Timeout", True, False, False),
        ("410 Gone", False, True, True),
        ("425 Too Early", True, False, False),
        ("429 Too Many Requests", True, False, False),
        ("500 Internal Server Error", True, False, False),
        ("503 Service Unavailable", True, False, False),
        ("999 Whatever", True, False, False),
    ],
)
def test_each_failure_status_says_whether_to_retry_or_disable(
    services: Services, status: str, may_retry: bool, is_lasting: bool, disables: bool
) -> None:
    with receiving(answers(status, b"no")) as receiver:
        answer = services.send(f"http://127.0.0.1:{receiver.port}/")
    assert (answer.ok, answer.outcome, answer.status) == (False, "refused", int(status[:3]))
    assert (answer.may_retry, answer.is_lasting, answer.disables) == (
        may_retry,
        is_lasting,
        disables,
    )
    assert answer.body == ("" if status.startswith("304") else "no")  # a 304 has no body
    assert f"answers {status[:3]}" in answer.error


@pytest.mark.parametrize("status", ["301", "302", "303", "307", "308"])
def test_a_redirect_is_a_failure_and_not_followed(services: Services, status: str) -> None:
    with receiving(answers()) as private:
        location = f"Location: http://127.0.0.1:{private.port}/admin"
        with receiving(answers(f"{status} Elsewhere", b"", location)) as receiver:
            answer = services.send(f"http://127.0.0.1:{receiver.port}/")
    assert (answer.ok, answer.outcome, answer.status) == (False, "refused", int(status))
    assert "not followed" in answer.error
    assert len(receiver.calls) == 1
    assert private.connections == 0


@pytest.mark.parametrize(
    ("status", "header", "wish"),
    [
        ("429 Slow", "Retry-After: 7", 7.0),
        ("503 Later", "Retry-After: 86400", 3600.0),
        ("503 Later", "Retry-After: Sat, 21 Nov 2026 12:02:00 GMT", 120.0),
        ("503 Later", "Retry-After: Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("503 Later", "Retry-After: soon", None),
        ("503 Later", "X-Nothing: 1", None),
        ("500 Broken", "Retry-After: 7", None),
    ],
)
def test_retry_after_is_read_from_answers_429_and_503(
    services: Services, status: str, header: str, wish: float | None
) -> None:
    with receiving(answers(status, b"", header)) as receiver:
        assert services.send(f"http://127.0.0.1:{receiver.port}/").retry_after == wish


@pytest.mark.parametrize("wish", ["", "-1", "1.5", "٣", "9" * 400, "Sat, 99 Nov 2026", "\x00"])
def test_unusual_retry_after_headers_are_bounded_or_ignored(wish: str) -> None:
    assert seconds_of(wish, NOW) == (3600.0 if wish.startswith("9") else None)


def test_a_long_answer_is_truncated(services: Services) -> None:
    with receiving(answers("200 OK", b"ab" * 5_000_000)) as receiver:
        answer = services.send(f"http://127.0.0.1:{receiver.port}/")
    assert (answer.ok, answer.body) == (True, "ab" * 2_048)


def test_a_long_error_answer_is_truncated(services: Services) -> None:
    with receiving(answers("500 Broken", "é".encode() * 5_000_000)) as receiver:
        answer = services.send(f"http://127.0.0.1:{receiver.port}/")
    assert (answer.outcome, answer.body) == ("refused", "é" * 2_048)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"headers": {"Host": "evil"}}, "Host: Synergy sets it"),
        ({"headers": {"content-LENGTH": "1"}}, "Synergy sets it"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "Synergy sets it"),
        ({"headers": {"idempotency-key": "1"}}, "Synergy sets it"),
        ({"headers": {"webhook-signature": "1"}}, "Synergy sets it"),
        ({"headers": {"X-Synergy-Attempt": "1"}}, "Synergy sets it"),
        ({"headers": {"X-A": "b\r\nX-C: d"}}, "one line"),
        ({"headers": {"X-A": "b\nc"}}, "one line"),
        ({"headers": {"X-A": "b\x00"}}, "one line"),
        ({"headers": {"Authorization": "s3cret "}}, "without blanks before or after it"),
        ({"headers": {"X-A": "é"}}, "ASCII"),
        ({"headers": {"X-A": "b" * 9_000}}, "longer than"),
        ({"headers": {"X-A\r\nX-B": "c"}}, "not a name"),
        ({"headers": {"": "c"}}, "not a name"),
        ({"headers": {"x-a": "1", "X-A": "2"}}, "twice"),
        ({"headers": {f"x-{n}": "1" for n in range(51)}}, "the most is 50"),
        ({"content_type": "text"}, "expected, for example"),
        ({"content_type": "text/plain\r\nX-A: b"}, "expected, for example"),
    ],
)
def test_unsendable_requests_are_not_sent(
    services: Services, more: dict[str, object], reason: str
) -> None:
    with receiving(answers()) as receiver:
        answer = services.send(f"http://127.0.0.1:{receiver.port}/", **more)
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", False)
    assert reason in answer.error
    assert "s3cret" not in answer.error
    assert receiver.connections == 0


def test_special_characters_in_ids_and_names_are_encoded_in_headers(services: Services) -> None:
    with receiving(answers()) as receiver:
        services.send(f"http://127.0.0.1:{receiver.port}/", key="a\r\nX-B: c", schedule="日\n")
    headers = receiver.calls[0].headers
    assert headers["idempotency-key"] == headers["webhook-id"] == "a%0D%0AX-B:%20c"
    assert headers["x-synergy-schedule"] == "%E6%97%A5%0A"
    assert "x-b" not in headers


def test_no_secret_of_a_url_is_logged(services: Services, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), receiving(answers()) as receiver:
        assert services.send(f"http://127.0.0.1:{receiver.port}/hook/s3cret").ok
    assert "s3cret" not in caplog.text


def test_proxies_of_the_environment_are_not_used(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving(answers("500 Proxy")) as proxy, receiving(answers()) as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert services.send(f"http://127.0.0.1:{receiver.port}/").ok
    assert proxy.connections == 0


def test_the_answer_says_how_long_it_took(services: Services) -> None:
    with receiving(hangs) as receiver:
        services.post(a_request(f"http://127.0.0.1:{receiver.port}/"))
        receiver.wait_for(1)
        services.clock.advance(2.5)
        receiver.gate.set()
        assert services.next()[1].seconds == 2.5


def test_dates_without_a_zone_are_utc() -> None:
    assert seconds_of("Sat, 21 Nov 2026 12:00:30 -0000", NOW.astimezone(UTC)) == 30.0


def test_sniffio_is_installed_for_httpcore() -> None:
    """httpcore tries to import it for each request; a failing import is slow."""
    assert importlib.util.find_spec("sniffio")
