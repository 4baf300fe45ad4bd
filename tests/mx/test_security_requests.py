"""The middleware before the handlers: host names, origins, methods, headers."""

from __future__ import annotations

import re

import pytest

from synergy.mx.protection.headers import ALWAYS
from tests.mx.secured_mx import ELSEWHERE, HERE, PASSWORD, csrf_of

HOST = "http://localhost:5000"

pytestmark = pytest.mark.usefixtures("echo_routes")


# The names that MX is called by


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:81", "LOCALHOST.", "127.0.0.1:5000", "[::1]:5000", "127.9.9.9"]
)
def test_a_host_name_of_this_machine_is_accepted(client, host):
    assert client.get("/api/v1/long", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "10.1.2.3", "", "localhost/x", "a@localhost",
     "localhost:x", "[::1", "2130706433", "localhost, evil.example"],
)  # fmt: skip
def test_another_host_name_is_refused(client, host):
    answer = client.get("/static/app.css", headers={"Host": host})
    assert answer.status_code == 400
    assert "mx_names" in answer.json()["detail"]


def test_a_host_name_of_the_settings_is_accepted(secured):
    answer = secured.client().get("/login", headers={"Host": "ops.example.com"})
    assert answer.status_code == 200


# Pages of other sites


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:5001"},
        {"Origin": "http://localhost"},
        {"Origin": "ftp://localhost:5000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": HOST},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ],
)
def test_another_site_changes_nothing_even_without_users(client, headers):
    answer = client.post("/api/v1/size", json={}, headers=headers)
    assert answer.status_code == 403
    assert "cross-site" in answer.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": HOST},
        {"Origin": "HTTP://LOCALHOST:5000".lower(), "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://localhost:5000"},
    ],
)
def test_own_pages_and_programs_may_change_things(client, headers):
    assert client.post("/api/v1/size", json={}, headers=headers).status_code == 200


def test_another_site_may_link_but_not_embed(client):
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/account", headers=link).status_code == 200
    look = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert client.get("/account", headers=look).status_code == 403


def test_a_session_without_its_token_changes_nothing(secured):
    client = secured.logged_in("otto")
    assert client.post("/api/v1/size", json={}).status_code == 403
    wrong = {"X-CSRF-Token": "a" * 64}
    assert client.post("/api/v1/size", json={}, headers=wrong).status_code == 403
    other = {"X-CSRF-Token": csrf_of(secured.logged_in("otto"))}
    assert client.post("/api/v1/size", json={}, headers=other).status_code == 403
    odd = {"X-CSRF-Token": "\xfc".encode()}
    assert client.post("/api/v1/size", json={}, headers=odd).status_code == 403


def test_a_session_with_its_token_changes_things(secured):
    client = secured.logged_in("otto")
    own = {"X-CSRF-Token": csrf_of(client), "Origin": HOST}
    assert client.post("/api/v1/size", json={}, headers=own).status_code == 200
    own["Origin"] = "https://evil.example"
    assert client.post("/api/v1/size", json={}, headers=own).status_code == 403


# Credentials without TLS


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/api/v1/long", {"Authorization": "Bearer synergy_x"}),
        ("/api/v1/long", {"Cookie": "synergy_session=x"}),
        ("/metrics", {"Authorization": "Bearer synergy_x"}),
        ("/login", {}),
    ],
)
def test_credentials_need_tls_on_the_network(secured, path, headers):
    for address in (ELSEWHERE, ("10.0.0.7", 5), ("::ffff:192.168.1.5", 5)):
        answer = secured.client(address, HOST).get(path, headers=headers)
        assert answer.status_code == 403
        assert "use https://" in answer.json()["detail"]
        by_tls = secured.client(address).get(path, headers=headers)
        assert by_tls.status_code == (200 if path == "/login" else 401)
    assert secured.client(HERE, HOST).get(path, headers=headers).status_code != 403


def test_a_password_needs_tls_on_the_network(secured):
    fields = {"csrf": "x", "name": "ada", "password": PASSWORD}
    answer = secured.client(ELSEWHERE, HOST).post("/login", data=fields)
    assert answer.status_code == 403
    assert "replace a token or password" in answer.json()["detail"]


# Methods


def test_head_is_get_without_the_body(client):
    answer = client.head("/api/v1/long")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == client.get("/api/v1/long").headers["content-type"]
    assert client.head("/api/v1/nothing").status_code == 404


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "TRACE", "QUERY"])
def test_a_wrong_method_names_the_allowed_ones(client, method):
    answer = client.request(method, "/api/v1/long")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, POST, OPTIONS"
    assert answer.headers["content-type"] == "application/problem+json"


def test_options_names_the_methods_and_allows_no_other_origin(client):
    answer = client.options("/api/v1/long", headers={"Origin": "https://evil.example"})
    assert answer.status_code == 204
    assert answer.headers["allow"] == "GET, HEAD, POST, OPTIONS"
    assert not [name for name in answer.headers if name.startswith("access-control")]


# Headers


@pytest.mark.parametrize(
    "path", ["/account", "/api/v1/long", "/api/v1/nothing", "/static/app.css", "/static/none"]
)
def test_every_response_has_the_security_headers(client, path):
    headers = client.get(path).headers
    assert {name: headers[name] for name in ALWAYS} == ALWAYS
    assert "server" not in headers


def test_pages_load_nothing_but_what_they_need(client):
    policy = client.get("/account").headers["content-security-policy"]
    assert "unsafe" not in policy
    allowed = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    assert allowed.pop("img-src") == "'self' data:"  # the shapes of states are in the style sheet
    assert {allowed.pop(name) for name in ("default-src", "base-uri", "frame-ancestors")} == {
        "'none'"
    }
    assert set(allowed) == {"script-src", "style-src", "connect-src", "form-action"}
    assert set(allowed.values()) == {"'self'"}


def test_only_static_files_are_cached(client):
    def caching(path, **headers):
        return client.get(path, headers=headers).headers["cache-control"]

    assert caching("/account") == "no-store"
    assert caching("/api/v1/long") == "no-store"
    assert caching("/static/none") == "no-store"
    versioned = re.search(r'src="(/static/@[0-9a-f]{12}/app.js)"', client.get("/account").text)[1]
    assert caching(versioned) == "public, max-age=31536000, immutable"
    for path in ("/static/app.css", "/static/@000000000000/app.js"):  # of no or another version
        assert caching(path) == "no-cache"
    etag = client.get("/static/app.css").headers["etag"]
    assert client.get("/static/app.css", headers={"If-None-Match": etag}).status_code == 304


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/%00",
     "/static//etc/passwd", "/static/%5c..%5capp.py",
     "/static/@/../app.py", "/static/@0/%2e%2e/app.py", "/static/@0"],
)  # fmt: skip
def test_only_static_files_are_served(client, path):
    assert client.get(path).status_code == 404


def test_static_files_are_compressed_and_read_only(client):
    plain, packed = (
        client.get("/static/app.js", headers={"Accept-Encoding": coding})
        for coding in ("identity", "gzip")
    )
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == plain.text
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])
    refused = client.post("/static/app.js")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert client.options("/static/app.js").headers["allow"] == "GET, HEAD, OPTIONS"


def test_long_responses_are_compressed(client):
    packed = client.get("/api/v1/long", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.json() == "x" * 5000
    plain = client.get("/api/v1/long", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
