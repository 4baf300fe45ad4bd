"""context.py: what loads, what is refused, and that every mistake is listed at once."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import pytest

from synergy.config import classes
from synergy.config.loader import Checked, check, load_deployment, load_settings
from synergy.config.processes import BUILT_IN
from synergy.errors import ConfigurationError
from synergy.model.process import (
    Blocking,
    DaemonProcess,
    Deployment,
    LateData,
    ManagedProcess,
    OnFailure,
    StateMachine,
)
from synergy.timeperiod import Qualifier

HEAD = "from synergy.config.context import *\n"
WORKER = "tests.unit.context_workers.Fine.start"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    settings = tmp_path / "settings"
    settings.mkdir()
    for name in ("base", "dev"):
        (settings / f"{name}.py").write_text("")
    return tmp_path


def managed(name: str, qualifier: str, **fields: object) -> str:
    """The text of a sound entry, with some fields other than usual; `...` leaves one out."""
    usual: dict[str, object] = {
        "process_name": name,
        "classname": WORKER,
        "time_qualifier": qualifier,
        "present_on_boxes": ["dev.*"],
    }
    given = {key: value for key, value in (usual | fields).items() if value is not ...}
    return f"managed_context_entry(**{given!r})"


def daemon(name: str, **fields: object) -> str:
    usual: dict[str, object] = {
        "process_name": name,
        "classname": WORKER,
        "present_on_boxes": [".*"],
    }
    given = {key: value for key, value in (usual | fields).items() if value is not ...}
    return f"daemon_context_entry(**{given!r})"


def tree(name: str, processes: list[str], *dependent_on: str, **fields: object) -> str:
    usual: dict[str, object] = {
        "tree_name": name,
        "enclosed_processes": processes,
        "dependent_on": list(dependent_on),
    }
    given = {key: value for key, value in (usual | fields).items() if value is not ...}
    return f"timetable_tree_entry(**{given!r})"


def write(project: Path, processes: dict[str, str], trees: dict[str, str], more: str = "") -> None:
    def dictionary(entries: dict[str, str]) -> str:
        return "{" + ", ".join(f"{key!r}: {text}" for key, text in entries.items()) + "}"

    text = f"process_context = {dictionary(processes)}\ntimetable_context = {dictionary(trees)}\n"
    (project / "context.py").write_text(HEAD + text + more)


def one(project: Path, entry: str) -> None:
    """A context with one managed process `p` and its tree."""
    write(project, {"p": entry}, {"t": tree("t", ["p"])})


def checked(project: Path, **environ: str) -> Checked:
    return check(project, environ)


def mistakes(project: Path) -> list[str]:
    return list(checked(project).mistakes)


def only_mistake(project: Path) -> str:
    (mistake,) = mistakes(project)
    return mistake


def load(project: Path) -> Deployment:
    return load_deployment(load_settings(project, {}), project)


def process(project: Path, name: str = "p") -> ManagedProcess:
    return load(project).managed()[name]


def test_the_entries_of_the_interface_load_unchanged(project: Path) -> None:
    (project / "context.py").write_text(
        HEAD
        + """
TREE_SITE_VERTICAL = "site"
PROCESS_SITE_YEARLY, PROCESS_SITE_MONTHLY = "SiteYearlyAggregator", "SiteMonthlyAggregator"
PROCESS_SITE_DAILY, PROCESS_SITE_HOURLY = "SiteDailyAggregator", "SiteHourlyAggregator"
TOKEN_SITE, MX_PAGE_TRAFFIC = "site", "traffic"
COLLECTION_SINGLE_SESSION, COLLECTION_SITE_HOURLY = "single_session", "site_hourly"

def coarser(name, qualifier):
    return managed_context_entry(
        process_name=name, classname="a.b.C.start", time_qualifier=qualifier,
        present_on_boxes=["dev.*"])

timetable_context = {
TREE_SITE_VERTICAL: timetable_tree_entry(
    tree_name=TREE_SITE_VERTICAL,
    enclosed_processes=[
        PROCESS_SITE_YEARLY, PROCESS_SITE_MONTHLY, PROCESS_SITE_DAILY, PROCESS_SITE_HOURLY],
    dependent_on=[],
    mx_name=TOKEN_SITE,
    mx_page=MX_PAGE_TRAFFIC),
}
process_context = {
PROCESS_SITE_YEARLY: coarser(PROCESS_SITE_YEARLY, QUALIFIER_YEARLY),
PROCESS_SITE_MONTHLY: coarser(PROCESS_SITE_MONTHLY, QUALIFIER_MONTHLY),
PROCESS_SITE_DAILY: coarser(PROCESS_SITE_DAILY, QUALIFIER_DAILY),
PROCESS_SITE_HOURLY: managed_context_entry(
    process_name=PROCESS_SITE_HOURLY,
    classname='workers.site_hourly_aggregator.SiteHourlyAggregator.start',
    token=TOKEN_SITE,
    time_qualifier=QUALIFIER_HOURLY,
    source=COLLECTION_SINGLE_SESSION,
    sink=COLLECTION_SITE_HOURLY,
    state_machine_name=STATE_MACHINE_CONTINUOUS,
    blocking_type=BLOCKING_NORMAL,
    trigger_frequency='every 600',
    present_on_boxes=['dev.*']),
}
"""
    )
    deployment = load(project)
    assert deployment.processes["SiteHourlyAggregator"] == ManagedProcess(
        name="SiteHourlyAggregator",
        classname="workers.site_hourly_aggregator.SiteHourlyAggregator.start",
        token="site",
        present_on_boxes=("dev.*",),
        qualifier=Qualifier.HOURLY,
        source="single_session",
        sink="site_hourly",
        state_machine=StateMachine.CONTINUOUS,
        blocking=Blocking.NORMAL,
        trigger_frequency="every 600",
    )
    site = deployment.trees["site"]
    assert site.processes[0] == "SiteYearlyAggregator"
    assert (site.mx_name, site.mx_page) == ("site", "traffic")


def test_the_defaults_of_a_managed_process_are_those_of_the_interface(project: Path) -> None:
    one(project, managed("p", "hourly"))
    found = process(project)
    assert (found.time_grouping, found.arguments, found.settle) == (1, {}, 300)
    assert (found.max_active, found.instances, found.max_attempts) == (8, 1, 3)
    assert (found.retry_backoff, found.heartbeat_timeout) == (60, 60)
    assert (found.resubmit_after, found.life_support) == (3600, 48 * 3600)
    assert found.timeout is None
    assert found.late_data is LateData.REPROCESS
    assert (found.on_failure, found.retry_failed, found.refresh) == (OnFailure.BLOCK, None, 10)
    assert found.is_on is True
    assert found.command is None
    assert found.token == "p"


def test_every_optional_field_arrives(project: Path) -> None:
    one(
        project,
        managed(
            "p",
            "daily",
            classname=...,
            command=["run", "--for", "${timeperiod}", "${start}-${end}", "${attempt}", "${site}"],
            arguments={"site": "x"},
            token="tok",
            time_grouping=7,
            settle=0,
            max_active=1,
            instances=2,
            max_attempts=1,
            retry_backoff="90s",
            heartbeat_timeout=0.5,
            resubmit_after="2h",
            life_support="7d",
            timeout="20s",
            late_data="mark",
            on_failure="block",
            retry_failed="30m",
            refresh="1m",
            is_on=False,
            state_machine_name="discrete",
            blocking_type="children",
            trigger_frequency="at  5-8:00",
        ),
    )
    assert checked(project).mistakes == ()
    found = process(project)
    assert found.command == (
        "run", "--for", "${timeperiod}", "${start}-${end}", "${attempt}", "${site}",
    )  # fmt: skip
    assert (found.classname, found.arguments) == (None, {"site": "x"})
    assert (found.time_grouping, found.settle, found.max_active, found.instances) == (7, 0, 1, 2)
    assert (found.max_attempts, found.retry_backoff, found.heartbeat_timeout) == (1, 90, 0.5)
    assert (found.resubmit_after, found.life_support) == (7200, 7 * 86_400)
    assert found.timeout == 20
    assert (found.late_data, found.is_on) == (LateData.MARK, False)
    assert (found.on_failure, found.retry_failed, found.refresh) == (OnFailure.BLOCK, 1800, 60)
    assert found.blocking is Blocking.CHILDREN
    assert found.trigger_frequency == "at 5-08:00"


def test_interim_runs_may_come_with_the_trigger(project: Path) -> None:
    one(project, managed("p", "hourly", refresh="trigger"))
    assert process(project).refresh is None


def test_a_daemon(project: Path) -> None:
    write(project, {"d": daemon("d", instances=2, arguments={"a": 1})}, {})
    assert load(project).processes["d"] == DaemonProcess(
        name="d",
        classname=WORKER,
        token="d",
        present_on_boxes=(".*",),
        instances=2,
        arguments={"a": 1},
    )


@pytest.mark.parametrize(("setting", "is_on"), [("on", True), ("off", False)])
def test_a_process_may_be_on_where_the_demo_stream_is(
    project: Path, setting: str, is_on: bool
) -> None:
    write(project, {"d": daemon("d", is_on="demo_stream")}, {})
    found = checked(project, SYNERGY_DEMO_STREAM=setting)
    assert found.mistakes == ()
    assert found.deployment.processes["d"].is_on is is_on


@pytest.mark.parametrize(
    ("fields", "where", "reason"),
    [
        ({"present_on_boxes": ...}, "", "present_on_boxes is missing"),
        ({"process_name": ...}, "", "process_name is missing"),
        ({"time_qualifier": ...}, "", "time_qualifier is missing"),
        ({"classname": ...}, "", "expected classname or command, and there is neither"),
        ({"command": ["x"]}, "", "expected classname or command, not both"),
        ({"process_name": "q"}, "process_name", "'q' differs from the key 'p'"),
        ({"time_qualifer": "daily"}, "", "field time_qualifer: did you mean time_qualifier?"),
        ({"time_qualifier": "hourly "}, "time_qualifier", "did you mean hourly?"),
        ({"time_qualifier": "weekly"}, "time_qualifier", "unknown value 'weekly'"),
        ({"state_machine_name": "discret"}, "state_machine_name", "did you mean discrete?"),
        ({"blocking_type": 7}, "blocking_type", "expected one of children, dependencies, normal"),
        ({"late_data": "reproces"}, "late_data", "did you mean reprocess?"),
        ({"on_failure": "skp"}, "on_failure", "did you mean skip?"),
        ({"on_failure": True}, "on_failure", "unknown value True: expected one of block, skip"),
        ({"on_failure": "skip", "retry_failed": "1h"}, "retry_failed", "choose one"),
        ({"retry_failed": 0}, "retry_failed", "more than 0"),
        ({"retry_failed": "never"}, "retry_failed", "expected a duration"),
        ({"retry_failed": -1}, "retry_failed", "at least 0"),
        ({"refresh": 0}, "refresh", "more than 0"),
        ({"refresh": "0s"}, "refresh", "more than 0"),
        ({"refresh": "triger"}, "refresh", "a duration such as '60s' or 'trigger', not 'triger'"),
        ({"refresh": ""}, "refresh", "'trigger', not ''"),
        ({"refresh": "10 seconds"}, "refresh", "expected a duration"),
        ({"refresh": False}, "refresh", "expected a duration"),
        ({"time_grouping": 24}, "time_grouping", "1 to 23, not 24"),
        ({"time_grouping": 0}, "time_grouping", "1 to 23, not 0"),
        ({"time_grouping": True}, "time_grouping", "expected a whole number"),
        ({"time_qualifier": "daily", "time_grouping": 29}, "time_grouping", "1 to 28"),
        ({"time_qualifier": "monthly", "time_grouping": 13}, "time_grouping", "1 to 12"),
        ({"time_qualifier": "yearly", "time_grouping": 2}, "time_grouping", "1 to 1"),
        ({"max_active": 0}, "max_active", "1 or more, not 0"),
        ({"instances": -1}, "instances", "1 or more"),
        ({"max_attempts": 0}, "max_attempts", "1 or more"),
        ({"max_attempts": "3"}, "max_attempts", "1 or more, not '3'"),
        ({"settle": "-5m"}, "settle", "expected a duration"),
        ({"settle": -5}, "settle", "at least 0"),
        ({"settle": "5 minutes"}, "settle", "expected a duration"),
        ({"settle": True}, "settle", "expected a duration"),
        ({"settle": float("nan")}, "settle", "expected a duration"),
        ({"settle": "99999d"}, "settle", "at most ten years"),
        ({"heartbeat_timeout": 0}, "heartbeat_timeout", "more than 0"),
        ({"life_support": "0h"}, "life_support", "more than 0"),
        ({"timeout": 0}, "timeout", "more than 0"),
        ({"timeout": "a while"}, "timeout", "'a while'"),
        ({"classname": "Worker.start"}, "classname", "expected package.module.Class.method"),
        ({"classname": 5}, "classname", "expected a text, not 5"),
        ({"present_on_boxes": "dev.*"}, "present_on_boxes", "expected a list of texts"),
        ({"present_on_boxes": ["dev("]}, "present_on_boxes", "'dev(' is no regular expression"),
        ({"trigger_frequency": "every 1h"}, "trigger_frequency", "without a unit"),
        ({"trigger_frequency": 600}, "trigger_frequency", "expected a text, not 600"),
        ({"arguments": ["a"]}, "arguments", "expected a dictionary"),
        ({"arguments": {1: 2}}, "arguments", "expected a dictionary with texts as keys"),
        ({"is_on": "yes"}, "is_on", "expected True, False or 'demo_stream'"),
        ({"is_on": 1}, "is_on", "expected True or False"),
        ({"source": ""}, "source", "expected a text"),
    ],
)  # fmt: skip
def test_each_field_is_checked(
    project: Path, fields: dict[str, object], where: str, reason: str
) -> None:
    text = managed("p", "hourly", **fields).replace("nan", "float('nan')")
    one(project, text)
    mistake = only_mistake(project)
    assert mistake.startswith(f"process p: {where}: " if where else "process p: ")
    assert reason in mistake


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("run it", "expected a list of texts"),
        (["run", 5], "expected a list of texts only"),
        ([], "expected a program"),
        (["run", "${timeperoid}"], "unknown ${timeperoid}: expected one of ${timeperiod}"),
        (["run", "${}"], "unknown ${}"),
        (["run", "${timeperiod"], None),
        (["python3", "-c", "import sys\nsys.exit(0)"], None),  # a program of several lines
    ],
)
def test_commands_are_checked(project: Path, command: object, reason: str | None) -> None:
    one(project, managed("p", "hourly", classname=..., command=command))
    found = mistakes(project)
    if reason is None:
        assert found == []
    else:
        assert any(m.startswith("process p: command: ") and reason in m for m in found)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tests.unit.no_such_module.Fine.start", "cannot import tests.unit.no_such_module"),
        ("tests.unit.context_workers.Fien.start", "has no class Fien: did you mean Fine?"),
        ("tests.unit.context_workers.function.start", "has no class function"),
        ("tests.unit.context_workers.Fine.strat", "has no method strat: did you mean start?"),
        ("tests.unit.context_workers.Unfinished.start", "Unfinished does not define work"),
        ("broken_worker.Any.start", "ZeroDivisionError"),
    ],
)
def test_classes_are_imported_by_a_check_only(project: Path, path: str, reason: str) -> None:
    (project / "broken_worker.py").write_text("1 / 0\n")
    one(project, managed("p", "hourly", classname=path))
    mistake = only_mistake(project)
    assert mistake.startswith("process p: classname: ")
    assert reason in mistake
    assert process(project).classname == path  # loading alone imports nothing


@pytest.mark.parametrize("path", sorted(BUILT_IN))
def test_classes_that_come_with_synergy_are_there_and_not_imported(project, path) -> None:
    classes.resolve(path)
    write(project, {"p": daemon("p", classname=path)}, {})
    with patch.object(classes, "resolve") as asked:
        assert mistakes(project) == []
    assert not asked.called


def hourly_and_daily(project: Path, trees: dict[str, str]) -> None:
    write(
        project,
        {"hour": managed("hour", "hourly"), "day": managed("day", "daily"), "d": daemon("d")},
        trees,
    )


@pytest.mark.parametrize(
    ("trees", "reasons"),
    [
        ({"t": tree("t", ["day", "hour"])}, []),
        ({"t": tree("t", ["hour", "day"])}, ["day below it is daily"]),
        ({"t": tree("t", ["day", "hour", "hour"])}, ["hour below it is hourly", "more than once"]),
        ({"t": tree("t", ["day"])}, ["process hour: a managed process must be in a tree"]),
        ({"t": tree("t", ["day", "hour"]), "u": tree("u", ["hour"])}, ["once in trees: t, u"]),
        ({"t": tree("t", ["day", "huor", "hour"])}, ["unknown process huor: did you mean hour?"]),
        ({"t": tree("t", ["day", "hour", "d"])}, ["d is not a managed process"]),
        ({"t": tree("t", ["day", "hour"], tree_name="x")}, ["'x' differs from the key 't'"]),
        ({"t": tree("t", ["day", "hour"], mxname="x")}, ["mxname: did you mean mx_name?"]),
        ({"t": tree("t", ["day", "hour"], "site")}, ["unknown tree site"]),
        ({"t": tree("t", ["day", "hour"], "t")}, ["in a cycle: t -> t"]),
        ({"t": tree("t", ["day", "hour"]), "u": tree("u", [])}, ["expected at least one process"]),
        ({"t": tree("t", ["day", "hour"], enclosed_processes=...)}, [
            "enclosed_processes is missing", "process hour", "process day"]),
        ({"t": "5"}, ["tree t: expected timetable_tree_entry", "hour: ", "day: "]),
        ({"t": daemon("t")}, ["tree t: expected timetable_tree_entry", "hour: ", "day: "]),
    ],
)  # fmt: skip
def test_trees_are_checked(project: Path, trees: dict[str, str], reasons: list[str]) -> None:
    hourly_and_daily(project, trees)
    found = mistakes(project)
    assert len(found) == len(reasons), found
    for reason in reasons:
        assert any(reason in mistake for mistake in found), (reason, found)


def test_a_cycle_is_shown_with_its_path(project: Path) -> None:
    names = {"a": "b", "b": "c", "c": "a"}
    write(
        project,
        {f"p{name}": managed(f"p{name}", "daily") for name in names},
        {name: tree(name, [f"p{name}"], other) for name, other in names.items()},
    )
    path = only_mistake(project).rsplit(": ", 1)[1].split(" -> ")
    assert len(path) == 4
    assert path[0] == path[-1]
    assert all(names[one] == other for one, other in pairwise(path))


def test_two_processes_with_one_sink(project: Path) -> None:
    write(
        project,
        {"a": managed("a", "daily", sink="rows"), "b": managed("b", "hourly", sink="rows")},
        {"t": tree("t", ["a", "b"])},
    )
    assert only_mistake(project) == "sink rows: more than one process writes it: a, b"


def test_a_dependency_that_gives_none_is_a_warning(project: Path) -> None:
    hourly_and_daily(project, {"t": tree("t", ["day"]), "u": tree("u", ["hour"], "t")})
    found = checked(project)
    assert found.mistakes == ()
    assert found.warnings == ("tree u: hour waits for nothing in t, which has no hourly process",)
    load(project)


def test_a_wrong_qualifier_is_one_mistake_and_not_several(project: Path) -> None:
    write(
        project,
        {"a": managed("a", "daily"), "b": managed("b", "hurly"), "c": "'text'"},
        {"t": tree("t", ["a", "b", "c"])},
    )
    first, second = mistakes(project)
    assert "did you mean hourly?" in first
    assert second.startswith("process c: expected managed_context_entry")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = (\n", "context.py line 1: SyntaxError"),
        (
            "\nx = 5\nimport no_such_thing\n",
            "context.py line 3: ModuleNotFoundError",
        ),
        ("\nraise ValueError('why')\n", "context.py line 2: ValueError: why"),
        (
            "x = freerun_context_entry()\n",
            "context.py line 1: NameError: name 'freerun_context_entry' is not defined: "
            "import it from synergy.config.context",
        ),
        ("def f():\n    return 1 / 0\n\nf()\n", "context.py line 2: ZeroDivisionError"),
        ("import sys\nsys.exit('no')\n", "context.py line 2: SystemExit: no"),
        ("x = '\0'\n", "context.py"),
    ],
)
def test_a_context_that_fails_says_where(project: Path, text: str, reason: str) -> None:
    (project / "context.py").write_text(text)
    assert only_mistake(project).startswith(reason)


@pytest.mark.parametrize("name", ["no_such_thing", "datetime"])
def test_where_to_import_other_names_from_is_not_guessed(project: Path, name: str) -> None:
    (project / "context.py").write_text(f"x = {name}\n")
    assert only_mistake(project).endswith(f"NameError: name '{name}' is not defined")


def test_a_module_that_the_context_imports_is_named_if_it_does_not_parse(project: Path) -> None:
    (project / "names_with_a_slip.py").write_text("\n\nx = = 1\n")
    (project / "context.py").write_text("import names_with_a_slip\n")
    assert only_mistake(project).startswith("names_with_a_slip.py line 3: SyntaxError")


def test_a_missing_context(project: Path) -> None:
    assert only_mistake(project) == "context.py: cannot be read: No such file or directory"


def test_the_context_may_lie_in_a_package(project: Path) -> None:
    (project / "deploy").mkdir()
    (project / "deploy" / "box.py").write_text("process_context = {}\ntimetable_context = {}\n")
    assert checked(project, SYNERGY_CONTEXT="deploy.box").mistakes == ()
    (project / "deploy" / "__init__.py").write_text("process_context = 5\ntimetable_context = {}")
    found = checked(project, SYNERGY_CONTEXT="deploy").mistakes
    assert found == ("deploy/__init__.py process_context: expected a dictionary, not int",)


def test_the_dictionaries_must_be_dictionaries(project: Path) -> None:
    (project / "context.py").write_text("process_context = []\n")
    first, second = mistakes(project)
    assert first == "context.py process_context: expected a dictionary, not list"
    assert second == "context.py: timetable_context is missing: expected a dictionary"


def test_keys_must_be_texts_that_can_be_names(project: Path) -> None:
    (project / "context.py").write_text(
        HEAD + f"process_context = {{5: {daemon('d')}, 'a/b': {daemon('a/b')}}}\n"
        "timetable_context = {}\n"
    )
    first, second = mistakes(project)
    assert "expected texts as keys, not 5" in first
    assert "letters, digits" in second


@pytest.mark.parametrize("text", ["", "schedule_context = {}\n", "schedule_context = None\n"])
def test_schedules_may_be_absent(project: Path, text: str) -> None:
    write(project, {}, {}, text)
    assert mistakes(project) == []


def test_ten_mistakes_of_context_and_three_of_settings_are_listed_at_once(project: Path) -> None:
    write(
        project,
        {
            "a": managed("a", "dayly"),
            "b": managed("b", "daily", trigger_frequency="every 0"),
            "c": managed("c", "hourly", present_on_boxes=["("], max_active=0),
            "d": managed("e", "hourly", classname="tests.unit.no_such.Worker.start"),
            "f": daemon("f", instanes=2),
        },
        {
            "t": tree("t", ["b", "c", "missing"], "nowhere"),
            "u": tree("u", ["a"]),
        },
    )
    found = checked(project, SYNERGY_STOER="x", SYNERGY_MX_PORT="x", SYNERGY_BUS="x").mistakes
    assert len(found) == 13, found
    with pytest.raises(ConfigurationError) as raised:
        load(project)
    assert len(raised.value.mistakes) == 9  # without settings, and without imports


@pytest.mark.parametrize("value", [7, [0], [7], ["-7"], [True], [-1001]])
def test_also_reads_names_earlier_periods_only(project: Path, value: object) -> None:
    one(project, managed("p", "daily", also_reads=value))
    assert "also_reads" in only_mistake(project)


def test_also_reads_arrives(project: Path) -> None:
    one(project, managed("p", "daily", also_reads=[-1, -7]))
    assert process(project).also_reads == (-7, -1)


def test_a_process_may_go_on_without_what_failed(project: Path) -> None:
    one(project, managed("p", "hourly", on_failure="skip"))
    assert process(project).on_failure is OnFailure.SKIP
