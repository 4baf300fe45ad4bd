"""A file system of the tests' own, which can be full or lose its power."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.acceptance.disk_space import use_up

SIZE = 96 << 20  # bytes
_SHUTDOWN = 0x8004_587D  # the request of ext4 that ends all writing at once
_WITHOUT_FLUSH = struct.pack("I", 2)  # not even what the kernel holds back is written


class LoopDisk:
    """An ext4 file system in a file, mounted at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._image = path.with_suffix(".img")

    def make(self) -> None:
        """Makes the file system and mounts it; raises CalledProcessError."""
        with self._image.open("wb") as image:
            image.truncate(SIZE)
        self.path.mkdir()
        _run("mkfs.ext4", "-q", "-m", "0", str(self._image))
        self.mount()

    def mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.path))

    def unmount(self) -> None:
        _run("umount", str(self.path))

    def lose_power(self) -> None:
        """From now on nothing can be read or written; what was not synced is lost."""
        handle = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, _SHUTDOWN, _WITHOUT_FLUSH)
        finally:
            os.close(handle)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Within the block, no byte is free."""
        ballast = self.path / "ballast"
        use_up(ballast)
        try:
            yield
        finally:
            ballast.unlink()


@contextmanager
def loop_disk(path: Path) -> Iterator[LoopDisk | None]:
    """A disk at `path`; None, and a plain folder, without root, loop devices or `mkfs.ext4`."""
    disk = LoopDisk(path)
    try:
        if os.geteuid() or shutil.which("mkfs.ext4") is None:
            raise subprocess.CalledProcessError(1, "mount")
        disk.make()
    except subprocess.CalledProcessError:
        path.mkdir(exist_ok=True)
        yield None
        return
    try:
        yield disk
    finally:
        disk.unmount()


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
