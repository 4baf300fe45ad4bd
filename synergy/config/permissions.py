"""Checks which other users of the machine could change a deployment, or read what it keeps secret.

A file that every user can write is a mistake: settings and `context.py` are executed, and the home
holds everything. A file that its group can write, or that others can read, is a warning: it may be
intended.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from synergy import private_files
from synergy.config.findings import Findings
from synergy.config.settings import Settings

_GROUP_WRITES, _ALL_WRITE = 0o020, 0o002


def check_permissions(settings: Settings, code: Iterable[Path], findings: Findings) -> None:
    """Adds the findings about the home, the key of MX, and the files of `code` with their folders.

    What does not exist is left out; the users file is checked by MX at each reading.
    """
    if found := _stat(settings.home):
        _check_home(settings.home, found, findings)
    if settings.store_file is not None and (found := _stat(settings.store_file.parent)):
        _check_store_folder(settings.store_file.parent, found, findings)
    if settings.mx_key is not None and (found := _stat(settings.mx_key)):
        _check_key(settings.mx_key, found, findings)
    files = list(code)
    for path in dict.fromkeys((*files, *(file.parent for file in files))):
        if found := _stat(path):
            _check_code(path, found, findings)


def check_secret_file(where: str, file: Path, findings: Findings) -> None:
    """Adds a warning about a file with a secret that other users can read or change.

    As with keys, its group may read it.
    """
    if (found := _stat(file)) and found.st_mode & 0o026:
        findings.warning(where, f"other users can access {file}, a secret: chmod 600 {file}")


def _check_home(home: Path, found: os.stat_result, findings: Findings) -> None:
    if private_files.belongs_to_another(found):
        findings.mistake(
            "SYNERGY_HOME", f"{home} belongs to another user: use a folder of your own"
        )
    elif found.st_uid not in (0, os.geteuid()):
        findings.warning(
            "SYNERGY_HOME",
            f"{home} belongs to another user, who can change all of it: run Synergy as that user",
        )
    elif found.st_mode & _ALL_WRITE:
        findings.mistake("SYNERGY_HOME", f"every user can write to {home}: chmod 700 {home}")
    elif found.st_mode & private_files.OTHERS:
        findings.warning("SYNERGY_HOME", f"other users can look into {home}: chmod 700 {home}")


def _check_store_folder(path: Path, found: os.stat_result, findings: Findings) -> None:
    if _is_open(found):
        findings.mistake("SYNERGY_STORE", f"every user can write to {path}: chmod o-w {path}")


def _check_key(key: Path, found: os.stat_result, findings: Findings) -> None:
    """The group may read it: Debian gives keys to services in this way."""
    if found.st_mode & 0o027:
        findings.mistake("SYNERGY_MX_KEY", f"other users can access {key}: chmod 600 {key}")
    elif private_files.belongs_to_another(found):
        findings.mistake("SYNERGY_MX_KEY", f"{key} belongs to another user: chown it")


def _check_code(path: Path, found: os.stat_result, findings: Findings) -> None:
    where = str(path)
    if _is_open(found):
        findings.mistake(where, f"every user can change it, and it is executed: chmod o-w {path}")
    elif found.st_mode & _GROUP_WRITES and not _is_private_group(found):
        findings.warning(where, f"its group can change it, and it is executed: chmod g-w {path}")


def _is_open(found: os.stat_result) -> bool:
    """Whether every user can change it; in a sticky folder only the owner replaces a file."""
    return bool(found.st_mode & _ALL_WRITE) and not found.st_mode & stat.S_ISVTX


def _is_private_group(found: os.stat_result) -> bool:
    """Whether this is the group that many systems give each user, with the user as only member."""
    return found.st_uid == found.st_gid


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
