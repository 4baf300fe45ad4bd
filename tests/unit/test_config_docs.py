"""The examples of schedules in the documentation are valid."""

from __future__ import annotations

import re
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from synergy.cli.input_files import read_documents
from synergy.config.context import Entry
from synergy.config.findings import Findings
from synergy.config.loader import load_settings
from synergy.config.schedules import read_schedules
from synergy.delivery.definition_checks import known
from synergy.model.process import DaemonProcess, FreerunProcess, ManagedProcess, Process
from synergy.schedule import request_template
from synergy.schedule.format import literals
from synergy.schedule.format.read import read, warnings
from synergy.schedule.format.write import OPTIONAL
from synergy.timeperiod import Qualifier

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILES = (DOCS / "schedule-files.md").read_text()
COMMON = {"classname": "a.b.C.start", "token": "t", "present_on_boxes": (".*",)}
PROCESSES: dict[str, Process] = {
    "Agent": DaemonProcess(
        name="Agent",
        classname="synergy.agent.agent.Agent.start",
        token="t",
        present_on_boxes=(".*",),
    ),
    **{
        name: FreerunProcess(name=name, **COMMON)  # type: ignore[arg-type]
        for name in ("ReportExporter", "Importer", "P")
    },
    **{
        name: ManagedProcess(name=name, qualifier=Qualifier.DAILY, **COMMON)  # type: ignore[arg-type]
        for name in ("SiteDaily", "SiteDailyAggregator")
    },
}


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", blocks("yaml", FILES))
def test_the_example_files_of_the_reference_are_valid(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    (document,) = read_documents(str(tmp_path / "file"))
    assert warnings(read(document, known(PROCESSES))) == []


@pytest.mark.parametrize(
    ("field", "row"),
    [
        ("trigger" if kind == "due, or met" else "constraints", form)
        for kind, rows in re.findall(
            r"^\| `?(?:trigger|constraint)`? \|(?: usually \|)? (.*?) \|\n\|[-|]+\n((?:\|.*\n)+)",
            FILES,
            re.MULTILINE,
        )
        for line in rows.splitlines()
        for form in re.findall(r"`([^`]+)`", line.split("|")[1])
    ],
)
def test_each_trigger_and_constraint_in_the_tables_is_valid(
    field: str, row: str, tmp_path: Path
) -> None:
    if "[...]" in row:
        row = row.replace("[...]", "[every 60]")
    if row.startswith("{timetable"):
        row = "{timetable: SiteDaily}"
    text = f"[{row}]" if field == "constraints" else row
    base = "name: s\nprocess: P\ngroup: g\n" + ("trigger: every 60\n" * (field != "trigger"))
    (tmp_path / "file").write_text(f"{base}{field}: {text}\n")
    (document,) = read_documents(str(tmp_path / "file"))
    read(document, known(PROCESSES))


def test_every_field_is_in_the_reference() -> None:
    for name in (*OPTIONAL.values(), "name", "process", "target", "payload", "headers", "when"):
        assert f"`{name}`" in FILES


def test_every_template_name_is_in_the_reference_with_its_value() -> None:
    due = literals.instant("2018-03-28T04:21:45.862Z")
    rows = [line for line in FILES.splitlines() if line.startswith("|")]
    for name, value in request_template.values(due, ZoneInfo("America/Los_Angeles")).items():
        (row,) = (row for row in rows if f"`{name}`" in row)
        assert value in row
    for name in request_template.NAMES:
        assert f"`{name}`" in FILES


def test_the_example_schedules_of_the_context_page_are_valid() -> None:
    (code,) = blocks("python", (DOCS / "context.md").read_text())
    names: dict[str, dict[str, Entry]] = {}
    exec("from synergy.config.context import *\n" + code, names)  # type: ignore[arg-type]
    findings = Findings()
    schedules = read_schedules(
        names["schedule_context"], PROCESSES, load_settings(DOCS.parent, {}), findings
    )
    assert (findings.mistakes, findings.warnings) == ([], [])
    assert list(schedules) == ["nightly", "daily-numbers", "after-import"]
