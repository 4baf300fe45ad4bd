"""The settings of single sign-on: each is checked, and they need one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from synergy.config.loader import load_settings
from synergy.errors import ConfigurationError
from tests.unit.config.settings_kit import load

WHOLE = {
    "SYNERGY_MX_USERS_FILE": "users.json",
    "SYNERGY_MX_PUBLIC_URL": "https://synergy.example.com",
    "SYNERGY_MX_OIDC_ISSUER": "https://login.example.com/realms/ops/",
    "SYNERGY_MX_OIDC_CLIENT_ID": "synergy",
    "SYNERGY_MX_OIDC_CLIENT_SECRET": "hidden",
    "SYNERGY_MX_OIDC_ROLES": "admin=CN=leads; OU=a, operator=ops , viewer=staff,viewer=guests",
}


def mistakes(project: Path, **environ: str) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        load_settings(project, environ)
    return list(raised.value.mistakes)


def test_without_an_issuer_there_is_no_single_sign_on(project: Path) -> None:
    assert load(project).mx_oidc is None


def test_single_sign_on_is_read_as_a_whole(project: Path) -> None:
    settings = load(project, WHOLE)
    found = settings.mx_oidc
    assert found is not None
    assert found.issuer == "https://login.example.com/realms/ops/"
    assert (found.client_id, found.client_secret) == ("synergy", "hidden")
    assert found.redirect_uri == "https://synergy.example.com/login/oidc/callback"
    assert (found.name_claim, found.role_claim) == ("preferred_username", "groups")
    admin, *others = found.roles
    assert admin == ("admin", "CN=leads; OU=a")
    assert others == [("operator", "ops"), ("viewer", "staff"), ("viewer", "guests")]
    assert settings.mx_names == ("synergy.example.com",)


def test_the_secret_of_the_client_is_not_shown(project: Path) -> None:
    settings = load(project, WHOLE)
    assert "hidden" not in f"{settings!r} {settings.mx_oidc!r}"


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "SYNERGY_MX_OIDC_ISSUER"])
def test_single_sign_on_needs_all_of_its_settings(project: Path, name: str) -> None:
    given = {other: value for other, value in WHOLE.items() if other != name}
    (mistake,) = mistakes(project, **given)
    assert mistake == f"{name}: single sign-on (mx_oidc_issuer) needs this setting as well"


@pytest.mark.parametrize("name", ["MX_OIDC_ISSUER", "MX_PUBLIC_URL"])
@pytest.mark.parametrize(
    "url",
    [
        "http://login.example.com",
        "http://localhost.example.com",
        "login.example.com",
        "https://",
        "https://a?b",
        "https://a#b",
        "https://u:p@a",
        "https://a b",
        "https://a:x",
        "https://[::1",
        "ftp://a",
        "file:///etc/passwd",
    ],
)
def test_addresses_need_https(project: Path, name: str, url: str) -> None:
    (mistake,) = mistakes(project, **{**WHOLE, f"SYNERGY_{name}": url})
    assert mistake.startswith(f"SYNERGY_{name}: ")
    assert "https://HOST" in mistake
    assert "u:p@" not in mistake


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_on_this_machine_addresses_may_be_plain(project: Path, host: str) -> None:
    urls = {
        "SYNERGY_MX_OIDC_ISSUER": f"http://{host}:8080/a",
        "SYNERGY_MX_PUBLIC_URL": f"http://{host}:5000/",
    }
    found = load(project, WHOLE | urls).mx_oidc
    assert found is not None
    assert found.redirect_uri == f"http://{host}:5000/login/oidc/callback"


def test_the_public_url_has_no_path(project: Path) -> None:
    (mistake,) = mistakes(project, **{**WHOLE, "SYNERGY_MX_PUBLIC_URL": "https://a/mx"})
    assert "without a path" in mistake


@pytest.mark.parametrize("text", ["admin", "admin=", "root=a", "events=a", "Admin=a", "=a"])
def test_roles_are_pairs(project: Path, text: str) -> None:
    (mistake,) = mistakes(project, **{**WHOLE, "SYNERGY_MX_OIDC_ROLES": text})
    assert mistake.startswith("SYNERGY_MX_OIDC_ROLES: ")
    assert "expected viewer=VALUE, operator=VALUE or admin=VALUE" in mistake
