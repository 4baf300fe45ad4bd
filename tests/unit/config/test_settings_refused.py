"""Each setting is checked; all mistakes are listed at once, without passwords."""

from __future__ import annotations

from pathlib import Path

import pytest

from synergy.clock import SteppedClock
from synergy.config.loader import check, load_settings
from synergy.errors import ConfigurationError
from synergy.runtime.masking import mask
from tests.unit.config.settings_kit import PROJECT, load, write


def mistakes(project: Path, **environ: str) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        load_settings(project, environ)
    return list(raised.value.mistakes)


def only_mistake(project: Path, **environ: str) -> str:
    (mistake,) = mistakes(project, **environ)
    return mistake


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("SYNERGY_ENV", "pord", "did you mean prod?"),
        ("SYNERGY_ENV", "base", "expected one of dev, prod"),
        ("SYNERGY_ENV", "../dev", "no settings for '../dev'"),
        ("SYNERGY_STORE", "mongodb://h:27017", "expected the name of a database"),
        ("SYNERGY_STORE", "mongodb://u:p/w@h/db", "@ is written %40"),
        ("SYNERGY_STORE", "mongodb://u:p@w@h/db", "@ is written %40"),
        ("SYNERGY_STORE", "mongodb:///db", "expected a host"),
        ("SYNERGY_STORE", "mongodb://[::1/db", "expected a host"),
        ("SYNERGY_STORE", "mongodb://h/d b", "no name of a database"),
        ("SYNERGY_STORE", "mongodb://h/a/b", "no name of a database"),
        ("SYNERGY_STORE", "postgres://h/db", "expected sqlite:///FILE"),
        ("SYNERGY_STORE", "/srv/a.db", "expected sqlite:///FILE"),
        ("SYNERGY_STORE", "sqlite:///", "expected sqlite:///FILE"),
        ("SYNERGY_STORE", "sqlite://a.db", "expected sqlite:///FILE"),
        ("SYNERGY_STORE", "sqlite:///:memory:", "cannot be shared"),
        ("SYNERGY_BUS", "amqp://", "expected a host"),
        ("SYNERGY_BUS", "amqp://u:p@:5672/v", "expected a host"),
        ("SYNERGY_BUS", "amqp://u:p@h:0x/v", "expected a number as port"),
        ("SYNERGY_BUS", "amqp://u:p@h:0/v", "expected a host"),
        ("SYNERGY_BUS", "amqp://u:p@[::1/v", "the host cannot be read"),
        ("SYNERGY_BUS", "amqp://u:p/w@h/v", "/ %2F"),
        ("SYNERGY_BUS", "amqp://u:p@w@h/v", "@ is written %40"),
        ("SYNERGY_BUS", "amqp://u@h/a/b", "/ %2F"),
        ("SYNERGY_BUS", "amqp://u:p#@h/v", "# %23"),
        ("SYNERGY_BUS", "amqp://h/v?cacertfile=/ca.pem", "only amqps:// has certificates"),
        ("SYNERGY_BUS", "amqps://h/v?cafile=/ca.pem", "did you mean cacertfile"),
        ("SYNERGY_BUS", "amqps://h/v?heartbeat=1", "expected one of cacertfile"),
        ("SYNERGY_BUS", "amqps://h/v?cacertfile=/no/such.pem", "there is no file '/no/such.pem'"),
        ("SYNERGY_BUS", "amqps://h/v?verify=no", "expected verify_peer or verify_none"),
        ("SYNERGY_BUS", "amqps://h/v?verify", "bad query field"),
        ("SYNERGY_BUS", f"amqps://h/v?keyfile={__file__}", "keyfile without certfile"),
        ("SYNERGY_BUS", "rabbit://h/v", "expected store:"),
        ("SYNERGY_BUS", "store", "expected store:"),
        ("SYNERGY_RETENTION", "jurnal=3d", "did you mean journal?"),
        ("SYNERGY_RETENTION", "journal=3", "expected days or hours"),
        ("SYNERGY_BOX_ID", "a box", "expected at most 64 letters"),
        ("SYNERGY_BOX_ID", "x" * 65, "expected at most 64 letters"),
        ("SYNERGY_BOX_ID", "../x", "expected at most 64 letters"),
        ("SYNERGY_CONTEXT", "context.py/", "expected a module's name"),
        ("SYNERGY_START_TIMEPERIOD", "17 May", "expected YYYYMMDDHH or YYYY-MM-DDTHH"),
        ("SYNERGY_START_TIMEPERIOD", "2015-05-17T10:30", "expected 2015-05-17T10"),
        ("SYNERGY_START_TIMEPERIOD", "9000010100", "is in the future"),
        ("SYNERGY_MX_HOST", "0.0.0.0", "set mx_users_file"),
        ("SYNERGY_MX_HOST", "a b", "expected a host name"),
        ("SYNERGY_MX_PORT", "0", "expected a port, 1 to 65535"),
        ("SYNERGY_MX_PORT", "65536", "expected a port"),
        ("SYNERGY_MX_PORT", "-1", "expected a port"),
        ("SYNERGY_MX_PORT", "http", "expected a port"),
        ("SYNERGY_MX_SESSION_IDLE", "4", "expected minutes, 5 to 720"),
        ("SYNERGY_MX_SESSION_IDLE", "721", "expected minutes"),
        ("SYNERGY_MX_SESSION_IDLE", "30m", "expected minutes"),
        ("SYNERGY_MX_USERS_FILE", "~nobody-of-that-name/x", "cannot be resolved"),
        ("SYNERGY_MX_PROXY_USER", "no-such-user", "expected a user, such as www-data"),
        ("SYNERGY_MX_NAMES", "a.example.com, http://b", "'http://b': expected the name of a host"),
        ("SYNERGY_MX_NAMES", "a:5000", "without port"),
        ("SYNERGY_DEMO_STREAM", "of", "expected on or off"),
        ("SYNERGY_CLOCK", "noon", "expected an instant"),
        ("SYNERGY_HOME", "settings/base.py", "is not a folder"),
        ("SYNERGY_HOME", "~nobody-of-that-name/x", "cannot be resolved"),
    ],
)
def test_each_value_is_checked(project: Path, variable: str, value: str, reason: str) -> None:
    mistake = only_mistake(project, **{variable: value})
    assert mistake.startswith(variable)
    assert reason in mistake


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("MX_PORT", "True", "expected a port"),
        ("MX_PORT", "50.5", "expected a port"),
        ("STORE", "5", "expected a text, not 5"),
        ("DEMO_STREAM", "1", "expected on or off"),
        ("DEMO_STREAM", "['on']", "expected on or off"),
    ],
)
def test_values_in_files_are_checked(project: Path, name: str, text: str, reason: str) -> None:
    write(project, "dev", f"{name} = {text}\n")
    mistake = only_mistake(project)
    assert mistake.startswith(f"settings/dev.py {name}: ")
    assert reason in mistake


def test_on_and_off_may_be_true_and_false_in_files(project: Path) -> None:
    write(project, "dev", "DEMO_STREAM = True\n")
    assert load(project).demo_stream is True
    assert load(project, {"SYNERGY_DEMO_STREAM": "OFF"}).demo_stream is False


def test_unknown_names_come_with_a_suggestion(project: Path) -> None:
    write(project, "dev", "BOXID = 'x'\nlower = 'not a setting'\n")
    found = mistakes(project, SYNERGY_STOER="x", SYNERGY_ZZZ="x")
    assert found[0] == "settings/dev.py: unknown setting boxid: did you mean box_id?"
    assert found[1] == "SYNERGY_STOER: unknown setting stoer: did you mean store?"
    assert found[2].startswith("SYNERGY_ZZZ: unknown setting zzz: expected one of box_id, bus, ")


def test_internal_variables_are_not_settings(project: Path) -> None:
    own = ["RUN", "READY_FD", "NO_VENV", "UNIT", "TIMEPERIOD", "GENERATION", "ATTEMPT"]
    own += ["IDEMPOTENCY_KEY", "TEST_ANYTHING"]
    load(project, {f"SYNERGY_{name}": "x" for name in own} | {"PATH": "/bin", "synergy_x": "1"})


def test_all_mistakes_are_listed_at_once(project: Path) -> None:
    write(project, "base", "MX_PRT = 1\n")
    found = mistakes(project, SYNERGY_STORE="x", SYNERGY_MX_PORT="x", SYNERGY_ENV="x")
    assert len(found) == 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A = 1\nB = (\n", "settings/dev.py line 2: SyntaxError"),
        ("import os\nMX_PORT = int('x')\n", "settings/dev.py line 2: ValueError: invalid literal"),
        ("raise SystemExit(3)\n", "settings/dev.py line 1: SystemExit: 3"),
    ],
)
def test_an_error_in_a_settings_file_is_a_mistake(project: Path, text: str, reason: str) -> None:
    write(project, "dev", text)
    assert only_mistake(project).startswith(reason)


def test_an_environment_without_a_settings_file_is_a_mistake(project: Path, tmp_path: Path) -> None:
    write(project, "eu-west.prod", "")
    assert only_mistake(project, SYNERGY_ENV="pord") == (
        "SYNERGY_ENV: no settings for 'pord': did you mean prod? "
        "settings/ has dev, eu-west.prod, prod"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    found = only_mistake(empty, SYNERGY_ENV="dev")
    assert found == "SYNERGY_ENV: no settings for 'dev': there are none"


def test_the_start_must_not_lie_after_the_clock_of_the_settings(project: Path) -> None:
    environ = {"SYNERGY_CLOCK": "2015-05-17T05:30Z", "SYNERGY_START_TIMEPERIOD": "2015051705"}
    settings = load(project, environ)
    assert isinstance(settings.clock, SteppedClock)
    assert settings.start_timeperiod == "2015051705"
    for written in ("2015-05-17T05", "2015-05-17 05:00Z"):
        environ["SYNERGY_START_TIMEPERIOD"] = written
        assert load(project, environ).start_timeperiod == "2015051705"
    environ["SYNERGY_START_TIMEPERIOD"] = "2015-05"
    assert load(project, environ).start_timeperiod == "2015050100"
    environ["SYNERGY_START_TIMEPERIOD"] = "2015051706"
    assert "in the future" in only_mistake(project, **environ)


def test_a_host_beyond_loopback_needs_users(project: Path) -> None:
    (project / "users").write_text("")
    environ = {"SYNERGY_MX_HOST": "box7.example.com", "SYNERGY_MX_USERS_FILE": "users"}
    settings = load(project, environ)
    assert settings.mx_users_file == project / "users"
    for host in ("localhost", "127.0.0.9", "::1", "[::1]"):
        assert load(project, {"SYNERGY_MX_HOST": host}).mx_host == host


def test_tls_needs_certificate_and_key(project: Path) -> None:
    for name in ("c.pem", "k.pem"):
        (project / name).write_text("")
    certificate, key = {"SYNERGY_MX_CERTIFICATE": "c.pem"}, {"SYNERGY_MX_KEY": "k.pem"}
    assert load(project).mx_tls is None
    assert load(project, certificate | key).mx_tls == (project / "c.pem", project / "k.pem")
    assert only_mistake(project, **certificate) == (
        "SYNERGY_MX_CERTIFICATE: expected mx_key as well: TLS needs both"
    )
    assert "expected mx_certificate as well" in only_mistake(project, **key)
    missing = only_mistake(project, **certificate, SYNERGY_MX_KEY="none.pem")
    assert missing == f"SYNERGY_MX_KEY: there is no file {project / 'none.pem'}"


def test_the_users_file_must_exist_only_to_start(tmp_path: Path) -> None:
    missing = tmp_path / "users.json"
    environ = {"SYNERGY_MX_USERS_FILE": str(missing)}
    assert load(PROJECT, environ).mx_users_file == missing
    (mistake,) = check(PROJECT, environ, imports=False).mistakes
    assert mistake == (
        f"mx_users_file: there is no file {missing}: launch.py user add NAME --role admin makes it"
    )
    missing.touch(0o600)
    assert check(PROJECT, environ, imports=False).mistakes == ()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("amqp://me:secret@host:5672/v", "amqp://me:***@host:5672/v"),
        ("mongodb+srv://me:se@c/r:et@host/db", "mongodb+srv://me:***@host/db"),
        ("AMQP://:secret@host", "AMQP://:***@host"),
        ("no answer from amqp://a:b@h/ and x@y", "no answer from amqp://a:***@h/ and x@y"),
        ("sqlite:////srv/a.db", "sqlite:////srv/a.db"),
        ("http://host:5000/path", "http://host:5000/path"),
        ("amqp://me@host/v", "amqp://me@host/v"),
    ],
)
def test_passwords_in_urls_are_masked(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize("word", ["x", "a://", "a://b:", "a-", "a://b:c@"])
def test_masking_takes_linear_time(word: str) -> None:
    text = word * (1_000_000 // len(word))  # quadratic time would take an hour
    assert len(mask(text)) > 0


@pytest.mark.parametrize(
    "store",
    [
        "mongodb://me:secret@h",
        "mongodb://me:to/secret@h/db",
        "mongodb://me:to?secret@h/db",
        "mongodb://me:to#secret@h/db",
        "mongodb://me:to@secret@h/db",
        "mongodb://me:p@h/a/b?tlsCertificateKeyFilePassword=secret",
        "mongodb://me@corp:secret@h/db",
        "mongodb://me/corp:secret@h/db",
        "mongodb:me:secret@h/db",
        "me:secret@h/db",
    ],
)
def test_a_mistake_never_shows_the_password_of_a_store(project: Path, store: str) -> None:
    found = mistakes(project, SYNERGY_STORE=store, SYNERGY_BUS="amqp://me:secret@h")
    assert "secret" not in "".join(found)
    assert found[0].startswith("SYNERGY_STORE: ")


@pytest.mark.parametrize(
    "bus",
    [
        "amqp://me:secret@h:0x/v",
        "amqp://me:to/secret@h/v",
        "amqp://me:to?secret@h/v",
        "amqp://me:to#secret@h/v",
        "amqp://me:to@secret@h/v",
        "amqp://me:secret@h/v?verify=no",
        "amqp://me@corp:secret@h/v",
        "amqp://me/corp:secret@h/v",
        "amqp://me:secret@h\u2100/v",
        "amqp://me:secret/v",
        "amqp:me:secret@h/v",
        "me:secret@h/v",
    ],
)
def test_a_mistake_never_shows_the_password_of_a_bus(project: Path, bus: str) -> None:
    (found,) = mistakes(project, SYNERGY_BUS=bus)
    assert "secret" not in found
    assert found.startswith("SYNERGY_BUS: ")


@pytest.mark.parametrize(
    "bus", ["amqp://h", "amqp://u:p%40%2F%3F%23@h:5672/a%2Fb", "amqps://u:p@[::1]:5671/"]
)
def test_the_url_of_a_broker_is_kept_unchanged(project: Path, bus: str) -> None:
    settings = load(project, {"SYNERGY_BUS": bus})
    assert settings.bus == bus
    assert settings.has_broker
