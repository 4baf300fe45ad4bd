"""schedule_context, free-run processes, and the settings about schedules and webhooks."""

from __future__ import annotations

import sys
from ipaddress import ip_network
from pathlib import Path

import pytest

from synergy.config.loader import Checked, check, load_deployment, load_settings
from synergy.config.settings import Settings
from synergy.delivery.definition_checks import known
from synergy.errors import ConfigurationError
from synergy.model.process import Deployment, FreerunProcess
from synergy.schedule.format.read import read

WORKER = "tests.unit.context_workers.Fine.start"
AGENT = "synergy.agent.agent.Agent.start"
HEAD = f"""
from synergy.config.context import *

def freerun(name, **fields):
    if "command" not in fields:
        fields.setdefault("classname", {WORKER!r})
    return freerun_context_entry(process_name=name, present_on_boxes=[".*"], **fields)

process_context = {{
    "Agent": daemon_context_entry(
        process_name="Agent", classname={AGENT!r}, present_on_boxes=[".*"]),
    "Daily": managed_context_entry(
        process_name="Daily", classname={WORKER!r}, time_qualifier="daily",
        present_on_boxes=[".*"]),
    "Report": freerun("Report"),
}}
timetable_context = {{"t": timetable_tree_entry(tree_name="t", enclosed_processes=["Daily"])}}
"""
SOUND = {"schedule_name": "s", "process": "Report", "trigger": "every 60"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    settings = tmp_path / "settings"
    settings.mkdir()
    for name in ("base", "dev"):
        (settings / f"{name}.py").write_text("")
    return tmp_path


def declare(project: Path, *lines: str) -> None:
    (project / "context.py").write_text("\n".join([HEAD, *lines, ""]))


def schedule(fields: dict[str, object], key: str = "s") -> str:
    return f"schedule_context = {{{key!r}: schedule_context_entry(**{fields!r})}}"


def checked(project: Path) -> Checked:
    return check(project, {}, imports=False)


def mistakes(project: Path) -> list[str]:
    return list(checked(project).mistakes)


def load(project: Path) -> Deployment:
    return load_deployment(load_settings(project, {}), project)


def freerun(project: Path, name: str = "Report") -> FreerunProcess:
    return load(project).freerun()[name]


# Free-run processes


def test_the_defaults_of_a_freerun_process(project: Path) -> None:
    declare(project)
    assert freerun(project) == FreerunProcess(
        name="Report", classname=WORKER, token="Report", present_on_boxes=(".*",), max_attempts=1
    )


def test_every_optional_field_of_a_freerun_process_arrives(project: Path) -> None:
    declare(
        project,
        "process_context['Export'] = freerun('Export', command=['x', '${run}', '${timeperiod}',"
        " '${start}', '${end}', '${attempt}', '${home}', '${site}'], arguments={'site': 'a'},"
        " token='e', instances=2, max_attempts=3, retry_backoff='2m', heartbeat_timeout=30,"
        " resubmit_after='2h', life_support='7d', timeout='20s', is_on=False,"
        " trigger_frequency='at  5-8:00')",
    )
    assert freerun(project, "Export") == FreerunProcess(
        name="Export",
        classname=None,
        command=(
            "x", "${run}", "${timeperiod}", "${start}", "${end}", "${attempt}", "${home}",
            "${site}",
        ),
        arguments={"site": "a"},
        token="e",
        present_on_boxes=(".*",),
        instances=2,
        max_attempts=3,
        retry_backoff=120,
        heartbeat_timeout=30,
        resubmit_after=7200,
        life_support=7 * 86_400,
        timeout=20,
        is_on=False,
        trigger_frequency="at 5-08:00",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("classname='a'", "classname: 'a': expected package.module.Class.method"),
        ("command=['x', '${runs}']", "command: unknown ${runs}: expected one of ${timeperiod}"),
        ("command=['x'], classname='a.b.C.d'", "expected classname or command, not both"),
        ("trigger_frequency='every 0'", "trigger_frequency: trigger 'every 0'"),
        ("trigger_frequency=60", "trigger_frequency: expected a text, not 60"),
        ("time_qualifier='daily'", "unknown field time_qualifier"),
        ("max_attempts=0", "max_attempts: expected a whole number, 1 or more"),
    ],
)
def test_freerun_processes_are_checked(project: Path, fields: str, reason: str) -> None:
    declare(project, f"process_context['F'] = freerun('F', {fields})")
    (mistake,) = mistakes(project)
    assert mistake.startswith("process F: ")
    assert reason in mistake


def test_a_managed_process_knows_no_run(project: Path) -> None:
    declare(
        project,
        "process_context['Daily'].fields.update(classname=None, command=['x', '${run}'])",
    )
    (mistake,) = mistakes(project)
    assert "unknown ${run}" in mistake


def test_a_trigger_frequency_is_a_schedule_of_that_name(project: Path) -> None:
    declare(project, "process_context['F'] = freerun('F', trigger_frequency='every  60')")
    assert load(project).schedules == {"F": {"name": "F", "process": "F", "trigger": "every 60"}}


def test_which_no_other_schedule_may_have(project: Path) -> None:
    declare(
        project,
        "process_context['F'] = freerun('F', trigger_frequency='every 60')",
        schedule({**SOUND, "schedule_name": "F"}, "F"),
    )
    (mistake,) = mistakes(project)
    assert mistake.startswith("process F: trigger_frequency: ")
    assert "schedule_context has a schedule of that name" in mistake


# Schedules


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("timetable('Daily')", {"process": "Daily"}),
        ("timetable('Daily', ['processed'], 'all')", {"process": "Daily"}),
        (
            "timetable('Daily', statuses=('noop', 'given_up'), generations='first')",
            {"process": "Daily", "statuses": ["noop", "given_up"], "generations": "first"},
        ),
    ],
)
def test_a_timetable_trigger_says_which_ends_it_means(
    project: Path, written: str, expected: dict[str, object]
) -> None:
    fields = f"schedule_name='s', process='Report', trigger={written}"
    declare(project, f"schedule_context = {{'s': schedule_context_entry({fields})}}")
    assert checked(project).mistakes == ()
    assert load(project).schedules["s"]["trigger"] == {"timetable": expected}


def test_a_state_that_no_job_ends_in_is_named_by_check(project: Path) -> None:
    fields = "schedule_name='s', process='Report', trigger=timetable('Daily', ['procesed'])"
    declare(project, f"schedule_context = {{'s': schedule_context_entry({fields})}}")
    (mistake,) = checked(project).mistakes
    assert mistake.endswith("procesed is no end of a job: did you mean processed?")


def test_schedules_are_kept_in_their_canonical_form(project: Path) -> None:
    declare(
        project,
        "schedule_context = {'nightly': schedule_context_entry(",
        "    schedule_name='nightly', process='Report', arguments={'a': (1, 2)},",
        "    trigger=any_of(cron('0  2 * * *'), all_of(timetable('Daily'),",
        "        event('FILE', '/in/', '1h'), program('Report', 'failed'), every(60),",
        "        at('2:30'), once('2026-11-22 00:00'), elapsed(90), partition('d', 3),",
        "        interval('2026-11-22', hours=36, jitter='5m'),",
        "        calendar_interval('2026-11-30', months=3, day='last', time='6:00'))),",
        "    constraints=[concurrency(1), delay('5m'), time_window('22:00', '6:00'),",
        "        since_last_run('1h', 'wait'), at_most(3, 'hour'), load(100, of='queue')],",
        "    zone='Europe/Berlin', from_='2026-11-21', priority=5, enabled=True)}",
    )
    assert checked(project).mistakes == ()
    found = load(project).schedules
    assert found == {
        "nightly": {
            "name": "nightly",
            "process": "Report",
            "arguments": {"a": [1, 2]},
            "trigger": {
                "any_of": [
                    "cron 0 2 * * *",
                    {
                        "all_of": [
                            {"timetable": {"process": "Daily"}},
                            {"event": {"type": "FILE", "resource": "/in", "life": "1h"}},
                            {"program": {"process": "Report", "statuses": ["failed"]}},
                            "every 60",
                            "at 02:30",
                            {"once": "2026-11-22T00:00:00Z"},
                            {"elapsed": "90s"},
                            {"partition": {"dataset": "d", "n": 3}},
                            {
                                "interval": {
                                    "hours": 36,
                                    "start": "2026-11-22T00:00:00Z",
                                    "jitter": "5m",
                                }
                            },
                            {
                                "calendar_interval": {
                                    "months": 3,
                                    "day": "last",
                                    "time": "06:00",
                                    "start": "2026-11-30",
                                }
                            },
                        ]
                    },
                ]
            },
            "constraints": [
                {"concurrency": {"n": 1, "scope": "program", "when_unmet": "abort"}},
                {"delay": "5m"},
                {
                    "time_window": {
                        "start": "22:00",
                        "end": "06:00",
                        "zone": "Europe/Berlin",
                        "when_unmet": "wait",
                    }
                },
                {"since_last_run": {"duration": "1h", "when_unmet": "wait"}},
                {"at_most": {"n": 3, "per": "1h", "when_unmet": "wait"}},
                {"load": {"max": 100.0, "of": "queue", "when_unmet": "wait"}},
            ],
            "zone": "Europe/Berlin",
            "from": "2026-11-21T00:00:00Z",
            "priority": 5,
        }
    }
    assert read(found["nightly"], known(load(project).processes)).name == "nightly"


def test_a_webhook_and_several_cron_lines(project: Path) -> None:
    declare(
        project,
        "schedule_context = {'hook': schedule_context_entry(schedule_name='hook',",
        "    **webhook('https://example.com/x', {'day': '${todaysDate}'}, headers={'X-A': '1'}),",
        "    trigger=cron('0 2 * * *', '0 3 * * *'))}",
    )
    assert load(project).schedules["hook"] == {
        "name": "hook",
        "target": "https://example.com/x",
        "payload": '{"day": "${todaysDate}"}',
        "headers": {"X-A": "1"},
        "trigger": {"any_of": ["cron 0 2 * * *", "cron 0 3 * * *"]},
    }


def test_the_dependencies_of_part_f(project: Path) -> None:
    declare(
        project,
        schedule(
            {
                "schedule_name": "s",
                "process": "Report",
                "dependencies": [
                    {"type": "FILE", "resourceId": "/dir/path/", "lifeDuration": 3600},
                    {"type": "TIME_BASED_CRON", "resourceId": "cron", "lifeDuration": "0"},
                ],
            }
        ),
    )
    assert load(project).schedules["s"]["trigger"] == {
        "all_of": [
            {"event": {"type": "FILE", "resource": "/dir/path", "life": "1h"}},
            {"event": {"type": "TIME BASED", "resource": "cron", "life": "0s"}},
        ]
    }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schedule_name": None}, "schedule_name is missing"),
        ({"schedule_name": "other"}, "schedule_name: 'other' differs from the key 's'"),
        ({"name": "other"}, "name: 'other' differs from the key 's'"),
        ({"enabled": False}, "enabled: a declared schedule starts enabled"),
        ({"process": "Reprot"}, "process: unknown process Reprot: did you mean Report?"),
        ({"process": "Daily"}, "process: Daily is a managed process"),
        ({"croon": "x"}, "unknown field croon: did you mean cron?"),
        ({"process": None, "target": "https://a b"}, "target: it holds a blank"),
        ({"trigger": {"timetable": "Report"}}, "Report has no timetable"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_a_mistake_of_the_context(
    project: Path, change: dict[str, object], reason: str
) -> None:
    declare(project, schedule({**SOUND, **change}))
    (mistake,) = mistakes(project)
    assert mistake.startswith("schedule s: ")
    assert reason in mistake


def test_all_mistakes_of_all_schedules_are_listed_at_once(project: Path) -> None:
    declare(
        project,
        "schedule_context = {'a': 1, 'b': schedule_context_entry(schedule_name='b', by=5),",
        "    'c': freerun('c')}",
    )
    found = mistakes(project)
    assert [m.partition(": ")[0] for m in found] == [
        "schedule a",
        *["schedule b"] * 3,
        "schedule c",
    ]
    assert found[0] == "schedule a: expected schedule_context_entry(...)"
    with pytest.raises(ConfigurationError):
        load(project)


def test_a_process_that_is_not_sound_is_complained_about_once(project: Path) -> None:
    declare(
        project,
        "process_context['Report'] = 5",
        schedule(SOUND),
    )
    (mistake,) = mistakes(project)
    assert mistake.startswith("process Report: ")


def test_a_password_in_a_target_is_never_shown(project: Path) -> None:
    target = "amqp://user:hidden@host/vhost"
    declare(project, schedule({**SOUND, "process": None, "target": target}))
    (mistake,) = mistakes(project)
    assert "exchange" in mistake
    assert "hidden" not in mistake


def test_unknown_names_in_a_payload_are_warnings(project: Path) -> None:
    fields = {**SOUND, "process": None, "target": "https://a.b/c", "payload": "${x} ${todaysDate}"}
    declare(project, schedule(fields))
    found = checked(project)
    assert found.mistakes == ()
    assert found.warnings == ("schedule s: payload: ${x} is unknown and stays as it is",)


@pytest.mark.parametrize(
    "declared",
    [
        schedule(SOUND),
        "process_context['F'] = freerun('F', trigger_frequency='every 60')",
    ],
)
def test_schedules_without_an_agent_are_a_warning(project: Path, declared: str) -> None:
    declare(project, declared)
    assert checked(project).warnings == ()
    declare(project, "del process_context['Agent']", declared)
    (warning,) = checked(project).warnings
    assert warning.startswith(f"schedule_context: no process runs {AGENT}")


def test_without_schedules_nobody_needs_an_agent(project: Path) -> None:
    declare(project, "del process_context['Agent']")
    assert checked(project).warnings == ()


# Settings


def settings(project: Path, **environ: str) -> Settings:
    return load_settings(project, environ)


def test_the_defaults_of_the_settings(project: Path) -> None:
    found = settings(project)
    assert found.schedules_update == "create"
    assert found.webhook_networks == ()
    assert found.webhook_secrets == ()


def test_settings_are_words_with_commas(project: Path) -> None:
    found = settings(
        project,
        SYNERGY_SCHEDULES_UPDATE="sync",
        SYNERGY_WEBHOOK_NETWORKS="10.1.0.0/16, fd00::/8 ,127.0.0.1",
        SYNERGY_WEBHOOK_SECRETS="newer-secret, older-secret",
    )
    assert found.schedules_update == "sync"
    assert found.webhook_networks == tuple(
        map(ip_network, ("10.1.0.0/16", "fd00::/8", "127.0.0.1/32"))
    )
    assert found.webhook_secrets == ("newer-secret", "older-secret")
    assert "secret" not in repr(found).replace("webhook_secrets", "")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("SCHEDULES_UPDATE", "snyc", "'snyc': did you mean sync?"),
        ("WEBHOOK_NETWORKS", "10.0.0.0/33", "'10.0.0.0/33': expected a network"),
        ("WEBHOOK_NETWORKS", "10.0.0.5/8", "did you mean 10.0.0.0/8?"),
        ("WEBHOOK_NETWORKS", "intranet", "'intranet': expected a network such as 10.1.0.0/16"),
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
