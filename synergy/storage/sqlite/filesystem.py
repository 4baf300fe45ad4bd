"""Refuses file systems on which several processes cannot safely share a SQLite file."""

from __future__ import annotations

import os
from pathlib import Path

from synergy.errors import StorageUnavailable

_UNSAFE = ("nfs", "cifs", "smb", "9p", "fuse", "afs", "ceph", "glusterfs", "lustre")


def check_local(directory: Path) -> None:
    """Raises StorageUnavailable if the directory lies on a network or FUSE file system."""
    kind = _kind(directory)
    if kind.startswith(_UNSAFE):
        raise StorageUnavailable(
            f"{directory} lies on a {kind} file system, whose locks do not keep several "
            "processes from damaging the store: put it on a local disk"
        )


def _kind(directory: Path) -> str:
    """The type of the directory's file system; "" if the kernel does not list it by device."""
    device = directory.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, source = line.partition(" - ")
        if mount.split()[2] == wanted:
            return source.split()[0]
    return ""
