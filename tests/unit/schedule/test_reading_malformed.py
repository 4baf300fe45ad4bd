"""Malformed definitions: each has one mistake, which is reported with a distinct reason."""

from __future__ import annotations

import pytest

from synergy.delivery.headers import check_content_type, check_headers
from synergy.delivery.target import parse_target
from synergy.model.process import DaemonProcess, FreerunProcess, ManagedProcess
from synergy.schedule.check_context import InvalidDefinition, Known
from synergy.schedule.format.read import read
from synergy.timeperiod import Qualifier

COMMON = {"classname": "a.b.C.start", "token": "t", "present_on_boxes": (".*",)}
KNOWN = Known(
    {
        "Report": FreerunProcess(name="Report", **COMMON),  # type: ignore[arg-type]
        "Daily": ManagedProcess(name="Daily", qualifier=Qualifier.DAILY, **COMMON),  # type: ignore[arg-type]
        "Agent": DaemonProcess(name="Agent", **COMMON),  # type: ignore[arg-type]
    },
    parse_target,
    check_headers,
    check_content_type,
)
WORKER = {"name": "s", "process": "Report", "trigger": "every 60"}
HOOK = {"name": "s", "target": "https://example.com/hook", "trigger": "every 60"}
FILE = {"type": "FILE", "resourceId": "/in", "lifeDuration": 60}


def nested(levels: int) -> object:
    trigger: object = "every 60"
    for _ in range(levels):
        trigger = {"all_of": [trigger]}
    return trigger


def on(trigger: object) -> dict[str, object]:
    return {**WORKER, "trigger": trigger}


def cron(line: object) -> dict[str, object]:
    return {**WORKER, "trigger": None, "cron": line}


def after(*dependencies: object) -> dict[str, object]:
    return {**WORKER, "trigger": None, "dependencies": list(dependencies)}


def under(*constraints: object, **more: object) -> dict[str, object]:
    return {**WORKER, "constraints": list(constraints), **more}


def window(start: object, end: object, **more: object) -> dict[str, object]:
    return under({"time_window": {"start": start, "end": end, **more}})


SCHEDULES = [
    ({**WORKER, "name": None}, "name is missing: only a one-off job can do without"),
    ({**WORKER, "name": "a/b"}, "name: 'a/b': expected letters, digits and . _ -"),
    (
        {**WORKER, "name": "n" * 101},
        "nnn'...: expected letters, digits and . _ - only, at most 100",
    ),
    ({**WORKER, "name": 2026}, "name: expected a text, not the number 2026: put it in quotes"),
    ({**WORKER, "croon": "0 2 * * *"}, "unknown field croon: did you mean cron?"),
    ({**WORKER, 7: 1}, "the name of a field is a text, not the number 7"),
    ({**WORKER, "process": None}, "process or target is missing"),
    ({**WORKER, "target": "https://a.b"}, "expected process or target, not both"),
    ({**WORKER, "process": "Reprot"}, "unknown process Reprot: did you mean Report?"),
    ({**WORKER, "process": "Daily"}, "Daily is a managed process, which its timetable runs"),
    ({**WORKER, "process": "Agent"}, "Agent is a daemon, which always runs"),
    ({**WORKER, "arguments": [1]}, "arguments: expected a mapping, not a list"),
    ({**WORKER, "arguments": {"a": {1, 2}}}, "arguments: a: JSON has no value such as a set"),
    ({**WORKER, "payload": "x"}, "payload: it goes with target, not process"),
    ({**WORKER, "trigger": None}, "trigger is missing: expected trigger, cron, when or"),
    ({**WORKER, "cron": "0 2 * * *"}, "when, dependencies, not trigger and cron"),
    ({**WORKER, "timeout": "a day"}, "timeout: expected a duration such as '60s'"),
    ({**WORKER, "timeout": 0}, "timeout: expected more than 0, not the number 0"),
    ({**WORKER, "timeout_policy": "force!"}, "timeout_policy: unknown value 'force!'"),
    ({**WORKER, "priority": "high"}, "priority: expected a whole number, -1,000,000 to"),
    ({**WORKER, "properties": {"a": 1}}, "properties: a: expected a text, not the number 1"),
    ({**WORKER, "zone": "Europe/Berln"}, "zone: there is no time zone 'Europe/Berln'"),
    ({**WORKER, "catchup": "newest"}, "catchup: unknown value 'newest': expected one of all"),
    ({**WORKER, "catchup_max": 0}, "catchup_max: expected a whole number, 1 to 10,000"),
    ({**WORKER, "first_run": True}, "first_run: unknown value true"),
    ({**WORKER, "from": "2026-13-01"}, "from: there is no such instant as '2026-13-01'"),
    ({**WORKER, "external_id": "x" * 257}, "external_id: 257 characters: the most is 256"),
    ({**WORKER, "by": "é" * 300}, "by: 300 characters: the most is 256"),
    ({**WORKER, "enabled": "yes"}, "enabled: expected true or false, not 'yes'"),
]
TIMES = [
    (cron("61 * * * *"), "the minute must be 0 to 59"),
    (cron("* * * *"), "cron has five fields (Unix)"),
    (cron("0 0 30 2 *"), "month 2 has no day 30"),
    (cron("0 0 L * *"), "'L' in the day of month is Quartz"),
    (cron("0 0 0 ? * ?"), "exactly one of day of month and day of week must be '?'"),
    (cron("0 0 0 ? * MON 1969"), "the year must be 1970 to 2099"),
    (cron(0), "cron: expected a cron line such as '0 2 * * *' in quotes, not the number 0"),
    (cron([]), "cron: there is nothing in it"),
    (cron(["0 2 * * *", "5-1 * * * *"]), "cron 2: 'cron 5-1 * * * *': '5-1' in the minute runs"),
    (on("0 2 * * *"), "expected 'every SECONDS', 'at [D-]HH:MM, ...'"),
    (on({"every": 0}), "every: 'every 0': the seconds must be"),
    (on({"every": "1h"}), "without a unit"),
    (on({"at": "24:00"}), "'24:00' is not a time of day"),
    (on({"at": 150}), "at: expected times such as '02:30' or '5-18:00, 12:00', not the number 150, "
     "as which YAML reads 2:30 without quotes"),
    (on({"once": "tomorrow"}), "once: expected an instant such as"),
    ({**WORKER, "trigger": None, "when": "1969-12-31T23:59Z"}, "when: expected a year from 1970"),
    (on({"elapsed": 0.5}), "elapsed: duration: expected at least 1s"),
    (on(60), "trigger: expected a mapping such as {cron: ...}, not the number 60"),
    (on({"crom": "x"}), "unknown trigger crom: did you mean cron?"),
    (on({"every": 60, "at": "10:00"}), "expected one kind of trigger, not every and at together"),
]  # fmt: skip
EVENTS = [
    (
        after({**FILE, "type": "MAIL BOX"}),
        "unknown type of events 'MAIL BOX': expected one of FILE",
    ),
    (after({"type": "FILE", "lifeDuration": 60}), "dependencies 1: resourceId is missing"),
    (after(FILE, {**FILE, "lifeDuration": None}), "dependencies 2: lifeDuration is missing"),
    (after({**FILE, "lifeDuration": "soon"}), "lifeDuration: expected a duration such as '60s'"),
    (after({**FILE, "lifeDuration": -1}), "lifeDuration: expected at least 0 and at most ten"),
    (after({**FILE, "resourceId": "a\nb"}), "resourceId: character 2 is not allowed in a text"),
    (after({**FILE, "resourceID": "/in"}), "unknown field resourceID: did you mean resourceId?"),
    (after("FILE /in"), "dependencies 1: expected a mapping, not 'FILE /in'"),
    (after(*[FILE] * 101), "too many: a trigger has at most 100 legs in all"),
    (on({"all_of": []}), "all_of: there is nothing in it"),
    (on({"any_of": "every 60"}), "any_of: expected a list of triggers, not 'every 60'"),
    (on(nested(9)), "nested too deeply: at most 8 levels of all_of and any_of"),
    (on({"partition": {"dataset": "d", "n": 0}}), "partition: n: expected a whole number, 1 to"),
    (on({"partition": {"n": 3}}), "partition: dataset is missing"),
    (on({"program": "Nobody"}), "program: process: unknown process Nobody"),
    (on({"program": "Agent"}), "Agent is a daemon, which never ends"),
    (
        on({"program": {"process": "Daily", "statuses": ["canceled"]}}),
        "program: statuses: canceled is not a final state of a job",
    ),
    (
        on({"program": {"process": "Report", "statuses": "skiped"}}),
        "skiped is not a final state of a run",
    ),
    (on({"program": {"process": "Report", "statuses": []}}), "program: statuses: expected a list"),
    (on({"timetable": "Report"}), "Report has no timetable: expected a managed process"),
    (on({"timetable": "Dayly"}), "timetable: process: unknown process Dayly: did you mean Daily?"),
    (
        on({"timetable": {"process": "Daily", "statuses": ["procesed"]}}),
        "timetable: statuses: procesed is not a final state of a job: did you mean processed?",
    ),
    (
        on({"timetable": {"process": "Daily", "statuses": "given up"}}),
        "given up is not a final state of a job: did you mean given_up?",
    ),
    (
        on({"timetable": {"process": "Daily", "statuses": ["canceled"]}}),
        "timetable: statuses: canceled is not a final state of a job: expected one of failed, "
        "given_up, noop, processed, skipped",
    ),
    (
        on({"timetable": {"process": "Daily", "statuses": []}}),
        "timetable: statuses: expected a list",
    ),
    (
        on({"timetable": {"process": "Daily", "generations": "firts"}}),
        "timetable: generations: unknown value 'firts': did you mean first?",
    ),
    (
        on({"timetable": {"process": "Daily", "generations": 1}}),
        "generations: unknown value the number 1: expected one of all, first",
    ),
    (
        on({"timetable": {"process": "Daily", "status": "noop"}}),
        "timetable: unknown field status: did you mean statuses?",
    ),
]
TARGETS = [
    ({**HOOK, "target": "ftp://example.com"}, "target: unknown scheme 'ftp'"),
    ({**HOOK, "target": "example.com/hook"}, "target: expected https://…"),
    ({**HOOK, "target": "https:///hook"}, "target: no host"),
    ({**HOOK, "target": "https://example.com:99999"}, "target: a port is a number"),
    ({**HOOK, "target": "https://user:word@example.com"}, "no user or password in a webhook's URL"),
    ({**HOOK, "target": "https://example.com/" + "x" * 2048}, "target: 2,068 characters: the most"),
    ({**HOOK, "target": "amqp://host/vhost"}, "target: no exchange"),
    ({**HOOK, "target": "sqs:"}, "target: no queue"),
    ({**HOOK, "target": "sns:topic"}, "target: not a topic's ARN"),
    (
        {**HOOK, "target": "https://example.com/${todaysDate}"},
        "${todaysDate} is not filled in here",
    ),
    ({**HOOK, "arguments": {"a": 1}}, "arguments: it goes with process, not target"),
    ({**HOOK, "headers": {"Host": "a"}}, "headers: header Host: Synergy sets it itself"),
    ({**HOOK, "headers": {"X-Day": "${runId}"}}, "headers: X-Day: ${runId} is not filled in here"),
    ({**HOOK, "content_type": "json"}, "content_type: content type 'json': expected, for example"),
    ({**HOOK, "budget": "5 minutes"}, "budget: expected a duration such as '60s'"),
]
TEMPLATES = [
    ({**HOOK, "payload": "x" * 16_777_216}, "payload: 16,777,216 bytes: the most is 16,777,215"),
    ({**HOOK, "payload": "ab\ud83d"}, "payload: character 3 is half of a character"),
    ({**HOOK, "payload": {"day": {"${todaysDate}"}}}, "payload: day: JSON has no value such as a"),
    ({**HOOK, "payload": [1, float("nan")]}, "payload 2: the number nan cannot be stored"),
    ({**HOOK, "payload": {"stored": 7}}, "payload: stored: expected a text, not the number 7"),
    ({**HOOK, "template_zone": "Los Angeles"}, "template_zone: there is no time zone"),
]
CONSTRAINTS = [
    (
        {**WORKER, "constraints": "concurrency 1"},
        "constraints: expected a list of mappings such as",
    ),
    (under({"concurency": 1}), "unknown constraint concurency: did you mean concurrency?"),
    (under({}), "expected one kind of constraint, and there is none"),
    (under({"concurrency": 0}), "concurrency: n: expected a whole number, 1 to 1,000,000, not"),
    (under({"concurrency": {"n": 1, "scope": "group"}}), "needs the schedule's group: group is"),
    (under({"concurrency": {"scope": "program"}}), "concurrency: n is missing"),
    (under({"delay": {"duration": "5m", "when_unmet": "abort"}}), "a delay cannot abort"),
    (window("22:00", "22:00"), "start and end are both 22:00"),
    (window(1320, "06:00"), "not the number 1320, as which YAML reads 22:00 without quotes"),
    (window("22:00", "24:00"), "end: expected a time such as '22:00' in quotes, not '24:00'"),
    (window("22:00", "06:00", zone="Mars"), "time_window: zone: there is no time zone 'Mars'"),
    (under({"since_last_run": "1 hour"}), "since_last_run: duration: expected a duration"),
    (under({"at_most": {"n": 3, "per": "fortnight"}}), "per: expected second, minute, hour, day"),
    (
        under({"concurrency": 1, "when_unmet": "wait"}),
        "not concurrency and when_unmet together: {concurrency: {..., when_unmet: ...}}?",
    ),
    (under({"time_window": "22:00"}), 'a mapping such as {start: "22:00", end: "06:00"}, not'),
    (under({"at_most": 3}), "at_most: expected a mapping such as {n: 3, per: hour}, not"),
    (under({"load": -0.1}), "load: max: expected a number from 0 to"),
    (under({"load": {"max": 1, "of": "disk"}}), "of: unknown value 'disk': expected one of box"),
    ({**HOOK, "constraints": [{"load": {"max": 9, "of": "queue"}}]}, "a target has no queue"),
    (under({"delay": "5m", "load": 1}), "expected one kind of constraint, not delay and load"),
    (under(*[{"delay": 1}] * 51), "constraints: 51 of them: the most is 50"),
]
ALL = SCHEDULES + TIMES + EVENTS + TARGETS + TEMPLATES + CONSTRAINTS


def mistakes(data: object) -> tuple[str, ...]:
    with pytest.raises(InvalidDefinition) as raised:
        read(data, KNOWN)  # type: ignore[arg-type]
    return raised.value.mistakes


@pytest.mark.parametrize(("data", "reason"), ALL, ids=[reason for _, reason in ALL])
def test_each_malformed_definition_is_refused_with_its_reason(
    data: dict[str, object], reason: str
) -> None:
    (mistake,) = mistakes(data)
    assert reason in mistake


def test_more_than_sixty_mistakes_have_distinct_reasons() -> None:
    assert len(ALL) > 60
    told = [mistake for data, _ in ALL for mistake in mistakes(data)]
    assert len(set(told)) == len(told)
    for _, reason in ALL:
        assert [reason in mistake for mistake in told].count(True) == 1, reason


def test_the_base_definitions_are_valid_without_the_mistakes() -> None:
    for data in (WORKER, HOOK, on(nested(8)), after(*[FILE] * 100), after(FILE)):
        read(data, KNOWN)


@pytest.mark.parametrize("data", [None, [], "every 60", 5])
def test_a_definition_that_is_no_mapping_is_refused(data: object) -> None:
    (mistake,) = mistakes(data)
    assert mistake.startswith("expected a mapping of fields, not ")


def test_all_mistakes_are_reported_at_once() -> None:
    found = mistakes(
        {
            "name": 5,
            "process": "Nobody",
            "trigger": {"any_of": [{"every": 0}, {"event": {"type": "FILE", "life": -1}}]},
            "constraints": [{"load": True}, {"time_window": {"end": "06:00", "Zone": "UTC"}}],
            "priority": 1.5,
            "zone": 1,
            "tmeout": "1h",
        }
    )
    fragments = [
        "name: ", "process: unknown", "any_of 1: every", "any_of 2: event: resource is missing",
        "any_of 2: event: life: ", "constraints 1: load: max", "constraints 2: time_window: start",
        "constraints 2: time_window: unknown field Zone: did you mean zone?", "priority: ",
        "zone: expected a text", "unknown field tmeout: did you mean timeout?",
    ]  # fmt: skip
    assert len(found) == len(fragments)
    for fragment in fragments:
        assert any(fragment in mistake for mistake in found), fragment


def test_deep_or_large_malformed_input_is_refused_with_a_short_reason() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = {"all_of": [deep]}
    assert "nested too deeply" in mistakes({**WORKER, "trigger": deep})[0]
    arguments: object = 1
    for _ in range(100_000):
        arguments = [arguments]
    assert "nested too deeply" in mistakes({**WORKER, "arguments": {"a": arguments}})[0]
    wide = {"any_of": [{"any_of": ["every 60"] * 90}] * 1000}
    assert len(mistakes({**WORKER, "trigger": wide})) == 1
    long = mistakes(
        {**WORKER, "x" * 10_000: 1, "trigger": "every " + "9" * 10_000, "by": "y" * 999}
    )
    assert sum(map(len, long)) < 1000


def test_an_argument_that_would_be_an_option_is_refused() -> None:
    process = FreerunProcess(
        name="Report",
        **{**COMMON, "classname": None},  # type: ignore[arg-type]
        command=("run", "${day}", "${offset}", "--name=${name}"),
        arguments={"day": 1, "offset": 0, "name": ""},
        option_arguments=frozenset({"offset"}),
    )
    known = Known({"Report": process})
    fine = {"offset": -1, "name": "-x", "unused": "-x"}
    assert read({**WORKER, "arguments": fine}, known).name == "s"
    with pytest.raises(InvalidDefinition) as refused:
        read({**WORKER, "arguments": {"day": "-rf"}}, known)
    [mistake] = refused.value.mistakes
    assert mistake.startswith("arguments: the value of ${day} makes an item of the command begin")
    assert "-rf" not in mistake


def test_a_reference_to_an_invalid_process_is_not_reported_again() -> None:
    known = Known({"Report": None})
    assert read({**WORKER, "trigger": {"timetable": "Report"}}, known).name == "s"


def test_without_processes_no_reference_is_checked() -> None:
    assert read({**WORKER, "trigger": {"program": "Any"}}, Known()).name == "s"
    with pytest.raises(InvalidDefinition, match="lost is not a final state of a job or a run"):
        read({**WORKER, "trigger": {"program": {"process": "Any", "statuses": ["lost"]}}}, Known())


@pytest.mark.parametrize(
    "change",
    [
        {"headers": {"Authorization": "Bearer hidden\n"}},
        {"headers": {"Authorization": ["hidden"]}},
        {"headers": {"Authorization": "hidden" * 2000}},
        {"target": "https://example.com/\thidden"},
        {"target": "amqp://user:hidden@example.com/vhost"},
        {"target": "https://user:hidden@example.com"},
        {"target": "htps://example.com/hidden"},
        {"payload": ["hidden\ud83d"]},
        {"payload": "hidden\ud83d"},
        {"properties": {"password": "hidden\x00"}},
    ],
)
def test_possible_secrets_are_not_quoted(change: dict[str, object]) -> None:
    found = mistakes({**HOOK, **change})
    assert "hidden" not in " ".join(found)
