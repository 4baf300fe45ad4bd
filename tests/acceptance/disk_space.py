"""A folder for a home whose disk space a test can use up and free again.

As root it is a small file system in memory, filled to the last byte. Without the right to mount
one, a limit on the size of files for every process of the home makes writes of the store fail.
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


def use_up(ballast: Path) -> None:
    """Writes a file until no byte is free."""
    for mode, block in (("wb", bytes(BLOCK)), ("ab", b"x")):
        with suppress(OSError), ballast.open(mode, buffering=0) as file:
            while True:
                file.write(block)


class Disk:
    """A small file system; `said` is part of the store's error for a write without space."""

    said = "no space is left"
    before_commands = None  # a full disk needs no limits on processes

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self, _pids: Callable[[], set[int]]) -> None:
        use_up(self._ballast)

    def free(self, _pids: Callable[[], set[int]]) -> None:
        self._ballast.unlink()


class FileSizeLimit:
    """Lets no file grow, in given processes and in commands that call `before_commands`."""

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
        """Sets the limit in a new process, before its program begins."""
        if self._is_full:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


@contextmanager
def a_room(path: Path) -> Iterator[Disk | FileSizeLimit]:
    """A folder at `path` with limited space."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "synergy-test", str(path)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        yield FileSizeLimit(path)
        return
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", str(path)], check=True)
