"""A context and settings of Synergy 1 or 2, unchanged: each older name says what to write now."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from synergy.config import context, settings
from synergy.config.older_names import CLASSES, FIELDS, MODULES, NAMES, SETTINGS, VALUES
from tests.unit.config.kit import checked, daemon, managed, mistakes, one, only_mistake, write

CONSTANTS = """
from synergy.scheduler.scheduler_constants import *

PROCESS_SALES, TOKEN_SALES, TREE_SALES = "SalesDaily", "sales", "tree_sales"
"""
VERSION_2 = """
from constants import *
from settings import ENVIRONMENT
from synergy.system.time_qualifier import *
from synergy.db.model.managed_process_entry import managed_context_entry
from synergy.db.model.timetable_tree_entry import timetable_tree_entry

process_context = {
    PROCESS_SALES: managed_context_entry(
        process_name=PROCESS_SALES,
        classname="workers.sales.Sales.start",
        token=TOKEN_SALES,
        time_qualifier=QUALIFIER_DAILY,
        exchange=EXCHANGE_MANAGED_WORKER,
        queue="q_sales",
        state_machine_name=STATE_MACHINE_RECOMPUTING,
        pid_file="sales.pid",
        log_file="sales.log",
        present_on_boxes=["dev.*"]),
}
timetable_context = {
    TREE_SALES: timetable_tree_entry(
        tree_name=TREE_SALES, enclosed_processes=[PROCESS_SALES], dependent_on=[],
        mx_name=TOKEN_SALES, mx_page="sales"),
}
"""
VERSION_1 = """
from synergy.db.model.process_context_entry import _process_context_entry
from synergy.db.model.timetable_context_entry import _timetable_context_entry

process_context = {"Sales": _process_context_entry(
    process_name="Sales", classname="workers.sales.Sales.start", token="sales",
    time_qualifier="_daily", exchange="ex", process_type="type_managed", routing="r")}
timetable_context = {"sales": _timetable_context_entry(
    tree_name="sales", tree_classname="synergy.scheduler.tree.FourLevelTree",
    enclosed_processes=["Sales"], dependent_on=[])}
"""


def test_a_context_of_version_2_is_read_through_at_once(project: Path) -> None:
    (project / "constants.py").write_text("PROCESS_SALES = 'x'")
    (project / "context.py").write_text(VERSION_2)
    found = mistakes(project)
    assert [one.partition(" is of ")[0] for one in found] == [
        "context.py line 3: ENVIRONMENT",
        "context.py line 4: synergy.system.time_qualifier",
        "context.py line 5: synergy.db.model.managed_process_entry",
        "context.py line 6: synergy.db.model.timetable_tree_entry",
        "context.py line 14: EXCHANGE_MANAGED_WORKER",
        "context.py line 14: field exchange",
        "context.py line 15: field queue",
        "context.py line 16: STATE_MACHINE_RECOMPUTING",
        "context.py line 17: field pid_file",
        "context.py line 18: field log_file",
    ]
    assert found[2].endswith("import this function from synergy.config.context")
    assert "write STATE_MACHINE_CONTINUOUS" in found[7]


def test_a_context_of_version_1_is_read_through_at_once(project: Path) -> None:
    (project / "context.py").write_text(VERSION_1)
    found = mistakes(project)
    assert any("write timetable_tree_entry(...)" in one for one in found)
    assert any("managed_context_entry(...), freerun_context_entry" in one for one in found)
    names = [one.partition(": ")[2].partition(" is of ")[0] for one in found]
    assert {"field exchange", "field process_type", "field routing", "field tree_classname"} <= set(
        names
    )


def test_a_module_of_constants_says_what_stands_for_its_imports(project: Path) -> None:
    (project / "older_constants.py").write_text(CONSTANTS)
    (project / "context.py").write_text(VERSION_2.replace("from constants", "from older_constants"))
    (first,) = [one for one in mistakes(project) if "context.py line 2: " in one]
    assert "No module named 'synergy.scheduler.scheduler_constants'" in first
    assert first.endswith("names of processes, tokens and collections are texts of your own")


def test_what_a_context_defines_itself_is_not_older(project: Path) -> None:
    (project / "own_names.py").write_text("ENVIRONMENT = 'dev'")
    (project / "context.py").write_text(
        "from own_names import ENVIRONMENT\n"
        "EXCHANGE_UTILS = 1\n"
        "x = ENVIRONMENT, EXCHANGE_UTILS, nothing\n"
    )
    assert only_mistake(project) == "context.py line 3: NameError: name 'nothing' is not defined"


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_field_that_is_gone_says_what_to_do(project: Path, name: str) -> None:
    one(project, managed("p", "daily", **{name: "x"}))
    assert only_mistake(project) == f"process p: {name}: {FIELDS[name]}"


def test_fields_of_daemons_free_runs_and_trees_are_told_too(project: Path) -> None:
    free = daemon("f", queue="q").replace("daemon_", "freerun_")
    write(project, {"d": daemon("d", log_file="x"), "f": free}, {})
    text = (project / "context.py").read_text()
    gone = "timetable_context['t'] = timetable_tree_entry(tree_name='t', tree_classname='x')\n"
    (project / "context.py").write_text(text + gone)
    found = "\n".join(mistakes(project))
    for place in ("process d: log_file: ", "process f: queue: ", "tree t: tree_classname: "):
        assert f"{place}leave it out" in found


@pytest.mark.parametrize("value", sorted(VALUES))
def test_a_value_that_is_gone_says_what_to_write(project: Path, value: str) -> None:
    field = {"b": "blocking_type", "_": "time_qualifier"}.get(value[0], "state_machine_name")
    one(project, managed("p", "daily", **{field: value}))
    expected = f"process p: {field}: {value!r} is of an older version: {VALUES[value][1]}"
    assert only_mistake(project) == expected


@pytest.mark.parametrize("path", sorted(CLASSES))
def test_a_class_of_older_versions_says_what_to_write(project: Path, path: str) -> None:
    write(project, {"d": daemon("d", classname=path)}, {})
    assert only_mistake(project).endswith(f"is of an older version: {CLASSES[path]}")


def test_a_worker_of_older_versions_says_what_it_derives_from_now(project: Path) -> None:
    (project / "older_worker.py").write_text(
        "from synergy.workers.abstract_uow_aware_worker import AbstractUowAwareWorker\n"
    )
    one(project, managed("p", "daily", classname="older_worker.Sales.start"))
    assert only_mistake(project).endswith("derive the worker from synergy.worker.Worker")


def test_declared_queues_are_named_as_unused(project: Path) -> None:
    one(project, managed("p", "daily"))
    context = project / "context.py"
    context.write_text(f"{context.read_text()}mq_queue_context = {{'q': object()}}\n")
    found = checked(project)
    assert found.mistakes == ()
    assert any("mq_queue_context: leave it out" in warning for warning in found.warnings)


def test_an_empty_dictionary_of_queues_is_fine(project: Path) -> None:
    one(project, managed("p", "daily"))
    context = project / "context.py"
    context.write_text(f"{context.read_text()}mq_queue_context = {{}}\n")
    assert not any("mq_queue_context" in warning for warning in checked(project).warnings)


def test_the_dictionary_of_settings_says_what_each_item_is_now(project: Path) -> None:
    one(project, managed("p", "daily"))
    (project / "settings" / "dev.py").write_text(
        "settings = dict(mongo_db_name='scheduler', mq_host='h', mx_title='T')\n"
    )
    assert mistakes(project) == [
        f"settings/dev.py settings: mongo_db_name: {SETTINGS['mongo_db_name']}",
        f"settings/dev.py settings: mq_host: {SETTINGS['mq_host']}",
        "settings/dev.py settings: mx_title: leave it out: nothing stands for it",
    ]


def test_a_file_of_settings_is_named_as_unread(project: Path) -> None:
    one(project, managed("p", "daily"))
    (project / "settings.py").write_text("settings = dict(mq_host='h')\n")
    assert any(one.startswith("settings.py: it is not read") for one in checked(project).warnings)


@pytest.mark.parametrize("where", ["file", "variable"])
def test_an_older_setting_says_what_stands_for_it(project: Path, where: str) -> None:
    one(project, managed("p", "daily"))
    environ = {"SYNERGY_GC_LIFE_SUPPORT_HOURS": "48"} if where == "variable" else {}
    if where == "file":
        (project / "settings" / "dev.py").write_text("GC_LIFE_SUPPORT_HOURS = 48\n")
    (found,) = checked(project, **environ).mistakes
    assert found.endswith(SETTINGS["gc_life_support_hours"])


def test_no_older_module_and_name_exists_today() -> None:
    assert [name for name in NAMES if hasattr(context, name)] == []
    assert set(SETTINGS) & set(settings.NAMES) == {"mx_host", "mx_port"}  # only in `settings`
    for name in MODULES:
        with pytest.raises(ModuleNotFoundError):
            import_module(name)
