"""What MX writes into the audit log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.audit_log.chain import verify
from synergy.audit_log.files import AuditLog, files, lines
from synergy.mx.access import Role
from synergy.mx.protection.csrf import SAFE
from synergy.mx.recording import MOST_REFUSALS, SHOWN, UNRECORDED
from synergy.mx.services import Services
from tests.logged import events_of
from tests.mx.asking import TOKEN, Client, local_app
from tests.mx.secured_mx import ELSEWHERE, HERE, PASSWORD, csrf_of, log_in
from tests.mx.test_security_routes import STRANGERS, filled, routes

HOUR = "2015051700"
OFF = "/api/v1/processes/Sitehourly"


@pytest.fixture
def log(world):
    return AuditLog(world.home, world.clock)


def entries(log):
    """The entries, oldest first."""
    return list(log.newest())[::-1]


def told(entry):
    return entry.who, entry.via, entry.source, entry.action


def changing(app):
    """Every route that may change something, but those of the login."""
    found = [(method, path) for method, path, _ in routes(app) if method not in SAFE]
    return [each for each in found if each not in STRANGERS]


def spoil(log):
    """Makes the audit log impossible to write."""
    log.folder.parent.mkdir(exist_ok=True)
    log.folder.touch()


# Changes


def test_a_change_is_recorded_with_its_sender_and_result(secured, log):
    client = secured.bearer("otto", Role.OPERATOR)
    answer = client.patch(OFF, json={"is_on": False, "reason": "source is moved"})
    assert answer.status_code == 200, answer.text
    begun, done = entries(log)
    (token,) = secured.book.users.tokens.values()
    assert told(begun) == told(done)
    assert told(begun) == (
        "otto",
        f"token {token.id}",
        ELSEWHERE[0],
        "PATCH /api/v1/processes/{name}",
    )
    assert begun.object == {"name": "Sitehourly", "is_on": "False"}
    assert (begun.result, done.result, done.detail, done.of) == ("begun", "done", "200", begun.seq)


def test_a_token_is_recorded_with_its_name(secured, log):
    client = secured.bearer("otto", Role.OPERATOR)
    (token,) = secured.book.users.tokens.values()
    named = replace(token, name="nightly backup")
    secured.book.change(lambda users: users.with_token(named))
    client.patch(OFF, json={"is_on": False})
    assert entries(log)[-1].via == f"token {token.id} nightly backup"


def test_every_change_that_a_route_lets_in_is_recorded(secured, log):
    """Also one that the route then refuses, as most of these are, which have no body."""
    for method, path in changing(secured.app):
        client = secured.logged_in("ada")
        before = len(entries(log))
        csrf = csrf_of(client)
        is_api = path.startswith("/api/")
        answer = client.request(
            method,
            filled(path),
            headers={"X-CSRF-Token": csrf} if is_api else {},
            data=None if is_api else {"csrf": csrf},
        )
        found = entries(log)[before:]
        if path in UNRECORDED:
            assert found == []
            continue
        assert [entry.action for entry in found] == [f"{method} {path}"] * 2
        assert found[0].result == "begun"
        assert found[1].detail == str(answer.status_code)
        assert found[1].result == ("done" if answer.status_code < 400 else "refused")
    assert verify(lines(files(log.folder))).is_whole


def test_the_jobs_of_a_change_are_recorded(secured, log):
    secured.world.schedule()
    client = secured.bearer("otto", Role.OPERATOR)
    range_ = {"process": "Sitehourly", "from": HOUR, "to": "2015051702"}
    assert client.post("/api/v1/jobs/reprocess", json=range_).status_code == 200
    assert entries(log)[-1].object == range_
    jobs = [{"process": "Sitehourly", "timeperiod": HOUR}] * 2
    assert client.post("/api/v1/jobs/reprocess", json={"jobs": jobs}).status_code == 200
    assert entries(log)[-1].object == {"jobs": f"2: Sitehourly {HOUR}, Sitehourly {HOUR}"}


def test_a_dry_run_is_not_recorded(secured, log):
    client = secured.bearer("otto", Role.OPERATOR)
    client.patch(OFF, json={"is_on": False, "dry_run": True})
    client.delete("/api/v1/schedules/a?dry_run=true")
    assert entries(log) == []
    client.patch(OFF, json={"is_on": True, "dry_run": False})
    assert len(entries(log)) == 2


@pytest.mark.parametrize("claim", ['"true"', "1", "[true]", "null"])
def test_a_change_that_only_looks_like_a_dry_run_is_recorded(secured, log, claim):
    client = secured.bearer("otto", Role.OPERATOR)
    body = f'{{"is_on": false, "dry_run": {claim}}}'
    client.patch(OFF, content=body, headers={"Content-Type": "application/json"})
    client.patch(f"{OFF}?dry_run=true", json={"is_on": False})
    assert {entry.action for entry in entries(log)} <= {"PATCH /api/v1/processes/{name}"}
    assert entries(log)


def test_a_repeated_request_is_one_act(secured, log):
    client = secured.bearer("otto", Role.OPERATOR)
    for _ in range(2):
        answer = client.post(f"{OFF}/trigger", json={}, headers={"Idempotency-Key": "once"})
        assert answer.status_code == 200
    assert len(entries(log)) == 2


def test_a_failing_handler_has_failed(secured, log, monkeypatch):
    def fail(*_args, **_more):
        raise RuntimeError("secret internals")

    monkeypatch.setattr("synergy.commands.processes.ProcessCommands.switch", fail)
    client = secured.bearer("otto", Role.OPERATOR)
    assert client.patch(OFF, json={"is_on": False}).status_code == 500
    assert (entries(log)[-1].result, entries(log)[-1].detail) == ("failed", "500")


# Logins and accounts


def test_logins_logouts_and_passwords_are_recorded(secured, log):
    client = secured.logged_in("vera")
    (login,) = entries(log)
    assert told(login) == ("vera", "password", HERE[0], "POST /login")
    new = "nine quiet green otters"
    fields = {"csrf": csrf_of(client), "current": PASSWORD, "new": new, "again": new}
    assert client.post("/account/password", data=fields).status_code == 303
    assert client.post("/logout", data={"csrf": csrf_of(client)}).status_code == 303
    assert [(entry.via, entry.action, entry.result) for entry in entries(log)[1:]] == [
        ("session", "POST /account/password", "begun"),
        ("session", "POST /account/password", "done"),
        ("session", "POST /logout", "begun"),
        ("session", "POST /logout", "done"),
    ]


def test_the_revocation_of_a_token_is_recorded_with_its_id(secured, log):
    secured.token("vera", Role.VIEWER)
    (token,) = secured.book.users.tokens.values()
    client = secured.logged_in("vera")
    data = {"csrf": csrf_of(client)}
    assert client.post(f"/account/tokens/{token.id}/revoke", data=data).status_code == 303
    assert entries(log)[-1].object == {"token": token.id}


def test_without_users_the_kind_of_access_is_recorded(world, log, tmp_path):
    place = replace(world.workplace("", "mx"), deployment=world.deployment)
    own = Client(local_app(Services.at(place)), HERE, base_url="http://localhost:5000")
    own.patch(OFF, json={"is_on": False})
    app = local_app(Services.at(place), is_own=False, home=tmp_path)
    other = Client(app, HERE, base_url="http://localhost:5000", follow_redirects=False)
    other.patch(OFF, json={"is_on": True}, headers={"Authorization": f"Bearer {TOKEN}"})
    assert log_in(other, "", TOKEN).status_code == 303
    assert [(entry.who, entry.via) for entry in entries(log)] == [
        ("local", "user of MX"),
        ("local", "user of MX"),
        ("local", "token of the home"),
        ("local", "token of the home"),
        ("local", "token of the home"),
    ]


def test_the_audit_log_holds_no_secrets(secured, log):
    secret = secured.token("ada", Role.ADMIN)
    client = secured.client(ELSEWHERE, Authorization=f"Bearer {secret}")
    body = {"name": "a", "headers": {"X-Key": "hidden value"}, "reason": "hidden reason"}
    client.post("/api/v1/schedules", json=body)
    client.post("/api/v1/jobs/skip?key=hidden", json=body)
    log_in(secured.client(), "ada")
    text = b"".join(path.read_bytes() for path in files(log.folder))
    assert text
    for each in (secret, PASSWORD, "hidden"):
        assert each.encode() not in text
    assert not {"reason", "headers", "payload", "password"} & set(SHOWN)


# Strangers


def test_strangers_add_nothing(secured, log):
    client = secured.client(ELSEWHERE)
    for method, path in changing(secured.app):
        client.request(method, filled(path))
        client.request(method, filled(path), headers={"Authorization": "Bearer synergy_x"})
    for _ in range(20):
        log_in(client, "ada", "a wrong password")
    here = secured.client(HERE)
    for path in ("/metrics", "/api/v1/metrics"):
        assert here.post(path).status_code in (403, 405)
    assert entries(log) == []


def test_changes_that_a_role_does_not_allow_are_recorded(secured, log):
    viewer = secured.bearer("vera", Role.VIEWER)
    assert viewer.post("/api/v1/jobs/skip", json={}).status_code == 403
    assert viewer.get("/api/v1/audit-log").status_code == 403
    operator = secured.bearer("otto", Role.OPERATOR)
    assert operator.post("/api/v1/queues/dead/purge", json={}).status_code == 403
    first, second = entries(log)
    assert (first.who, first.action, first.result) == ("vera", "POST /api/v1/jobs/skip", "refused")
    assert (second.who, second.action) == ("otto", "POST /api/v1/queues/dead/purge")
    assert second.detail == "this needs the role admin; yours is operator"


def test_refusals_do_not_fill_the_disk(secured, log):
    viewer = secured.bearer("vera", Role.VIEWER)
    for _ in range(3 * MOST_REFUSALS):
        assert viewer.post("/api/v1/jobs/skip", json={}).status_code == 403
    assert len(entries(log)) == MOST_REFUSALS
    secured.world.clock.advance(60)
    viewer.post("/api/v1/jobs/skip", json={})
    assert len(entries(log)) == MOST_REFUSALS + 1


# What cannot be recorded


def test_a_change_that_cannot_be_recorded_is_not_made(secured, log):
    client = secured.bearer("otto", Role.OPERATOR)
    spoil(log)
    answer = client.patch(OFF, json={"is_on": False})
    assert answer.status_code == 503
    assert "audit log is unavailable" in answer.json()["detail"]
    assert str(log.folder) not in answer.text
    assert client.get(OFF).json()["is_on"] is True


def test_a_login_that_cannot_be_recorded_gives_no_session(secured, log):
    spoil(log)
    client = secured.client()
    assert log_in(client, "ada").status_code == 503
    assert "synergy_session" not in client.cookies
    assert client.get("/account").status_code == 303


def test_a_result_that_cannot_be_recorded_is_an_error_in_the_log(secured, log, caplog, monkeypatch):
    client = secured.bearer("otto", Role.OPERATOR)

    def switch(*_args, **_more):
        log.folder.rename(log.folder.with_name("moved"))
        spoil(log)

    monkeypatch.setattr("synergy.commands.processes.ProcessCommands.switch", switch)
    client.patch(OFF, json={"is_on": False})
    assert "audit_log.failed" in events_of(caplog)


def test_a_refusal_that_cannot_be_recorded_stays_a_refusal(secured, log):
    viewer = secured.bearer("vera", Role.VIEWER)
    spoil(log)
    assert viewer.post("/api/v1/jobs/skip", json={}).status_code == 403


# Reading


def test_admins_read_the_audit_log_page_by_page(secured, log):
    for _ in range(3):
        secured.logged_in("vera")
    admin = secured.bearer("ada", Role.ADMIN)
    first = admin.read("audit-log?limit=2")
    assert [entry["seq"] for entry in first["items"]] == [3, 2]
    assert first["items"][0]["hash"] == entries(log)[-1].hash
    rest = admin.read(f"audit-log?limit=2&cursor={first['next']}")
    assert ([entry["seq"] for entry in rest["items"]], rest["next"]) == ([1], None)
