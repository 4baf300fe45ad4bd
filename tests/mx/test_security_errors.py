"""No error response reveals a traceback, a path or a secret; the log has the details."""

from __future__ import annotations

import logging

import pytest

from synergy.errors import (
    ConfigurationError,
    InvalidValue,
    LostAttempt,
    MessagingUnavailable,
    Refused,
    StorageUnavailable,
)
from synergy.mx.access import Operator, Role, Viewer
from synergy.mx.bodies import Action
from synergy.mx.protection.request_log import REFUSED
from tests.mx.secured_mx import ELSEWHERE

SECRET = "amqp://me:hunter2@bus/v"
INSIDE = "/srv/synergy/var/synergy.db"

ERRORS = {
    "unexpected": (RuntimeError(f"{INSIDE} {SECRET}"), 500),
    "system": (OSError(2, "No such file", INSIDE), 500),
    "lost": (LostAttempt(INSIDE), 500),
    "store": (StorageUnavailable(f"{INSIDE} is locked"), 503),
    "bus": (MessagingUnavailable(f"no answer from {SECRET}"), 503),
    "refused": (Refused(f"not to {SECRET}"), 409),
    "invalid": (InvalidValue(f"{SECRET} is no target"), 422),
    "context": (ConfigurationError([f"a: {SECRET}", "b"]), 422),
}


def own(caplog):
    """The log records of MX, without those of the test client."""
    return [each for each in caplog.records if each.name.startswith("synergy")]


def take(body: Action, _: Operator) -> str:
    return body.reason


@pytest.fixture(autouse=True)
def _routes(client):
    def fail(kind: str, _: Viewer) -> None:
        raise ERRORS[kind][0]

    client.app.add_api_route("/api/v1/fail/{kind}", fail)
    client.app.add_api_route("/fail/{kind}", fail)
    client.app.add_api_route("/api/v1/take", take, methods=["POST"])


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("accept", ["*/*", "text/html"])
@pytest.mark.parametrize("prefix", ["/api/v1", ""])
def test_no_error_reveals_internals(client, kind, accept, prefix):
    answer = client.get(f"{prefix}/fail/{kind}", headers={"Accept": accept})
    assert answer.status_code == ERRORS[kind][1]
    shown = answer.text.replace('data-program="launch.py"', "")  # for commands to be copied
    for word in ("hunter2", INSIDE, "Traceback", "RuntimeError", ".py"):
        assert word not in shown
    is_page = accept == "text/html" and not prefix
    expected = "text/html; charset=utf-8" if is_page else "application/problem+json"
    assert answer.headers["content-type"] == expected
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.status_code == 503:
        assert answer.headers["retry-after"] == "5"


def test_the_log_holds_the_error(client, caplog):
    with caplog.at_level(logging.INFO):
        client.get("/api/v1/fail/unexpected")
    (failed,) = [each for each in own(caplog) if each.event == "mx.failed"]
    assert INSIDE in str(failed.exc_info)


def test_a_broken_error_page_becomes_a_problem(client, monkeypatch):
    def broken(*_args, **_values):
        raise StorageUnavailable(INSIDE)

    monkeypatch.setattr("synergy.mx.error_responses.page", broken)
    answer = client.get("/nothing", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"", 422),
        (b"\xff\xfe", 400),
        (b'"x"', 422),
        (b'{"reason": 5}', 422),
        (b'{"reason": "\\ud800"}', 422),
        (b'{"\\ud800": 1}', 422),
        (b'{"' + b"x" * 100_000 + b'": 1}', 422),
        (b"[" * 100_000, 400),
        (b'{"reason": ' + b"9" * 5000 + b"}", 400),
        (b'{"reason": NaN}', 400),
        (b"{" + b",".join(b'"f%d": 1' % n for n in range(5000)) + b"}", 422),
    ],
)
def test_every_malformed_body_gets_a_short_problem(client, body, status):
    answer = client.post("/api/v1/take", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text[:500]
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.content) < 20_000
    assert answer.json()["detail"]


@pytest.mark.parametrize("text", ["a%0d%0aX-Evil:%201", "%0aX-Evil:1", "<script>x</script>"])
def test_addresses_become_no_header_and_no_script(client, text):
    for path in (f"/{text}", f"/api/v1/{text}", f"/?a={text}"):
        answer = client.get(path, headers={"Accept": "text/html"}, follow_redirects=False)
        assert "x-evil" not in answer.headers
        assert "<script>x" not in answer.text


def test_the_log_of_requests_holds_no_secrets(secured, caplog):
    from tests.mx.secured_mx import PASSWORD, csrf_of, log_in

    with caplog.at_level(logging.INFO):
        client = secured.client()
        log_in(client, "otto", PASSWORD, next_="/?q=secretword")
        csrf = csrf_of(client)
        client.get("/events?q=secretword")
        client.post("/api/v1/nothing?q=secretword", json={}, headers={"X-CSRF-Token": csrf})
        client.get("/api/v1/a%0Ab", headers={"Authorization": "Bearer secretword"})
    done = [each for each in own(caplog) if each.event == "request.done"]
    assert [(each.method, each.path, each.status, each.person) for each in done] == [
        ("POST", "/login", 303, None),
        ("POST", "/api/v1/nothing", 404, "otto"),
        ("GET", "/api/v1/a\nb", 401, None),
    ]
    assert all(each.ms == 0 and each.client == "127.0.0.1" for each in done)
    told = " ".join(str(vars(each)) for each in own(caplog))
    for word in ("secretword", PASSWORD, csrf, client.cookies["synergy_session"]):
        assert word not in told


def test_a_stranger_does_not_fill_the_log(secured, caplog):
    stranger, user = secured.client(ELSEWHERE), secured.bearer("otto", Role.OPERATOR)
    secured.app.add_api_route("/api/v1/take", take, methods=["POST"])
    many = REFUSED.burst + 30
    with caplog.at_level(logging.INFO):
        for _ in range(many):
            stranger.request("A" * 300, "/api/v1/nothing")
        secured.client().get("/api/v1/nothing")
        user.post("/api/v1/take", json={})
    done = [each for each in own(caplog) if each.event == "request.done"]
    assert [each.client for each in done[REFUSED.burst :]] == ["127.0.0.1", ELSEWHERE[0]]
    assert done[REFUSED.burst].left_out == 30
    assert (done[-1].person, done[-1].status) == ("otto", 200)
    assert max(len(each.getMessage()) for each in done) < 100


def test_changes_are_always_logged(secured, caplog):
    secured.app.add_api_route("/api/v1/take", take, methods=["POST"])
    user = secured.bearer("otto", Role.OPERATOR)
    with caplog.at_level(logging.INFO):
        for _ in range(REFUSED.burst + 5):
            user.post("/api/v1/take", json={})
    done = [each for each in own(caplog) if each.event == "request.done"]
    assert len(done) == REFUSED.burst + 5


def test_an_unreadable_users_file_stops_all_logins(secured, caplog):
    client = secured.logged_in("otto")
    secured.file.chmod(0o644)
    answer = client.get("/api/openapi.json")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "authentication is unavailable; see the MX log"
    assert str(secured.file) not in answer.text
    assert str(secured.file) in caplog.text
    secured.file.chmod(0o600)
    assert client.get("/api/openapi.json").status_code == 200
