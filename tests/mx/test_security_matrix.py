"""Every route grants each kind of sender what the tables here say.

The routes come from the application, the expectations from `AREAS` and `SINGLE`: a route of another
area, or with another method, has no expectation and fails. Each of the `SENDERS` sends one request
to each route; `pytest --junit-xml` reports the counts by outcome.

Only the access rule of a route is tested, with an empty request. What a handler then does, or
refuses for other reasons, is tested elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import pytest

from synergy.mx.access import Role
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.accounts.cookies import LOGIN, SESSION
from synergy.mx.services import Services
from tests.mx.asking import TOKEN, Client, local_app
from tests.mx.secured_mx import ELSEWHERE, HERE, PASSWORD, SecuredMx, base_of, cookie_of, csrf_of
from tests.mx.test_security_routes import filled, routes

# Who may use a route
EVERYONE = "everyone"
MONITORING = "viewers, and programs of this machine without a login"
VIEWERS = "viewers, operators and admins"
OPERATORS = "operators and admins"
ADMINS = "admins"
PUBLISHERS = "operators, admins, and tokens for events"

PAGES = [
    "",
    "audit",
    "boxes",
    "events",
    "jobs",
    "journal",
    "logs",
    "processes",
    "queues",
    "runs",
    "schedules",
    "timetable",
    "troubles",
    "units",
]  # the first is the overview
READ = [
    "audit",
    "boxes",
    "events",
    "gc",
    "jobs",
    "journal",
    "logs",
    "operations",
    "processes",
    "queues",
    "runs",
    "schedules",
    "store",
    "stream",
    "trees",
    "units",
    "verdict",
]
CHANGED = ("gc", "jobs", "processes", "queues", "runs", "schedules", "units")
PROBES = ("healthz", "livez", "readyz", "metrics")

AREAS = {
    **{("GET", f"/{area}"): VIEWERS for area in (*PAGES, "account")},
    **{("GET", f"/api/v1/{area}"): VIEWERS for area in READ},
    **{("POST", f"/api/v1/{area}"): OPERATORS for area in CHANGED},
    **{("GET", f"{prefix}/{name}"): MONITORING for prefix in ("", "/api/v1") for name in PROBES},
    ("POST", "/account"): VIEWERS,  # a user's own password and tokens
    ("PUT", "/api/v1/boxes"): OPERATORS,
    ("PATCH", "/api/v1/processes"): OPERATORS,
    ("PUT", "/api/v1/schedules"): OPERATORS,
    ("DELETE", "/api/v1/schedules"): OPERATORS,
}
"""By method and area: the first segment of the path; in the API, the one after `/api/v1`."""

SINGLE = {
    ("GET", "/login"): EVERYONE,
    ("POST", "/login"): EVERYONE,
    ("POST", "/login/oidc"): EVERYONE,
    ("GET", "/login/oidc/callback"): EVERYONE,
    ("POST", "/logout"): VIEWERS,
    ("GET", "/api/openapi.json"): MONITORING,
    ("GET", "/schedules/new"): OPERATORS,
    ("GET", "/schedules/{name}/edit"): OPERATORS,
    ("GET", "/api/v1/audit-log"): ADMINS,
    ("POST", "/api/v1/events"): PUBLISHERS,
    ("POST", "/api/v1/timetable/extend"): ADMINS,
    ("POST", "/api/v1/queues/dead/purge"): ADMINS,
    ("POST", "/api/v1/queues/{name}/purge"): ADMINS,
}
"""Single routes, which differ from their area or have none."""

GRANTED, LOGIN_REQUIRED, FORBIDDEN = "granted", "login required", "forbidden"
ALL = {EVERYONE, MONITORING, VIEWERS, OPERATORS, ADMINS, PUBLISHERS}
OF_OPERATORS = ALL - {ADMINS}
OF_VIEWERS = {EVERYONE, MONITORING, VIEWERS}
NAMES = {Role.VIEWER: "vera", Role.OPERATOR: "otto", Role.ADMIN: "ada", Role.EVENTS: "ada"}


# Senders


def session(role: Role, mx: SecuredMx) -> Client:
    return mx.logged_in(NAMES[role], address=ELSEWHERE)


def ended_session(mx: SecuredMx) -> Client:
    client = session(Role.ADMIN, mx)
    name = cookie_of(client, SESSION)
    secret = client.cookies[name]
    assert client.post("/logout", data={"csrf": csrf_of(client)}).status_code == 303
    client.cookies.set(name, secret, domain="localhost.local")
    return client


def token(role: Role, mx: SecuredMx) -> Client:
    return mx.bearer(NAMES[role], role)


def expired_token(mx: SecuredMx) -> Client:
    secret = mx.token("ada", Role.ADMIN, days=1)
    mx.world.clock.advance(86_400)
    return mx.client(Authorization=f"Bearer {secret}")


def revoked_token(mx: SecuredMx) -> Client:
    client = token(Role.ADMIN, mx)
    for each in mx.book.users.tokens.values():
        mx.book.change(lambda users, id_=each.id: users.without_token(id_))
    return client


def without_users(
    mx: SecuredMx, *, is_own: bool = False, address: tuple[str, int] = HERE, secret: str = ""
) -> Client:
    """A client of MX without users."""
    place = replace(mx.world.workplace("", "mx"), deployment=mx.world.deployment)
    app = local_app(Services.at(place), is_own=is_own, home=mx.folder)
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return Client(app, address, base_url=base_of(address), headers=headers, follow_redirects=False)


@dataclass(frozen=True)
class Sender:
    """How a kind of sender connects, what it may use, and the outcome of everything else.

    `but` has the outcomes that differ from both.
    """

    enter: Callable[[SecuredMx], Client]
    may: set[str]
    otherwise: str = FORBIDDEN
    but: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def expects(self, method: str, path: str) -> str:
        granted = GRANTED if expected_of(method, path) in self.may else self.otherwise
        return self.but.get((method, path), granted)


SENDERS = {
    "nobody, on this machine": Sender(SecuredMx.client, {EVERYONE, MONITORING}, LOGIN_REQUIRED),
    "nobody, on another machine": Sender(
        partial(SecuredMx.client, address=ELSEWHERE), {EVERYONE}, LOGIN_REQUIRED
    ),
    "session of a viewer": Sender(partial(session, Role.VIEWER), OF_VIEWERS),
    "session of an operator": Sender(partial(session, Role.OPERATOR), OF_OPERATORS),
    "session of an admin": Sender(partial(session, Role.ADMIN), ALL),
    "session that has ended": Sender(ended_session, {EVERYONE}, LOGIN_REQUIRED),
    "token of a viewer": Sender(partial(token, Role.VIEWER), OF_VIEWERS),
    "token of an operator": Sender(partial(token, Role.OPERATOR), OF_OPERATORS),
    "token of an admin": Sender(partial(token, Role.ADMIN), ALL),
    "token for events": Sender(partial(token, Role.EVENTS), {PUBLISHERS}),
    "expired token": Sender(expired_token, set(), LOGIN_REQUIRED),  # opens not even the login page
    "revoked token": Sender(revoked_token, set(), LOGIN_REQUIRED),
    "without users: the own user": Sender(partial(without_users, is_own=True), ALL),
    "without users: another user of this machine": Sender(
        without_users, {EVERYONE}, LOGIN_REQUIRED
    ),
    "without users: another user, with the token": Sender(
        partial(without_users, secret=TOKEN), ALL
    ),
    "without users: another machine, with the token": Sender(
        partial(without_users, address=ELSEWHERE, secret=TOKEN),
        {EVERYONE},
        LOGIN_REQUIRED,
        but={("POST", "/login"): FORBIDDEN},  # it says that only this machine may
    ),
}


# The matrix


def area_of(path: str) -> str:
    prefix = "/api/v1/" if path.startswith("/api/v1/") else "/"
    return prefix + path.removeprefix(prefix).partition("/")[0]


def expected_of(method: str, path: str) -> str:
    """Who may use a route; fails for a route that the tables do not know."""
    found = SINGLE.get((method, path)) or AREAS.get((method, area_of(path)))
    assert found is not None, f"{method} {path} has no expectation: add who may use it"
    return found


def is_form(method: str, path: str) -> bool:
    return method != "GET" and not path.startswith("/api/")


def request(client: Client, method: str, path: str):
    """The response to a request with valid CSRF protection; only forms of the login have fields."""
    has_session = (
        cookie_of(client, SESSION) in client.cookies and client.get("/account").status_code == 200
    )
    csrf = csrf_of(client) if has_session else ""
    if not is_form(method, path):
        return client.request(method, filled(path), headers={"X-CSRF-Token": csrf})
    client.cookies.set(cookie_of(client, LOGIN), "known")
    has_users = isinstance(client.app.state.authenticator.logins, Accounts)
    fields = {
        "csrf": "known" if path.startswith("/login") else csrf,
        "name": "vera",
        "password": PASSWORD if has_users else TOKEN,
    }
    return client.request(method, filled(path), data=fields)


def outcome_of(answer) -> str:
    is_logout = SESSION in answer.headers.get("set-cookie", "")
    leads_to_login = answer.headers.get("location", "").startswith("/login") and not is_logout
    if answer.status_code == 401 or leads_to_login:
        return LOGIN_REQUIRED
    if answer.status_code == 403:
        return FORBIDDEN
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    return GRANTED


@pytest.mark.parametrize("kind", SENDERS)
def test_every_route_grants_each_sender_what_it_should(secured, kind, record_property):
    sender = SENDERS[kind]
    client, counts = sender.enter(secured), Counter()
    client.app.state.services.stream.stop()  # it would not end
    for method, path, _ in routes(client.app):
        # Forms set cookies, and may end the session: each is sent by a client of its own.
        asking = sender.enter(secured) if is_form(method, path) else client
        outcome = outcome_of(request(asking, method, path))
        if path == "/account/sessions/end":
            client = sender.enter(secured)  # its session may have ended as well
        expected = sender.expects(method, path)
        assert outcome == expected, f"{kind}: {method} {path} is {outcome}, not {expected}"
        counts[outcome] += 1
    record_property("cells", dict(counts))


def test_a_route_without_an_expectation_fails(secured):
    for method, path in (("DELETE", "/api/v1/jobs"), ("GET", "/api/v1/new"), ("POST", "/journal")):
        with pytest.raises(AssertionError, match="has no expectation"):
            expected_of(method, path)


def test_every_expectation_has_a_route(secured):
    found = {(method, path) for method, path, _ in routes(secured.app)}
    assert set(SINGLE) <= found
    assert {(method, area_of(path)) for method, path in found - set(SINGLE)} == set(AREAS)
