"""Schedules in `context.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from synergy.config.loader import check
from synergy.delivery.definition_checks import known
from synergy.errors import ConfigurationError
from synergy.schedule.format.read import read
from tests.unit.config.schedules_kit import AGENT, SOUND, checked, declare, load, mistakes, schedule


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
def test_a_timetable_trigger_is_loaded_with_its_states_and_generations(
    project: Path, written: str, expected: dict[str, object]
) -> None:
    fields = f"schedule_name='s', process='Report', trigger={written}"
    declare(project, f"schedule_context = {{'s': schedule_context_entry({fields})}}")
    assert checked(project).mistakes == ()
    assert load(project).schedules["s"]["trigger"] == {"timetable": expected}


def test_a_check_names_states_that_do_not_end_a_job(project: Path) -> None:
    fields = "schedule_name='s', process='Report', trigger=timetable('Daily', ['procesed'])"
    declare(project, f"schedule_context = {{'s': schedule_context_entry({fields})}}")
    (mistake,) = checked(project).mistakes
    assert mistake.endswith("procesed is not a final state of a job: did you mean processed?")


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


def test_a_webhook_with_several_cron_lines_is_loaded(project: Path) -> None:
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


def test_dependencies_become_an_all_of_trigger(project: Path) -> None:
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
        ({"process": None, "target": "https://a b"}, "target: it contains a blank"),
        ({"trigger": {"timetable": "Report"}}, "Report has no timetable"),
    ],
)
def test_mistakes_of_schedules_are_mistakes_of_the_context(
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


def test_an_invalid_process_is_reported_once(project: Path) -> None:
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


def test_a_target_that_nothing_may_be_sent_to_is_a_warning(project: Path) -> None:
    hook = {"schedule_name": "s", "target": "http://example.com/hidden", "trigger": "every 60"}
    declare(project, schedule(hook))
    (warning,) = checked(project).warnings
    assert warning.startswith("schedule s: target: http sends in clear text to example.com: use")
    allowed = check(project, {"SYNERGY_WEBHOOK_PLAINTEXT": "example.com"}, imports=False)
    assert allowed.warnings == ()


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


def test_without_schedules_no_agent_is_needed(project: Path) -> None:
    declare(project, "del process_context['Agent']")
    assert checked(project).warnings == ()


def test_calendar_files_are_read_beside_the_context(project: Path) -> None:
    declare(project, schedule({**SOUND, "trigger": "at 09:00", "exclude": "holidays.ics"}))
    (mistake,) = mistakes(project)
    assert mistake.startswith("schedule s: exclude: there is no calendar file ")
    (project / "holidays.ics").write_text("2026-12-25\n")
    assert mistakes(project) == []
    assert load(project).schedules["s"]["exclude"] == ["2026-12-25"]


def test_wrong_limits_are_findings(project: Path) -> None:
    wrong = {"overlap": "foo", "max_runs": 0, "from_": "2026-12-02", "end": "2026-12-01"}
    declare(project, schedule({**SOUND, **wrong}))
    assert mistakes(project) == [
        "schedule s: end: '2026-12-01' is before from",
        "schedule s: max_runs: expected a whole number, 1 to 1,000,000, not the number 0",
        "schedule s: overlap: unknown value 'foo': expected one of allow, buffer_all, buffer_one, "
        "cancel_other, skip",
    ]
