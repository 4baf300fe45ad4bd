"""Logging in and out by a browser, without scripts."""

from __future__ import annotations

import stat
from datetime import timedelta

import pytest

from synergy.mx.access import Role
from synergy.mx.accounts import passwords
from synergy.mx.accounts.throttle import FREE, LONGEST_NAME
from tests.mx.house import ELSEWHERE, PASSWORD, csrf_of, csrf_of_form, log_in

NEW = "nine quiet green otters"


def test_pages_send_strangers_to_the_login_page_and_back(house):
    client = house.client()
    answer = client.get("/account?tab=a&b=%2F")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=/account%3Ftab%3Da%26b%3D%252F"
    page = client.get(answer.headers["location"])
    assert 'name="next" value="/account?tab=a&amp;b=%2F"' in page.text
    done = log_in(client, "vera", next_="/account?tab=a&b=%2F")
    assert (done.status_code, done.headers["location"]) == (303, "/account?tab=a&b=%2F")
    assert "vera" in client.get("/account").text


def test_parts_of_pages_have_the_whole_page_sent_there(house):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://localhost:5000/units?a=1"}
    answer = house.client().get("/account", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == "/login?next=/units%3Fa%3D1"


def test_the_api_says_that_it_knows_nobody(house):
    answer = house.client().get("/api/v1/trees", headers={"Accept": "text/html"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["detail"] == "authentication required: log in, or send a token"


@pytest.mark.parametrize(
    ("name", "password"), [("vera", NEW), ("nobody", PASSWORD), ("", ""), ("vera\0", PASSWORD)]
)
def test_what_is_wrong_is_not_told(house, name, password):
    answer = log_in(house.client(), name, password)
    assert answer.status_code == 401
    assert "Name or password is incorrect." in answer.text
    assert "synergy_session" not in answer.headers.get("set-cookie", "")
    assert PASSWORD not in answer.text
    assert NEW not in answer.text


def test_names_that_nobody_has_take_as_much_work(house, monkeypatch):
    checked = []
    hasher = passwords._hasher

    class Counting:
        def hash(self, password):
            return hasher.hash(password)

        def verify(self, hash_, password):
            checked.append(hash_)
            return hasher.verify(hash_, password)

    monkeypatch.setattr(passwords, "_hasher", Counting())
    log_in(house.client(), "nobody")
    log_in(house.client(), "vera", NEW)
    assert len(checked) == 2
    assert all(each.startswith("$argon2id$") for each in checked)


def test_a_name_that_is_told_again_is_only_a_text(house):
    answer = log_in(house.client(), '"><script>x</script>', NEW)
    assert "<script>x" not in answer.text
    assert "&#34;&gt;&lt;script&gt;x" in answer.text


# Cookies


def cookies_of(answer):
    return {
        each.partition("=")[0]: each.partition("=")[2]
        for each in answer.headers.get_list("set-cookie")
    }


def test_no_script_reads_the_cookies_and_no_other_site_sends_them(house):
    answer = log_in(house.client(), "vera")
    for value in cookies_of(answer).values():
        assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(value.split("; "))
        assert "Domain" not in value
    value = cookies_of(answer)["synergy_session"]
    assert "Max-Age=43200" in value
    assert "Secure" not in value


def test_by_tls_no_other_host_and_no_open_line_sees_them(house):
    client = house.client(base="https://localhost:5000")
    answer = log_in(client, "vera")
    found = cookies_of(answer)
    assert set(found) == {f"__Host-synergy_{name}" for name in ("session", "login", "known")}
    assert all("Secure" in value.split("; ") for value in found.values())
    assert client.get("/account").status_code == 200
    plain = {"Cookie": f"synergy_session={client.cookies['__Host-synergy_session']}"}
    assert house.client(base="https://localhost:5000", **plain).get("/account").status_code == 303


def test_two_cookies_of_one_name_are_none(house):
    secret = house.logged_in("vera").cookies["synergy_session"]
    client = house.client()
    once = {"Cookie": f"a=b; synergy_session={secret}"}
    assert client.get("/account", headers=once).status_code == 200
    other = house.logged_in("otto").cookies["synergy_session"]
    for second in ("another", other):
        twice = {"Cookie": f"synergy_session={secret}; synergy_session={second}"}
        assert client.get("/account", headers=twice).status_code == 303


# Sessions


def log_in_with(house, session):
    """Logs otto in by a browser that has this session already; the session that he gets."""
    form = house.client()
    fields = {"csrf": csrf_of_form(form), "name": "otto", "password": PASSWORD}
    cookie = f"synergy_login={form.cookies['synergy_login']}; synergy_session={session}"
    answer = house.client().post("/login", data=fields, headers={"Cookie": cookie})
    assert answer.status_code == 303
    return cookies_of(answer)["synergy_session"].partition(";")[0]


def test_each_login_has_an_id_that_nobody_had_before(house):
    made = log_in_with(house, "known-to-somebody-else")
    assert made != "known-to-somebody-else"
    assert len(made) == 43


def test_a_login_ends_the_session_that_the_browser_had(house):
    before = house.logged_in("vera")
    log_in_with(house, before.cookies["synergy_session"])
    assert before.get("/account").status_code == 303


def test_logging_out_ends_the_session_for_all_who_have_it(house):
    client = house.logged_in("vera")
    copy = house.client()
    copy.cookies.set("synergy_session", client.cookies["synergy_session"])
    assert copy.get("/account").status_code == 200
    answer = client.post("/logout", data={"csrf": csrf_of(client)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert cookies_of(answer)["synergy_session"].startswith('""; HttpOnly; Max-Age=0')
    assert copy.get("/account").status_code == 303


def test_nobody_is_logged_out_by_another_site(house):
    client = house.logged_in("vera")
    assert client.post("/logout", data={"csrf": "x"}).status_code == 403
    own = {"csrf": csrf_of(client)}
    foreign = client.post("/logout", data=own, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert client.get("/account").status_code == 200


def test_a_session_lasts_as_long_as_it_is_used_but_not_for_ever(house):
    client = house.logged_in("vera")
    for _ in range(11):
        house.world.clock.advance(3600)
        assert client.get("/account").status_code == 200
    house.world.clock.advance(3600)
    assert client.get("/account").status_code == 303


def test_a_session_that_nobody_uses_is_over(house):
    client = house.logged_in("vera")
    house.world.clock.advance(2 * 3600 - 1)
    assert client.get("/account").status_code == 200
    house.world.clock.advance(2 * 3600)
    assert client.get("/account").status_code == 303


def test_a_restart_logs_nobody_out(house):
    client = house.logged_in("vera")
    other = house.logged_in("otto")
    other.post("/logout", data={"csrf": csrf_of(other)})
    house.another()
    again = house.client()
    again.cookies.update(client.cookies)
    assert again.get("/account").status_code == 200
    gone = house.client()
    gone.cookies.update(other.cookies)
    assert gone.get("/account").status_code == 303


@pytest.mark.parametrize("change", ["removed", "demoted", "renewed", "made anew"])
def test_who_is_no_longer_the_same_has_to_log_in_again(house, change):
    from dataclasses import replace

    from synergy.mx.accounts.users import new_user

    client = house.logged_in("otto")
    now = house.world.clock.now()
    changes = {
        "removed": lambda users: users.without_user("otto"),
        "demoted": lambda users: users.with_user(replace(users.user("otto"), role=Role.VIEWER)),
        "renewed": lambda users: users.with_user(replace(users.user("otto"), password="x")),
        "made anew": lambda users: new_user(
            users.without_user("otto"),
            "otto",
            Role.OPERATOR,
            users.user("otto").password,
            now + timedelta(seconds=1),
        ),
    }
    house.book.change(changes[change])
    assert client.get("/account").status_code == 303


def test_what_is_kept_of_a_session_lets_nobody_in(house):
    client = house.logged_in("vera")
    text = house.sessions.read_text()
    assert client.cookies["synergy_session"] not in text
    assert csrf_of(client) not in text
    assert stat.S_IMODE(house.sessions.stat().st_mode) == 0o600
    assert stat.S_IMODE(house.sessions.parent.stat().st_mode) == 0o700


# Forms


def test_the_login_form_needs_the_cookie_that_came_with_it(house):
    client = house.client()
    secret = csrf_of_form(client)
    fields = {"csrf": secret, "name": "vera", "password": PASSWORD}
    assert house.client().post("/login", data=fields).status_code == 403
    assert client.post("/login", data={**fields, "csrf": ""}).status_code == 403
    client.cookies.delete("synergy_login")
    assert client.post("/login", data={**fields, "csrf": ""}).status_code == 403


@pytest.mark.parametrize(
    "body", [b"name", b"a=%ff", b"a=\xff", b"a=1&a=2", b"&".join([b"a=1"] * 50)]
)
def test_a_form_that_is_none_is_refused(house, body):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert house.client().post("/login", content=body, headers=kind).status_code == 400


def test_a_form_in_another_shape_is_refused(house):
    assert house.client().post("/login", json={"name": "vera"}).status_code == 415


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "/\t/evil.example", "\\\\evil",
     "/a\r\nSet-Cookie: x=y", "/a\nb", "javascript:alert(1)", "evil", "", "/" + "a" * 2000,
     "/login?next=/", "/logout", "/api/v1/gc", "/é", "/a b", " /a"],
)  # fmt: skip
def test_nobody_is_sent_elsewhere(house, target):
    answer = log_in(house.client(), "vera", next_=target)
    assert answer.headers["location"] == "/"
    assert "x=y" not in answer.headers.get("set-cookie")
    shown = house.client().get("/login", params={"next": target})
    assert 'name="next" value="/"' in shown.text
    already = house.logged_in("vera").get("/login", params={"next": target})
    assert already.headers["location"] == "/"


@pytest.mark.parametrize("target", ["/", "/units?process=A&state=b", "/a%2F%0d", "/jobs/A/20150"])
def test_within_mx_everybody_gets_where_he_wanted(house, target):
    answer = log_in(house.client(), "vera", next_=target)
    assert answer.headers["location"] == target


# Guessing


def test_who_guesses_a_password_waits_ever_longer(house):
    for _ in range(FREE):
        assert log_in(house.client(), "vera", NEW).status_code == 401
    answer = log_in(house.client(), "vera")
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    assert "try again in 1 seconds" in answer.text
    house.world.clock.advance(1)
    assert log_in(house.client(), "vera", NEW).status_code == 401
    assert log_in(house.client(), "vera").headers["retry-after"] == "2"
    house.world.clock.advance(2)
    assert log_in(house.client(), "vera").status_code == 303


def test_nobody_locks_somebody_else_out_for_long(house):
    for number in range(40):
        log_in(house.client((f"203.0.113.{number}", 1)), "vera", NEW)
        house.world.clock.advance(LONGEST_NAME)
    assert log_in(house.client(), "vera").status_code == 303


def test_an_address_that_tries_many_names_waits_too(house):
    for number in range(FREE):
        assert log_in(house.client(ELSEWHERE), f"user{number}", NEW).status_code == 401
    assert log_in(house.client(ELSEWHERE), "vera").status_code == 429
    assert log_in(house.client(), "vera").status_code == 303


def test_logging_in_oneself_makes_no_guesses_free(house):
    for _ in range(FREE - 1):
        assert log_in(house.client(ELSEWHERE), "vera", NEW).status_code == 401
        assert log_in(house.client(ELSEWHERE), "otto").status_code == 303
    assert log_in(house.client(ELSEWHERE), "vera", NEW).status_code == 401
    assert log_in(house.client(ELSEWHERE), "otto").status_code == 429


# The account


def change(client, current=PASSWORD, new=NEW, again=NEW):
    fields = {"csrf": csrf_of(client), "current": current, "new": new, "again": again}
    return client.post("/account/password", data=fields)


def test_a_new_password_ends_all_other_sessions(house):
    client, other = house.logged_in("vera"), house.logged_in("vera")
    before = client.cookies["synergy_session"]
    assert change(client).status_code == 303
    assert client.cookies["synergy_session"] != before
    assert client.get("/account").status_code == 200
    assert other.get("/account").status_code == 303
    assert log_in(house.client(), "vera").status_code == 401
    assert log_in(house.client(), "vera", NEW).status_code == 303


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"current": NEW}, "Current password is incorrect."),
        ({"again": "something else"}, "The new passwords do not match."),
        ({"new": "short", "again": "short"}, "a password must have 12 to 1,024 characters"),
        ({"new": "vera" * 4, "again": "vera" * 4}, "too simple"),
    ],
)
def test_a_password_is_not_changed_just_so(house, given, said):
    client = house.logged_in("vera")
    answer = change(client, **given)
    assert answer.status_code == 422
    assert said in answer.text
    assert log_in(house.client(), "vera").status_code == 303


def test_the_present_password_is_not_guessed_here_either(house):
    client = house.logged_in("vera")
    for _ in range(FREE):
        assert change(client, current="x").status_code == 422
    assert change(client).status_code == 429


def test_a_token_changes_no_password(house):
    client = house.bearer("vera", Role.VIEWER)
    fields = {"current": PASSWORD, "new": NEW, "again": NEW}
    assert client.post("/account/password", data=fields).status_code == 404


def test_everybody_sees_and_revokes_his_own_tokens_only(house):
    secret = house.token("vera", Role.VIEWER)
    id_ = next(iter(house.book.users.tokens.values())).id
    otto = house.logged_in("otto")
    assert id_ not in otto.get("/account").text
    path = f"/account/tokens/{id_}/revoke"
    assert otto.post(path, data={"csrf": csrf_of(otto)}).status_code == 404
    program = house.client(ELSEWHERE, Authorization=f"Bearer {secret}")
    assert program.get("/account").status_code == 200
    vera = house.logged_in("vera")
    assert id_ in vera.get("/account").text
    assert secret not in vera.get("/account").text
    assert vera.post(path, data={"csrf": csrf_of(vera)}).status_code == 303
    assert program.get("/api/openapi.json").status_code == 401


def test_only_an_admin_sees_who_there_is(house):
    assert "otto" not in house.logged_in("vera").get("/account").text
    page = house.logged_in("ada").get("/account").text
    assert all(name in page for name in ("vera", "otto", "ada"))
    assert "argon2" not in page


def test_where_nobody_has_to_log_in_there_is_no_login(client):
    assert client.get("/login", follow_redirects=False).headers["location"] == "/"
    assert "No login needed" in client.get("/account").text
