"""Settings of agents, webhooks and event sources."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import pytest

from synergy.errors import ConfigurationError
from tests.unit.config.schedules_kit import settings


def test_the_defaults_of_the_settings(project: Path) -> None:
    found = settings(project)
    assert found.schedules_update == "create"
    assert found.webhook_networks == ()
    assert found.webhook_plaintext == ()
    assert found.webhook_secrets == ()


def test_lists_are_separated_by_commas(project: Path) -> None:
    found = settings(
        project,
        SYNERGY_SCHEDULES_UPDATE="sync",
        SYNERGY_WEBHOOK_NETWORKS="10.1.0.0/16, fd00::/8 ,127.0.0.1",
        SYNERGY_WEBHOOK_PLAINTEXT="Intranet, 10.1.0.0/16, hooks.example.com, ::1",
        SYNERGY_WEBHOOK_SECRETS="newer-secret, older-secret",
    )
    assert found.schedules_update == "sync"
    assert found.webhook_networks == tuple(
        map(ip_network, ("10.1.0.0/16", "fd00::/8", "127.0.0.1/32"))
    )
    assert found.webhook_plaintext == (
        "intranet",
        ip_network("10.1.0.0/16"),
        "hooks.example.com",
        ip_network("::1"),
    )
    assert found.webhook_secrets == ("newer-secret", "older-secret")
    assert "secret" not in repr(found).replace("webhook_secrets", "")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("SCHEDULES_UPDATE", "snyc", "'snyc': did you mean sync?"),
        ("LOG_LEVEL", "debgu", "'debgu': did you mean debug?"),
        ("WEBHOOK_NETWORKS", "10.0.0.0/33", "'10.0.0.0/33': expected a network"),
        ("WEBHOOK_NETWORKS", "10.0.0.5/8", "did you mean 10.0.0.0/8?"),
        ("WEBHOOK_NETWORKS", "intranet", "'intranet': expected a network such as 10.1.0.0/16"),
        ("WEBHOOK_PLAINTEXT", "http://intranet", "'http://intranet': expected a network"),
        ("WEBHOOK_PLAINTEXT", "10.0.0.5/8", "did you mean 10.0.0.0/8?"),
        ("WEBHOOK_SECRETS", "hidden1,hidden2,hidden3", "two at most"),
        ("WEBHOOK_SECRETS", "whsec_hidden!", "is not base64"),
    ],
)
def test_settings_are_checked(project: Path, name: str, value: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        settings(project, **{f"SYNERGY_{name}": value})
    (mistake,) = raised.value.mistakes
    assert mistake.startswith(f"SYNERGY_{name}: ")
    assert reason in mistake
    assert "hidden" not in mistake


def test_a_list_of_secrets_in_a_file_is_refused_without_showing_it(project: Path) -> None:
    (project / "settings" / "dev.py").write_text("WEBHOOK_SECRETS = ['hidden']\n")
    with pytest.raises(ConfigurationError) as raised:
        settings(project)
    assert raised.value.mistakes == (
        "settings/dev.py WEBHOOK_SECRETS: expected a text with commas in it",
    )
