"""Login and logout by a browser, without scripts."""

from __future__ import annotations

import pytest

from synergy.mx.accounts import passwords
from tests.mx.secured_mx import PASSWORD, cookies_of, csrf_of_form, log_in

NEW = "nine quiet green otters"


def test_a_page_redirects_to_the_login_and_back(secured):
    client = secured.client()
    answer = client.get("/account?tab=a&b=%2F")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=/account%3Ftab%3Da%26b%3D%252F"
    page = client.get(answer.headers["location"])
    assert 'name="next" value="/account?tab=a&amp;b=%2F"' in page.text
    done = log_in(client, "vera", next_="/account?tab=a&b=%2F")
    assert (done.status_code, done.headers["location"]) == (303, "/account?tab=a&b=%2F")
    assert "vera" in client.get("/account").text


def test_a_part_redirects_the_whole_page_to_the_login(secured):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://localhost:5000/units?a=1"}
    answer = secured.client().get("/account", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == "/login?next=/units%3Fa%3D1"


def test_the_api_asks_for_authentication(secured):
    answer = secured.client().get("/api/v1/trees", headers={"Accept": "text/html"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["detail"] == "authentication required: log in, or send a token"


@pytest.mark.parametrize(
    ("name", "password"), [("vera", NEW), ("nobody", PASSWORD), ("", ""), ("vera\0", PASSWORD)]
)
def test_a_failed_login_does_not_say_why(secured, name, password):
    answer = log_in(secured.client(), name, password)
    assert answer.status_code == 401
    assert "Name or password is incorrect." in answer.text
    assert "synergy_session" not in answer.headers.get("set-cookie", "")
    assert PASSWORD not in answer.text
    assert NEW not in answer.text


def test_unknown_names_take_the_same_work(secured, monkeypatch):
    checked = []
    hasher = passwords._hasher

    class Counting:
        def hash(self, password):
            return hasher.hash(password)

        def verify(self, hash_, password):
            checked.append(hash_)
            return hasher.verify(hash_, password)

    monkeypatch.setattr(passwords, "_hasher", Counting())
    log_in(secured.client(), "nobody")
    log_in(secured.client(), "vera", NEW)
    assert len(checked) == 2
    assert all(each.startswith("$argon2id$") for each in checked)


def test_a_name_in_the_login_form_is_text(secured):
    answer = log_in(secured.client(), '"><script>x</script>', NEW)
    assert "<script>x" not in answer.text
    assert "&#34;&gt;&lt;script&gt;x" in answer.text


# Cookies


def test_cookies_are_http_only_and_same_site(secured):
    answer = log_in(secured.client(), "vera")
    for value in cookies_of(answer).values():
        assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(value.split("; "))
        assert "Domain" not in value
    value = cookies_of(answer)["synergy_session"]
    assert "Max-Age=43200" in value
    assert "Secure" not in value


def test_by_tls_cookies_are_secure_and_of_the_host(secured):
    client = secured.client(base="https://localhost:5000")
    answer = log_in(client, "vera")
    found = cookies_of(answer)
    assert set(found) == {f"__Host-synergy_{name}" for name in ("session", "login", "known")}
    assert all("Secure" in value.split("; ") for value in found.values())
    assert client.get("/account").status_code == 200
    plain = {"Cookie": f"synergy_session={client.cookies['__Host-synergy_session']}"}
    assert secured.client(base="https://localhost:5000", **plain).get("/account").status_code == 303


def test_two_cookies_with_one_name_count_as_none(secured):
    secret = secured.logged_in("vera").cookies["synergy_session"]
    client = secured.client()
    once = {"Cookie": f"a=b; synergy_session={secret}"}
    assert client.get("/account", headers=once).status_code == 200
    other = secured.logged_in("otto").cookies["synergy_session"]
    for second in ("another", other):
        twice = {"Cookie": f"synergy_session={secret}; synergy_session={second}"}
        assert client.get("/account", headers=twice).status_code == 303


# Forms


def test_the_login_form_needs_the_cookie_that_came_with_it(secured):
    client = secured.client()
    secret = csrf_of_form(client)
    fields = {"csrf": secret, "name": "vera", "password": PASSWORD}
    assert secured.client().post("/login", data=fields).status_code == 403
    assert client.post("/login", data={**fields, "csrf": ""}).status_code == 403
    client.cookies.delete("synergy_login")
    assert client.post("/login", data={**fields, "csrf": ""}).status_code == 403


@pytest.mark.parametrize(
    "body", [b"name", b"a=%ff", b"a=\xff", b"a=1&a=2", b"&".join([b"a=1"] * 50)]
)
def test_a_malformed_form_is_refused(secured, body):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert secured.client().post("/login", content=body, headers=kind).status_code == 400


def test_a_form_in_another_shape_is_refused(secured):
    assert secured.client().post("/login", json={"name": "vera"}).status_code == 415


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "/\t/evil.example", "\\\\evil",
     "/a\r\nSet-Cookie: x=y", "/a\nb", "javascript:alert(1)", "evil", "", "/" + "a" * 2000,
     "/login?next=/", "/logout", "/api/v1/gc", "/é", "/a b", " /a"],
)  # fmt: skip
def test_a_login_redirects_to_no_other_site(secured, target):
    answer = log_in(secured.client(), "vera", next_=target)
    assert answer.headers["location"] == "/"
    assert "x=y" not in answer.headers.get("set-cookie")
    shown = secured.client().get("/login", params={"next": target})
    assert 'name="next" value="/"' in shown.text
    already = secured.logged_in("vera").get("/login", params={"next": target})
    assert already.headers["location"] == "/"


@pytest.mark.parametrize("target", ["/", "/units?process=A&state=b", "/a%2F%0d", "/jobs/A/20150"])
def test_a_login_redirects_to_the_requested_page(secured, target):
    answer = log_in(secured.client(), "vera", next_=target)
    assert answer.headers["location"] == target
