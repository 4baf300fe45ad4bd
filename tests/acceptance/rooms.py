"""A place for a home whose room a test can take away and give back.

As root: a small file system in memory, filled to the last byte. Without the right to mount one,
a stand-in: the limit for the size of files, set for every process of the home, lets no file
grow, which the store meets as a failing write instead of a full disk.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SIZE = 24 << 20  # bytes
BLOCK = 64 << 10


class Disk:
    """A file system of its own; `said` is what the store says of a write that finds no room."""

    said = "no space is left"
    before_commands = None  # whatever runs on the disk meets its end

    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self, _pids: Callable[[], set[int]]) -> None:
        with suppress(OSError), (self.path / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(BLOCK))
        with suppress(OSError), (self.path / "ballast").open("ab", buffering=0) as ballast:
            while True:
                ballast.write(b"x")

    def free(self, _pids: Callable[[], set[int]]) -> None:
        (self.path / "ballast").unlink()


class Limit:
    """No file may grow, for those processes and for commands that begin with `before_commands`."""

    said = "failed"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_full = False

    def fill(self, pids: Callable[[], set[int]]) -> None:
        self._is_full = True
        for pid in pids():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    def free(self, pids: Callable[[], set[int]]) -> None:
        self._is_full = False
        for pid in pids():
            resource.prlimit(
                pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )

    def before_commands(self) -> None:
        """To be called in a process before its program begins."""
        if self._is_full:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


@contextmanager
def a_room(path: Path) -> Iterator[Disk | Limit]:
    """A folder at `path` with little room."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "synergy-test", str(path)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        yield Limit(path)
        return
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", str(path)], check=True)
