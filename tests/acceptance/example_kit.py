"""Projects outside of this repository at work, with real processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from synergy import compose
from synergy.compose import Project
from tests.acceptance.kit import PROJECT, CommandResult, Home, end_of, until


class ProjectHome(Home):
    """A project and its home, `var` in it, with the library alone beside it on the path.

    So the `workers` of this repository are not there. `variables` are settings, as in `Home`.
    """

    def __init__(self, folder: Path, **variables: str) -> None:
        super().__init__(folder / "var", **{"box_id": f"box-{os.getpid()}", **variables})
        self.folder = folder
        self.more: dict[str, str] = {}  # further variables of the environment
        self._library = folder.parent / "library"
        if not self._library.exists():
            self._library.mkdir()
            self._library.joinpath("synergy").symlink_to(PROJECT / "synergy")

    def environment(self, **more: str) -> dict[str, str]:
        environment = super().environment(**more)
        for name in ("PROJECT", "HOME", "DEMO_STREAM"):  # a project is found, and has its own
            environment.pop(f"SYNERGY_{name}", None)
        return {**environment, "PYTHONPATH": str(self._library), **self.more}

    def begin(self, *argv: object, **more: str) -> subprocess.Popen[str]:
        return self.python("-m", "synergy", *argv, **more)

    def python(self, *words: object, **more: str) -> subprocess.Popen[str]:
        """Starts Python in the folder of the project; `end` kills it."""
        process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            cwd=self.folder,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._begun.append(process)
        return process

    def run(self, *argv: object, code: int | None = 0, **more: str) -> CommandResult:
        return self.launch(*argv, code=code, **more)

    def program(self, *words: object) -> None:
        """Runs a Python program of the project to its end."""
        done = end_of(self.python(*words))
        assert done.code == 0, done

    def project(self) -> Project:
        return compose.open_project(self.folder, self.environment())

    def runs(self, name: str, number: int, state: str = "processed") -> list[dict[str, Any]]:
        """The runs of a schedule or process in this state, once there are that many."""

        def look() -> list[dict[str, Any]]:
            runs: list[dict[str, Any]] = self.ask("schedule", "runs", "--state", state)["items"]
            found = [run for run in runs if name in (run["schedule"], run["program"])]
            return found if len(found) >= number else []

        return until(look)  # type: ignore[no-any-return]


@contextmanager
def copy_of(example: str, folder: Path, **variables: str) -> Iterator[ProjectHome]:
    """A copy of an example in an empty folder; no process of it may be left at the end."""
    shutil.copytree(
        PROJECT / "examples" / example,
        folder / example,
        ignore=shutil.ignore_patterns("var", "inbox", "crontabs", "__pycache__"),
    )
    home = ProjectHome(folder / example, **variables)
    try:
        yield home
    finally:
        home.end()
