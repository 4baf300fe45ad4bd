"""Which of the project's own files have changed, for `launch.py dev`.

The times and sizes of the files are compared twice a second. For the few hundred files of a project
that costs less than a notification service of the kernel would in code, and it works on every file
system.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import IntEnum
from pathlib import Path

import synergy
from synergy.clock import Clock
from synergy.runtime.service import RetryRule, Service

LOOK_SECONDS = 0.5
RULE = RetryRule("dev.watch_waits", "dev.watch_failed")
LIBRARY = Path(synergy.__file__).resolve().parent
SKIPPED = frozenset({"__pycache__", "node_modules", "tests"})

Stamps = Mapping[Path, tuple[int, int]]


class Effect(IntEnum):
    """What a changed file makes necessary; a higher one includes the lower ones."""

    CONTEXT = 1  # a reload
    WORKERS = 2  # and a restart of the workers, whose modules may import the file
    ALL = 3  # and a restart of everything


class FileWatcher(Service):
    """Calls `changed` with what changed files make necessary, once they are saved completely.

    If that returns False, the effect is not reached: it is added to that of the next change.
    """

    def __init__(
        self,
        project: Path,
        context: Path,
        home: Path,
        clock: Clock,
        changed: Callable[[Effect], bool],
    ) -> None:
        """`context` is the file of the context, `home` a folder that is left out."""
        super().__init__("dev watch", clock, RULE)
        self._project = project
        self._context = context
        self._home = home
        self._changed = changed
        self._known = self._scan()
        self._latest = self._known
        self._missed: Effect | None = None

    def run_once(self, now: datetime) -> float:
        """Compares the files; a change counts when nothing has changed since the turn before."""
        before, self._latest = self._latest, self._scan()
        if self._latest != self._known and self._latest == before:
            paths = [path for path, _ in self._known.items() ^ self._latest.items()]
            self._known = self._latest
            effects = [self._effect(path) for path in paths]
            effect = max([*effects, self._missed or Effect.CONTEXT])
            self._missed = None if self._changed(effect) else effect
        return LOOK_SECONDS

    def _scan(self) -> Stamps:
        return dict(self._stamps(self._project))

    def _stamps(self, folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
        with os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    if not self._is_skipped(path):
                        yield from self._stamps(path)
                elif path.suffix == ".py" or path.parent.name == "crontabs":
                    stat = entry.stat()
                    yield path, (stat.st_mtime_ns, stat.st_size)

    def _is_skipped(self, folder: Path) -> bool:
        is_hidden = folder.name.startswith(".") or folder.name in SKIPPED
        is_environment = (folder / "pyvenv.cfg").exists()
        return is_hidden or is_environment or folder in (self._home, LIBRARY)

    def _effect(self, path: Path) -> Effect:
        if path.parent == self._project / "settings":
            return Effect.ALL
        is_declared = path == self._context or path.parent.name == "crontabs"
        return Effect.CONTEXT if is_declared else Effect.WORKERS
