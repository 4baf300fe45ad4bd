"""A pytest plugin that writes the outcome of each test, one JSON object a line.

It imports nothing from pytest, which the runtime environment lacks; hence `Any` for pytest's
objects.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FILE = "SYNERGY_TEST_OUTCOMES"
STORY = "story"  # a mark: the tests of the module depend on one another and are repeated together


def pytest_configure(config: Any) -> None:
    """Registers the recorder if the environment names a file."""
    if FILE in os.environ:
        config.pluginmanager.register(_Recorder(Path(os.environ.pop(FILE))))


class _Recorder:
    def __init__(self, file: Path) -> None:
        self._file = file.open("a", encoding="utf-8", buffering=1)  # a crash loses no line

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or not report.passed:
            self._write(report, is_story=STORY in report.keywords)

    def pytest_collectreport(self, report: Any) -> None:
        if not report.passed:
            self._write(report, is_story=False)

    def pytest_unconfigure(self) -> None:
        self._file.close()

    def _write(self, report: Any, *, is_story: bool) -> None:
        detail = report.longrepr
        reason = detail[2] if report.skipped and isinstance(detail, tuple) else ""
        line = {"test": report.nodeid, "outcome": report.outcome, "reason": reason}
        self._file.write(json.dumps({**line, "is_story": is_story}) + "\n")
