"""Settings: files by environment, overridden by variables."""

from __future__ import annotations

import socket
from datetime import timedelta
from pathlib import Path

import pytest

from synergy.clock import SystemClock
from synergy.config.loader import check
from synergy.config.settings import NAMES
from synergy.model.retention import Retention
from tests.unit.config.kit import managed, one
from tests.unit.config.settings_kit import PROJECT, load, write


def test_settings_have_the_documented_defaults() -> None:
    settings = load(PROJECT)
    home = PROJECT / "var"
    assert settings.env == "dev"
    assert settings.home == home
    assert settings.store == f"sqlite:///{home}/synergy.db"
    assert settings.store_file == home / "synergy.db"
    assert settings.bus == "store:"
    assert settings.box_id == f"dev-{socket.gethostname()}"
    assert settings.context == "context"
    assert settings.start_timeperiod is None
    assert (settings.mx_host, settings.mx_port) == ("127.0.0.1", 5000)
    assert settings.mx_users_file is None
    assert settings.demo_stream is True
    assert settings.retention == Retention()
    assert isinstance(settings.clock, SystemClock)


@pytest.mark.parametrize("env", ["prod", "test"])
def test_the_demo_stream_runs_in_dev_only(env: str) -> None:
    assert load(PROJECT, {"SYNERGY_ENV": env}).demo_stream is False


def test_settings_files_set_each_setting_and_nothing_else() -> None:
    text = (PROJECT / "settings" / "base.py").read_text()
    names = {
        line.split(" ")[0] for line in text.splitlines() if line[:1].isupper() and " = " in line
    }
    assert {name.lower() for name in names} == set(NAMES)


def test_an_empty_project_has_the_same_defaults(project: Path) -> None:
    settings = load(project)
    assert settings.home == project / "var"
    assert settings.store_file == project / "var" / "synergy.db"
    assert settings.demo_stream is False


def test_a_project_needs_no_settings_files(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.env, settings.home) == ("dev", tmp_path / "var")
    (tmp_path / "settings").mkdir()
    write(tmp_path, "eu-west.prod", "MX_PORT = 1002\n")
    assert load(tmp_path).mx_port == 5000
    found = load(tmp_path, {"SYNERGY_ENV": "eu-west.prod"})
    assert (found.env, found.mx_port) == ("eu-west.prod", 1002)


def test_variables_override_the_environment_file_which_overrides_base(project: Path) -> None:
    write(project, "base", "MX_PORT = 1001\nBOX_ID = 'base'\nCONTEXT = 'base'\n")
    write(project, "dev", "MX_PORT = 1002\nBOX_ID = 'dev'\n")
    settings = load(project, {"SYNERGY_MX_PORT": "1003"})
    assert (settings.mx_port, settings.box_id, settings.context) == (1003, "dev", "base")
    assert load(project, {"SYNERGY_ENV": "prod"}).mx_port == 1001


def test_the_retention_of_each_kind_is_set(project: Path) -> None:
    settings = load(project, {"SYNERGY_RETENTION": "units=36h"})
    assert settings.retention == Retention(units=timedelta(hours=36))


def test_an_empty_variable_counts_as_not_set(project: Path) -> None:
    write(project, "dev", "MX_PORT = 1002\n")
    assert load(project, {"SYNERGY_MX_PORT": "", "SYNERGY_ENV": ""}).mx_port == 1002


@pytest.mark.parametrize(
    ("home", "expected"),
    [("data", "{project}/data"), ("/srv/synergy", "/srv/synergy"), ("~/synergy", "{user}/synergy")],
)
def test_home_may_be_relative_to_the_project_or_to_the_user(
    project: Path, monkeypatch: pytest.MonkeyPatch, home: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/users/me")
    settings = load(project, {"SYNERGY_HOME": home})
    assert str(settings.home) == expected.format(project=project, user="/users/me")
    assert settings.store_file == settings.home / "synergy.db"


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:////srv/a.db", "/srv/a.db"),
        ("sqlite:///data/a.db", "{project}/data/a.db"),
        ("sqlite:///<home>/a.db", "{project}/var/a.db"),
    ],
)
def test_the_store_may_be_a_file(project: Path, url: str, file: str) -> None:
    settings = load(project, {"SYNERGY_STORE": url})
    assert str(settings.store_file) == file.format(project=project)


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://localhost/synergy",
        "mongodb://u:p%40%2F@a:27017,b:27018/synergy?replicaSet=rs0&tls=true",
        "mongodb+srv://cluster.example.com/synergy",
    ],
)
def test_the_store_may_be_a_database(project: Path, url: str) -> None:
    settings = load(project, {"SYNERGY_STORE": url})
    assert settings.store == url
    assert settings.store_file is None


@pytest.mark.parametrize(("text", "user"), [("", None), ("root", 0), ("101", 101)])
def test_the_user_of_a_proxy_is_a_name_or_a_number(
    project: Path, text: str, user: int | None
) -> None:
    assert load(project, {"SYNERGY_MX_PROXY_USER": text}).mx_proxy_user == user


def test_the_names_of_mx_are_separated_by_commas(project: Path) -> None:
    assert load(project).mx_names == ()
    environ = {"SYNERGY_MX_NAMES": " ops.example.com,10.1.2.3 ,"}
    assert load(project, environ).mx_names == ("ops.example.com", "10.1.2.3")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:5000/"),
        ("[::1]", "http://[::1]:5000/"),
        ("0.0.0.0", "http://127.0.0.1:5000/"),
        ("::", "http://[::1]:5000/"),
        ("ops.example.com", "http://ops.example.com:5000/"),
    ],
)
def test_the_url_of_mx_follows_its_host(project: Path, host: str, url: str) -> None:
    environ = {"SYNERGY_MX_HOST": host, "SYNERGY_MX_USERS_FILE": "users"}
    assert load(project, environ).mx_url == url


def test_unprotected_connections_are_warnings(project: Path) -> None:
    one(project, managed("p", "hourly"))
    found = check(
        project,
        {
            "SYNERGY_STORE": "mongodb://me:a-random-s3cret@db-1/synergy?replicaSet=rs0",
            "SYNERGY_BUS": "amqps://me:a-random-s3cret@mq-1/?verify=verify_none",
        },
        imports=False,
    )
    assert found.warnings == (
        "SYNERGY_STORE: data and password are sent in clear text to db-1: add tls=true",
        "SYNERGY_BUS: verify=verify_none lets any server pose as RabbitMQ",
    )
    several = "mongodb://me:a-random-p%40ss@127.0.0.1:27017,[::1]:27018/db?replicaSet=rs0"
    assert check(project, {"SYNERGY_STORE": several}, imports=False).warnings == ()
