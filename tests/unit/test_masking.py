"""Secrets in texts: recognized by value or by shape, and nothing else is touched."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from synergy.config.loader import load_settings
from synergy.config.secrets import secrets_in
from synergy.names import local_token
from synergy.runtime.masking import know, mask

PASSWORD = "Gx!7/q@w"
ENCODED = "Gx%217%2Fq%40w"
TOKEN = "synergy_" + "aB3_" * 11


@pytest.fixture(autouse=True)
def _nothing_is_known() -> Iterator[None]:
    know(())
    yield
    know(())


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        # URLs
        ("to amqp://u:p@h/v", "to amqp://u:***@h/v"),
        ("amqp://u:p/q@r@h/v", "amqp://u:***@h/v"),
        ("amqp://u@corp:p@h/v", "amqp://u@corp:***@h/v"),
        (
            "mongodb://u:p@h1,h2/db?tlsCertificateKeyFilePassword=x&w=1",
            "mongodb://u:***@h1,h2/db?tlsCertificateKeyFilePassword=***&w=1",
        ),
        ("https://ghp_x@github.com/a", "https://***@github.com/a"),
        ("GET https://h/x?sig=t&sv=1 failed", "GET https://h/x?sig=***&sv=1 failed"),
        ("https://h/?access_token=a-b&X-Api-Key=c", "https://h/?access_token=***&X-Api-Key=***"),
        (
            "https://hooks.slack.com/services/T0/B0/xyz: 404",
            "https://hooks.slack.com/services/*** 404",
        ),
        (
            "http://127.0.0.1/services/T0123456/B0123456/xyz refused",
            "http://127.0.0.1/services/T0123456/B0123456/*** refused",
        ),
        ("https://discord.com/api/webhooks/1/xyz", "https://discord.com/api/webhooks/***"),
        # names and values
        ("token=abc x", "token=*** x"),
        ("API_KEY = abc", "API_KEY = ***"),
        ("password='a b' x", "password='***' x"),
        ('{"password": "a\\"b", "n": 1}', '{"password": "***", "n": 1}'),
        ('"{\\"client_secret\\": \\"a b\\"}"', '"{\\"client_secret\\": \\"***\\"}"'),
        ("AWS_SECRET_ACCESS_KEY=a/b+c", "AWS_SECRET_ACCESS_KEY=***"),
        ("PGPASSWORD=x MYSQL_PWD=y PWD=/z", "PGPASSWORD=*** MYSQL_PWD=*** PWD=/z"),
        # headers
        ("authorization: Basic dXNlcjpw", "authorization: Basic ***"),
        ("{'Authorization': 'Bearer abc def'}", "{'Authorization': 'Bearer ***'}"),
        ("Authorization: 0123456789abcdef", "Authorization: ***"),
        ("it sent bearer abc.def-1", "it sent bearer ***"),
        ("> X-Api-Key: abc", "> X-Api-Key: ***"),
        ("Set-Cookie: a=b; Secure", "Set-Cookie: ***"),
        # secrets with a prefix
        ("as AKIAABCDEFGHIJKLMNOP", "as ***"),
        ("as ASIAABCDEFGHIJKLMNOP", "as ***"),
        (f"<{TOKEN}>", "<***>"),
        ("whsec_MfKQ9r8G", "***"),
    ],
)
def test_secrets_are_recognized_by_their_shape(text: str, masked: str) -> None:
    found = mask(text)
    assert found == masked
    assert mask(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "process p: token: expected a text",
        "headers: Authorization: expected a text",
        "expected Authorization: Bearer TOKEN",
        "mongodb://anna@h/db?w=1",
        "amqp://h/v?exchange=e&routing_key=orders&monkey=b",
        "the cookie synergy_session ended",
        "unit 20261121-000017: 3 tokens, basic access, secret",
        "https://h/services/T1/B2/x",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(
    "written",
    [PASSWORD, ENCODED, ENCODED.replace("%2F", "/"), 'x"' + PASSWORD + '"y'],
)
def test_a_known_secret_is_masked_in_every_form(written: str) -> None:
    for given in (PASSWORD, ENCODED):
        know([given])
        masked = mask(f"login of {written} failed")
        assert "***" in masked
        assert "q" not in masked


def test_a_known_secret_is_masked_as_json_writes_it() -> None:
    know(['quo"te\\x'])
    assert mask('{"a": "quo\\"te\\\\x"}') == '{"a": "***"}'


@pytest.mark.parametrize(
    "written",
    [
        "p%c3%a4+ss%2fw%26%3c",
        "p%C3%A4%20ss%2fw%26%3C".lower(),
        "p\\u00e4 ss\\/w&<",
        "pä ss/w\\u0026\\u003c",
        "p\\\\u00e4 ss/w&<",
        "pä ss/w&amp;&lt;",
        "p\\xc3\\xa4 ss/w&<",
    ],
)
def test_a_known_secret_is_masked_as_other_programs_write_it(written: str) -> None:
    know(["pä ss/w&<"])
    assert mask(f"it is {written}.") == "it is ***."


@pytest.mark.parametrize("encoded", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "u:", "me:", "anna:"])
@pytest.mark.parametrize("after", ["", "x", "xy", "xyz"])
def test_a_known_secret_is_masked_in_base64(
    encoded: Callable[[bytes], bytes], before: str, after: str
) -> None:
    secret = "?geh>eim~~"
    know([secret])
    found = mask(encoded(f"{before}{secret}{after}".encode()).decode())
    around = len(encoded(before.encode())) + len(encoded(after.encode()))
    assert "***" in found
    assert len(found) <= around + len("***") + 4, "of the secret one group of four is left at most"
    assert mask(found) == found


def test_the_longer_of_two_known_secrets_is_masked_as_a_whole() -> None:
    know(["geheim", "geheimnis"])
    assert mask("geheimnis geheim") == "*** ***"


def test_short_values_would_be_in_words_and_are_not_masked() -> None:
    know(["guest", "", "a"])
    assert mask("the guest has a key") == "the guest has a key"


def test_a_password_that_the_rest_of_its_url_shows_is_masked_by_its_shape_only(
    tmp_path: Path,
) -> None:
    (tmp_path / "settings").mkdir()
    for name in ("base", "dev"):
        (tmp_path / "settings" / f"{name}.py").write_text("")
    load_settings(tmp_path, {"SYNERGY_BUS": "amqp://synergy:synergy@h/v"})
    assert mask("/opt/synergy: amqp://synergy:synergy@h") == "/opt/synergy: amqp://synergy:***@h"


def test_all_secrets_of_settings_environment_and_home_are_known(tmp_path: Path) -> None:
    home = tmp_path / "home"
    local_token(home).parent.mkdir(parents=True)
    local_token(home).write_text("token-of-the-home\n")
    environ = {
        "SYNERGY_HOME": str(home),
        "SYNERGY_STORE": "mongodb://u:mongo%2Fcanary@h1,h2/db?tlsCertificateKeyFilePassword=pem-pw",
        "SYNERGY_BUS": "amqp://u:rabbit-canary@h/v",
        "SYNERGY_WEBHOOK_SECRETS": "whsec_d2hzZWM=,other-canary",
        "SYNERGY_MX_OIDC_CLIENT_SECRET": "oidc-canary",
        "AWS_SECRET_ACCESS_KEY": "aws-canary",
        "AWS_SESSION_TOKEN": "session-canary",
    }
    (tmp_path / "settings").mkdir()
    for name in ("base", "dev"):
        (tmp_path / "settings" / f"{name}.py").write_text("")
    load_settings(tmp_path, environ)
    secrets = (
        "mongo%2Fcanary",
        "mongo/canary",
        "pem-pw",
        "rabbit-canary",
        "d2hzZWM=",
        "other-canary",
        "oidc-canary",
        "aws-canary",
        "session-canary",
        "token-of-the-home",
    )
    for secret in secrets:
        assert mask(f"it is {secret}.") == "it is ***.", secret
    load_settings(tmp_path, {"SYNERGY_HOME": str(tmp_path)})
    assert mask("rabbit-canary") == "rabbit-canary"


@pytest.mark.parametrize("hosts", ["h1,h2", "127.0.0.1:27017,[::1]:27018", "[::1]", "[::1"])
def test_the_password_for_several_hosts_is_known(hosts: str) -> None:
    url = f"mongodb://me:p%40ss@{hosts}/db?replicaSet=rs0&tlsCertificateKeyFilePassword=pem"
    assert list(secrets_in("store", url)) == ["p%40ss", "pem"]
