"""What `check` finds besides wrong fields: entries declared twice, missing programs, weak secrets,
unknown options of URLs, and variables that are ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from synergy.config.weak_secrets import weakness
from synergy.names import local_token
from tests.unit.config.kit import HEAD, checked, managed, mistakes, one, only_mistake, tree, write

RANDOM = "k3JvQ9xT7mWz2LpR"


# Entries that are declared twice


def context(project: Path, *lines: str, trees: str = "{'t': T}") -> None:
    """Writes a context with a daemon `D`, a tree `T` of the process `p`, and the given lines."""
    entries = [f"P = {managed('p', 'hourly')}", f"T = {tree('t', ['p'])}"]
    text = [HEAD, *entries, *lines, f"timetable_context = {trees}"]
    (project / "context.py").write_text("\n".join(text))


def daemon(name: str) -> str:
    worker = "tests.unit.context_workers.Fine.start"
    return (
        f"daemon_context_entry(process_name={name!r}, classname={worker!r}, present_on_boxes=['x'])"
    )


AGAIN = "declared in line {} already, and only the last entry counts: rename one or remove it"


@pytest.mark.parametrize(
    "lines",
    [
        ["process_context = {'p': P, 'd':", f" {daemon('d')}, 'd':", " P}"],
        ["A = B = 'd'", f"process_context = {{'p': P, A: {daemon('d')},", " B: P}"],
        ["import names", f"process_context = {{'p': P, names.D: {daemon('d')},", " 'd': P}"],
        ["process_context = {'p': P} | {", f"'d': {daemon('d')},", "'d': P}"],
        ["D = P", "process_context = {'p': P, 'd': D,", "'d': D}"],
        ["made = lambda: P", "process_context = {'d': made(),", "'d': made()}"],
    ],
)
def test_a_process_that_is_declared_twice_is_a_mistake(project: Path, lines: list[str]) -> None:
    (project / "names.py").write_text("D = 'd'\n")
    context(project, *lines)
    found = [one for one in mistakes(project) if "already" in one]
    last = 6 if lines[0].endswith("'d':") else 7
    assert found == [f"context.py line {last}: 'd' is {AGAIN.format(last - 1)}"]


@pytest.mark.parametrize(
    "entries",
    ["{'p': P, **MORE,\n**MORE}", "{'p': P, **MORE,\n'd': MORE['d']}", "{'p': P, 'd': P,\n**MORE}"],
)
def test_an_entry_that_replaces_one_of_another_dictionary_is_a_warning(
    project: Path, entries: str
) -> None:
    context(project, f"MORE = {{'d': {daemon('d')}}}", f"process_context = {entries}")
    found = [one for one in checked(project).warnings if "already" in one]
    assert found == [f"context.py line 7: 'd' is {AGAIN.format(6)}"]
    assert not [one for one in mistakes(project) if "already" in one]


def test_trees_and_schedules_that_are_declared_twice_are_mistakes(project: Path) -> None:
    twice = tree("t", ["p"])
    schedule = "schedule_context_entry(schedule_name='s', process='p', cron='0 1 * * *')"
    more = f"schedule_context = {{'s': {schedule}, 's': {schedule}}}"
    context(project, "process_context = {'p': P}", more, trees=f"{{'t': {twice}, 't': {twice}}}")
    found = [one for one in mistakes(project) if "already" in one]
    assert [one.split(" is declared")[0] for one in found] == [
        "context.py line 6: 's'",
        "context.py line 7: 't'",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["process_context = {'p': P}", "arguments = {'p': 1, 'p': 2}"],
        ["process_context = {**{n: P for n in ('p', 'p')}}"],
        ["process_context = {'p': P}", f"process_context['d'] = {daemon('d')}"],
        [f"process_context = {{unknown(): {daemon('d')} for unknown in ()}} | {{'p': P}}"],
    ],
)
def test_other_dictionaries_and_different_keys_are_none(project: Path, lines: list[str]) -> None:
    context(project, *lines)
    assert mistakes(project) == []


# Programs of commands


def warnings(project: Path, *command: str, **fields: object) -> list[str]:
    """The warnings about a process with this command; PATH is the project's folder `bin`."""
    given = {"classname": ..., "command": list(command), "present_on_boxes": ["box-1"], **fields}
    one(project, managed("p", "hourly", **given))
    environ = {"PATH": str(project / "bin"), "SYNERGY_BOX_ID": "box-1"}
    return list(checked(project, **environ).warnings)


@pytest.fixture
def programs(project: Path) -> Path:
    """A folder with the program `there` and the file `text`, which is none."""
    folder = project / "bin"
    folder.mkdir()
    for name, mode in (("there", 0o755), ("text", 0o644)):
        (folder / name).write_text("")
        (folder / name).chmod(mode)
    return folder


@pytest.mark.parametrize("program", ["gone", "text", "bin/gone", "./bin/text", "/gone"])
def test_a_program_that_is_missing_on_this_box_is_a_warning(
    project: Path, programs: Path, program: str
) -> None:
    (warning,) = warnings(project, program, "--day")
    assert warning.startswith(f"process p: command: there is no program {program} in ")


def test_a_program_of_the_home_is_looked_for_there(project: Path, programs: Path) -> None:
    (warning,) = warnings(project, "${home}/gone")
    assert f"{project}/var/gone in that place" in warning


@pytest.mark.parametrize("program", ["there", "bin/there", "./bin/there"])
def test_a_program_that_is_there_is_none(project: Path, programs: Path, program: str) -> None:
    assert warnings(project, program) == []
    assert warnings(project, str(programs / "there")) == []


def test_a_program_is_looked_for_where_the_command_runs_and_in_its_own_path(
    project: Path, programs: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    (own / "bin").mkdir(parents=True)
    (programs / "there").rename(own / "bin" / "here")
    assert warnings(project, "bin/here", cwd=str(own)) == []
    assert warnings(project, "here", variables={"PATH": str(own / "bin")}) == []
    for given in ({"cwd": str(own)}, {"variables": {"PATH": str(own / "bin")}}):
        (warning,) = warnings(project, "bin/text" if "cwd" in given else "text", **given)
        assert "there is no program" in warning


def test_programs_of_other_boxes_and_of_a_units_values_are_not_looked_for(
    project: Path, programs: Path
) -> None:
    assert warnings(project, "gone", present_on_boxes=["box-2"]) == []
    assert warnings(project, "${tool}", arguments={"tool": "gone"}) == []


# Secrets


def of_secrets(project: Path, **environ: str) -> list[str]:
    one(project, managed("p", "hourly"))
    found = checked(project, **environ)
    assert found.mistakes == ()
    secrets = [each for each in found.warnings if "openssl" in each]
    for value in environ.values():
        assert all(value not in each for each in secrets)
    return secrets


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("SYNERGY_STORE", "mongodb://me:secret@127.0.0.1/db", "the password is a well-known one"),
        ("SYNERGY_STORE", "mongodb://me:Passw0rd!@127.0.0.1/db", "is a well-known one"),
        ("SYNERGY_STORE", "mongodb://anna:Anna2026@127.0.0.1/db", "is the user's name"),
        ("SYNERGY_STORE", "mongodb://me:k3JvQ9xT7mW@127.0.0.1/db", "fewer than 12 characters"),
        ("SYNERGY_STORE", "mongodb://me:aaaaaaaaaaaaaaaa@127.0.0.1/db", "repeats a few"),
        ("SYNERGY_BUS", "amqp://guest:guest@127.0.0.1/", "is a well-known one"),
        ("SYNERGY_BUS", "amqp://me:%41dmin1@127.0.0.1/", "is a well-known one"),
        ("SYNERGY_BUS", "amqps://mq-1.example.com/", "which is not given and so is RabbitMQ's own"),
        ("SYNERGY_WEBHOOK_SECRETS", "changeme", "a secret is a well-known one"),
        ("SYNERGY_WEBHOOK_SECRETS", f"{RANDOM},short", "a secret has fewer than 12"),
    ],
)
def test_a_weak_secret_is_a_warning_that_does_not_quote_it(
    project: Path, variable: str, value: str, reason: str
) -> None:
    (warning,) = of_secrets(project, **{variable: value})
    assert warning.startswith(f"{variable}: ")
    assert reason in warning


def test_the_secret_of_a_login_provider_may_be_weak_as_well() -> None:
    assert weakness("synergy") == "is a well-known one"
    assert weakness(RANDOM) is None


def test_a_weak_token_of_the_home_is_a_warning_that_does_not_quote_it(project: Path) -> None:
    one(project, managed("p", "hourly"))
    token = local_token(project / "var")
    token.parent.mkdir(parents=True)
    token.write_text(RANDOM)
    assert not [each for each in checked(project).warnings if "the token" in each]
    token.write_text("tok-1\n")
    (warning,) = (each for each in checked(project).warnings if "the token" in each)
    assert warning == (
        f"{token}: the token has fewer than 12 characters: remove the file, and restart MX"
    )


@pytest.mark.parametrize(
    "environ",
    [
        {"SYNERGY_STORE": f"mongodb://me:{RANDOM}@127.0.0.1/db"},
        {"SYNERGY_STORE": "mongodb://127.0.0.1/db", "SYNERGY_BUS": "amqp://127.0.0.1/"},
        {"SYNERGY_BUS": f"amqps://me:{RANDOM}@mq-1.example.com/"},
        {"SYNERGY_WEBHOOK_SECRETS": f"whsec_{RANDOM}{RANDOM},correct horse battery"},
    ],
)
def test_long_secrets_and_none_on_this_machine_are_no_warning(
    project: Path, environ: dict[str, str]
) -> None:
    assert of_secrets(project, **environ) == []


# URLs and variables


@pytest.mark.parametrize(
    ("variable", "url", "reason"),
    [
        ("SYNERGY_STORE", "mongodb://h/db?retryWrtes=true", "did you mean retryWrites?"),
        ("SYNERGY_STORE", "mongodb://h/db?tls=true&replicaset=rs0&wat=1", "unknown option wat"),
        ("SYNERGY_STORE", "sqlite:///x.db?mode=ro", "a file has no options"),
        ("SYNERGY_BUS", "amqp://h/v?heartbeat=30", "unknown option heartbeat"),
        ("SYNERGY_BUS", "store:?x=1", "expected store:"),
    ],
)
def test_an_unknown_option_of_a_url_is_a_mistake(
    project: Path, variable: str, url: str, reason: str
) -> None:
    one(project, managed("p", "hourly"))
    (mistake,) = checked(project, **{variable: url}).mistakes
    assert mistake.startswith(f"{variable}: ")
    assert reason in mistake


@pytest.mark.parametrize("name", ["synergy_store", "Synergy_Store", "synergy_box_id"])
def test_a_variable_that_is_not_in_upper_case_is_a_warning(project: Path, name: str) -> None:
    one(project, managed("p", "hourly"))
    found = checked(project, **{name: "sqlite:///secret-place.db"})
    assert found.mistakes == ()
    assert found.warnings == (
        f"{name}: is ignored: variables are in upper case, such as {name.upper()}",
    )


def test_a_process_whose_key_differs_from_its_name_is_a_mistake(project: Path) -> None:
    write(project, {"p": managed("q", "hourly")}, {"t": tree("t", ["p"])})
    assert "'q' differs from the key 'p'" in only_mistake(project)
