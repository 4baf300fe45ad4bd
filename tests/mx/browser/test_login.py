"""Login, logout and the limits of a viewer in a browser."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from synergy.mx.access import Role
from synergy.mx.accounts.users import UsersFile, new_user
from tests.mx.secured_mx import PASSWORD, QUICK
from tests.mx.server_kit import running
from tests.mx.sign_on_kit import signing_on

ASK = """async (token) => {
    const headers = {"Content-Type": "application/json"};
    if (token) headers["X-CSRF-Token"] = document.querySelector("meta[name=csrf]").content;
    const answer = await fetch("/api/v1/nothing", {method: "POST", headers, body: "{}"});
    return [answer.status, (await answer.json()).detail];
}"""


@pytest.fixture
def mx(place, tmp_path):
    """The address of an MX with the users vera, a viewer, and otto, an operator."""
    book = UsersFile(tmp_path / "users.json")
    for name, role in (("vera", Role.VIEWER), ("otto", Role.OPERATOR)):
        now = place.clock.now()
        book.change(lambda users, n=name, r=role, t=now: new_user(users, n, r, QUICK, t))
    with running(replace(place, mx_users_file=book.path)) as (_, port):
        yield f"http://localhost:{port}"


def log_in(page, name, password=PASSWORD):
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


@pytest.mark.parametrize("scripts", [True, False])
def test_login_and_logout_work_with_and_without_scripts(look, mx, scripts):
    page = look(f"{mx}/account", java_script_enabled=scripts)
    expect(page).to_have_url(f"{mx}/login?next=/account")
    log_in(page, "otto", "a password of another")
    expect(page.get_by_role("alert")).to_have_text("Name or password is incorrect.")
    log_in(page, "otto")
    expect(page).to_have_url(f"{mx}/account")
    expect(page.get_by_role("heading", name="otto")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{mx}/login")
    page.goto(f"{mx}/account")
    expect(page).to_have_url(f"{mx}/login?next=/account")


def test_a_page_tells_mx_when_somebody_uses_it(look, mx):
    page = look(f"{mx}/account")
    log_in(page, "otto")
    expect(page.get_by_role("heading", name="otto")).to_be_visible()

    def headers_of_live_part():
        with page.expect_request("**/troubles") as asked:
            page.evaluate("document.getElementById('troubles').dispatchEvent(new Event('refresh'))")
        return asked.value.all_headers()

    assert "x-synergy-used" not in headers_of_live_part()
    page.keyboard.press("Shift")
    told = headers_of_live_part()
    assert (told["x-synergy-used"], told["sec-fetch-mode"]) == ("1", "cors")
    assert "x-synergy-used" not in headers_of_live_part()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_browser_logs_in_through_a_provider(look, world, tmp_path, scripts):
    with signing_on(world, tmp_path) as (mx, provider):
        provider.shows_page = True  # the way back begins at another site
        page = look(f"{mx}/account", java_script_enabled=scripts)
        expect(page).to_have_url(f"{mx}/login?next=/account")
        page.get_by_role("button", name="Log in with 127.0.0.1").click()
        page.get_by_role("link", name="Log in").click()
        expect(page).to_have_url(f"{mx}/account")
        expect(page.get_by_role("heading", name="oidc:anna")).to_be_visible()
        page.get_by_role("button", name="Log out").click()
        expect(page).to_have_url(f"{mx}/login")


def test_scripts_send_the_csrf_token_of_the_session(look, mx):
    page = look(f"{mx}/account")
    log_in(page, "otto")
    expect(page.get_by_role("heading", name="otto")).to_be_visible()
    assert page.evaluate(ASK, True) == [404, "nothing found at this address"]
    status, detail = page.evaluate(ASK, False)
    assert (status, detail[:12]) == (403, "X-CSRF-Token")


def test_a_viewer_is_refused(look, mx):
    page = look(f"{mx}/account")
    log_in(page, "vera")
    expect(page.get_by_role("heading", name="vera")).to_be_visible()
    assert page.evaluate(ASK, True) == [
        403, "viewers cannot make changes: this needs the role operator",
    ]  # fmt: skip


def test_a_password_is_changed_without_scripts(look, mx):
    page = look(f"{mx}/account", java_script_enabled=False)
    log_in(page, "vera")
    for label, text in (
        ("Current password", PASSWORD),
        ("New password", "nine quiet green otters"),
        ("New password, again", "nine quiet green otters"),
    ):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Change the password").click()
    expect(page).to_have_url(f"{mx}/account")
    page.get_by_role("button", name="Log out").click()
    log_in(page, "vera", "nine quiet green otters")
    expect(page).to_have_url(f"{mx}/")
