"""Sessions: their begin, use, end and file."""

from __future__ import annotations

import stat
from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.mx.access import Role
from synergy.mx.accounts.sessions import AHEAD, IDLE, LIFE, MOST, Session, Sessions
from synergy.mx.accounts.users import User
from synergy.mx.services import Services
from tests.factories import NOW
from tests.mx.asking import TOKEN, Client, local_app
from tests.mx.secured_mx import HERE, PASSWORD, base_of, cookies_of, csrf_of, csrf_of_form, log_in

NEW = "nine quiet green otters"


# Sessions


def log_in_with(secured, session):
    """Logs otto in with a browser that has this session; returns the new session."""
    form = secured.client()
    fields = {"csrf": csrf_of_form(form), "name": "otto", "password": PASSWORD}
    cookie = f"synergy_login={form.cookies['synergy_login']}; synergy_session={session}"
    answer = secured.client().post("/login", data=fields, headers={"Cookie": cookie})
    assert answer.status_code == 303
    return cookies_of(answer)["synergy_session"].partition(";")[0]


def test_each_login_has_a_new_session_id(secured):
    made = log_in_with(secured, "known-to-somebody-else")
    assert made != "known-to-somebody-else"
    assert len(made) == 43


def test_a_login_ends_the_session_that_the_browser_had(secured):
    before = secured.logged_in("vera")
    log_in_with(secured, before.cookies["synergy_session"])
    assert before.get("/account").status_code == 303


def test_logging_out_ends_the_session_everywhere(secured):
    client = secured.logged_in("vera")
    copy = secured.client()
    copy.cookies.set("synergy_session", client.cookies["synergy_session"])
    assert copy.get("/account").status_code == 200
    answer = client.post("/logout", data={"csrf": csrf_of(client)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert cookies_of(answer)["synergy_session"].startswith('""; HttpOnly; Max-Age=0')
    assert copy.get("/account").status_code == 303


def test_another_site_cannot_log_a_user_out(secured):
    client = secured.logged_in("vera")
    assert client.post("/logout", data={"csrf": "x"}).status_code == 403
    own = {"csrf": csrf_of(client)}
    foreign = client.post("/logout", data=own, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert client.get("/account").status_code == 200


def test_a_session_in_use_ends_after_12_hours(secured):
    client = secured.logged_in("vera")
    for _ in range(12 * 3 - 1):
        secured.world.clock.advance(20 * 60)
        assert client.get("/account").status_code == 200
    secured.world.clock.advance(20 * 60)
    assert client.get("/account").status_code == 303


def test_an_unused_session_ends_after_half_an_hour(secured):
    client = secured.logged_in("vera")
    secured.world.clock.advance(30 * 60 - 1)
    assert client.get("/account").status_code == 200
    secured.world.clock.advance(30 * 60)
    assert client.get("/account").status_code == 303


@pytest.mark.parametrize("more", [{}, {"X-Synergy-Used": "1"}])
def test_an_open_page_alone_keeps_no_session_alive(secured, more):
    client = secured.logged_in("vera")
    asked = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Site": "same-origin", "HX-Request": "true"}
    for _ in range(29):
        secured.world.clock.advance(60)
        assert client.get("/troubles", headers=asked).status_code == 200
    client.get("/troubles", headers={**asked, **more})
    secured.world.clock.advance(60)
    assert client.get("/troubles", headers=asked).status_code == (200 if more else 401)


def test_changes_and_opened_pages_keep_a_session_alive(secured):
    client = secured.logged_in("otto")
    csrf = csrf_of(client)
    own = {"Sec-Fetch-Site": "same-origin"}
    for _ in range(3):
        secured.world.clock.advance(29 * 60)
        assert client.get("/", headers={**own, "Sec-Fetch-Mode": "navigate"}).status_code == 200
        secured.world.clock.advance(29 * 60)
        headers = {**own, "Sec-Fetch-Mode": "cors", "X-CSRF-Token": csrf}
        assert client.post("/api/v1/nothing", json={}, headers=headers).status_code == 404


def test_the_settings_say_when_an_unused_session_ends(tmp_path):
    sessions = Sessions(tmp_path / "sessions.json", timedelta(minutes=5))
    made = sessions.open(OTTO, NOW)
    assert sessions.user_of(made, otto_of, NOW + timedelta(minutes=4)) == OTTO
    assert sessions.user_of(made, otto_of, NOW + timedelta(minutes=9)) is None


def test_all_sessions_of_a_user_end_at_once(secured):
    here, there = (secured.logged_in("vera") for _ in range(2))
    other, program = secured.logged_in("otto"), secured.bearer("vera", Role.VIEWER)
    assert here.post("/account/sessions/end", data={"csrf": "x"}).status_code == 403
    assert there.get("/account").status_code == 200
    answer = here.post("/account/sessions/end", data={"csrf": csrf_of(here)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    for ended in (here, there):
        assert ended.get("/account").status_code == 303
    assert other.get("/account").status_code == 200
    assert program.get("/account").status_code == 200
    assert program.post("/account/sessions/end").status_code == 404


def test_sessions_of_the_token_of_the_home_end_at_once(world, tmp_path):
    place = replace(world.workplace("", "mx"), deployment=world.deployment)
    app = local_app(Services.at(place), is_own=False, home=tmp_path)
    clients = [Client(app, HERE, base_url=base_of(HERE), follow_redirects=False) for _ in range(2)]
    for client in clients:
        assert log_in(client, "", TOKEN).status_code == 303
    clients[0].post("/account/sessions/end", data={"csrf": csrf_of(clients[0])})
    assert [client.get("/account").status_code for client in clients] == [303, 303]


def test_sessions_survive_a_restart(secured):
    client = secured.logged_in("vera")
    other = secured.logged_in("otto")
    other.post("/logout", data={"csrf": csrf_of(other)})
    secured.another()
    again = secured.client()
    again.cookies.update(client.cookies)
    assert again.get("/account").status_code == 200
    gone = secured.client()
    gone.cookies.update(other.cookies)
    assert gone.get("/account").status_code == 303


@pytest.mark.parametrize("change", ["removed", "demoted", "renewed", "made anew"])
def test_a_changed_user_has_to_log_in_again(secured, change):
    from dataclasses import replace

    from synergy.mx.accounts.users import new_user

    client = secured.logged_in("otto")
    now = secured.world.clock.now()
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
    secured.book.change(changes[change])
    assert client.get("/account").status_code == 303


def test_the_sessions_file_holds_no_secret(secured):
    client = secured.logged_in("vera")
    text = secured.sessions.read_text()
    assert client.cookies["synergy_session"] not in text
    assert csrf_of(client) not in text
    assert stat.S_IMODE(secured.sessions.stat().st_mode) == 0o600
    assert stat.S_IMODE(secured.sessions.parent.stat().st_mode) == 0o700


# The account


def change(client, current=PASSWORD, new=NEW, again=NEW):
    fields = {"csrf": csrf_of(client), "current": current, "new": new, "again": again}
    return client.post("/account/password", data=fields)


OTTO = User("otto", Role.OPERATOR, "hash", NOW)


def otto_of(session):
    """The user of a session, as the users file has it."""
    return {"otto": OTTO}.get(session.user)


# Sessions


def test_sessions_per_user_are_bounded(tmp_path):
    sessions = Sessions(tmp_path / "sessions.json")
    made = [sessions.open(OTTO, NOW + timedelta(seconds=each)) for each in range(MOST + 1)]
    later = NOW + timedelta(minutes=1)
    assert sessions.user_of(made[0], otto_of, later) is None
    assert all(sessions.user_of(each, otto_of, later) == OTTO for each in made[1:])


def test_ended_sessions_are_not_kept(tmp_path):
    sessions = Sessions(tmp_path / "sessions.json")
    sessions.open(OTTO, NOW)
    sessions.open(OTTO, NOW + timedelta(hours=13))
    assert (tmp_path / "sessions.json").read_text().count('"user"') == 1


def test_the_time_of_use_is_written_once_a_minute(tmp_path):
    file = tmp_path / "sessions.json"
    sessions = Sessions(file)
    made = sessions.open(OTTO, NOW)
    first = file.read_text()
    sessions.user_of(made, otto_of, NOW + timedelta(seconds=59))
    assert file.read_text() == first
    sessions.user_of(made, otto_of, NOW + timedelta(seconds=60))
    assert "12:01:00" in file.read_text()


# Clocks


def session(created, seen):
    return Session("", "ada", "", created, seen)


def test_a_clock_that_was_ahead_makes_no_lasting_session():
    assert session(NOW + timedelta(days=400), NOW).has_ended(NOW, IDLE)
    assert session(NOW - IDLE, NOW + LIFE).has_ended(NOW, IDLE)
    assert not session(NOW + AHEAD, NOW + AHEAD).has_ended(NOW, IDLE)
    assert session(NOW - LIFE, NOW).has_ended(NOW, IDLE)
